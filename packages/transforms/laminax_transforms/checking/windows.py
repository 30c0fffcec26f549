"""Operations that read or write windows of arrays: where their windows are, and whether these are within the array."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np

from laminax_ir.ops import elementwise as op
from laminax_ir.ops import indexing, reduction, slicing
from laminax_ir.ops import shape as shape_ops
from laminax_ir.ops.scalar_operands import scalar_like
from laminax_ir.programs.primitive import Primitive
from laminax_ir.types import dtypes
from laminax_ir.types.avals import get_aval


def first_outside(primitive: Primitive, operands: list[Any], params: dict[str, Any]) -> tuple[Any, Any]:
    """Whether a window is not within the array; and the first index that is outside, its axis and the axis' size."""
    positions, axes, last = WINDOW_POSITIONS[primitive](operands, params)
    sizes, positions_aval = get_aval(operands[0]).shape, get_aval(positions)
    if not axes or positions_aval.size == 0:
        return shape_ops.full((), False, np.bool_), shape_ops.full((3,), 0, np.int32)
    last = np.minimum(np.array(last, np.int64), dtypes.iinfo(positions_aval.dtype).max).astype(positions_aval.dtype)
    is_outside = op.bitwise_or(op.lt(positions, scalar_like(0, positions_aval.dtype)),
                               op.gt(positions, np.broadcast_to(last, positions_aval.shape)))
    is_outside = shape_ops.reshape(is_outside, (positions_aval.size,))
    first = reduction.argmax(is_outside, 0, np.int32)
    axis = element(np.array(axes, np.int32), op.rem(first, np.int32(len(axes))))
    index = op.convert_element_type(element(shape_ops.reshape(positions, (positions_aval.size,)), first), np.int32)
    shown = index, axis, element(np.array(sizes, np.int32), axis)
    return any_of(is_outside), shape_ops.concatenate([shape_ops.reshape(x, (1,)) for x in shown], 0)


def any_of(x: Any) -> Any:
    """Whether an element of a bool array is true."""
    return reduction.reduce_or(x, tuple(range(len(get_aval(x).shape))))


def element(x: Any, index: Any) -> Any:
    """The element of the first axis at a position, which is not negative."""
    return slicing.dynamic_index_in_dim(x, index, 0, keepdims=False, allow_negative_indices=False)


# Of an operation that reads or writes windows: their positions, with the components in the last axis; the axis of the array
# that each component is along; and for each the last position at which the window is within the array.
_Positions = tuple[Any, tuple[int, ...], list[int]]


def _gather_positions(operands: list[Any], params: dict[str, Any]) -> _Positions:
    axes, shape = params["dimension_numbers"].start_index_map, get_aval(operands[0]).shape
    return operands[1], axes, [shape[a] - params["slice_sizes"][a] for a in axes]


def _scatter_positions(operands: list[Any], params: dict[str, Any]) -> _Positions:
    numbers, shape = params["dimension_numbers"], get_aval(operands[0]).shape
    window = iter([get_aval(operands[2]).shape[a] for a in numbers.update_window_dims])
    sizes = [1 if a in (*numbers.inserted_window_dims, *numbers.operand_batching_dims) else next(window) for a in range(len(shape))]
    axes = numbers.scatter_dims_to_operand_dims
    return operands[1], axes, [shape[a] - sizes[a] for a in axes]


def _dynamic_slice_positions(operands: list[Any], params: dict[str, Any]) -> _Positions:
    return _starts(operands[0], operands[1:], params["slice_sizes"])


def _dynamic_update_positions(operands: list[Any], params: dict[str, Any]) -> _Positions:
    return _starts(operands[0], operands[2:], get_aval(operands[1]).shape)


def _starts(array: Any, starts: list[Any], sizes: tuple[int, ...]) -> _Positions:
    whole = get_aval(array).shape
    position = shape_ops.concatenate([shape_ops.reshape(x, (1,)) for x in starts], 0) if starts else np.zeros(0, np.int32)
    return position, tuple(range(len(whole))), [n - size for n, size in zip(whole, sizes)]


WINDOW_POSITIONS: dict[Primitive, Callable[[list[Any], dict[str, Any]], _Positions]] = {
    indexing.gather_p: _gather_positions, slicing.dynamic_slice_p: _dynamic_slice_positions,
    slicing.dynamic_update_slice_p: _dynamic_update_positions,
    **dict.fromkeys((indexing.scatter_p, indexing.scatter_add_p, indexing.scatter_sub_p, indexing.scatter_mul_p, indexing.scatter_min_p,
                     indexing.scatter_max_p), _scatter_positions)}
