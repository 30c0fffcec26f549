"""Collectives: operations over named axes.

A named axis is one that a `vmap` or `pmap` around the function has taken away and given a name; its size is in
`laminax_ir.tracing.trace`. Several names make one axis, the first name varying slowest. A collective over an axis disappears when
the `vmap` that defines it meets it (it becomes a reduction, a transposition, a gather along an ordinary axis); what is left
is communication between devices. `axis_index_groups` splits an axis into groups that communicate among themselves.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Callable, Hashable, Sequence

import numpy as np

from laminax_ir.ops import elementwise as op
from laminax_ir.ops.collective_primitives import (
    all_gather_p,
    all_to_all_p,
    axis_index_p,
    axis_names,
    axis_size,
    group_size,
    normal_groups,
    pmax_p,
    pmin_p,
    ppermute_p,
    psum_p,
    psum_shared_p,
    pvary_p,
    reduce_scatter_p,
    size_for,
)
from laminax_ir.ops.open_sums import (
    INVARYING,
    REDUCED,
    UNREDUCED,
    VARYING,
    all_gather_reduced,
    common_state,
    is_open_along,
    preduced,
    reduced_vary_cast,
    state_along,
    unreduced_psum,
    unreduced_psum_scatter,
    vary_unreduced_cast,
)
from laminax_ir.ops.reduction import reduce_max, reduce_min, reduce_sum
from laminax_ir.ops.shape import expand_dims, full_like
from laminax_ir.ops.shape_arguments import as_ints, canonical_axis
from laminax_ir.options.config import remove_size_one_mesh_axis_from_type
from laminax_ir.programs.primitive import Primitive
from laminax_ir.pytrees.pytree import tree_map
from laminax_ir.tracing.explicit_axes import context_mesh
from laminax_ir.tracing.manual_axes import checked_axes
from laminax_ir.tracing.trace import Tracer, is_tracing, state
from laminax_ir.tracing.trace import axis_size as _size_of_name
from laminax_ir.types import dtypes
from laminax_ir.types.arguments import as_int, check_hashable
from laminax_ir.types.avals import get_aval
from laminax_ir.types.errors import ShapeError

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike


def psum(x: Any, axis_name: Any, *, axis_index_groups: Any = None) -> Any:
    """Sums over a named axis; every participant gets the sum.

    Args:
      x: a number array or a pytree of them; booleans are counted as integers. A Python number is a constant, and its sum
        is known at once: `psum(1, 'i')` is the size of the axis, a Python int. Of an array that is unreduced along the axis, of which
        each device of a `shard_map` has one term, it is the array.
      axis_name: the axis' name, or a tuple of names; an int among them is an ordinary axis of the arrays.
      axis_index_groups: a list of lists of indices that splits the axis into groups to sum over.

    Returns:
      Arrays of the same shapes, without the ordinary axes that were summed over, and of the same dtypes; the
      default integer dtype for booleans.

    Raises:
      NameError: if no enclosing vmap or pmap defines a name.
      ValueError: if the groups do not cover the axis, or an array is unreduced along some of the axes and not along others.
      NotImplementedError: for groups of an array that is unreduced.

    Example:
      >>> vmap(lambda x: x / psum(x, 'i'), axis_name='i')(np.arange(4.))
    """
    names, axes = _split_axes("psum", axis_name)
    groups = normal_groups("psum", axis_index_groups, size_for("psum", names), same_size=False)

    def sum_of(leaf: Any) -> Any:
        if isinstance(leaf, (int, float, complex)) and not isinstance(leaf, (Tracer, np.generic)) and not axes:
            if groups is None or len({len(g) for g in groups}) == 1:
                return leaf * group_size(names, groups)
        if is_open_along("psum", get_aval(leaf), names):
            _no_groups("psum", groups)
            if axes:
                leaf = reduce_sum(leaf, tuple(canonical_axis("psum", a, get_aval(leaf).ndim) for a in axes))
            return unreduced_psum(leaf, names)
        return _reduce_over(psum_p, reduce_sum, _counted(leaf), names, axes, groups)

    return tree_map(sum_of, x)


def _no_groups(name: str, groups: Any) -> None:
    if groups is not None:
        raise NotImplementedError(f"{name}: axis_index_groups are not supported for sums that are left open (unreduced). Leave them out.")


def _counted(x: ArrayLike) -> Array:
    """Booleans as integers."""
    if get_aval(x).dtype == np.bool_:
        return op.convert_element_type(x, dtypes.scalar_dtype(int))
    return x


def _split_axes(function: str, axis_name: Any) -> tuple[tuple, tuple[int, ...]]:
    """The names and the ordinary axes among them."""
    given = axis_names(axis_name)
    axes = tuple(a for a in given if type(a) is int)
    names = tuple(a for a in given if type(a) is not int)
    if len(set(names)) < len(names) or len(set(axes)) < len(axes):
        raise ValueError(f"{function}: an axis is named twice: {axis_name!r}")
    return names, axes


def _reduce_over(primitive: Primitive, reduce: Callable, x: ArrayLike, names: tuple, axes: tuple[int, ...],
                 groups: tuple[tuple[int, ...], ...] | None) -> Array:
    """Ordinary axes first, then the named ones."""
    if axes:
        if groups is not None:
            raise ValueError(f"{primitive}: axis_index_groups are for named axes only, got also the axes {axes}")
        rank = get_aval(x).ndim
        x = reduce(x, tuple(canonical_axis(primitive.name, a, rank) for a in axes))
    return primitive.bind(x, axes=names, axis_index_groups=groups) if names or not axes else x


def pmax(x: Any, axis_name: Any, *, axis_index_groups: Any = None) -> Any:
    """The maximum over a named axis; every participant gets it.

    Args:
      x: an array or a pytree of them, of numbers or booleans.
      axis_name: the axis' name, or a tuple of names; an int among them is an ordinary axis of the arrays.
      axis_index_groups: a list of lists of indices that splits the axis into groups.

    Returns:
      Arrays of the same dtypes and shapes, without the ordinary axes that were reduced.

    Raises:
      NameError: if no enclosing vmap or pmap defines a name.
      ValueError: if the groups do not cover the axis.

    Example:
      >>> vmap(lambda x: pmax(x, "i"), axis_name="i")(np.float32([5, 6]))
      array([6., 6.], dtype=float32)
    """
    return _extremum("pmax", pmax_p, reduce_max, x, axis_name, axis_index_groups)


def pmin(x: Any, axis_name: Any, *, axis_index_groups: Any = None) -> Any:
    """The minimum over a named axis; every participant gets it.

    Args:
      x: an array or a pytree of them, of numbers or booleans.
      axis_name: the axis' name, or a tuple of names; an int among them is an ordinary axis of the arrays.
      axis_index_groups: a list of lists of indices that splits the axis into groups.

    Returns:
      Arrays of the same dtypes and shapes, without the ordinary axes that were reduced.

    Raises:
      NameError: if no enclosing vmap or pmap defines a name.
      ValueError: if the groups do not cover the axis.

    Example:
      >>> vmap(lambda x: pmin(x, "i"), axis_name="i")(np.float32([5, 6]))
      array([5., 5.], dtype=float32)
    """
    return _extremum("pmin", pmin_p, reduce_min, x, axis_name, axis_index_groups)


def _extremum(function: str, primitive: Primitive, reduce: Callable, x: ArrayLike, axis_name: Any,
              axis_index_groups: Sequence[list[int]] | None) -> Array:
    names, axes = _split_axes(function, axis_name)
    groups = normal_groups(function, axis_index_groups, size_for(function, names), same_size=False)
    return tree_map(lambda leaf: _reduce_over(primitive, reduce, leaf, names, axes, groups), x)


def pmean(x: Any, axis_name: Any, *, axis_index_groups: Any = None) -> Any:
    """The mean over a named axis; every participant gets it.

    Args:
      x: a number array or a pytree of them; booleans are counted as integers.
      axis_name: the axis' name, or a tuple of names; an int among them is an ordinary axis of the arrays.
      axis_index_groups: a list of lists of indices, of equal length, that splits the axis into groups.

    Returns:
      Arrays of the same shapes, without the ordinary axes, and of the same dtypes; integers become floats.

    Raises:
      NameError: if no enclosing vmap or pmap defines a name.
      ValueError: if the groups do not cover the axis evenly.

    Example:
      >>> vmap(lambda x: pmean(x, "i"), axis_name="i")(np.float32([5, 7]))
      array([6., 6.], dtype=float32)
    """
    names, axes = _split_axes("pmean", axis_name)
    groups = normal_groups("pmean", axis_index_groups, size_for("pmean", names), same_size=True)

    def mean(leaf: Any) -> Any:
        shape = get_aval(leaf).shape
        count = group_size(names, groups) * math.prod(shape[canonical_axis("pmean", a, len(shape))] for a in axes)
        total = psum(leaf, axis_name, axis_index_groups=axis_index_groups)
        aval = get_aval(total)
        if not dtypes.issubdtype(aval.dtype, dtypes.inexact):
            total = op.convert_element_type(total, dtypes.to_inexact_dtype(aval.dtype), weak_type=aval.weak_type)
        return op.div(total, float(count))

    return tree_map(mean, x)


def all_gather(x: Any, axis_name: Any, *, axis_index_groups: Any = None, axis: int = 0, tiled: bool = False, to: str = "varying") -> Any:
    """Gathers values along a named axis; every participant gets all of them.

    Args:
      x: an array or a pytree of them.
      axis_name: the axis' name, or a tuple of names.
      axis_index_groups: a list of lists of indices, of equal length, that splits the axis into groups to gather from.
      axis: where the gathered values lie in the result: along a new axis, or with `tiled` one after the other along an
        existing one.
      tiled: whether to concatenate rather than stack.
      to: "varying"; in a `shard_map` that checks types (`check_vma`) also "invarying": then the result's type says that all devices have
        the same value. With "reduced" the type says so too, and the cotangent of the result stays an open sum, which costs no
        communication. Both are for the axis as a whole.

    Returns:
      Arrays of the same dtypes, with a new axis of the named axis' (or a group's) size at `axis`; with `tiled` of
      the same rank, that many times as long along `axis`.

    Raises:
      NameError: if no enclosing vmap or pmap defines a name.
      ValueError: if `axis` is out of range, the groups do not cover the axis evenly, or `to` is another word; for "reduced", if types do
        not say that the array varies along the axis.
      NotImplementedError: for groups with "invarying" or "reduced".

    Example:
      >>> vmap(lambda x: all_gather(x, "i"), axis_name="i")(np.float32([5, 6]))
      array([[5., 6.],
             [5., 6.]], dtype=float32)
    """
    if to not in ("varying", "invarying", "reduced"):
        raise ValueError(f"all_gather: to must be 'varying', 'invarying' or 'reduced', got {to!r}")
    if to != "varying" and axis_index_groups is not None:
        raise NotImplementedError(f"all_gather: axis_index_groups are not supported with to={to!r}. Leave one of them out.")
    names = axis_names(axis_name)
    groups = normal_groups("all_gather", axis_index_groups, size_for("all_gather", names), same_size=True)
    count = group_size(names, groups)

    def gathered(leaf: Any) -> Any:
        rank = get_aval(leaf).ndim
        if tiled and rank == 0:
            raise ValueError("all_gather: a scalar has no axis to concatenate along; use tiled=False")
        if to == "invarying" and set(names) & set(checked_axes()):
            dim = canonical_axis("all_gather", axis, rank + (not tiled))
            return _gathered_by_sum(leaf if tiled else expand_dims(leaf, (dim,)), names, dim, count)
        if to == "reduced" and set(names) & set(checked_axes()):
            return all_gather_reduced(leaf, names, canonical_axis("all_gather", axis, rank + (not tiled)), count, bool(tiled))
        return all_gather_p.bind(leaf, all_gather_dimension=canonical_axis("all_gather", axis, rank + (not tiled)),
                                 axis_name=names, axis_index_groups=groups, axis_size=count, tiled=bool(tiled))

    return tree_map(gathered, x)


def _gathered_by_sum(x: Any, names: tuple, axis: int, count: int) -> Any:
    """All participants' blocks one after the other: the sum of each block beside zeros, since a sum is known to be the same for all."""
    from laminax_ir.ops.slicing import dynamic_update_slice_in_dim  # for this one function: most programs need no slices
    aval = get_aval(x)
    whole = full_like(x, 0, shape=(*aval.shape[:axis], aval.shape[axis] * count, *aval.shape[axis + 1:]))
    place = op.mul(axis_index(names), np.int32(aval.shape[axis]))
    result = psum(dynamic_update_slice_in_dim(whole, x, place, axis), names)
    return op.convert_element_type(result, np.bool_) if aval.dtype == np.bool_ else result


def psum_scatter(x: Any, axis_name: Any, *, scatter_dimension: int = 0, axis_index_groups: Any = None, tiled: bool = False) -> Any:
    """Sums over a named axis; each participant gets one part of the sum.

    Args:
      x: a number array or a pytree of them.
      axis_name: the axis' name, or a tuple of names.
      scatter_dimension: the axis of the arrays whose parts are handed out: index i goes to participant i, or with
        `tiled` the i-th of equal blocks.
      axis_index_groups: a list of lists of indices, of equal length, that splits the axis into groups.
      tiled: whether the scattered axis stays, with the size of a block.

    Returns:
      Arrays of the same shapes without the scattered axis, or with `tiled` a block of it, and of the same dtypes;
      the default integer dtype for booleans.

    Raises:
      NameError: if no enclosing vmap or pmap defines a name.
      ValueError: if the size of the scattered axis is not that of the named axis (with `tiled`, a multiple of it), or an array is unreduced
        along some of the axes and not along others.
      NotImplementedError: for groups of an array that is unreduced.

    Example:
      >>> vmap(lambda x: psum_scatter(x, "i"), axis_name="i")(np.float32([[1, 2], [3, 4]]))
      array([4., 6.], dtype=float32)
    """
    names = axis_names(axis_name)
    groups = normal_groups("psum_scatter", axis_index_groups, size_for("psum_scatter", names), same_size=True)
    count = group_size(names, groups)

    def scattered(leaf: Any) -> Any:
        leaf = _counted(leaf)
        dim = canonical_axis("psum_scatter", scatter_dimension, get_aval(leaf).ndim)
        if is_open_along("psum_scatter", get_aval(leaf), names):
            _no_groups("psum_scatter", groups)
            return unreduced_psum_scatter(leaf, names, dim, count, bool(tiled))
        return reduce_scatter_p.bind(leaf, scatter_dimension=dim, axis_name=names, axis_index_groups=groups, axis_size=count,
                                     tiled=bool(tiled))

    return tree_map(scattered, x)


def all_to_all(x: Any, axis_name: Any, split_axis: int, concat_axis: int, *, axis_index_groups: Any = None, tiled: bool = False) -> Any:
    """Trades parts between all participants: one axis of the array for the named axis.

    Participant i hands out index j of `split_axis` to participant j, which puts what it gets from i at index i of
    `concat_axis`.

    Args:
      x: an array or a pytree of them.
      axis_name: the axis' name, or a tuple of names.
      split_axis: the axis that is handed out; its size is that of the named axis, or with `tiled` a multiple of it.
      concat_axis: where in the result the received parts are stacked, or with `tiled` concatenated.
      axis_index_groups: a list of lists of indices, of equal length, that splits the axis into groups.
      tiled: whether to hand out blocks and concatenate them, instead of indices.

    Returns:
      Arrays of the same dtypes and rank: `split_axis` is gone and an axis of the named axis' (or a group's) size is
      inserted at `concat_axis`; with `tiled`, `split_axis` is that many times shorter and `concat_axis` that many
      times longer.

    Raises:
      NameError: if no enclosing vmap or pmap defines a name.
      ValueError: if the size of `split_axis` does not fit.

    Example:
      >>> vmap(lambda x: all_to_all(x, "i", 0, 0), axis_name="i")(np.float32([[1, 2], [3, 4]]))
      array([[1., 3.],
             [2., 4.]], dtype=float32)
    """
    names = axis_names(axis_name)
    groups = normal_groups("all_to_all", axis_index_groups, size_for("all_to_all", names), same_size=True)
    name = names if isinstance(axis_name, (tuple, list)) else axis_name

    def traded(leaf: Any) -> Any:
        rank = get_aval(leaf).ndim
        if rank == 0:
            raise ShapeError("all_to_all: the operand must have an axis to split, got a scalar")
        return all_to_all_p.bind(leaf, split_axis=canonical_axis("all_to_all", split_axis, rank),
                                 concat_axis=canonical_axis("all_to_all", concat_axis, rank), axis_name=name,
                                 axis_index_groups=groups, tiled=bool(tiled))

    return tree_map(traded, x)


def ppermute(x: Any, axis_name: Any, perm: Sequence[tuple[int, int]]) -> Any:
    """Sends each participant's value to another participant.

    Args:
      x: an array or a pytree of them.
      axis_name: the axis' name, or a tuple of names.
      perm: pairs (source index, destination index), no source and no destination twice. Who is nobody's destination gets
        zeros.

    Returns:
      Arrays of the same shapes and dtypes.

    Raises:
      NameError: if no enclosing vmap or pmap defines a name.
      ValueError: if a source or destination occurs twice or is out of range.

    Example:
      >>> vmap(lambda x: ppermute(x, 'i', [(0, 1), (1, 2)]), axis_name='i')(np.array([1., 2., 3.]))  # 0, 1, 2
    """
    names = axis_names(axis_name)
    if not isinstance(perm, (list, tuple)):
        raise TypeError(f"ppermute: `perm` passed to `jax.lax.ppermute` must be a list or tuple of pairs, which can be read again; got "
                        f"{perm!r} of type {type(perm).__name__}. Use list(perm).")
    try:
        pairs = tuple((source.__index__(), destination.__index__()) for source, destination in perm)
    except (TypeError, ValueError, AttributeError):
        raise TypeError(f"ppermute: perm must be pairs (source index, destination index), got {perm!r}") from None
    return tree_map(lambda leaf: ppermute_p.bind(leaf, axis_name=names, perm=pairs), x)


def pshuffle(x: Any, axis_name: Any, perm: Sequence[int]) -> Any:
    """Permutes the values along a named axis: participant i gets the value of participant `perm[i]`.

    Args:
      x: an array or a pytree of them.
      axis_name: the axis' name, or a tuple of names.
      perm: a permutation of the axis' indices.

    Returns:
      Arrays of the same shapes and dtypes.

    Raises:
      NameError: if no enclosing vmap or pmap defines a name.
      ValueError: if `perm` is not a permutation.

    Example:
      >>> vmap(lambda x: pshuffle(x, "i", [1, 0]), axis_name="i")(np.float32([5, 6]))
      array([6., 5.], dtype=float32)
    """
    if sorted(as_ints("pshuffle", "perm", perm)) != list(range(axis_size(axis_name))):
        raise ValueError(f"pshuffle: `perm` does not represent a permutation: {perm}; the axis {axis_name!r} has size "
                         f"{axis_size(axis_name)}")
    return ppermute(x, axis_name, [(source, destination) for destination, source in enumerate(perm)])


def pswapaxes(x: Any, axis_name: Any, axis: int, *, axis_index_groups: Any = None) -> Any:
    """Exchanges a named axis with an axis of the array: `all_to_all` that splits and stacks along `axis`.

    Args:
      x: an array or a pytree of them.
      axis_name: the axis' name, or a tuple of names.
      axis: the axis of the arrays, of the named axis' size.
      axis_index_groups: a list of lists of indices, of equal length, that splits the axis into groups.

    Returns:
      Arrays of the same shapes and dtypes.

    Raises:
      NameError: if no enclosing vmap or pmap defines a name.
      ValueError: if the size of `axis` does not fit.

    Example:
      >>> vmap(lambda x: pswapaxes(x, "i", 0), axis_name="i")(np.float32([[1, 2], [3, 4]]))
      array([[1., 3.],
             [2., 4.]], dtype=float32)
    """
    return all_to_all(x, axis_name, axis, axis, axis_index_groups=axis_index_groups)


def pbroadcast(x: Any, axis_name: Any, source: int) -> Any:
    """Gives every participant the value of one of them.

    Args:
      x: a number array or a pytree of them.
      axis_name: the axis' name, or a tuple of names.
      source: the index of the participant.

    Returns:
      Arrays of the same shapes and dtypes.

    Raises:
      NameError: if no enclosing vmap or pmap defines a name.
      ValueError: if the index is out of range.

    Example:
      >>> vmap(lambda x: pbroadcast(x, "i", 1), axis_name="i")(np.float32([5, 6]))
      array([6., 6.], dtype=float32)
    """
    size, source = size_for("pbroadcast", axis_names(axis_name)), as_int("pbroadcast", "source", source)
    if not 0 <= source < size:
        raise ValueError(f"pbroadcast: source must be in [0, {size}), the range of axis {axis_name!r}, got {source}")
    here = op.eq(axis_index(axis_name), np.int32(source))

    def broadcast(leaf: Any) -> Any:
        aval = get_aval(leaf)
        value = psum(op.select(here, leaf, full_like(leaf, 0)), axis_name)
        return op.convert_element_type(value, np.bool_) if aval.dtype == np.bool_ else value

    return tree_map(broadcast, x)


def axis_index(axis_name: Hashable | Sequence[Hashable]) -> Array:
    """The index of this participant along a named axis.

    Args:
      axis_name: the axis' name, or a tuple of names, of which the first varies slowest.

    Returns:
      A scalar, shape [] and dtype int32.

    Raises:
      NameError: if no enclosing vmap or pmap defines a name.

    Example:
      >>> vmap(lambda x: axis_index("i"), axis_name="i")(np.float32([5, 6]))
      array([0, 1], dtype=int32)
    """
    check_hashable("axis_index", "the name of an axis", *(axis_name if isinstance(axis_name, (tuple, list)) else (axis_name,)))
    if not isinstance(axis_name, (tuple, list)):
        return axis_index_p.bind(axis_name=axis_name)
    index = np.int32(0)
    for i, name in enumerate(axis_name):
        here = axis_index_p.bind(axis_name=name)
        index = here if i == 0 else op.add(op.mul(index, np.int32(_size_of_name(name))), here)
    return index


def psum_shared(x: Any, like: Any, axes: Sequence[Hashable]) -> Any:
    """Sums over those named axes along which `like` is the same for all participants.

    The meaning of `reduce_axes` of `grad` and `vjp`: the cotangent of a value that is shared along an axis is summed over it, and stays one
    per example where the value is one per example. Which is the case is decided where it is known: by the `vmap` that defines the axis.

    Args:
      x: a number array, the cotangent.
      like: the value it is the cotangent of.
      axes: names of axes.

    Returns:
      An array of x's shape and dtype.

    Raises:
      NameError: if no enclosing vmap or pmap defines a name.
    """
    axes = tuple(axes)
    axis_size(axes)
    return psum_shared_p.bind(x, like, axes=axes) if axes else x


_CASTS = {VARYING: "pvary", REDUCED: "preduced", UNREDUCED: "vary_unreduced_cast"}  # the casts by what they lead to


def pcast(x: Any, axis_name: Any, *, to: str) -> Any:
    """Changes what types say of values along axes of a checked `shard_map` (`check_vma`); the devices' numbers stay.

    An operation on a value that varies and one that does not needs no cast. The carry of a loop needs one if it varies after a step only.

    Args:
      x: an array or a pytree of them.
      axis_name: the axis' name, or a tuple of names.
      to: "varying", from values that all devices have, and from reduced ones; "reduced", from values that all devices have: their
        cotangents shall be left open sums; "unreduced", from varying ones: each device's number is a term of a sum that is the value.

    Returns:
      The same numbers, of the other type.

    Raises:
      TypeError: if axis_name is neither a string nor a tuple.
      NameError: if a function is traced for which no enclosing shard_map, pmap or vmap defines a name.
      ValueError: if `to` is another word, if there is no such cast from what the values are, they are not the same along all axes, or it
        is called outside of all functions.

    Example:
      >>> @shard_map(out_specs=PartitionSpec(unreduced={"x"}))
      ... def total(x):  # its sum over the devices is left open
      ...     return pcast(x.sum(), "x", to="unreduced")
      >>> def sum_of_steps(x):  # the carry varies along "x" after a step, so it has to before
      ...     return lax.fori_loop(0, 3, lambda i, carry: carry + x, pcast(np.zeros(2, np.float32), "x", to="varying"))
      >>> split = laminax.shard_map(sum_of_steps, mesh=mesh, in_specs=PartitionSpec("x"), out_specs=PartitionSpec("x"))
      >>> split(np.float32([1, 2, 3, 4, 5, 6, 7, 8]))
      array([ 3.,  6.,  9., 12., 15., 18., 21., 24.], dtype=float32)
    """
    if to not in (VARYING, REDUCED, UNREDUCED):
        raise ValueError(f"pcast: Got unexpected `to` value. Allowed `to` values are: 'varying', 'reduced' and 'unreduced'; got {to!r}.")
    if not isinstance(axis_name, (tuple, str)):
        raise TypeError(f"pcast: axis_name must be a tuple or a str, got {axis_name!r} of type {type(axis_name).__name__}. Sets have no "
                        "order: give a tuple.")
    names = _of_several(axis_names(axis_name))
    function = _CASTS[to]
    if names and not is_tracing() and not state.axis_sizes:
        raise ValueError(f"pcast: {function} should be called under laminax.shard_map. It says of values of a program per device whether "
                         f"they differ between devices; nothing runs along {names[0]!r} here.")
    size_for(function, names)
    checked = tuple(name for name in names if name in checked_axes())
    return tree_map(lambda leaf: _cast(leaf, checked, to), x)


def _of_several(names: tuple) -> tuple:
    """The names without those of axes of one device, which types leave out with the option `remove_size_one_mesh_axis_from_type`."""
    mesh = context_mesh() if remove_size_one_mesh_axis_from_type.value else None
    return names if mesh is None else tuple(name for name in names if mesh.shape.get(name) != 1)


def _cast(x: Any, names: tuple, to: str) -> Any:
    aval = get_aval(x)
    if not names:  # types do not say it there
        return x
    if to == VARYING and not any(state_along(aval, name) == UNREDUCED for name in names):
        return vary(x, names)
    state = common_state("pcast", aval, names)
    if (state, to) == (INVARYING, REDUCED):
        return preduced(x, names)
    if (state, to) == (VARYING, UNREDUCED):
        return vary_unreduced_cast(x, names)
    raise ValueError(f"pcast: Unsupported pcast from={state}, to={to!r}: got {aval.str_short()} and the axes {names}. There are casts from "
                     "invarying to varying or reduced, from reduced to varying, and from varying to unreduced; lax.psum makes the sum of "
                     "unreduced values.")


def vary(x: Any, names: Sequence[Hashable]) -> Any:
    """`x` with a type that varies along these axes, as far as they are checked (`check_vma`); the value is unchanged."""
    checked, aval = checked_axes(), get_aval(x)
    if aval._split is not None and (reduced := tuple(n for n in names if n in checked and state_along(aval, n) == REDUCED)):
        x = reduced_vary_cast(x, reduced)
    have = get_aval(x).named_shape
    missing = tuple(name for name in names if name in checked and name not in have)
    return pvary_p.bind(x, axes=missing) if missing else x


def group_index(groups: Sequence[Sequence[int]]) -> tuple[np.ndarray, np.ndarray]:
    """The members of each index's group, and its position there, for an axis split into groups.

    Args:
      groups: disjoint lists of indices of equal length, which cover 0 to n - 1.

    Returns:
      (members, positions): i32[n, size of a group] and i32[n].
    """
    count = sum(map(len, groups))
    members = np.zeros((count, len(groups[0])), np.int32)
    positions = np.zeros(count, np.int32)
    for group in groups:
        for position, i in enumerate(group):
            members[i] = group
            positions[i] = position
    return members, positions
