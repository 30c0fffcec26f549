"""Compiling a program by regions: many equal blocks as a few executables that are run in turn.

Which programs that is, and where they are cut, is the lowering's to say (`laminax_lowering.regions`).
"""

from __future__ import annotations

from typing import Any, Mapping, Sequence

import laminax_runtime as runtime
from laminax_ir.jaxpr import ClosedJaxpr

from laminax._src.executables import (
    Program,
    compile_lowered,
    constants_of,
    lower_program,
    lowering_platform,
    program_of,
    report_unusable_donations,
    stored_aval,
)
from laminax._src.partitioning import Partitioning


def compile_by_regions(closed: ClosedJaxpr, where: runtime.Device | Partitioning, *, name: str, donated: Sequence[bool] | None = None,
                       is_pinned: bool = False, compiler_options: Mapping[str, Any] | None = None) -> Program | None:
    """Compiles a program by regions; arguments as for `compile_program`. None if it is to be compiled as a whole."""
    if isinstance(where, Partitioning) or not runtime.compile_regions.value:
        return None
    from laminax_lowering.regions import plan_regions
    plan = plan_regions(closed, lowering_platform(where), donated or ())
    if plan is None:
        return None
    report_unusable_donations(plan.unusable_donations, f"jit_{name}")
    compiled: dict[ClosedJaxpr, runtime.Executable] = {}
    for program, flags in plan.donated.items():
        part = f"{name}_{_name_of(program)}"
        lowered = lower_program(program, where, name=part, donated=flags)
        compiled[program] = compile_lowered(lowered, program, where, name=part, is_pinned=is_pinned, is_part=True,
                                            compiler_options=compiler_options).executable
    avals = [v.aval for v in (*closed.jaxpr.constvars, *closed.jaxpr.invars)]
    sequence = runtime.ExecutableSequence(
        f"jit_{name}", [runtime.Step(compiled[r.program], r.operands, r.results, r.dead) for r in plan.regions],
        [*map(stored_aval, avals)], plan.results, [*map(stored_aval, closed.out_avals)], plan.consumed, is_pinned)
    with runtime.unguarded_transfers():
        const_args = [runtime.place_constant(c, sequence.in_shardings[0]) for c in constants_of(closed, name)]
    return program_of(closed, sequence, const_args)


def _name_of(program: ClosedJaxpr) -> str:
    """The name of the block that a region calls, if it is a call."""
    return program.eqns[0].params.get("name", "part") if len(program.eqns) == 1 else "part"
