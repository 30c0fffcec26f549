"""StableHLO of the cumulative reductions: each element reduces a window of all elements before it.

XLA knows this form and makes a scan of it. Compared with a scan in logarithmic depth, written out in slices, this form compiles three to
seven times faster on CPU (1000 by 1000 float32, jaxlib 0.10.2), and runs 3 times slower for sums, 1.4 for maxima.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

import laminax_lowering.rules.cumulative_cpu  # noqa: F401
from laminax_ir.ops import cumulative as op
from laminax_ir.ops import elementwise as el
from laminax_ir.ops.reduction import identity
from laminax_ir.ops.shape import full_like
from laminax_ir.programs.jaxpr import ClosedJaxpr
from laminax_ir.programs.primitive import Primitive
from laminax_ir.recording.staging import stage
from laminax_ir.symbolic.symbolic_dims import SymbolicDim, max_dim
from laminax_ir.types import dtypes
from laminax_ir.types.avals import ShapedArray
from laminax_lowering.rules.reduction import computation_region, monoid_region
from laminax_lowering.rules.windows import emit_reduce_window
from laminax_lowering.writing.context import FunctionWriter
from laminax_lowering.writing.registry import lowering_rule
from laminax_lowering.writing.ssa_values import Value

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array


def _define(primitive: Primitive, monoid: str) -> None:
    @lowering_rule(primitive)
    def rule(ctx: FunctionWriter, x: Value, *, axis: int, reverse: bool) -> Any:
        dtype = x.aval.dtype
        return _emit_prefix_window(ctx, x, ctx.constant(identity(monoid, dtype), dtype), monoid_region(ctx, monoid, dtype), axis, reverse)


_define(op.cumsum_p, "sum")
_define(op.cumprod_p, "prod")
_define(op.cummax_p, "max")
_define(op.cummin_p, "min")


def _emit_prefix_window(ctx: FunctionWriter, x: Value, init: Value, region: str, axis: int, reverse: bool) -> Value:
    """A window as long as the axis, padded so that it ends (or begins, in reverse) at each element."""
    rank, size = x.aval.ndim, x.aval.shape[axis]
    if size == 0:
        return x
    if type(size) is SymbolicDim:
        size = max_dim(size, 1)  # a window has at least one element, also where the axis turns out to have none
    ones = (1,) * rank
    edge = (0, size - 1) if reverse else (size - 1, 0)
    (result,) = emit_reduce_window(
        ctx, [x], [init], region, ctx.avals_out, window_dimensions=[size if i == axis else 1 for i in range(rank)],
        window_strides=ones, padding=[edge if i == axis else (0, 0) for i in range(rank)], base_dilation=ones, window_dilation=ones)
    return result


@lowering_rule(op.cumlogsumexp_p)
def _cumlogsumexp(ctx: FunctionWriter, x: Value, *, axis: int, reverse: bool) -> Value:
    dtype = x.aval.dtype
    region = computation_region(ctx, _log_add_exp_program(dtype))
    return _emit_prefix_window(ctx, x, ctx.constant(-np.inf, dtype), region, axis, reverse)


@functools.lru_cache(maxsize=None)
def _log_add_exp_program(dtype: np.dtype) -> ClosedJaxpr:
    return stage(lambda a, b: [_log_add_exp(a, b)], [ShapedArray((), dtype)] * 2, name="log_add_exp")


def _log_add_exp(a: Value, b: Value) -> Array:
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
