"""StableHLO of the cumulative reductions.

A scan in logarithmic depth, written with the operation's own elementwise operations; on TPU, where windows are fast,
a `reduce_window` over the elements so far.
"""

from __future__ import annotations

import functools

from laminax_ir import dtypes
from laminax_ir.avals import ShapedArray
from laminax_ir.jaxpr import ClosedJaxpr
from laminax_ir.ops import cumulative as op
from laminax_ir.ops import elementwise as el
from laminax_ir.ops.reduction import identity
from laminax_ir.ops.shape import full_like
from laminax_ir.staging import stage
from laminax_lowering.registry import lowering_rule
from laminax_lowering.rules.reduction import monoid_region
from laminax_lowering.rules.windows import emit_reduce_window


def log_add_exp(a, b):
    """log(exp(a) + exp(b)) without overflow; complex numbers are shifted by their real parts."""
    if dtypes.issubdtype(a.dtype, dtypes.complexfloating):
        top = el.max(el.real(a), el.real(b))
        shift = el.select(el.is_finite(top), top, full_like(top, 0))
        shift = el.complex(shift, full_like(shift, 0))
        return el.add(shift, el.log(el.add(el.exp(el.sub(a, shift)), el.exp(el.sub(b, shift)))))
    top, distance = el.max(a, b), el.sub(a, b)
    # The distance is NaN for equal infinities, whose sum is themselves, and for NaN.
    result = el.add(top, el.log1p(el.exp(el.neg(el.abs(distance)))))
    return el.select(el.ne(distance, distance), el.add(a, b), result)


def _define(primitive, combine, monoid: str | None) -> None:
    @lowering_rule(primitive)
    def rule(ctx, x, *, axis, reverse):
        (result,) = ctx.run(_scan_program(combine, x.aval.strip_weak_type(), axis, reverse), [x])
        return result

    if monoid is not None:
        @lowering_rule(primitive, platforms=("tpu",))
        def window_rule(ctx, x, *, axis, reverse):
            return _emit_prefix_window(ctx, x, monoid, axis, reverse)


@functools.lru_cache(maxsize=256)
def _scan_program(combine, aval: ShapedArray, axis: int, reverse: bool) -> ClosedJaxpr:
    def scan(x):
        return op.scan_associatively(lambda a, b: [combine(a[0], b[0])], [x], axis, reverse)
    return stage(scan, [aval], name="cumulative")


def _emit_prefix_window(ctx, x, monoid: str, axis: int, reverse: bool):
    """A window as long as the axis, padded so that it ends (or begins, in reverse) at each element."""
    rank, size, dtype = x.aval.ndim, x.aval.shape[axis], x.aval.dtype
    if size == 0:
        return x
    ones = (1,) * rank
    edge = (0, size - 1) if reverse else (size - 1, 0)
    (result,) = emit_reduce_window(
        ctx, [x], [ctx.constant(identity(monoid, dtype), dtype)], monoid_region(ctx, monoid, dtype), ctx.avals_out,
        window_dimensions=[size if i == axis else 1 for i in range(rank)], window_strides=ones,
        padding=[edge if i == axis else (0, 0) for i in range(rank)], base_dilation=ones, window_dilation=ones)
    return result


_define(op.cumsum_p, el.add, "sum")
_define(op.cumprod_p, el.mul, "prod")
_define(op.cummax_p, el.max, "max")
_define(op.cummin_p, el.min, "min")
_define(op.cumlogsumexp_p, log_add_exp, None)
