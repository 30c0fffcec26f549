"""Derivatives and batching of reductions.

Maximum and minimum share the derivative equally among the elements that attain them. The derivative of a product is
the sum over elements of the product of all others, computed as a tree of products: right where elements are zero, and
differentiable again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Sequence

from laminax_ir.ops import reduction as op
from laminax_ir.ops.elementwise import add, convert_element_type, div, eq, mul
from laminax_ir.ops.reduction import reduce_sum
from laminax_ir.ops.shape import broadcast_in_dim, concatenate, full, reshape, transpose
from laminax_ir.ops.slicing import slice_in_dim
from laminax_ir.programs.jaxpr import ClosedJaxpr
from laminax_ir.programs.primitive import Primitive
from laminax_ir.programs.result_types import has_sums
from laminax_ir.recording.evaluation import eval_jaxpr
from laminax_ir.types import dtypes
from laminax_ir.types.avals import get_aval
from laminax_transforms.base.registry import (
    axis_batching_rule,
    batching_rule,
    define_jvp,
    define_linear,
    define_zero_derivative,
    jvp_rule,
    transpose_rule,
)
from laminax_transforms.base.zeros import ZERO, instantiate
from laminax_transforms.batching.batch_axes import Axis, move_axis
from laminax_transforms.batching.batching import batch_flat
from laminax_transforms.differentiation.differentiation import jvp_flat

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike

define_linear(op.reduce_sum_p)
define_zero_derivative(op.reduce_and_p, op.reduce_or_p, op.reduce_xor_p, op.argmax_p, op.argmin_p)


@transpose_rule(op.reduce_sum_p)
def _reduce_sum_transpose(ct: Any, x: Any, *, axes: tuple[int, ...], out_sharding: Any) -> list[Any]:
    split = x._split  # said at once, lest each device makes the whole
    is_plain = split is not None and not split.has_sums and not has_sums(get_aval(ct))
    return [broadcast_in_dim(ct, x.shape, kept_axes(len(x.shape), axes), out_sharding=split.along_explicit_axes() if is_plain else None)]


def kept_axes(ndim: int, axes: Sequence[int]) -> tuple[int, ...]:
    return tuple(axis for axis in range(ndim) if axis not in axes)


def _extremum_partial(t: ArrayLike, result: ArrayLike, x: ArrayLike, *, axes: tuple[int, ...]) -> Array:
    """The mean of the tangents at the elements that attain the extremum."""
    shape = get_aval(x).shape
    attained = convert_element_type(eq(x, broadcast_in_dim(result, shape, kept_axes(len(shape), axes))), result.dtype)
    return div(reduce_sum(mul(t, attained), axes), reduce_sum(attained, axes))


define_jvp(op.reduce_max_p, _extremum_partial)
define_jvp(op.reduce_min_p, _extremum_partial)


def _product_partial(t: ArrayLike, result: ArrayLike, x: ArrayLike, *, axes: tuple[int, ...]) -> Array:
    x, t = reduced_axes_first(x, axes), reduced_axes_first(t, axes)
    return fold_halves([x, t], [1, 0], lambda a, b: [mul(a[0], b[0]), add(mul(a[1], b[0]), mul(b[1], a[0]))])[1]


def reduced_axes_first(x: ArrayLike, axes: Sequence[int]) -> Any:
    """The reduced axes merged into one, in front."""
    shape = get_aval(x).shape
    kept = kept_axes(len(shape), axes)
    size = 1
    for axis in axes:
        size *= shape[axis]
    return reshape(transpose(x, (*axes, *kept)), (size, *(shape[axis] for axis in kept)))


def fold_halves(arrays: Sequence[ArrayLike], identities: Sequence[int], combine: Callable) -> list[Any]:
    """Reduces the first axis by halves: `combine` takes and returns lists of arrays."""
    size = arrays[0].shape[0]
    if size == 0:
        return [full(x.shape[1:], e, x.dtype) for x, e in zip(arrays, identities)]
    while size > 1:
        half = size // 2
        low, high, rest = ([slice_in_dim(x, start, limit) for x in arrays]
                           for start, limit in ((0, half), (half, 2 * half), (2 * half, size)))
        arrays = combine(low, high)
        if size % 2:
            arrays = [concatenate([x, r], 0) for x, r in zip(arrays, rest)]
        size -= half
    return [reshape(x, x.shape[1:]) for x in arrays]


define_jvp(op.reduce_prod_p, _product_partial)


# Batching


def _batch_over_axes(primitive: Primitive) -> None:
    """The reduced axes make room for the batch axis, which stays where it is among the kept ones."""
    @batching_rule(primitive)
    def rule(operands: Sequence[Any], batch_axes: Sequence[int | None], *, axes: Any, **params: Any) -> tuple[Any, Any]:
        (batch_axis,) = batch_axes
        shifted = tuple(axis + (axis >= batch_axis) for axis in axes)
        return primitive.bind(*operands, axes=shifted, **params), batch_axis - sum(axis < batch_axis for axis in shifted)


for _primitive in (op.reduce_sum_p, op.reduce_prod_p, op.reduce_max_p, op.reduce_min_p, op.reduce_and_p, op.reduce_or_p,
                   op.reduce_xor_p, op.argmax_p, op.argmin_p):
    _batch_over_axes(_primitive)


# The general reduction


@jvp_rule(op.reduce_p, symbolic_zeros=True)
def _reduce_jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
    """Differentiates the reduction as a tree of its computation; by the monoid's laws its order does not matter."""
    return jvp_by_operations(op.reduce_p.bind(*primals, **params), lambda *values: _reduce_by_halves(values, **params), primals, tangents)


def jvp_by_operations(results: Sequence[Any], fun: Callable[..., Sequence[Any]], primals: Sequence[Any],
                      tangents: Sequence[Any]) -> tuple[Sequence[Any], list[Any]]:
    """The JVP of an operation whose results are known, by forward mode through `fun`, which computes them by differentiable ones."""
    if all(not dtypes.issubdtype(r.dtype, dtypes.inexact) for r in results) or all(t is ZERO for t in tangents):
        return results, [ZERO] * len(results)
    _, out_tangents = jvp_flat(fun, primals, tangents)
    return results, [instantiate(t, get_aval(r)) if dtypes.issubdtype(r.dtype, dtypes.inexact) else ZERO
                     for r, t in zip(results, out_tangents)]


def _reduce_by_halves(values: Any, *, dimensions: tuple[int, ...], jaxpr: ClosedJaxpr) -> list[Array]:
    """`reduce` in differentiable operations; initial values may be arrays of the result's shape."""
    operands, inits = op.split_operands("reduce", values)
    columns = [reduced_axes_first(x, dimensions) for x in operands]
    shape = columns[0].shape[1:]
    starts = [x if get_aval(x).shape == shape else broadcast_in_dim(x, shape, ()) for x in inits]
    if columns[0].shape[0] == 0:
        return starts

    def combine(low: Sequence[ArrayLike], high: Sequence[ArrayLike]) -> Any:
        return apply_to_elements(jaxpr, [*low, *high])

    return apply_to_elements(jaxpr, [*starts, *fold_halves(columns, (), combine)])


def apply_to_elements(jaxpr: ClosedJaxpr, arrays: Sequence[ArrayLike]) -> list:
    """A computation on scalars, applied to arrays of one shape element by element."""
    shape = arrays[0].shape
    size = 1
    for extent in shape:
        size *= extent
    flat = [reshape(x, (size,)) for x in arrays]
    results, _ = batch_flat(lambda *xs: eval_jaxpr(jaxpr.jaxpr, jaxpr.consts, *xs), Axis(size), flat, [0] * len(flat),
                            [0] * len(jaxpr.out_avals))
    return [reshape(x, shape) for x in results]


@axis_batching_rule(op.reduce_p)
def _reduce_batch(axis: Axis, operands: Sequence[Any], batch_axes: Sequence[int | None], *, dimensions: tuple[int, ...],
                  jaxpr: ClosedJaxpr) -> tuple[Any, Any]:
    arrays, inits = op.split_operands("reduce", operands)
    array_axes, init_axes = op.split_operands("reduce", batch_axes)
    rank = max(len(get_aval(x).shape) - (b is not None) for x, b in zip(arrays, array_axes))
    arrays = [move_axis(x, b, 0) if b is not None else broadcast_in_dim(x, (axis.size, *get_aval(x).shape), range(1, rank + 1))
              for x, b in zip(arrays, array_axes)]
    shifted = tuple(d + 1 for d in dimensions)
    if all(b is None for b in init_axes):
        return op.reduce_p.bind(*arrays, *inits, dimensions=shifted, jaxpr=jaxpr), [0] * len(arrays)
    # No compiled reduction takes an initial value per example.
    shape = tuple(size for i, size in enumerate(arrays[0].shape) if i not in shifted)
    starts = [broadcast_in_dim(x, shape, () if b is None else (0,)) for x, b in zip(inits, init_axes)]
    return _reduce_by_halves([*arrays, *starts], dimensions=shifted, jaxpr=jaxpr), [0] * len(arrays)
