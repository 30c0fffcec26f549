"""The checks of shapes and dimension numbers for gather and scatter, and the shape of gather's result.

Every condition is one of the specification's constraints, under the names that the fields have here. Answers are kept, so
a program pays for a check once. Source: StableHLO specification, sections gather and scatter.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Sequence

from laminax_ir.types.errors import ShapeError

if TYPE_CHECKING:
    from laminax_ir.ops.indexing import GatherDimensionNumbers

_GATHER_NAMES = ("collapsed_slice_dims", "start_index_map", "operand_batching_dims", "start_indices_batching_dims")
_SCATTER_NAMES = ("inserted_window_dims", "scatter_dims_to_operand_dims", "operand_batching_dims",
                  "scatter_indices_batching_dims")


@functools.lru_cache(maxsize=4096)
def gather_shape(shape: tuple[int, ...], indices_shape: tuple[int, ...], dims: Any, slice_sizes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of gather's result.

    Args:
      shape: the operand's shape.
      indices_shape: the shape of the indices, with the index vectors in the last axis.
      dims: a GatherDimensionNumbers of tuples.
      slice_sizes: the windows' sizes along the operand's axes.

    Returns:
      The sizes of the indices' axes but the last, and at `dims.offset_dims` those of a window.

    Raises:
      ShapeError: if a constraint does not hold.
    """
    given = f"; operand shape {shape}, indices shape {indices_shape}, slice_sizes {slice_sizes}, {dims}"
    _check_sorted("gather", "offset_dims", dims.offset_dims, given)
    result_rank = len(dims.offset_dims) + len(indices_shape) - 1
    for i, axis in enumerate(dims.offset_dims):
        if not 0 <= axis < result_rank:
            raise ShapeError(f"gather: Offset dimension {i} in gather op is out of bounds, got {axis}; it must be an axis of the "
                             f"result, which has {result_rank} axes{given}")
    _check_correspondence("gather", given, shape, indices_shape, _GATHER_NAMES, dims[1:])
    _check_slice_sizes(shape, dims, slice_sizes, given)
    removed = (*dims.collapsed_slice_dims, *dims.operand_batching_dims)
    window = [size for axis, size in enumerate(slice_sizes) if axis not in removed]
    return interleave(indices_shape[:-1], window, dims.offset_dims)


def _check_slice_sizes(shape: tuple[int, ...], dims: GatherDimensionNumbers, slice_sizes: tuple[int, ...], given: str) -> None:
    if len(slice_sizes) != len(shape):
        raise ShapeError(f"gather: Gather op must have one slice size for every input dimension, got {len(slice_sizes)} for an "
                         f"operand of {len(shape)} axes{given}")
    if len(slice_sizes) != len(dims.offset_dims) + len(dims.collapsed_slice_dims) + len(dims.operand_batching_dims):
        raise ShapeError("gather: All components of the offset index in a gather op must either be a offset dimension or "
                         f"explicitly collapsed/batching: offset_dims, collapsed_slice_dims and operand_batching_dims must "
                         f"have {len(slice_sizes)} entries together{given}")
    for axis, (size, window) in enumerate(zip(shape, slice_sizes)):
        if not 0 <= window <= size:
            raise ShapeError(f"gather: Slice size at index {axis} in gather op is out of range, it must be between 0 and the "
                             f"axis' size {size}, got {window}{given}")
    for i, axis in enumerate(dims.collapsed_slice_dims):
        if slice_sizes[axis] != 1:
            raise ShapeError(f"gather: Gather op can only collapse slice dims with bound 1, but bound is {slice_sizes[axis]} for "
                             f"index {axis} at position {i}{given}")
    for i, axis in enumerate(dims.operand_batching_dims):
        if slice_sizes[axis] > 1:
            raise ShapeError("gather: Gather op can only have operand batching dims with bound 0/1, but bound is "
                             f"{slice_sizes[axis]} for index {axis} at position {i}{given}")


@functools.lru_cache(maxsize=4096)
def check_scatter(name: str, shape: tuple[int, ...], indices_shape: tuple[int, ...], updates_shape: tuple[int, ...], dims: Any) -> None:
    """Checks the shapes of a scatter.

    Args:
      name: the operation, such as "scatter-add", for messages.
      shape: the operand's shape.
      indices_shape: the shape of the indices, with the index vectors in the last axis.
      updates_shape: the shape of the updates.
      dims: a ScatterDimensionNumbers of tuples.

    Raises:
      ShapeError: if a constraint does not hold.
    """
    given = f"; operand shape {shape}, indices shape {indices_shape}, updates shape {updates_shape}, {dims}"
    rank = len(indices_shape) - 1 + len(dims.update_window_dims)
    if len(updates_shape) != rank:
        raise ShapeError(f"{name}: Updates tensor must be of rank {rank}; got {len(updates_shape)}. It has the axes of the "
                         f"indices but the last, and one for each of update_window_dims{given}")
    _check_sorted(name, "update_window_dims", dims.update_window_dims, given)
    _check_range(name, "Invalid update_window_dims set in {} op", dims.update_window_dims, rank, given)
    _check_correspondence(name, given, shape, indices_shape, _SCATTER_NAMES, dims[1:])
    removed = (*dims.inserted_window_dims, *dims.operand_batching_dims)
    if len(shape) != len(dims.update_window_dims) + len(removed):
        raise ShapeError(f"{name}: Scatter op has window of size {len(dims.update_window_dims) + len(removed)}; doesn't match "
                         f"operand of rank {len(shape)}. update_window_dims, inserted_window_dims and operand_batching_dims "
                         f"must have one entry together for each axis of the operand{given}")
    window = [size for axis, size in enumerate(shape) if axis not in removed]
    for axis, size in zip(dims.update_window_dims, window):
        if updates_shape[axis] > size:
            raise ShapeError(f"{name}: Bounds of the window dimensions of updates must not exceed those of the operand, "
                             f"got {updates_shape[axis]} for axis {axis} of the updates, larger than {size}{given}")
    scattered = tuple(size for axis, size in enumerate(updates_shape) if axis not in dims.update_window_dims)
    if scattered != indices_shape[:-1]:
        raise ShapeError(f"{name}: Bounds of the scatter dimensions of updates must be those of the indices but the last, "
                         f"{indices_shape[:-1]}, got {scattered}{given}")


def _check_correspondence(name: str, given: str, shape: Sequence[int], indices_shape: tuple[int, ...], names: tuple[str, ...],
                          dims: tuple) -> None:
    """Checks the fields that the dimension numbers of gather and scatter share."""
    removed, index_map, operand_batching, indices_batching = dims
    rank, index_axis = len(shape), len(indices_shape) - 1
    operation = name.split("-")[0].capitalize()
    mapping = "" if name == "gather" else " mapping"
    _check_range(name, f"Invalid {names[1]}{mapping} in {{}} op", index_map, rank, given)
    _check_unique(name, names[1], index_map, given)
    for what, axes in ((names[0], removed), (names[2], operand_batching)):
        _check_sorted(name, what, axes, given)
        _check_range(name, f"Invalid {what} set in {{}} op", axes, rank, given)
    for what, axes in ((names[0], removed), (names[1], index_map)):
        if set(axes) & set(operand_batching):
            raise ShapeError(f"{name}: {what} and {names[2]} in {name} op must be disjoint, got {axes} and {operand_batching}{given}")
    if len(index_map) != indices_shape[-1]:
        raise ShapeError(f"{name}: {operation} op has {len(index_map)} elements in {names[1]} and the bound of dimension "
                         f"index_vector_dim={index_axis} of indices is {indices_shape[-1]}. These two numbers must be equal{given}")
    _check_unique(name, names[3], indices_batching, given)
    _check_range(name, f"Invalid {names[3]} set in {{}} op", indices_batching, len(indices_shape), given)
    if index_axis in indices_batching:
        raise ShapeError(f"{name}: {operation} op cannot have the index vector dimension as a batching dimension, got "
                         f"{names[3]}={indices_batching}; {index_axis} is the axis of the index vectors{given}")
    if len(indices_batching) != len(operand_batching):
        raise ShapeError(f"{name}: {operation} op requires equal numbers of {names[2]} and {names[3]}, got {operand_batching} and "
                         f"{indices_batching}{given}")
    sizes = [shape[axis] for axis in operand_batching], [indices_shape[axis] for axis in indices_batching]
    if sizes[0] != sizes[1]:
        raise ShapeError(f"{name}: {operation} op requires operand batching dimensions and indices batching dimensions to have "
                         f"the same shape, got sizes {sizes[0]} and {sizes[1]}{given}")


def _check_sorted(name: str, what: str, axes: tuple[int, ...], given: str) -> None:
    if list(axes) != sorted(axes):
        raise ShapeError(f"{name}: {what} in {name} op must be sorted, got {axes}{given}")
    _check_unique(name, what, axes, given)


def _check_unique(name: str, what: str, axes: tuple[int, ...], given: str) -> None:
    if len(set(axes)) != len(axes):
        raise ShapeError(f"{name}: {what} in {name} op must not repeat, got {axes}{given}")


def _check_range(name: str, complaint: str, axes: tuple[int, ...], rank: int, given: str) -> None:
    for axis in axes:
        if not 0 <= axis < rank:
            raise ShapeError(f"{name}: {complaint.format(name)}; valid range is [0, {rank}), got {axis}{given}")


def interleave(batch: Sequence, window: Sequence, window_axes: Sequence[int]) -> tuple:
    """Merges two sequences in order so that the items of `window` come to stand at the positions `window_axes`.

    Args:
      batch: the other items, in order.
      window: as many items as window_axes.
      window_axes: positions in the result, increasing.

    Returns:
      A tuple of len(batch) + len(window) items.
    """
    batch_items, window_items = iter(batch), iter(window)
    return tuple([next(window_items) if axis in window_axes else next(batch_items)
                  for axis in range(len(batch) + len(window))])
