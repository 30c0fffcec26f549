"""The devices that programs name, and the memory layouts that they ask for."""

from __future__ import annotations

from typing import Any

from laminax_ir.ops.sharding import device_put_p, layout_constraint_p, sharding_constraint_p
from laminax_ir.programs.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, programs_within, subjaxprs
from laminax_ir.programs.primitive import Trait
from laminax_ir.types.array_layouts import in_use as layouts_in_use
from laminax_ir.types.memory_spaces import MemorySpace


def constrains_layouts(program: ClosedJaxpr | Jaxpr) -> bool:
    """Whether a program constrains the memory layout of some value."""
    return bool(layouts_in_use) and any(eqn.primitive is layout_constraint_p for jaxpr in programs_within(program) for eqn in jaxpr.eqns)


_PLACING = frozenset((sharding_constraint_p, device_put_p))


def shardings_in(program: ClosedJaxpr | Jaxpr) -> list[tuple[Any, JaxprEqn]]:
    """The placements that the operations of a program name, nested programs included, each with the equation.

    They are the shardings of operations that place values, and the meshes of programs per device.
    """
    found: list[tuple[Any, JaxprEqn]] = []
    _collect(program, found, set())
    return found


def _collect(program: ClosedJaxpr | Jaxpr, found: list[tuple[Any, JaxprEqn]], seen: set[int]) -> None:
    """Adds the placements in a program, unless it has been seen: a program may be called from many places."""
    if id(program) in seen:
        return
    seen.add(id(program))
    for eqn in [eqn for eqn in program.eqns if (primitive := eqn.primitive).multiple_results or primitive in _PLACING]:
        if eqn.primitive in _PLACING:
            if not isinstance(eqn.params["sharding"], MemorySpace):
                found.append((eqn.params["sharding"], eqn))
        elif Trait.RUNS_PER_DEVICE in eqn.primitive.traits:
            found.append((eqn.params["mesh"], eqn))
        else:  # every operation that holds programs has a list of results
            for inner in subjaxprs(eqn):
                _collect(inner, found, seen)
