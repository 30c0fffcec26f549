"""Sums over devices that are left open inside of a program per device, and what turns them into values and back.

Along a checked axis of a program per device (see `laminax_ir.tracing.manual_axes`) a value is in one of four states. Where it *varies*
each device has its own; where it is *invarying* all have the same one. It is *unreduced* where each device has a term of a sum that is the
value, and *reduced* where all devices have the value and its cotangent is unreduced. The casts here move nothing: they say what the
devices' numbers shall mean. The collectives make the sum of unreduced values, or gather values whose cotangent is to stay a sum.

Each is the transpose of another: `unreduced_psum` (unreduced to invarying) of `preduced` (invarying to reduced), `reduced_vary_cast`
(reduced to varying) of `vary_unreduced_cast` (varying to unreduced), `all_gather_reduced` (varying to reduced) of
`unreduced_reduce_scatter` (unreduced to varying). Source: JAX's documentation, "Autodiff and explicit sharding".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Hashable, Sequence
from functools import partial
from typing import Any

import numpy as np

from laminax_ir.ops import elementwise as op
from laminax_ir.ops.collective_primitives import all_gather_p, psum_p, pvary_p, reduce_scatter_p
from laminax_ir.programs.primitive import Primitive, Trait, shape_rule
from laminax_ir.recording.staging_trace import record_explicitly
from laminax_ir.tracing.forbidden_collectives import check_named
from laminax_ir.tracing.manual_axes import checked_axes, mesh_of_shard_map
from laminax_ir.tracing.trace import axis_size
from laminax_ir.types.avals import ShapedArray, get_aval, split_aval
from laminax_ir.types.partition_specs import PartitionSpec
from laminax_ir.types.type_shardings import TypeSharding

_TRAITS = (Trait.NAMES_AXES, Trait.TYPES_ITS_RESULTS)

unreduced_psum_p = Primitive("unreduced_psum", family="open_sums", traits=_TRAITS)
unreduced_reduce_scatter_p = Primitive("unreduced_reduce_scatter", family="open_sums", traits=_TRAITS)
all_gather_reduced_p = Primitive("all_gather_reduced", family="open_sums", traits=_TRAITS)
preduced_p = Primitive("preduced", family="open_sums", traits=_TRAITS)
vary_unreduced_cast_p = Primitive("vary_unreduced_cast", family="open_sums", traits=_TRAITS)
reduced_vary_cast_p = Primitive("reduced_vary_cast", family="open_sums", traits=_TRAITS)

VARYING, UNREDUCED, REDUCED, INVARYING = "varying", "unreduced", "reduced", "invarying"


# The state of a value


def state_along(x: ShapedArray, name: Hashable) -> str:
    """What a type says of its values along one axis of the program per device."""
    if x._split is not None:
        unreduced, reduced = x._split.manual_sums
        if name in unreduced:
            return UNREDUCED
        if name in reduced:
            return REDUCED
    return VARYING if name in x.named_shape else INVARYING


def common_state(function: str, x: ShapedArray, names: Sequence[Hashable]) -> str:
    """The state of values of a type along all of these axes.

    Raises:
      ValueError: if it is one along some axes, and another along others.
    """
    found = {state_along(x, name) for name in names}
    if len(found) > 1:
        raise ValueError(f"jax.lax.{function} can only accept axis_name which corresponds to one of varying, unreduced, reduced or "
                         f"invarying state of the input. Got input type: {x.str_short()}, axes: {tuple(names)} and input state: "
                         f"{sorted(found)}. Call it once for the axes of each state.")
    return found.pop() if found else INVARYING


def is_open_along(function: str, x: ShapedArray, names: Sequence[Hashable]) -> bool:
    """Whether a value is an open sum along these axes.

    Raises:
      ValueError: if it is one along some of the axes, and not along others.
    """
    if x._split is None or not any(state_along(x, name) == UNREDUCED for name in names):
        return False
    return common_state(function, x, names) == UNREDUCED


def in_state(x: ShapedArray, names: Collection[Hashable], state: str) -> ShapedArray:
    """The type of values in another state along some axes.

    Raises:
      ValueError: if no program per device is being traced.
    """
    manual = frozenset(names)
    named = {name: size for name, size in x._named if name not in manual}
    if state == VARYING:
        named.update((name, axis_size(name)) for name in names)
    old = x._split
    if old is None and state in (VARYING, INVARYING):
        return x.update(named_shape=named)
    mesh = mesh_of_shard_map() if old is None else old.mesh
    if mesh is None:
        raise ValueError(f"{x.str_short()} cannot be {state} over {sorted(manual, key=str)} here: no shard_map is being traced. Call this "
                         "inside of a function given to shard_map.")
    spec = PartitionSpec() if old is None else old.spec
    unreduced, reduced = spec.unreduced - manual, spec.reduced - manual
    spec = spec.update(unreduced=unreduced | manual if state == UNREDUCED else unreduced,
                       reduced=reduced | manual if state == REDUCED else reduced)
    return split_aval(x.update(named_shape=named, sharding=None), TypeSharding(mesh, spec))


def _changed(function: str, x: ShapedArray, names: Sequence[Hashable], state: str, result: str) -> ShapedArray:
    """The type of values that change their state along some axes; along axes that are not checked, types do not say it.

    Raises:
      ValueError: if they are in another state than `state` along one of them.
    """
    for name in names:
        axis_size(name)
    checked = checked_axes()
    names = [name for name in names if name in checked]
    for name in names:
        if (found := state_along(x, name)) != state:
            raise ValueError(f"{function} only accepts inputs that are {state}, and goes from {state} to {result}: the axis name {name!r} "
                             f"must be among those along which the input is {state}. Got {x.str_short()}, which is {found} along it.")
    return in_state(x, names, result) if names else x


# Shape rules


def _cast_shape(function: str, state: str, result: str, x: ShapedArray, *, axes: tuple) -> ShapedArray:
    return _changed(function, x, axes, state, result)


shape_rule(preduced_p)(partial(_cast_shape, "preduced", INVARYING, REDUCED))
shape_rule(vary_unreduced_cast_p)(partial(_cast_shape, "vary_unreduced_cast", VARYING, UNREDUCED))
shape_rule(reduced_vary_cast_p)(partial(_cast_shape, "reduced_vary_cast", REDUCED, VARYING))


@shape_rule(unreduced_psum_p)
def _unreduced_psum_shape(x: ShapedArray, *, axes: tuple) -> ShapedArray:
    check_named("psum", axes)
    return _cast_shape("unreduced_psum", UNREDUCED, INVARYING, x, axes=axes)


@shape_rule(unreduced_reduce_scatter_p)
def _unreduced_reduce_scatter_shape(x: ShapedArray, *, scatter_dimension: int, axis_name: tuple, axis_size: int,
                                    tiled: bool) -> ShapedArray:
    changed = _changed("unreduced_psum_scatter", x, axis_name, UNREDUCED, VARYING)
    shape = reduce_scatter_p.shape_rule(_unsplit(x), scatter_dimension=scatter_dimension, axis_name=axis_name, axis_index_groups=None,
                                        axis_size=axis_size, tiled=tiled).shape
    return _of_shape(changed, shape, scatter_dimension)


@shape_rule(all_gather_reduced_p)
def _all_gather_reduced_shape(x: ShapedArray, *, all_gather_dimension: int, axis_name: tuple, axis_size: int, tiled: bool) -> ShapedArray:
    changed = _changed("all_gather_reduced", x, axis_name, VARYING, REDUCED)
    shape = all_gather_p.shape_rule(_unsplit(x), all_gather_dimension=all_gather_dimension, axis_name=axis_name, axis_index_groups=None,
                                    axis_size=axis_size, tiled=tiled).shape
    return _of_shape(changed, shape, all_gather_dimension)


def _unsplit(x: ShapedArray) -> ShapedArray:
    return x if x._plain is None else x._plain


def _of_shape(x: ShapedArray, shape: tuple, axis: int) -> ShapedArray:
    """The type with other axes, split over explicit axes of the mesh as it was; a new one at `axis` is whole."""
    if x._split is None:
        return x.update(shape=shape)
    entries = x._split.spec.partitions
    if len(shape) > x.ndim:
        entries = (*entries[:axis], None, *entries[axis:])
    elif len(shape) < x.ndim:
        entries = (*entries[:axis], *entries[axis + 1:])
    return split_aval(_unsplit(x).update(shape=shape), x._split.with_entries(entries))


# Functions of one array


def preduced(x: Any, names: tuple) -> Any:
    """The value, reduced along these axes: its cotangent is left as an open sum along them."""
    return _opening(preduced_p, x, axes=names)


def vary_unreduced_cast(x: Any, names: tuple) -> Any:
    """The sum of the devices' values along these axes, left open."""
    return _opening(vary_unreduced_cast_p, x, axes=names)


def reduced_vary_cast(x: Any, names: tuple) -> Any:
    """A reduced value as one that each device has of its own."""
    return reduced_vary_cast_p.bind(x, axes=names)


def unreduced_psum(x: Any, names: tuple) -> Any:
    """Makes the sum that is open along these axes (an all-reduce)."""
    return unreduced_psum_p.bind(x, axes=names)


def unreduced_psum_scatter(x: Any, names: tuple, scatter_dimension: int, count: int, tiled: bool) -> Any:
    """Makes the sum that is open along these axes; each device gets one part of it (a reduce-scatter)."""
    return unreduced_reduce_scatter_p.bind(x, scatter_dimension=scatter_dimension, axis_name=names, axis_size=count, tiled=tiled)


def all_gather_reduced(x: Any, names: tuple, axis: int, count: int, tiled: bool) -> Any:
    """Gathers the values of all devices on each of them; the cotangent of the result is left as an open sum along these axes."""
    return _opening(all_gather_reduced_p, x, all_gather_dimension=axis, axis_name=names, axis_size=count, tiled=tiled)


def _opening(primitive: Primitive, x: Any, **params: Any) -> Any:
    record_explicitly()  # the types from here on say more than shapes
    return primitive.bind(x, **params)


# Casts between any two states


def cast_to(x: Any, names: Sequence[Hashable], state: str) -> Any:
    """A cotangent or a term of one, brought to a state along axes, with communication where that needs it.

    Where another state is asked for, a varying or unreduced value counts as the sum of the devices' values. Where terms of a sum are asked
    for, each device gets an equal share of an invarying value.
    """
    for source in (VARYING, UNREDUCED, REDUCED, INVARYING):
        aval = get_aval(x)
        if source != state and (along := tuple(name for name in names if state_along(aval, name) == source)):
            x = _casts[source, state](x, along)
    return x


def _sum(x: Any, names: tuple) -> Any:
    return psum_p.bind(x, axes=names, axis_index_groups=None)


def _pvary(x: Any, names: tuple) -> Any:
    return pvary_p.bind(x, axes=names)


def _shares(x: Any, names: tuple) -> Any:
    """Each device's part of a sum, in equal parts."""
    return op.div(x, np.asarray(math.prod(axis_size(name) for name in names), get_aval(x).dtype))


def _then(*casts: Callable) -> Callable:
    def cast(x: Any, names: tuple) -> Any:
        for one in casts:
            x = one(x, names)
        return x
    return cast


_casts: dict[tuple[str, str], Callable] = {
    (INVARYING, VARYING): _pvary,
    (INVARYING, REDUCED): preduced,
    (INVARYING, UNREDUCED): _then(_shares, _pvary, vary_unreduced_cast),
    (VARYING, UNREDUCED): vary_unreduced_cast,
    (VARYING, INVARYING): _sum,
    (VARYING, REDUCED): _then(_sum, preduced),
    (REDUCED, VARYING): reduced_vary_cast,
    (REDUCED, UNREDUCED): _then(reduced_vary_cast, _shares, vary_unreduced_cast),
    (REDUCED, INVARYING): _then(reduced_vary_cast, _shares, _sum),
    (UNREDUCED, INVARYING): unreduced_psum,
    (UNREDUCED, VARYING): _then(unreduced_psum, _pvary),
    (UNREDUCED, REDUCED): _then(unreduced_psum, preduced),
}


def reduced_as(x: Any, aval: ShapedArray) -> Any:
    """A value that all devices have, reduced along the axes along which values of the type are."""
    reduced = frozenset() if aval._split is None else aval._split.manual_sums[1]
    return cast_to(x, tuple(name for name in checked_axes() if name in reduced), REDUCED) if reduced else x


def varying_as(x: Any, aval: ShapedArray) -> Any:
    """A value that all devices have, of a type that says that it varies along the axes along which values of the given type do."""
    return varying_along(x, aval.vma)


def varying_along(x: Any, names: Collection[Hashable]) -> Any:
    """A value that all devices have, of a type that says that it varies along those of the names that types say it of."""
    checked = tuple([name for name in checked_axes() if name in names])
    return _pvary(x, checked) if checked else x


def zeros_as(zeros: Any, aval: ShapedArray) -> Any:
    """Zeros, which all devices have, with the open sums of a type: they are terms of a sum that is zero."""
    if aval._split is None:
        return zeros
    unreduced = aval._split.manual_sums[0]
    terms = tuple(name for name in checked_axes() if name in unreduced)
    return reduced_as(vary_unreduced_cast(_pvary(zeros, terms), terms) if terms else zeros, aval)
