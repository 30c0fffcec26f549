"""The arrays that a kernel works on: each with its blocks, and with where the block of a step begins."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from types import CellType
from typing import TYPE_CHECKING, Any

import numpy as np

from laminax_ir.ops import elementwise, shape, slicing
from laminax_ir.options.records import Record
from laminax_ir.programs.jaxpr import ClosedJaxpr
from laminax_ir.pytrees.pytree import PyTreeDef, tree_structure, tree_unflatten
from laminax_ir.recording.discharge import discharged
from laminax_ir.recording.evaluation import eval_jaxpr
from laminax_ir.recording.staging import stage
from laminax_ir.tracing.trace import Tracer
from laminax_ir.types import dtypes
from laminax_ir.types.arguments import function_name
from laminax_ir.types.avals import ShapedArray, get_aval
from laminax_ir.types.ref_types import AbstractRef

from laminax._src.pallas.blocks import BlockDim, Blocked, BlockSpec, BoundedSlice, Element, Squeezed
from laminax._src.pallas.positions import Position, at

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array

index_aval = ShapedArray((), np.dtype(np.int32))


class Operand(Record):
    """An argument or a result of a kernel.

    Args:
      origin: its name in messages: `args[0]`.
      aval: the type of the array.
      dims: for each axis, what of it a block has.
      index_map: the program that gives the indices of the block, from what an index map is traced for (`Surroundings`); None for zeros.
    """
    origin: str
    aval: ShapedArray
    dims: tuple[BlockDim, ...]
    index_map: ClosedJaxpr | None

    @property
    def sizes(self) -> tuple[int, ...]:
        """The size of a block along each axis of the array."""
        return tuple([getattr(dim, "block_size", 1) for dim in self.dims])

    @property
    def squeezed(self) -> tuple[int, ...]:
        """The axes that a block does not have."""
        return tuple([axis for axis, dim in enumerate(self.dims) if isinstance(dim, Squeezed)])

    @property
    def block_aval(self) -> ShapedArray:
        """The type of a block."""
        sizes = [size for size, dim in zip(self.sizes, self.dims) if not isinstance(dim, Squeezed)]
        return self.aval.update(shape=tuple(sizes), weak_type=False)

    @property
    def padding(self) -> list[tuple[int, int]]:
        """How many elements of arbitrary value are put before and after each axis, so that every block is within the array."""
        return [_padding(dim, size) for dim, size in zip(self.dims, self.aval.shape)]

    def padded(self, x: Any, filler: Any) -> Any:
        """The array with its padding."""
        if not any(low or high for low, high in self.padding):
            return x
        return shape.pad(x, filler, [(low, high, 0) for low, high in self.padding])

    def without_padding(self, x: Any) -> Any:
        """The array cut out of its padded form."""
        if not any(low or high for low, high in self.padding):
            return x
        starts = [low for low, _ in self.padding]
        return slicing.slice(x, starts, [start + size for start, size in zip(starts, self.aval.shape)])

    def starts(self, step: Sequence[Any]) -> list[Any]:
        """Where the block of a step begins in the padded array.

        Args:
          step: the indices of the grid, its sizes that are values, and the prefetched scalars.
        """
        if self.index_map is None:
            return [0] * len(self.dims)
        indices = eval_jaxpr(self.index_map.jaxpr, self.index_map.consts, *step)
        return [elementwise.mul(index, np.asarray(dim.block_size, get_aval(index).dtype)[()]) if isinstance(dim, Blocked) else index
                for index, dim in zip(indices, self.dims)]

    def block(self, x: Array, starts: Sequence[Any]) -> Any:
        """The block of the padded array that begins at these places."""
        found = x if self.sizes == get_aval(x).shape else slicing.dynamic_slice(x, starts, self.sizes)
        return shape.squeeze(found, self.squeezed) if self.squeezed else found

    def with_block(self, x: Array, block: Any, starts: Sequence[Any]) -> Array:
        """The padded array with one block replaced."""
        update = shape.expand_dims(block, self.squeezed) if self.squeezed else block
        return update if self.sizes == get_aval(x).shape else slicing.dynamic_update_slice(x, update, starts)


def _padding(dim: BlockDim, size: int) -> tuple[int, int]:
    if isinstance(dim, Element):
        return dim.padding
    return (0, -size % dim.block_size) if isinstance(dim, Blocked) and dim.block_size else (0, 0)


class Surroundings(Record):
    """What index maps and kernels are traced for beside their references.

    Args:
      sizes: those of the grid: ints, or int32 scalars.
      scalars: the types of the prefetched scalars.
      structure: that of the arguments which the scalars are.
    """
    sizes: tuple[Any, ...]
    scalars: tuple[ShapedArray, ...] = ()
    structure: PyTreeDef = tree_structure(())

    @property
    def dynamic(self) -> list[Any]:
        """The sizes that are values."""
        return [n for n in self.sizes if not isinstance(n, int)]

    @property
    def avals(self) -> list[Any]:
        """The types of the indices of the grid, of its sizes that are values, and of references to the scalars."""
        return [index_aval] * (len(self.sizes) + len(self.dynamic)) + [AbstractRef(aval) for aval in self.scalars]

    def split(self, values: Sequence[Any]) -> tuple[Position, tuple[Any, ...], list[Any]]:
        """The position, the arguments that are scalars, and the rest, of values that begin with those of `avals`."""
        given = iter(values)
        ids = tuple([next(given) for _ in self.sizes])
        position = Position(ids, tuple([n if isinstance(n, int) else next(given) for n in self.sizes]))
        return position, tree_unflatten(self.structure, [next(given) for _ in self.scalars]), list(given)


def make_operand(origin: str, aval: ShapedArray, spec: Any, surroundings: Surroundings) -> Operand:
    """The operand for an array and its block specification.

    Args:
      origin: its name in messages.
      aval: the type of the array.
      spec: a `BlockSpec`; anything else stands for whole arrays.
      surroundings: what the index map is traced for.

    Raises:
      ValueError: if the block has another number of axes than the array, or the index map returns something else than one integer scalar
        for each axis, or closes over arrays.
      TypeError: if the index map does not take the indices of the grid.
      NotImplementedError: for a `BoundedSlice`.
    """
    if not isinstance(spec, BlockSpec):
        spec = BlockSpec()
    dims = spec.dims(aval.shape)
    if len(dims) != len(aval.shape):
        raise ValueError(f"Block shape for {origin} (= {tuple(spec.block_shape or ())}) must have the same number of dimensions as the "
                         f"array shape {aval.shape}, which is {len(aval.shape)}; it has {len(dims)}.")
    for dim in dims:
        if isinstance(dim, BoundedSlice) or not isinstance(dim, (Blocked, Element, Squeezed)):
            raise NotImplementedError(f"Unsupported block dimension type: {type(dim)} in the block shape for {origin}. Use an int, None, "
                                      "Blocked, Element or Squeezed.")
    if spec.block_shape is None or spec.index_map is None:
        return Operand(origin, aval, dims, None)
    return Operand(origin, aval, dims, _traced_index_map(origin, spec, dims, surroundings))


def _traced_index_map(origin: str, spec: BlockSpec, dims: Sequence[BlockDim], surroundings: Surroundings) -> ClosedJaxpr:
    assert spec.index_map is not None
    index_map = spec.index_map
    title = f"Index map function {described(index_map)} for {origin}"

    def indices(*values: Any) -> list[Any]:
        position, scalars, _ = surroundings.split(values)
        with at(position):
            result = index_map(*position.ids, *scalars)
        found = list(result) if isinstance(result, (tuple, list)) else [result]
        if len(found) != len(dims):
            raise ValueError(f"{title} must return {len(dims)} values to match block_shape={tuple(spec.block_shape or ())}. Currently "
                             f"returning {len(found)} values.")
        for i, index in enumerate(found):
            aval = get_aval(index) if index is not None else None
            if aval is None or aval.shape or not dtypes.issubdtype(aval.dtype, dtypes.integer):
                raise ValueError(f"{title} must return integer scalars. Output[{i}] has type "
                                 f"{index if aval is None else aval.str_short(short_dtypes=False)}.")
        return found

    closed = stage(indices, surroundings.avals, name=function_name(index_map), keeps_refs=True)
    if captured := captured_arrays(index_map, closed):
        raise ValueError(f"{title} must not capture constants: {captured}. Give them to the call as prefetched scalars.")
    return discharged(closed).closed


def captured_arrays(fun: Callable[..., Any], closed: ClosedJaxpr) -> str:
    """The types of the arrays and traced values that a function closes over, in brackets; empty if there are none.

    Args:
      fun: the function.
      closed: its program. Arrays among its constants that were made while it was traced are not meant.
    """
    plain = _plain(fun)
    code = getattr(plain, "__code__", None)
    owned = [] if code is None else [cell.cell_contents for cell in plain.__closure__ or () if _is_filled(cell)]
    owned += [] if code is None else [plain.__globals__.get(name) for name in code.co_names]
    found = [get_aval(c).str_short() for c in closed.consts
             if isinstance(c, Tracer) or np.shape(c) and any(c is x for x in owned)]
    return f"[{', '.join(found)}]" if found else ""


def _is_filled(cell: CellType) -> bool:
    try:
        cell.cell_contents
    except ValueError:
        return False
    return True


def _plain(fun: Callable[..., Any]) -> Any:
    """The function that was written, without what wraps it."""
    plain: Any = fun
    while not inspect.isfunction(plain) and callable(getattr(plain, "func", None)):
        plain = plain.func  # of functools.partial
    return inspect.unwrap(plain)


def described(fun: Callable[..., Any]) -> str:
    """The name of a function and where it is written."""
    plain = _plain(fun)
    code = getattr(plain, "__code__", None)
    name = getattr(plain, "__name__", None) or type(plain).__name__
    return name if code is None else f"{name} at {code.co_filename}:{code.co_firstlineno}"


def uninitialized(dtype: np.dtype[Any], is_zero: bool) -> Any:
    """What memory is filled with that nobody has written: NaN, the least integer, or False; zero if that was asked for."""
    if is_zero or dtype == np.bool_ or dtypes.is_extended(dtype):
        return np.zeros((), dtype)[()]
    return np.asarray(np.nan if dtypes.issubdtype(dtype, dtypes.inexact) else dtypes.iinfo(dtype).min, dtype)[()]


