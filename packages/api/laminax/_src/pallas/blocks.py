"""How arrays are cut into blocks: block shapes, index maps, grids."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from laminax_ir.options.records import Record

from laminax._src.pallas.memory import MemorySpace


class BlockDim(Record):
    """The part of one axis of an array that a block has."""


class Blocked(BlockDim):
    """An axis cut into equal blocks; the index map gives the number of the block.

    Args:
      block_size: the elements of a block. The last block may reach over the end of the axis.
    """
    block_size: int


class Element(BlockDim):
    """An axis of which blocks begin anywhere; the index map gives the first element.

    Args:
      block_size: the elements of a block.
      padding: elements before and after those of the array, whose values are arbitrary. The index map counts from the first of them.
    """
    block_size: int
    padding: tuple[int, int] = (0, 0)


class Squeezed(BlockDim):
    """An axis of which a block has one element, and no axis; the index map gives the element. None in a block shape means this."""


class BoundedSlice(BlockDim):
    """An axis of which blocks are slices of some size; the index map gives `ds(start, size)`.

    Args:
      block_size: the largest size.
    """
    block_size: int


squeezed = Squeezed()


class Buffered(Record):
    """How many buffers a compiled kernel has for a block. Interpreted kernels have one, whatever is asked.

    Args:
      buffer_count: the number of buffers.
      use_lookahead: whether blocks are fetched as soon as a buffer is free.
      revisit: how blocks that are met again are treated.
      prefetched_count: how many blocks are fetched before the first step.
    """
    buffer_count: int
    use_lookahead: bool = False
    revisit: Any = None
    prefetched_count: int = 0


class BlockSpec(Record):
    """The blocks of one array.

    Args:
      block_shape: for each axis of the array the size of a block, None for one element without an axis, or a `BlockDim`. None for the
        whole array in each step.
      index_map: function of the indices of the grid, and of the references to prefetched scalars, that returns one index per axis: a
        number of blocks for an int, else what the `BlockDim` says. None for zeros.
      memory_space: where the block lies. Without effect on interpreted kernels.
      pipeline_mode: a `Buffered`. Without effect on interpreted kernels.

    Example:
      >>> BlockSpec((8, 128), lambda i, j: (i, j)).block_shape
      (8, 128)
    """
    block_shape: Sequence[BlockDim | int | None] | None = None
    index_map: Callable[..., Any] | None = None
    memory_space: Any = None
    pipeline_mode: Buffered | None = None

    def dims(self, shape: Sequence[int]) -> tuple[BlockDim, ...]:
        """The parts of the axes of an array of this shape.

        Raises:
          TypeError: for an item of block_shape that says nothing of an axis.
        """
        if self.block_shape is None:
            return tuple([Blocked(n) for n in shape])
        return tuple([_as_dim(item) for item in self.block_shape])


class NoBlockSpec:
    """Stands for block specifications that are not given: each step has whole arrays."""

    def __repr__(self) -> str:
        return "NoBlockSpec"


no_block_spec = NoBlockSpec()


def _as_dim(item: Any) -> BlockDim:
    if item is None:
        return squeezed
    if isinstance(item, BlockDim):
        return item
    try:
        return Blocked(operator.index(item))
    except TypeError:
        raise TypeError(f"BlockSpec: an item of block_shape must be an int, None or a BlockDim, got {item!r} of type "
                        f"{type(item).__name__}") from None


class GridSpec:
    """The grid of a kernel, and the blocks of its operands and results.

    Args:
      grid: for each axis the number of steps, or a pair of a name and it; the last axis runs fastest. An int for one axis. A number may be
        a traced integer.
      in_specs: a sequence with one `BlockSpec` for each argument, or None for the whole array.
      out_specs: `BlockSpec`s in the structure of the results.
      scratch_shapes: types of memory that the kernel gets beside, such as `MemorySpace.ANY((8, 128), "float32")`; its contents stay from
        step to step.

    Raises:
      ValueError: if in_specs is no sequence.
      TypeError: if an item of the grid is no integer.
    """

    num_scalar_prefetch = 0

    def __init__(self, grid: Any = (), in_specs: Any = no_block_spec, out_specs: Any = no_block_spec, scratch_shapes: Any = ()) -> None:
        items = tuple(grid) if isinstance(grid, (tuple, list)) else (grid,)
        self.grid = tuple([_grid_size(item[1] if _is_named(item) else item) for item in items])
        self.grid_names = tuple([item[0] if _is_named(item) else None for item in items])
        if not isinstance(in_specs, (tuple, list, NoBlockSpec)):
            raise ValueError(f"`in_specs` must be a tuple or a list with one item for each argument, got {in_specs!r}")
        self.in_specs, self.out_specs, self.scratch_shapes = in_specs, out_specs, scratch_shapes

    def __repr__(self) -> str:
        return (f"{type(self).__name__}(grid={self.grid}, in_specs={self.in_specs}, out_specs={self.out_specs}, "
                f"scratch_shapes={self.scratch_shapes})")


class PrefetchScalarGridSpec(GridSpec):
    """A grid whose index maps and kernel read scalars first.

    Args:
      num_scalar_prefetch: how many of the first arguments are such. Index maps get references to them after the indices of the grid, and
        the kernel gets them first; they are not cut into blocks, and in_specs has no items for them.
      grid, in_specs, out_specs, scratch_shapes: as for `GridSpec`.
    """

    def __init__(self, num_scalar_prefetch: int, grid: Any = (), in_specs: Any = no_block_spec, out_specs: Any = no_block_spec,
                 scratch_shapes: Any = ()) -> None:
        super().__init__(grid, in_specs, out_specs, scratch_shapes)
        self.num_scalar_prefetch = operator.index(num_scalar_prefetch)


def _is_named(item: Any) -> bool:
    return isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], str)


def _grid_size(size: Any) -> Any:
    """A size of the grid: an int, or a traced integer scalar as it is."""
    if hasattr(size, "dtype") and not size.shape and size.dtype.kind in "iu":
        value = size.concrete_value() if hasattr(size, "concrete_value") else size
        return size if value is None else int(value)
    try:
        return operator.index(size)
    except TypeError:
        raise TypeError(f"grid: a size must be an integer, got {size!r} of type {type(size).__name__}") from None


ANY = MemorySpace.ANY
