"""Placement inside of programs: how a value is split over devices. Neither operation changes a value.

A sharding is known here by what it has: `mesh` and `spec` (see `partition_specs`, `abstract_meshes`), and `update(spec=...)`; or,
on one device, neither.
"""

from __future__ import annotations

from typing import Any

from laminax_ir.avals import ShapedArray
from laminax_ir.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, subjaxprs
from laminax_ir.ops.shard_map import shard_map_p
from laminax_ir.primitive import Primitive, shape_rule

sharding_constraint_p = Primitive("sharding_constraint", family="sharding")
device_put_p = Primitive("device_put", family="sharding")  # source: the sharding that x had, where cotangents go back to, or None


@shape_rule(sharding_constraint_p)
def _sharding_constraint_shape(x: ShapedArray, *, sharding: Any) -> ShapedArray:
    return x


@shape_rule(device_put_p)
def _device_put_shape(x: ShapedArray, *, sharding: Any, source: Any = None) -> ShapedArray:
    return x


_PLACING = frozenset((sharding_constraint_p, device_put_p))


def shardings_in(program: ClosedJaxpr | Jaxpr) -> list[tuple[Any, JaxprEqn]]:
    """What the operations of a program say of where it runs, nested programs included, each with the equation.

    Shardings of those that place values, and meshes of programs per device.
    """
    found: list[tuple[Any, JaxprEqn]] = []
    _collect(program, found, set())
    return found


def _collect(program: ClosedJaxpr | Jaxpr, found: list[tuple[Any, JaxprEqn]], seen: set[int]) -> None:
    """Adds what a program says, unless it has been seen: a program may be called from many places."""
    if id(program) in seen:
        return
    seen.add(id(program))
    for eqn in [eqn for eqn in program.eqns if (primitive := eqn.primitive).multiple_results or primitive in _PLACING]:
        if eqn.primitive in _PLACING:
            found.append((eqn.params["sharding"], eqn))
        elif eqn.primitive is shard_map_p:
            found.append((eqn.params["mesh"], eqn))
        else:  # every operation that holds programs has a list of results
            for inner in subjaxprs(eqn):
                _collect(inner, found, seen)
