"""Placement inside of programs: how a value is split over devices. Neither operation changes a value.

A sharding is any object with the attributes `mesh` and `spec` (see `partition_specs`, `abstract_meshes`) and the method
`update(spec=...)`; one of a single device has neither mesh nor spec.
"""

from __future__ import annotations

from typing import Any

from laminax_ir.options.config import no_collectives
from laminax_ir.programs.primitive import Primitive, Trait, shape_rule
from laminax_ir.tracing.forbidden_collectives import check_kept_places, check_types
from laminax_ir.tracing.trace import state
from laminax_ir.types.array_layouts import Layout
from laminax_ir.types.array_layouts import in_use as layouts_in_use
from laminax_ir.types.avals import ShapedArray, aval_in, get_aval, split_aval
from laminax_ir.types.errors import ShapeError
from laminax_ir.types.memory_spaces import MemorySpace, space_of_kind
from laminax_ir.types.partition_specs import UNCONSTRAINED, PartitionSpec
from laminax_ir.types.type_shardings import TypeSharding, in_use

sharding_constraint_p = Primitive("sharding_constraint", family="sharding", traits=(Trait.TYPES_ITS_RESULTS,))
# sharding: or a `MemorySpace`, for a value that stays on its devices. source: the sharding that x had, where cotangents go back to, or None
device_put_p = Primitive("device_put", family="sharding", traits=(Trait.TYPES_ITS_RESULTS,))
# Changes how a value's type splits it over explicit mesh axes: `dst` is a `TypeSharding` over any mesh, or None for a type without one.
reshard_p = Primitive("reshard", family="sharding", traits=(Trait.TYPES_ITS_RESULTS,))
layout_constraint_p = Primitive("layout_constraint", family="sharding", traits=(Trait.TYPES_ITS_RESULTS,))


@shape_rule(sharding_constraint_p)
def _sharding_constraint_shape(x: ShapedArray, *, sharding: Any) -> ShapedArray:
    return x if x._split is None and not in_use else _typed_so(x, sharding)


@shape_rule(device_put_p)
def _device_put_shape(x: ShapedArray, *, sharding: Any, source: Any = None) -> ShapedArray:
    if isinstance(sharding, MemorySpace):
        return aval_in(x, sharding)
    return aval_in(_typed_so(x, sharding), space_of_kind(getattr(sharding, "memory_kind", None)))


def _typed_so(x: ShapedArray, sharding: Any) -> ShapedArray:
    """The type of x laid out anew; entries that the compiler decides are as they were."""
    spec = getattr(sharding, "spec", None)
    if spec is not None and x._split is not None and UNCONSTRAINED in spec.partitions:
        sharding = x._split._replace(spec=kept_entries(x, spec))
    return split_aval(x, sharding)


def kept_entries(x: ShapedArray, spec: PartitionSpec) -> PartitionSpec:
    """A spec with the entries of the type of x where it leaves them to the compiler."""
    if x._split is None:
        return spec.update(partitions=[None if new is UNCONSTRAINED else new for new in spec.partitions])
    known = (*spec.partitions, *[None] * (x.ndim - len(spec)))
    return PartitionSpec(*[old if new is UNCONSTRAINED else new for old, new in zip(x._split.spec.partitions, known)])


@shape_rule(reshard_p)
def _reshard_shape(x: ShapedArray, *, dst: Any) -> ShapedArray:
    return checked_reshard(x, dst)


def checked_reshard(x: ShapedArray, dst: Any) -> ShapedArray:
    """The type of a value of the type x that is split anew.

    Raises:
      ForbiddenCollectiveError: if devices would exchange data along an axis where that is forbidden.
    """
    out = split_aval(x, dst)
    if no_collectives.value and x._split is not None:
        check_types("reshard", [x], [out])
        if out._split is not None:
            check_kept_places("reshard", x._split.spec.partitions, out._split.spec.partitions)
    return out


def reshard(x: Any, dst: TypeSharding | None) -> Any:
    """The value split over explicit mesh axes as its type shall say; itself if that does."""
    aval = get_aval(x)
    return x if checked_reshard(aval, dst) is aval else state.trace.process(reshard_p, (x,), {"dst": dst})


@shape_rule(layout_constraint_p)
def _layout_constraint_shape(x: ShapedArray, *, layout: Layout) -> ShapedArray:
    try:
        layout.check_compatible_aval(x.shape)
    except ValueError as error:
        raise ShapeError(f"layout_constraint: {error}") from None
    layouts_in_use.add("layouts")
    return x


def in_memory(x: Any, space: MemorySpace) -> Any:
    """The value in a kind of memory; itself if that is where its type says it is."""
    if get_aval(x).memory_space is space:
        return x
    return state.trace.process(device_put_p, (x,), {"sharding": space, "source": None})
