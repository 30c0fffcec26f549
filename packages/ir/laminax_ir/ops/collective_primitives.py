"""The primitives of collectives, their shape rules, and the named axes that both speak of. The functions are in `collectives`."""

from __future__ import annotations

import math
from functools import partial
from typing import Any, Hashable, Sequence

import numpy as np

from laminax_ir.ops.dtype_kinds import check_dtype
from laminax_ir.programs.primitive import Primitive, Trait, shape_rule
from laminax_ir.tracing.forbidden_collectives import check_named
from laminax_ir.tracing.manual_axes import checked_axes
from laminax_ir.tracing.trace import axis_size as _size_of_name
from laminax_ir.types import dtypes
from laminax_ir.types.arguments import called_with
from laminax_ir.types.avals import ShapedArray

psum_p = Primitive("psum", family="collectives", traits=(Trait.NAMES_AXES,))
pmax_p = Primitive("pmax", family="collectives", traits=(Trait.NAMES_AXES,))
pmin_p = Primitive("pmin", family="collectives", traits=(Trait.NAMES_AXES,))
all_gather_p = Primitive("all_gather", family="collectives", traits=(Trait.NAMES_AXES,))
reduce_scatter_p = Primitive("reduce_scatter", family="collectives", traits=(Trait.NAMES_AXES,))
all_to_all_p = Primitive("all_to_all", family="collectives", traits=(Trait.NAMES_AXES,))
ppermute_p = Primitive("ppermute", family="collectives", traits=(Trait.NAMES_AXES,))
axis_index_p = Primitive("axis_index", family="collectives", traits=(Trait.NAMES_AXES,))
psum_shared_p = Primitive("psum_shared", family="collectives", traits=(Trait.NAMES_AXES,))
pvary_p = Primitive("pvary", family="collectives", traits=(Trait.NAMES_AXES,))


# Named axes


def axis_names(axis_name: Any) -> tuple:
    """The names in an axis_name argument: one name, or a tuple or list of them.

    Args:
      axis_name: a name, or a tuple or list of them.

    Returns:
      A tuple of names.

    Raises:
      ValueError: if a name is there twice.
    """
    names = tuple(axis_name) if isinstance(axis_name, (tuple, list)) else (axis_name,)
    try:
        is_distinct = len(set(names)) == len(names)
    except TypeError:
        raise TypeError(f"{called_with(axis_name)}the name of an axis must be hashable, got {axis_name!r}") from None
    if not is_distinct:
        raise ValueError(f"{called_with(axis_name)}an axis is named twice: {axis_name!r}")
    return names


def axis_size(axis_name: Hashable | Sequence[Hashable]) -> int:
    """The size of a named axis.

    Args:
      axis_name: a name, or a tuple of names.

    Returns:
      The size, a Python int; for several names the product of their sizes.

    Raises:
      NameError: if no enclosing vmap or pmap defines a name.

    Example:
      >>> vmap(lambda x: x * axis_size("i"), axis_name="i")(np.float32([5, 6]))
      array([10., 12.], dtype=float32)
    """
    return size_for("axis_size", axis_names(axis_name))


def size_for(function: str, names: tuple) -> int:
    """The size of several named axes together, along which a function is called.

    Raises:
      NameError: if one of the names is not defined.
    """
    return math.prod(_size_of_name(name, function) for name in names)


def normal_groups(name: str, groups: Any, size: int, same_size: bool) -> tuple[tuple[int, ...], ...] | None:
    """axis_index_groups as tuples, checked to split the axis."""
    if groups is None:
        return None
    try:
        groups = tuple(tuple(i.__index__() for i in group) for group in groups)
    except (TypeError, AttributeError):
        raise TypeError(f"{name}: axis_index_groups must be a list of lists of ints, got {groups!r}") from None
    if sorted(i for group in groups for i in group) != list(range(size)):
        raise ValueError(f"{name}: axis_index_groups must cover all indices exactly once; the axis has size {size}, "
                         f"the groups are {groups}")
    if same_size and len({len(group) for group in groups}) > 1:
        raise ValueError(f"{name}: all groups of axis_index_groups must have the same size, got {groups}")
    return groups


def group_size(names: tuple, groups: tuple | None) -> int:
    """How many participants communicate with each other."""
    return axis_size(names) if groups is None else len(groups[0])


def _without_names(x: ShapedArray, names: Sequence) -> ShapedArray:
    """The aval of a value that does not vary over the named axes."""
    if not x._named:
        return x
    return x.update(named_shape={name: size for name, size in x._named if name not in names})


def _with_names(x: ShapedArray, names: Sequence) -> ShapedArray:
    """The aval of a value that varies over the named axes, where types say so."""
    if not x._named:
        checked = checked_axes()
        names = [name for name in names if name in checked]
        if not names:
            return x
    return x.update(named_shape={**x.named_shape, **{name: _size_of_name(name) for name in names}})


# Shape rules


def _reduction_shape(name: str, x: ShapedArray, *, axes: tuple, axis_index_groups: tuple[tuple[int, ...], ...] | None) -> ShapedArray:
    check_named(name, axes)
    for axis in axes:
        _size_of_name(axis)
    return _without_names(x, axes) if axis_index_groups is None else x


@shape_rule(psum_p)
def _psum_shape(x: ShapedArray, *, axes: tuple, axis_index_groups: tuple[tuple[int, ...], ...] | None) -> ShapedArray:
    check_dtype("psum", x.dtype, (dtypes.number,))
    return _reduction_shape("psum", x, axes=axes, axis_index_groups=axis_index_groups)


shape_rule(pmax_p)(partial(_reduction_shape, "pmax"))
shape_rule(pmin_p)(partial(_reduction_shape, "pmin"))


@shape_rule(all_gather_p)
def _all_gather_shape(x: ShapedArray, *, all_gather_dimension: int, axis_name: tuple, axis_index_groups: tuple[tuple[int, ...], ...] | None,
                      axis_size: int, tiled: bool) -> ShapedArray:
    check_named("all_gather", axis_name)
    dim = all_gather_dimension
    if not 0 <= dim < x.ndim + (not tiled):
        raise ValueError(f"all_gather: axis {dim} is out of range for {x.str_short()}" + (" with tiled=True" if tiled else ""))
    shape = (*x.shape[:dim], axis_size * x.shape[dim], *x.shape[dim + 1:]) if tiled else \
        (*x.shape[:dim], axis_size, *x.shape[dim:])
    if any(name in checked_axes() for name in axis_name):  # not known to be the same for all, as in JAX
        return _with_names(x, axis_name).update(shape=shape)
    return (_without_names(x, axis_name) if axis_index_groups is None else x).update(shape=shape)


@shape_rule(reduce_scatter_p)
def _reduce_scatter_shape(x: ShapedArray, *, scatter_dimension: int, axis_name: tuple, axis_index_groups: Any, axis_size: int,
                          tiled: bool) -> ShapedArray:
    check_named("psum_scatter", axis_name)
    check_dtype("psum_scatter", x.dtype, (dtypes.number,))
    dim = scatter_dimension
    if not 0 <= dim < x.ndim:
        raise ValueError(f"psum_scatter: scatter_dimension {dim} is out of range for {x.str_short()}")
    size = x.shape[dim]
    if tiled and size % axis_size:
        raise ValueError(f"psum_scatter: tiled reduce_scatter operand scatter dimension size {size} must be divisible by "
                         f"shard_count {axis_size}; the operand is {x.str_short()}, scatter_dimension {dim}")
    if not tiled and size != axis_size:
        raise ValueError(f"psum_scatter: reduce_scatter operand scatter dimension size {size} must match shard count {axis_size}; "
                         f"the operand is {x.str_short()}, scatter_dimension {dim}. Use tiled=True for larger axes.")
    kept = (size // axis_size,) if tiled else ()
    return _with_names(x, axis_name).update(shape=(*x.shape[:dim], *kept, *x.shape[dim + 1:]))


@shape_rule(all_to_all_p)
def _all_to_all_shape(x: ShapedArray, *, split_axis: int, concat_axis: int, axis_name: str,
                      axis_index_groups: tuple[tuple[int, ...], ...] | None, tiled: bool) -> ShapedArray:
    names = axis_names(axis_name)
    check_named("all_to_all", names)
    count = group_size(names, axis_index_groups)
    if not 0 <= split_axis < x.ndim or not 0 <= concat_axis < x.ndim:
        raise ValueError(f"all_to_all: split_axis {split_axis} or concat_axis {concat_axis} is out of range for {x.str_short()}")
    shape = list(x.shape)
    if not tiled:
        if shape[split_axis] != count:
            raise ValueError(f"all_to_all requires the size of the mapped axis axis_name to equal x.shape[split_axis], but they "
                             f"are {count} and {shape[split_axis]} respectively; x is {x.str_short()}, split_axis {split_axis}")
        del shape[split_axis]
        shape.insert(concat_axis, count)
    else:
        if shape[split_axis] % count:
            raise ValueError(f"all_to_all with tiled=True requires x.shape[split_axis] to be divisible by the size of the mapped "
                             f"axis, but they are {shape[split_axis]} and {count}; x is {x.str_short()}, split_axis {split_axis}")
        shape[split_axis] //= count
        shape[concat_axis] *= count
    return _with_names(x, names).update(shape=tuple(shape))


@shape_rule(ppermute_p)
def _ppermute_shape(x: ShapedArray, *, axis_name: tuple, perm: tuple) -> ShapedArray:
    check_named("ppermute", axis_name)
    size = axis_size(axis_name)
    sources, destinations = [s for s, _ in perm], [d for _, d in perm]
    if len(set(sources)) < len(sources) or len(set(destinations)) < len(destinations):
        raise ValueError(f"ppermute: sources and destinations must be unique, got perm={perm}")
    if any(not 0 <= i < size for i in (*sources, *destinations)):
        raise ValueError(f"ppermute: the indices in perm must be in [0, {size}), the range of axis {_shown(axis_name)}, "
                         f"got perm={perm}")
    return _with_names(x, axis_name)


@shape_rule(axis_index_p)
def _axis_index_shape(*, axis_name: str) -> ShapedArray:
    return ShapedArray((), np.int32, named_shape={axis_name: _size_of_name(axis_name)})


@shape_rule(psum_shared_p)
def _psum_shared_shape(x: ShapedArray, like: ShapedArray, *, axes: tuple) -> ShapedArray:
    check_named("psum", axes)
    for name in axes:
        _size_of_name(name)
    return _without_names(x, [name for name in axes if name not in like.named_shape])


@shape_rule(pvary_p)
def _pvary_shape(x: ShapedArray, *, axes: tuple) -> ShapedArray:
    return _with_names(x, axes)


def _shown(names: tuple) -> str:
    return repr(names[0] if len(names) == 1 else names)
