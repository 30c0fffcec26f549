"""Derivatives and batching of cumulative reductions.

The sum is linear. The others are differentiated as associative scans of pairs (value, tangent): the pair operation is
the two-element operation with its derivative, which is associative because the operation is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Sequence

from laminax_ir.ops import cumulative as op
from laminax_ir.ops.elementwise import (
    add,
    complex,
    convert_element_type,
    div,
    eq,
    exp,
    gt,
    is_finite,
    log,
    lt,
    max,
    min,
    mul,
    real,
    select,
    stop_gradient_one,
    sub,
)
from laminax_ir.ops.shape import full_like
from laminax_ir.programs.primitive import Primitive
from laminax_ir.types import dtypes
from laminax_transforms.base.registry import batching_rule, define_jvp, define_linear, transpose_rule

if TYPE_CHECKING:
    from laminax_ir.types.annotations import ArrayLike

define_linear(op.cumsum_p)


@transpose_rule(op.cumsum_p)
def _cumsum_transpose(ct: Any, x: Any, *, axis: int, reverse: bool) -> list[Any]:
    return [op.cumsum_p.bind(ct, axis=axis, reverse=not reverse)]


def _scan_of_pairs(primitive: Primitive, combine: Callable) -> None:
    """Defines the derivative: `combine(a, b, a_dot, b_dot)` gives the two-element result and its tangent."""
    def partial(t: Any, result: ArrayLike, x: ArrayLike, *, axis: int, reverse: bool) -> Any:
        return op.scan_associatively(lambda a, b: list(combine(a[0], b[0], a[1], b[1])), [x, t], axis, reverse)[1]
    define_jvp(primitive, partial)


_scan_of_pairs(op.cumprod_p, lambda a, b, a_dot, b_dot: (mul(a, b), add(mul(a_dot, b), mul(b_dot, a))))


def _extremum(choose: Callable, wins: Callable) -> Callable:
    def combine(a: ArrayLike, b: ArrayLike, a_dot: ArrayLike, b_dot: ArrayLike) -> tuple[Any, Any]:
        """A tie of the two shares the tangent equally; NaN, which neither wins nor ties, has none from there on."""
        result = choose(a, b)
        a_wins, b_wins, is_tie = (convert_element_type(x, result.dtype) for x in (wins(a, b), wins(b, a), eq(a, b)))
        half = mul(is_tie, 0.5)
        return result, add(mul(a_dot, add(a_wins, half)), mul(b_dot, add(b_wins, half)))
    return combine


_scan_of_pairs(op.cummax_p, _extremum(max, gt))
_scan_of_pairs(op.cummin_p, _extremum(min, lt))


def _logsumexp(a: ArrayLike, b: ArrayLike, a_dot: ArrayLike, b_dot: ArrayLike) -> tuple[Any, Any]:
    if dtypes.issubdtype(a.dtype, dtypes.complexfloating):
        top = max(real(a), real(b))
        shift = stop_gradient_one(select(is_finite(top), top, full_like(top, 0)))
        shift = complex(shift, full_like(shift, 0))
    else:
        top = max(a, b)
        shift = stop_gradient_one(select(is_finite(top), top, full_like(top, 0)))
    a_weight, b_weight = exp(sub(a, shift)), exp(sub(b, shift))
    total = add(a_weight, b_weight)
    # Where nothing has been summed yet (both -inf) the weights are 0 of 0: count that as 0.
    scale = select(eq(total, full_like(total, 0)), full_like(total, 1), total)
    return add(log(total), shift), add(mul(a_dot, div(a_weight, scale)), mul(b_dot, div(b_weight, scale)))


_scan_of_pairs(op.cumlogsumexp_p, _logsumexp)


def _batch_along_axis(primitive: Primitive) -> None:
    @batching_rule(primitive)
    def rule(operands: Sequence[Any], batch_axes: Sequence[int], *, axis: int, reverse: bool) -> tuple[Any, Any]:
        (batch_axis,) = batch_axes
        return primitive.bind(*operands, axis=axis + (axis >= batch_axis), reverse=reverse), batch_axis


for _primitive in (op.cumsum_p, op.cumprod_p, op.cummax_p, op.cummin_p, op.cumlogsumexp_p):
    _batch_along_axis(_primitive)
