"""Sorting operations: arrays reordered along one axis.

The order of floating-point keys has NaN last, and -0 equal to 0; complex keys go by real, then by imaginary part.
`top_k` differs: it takes the total order, in which -0 is below 0 and NaN, by its sign, at either end.
"""

from __future__ import annotations

import math
import numbers
from typing import TYPE_CHECKING, Any, Sequence

import numpy as np

from laminax_ir.ops.elementwise_avals import joined_named_shape
from laminax_ir.ops.shape_arguments import canonical_axis, shape_of
from laminax_ir.programs.primitive import Primitive, shape_rule
from laminax_ir.symbolic.symbolic_dims import SymbolicDim, exceeds
from laminax_ir.tracing.trace import state
from laminax_ir.types import dtypes
from laminax_ir.types.arguments import as_int
from laminax_ir.types.avals import ShapedArray, get_aval
from laminax_ir.types.errors import DTypeError, ShapeError

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike

sort_p = Primitive("sort", multiple_results=True, family="sorting")
top_k_p = Primitive("top_k", multiple_results=True, family="sorting")
approx_top_k_p = Primitive("approx_top_k", multiple_results=True, family="sorting")

_INT32 = np.dtype(np.int32)
_LARGEST_INDEX = 2 ** 31 - 1


@shape_rule(sort_p)
def _sort_shape(*operands: ShapedArray, dimension: int, is_stable: bool, num_keys: int) -> list[ShapedArray]:
    if not operands:
        raise ShapeError("sort: at least one operand is needed")
    first = operands[0]
    for x in operands:
        if x.shape != first.shape:
            raise ShapeError(f"sort: operands must have equal shapes, got {', '.join(x.str_short() for x in operands)}")
    if not 0 <= dimension < first.ndim:
        raise ValueError(f"sort: axis {dimension} is out of bounds for {first.str_short()}, which has {first.ndim} axes")
    if not 1 <= num_keys <= len(operands):
        raise ValueError(f"sort: num_keys={num_keys} must be between 1 and the number of operands, {len(operands)}")
    for x in operands[:num_keys]:
        if dtypes.is_extended(x.dtype):
            raise DTypeError(f"sort: arrays of dtype {x.dtype} have no order and cannot be keys, got {x.str_short()}")
    if any(x._named for x in operands):
        named = joined_named_shape(operands)
        return [x.update(named_shape=named) for x in operands]
    return list(operands)


@shape_rule(top_k_p)
def _top_k_shape(x: ShapedArray, *, k: int, axis: int) -> list[ShapedArray]:
    if dtypes.issubdtype(x.dtype, dtypes.complexfloating) or dtypes.is_extended(x.dtype):
        raise ValueError(f"top_k: complex and extended dtypes have no order, got {x.str_short()}")
    if k < 0:
        raise ValueError(f"top_k: k must not be negative, got {k} for {x.str_short()}")
    if not 0 <= axis < x.ndim:
        raise ValueError(f"top_k: axis {axis} is out of bounds for {x.str_short()}, which has {x.ndim} axes")
    if k > x.shape[axis]:
        raise ValueError(f"top_k: k must not be larger than the size of the axis, got k={k} for {x.str_short()} along "
                         f"axis {axis}")
    if exceeds(x.shape[axis], _LARGEST_INDEX):
        raise ValueError(f"top_k returns int32 indices, which will overflow for array dimensions larger than {_LARGEST_INDEX}, got "
                         f"{x.str_short()} along axis {axis}")
    values = x.update(shape=(*x.shape[:axis], k, *x.shape[axis + 1:]))
    return [values, values.update(dtype=_INT32, weak_type=False)]


def sort(operand: Any, dimension: int = -1, is_stable: bool = True, num_keys: int = 1) -> Any:
    """Sorts arrays along an axis, all in the order of the first ones.

    Args:
      operand: an array, or a sequence of arrays of one shape.
      dimension: the axis; a negative one counts from the end.
      is_stable: whether elements with equal keys keep their order.
      num_keys: how many of the arrays are keys; the first decides, the next ones break its ties.

    Returns:
      The sorted array, or for a sequence the tuple of them, of the operands' shape and dtypes. NaN sort last.

    Raises:
      TypeError: if shapes differ or there is nothing to sort.
      ValueError: if the axis or num_keys is out of range.

    Example:
      >>> sort((np.array([2, 1], 'int32'), np.array([7., 8.], 'float32')))
      (array([1, 2], dtype=int32), array([8., 7.], dtype=float32))
    """
    is_sequence = isinstance(operand, Sequence)
    operands = tuple(operand) if is_sequence else (operand,)
    if not operands:
        raise ShapeError("sort: at least one operand is needed")
    dimension = canonical_axis("sort", dimension, len(shape_of(operands[0])))
    results = state.trace.process(sort_p, operands, {"dimension": dimension, "is_stable": bool(is_stable),
                                                     "num_keys": as_int("sort", "num_keys", num_keys)})
    return tuple(results) if is_sequence else results[0]


def sort_key_val(keys: ArrayLike, values: ArrayLike, dimension: int = -1, is_stable: bool = True) -> tuple[Array, Array]:
    """Sorts keys along an axis and puts values in the same order; see `sort`.

    Args:
      keys: an array of any dtype that is not extended.
      values: an array of the same shape, of any dtype.
      dimension: the axis; a negative one counts from the end.
      is_stable: whether elements with equal keys keep their order.

    Returns:
      (keys, values): arrays of their shape and dtypes.

    Raises:
      TypeError: if the shapes differ or the keys have no order.
      ValueError: if the axis is out of range.

    Example:
      >>> sort_key_val(np.int32([3, 1, 2]), np.float32([30, 10, 20]))
      (array([1, 2, 3], dtype=int32), array([10., 20., 30.], dtype=float32))
    """
    return sort((keys, values), dimension, is_stable, num_keys=1)


def top_k(operand: ArrayLike, k: int, *, axis: int = -1, is_stable: bool = True) -> Any:
    """The k greatest elements along an axis, in descending order, and where they were.

    Args:
      operand: an array, not complex.
      k: how many, at most the size of the axis.
      axis: the axis; a negative one counts from the end.
      is_stable: whether equal elements keep their order, which they do in either case.

    Returns:
      [values, indices]: of the operand's shape with size k along the axis; the values have its dtype, the indices
      are int32. Of equal elements the earlier one comes first.

    Raises:
      ValueError: if k or the axis is out of range, or the operand is complex.

    Example:
      >>> top_k(np.float32([3, 9, 1, 7]), 2)
      [array([9., 7.], dtype=float32), array([1, 3], dtype=int32)]
    """
    del is_stable
    values, indices = state.trace.process(top_k_p, (operand,), {
        "k": as_int("top_k", "k", k), "axis": _axis_of("top_k", operand, axis)})
    return [values, indices]


def _axis_of(name: str, operand: ArrayLike, axis: int) -> int:
    try:
        return canonical_axis(name, axis, len(shape_of(operand)))
    except ValueError as error:
        raise ValueError(f"{error}; the operand is {get_aval(operand).str_short()}") from None


def approx_max_k(operand: ArrayLike, k: int, reduction_dimension: int = -1, recall_target: float = 0.95,
                 reduction_input_size_override: int = -1, aggregate_to_topk: bool = True) -> list:
    """The k greatest elements along an axis and where they were, of which some may be missed.

    None is missed here: the answer is exact, which is within any target. That costs what `top_k` does.

    Args:
      operand: floating, of at least one axis.
      k: how many, at least 1 and at most the size of the axis.
      reduction_dimension: the axis; a negative one counts from the end.
      recall_target: which part of the k greatest must be found, above 0 and at most 1.
      reduction_input_size_override: the size of the axis that the recall is reckoned for, if it is part of a larger one;
        -1 for its own.
      aggregate_to_topk: whether to return k elements; else some more, in number as many as XLA's algorithm finds.

    Returns:
      [values, indices]: of the operand's shape with size k, or more, along the axis, in descending order; the values have
      its dtype, the indices are int32.

    Raises:
      ValueError: if k, the axis or the target is out of range, or the operand is not floating.

    Example:
      >>> approx_max_k(np.float32([3, 9, 1, 7]), 2)
      [array([9., 7.], dtype=float32), array([1, 3], dtype=int32)]

    Source: Chern et al., "TPU-KNN: K nearest neighbor search at peak FLOP/s", arXiv:2206.14286.
    """
    return _approx_top_k("approx_max_k", True, operand, k, reduction_dimension, recall_target, reduction_input_size_override,
                         aggregate_to_topk)


def approx_min_k(operand: ArrayLike, k: int, reduction_dimension: int = -1, recall_target: float = 0.95,
                 reduction_input_size_override: int = -1, aggregate_to_topk: bool = True) -> list:
    """The k least elements along an axis and where they were; otherwise as `approx_max_k`, in ascending order.

    Args:
      operand: floating, of at least one axis.
      k: how many, at least 1 and at most the size of the axis.
      reduction_dimension, recall_target, reduction_input_size_override, aggregate_to_topk: as for `approx_max_k`.

    Returns:
      [values, indices]: of the operand's shape with size k, or more, along the axis; the values have its dtype, the
      indices are int32.

    Raises:
      ValueError: if k, the axis or the target is out of range, or the operand is not floating.

    Example:
      >>> approx_min_k(np.float32([3, 9, 1, 7]), 2)
      [array([1., 3.], dtype=float32), array([2, 0], dtype=int32)]
    """
    return _approx_top_k("approx_min_k", False, operand, k, reduction_dimension, recall_target, reduction_input_size_override,
                         aggregate_to_topk)


def _approx_top_k(name: str, is_max_k: bool, operand: ArrayLike, k: int, reduction_dimension: int, recall_target: float,
                  reduction_input_size_override: int, aggregate_to_topk: bool) -> list:
    axis = _axis_of(name, operand, reduction_dimension)
    if not isinstance(recall_target, numbers.Real):
        raise TypeError(f"{name}: recall_target must be a number, got {recall_target!r}")
    return approx_top_k_p.bind(
        operand, k=as_int(name, "k", k), reduction_dimension=axis, recall_target=float(recall_target), is_max_k=is_max_k,
        reduction_input_size_override=as_int(name, "reduction_input_size_override", reduction_input_size_override),
        aggregate_to_topk=bool(aggregate_to_topk))


@shape_rule(approx_top_k_p)
def _approx_top_k_shape(x: ShapedArray, *, k: int, reduction_dimension: int, recall_target: float, is_max_k: bool,
                        reduction_input_size_override: int, aggregate_to_topk: bool) -> list[ShapedArray]:
    name = "approx_max_k" if is_max_k else "approx_min_k"
    if not dtypes.issubdtype(x.dtype, dtypes.floating):
        raise ValueError(f"{name}: the operand must be floating, got {x.str_short()}")
    if not 0 <= reduction_dimension < x.ndim:
        raise ValueError(f"{name}: axis {reduction_dimension} is out of bounds for {x.str_short()}, which has {x.ndim} axes")
    size = x.shape[reduction_dimension]
    if not 1 <= k <= size:
        raise ValueError(f"{name}: k must be at least 1 and at most the size of the axis, got k={k} for {x.str_short()} along axis "
                         f"{reduction_dimension}")
    if not 0 < recall_target <= 1:
        raise ValueError(f"{name}: recall_target must be above 0 and at most 1, got {recall_target}")
    if reduction_input_size_override != -1 and reduction_input_size_override < size:
        raise ValueError(f"{name}: reduction_input_size_override must be -1 or at least the size of the axis, {size}, got "
                         f"{reduction_input_size_override}")
    count = k if aggregate_to_topk else _found_by_approximation(x.ndim, size, k, recall_target, reduction_input_size_override)
    values = x.update(shape=(*x.shape[:reduction_dimension], count, *x.shape[reduction_dimension + 1:]))
    return [values, values.update(dtype=_INT32, weak_type=False)]


def _found_by_approximation(rank: int, size: int, k: int, recall_target: float, override: int) -> int:
    """How many elements XLA's algorithm keeps: the maximum of each bin; the bins fill whole tiles.

    With m bins the k greatest fall into different ones often enough for the target if m is (1 - k) / log(target); bins
    are made by halving the number of tiles. Source: XLA's ApproxTopKReductionOutputSize.
    """
    if SymbolicDim in (type(size), type(k)):
        raise NotImplementedError(f"approx_max_k: aggregate_to_topk=False with symbolic dimensions is not supported, got k={k} and an axis "
                                  f"of size {size}: how many elements XLA keeps depends on the numbers. Leave it out.")
    tile = 1024 if rank == 1 else 128
    if size <= tile:
        return size
    wanted = (1 - k) / math.log(recall_target) if recall_target < 1 else math.inf
    bins = int(min(max(wanted, tile), size))
    halvings = ((override if override != -1 else size) // bins).bit_length() - 1
    return -(-(-(-size // tile)) // 2**halvings) * tile if halvings > 0 else size
