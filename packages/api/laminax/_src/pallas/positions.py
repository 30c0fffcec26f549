"""Where in the grid a kernel runs: what `program_id` and `num_programs` answer while the kernel is traced."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from laminax_ir.options.records import Record

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array


class Position(Record):
    """A step of the grid.

    Args:
      ids: the index along each axis of the grid, int32 scalars.
      sizes: the sizes of the grid, ints or int32 scalars.
    """
    ids: tuple[Any, ...]
    sizes: tuple[Any, ...]


class _Here(threading.local):
    position: Position | None = None


_here = _Here()


@contextlib.contextmanager
def at(position: Position) -> Iterator[None]:
    """A block in which kernels run at a position."""
    before = _here.position
    _here.position = position
    try:
        yield
    finally:
        _here.position = before


def program_id(axis: int) -> Array:
    """The index of the running step along an axis of the grid.

    Args:
      axis: an axis of the grid, counted from 0.

    Returns:
      An int32 scalar.

    Raises:
      ValueError: outside of a kernel, or if the grid has no such axis.

    Example:
      >>> def kernel(o_ref):
      ...     o_ref[...] = program_id(0)
    """
    return _of_axis("program_id", "ids", axis)


def num_programs(axis: int) -> int | Array:
    """The number of steps along an axis of the grid.

    Args:
      axis: an axis of the grid, counted from 0.

    Returns:
      An int; an int32 scalar where the size of the grid is a value of the program.

    Raises:
      ValueError: outside of a kernel, or if the grid has no such axis.

    Example:
      >>> def kernel(x_ref, o_ref):
      ...     o_ref[...] = x_ref[...] / num_programs(0)
    """
    return _of_axis("num_programs", "sizes", axis)


def _of_axis(name: str, what: str, axis: int) -> Any:
    position = _here.position
    if position is None:
        raise ValueError(f"{name}: there is no grid here: call it in a kernel that pallas_call runs, or in an index_map.")
    if not 0 <= axis < len(position.ids):
        raise ValueError(f"{name}: axis must be in [0, {len(position.ids)}) for a grid of {len(position.ids)} axes, got axis={axis}")
    return getattr(position, what)[axis]
