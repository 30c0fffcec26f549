"""NumPy meaning of the contractions: everything becomes one batched matrix product."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from laminax_ir.ops.contraction import (
    contraction_dtype,
    dot_general_p,
    free_axes,
    outer_ragged_axes,
    ragged_dot_general_p,
)
from laminax_ir.reference.evaluate import reference_rule
from laminax_ir.reference.widening import computation_dtype
from laminax_ir.types import dtypes
from laminax_ir.types.dot_algorithms import TF32, DotAlgorithm, DotAlgorithmPreset, concrete_algorithm, storage_dtype

if TYPE_CHECKING:
    from laminax_ir.ops.contraction import Precision, RaggedDotDimensionNumbers


@reference_rule(dot_general_p)
def _dot_general(lhs: np.ndarray, rhs: np.ndarray, *, dimension_numbers: tuple[tuple[Any, ...], ...],
                 precision: tuple[Precision, ...] | None, preferred_element_type: np.dtype | None, out_sharding: Any) -> np.ndarray:
    if isinstance(precision, (DotAlgorithm, DotAlgorithmPreset)):
        out = contraction_dtype("dot_general", lhs.dtype, rhs.dtype, preferred_element_type)
        algorithm = concrete_algorithm(precision, lhs.dtype, rhs.dtype, out)
        if algorithm is not None:
            return _by_algorithm(lhs, rhs, dimension_numbers, algorithm).astype(out)
    lhs, rhs, result_dtype = in_common_dtype(lhs, rhs, preferred_element_type)
    return to_result(_contract(lhs, rhs, dimension_numbers), result_dtype)


def _by_algorithm(lhs: Any, rhs: Any, dimension_numbers: tuple[tuple[Any, ...], ...], algorithm: DotAlgorithm) -> np.ndarray:
    """The sum of products of components, the greatest ones, in the accumulation type."""
    wide = computation_dtype(algorithm.accumulation_type)
    count = max(algorithm.lhs_component_count, algorithm.rhs_component_count)
    while count * count < algorithm.num_primitive_operations:
        count += 1
    lhs = [x.astype(wide) for x in _components(lhs, algorithm, algorithm.lhs_precision_type, count)]
    rhs = [x.astype(wide) for x in _components(rhs, algorithm, algorithm.rhs_precision_type, count)]
    pairs = sorted(((i, j) for i in range(count) for j in range(count)), key=sum)[:algorithm.num_primitive_operations]
    total = sum(_contract(lhs[i], rhs[j], dimension_numbers) for i, j in reversed(pairs))  # the smallest first
    return np.asarray(total).astype(algorithm.accumulation_type)


def _components(x: np.ndarray, algorithm: DotAlgorithm, precision_type: np.dtype | str, count: int) -> Any:
    rest = x.astype(storage_dtype(algorithm, precision_type, x.dtype))
    for _ in range(count):
        part = _rounded_to_tf32(rest) if precision_type is TF32 else rest.astype(precision_type)
        yield part
        rest = (rest - part.astype(rest.dtype)).astype(rest.dtype)


def _rounded_to_tf32(x: np.ndarray) -> np.ndarray:
    """To 10 of float32's 23 mantissa bits, half to even."""
    bits = np.ascontiguousarray(x).view(np.uint32)
    half_to_even = np.uint32(0x0FFF) + ((bits >> np.uint32(13)) & np.uint32(1))
    rounded = ((bits + half_to_even) & np.uint32(0xFFFFE000)).view(np.float32).reshape(x.shape)
    return np.where(np.isfinite(x), rounded, x)


def in_common_dtype(lhs: np.ndarray, rhs: np.ndarray, preferred: np.dtype | None) -> Any:
    """Operands in the dtype that the products are summed in, and the dtype of the result."""
    operand_dtype = contraction_dtype("dot_general", lhs.dtype, rhs.dtype, None)
    dtype = operand_dtype if preferred is None else preferred
    # A result that cannot hold the operands' values (integer from float, real from complex) is converted at the end.
    fits = np.can_cast(computation_dtype(operand_dtype), computation_dtype(dtype), "same_kind") or \
        dtypes.issubdtype(operand_dtype, dtypes.integer) and dtypes.issubdtype(dtype, dtypes.integer)
    wide = computation_dtype(dtype if fits else operand_dtype)
    return lhs.astype(wide, copy=False), rhs.astype(wide, copy=False), dtype


def to_result(value: np.ndarray, dtype: np.dtype) -> Any:
    if dtypes.issubdtype(value.dtype, dtypes.complexfloating) and not dtypes.issubdtype(dtype, dtypes.complexfloating):
        value = value.real
    return value.astype(dtype, copy=False)


def _contract(lhs: np.ndarray, rhs: np.ndarray, dimension_numbers: tuple[tuple[Any, ...], ...]) -> np.ndarray:
    (lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch) = dimension_numbers
    lhs_free = free_axes(lhs.ndim, lhs_contracting, lhs_batch)
    rhs_free = free_axes(rhs.ndim, rhs_contracting, rhs_batch)
    lhs = lhs.transpose((*lhs_batch, *lhs_free, *lhs_contracting))
    rhs = rhs.transpose((*rhs_batch, *rhs_contracting, *rhs_free))
    batch, m = lhs.shape[:len(lhs_batch)], lhs.shape[len(lhs_batch):len(lhs_batch) + len(lhs_free)]
    n = rhs.shape[rhs.ndim - len(rhs_free):]
    k = math.prod(lhs.shape[lhs.ndim - len(lhs_contracting):])
    product = np.matmul(lhs.reshape((*batch, math.prod(m), k)), rhs.reshape((*batch, k, math.prod(n))))
    return product.reshape((*batch, *m, *n))


@reference_rule(ragged_dot_general_p)
def _ragged_dot_general(lhs: np.ndarray, rhs: np.ndarray, group_sizes: np.ndarray, *,
                        ragged_dot_dimension_numbers: RaggedDotDimensionNumbers, precision: Any, preferred_element_type: Any,
                        group_offset: Any, out_sharding: Any) -> np.ndarray:
    lhs, rhs, result_dtype = in_common_dtype(lhs, rhs, preferred_element_type)
    ((contracting, rhs_contracting), (batch, rhs_batch)), _, group = ragged_dot_dimension_numbers
    groups = group_sizes.shape[-1]
    masks = _group_masks(lhs, group_sizes, ragged_dot_dimension_numbers)
    if not group:
        numbers = ((contracting, rhs_contracting), (batch, rhs_batch))
        shape = _contract(lhs, rhs, numbers).shape
        products = [_contract(np.where(mask, lhs, lhs.dtype.type(0)), rhs, numbers) for mask in masks]
        return to_result(np.array(products, lhs.dtype).reshape(groups, *shape), result_dtype)
    # Taking one group out removes the group axis, which moves the numbers of the axes behind it.
    numbers = ((contracting, _without(rhs_contracting, group[0])), (batch, _without(rhs_batch, group[0])))
    total = _contract(np.zeros_like(lhs), np.zeros(np.delete(rhs.shape, group), rhs.dtype), numbers)
    for mask, one in zip(masks, np.moveaxis(rhs, group[0], 0)):
        total = total + _contract(np.where(mask, lhs, lhs.dtype.type(0)), one, numbers)
    return to_result(total, result_dtype)


def _group_masks(lhs: np.ndarray, group_sizes: np.ndarray, numbers: RaggedDotDimensionNumbers) -> Iterator[Any]:
    """Per group, where along lhs's ragged axis it lies; each mask broadcasts against lhs."""
    (ragged,) = numbers.lhs_ragged_dimensions
    axes = (*outer_ragged_axes(lhs.ndim, numbers), ragged) if group_sizes.ndim > 1 else (ragged,)
    sizes = group_sizes.astype(np.int64)
    ends = np.cumsum(sizes, axis=-1)
    position = np.arange(lhs.shape[ragged])
    for i in range(group_sizes.shape[-1]):
        end = ends[..., i, None]
        yield _onto_axes((end - sizes[..., i, None] <= position) & (position < end), axes, lhs.ndim)


def _onto_axes(x: np.ndarray, axes: tuple[int, ...], ndim: int) -> np.ndarray:
    """The array with its axes put at the given places of an array of rank ndim, size 1 elsewhere."""
    order = np.argsort(axes)
    shape = [1] * ndim
    for axis, size in zip(axes, x.shape):
        shape[axis] = size
    return x.transpose(order).reshape(shape)


def _without(axes: tuple[int, ...], removed: int) -> tuple[int, ...]:
    return tuple(axis - (axis > removed) for axis in axes)
