"""Fourier transforms: StableHLO's operation."""

from __future__ import annotations

from laminax_ir.ops.fft import FftType, fft_p
from laminax_ir.types.avals import ShapedArray
from laminax_lowering.writing.context import FunctionWriter
from laminax_lowering.writing.registry import cpu_kernel, lowering_rule
from laminax_lowering.writing.ssa_values import Value
from laminax_lowering.writing.types import i64_array


def _transform(ctx: FunctionWriter, x: Value, kind: FftType, lengths: tuple[int, ...], aval: ShapedArray) -> Value:
    return ctx.emit("stablehlo.fft", [x], results=[aval],
                    attributes={"fft_length": i64_array(lengths), "fft_type": f"#stablehlo<fft_type {kind.name}>"})


@lowering_rule(fft_p)
def _lower_fft(ctx: FunctionWriter, x: Value, *, fft_type: FftType, fft_lengths: tuple[int, ...]) -> Value:
    return _transform(ctx, x, fft_type, fft_lengths, ctx.avals_out[0])


@cpu_kernel(fft_p)
def _fft_between_rows(ctx: FunctionWriter, x: Value, *, fft_type: FftType, fft_lengths: tuple[int, ...]) -> Value:
    """The CPU's transform reads and writes rows. Where columns lie together in what it reads or in what its result is for, such as
    what LAPACK solves, the compiler takes that order for the transform too, which fails when it runs; so the order is said on both sides.
    """
    return _in_rows(ctx, _transform(ctx, _in_rows(ctx, x), fft_type, fft_lengths, ctx.avals_out[0]))


def _in_rows(ctx: FunctionWriter, x: Value) -> Value:
    if x.aval.ndim < 2:
        return x
    order = f"[dense<{list(reversed(range(x.aval.ndim)))}> : tensor<{x.aval.ndim}xindex>]"  # from minor to major
    return ctx.custom_call("LayoutConstraint", [x], results=[x.aval], attributes={
        "backend_config": '""', "operand_layouts": order, "result_layouts": order})


@lowering_rule(fft_p, platforms=("cuda", "rocm"))
def _lower_fft_gpu(ctx: FunctionWriter, x: Value, *, fft_type: FftType, fft_lengths: tuple[int, ...]) -> Value:
    """The GPU libraries take a real inverse in several axes for symmetric in all of them; ours is in the last one only.

    So the other axes are transformed first, moved to the end for it, as complex ones.
    """
    out = ctx.avals_out[0]
    if fft_type != FftType.IRFFT or len(fft_lengths) == 1:
        return _transform(ctx, x, fft_type, fft_lengths, out)
    rank, first = x.aval.ndim, x.aval.ndim - len(fft_lengths)
    forward = (*range(first), rank - 1, *range(first, rank - 1))
    back = (*range(first), *range(first + 1, rank), first)
    moved = x.aval.update(shape=tuple(x.shape[i] for i in forward))
    y = ctx.emit("stablehlo.transpose", [x], results=[moved], attributes={"permutation": i64_array(forward)})
    y = _transform(ctx, y, FftType.IFFT, fft_lengths[:-1], moved)
    y = ctx.emit("stablehlo.transpose", [y], results=[x.aval], attributes={"permutation": i64_array(back)})
    return _transform(ctx, y, FftType.IRFFT, fft_lengths[-1:], out)
