"""Compiling a program, as a whole or by regions: many equal blocks as a few executables that are run in turn.

`laminax_lowering.regions` decides which programs are compiled by regions, and where they are cut. On several devices the values between
regions are split as the compiler of the whole program would split them: its propagation of shardings is run on the program with these
values as its results. Regions of one program whose values are all split alike are compiled once.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Mapping, Sequence

import laminax_runtime as runtime
from laminax_ir.key_arrays.extended_arrays import stored_aval
from laminax_ir.options.ambient import with_overrides_of_this_thread
from laminax_ir.options.records import Record
from laminax_ir.programs.effects import has_ordered
from laminax_ir.programs.jaxpr import ClosedJaxpr, subjaxprs

from laminax._src.base import progress
from laminax._src.base.phases import log_decision
from laminax._src.compiling.executables import (
    Program,
    compile_lowered,
    constants_of,
    lower_program,
    lowering_platform,
    program_of,
    report_unusable_donations,
    write_module,
)
from laminax._src.placement.partitioning import Partitioning, are_all_in_default_memory

if TYPE_CHECKING:  # loaded when something is lowered
    from laminax_lowering import LoweredModule
    from laminax_lowering.regions import Region, RegionPlan


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


class _Places(Record):
    """Where the values of a plan are.

    where: the device, or the devices and how the program's arguments and results are split over them.
    shardings: of each value, by number.
    """
    where: runtime.Device | Partitioning
    shardings: tuple[runtime.Sharding, ...]

    def of(self, region: Region) -> runtime.Device | Partitioning:
        """Where a region runs, with the shardings of what it takes and gives."""
        if not isinstance(self.where, Partitioning):
            return self.where
        return Partitioning(self.where.devices, tuple([self.shardings[i] for i in region.operands]),
                            tuple([self.shardings[i] for i in region.results]), (), self.where.is_pinned)


def compile_by_regions(closed: ClosedJaxpr, where: runtime.Device | Partitioning, *, name: str, donated: Sequence[bool] | None = None,
                       is_pinned: bool = False, compiler_options: Mapping[str, Any] | None = None) -> Program | None:
    """Compiles a program by regions; arguments as for `compile_program`. None if it is to be compiled as a whole."""
    if not runtime.compile_regions.value or _has_no_blocks(closed) or not _can_be_cut(where):
        return None
    from laminax_lowering.regions import WholeProgram, plan_regions
    device, num_devices = (where.devices[0], len(where.devices)) if isinstance(where, Partitioning) else (where, 1)
    plan = plan_regions(closed, lowering_platform(device), donated or (), num_devices)
    places = None if isinstance(plan, WholeProgram) else _places(plan, closed, where, name)
    if places is not None and not isinstance(plan, WholeProgram):
        plan = plan.unless_too_different([places.of(region) for region in plan.regions])
    if not isinstance(plan, WholeProgram) or plan.is_worth_a_word:
        log_decision(f"jit({name})", plan)
    if isinstance(plan, WholeProgram) or places is None:
        return None
    report_unusable_donations(plan.unusable_donations, f"jit_{name}")
    compiled = _compile_parts(plan, places, name, is_pinned, compiler_options)
    inputs, n_consts = (*closed.jaxpr.constvars, *closed.jaxpr.invars), len(closed.consts)
    sequence = runtime.ExecutableSequence(
        f"jit_{name}", [_step(region, compiled[region.program, places.of(region)]) for region in plan.regions],
        [stored_aval(v.aval) for v in inputs], plan.results, [*map(stored_aval, closed.out_avals)], plan.consumed,
        where.is_pinned if isinstance(where, Partitioning) else is_pinned, str(plan), in_shardings=places.shardings[:len(inputs)],
        out_shardings=[places.shardings[i] for i in plan.results])
    with runtime.unguarded_transfers():
        const_args = [runtime.place_constant(c, sharding) for c, sharding in zip(constants_of(closed, name), places.shardings[:n_consts])]
    return program_of(closed, sequence, const_args)


def _step(region: Region, executable: runtime.Executable) -> runtime.Step:
    effects = region.program.effects
    return runtime.Step(executable, region.operands, region.results, region.dead, bool(effects), has_ordered(effects))


def _can_be_cut(where: runtime.Device | Partitioning) -> bool:
    """Whether values between regions can be where the program runs: on devices that run it, in their own memory and usual layouts."""
    if not isinstance(where, Partitioning):
        return not runtime.is_compile_only(where)
    return not runtime.is_compile_only(where.devices[0]) and (
        not (where.in_layouts or where.out_layouts)
        and are_all_in_default_memory((*where.in_shardings, *where.out_shardings)))


def _are_of_several_processes(where: runtime.Device | Partitioning) -> bool:
    return isinstance(where, Partitioning) and len({device.process_index for device in where.devices}) > 1


def _places(plan: RegionPlan, closed: ClosedJaxpr, where: runtime.Device | Partitioning, name: str) -> _Places | None:
    """Where the values of a plan are; None if meshes and specs do not say it."""
    n_consts, values = len(closed.consts), ClosedJaxpr(plan.values, closed.consts)
    num_values = n_consts + len(closed.in_avals) + len(values.out_avals)
    if not isinstance(where, Partitioning):
        return _Places(where, (runtime.on_device(where),) * num_values)
    wanted: list[runtime.Sharding | None] = [*[None] * n_consts, *where.in_shardings, *[None] * len(values.out_avals)]
    for i, sharding in zip(plan.results, where.out_shardings):
        wanted[i] = sharding
    given, asked = wanted[:-len(values.out_avals)], wanted[-len(values.out_avals):]
    lowered = write_module(values, Partitioning(where.devices, where.in_shardings, tuple(asked)), name=name, keep_unused=True)
    found = runtime.propagated_shardings(lowered.text, lowered.convention.in_avals, lowered.convention.out_avals, given, asked,
                                         devices=where.devices, known_shardings=[(s, None) for s in where.meshes])
    return found and _Places(where, (*found[0], *found[1]))


def _compile_parts(plan: RegionPlan, places: _Places, name: str, is_pinned: bool, compiler_options: Mapping[str, Any] | None) \
        -> dict[tuple[ClosedJaxpr, runtime.Device | Partitioning], runtime.Executable]:
    """The executables of a plan, by their program and by where it runs, compiled at the same time; one after the other if several processes
    run them, which compare programs, and tune kernels, in the order in which they compile."""
    different = {(region.program, places.of(region)): f"{name}_{region.name}" for region in plan.regions}
    parts = [(lower_program(program, where, name=part, donated=plan.donated[program]), program, where, part)
             for (program, where), part in different.items()]

    shown = progress.begin("Compiling", f"jit({name})", len(parts))

    def compile_part(lowered: LoweredModule, program: ClosedJaxpr, where: runtime.Device | Partitioning, part: str) -> runtime.Executable:
        compiled = compile_lowered(lowered, program, where, name=part, is_pinned=is_pinned, is_part=True, compiler_options=compiler_options)
        if shown is not None:
            shown.done += 1
        return compiled.executable

    from concurrent.futures import ThreadPoolExecutor
    try:
        count = 1 if _are_of_several_processes(places.where) else os.cpu_count() or 1
        with ThreadPoolExecutor(min(len(parts), count)) as threads:  # XLA's passes over one program run on one thread
            return dict(zip(different, threads.map(with_overrides_of_this_thread(compile_part), *zip(*parts))))
    finally:
        if shown is not None:
            progress.end(shown)
