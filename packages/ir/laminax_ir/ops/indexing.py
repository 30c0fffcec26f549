"""Indexing operations: reading and writing many windows of an array at once, at computed positions.

`gather` reads, `scatter` and its relatives write; one window is a slice (`ops/slicing.py`). The dimension numbers are
those of StableHLO with the index vectors in the last axis of the indices array (Source: StableHLO specification,
sections gather and scatter).
"""

from __future__ import annotations

import builtins
import enum
import functools
import math
from typing import TYPE_CHECKING, Any, Callable, NamedTuple, Sequence

import numpy as np

from laminax_ir.ops import elementwise
from laminax_ir.ops.elementwise_avals import joined_named_shape
from laminax_ir.ops.indexing_shapes import check_scatter, gather_shape
from laminax_ir.ops.scalar_operands import scalar_like
from laminax_ir.ops.shape import concatenate, expand_dims, full
from laminax_ir.ops.shape_arguments import as_ints, canonical_shape, shape_of
from laminax_ir.ops.slicing import wrapped_index
from laminax_ir.programs.primitive import Primitive, Trait, shape_rule
from laminax_ir.recording.staging import stage
from laminax_ir.tracing import source
from laminax_ir.tracing.explicit_axes import without_mesh
from laminax_ir.tracing.trace import state
from laminax_ir.types import dtypes
from laminax_ir.types.arguments import with_name
from laminax_ir.types.avals import ShapedArray, get_aval
from laminax_ir.types.errors import DTypeError, ShapeError

if TYPE_CHECKING:
    from laminax_ir.programs.jaxpr import Jaxpr
    from laminax_ir.types.annotations import Array, ArrayLike
    from laminax_ir.types.extended_dtypes import KeyDType

gather_p = Primitive("gather", family="indexing")
scatter_p = Primitive("scatter", family="indexing", traits=(Trait.FOLLOWS_FIRST_OPERAND,))
scatter_add_p = Primitive("scatter-add", family="indexing", traits=(Trait.FOLLOWS_FIRST_OPERAND,))
scatter_sub_p = Primitive("scatter-sub", family="indexing", traits=(Trait.FOLLOWS_FIRST_OPERAND,))
scatter_mul_p = Primitive("scatter-mul", family="indexing", traits=(Trait.FOLLOWS_FIRST_OPERAND,))
scatter_min_p = Primitive("scatter-min", family="indexing", traits=(Trait.FOLLOWS_FIRST_OPERAND,))
scatter_max_p = Primitive("scatter-max", family="indexing", traits=(Trait.FOLLOWS_FIRST_OPERAND,))


class GatherDimensionNumbers(NamedTuple):
    """How the axes of gather's operand, indices and result correspond.

    Args:
      offset_dims: the axes of the result that run over a window, increasing.
      collapsed_slice_dims: the axes of the operand whose window has size 1 and that the result lacks, increasing.
      start_index_map: for each component of an index vector the axis of the operand that it positions.
      operand_batching_dims: axes of the operand that run along with axes of the indices, increasing.
      start_indices_batching_dims: the axes of the indices that they run along with.

    The last axis of the indices holds the index vectors.

    Example:
      >>> rows = GatherDimensionNumbers(offset_dims=(1,), collapsed_slice_dims=(0,), start_index_map=(0,))
      >>> gather(np.float32([[1, 2], [3, 4]]), np.int32([[1], [0]]), rows, slice_sizes=(1, 2))
      array([[3., 4.],
             [1., 2.]], dtype=float32)
    """

    offset_dims: tuple[int, ...]
    collapsed_slice_dims: tuple[int, ...]
    start_index_map: tuple[int, ...]
    operand_batching_dims: tuple[int, ...] = ()
    start_indices_batching_dims: tuple[int, ...] = ()


class ScatterDimensionNumbers(NamedTuple):
    """How the axes of scatter's operand, indices and updates correspond.

    Args:
      update_window_dims: the axes of the updates that run over a window, increasing.
      inserted_window_dims: the axes of the operand where a window has size 1 and that the updates lack, increasing.
      scatter_dims_to_operand_dims: for each component of an index vector the axis of the operand that it positions.
      operand_batching_dims: axes of the operand that run along with axes of the indices, increasing.
      scatter_indices_batching_dims: the axes of the indices that they run along with.

    The last axis of the indices holds the index vectors.

    Example:
      >>> rows = ScatterDimensionNumbers(update_window_dims=(1,), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,))
      >>> scatter(np.zeros((2, 2), np.float32), np.int32([[1]]), np.float32([[3, 4]]), rows)
      array([[0., 0.],
             [3., 4.]], dtype=float32)
    """

    update_window_dims: tuple[int, ...]
    inserted_window_dims: tuple[int, ...]
    scatter_dims_to_operand_dims: tuple[int, ...]
    operand_batching_dims: tuple[int, ...] = ()
    scatter_indices_batching_dims: tuple[int, ...] = ()


class GatherScatterMode(enum.Enum):
    """The treatment of windows that reach out of bounds.

    CLIP moves the window in. FILL_OR_DROP reads a fill value and writes nothing. PROMISE_IN_BOUNDS is the caller's
    word that there are none; if there are, the result depends on the platform.

    Example:
      >>> row = GatherDimensionNumbers(offset_dims=(0,), collapsed_slice_dims=(), start_index_map=(0,))
      >>> gather(np.float32([1, 2, 3]), np.int32([9]), row, slice_sizes=(2,), mode=GatherScatterMode.CLIP)
      array([2., 3.], dtype=float32)
      >>> gather(np.float32([1, 2, 3]), np.int32([9]), row, slice_sizes=(2,), mode="fill", fill_value=0)
      array([0., 0.], dtype=float32)
    """

    CLIP = 1
    FILL_OR_DROP = 2
    PROMISE_IN_BOUNDS = 3

    @staticmethod
    def from_any(mode: str | GatherScatterMode | None) -> GatherScatterMode:
        """The mode of a name: "clip", "fill" or "drop" (also None), "promise_in_bounds".

        Raises:
          ValueError: for any other name.
        """
        if isinstance(mode, GatherScatterMode):
            return mode
        try:
            return _MODES[mode]
        except (KeyError, TypeError):
            raise ValueError(f"unknown gather or scatter mode {mode!r}; expected 'clip', 'fill', 'drop' or "
                             "'promise_in_bounds'") from None


_MODES = {None: GatherScatterMode.FILL_OR_DROP, "fill": GatherScatterMode.FILL_OR_DROP,
          "drop": GatherScatterMode.FILL_OR_DROP, "clip": GatherScatterMode.CLIP,
          "promise_in_bounds": GatherScatterMode.PROMISE_IN_BOUNDS}


# Shape rules of gather and scatter


@shape_rule(gather_p)
def _gather_shape(operand: ShapedArray, indices: ShapedArray, *, dimension_numbers: GatherDimensionNumbers, slice_sizes: tuple[int, ...],
                  indices_are_sorted: bool, unique_indices: bool, mode: GatherScatterMode, fill_value: float | None) -> ShapedArray:
    _check_indices("gather", indices)
    shape = gather_shape(operand.shape, indices.shape, dimension_numbers, slice_sizes)
    if operand._named or indices._named:
        return operand.update(shape=shape, named_shape=joined_named_shape((operand, indices)))
    return ShapedArray(shape, operand.dtype, operand.weak_type)


def _check_indices(name: str, indices: ShapedArray) -> None:
    if not dtypes.issubdtype(indices.dtype, dtypes.integer):
        raise DTypeError(f"{name}: the indices must be integers, got {indices.str_short()}")
    if not indices.shape:
        raise ShapeError(f"{name}: the indices need a last axis that holds the index vectors, got a scalar; add one with "
                         "expand_dims(indices, (-1,))")


def _scatter_rule(primitive: Primitive) -> None:
    name = primitive.name

    @shape_rule(primitive)
    def rule(operand: ShapedArray, indices: ShapedArray, updates: ShapedArray, *, dimension_numbers: Any, indices_are_sorted: Any,
             unique_indices: Any, mode: Any, update_jaxpr: Any, update_consts: Any) -> ShapedArray:
        _check_indices(name, indices)
        if operand.dtype != updates.dtype:
            raise DTypeError(f"{name}: operand and updates must have the same dtype, got {operand.str_short()} and "
                             f"{updates.str_short()}")
        check_scatter(name, operand.shape, indices.shape, updates.shape, dimension_numbers)
        if indices._named or updates._named:
            return operand.update(named_shape=joined_named_shape((operand, indices, updates)))
        return operand


for _primitive in (scatter_p, scatter_add_p, scatter_sub_p, scatter_mul_p, scatter_min_p, scatter_max_p):
    _scatter_rule(_primitive)


def scatter_window(shape: Sequence[int], updates_shape: Sequence[int], dims: ScatterDimensionNumbers) -> tuple[int, ...]:
    """The size of a scatter's windows along each axis of the operand: 1 where the updates lack the axis.

    Args:
      shape: the operand's shape.
      updates_shape: the updates' shape.
      dims: the scatter's dimension numbers.

    Returns:
      A tuple of ints, one per axis of the operand.
    """
    sizes = iter([updates_shape[axis] for axis in dims.update_window_dims])
    return tuple([1 if axis in dims.inserted_window_dims or axis in dims.operand_batching_dims else next(sizes)
                  for axis in range(len(shape))])


# Gather


def gather(operand: ArrayLike, start_indices: Any, dimension_numbers: GatherDimensionNumbers, slice_sizes: Sequence[int], *,
           unique_indices: bool = False, indices_are_sorted: bool = False, mode: str | GatherScatterMode | None = None,
           fill_value: ArrayLike | None = None) -> Array:
    """Reads many windows of one static size.

    Args:
      operand: an array.
      start_indices: an integer array whose last axis holds the positions of the windows.
      dimension_numbers: how the axes correspond.
      slice_sizes: the windows' sizes along the operand's axes.
      unique_indices: the caller's word that no two windows are the same.
      indices_are_sorted: the caller's word that the positions are in increasing order.
      mode: the treatment of windows out of bounds: "clip", "fill" (or "drop"), or "promise_in_bounds", the default.
      fill_value: a static scalar for "fill"; by default NaN, the smallest signed integer, the largest unsigned one,
        True; for random keys it must be None.

    Returns:
      An array of the operand's dtype with the axes of start_indices but the last, and those of a window at
      `offset_dims`.

    Raises:
      TypeError: if shapes, dtypes or dimension numbers do not fit together.

    Example:
      >>> gather(np.array([10., 20., 30.], 'float32'), np.array([[2], [0]]),
      ...        GatherDimensionNumbers(offset_dims=(), collapsed_slice_dims=(0,), start_index_map=(0,)), (1,))
      array([30., 10.], dtype=float32)
    """
    mode = GatherScatterMode.PROMISE_IN_BOUNDS if mode is None else GatherScatterMode.from_any(mode)
    if 0 in getattr(start_indices, "shape", ())[:-1]:  # no window is read, so none needs to fit the operand
        return _no_windows(operand, start_indices, dimension_numbers, slice_sizes)
    if mode is not GatherScatterMode.FILL_OR_DROP:
        fill_value = None
    elif fill_value is None:
        fill_value = default_fill_value(get_aval(operand).dtype)
    elif dtypes.is_extended(get_aval(operand).dtype):
        raise TypeError(f"gather: fill_value must be None for random keys, {get_aval(operand).str_short()}; keys out of bounds have "
                        f"the largest words. Got {fill_value!r}")
    else:
        fill_value = np.asarray(fill_value).item()
    return state.trace.process(gather_p, (operand, start_indices), {
        "dimension_numbers": _normal_dimension_numbers("gather", dimension_numbers),
        "slice_sizes": canonical_shape("gather", slice_sizes), "indices_are_sorted": bool(indices_are_sorted),
        "unique_indices": bool(unique_indices), "mode": mode, "fill_value": fill_value})


def _no_windows(operand: ArrayLike, start_indices: ArrayLike, dimension_numbers: GatherDimensionNumbers, slice_sizes: Any) -> Array:
    x, indices, sizes = get_aval(operand), get_aval(start_indices), canonical_shape("gather", slice_sizes)
    _check_indices("gather", indices)
    roomy = tuple(map(builtins.max, x.shape, sizes))
    return full(gather_shape(roomy, indices.shape, _normal_dimension_numbers("gather", dimension_numbers), sizes), 0, x.dtype)


def _normal_dimension_numbers(name: str,
                              dims: GatherDimensionNumbers | ScatterDimensionNumbers) -> GatherDimensionNumbers | ScatterDimensionNumbers:
    """The dimension numbers with all fields tuples of ints."""
    try:
        return _remembered_dimension_numbers(name, dims)
    except TypeError:  # a field is a list, or wrong
        wanted = GatherDimensionNumbers if name == "gather" else ScatterDimensionNumbers
        if not isinstance(dims, wanted):
            raise TypeError(f"{name}: dimension_numbers must be a {wanted.__name__}, got {dims!r}") from None
        return type(dims)(*[as_ints(name, "dimension_numbers", axes) for axes in dims])


@functools.lru_cache(maxsize=1024)
def _remembered_dimension_numbers(
        name: str, dims: GatherDimensionNumbers | ScatterDimensionNumbers) -> GatherDimensionNumbers | ScatterDimensionNumbers:
    return type(dims)(*[as_ints(name, "dimension_numbers", axes) for axes in dims])


def default_fill_value(dtype: Any) -> Any:
    """The value that "fill" reads out of bounds by default: NaN, the smallest signed or largest unsigned integer, or True.

    Args:
      dtype: a dtype.

    Returns:
      A float, an int or a bool; of random keys, what every word is.
    """
    if dtypes.issubdtype(dtype, dtypes.inexact):
        return math.nan
    if dtypes.issubdtype(dtype, dtypes.signedinteger):
        return int(dtypes.iinfo(dtype).min)
    if dtypes.issubdtype(dtype, dtypes.unsignedinteger):
        return int(dtypes.iinfo(dtype).max)
    if dtypes.is_extended(dtype):
        return 2**32 - 1
    return True


def index_take(src: Any, idxs: Sequence, axes: Sequence[int]) -> Array:
    """Reads single positions along several axes, indices counted modulo the axes' sizes.

    Args:
      src: an array.
      idxs: for each of the axes an integer array of shape [n].
      axes: axes of src, not negative.

    Returns:
      An array of shape [n, sizes of src's other axes] and src's dtype.

    Example:
      >>> index_take(np.float32([[1, 2], [3, 4]]), (np.array([1, 0], np.int32),), (0,))
      array([[3., 4.],
             [1., 2.]], dtype=float32)
    """
    shape, axes = shape_of(src), as_ints("index_take", "axes", axes)
    if not builtins.all(0 <= axis < len(shape) for axis in axes) or len(set(axes)) != len(axes) or len(axes) != len(idxs):
        raise ValueError(f"index_take: axes must be different axes of src, not negative, one for each of the {len(idxs)} index "
                         f"arrays, got {axes} for {get_aval(src).str_short()}")
    columns = []
    for index, axis in zip(idxs, axes):
        size = scalar_like(shape[axis], get_aval(index).dtype)
        columns.append(expand_dims(wrapped_index(elementwise.rem(index, size), shape[axis]), (1,)))
    dims = GatherDimensionNumbers(offset_dims=tuple(range(1, len(shape) - len(axes) + 1)),
                                  collapsed_slice_dims=tuple(sorted(axes)), start_index_map=tuple(axes))
    sizes = tuple([1 if axis in axes else size for axis, size in enumerate(shape)])
    return gather(src, concatenate(columns, 1), dims, sizes)


# Scatter


def _scatter_function(primitive: Primitive, combine: Callable | None, what: str, order: str, positions: str, shown: str) -> Callable:
    def fun(operand: Any, scatter_indices: Any, updates: Any, dimension_numbers: ScatterDimensionNumbers, *,
            indices_are_sorted: bool = False, unique_indices: bool = False, mode: str | GatherScatterMode | None = None) -> Any:
        if type(updates) in dtypes.python_scalar_types:
            updates = scalar_like(updates, get_aval(operand).dtype)
        return _bind_scatter(primitive, operand, scatter_indices, updates, dimension_numbers, indices_are_sorted,
                             unique_indices, mode, _update_jaxpr(combine, get_aval(operand).dtype))

    name = primitive.name.replace("-", "_")
    fun.__doc__ = f"""{what} at many positions.

    Args:
      operand: an array.
      scatter_indices: an integer array whose last axis holds the positions of the windows.
      updates: an array of the operand's dtype, with the axes of scatter_indices but the last, and those of a window at
        `update_window_dims`.
      dimension_numbers: how the axes correspond.
      indices_are_sorted: the caller's word that the positions are in increasing order.
      unique_indices: the caller's word that no element is written twice. {order}
      mode: what becomes of windows out of bounds: "clip", "drop" (or "fill", also None), or "promise_in_bounds".

    Returns:
      An array like the operand.

    Raises:
      TypeError: if shapes, dtypes or dimension numbers do not fit together.

    Example:
      >>> each = ScatterDimensionNumbers(update_window_dims=(), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,))
      >>> {name}(np.float32([1, 2, 3]), np.int32({positions}), np.float32([10, 20, 30]), each)
      array({shown}, dtype=float32)
    """
    return with_name(fun, name)


def _bind_scatter(primitive: Primitive, operand: ArrayLike, indices: Any, updates: ArrayLike, dims: ScatterDimensionNumbers,
                  indices_are_sorted: bool, unique_indices: bool, mode: GatherScatterMode | str | None,
                  update_jaxpr: Jaxpr | None) -> Array:
    return state.trace.process(primitive, (operand, indices, updates), {
        "dimension_numbers": _normal_dimension_numbers(primitive.name, dims),
        "indices_are_sorted": bool(indices_are_sorted), "unique_indices": bool(unique_indices),
        "mode": GatherScatterMode.from_any(mode), "update_jaxpr": update_jaxpr, "update_consts": ()})


@functools.lru_cache(maxsize=None)
def _update_jaxpr(combine: Callable | None, dtype: KeyDType | np.dtype) -> Jaxpr | None:
    """The program on two scalars that an update is combined with; None where the update replaces the element."""
    if combine is None:
        return None
    scalar = ShapedArray((), dtype)
    outer, state.source = state.source, source.unknown  # it serves all callers: none of their lines belongs in it
    try:
        with without_mesh():  # nor the mesh that is set when the first one asks
            return stage(lambda x, y: [combine(x, y)], [scalar, scalar], combine.__name__).jaxpr
    finally:
        state.source = outer


scatter_add = _scatter_function(scatter_add_p, elementwise.add, "Adds updates to an array",
                                "Otherwise an element gets the sum of all its updates.",
                                "[[0], [1], [1]]", "[11., 52.,  3.]")
scatter_sub = _scatter_function(scatter_sub_p, elementwise.sub, "Subtracts updates from an array",
                                "Otherwise all updates of an element are subtracted.",
                                "[[0], [1], [1]]", "[ -9., -48.,   3.]")
scatter_mul = _scatter_function(scatter_mul_p, elementwise.mul, "Multiplies an array by updates",
                                "Otherwise an element is multiplied by all its updates.",
                                "[[0], [1], [1]]", "[  10., 1200.,    3.]")
scatter_min = _scatter_function(scatter_min_p, elementwise.min, "Takes the minimum of an array and updates",
                                "Otherwise an element gets the least of all its updates.",
                                "[[0], [1], [1]]", "[1., 2., 3.]")
scatter_max = _scatter_function(scatter_max_p, elementwise.max, "Takes the maximum of an array and updates",
                                "Otherwise an element gets the greatest of all its updates.",
                                "[[0], [1], [1]]", "[10., 30.,  3.]")
scatter = _scatter_function(scatter_p, None, "Writes updates into an array",
                            "Otherwise one of an element's updates is written; which one is not defined.",
                            "[[0], [2], [1]]", "[10., 30., 20.]")


def scatter_apply(operand: ArrayLike, scatter_indices: Any, func: Callable, dimension_numbers: ScatterDimensionNumbers, *,
                  update_shape: Sequence[int] = (), indices_are_sorted: bool = False, unique_indices: bool = False,
                  mode: str | GatherScatterMode | None = None) -> Array:
    """Applies a function to the elements of an array at many positions; it cannot be differentiated.

    Args:
      operand: an array.
      scatter_indices: an integer array whose last axis holds the positions of the windows.
      func: an elementwise function of one scalar, which returns a scalar of the same dtype. It may not close over
        arrays.
      dimension_numbers: how the axes correspond.
      update_shape: the shape that the updates of a `scatter` with these dimension numbers would have.
      indices_are_sorted: the caller's word that the positions are in increasing order.
      unique_indices: the caller's word that no element is met twice. Otherwise the function is applied that often.
      mode: what becomes of windows out of bounds, as for `scatter`.

    Returns:
      An array of the operand's shape and dtype.

    Raises:
      TypeError: if shapes, dtypes or dimension numbers do not fit, or func changes shape or dtype.
      NotImplementedError: if func closes over arrays.

    Example:
      >>> each = ScatterDimensionNumbers(update_window_dims=(), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,))
      >>> scatter_apply(np.float32([1, 2, 3]), np.int32([[0], [2]]), lambda x: -x, each, update_shape=(2,))
      array([-1.,  2., -3.], dtype=float32)
    """
    aval = get_aval(operand)
    scalar = ShapedArray((), aval.dtype)
    closed = stage(lambda x, _update: [func(x)], [scalar, scalar], getattr(func, "__name__", "func"))
    if closed.consts:
        raise NotImplementedError(f"scatter_apply: {closed.jaxpr.debug_info} closes over {len(closed.consts)} arrays, which is "
                                  "not supported; use Python scalars, or gather, compute and scatter")
    (out,) = closed.out_avals
    if out.shape != () or out.dtype != aval.dtype:
        raise ShapeError(f"scatter_apply: the function must return a scalar of the operand's dtype, got {out.str_short()} "
                         f"for {aval.str_short()}")
    updates = full(canonical_shape("scatter_apply", update_shape), 0, aval.dtype)
    return _bind_scatter(scatter_p, operand, scatter_indices, updates, dimension_numbers, indices_are_sorted,
                         unique_indices, mode, closed.jaxpr)
