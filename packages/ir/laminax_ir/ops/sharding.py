"""Placement inside of programs: how a value is split over devices. Neither operation changes a value.

A sharding is known here by what it has: `mesh` and `spec` (see `partition_specs`, `abstract_meshes`), and `update(spec=...)`; or,
on one device, neither.
"""

from __future__ import annotations

from typing import Any

from laminax_ir.avals import ShapedArray
from laminax_ir.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn
from laminax_ir.ops.shard_map import shard_map_p
from laminax_ir.primitive import Primitive, shape_rule

sharding_constraint_p = Primitive("sharding_constraint", family="sharding")
device_put_p = Primitive("device_put", family="sharding")


@shape_rule(sharding_constraint_p)
def _sharding_constraint_shape(x: ShapedArray, *, sharding: Any) -> ShapedArray:
    return x


@shape_rule(device_put_p)
def _device_put_shape(x: ShapedArray, *, sharding: Any) -> ShapedArray:
    return x


def shardings_in(program: ClosedJaxpr | Jaxpr) -> list[tuple[Any, JaxprEqn]]:
    """What the operations of a program say of where it runs, nested programs included, each with the equation.

    Shardings of those that place values, and meshes of programs per device.
    """
    found = []
    for eqn in program.eqns:
        if eqn.primitive is shard_map_p:
            found.append((eqn.params["mesh"], eqn))
            continue
        if eqn.primitive is sharding_constraint_p or eqn.primitive is device_put_p:
            found.append((eqn.params["sharding"], eqn))
            continue
        for value in eqn.params.values():
            for item in value if type(value) is tuple else (value,):
                if isinstance(item, (ClosedJaxpr, Jaxpr)):
                    found += shardings_in(item)
    return found
