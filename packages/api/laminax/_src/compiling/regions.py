"""Compiling a program, as a whole or by regions: many equal blocks as a few executables that are run in turn.

`laminax_lowering.regions` decides which programs are compiled by regions, and where they are cut.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Mapping, Sequence

import laminax_runtime as runtime
from laminax_ir.key_arrays.keys import stored_aval
from laminax_ir.options.ambient import with_overrides_of_this_thread
from laminax_ir.programs.jaxpr import ClosedJaxpr, subjaxprs

from laminax._src.base.phases import log_decision
from laminax._src.compiling.executables import (
    Program,
    compile_lowered,
    constants_of,
    lower_program,
    lowering_platform,
    program_of,
    report_unusable_donations,
)
from laminax._src.placement.partitioning import Partitioning

if TYPE_CHECKING:  # loaded when something is lowered
    from laminax_lowering import LoweredModule


def compile_program(closed: ClosedJaxpr, where: runtime.Device | Partitioning, *, name: str) -> Program:
    """Lowers and compiles a program.

    Args:
      closed: the program.
      where: the device it runs on, or the devices that it is split over.
      name: the function's name.
    """
    if (program := compile_by_regions(closed, where, name=name)) is not None:
        return program
    return compile_lowered(lower_program(closed, where, name=name), closed, where, name=name)


def _has_no_blocks(closed: ClosedJaxpr) -> bool:
    """Whether a program has few operations, as those of eager calls: it has no regions, and the planner need not be loaded."""
    eqns = closed.jaxpr.eqns
    return len(eqns) < 8 and not any(subjaxprs(eqn) for eqn in eqns)


def compile_by_regions(closed: ClosedJaxpr, where: runtime.Device | Partitioning, *, name: str, donated: Sequence[bool] | None = None,
                       is_pinned: bool = False, compiler_options: Mapping[str, Any] | None = None) -> Program | None:
    """Compiles a program by regions; arguments as for `compile_program`. None if it is to be compiled as a whole."""
    if isinstance(where, Partitioning) or not runtime.compile_regions.value or _has_no_blocks(closed):
        return None
    from laminax_lowering.regions import WholeProgram, plan_regions
    plan = plan_regions(closed, lowering_platform(where), donated or ())
    if not isinstance(plan, WholeProgram) or plan.is_worth_a_word:
        log_decision(f"jit({name})", plan)
    if isinstance(plan, WholeProgram):
        return None
    report_unusable_donations(plan.unusable_donations, f"jit_{name}")
    parts = []
    names = {region.program: region.name for region in plan.regions}
    for program, flags in plan.donated.items():
        part = f"{name}_{names[program]}"
        parts.append((lower_program(program, where, name=part, donated=flags), program, part))

    def compile_part(lowered: LoweredModule, program: ClosedJaxpr, part: str) -> runtime.Executable:
        return compile_lowered(lowered, program, where, name=part, is_pinned=is_pinned, is_part=True,
                               compiler_options=compiler_options).executable

    from concurrent.futures import ThreadPoolExecutor
    with ThreadPoolExecutor(min(len(parts), os.cpu_count() or 1)) as threads:  # XLA's passes over one program run on one thread
        compiled = dict(zip(plan.donated, threads.map(with_overrides_of_this_thread(compile_part), *zip(*parts))))
    avals = [v.aval for v in (*closed.jaxpr.constvars, *closed.jaxpr.invars)]
    sequence = runtime.ExecutableSequence(
        f"jit_{name}", [runtime.Step(compiled[r.program], r.operands, r.results, r.dead) for r in plan.regions],
        [*map(stored_aval, avals)], plan.results, [*map(stored_aval, closed.out_avals)], plan.consumed, is_pinned, str(plan))
    with runtime.unguarded_transfers():
        const_args = [runtime.place_constant(c, sequence.in_shardings[0]) for c in constants_of(closed, name)]
    return program_of(closed, sequence, const_args)
