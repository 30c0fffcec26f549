"""Derivatives and batching of sorting operations: a sort is a permutation that depends on the keys only through
their order, so tangents are moved as the values are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Sequence

import numpy as np

from laminax_ir.ops.indexing import GatherDimensionNumbers, gather
from laminax_ir.ops.shape import broadcasted_iota, expand_dims, full
from laminax_ir.ops.sharding import reshard
from laminax_ir.ops.sorting import approx_top_k_p, sort_p, top_k_p
from laminax_ir.tracing.explicit_axes import is_resolving
from laminax_ir.types.avals import get_aval
from laminax_transforms.base.registry import batching_rule, jvp_rule
from laminax_transforms.base.zeros import ZERO
from laminax_transforms.rules.shape import align_batch_axes

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike


@jvp_rule(sort_p, symbolic_zeros=True)
def _sort_jvp(primals: Sequence[Any], tangents: Sequence[Any], *, dimension: int, is_stable: bool, num_keys: int) -> tuple[Any, Any]:
    positions = broadcasted_iota(np.int32, get_aval(primals[0]).shape, dimension)
    *results, order = sort_p.bind(*primals, positions, dimension=dimension, is_stable=is_stable, num_keys=num_keys)
    return results, [t if t is ZERO else _take_along_axis(t, order, dimension) for t in tangents]


def _take_along_axis(x: ArrayLike, indices: ArrayLike, axis: int) -> Array:
    """Reads `x[..., indices[..., i, ...], ...]`, each position along the axis once at most."""
    shape = get_aval(x).shape
    if 0 in indices.shape:
        return full(indices.shape, 0, get_aval(x).dtype)
    others = tuple([i for i in range(len(shape)) if i != axis])
    dims = GatherDimensionNumbers(offset_dims=(), collapsed_slice_dims=(axis,), start_index_map=(axis,),
                                  operand_batching_dims=others, start_indices_batching_dims=others)
    if get_aval(x)._split is None:
        return gather(x, expand_dims(indices, (-1,)), dims, (1,) * len(shape), unique_indices=True, mode="promise_in_bounds")
    with is_resolving(True):  # the axis that is sorted may be split
        found = gather(x, expand_dims(indices, (-1,)), dims, (1,) * len(shape), unique_indices=True, mode="promise_in_bounds")
    return reshard(found, get_aval(indices)._split)


@jvp_rule(top_k_p, symbolic_zeros=True)
def _top_k_jvp(primals: Sequence[Any], tangents: Sequence[Any], *, k: int, axis: int) -> tuple[Any, Any]:
    values, indices = top_k_p.bind(*primals, k=k, axis=axis)
    return [values, indices], [_take_along_axis(tangents[0], indices, axis), ZERO]


@jvp_rule(approx_top_k_p, symbolic_zeros=True)
def _approx_top_k_jvp(primals: Sequence[Any], tangents: Sequence[Any], *, reduction_dimension: int, **params: Any) -> tuple[Any, Any]:
    values, indices = approx_top_k_p.bind(*primals, reduction_dimension=reduction_dimension, **params)
    return [values, indices], [_take_along_axis(tangents[0], indices, reduction_dimension), ZERO]


@batching_rule(sort_p)
def _sort_batch(operands: Sequence[Any], batch_axes: Sequence[int | None], *, dimension: int, is_stable: bool,
                num_keys: int) -> tuple[Any, Any]:
    operands, batch_axis = align_batch_axes(operands, batch_axes)
    results = sort_p.bind(*operands, dimension=dimension + (dimension >= batch_axis), is_stable=is_stable, num_keys=num_keys)
    return results, [batch_axis] * len(results)


@batching_rule(top_k_p)
def _top_k_batch(operands: Sequence[Any], batch_axes: Sequence[int], *, k: int, axis: int) -> tuple[Any, Any]:
    (x,), (batch_axis,) = operands, batch_axes
    return top_k_p.bind(x, k=k, axis=axis + (axis >= batch_axis)), [batch_axis, batch_axis]


@batching_rule(approx_top_k_p)
def _approx_top_k_batch(operands: Sequence[Any], batch_axes: Sequence[int], *, reduction_dimension: int,
                        **params: Any) -> tuple[Any, Any]:
    (x,), (batch_axis,) = operands, batch_axes
    axis = reduction_dimension + (reduction_dimension >= batch_axis)
    return approx_top_k_p.bind(x, reduction_dimension=axis, **params), [batch_axis, batch_axis]
