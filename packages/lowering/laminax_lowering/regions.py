"""Regions: a program of many equal blocks as a sequence of small programs, each of which is compiled once.

XLA clones functions that are called from several places, so that even outlined calls cost compile time each (see `outlining`), and the
copies that a plain Python loop writes out cost more than that. A program that calls a large block many times from its top level is cut
there: every call is a region of its own, and so are the equations between two calls. Without such calls, runs of equations that come again
and again are blocks (see `repeats`). Equal regions are one program. The runtime compiles each program once and runs them in turn on the
same devices, so that compile time does not depend on the number of blocks.

The price is a dispatch per region, and that nothing is fused across its border. So regions are few, and large (`plan_regions` says what
large is); the values that cross a border are chosen (see `borders`); and a program is cut only if the estimates for both forms say that it
wins time to compile and loses neither memory nor speed (see `estimates`). Effects, such as callbacks, stay in their regions, and regions
in their order; programs with references of their own are never cut.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any, Container, Iterable, NamedTuple, Sequence

from laminax_ir.ops.calls import checkpoint_p, jit_p
from laminax_ir.ops.control_primitives import scan_p
from laminax_ir.programs.effects import has_refs
from laminax_ir.programs.jaxpr import Atom, ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var, subjaxprs
from laminax_ir.tracing.name_stacks import NameStack
from laminax_ir.types.avals import ShapedArray
from laminax_lowering.lower import donation_aliases
from laminax_lowering.planning.borders import choose_crossings
from laminax_lowering.planning.equal_programs import ProgramTable
from laminax_lowering.planning.estimates import PER_KERNEL, Estimate, Estimates
from laminax_lowering.planning.operation_costs import HEAVY, heavy_work, num_bytes
from laminax_lowering.planning.outlining import OUTLINE_MIN_EQUATIONS, CallPlan, plan_calls, program_size
from laminax_lowering.planning.repeats import Run, cut_run, find_runs
from laminax_lowering.planning.updates import Piece, with_updates_in_blocks
from laminax_lowering.writing.context import live_equations

# Of transformers of 4, 6 and 8 layers (128 wide, 8 by 64 tokens) the steps of regions take 0.75 to 0.92 of those of the whole, first steps
# 0.94 to 0.98, 0.81 to 0.97 and 0.65 to 0.86. Fewer blocks than four have no majority to be alike.
REGION_MIN_CALLS = 4
# Operations on numbers: half a millisecond of one core, or a tenth of an accelerator. A region costs the CPU 100 to 200 us, for its
# dispatch and for what is not fused across its border; a block of 6 million operations made steps a third slower.
REGION_MIN_WORK = {"cpu": 10_000_000, "cuda": 2_000_000_000, "rocm": 2_000_000_000, "tpu": 2_000_000_000}
# How many operations a region has, if enough regions are left then. On several cores a region costs processor time besides what it costs
# on one, since the threads of the pools that run regions and kernels wake each other up between two of them, and look for work for a
# while: 0.3 to 0.4 ms of two cores. Of `transformer24`, 14 million operations in a block, a step of regions of one block takes
# 36.7 ms, of two 26.7, of four 26.1, and of the whole 30; with a batch of 8 instead of 4 (27 million) one block 51, two 42, four 46;
# with 16 (55 million) one is as fast as two. First steps differ by a tenth.
USUAL_WORK = {"cpu": 30_000_000}
# How much more than the whole program regions may need (memory, time of a step, time to compile), as a factor; and the part of one of these
# that they must come down to, to be worth it: of the time to compile, or of memory where there is much of it.
MOST_MEMORY, MOST_TIME, MOST_COMPILING = 1.1, 1.05, 1.1
WORTHWHILE, MUCH_MEMORY = 0.7, 1 << 30
MUCH_FASTER = 0.9  # of the time of a step; then nothing else need be gained
# Milliseconds of compiling that are worth it too, where a step takes no longer: transformers of six layers, of flax's linen and nnx, are
# estimated to gain 340 and 290; their first steps take 0.45 and 0.6 s of 5 less, their steps 0.83 and 0.85 of those of the whole.
MUCH_COMPILING = 200.0
# The cost of a region besides its operations, in bytes that are moved in the same time. It takes the host 60 us, and the CPU 150 with what
# it makes in new memory (`chain200` of the benchmarks on one core, 51 regions against the whole); small programs move 10 bytes in 1 ns.
# Both are for one device. A region on several takes as much on each, but the compiler of the whole pays there as well: for each kernel, and
# for devices that wait for each other. 32 million operations on 8 devices of a CPU are enough, at a quarter more time for the step than the
# whole takes (`transformer24_8_devices` of the benchmarks, 85 ms whole, in JAX 103, and in 51, 19 and 11 regions 134, 106 and 106).
WORK_OF_FURTHER_DEVICES = 0.4
MOST_TIME_ON_SEVERAL = {"cpu": 1.4}
DISPATCH = {"cpu": 1_500_000, "cuda": 10_000_000, "rocm": 10_000_000, "tpu": 10_000_000}
PRICE_OF_A_VALUE = 25_000  # of a result of a region and an operand of another, on the host: 2 to 3 us for each device
_CALLS = (jit_p, checkpoint_p)


class Segment(NamedTuple):
    """A stretch of a program's equations, and its name."""
    name: str
    eqns: list[JaxprEqn]


@dataclass(frozen=True)
class Region:
    """One step of a program: a smaller program that is run on some values and gives others. Values are known by number.

    name: of the block that it is, or "part".
    program: without constants; equal regions have the same one.
    operands: the values it is run on.
    results: the values that it gives.
    dead: values that no later region needs.
    """
    name: str
    program: ClosedJaxpr
    operands: tuple[int, ...]
    results: tuple[int, ...]
    dead: tuple[int, ...]


@dataclass(frozen=True)
class RegionPlan:
    """A program as regions. The values 0, 1, ... are its constants, then its arguments, then the results of regions.

    donated: for each program, which of its operands it may overwrite.
    results: the values that are the program's results, all different and none of them a constant or an argument.
    values: the program with the results of all regions, in the order of their numbers, as its results.
    consumed: the arguments that are overwritten, since a result has the same type.
    unusable_donations: the donated arguments that no result can take the place of.
    whole, cut: what was estimated of the program as a whole, and as these regions.
    """
    regions: tuple[Region, ...]
    donated: dict[ClosedJaxpr, tuple[bool, ...]]
    results: tuple[int, ...]
    values: Jaxpr
    consumed: tuple[int, ...]
    unusable_donations: tuple[ShapedArray, ...]
    whole: Estimate
    cut: Estimate

    def unless_too_different(self, places: Sequence[Any]) -> RegionPlan | WholeProgram:
        """The plan, unless too many equal regions are programs of their own, since they run in different places: one for each region."""
        if 2 * len({(region.program, place) for region, place in zip(self.regions, places, strict=True)}) > len(self.regions):
            return WholeProgram("the values of equal blocks are split differently", self.whole, self.cut)
        return self

    def __str__(self) -> str:
        names = len({region.program for region in self.regions})
        return f"in {len(self.regions)} regions of {names} programs{_comparison(self.whole, self.cut)}"


_SMALL, _NO_BLOCKS = "it is small", "it has no equal blocks, or few or small ones"
_GAINS_LITTLE, _SLOWER = "regions would gain little", "regions would be slower"


@dataclass(frozen=True)
class WholeProgram:
    """Why a program is compiled as a whole.

    reason: in words.
    whole, cut: what was estimated of the program as a whole, and as regions, if there were any.
    """
    reason: str
    whole: Estimate | None = None
    cut: Estimate | None = None

    @property
    def is_worth_a_word(self) -> bool:
        """Whether there was a choice to make; for a small program there is none."""
        return self.reason != _SMALL

    def __str__(self) -> str:
        return f"as a whole, since {self.reason}{_comparison(self.whole, self.cut) if self.whole and self.cut else ''}"


def _comparison(whole: Estimate, cut: Estimate) -> str:
    """A comparison of the two estimates, for a log."""
    return (f" (estimated for regions and for the whole: {cut.peak / 1e6:.1f} and {whole.peak / 1e6:.1f} MB at once besides the arguments, "
            f"{cut.compiling / 1e3:.2f} and {whole.compiling / 1e3:.2f} s to compile, time to run {cut.time / max(whole.time, 1):.2f} to "
            "1)")


def plan_regions(closed: ClosedJaxpr, platform: str, donated: Sequence[bool] = (), num_devices: int = 1) -> RegionPlan | WholeProgram:
    """Cuts a program into regions, where that wins, or says why it is to be compiled as a whole.

    Args:
      closed: the program.
      platform: what it is for.
      donated: which of its arguments may be overwritten, by default none.
      num_devices: over how many devices it is split.
    """
    jaxpr, dispatch = closed.jaxpr, DISPATCH[platform] * num_devices
    min_work = REGION_MIN_WORK[platform] if num_devices == 1 else int(WORK_OF_FURTHER_DEVICES * REGION_MIN_WORK[platform] * num_devices)
    most_time = MOST_TIME if num_devices == 1 else max(MOST_TIME, MOST_TIME_ON_SEVERAL.get(platform, 0.0))
    if _count_calls(jaxpr) < REGION_MIN_CALLS and _heavy_work(jaxpr) < REGION_MIN_CALLS * min_work:
        return WholeProgram(_SMALL)
    if has_refs(closed.effects):
        return WholeProgram("it has references")
    calls = plan_calls(jaxpr)
    programs = calls.programs
    flat = _with_calls_in_place(jaxpr, calls)
    usual_work = USUAL_WORK.get(platform, 0) if num_devices == 1 else 0
    found, written, runs = _blocks(flat, programs, min_work, usual_work)
    if not (found or runs):
        return WholeProgram(_NO_BLOCKS)
    first, used = len(jaxpr.constvars), _read(flat)
    kept = [i for i, v in enumerate(jaxpr.invars) if v in used]
    aliases, unusable = donation_aliases(jaxpr, donated or [False] * len(jaxpr.invars), kept)
    estimates = Estimates(platform)
    whole = estimates.of(flat, frozenset([jaxpr.invars[i] for i in aliases]))
    if not _can_win(whole):
        return WholeProgram(_GAINS_LITTLE)
    if runs and whole.least_time + dispatch * sum([run.count for run in runs]) > most_time * whole.time:
        return WholeProgram(_SLOWER)  # whatever crosses the borders
    found = found or _cut_at_runs(written, runs, programs)
    if not found:
        return WholeProgram(_NO_BLOCKS)
    pieces = [piece for piece in found if piece.eqns]
    opened, segments = _with_blocks_in_place(written, [Segment(_name_of(piece), piece.eqns) for piece in pieces])
    updated = with_updates_in_blocks([Piece(segment.eqns, piece.is_block) for segment, piece in zip(segments, pieces)])
    segments = [Segment(name, eqns) for name, eqns in zip(["part", *[segment.name for segment in segments]], updated) if eqns]
    chosen = choose_crossings([segment.eqns for segment in segments], [*flat.constvars, *flat.invars], opened.outvars, programs,
                              PRICE_OF_A_VALUE * num_devices)
    regions, results, values = _regions(opened, [Segment(segment.name, eqns) for segment, eqns in zip(segments, chosen) if eqns], programs)
    consumed = tuple([first + i for i in aliases])
    inputs = frozenset(range(first + len(jaxpr.invars))).difference(consumed)
    sizes = [num_bytes(v.aval) for v in (*jaxpr.constvars, *jaxpr.invars)]
    cut = _estimate_of_regions(regions, inputs, sizes, estimates, dispatch)
    whole = replace(whole, kernels=min(whole.kernels, cut.kernels))  # others repeat
    reason = _what_is_lost(regions, whole, cut, most_time)
    if reason:
        return WholeProgram(reason, whole, cut)
    unused = tuple([jaxpr.invars[i].aval for i in unusable])
    return RegionPlan(regions, _donated_operands(regions, inputs), results, values, consumed, unused, whole, cut)


def _can_win(whole: Estimate) -> bool:
    """Whether cutting may be worth it, given the least that the cut program needs: each kernel once."""
    most = max(WORTHWHILE * whole.compiling, whole.compiling - MUCH_COMPILING)
    return whole.peak > MUCH_MEMORY or PER_KERNEL * whole.kernels < most or whole.least_time < MUCH_FASTER * whole.time


def _what_is_lost(regions: Sequence[Region], whole: Estimate, cut: Estimate, most_time: float) -> str:
    """Why a program is not to be cut in this way; empty if cutting wins."""
    if 2 * len({region.program for region in regions}) > len(regions):
        return "what stands between its blocks differs"
    if cut.peak > MOST_MEMORY * whole.peak:
        return "regions would need more memory"
    if cut.time > most_time * whole.time:
        return _SLOWER
    if cut.compiling > MOST_COMPILING * whole.compiling:
        return "regions would take longer to compile"
    saves_memory = cut.peak < WORTHWHILE * whole.peak and whole.peak - cut.peak > MUCH_MEMORY
    saves_time = cut.time < MUCH_FASTER * whole.time and cut.compiling <= whole.compiling
    saves_compiling = cut.compiling < WORTHWHILE * whole.compiling or (
        cut.time <= whole.time and cut.compiling < whole.compiling - MUCH_COMPILING)
    return "" if saves_memory or saves_time or saves_compiling else _GAINS_LITTLE


def _estimate_of_regions(regions: Sequence[Region], kept: Container[int], sizes: Sequence[int], estimates: Estimates,
                         dispatch: float) -> Estimate:
    """The cost of the regions together: the most memory while one of them runs, and the sum of the times.

    Args:
      regions: the regions.
      kept: the constants and arguments that are not overwritten.
      sizes: the sizes of constants and arguments, in bytes.
      estimates: the estimates of the programs.
      dispatch: the cost of running one region besides, in the unit of the estimates.
    """
    size = dict(enumerate(sizes))
    live = most = time = 0.0
    for region in regions:
        found = estimates.of(region.program.jaxpr)
        size.update((i, num_bytes(aval)) for i, aval in zip(region.results, region.program.out_avals))
        freed = sum([size[i] for i in region.dead if i not in kept])
        most = max(most, live + found.peak)
        live += sum([size[i] for i in region.results]) - freed
        time += found.time + dispatch
    parts = [estimates.of(program.jaxpr) for program in {region.program for region in regions}]
    return Estimate(most, time, time, sum([part.kernels for part in parts]), sum([part.overhead for part in parts]), len(parts))


def _read(jaxpr: Jaxpr) -> set[Var]:
    """The variables that equations read or that are results."""
    return {v for atoms in (*[eqn.invars for eqn in jaxpr.eqns], jaxpr.outvars) for v in atoms if type(v) is Var}


def _count_calls(jaxpr: Jaxpr) -> int:
    """The calls at the top level and in calls there: a bound, found fast, on the number of places to cut at."""
    count = 0
    for eqn in jaxpr.eqns:
        if eqn.primitive in _CALLS:
            count += 1
            if count >= REGION_MIN_CALLS:
                break
            if eqn.primitive is jit_p:
                count += _count_calls(eqn.params["jaxpr"].jaxpr)
    return count


def _heavy_work(jaxpr: Jaxpr) -> int:
    """The work of the heavy operations at the top level and in calls there, found fast."""
    total = 0
    for eqn in jaxpr.eqns:
        if eqn.primitive in HEAVY:
            total += heavy_work(eqn)
        elif eqn.primitive is jit_p:
            total += _heavy_work(eqn.params["jaxpr"].jaxpr)
    return total


def _with_calls_in_place(jaxpr: Jaxpr, calls: CallPlan | None) -> Jaxpr:
    """The live equations of a program. Calls that are written in place, or inline, are replaced by the equations of what they call; without
    a plan all calls are.
    """
    values: dict[Var, Atom] = {}
    eqns: list[JaxprEqn] = []

    def resolve(atoms: Sequence[Atom]) -> list[Atom]:
        return [values.get(v, v) if type(v) is Var else v for v in atoms]

    def write(inner: Jaxpr, is_copied: bool, names: tuple[str, ...] = ()) -> None:
        for eqn in live_equations(inner)[0]:
            if names:
                info = eqn.source_info
                eqn = eqn.replace(source_info=info._replace(name_stack=NameStack((*names, *info.name_stack))))
            is_open = eqn.primitive is jit_p and (calls is None or eqn.params.get("inline") is True)
            if is_open or eqn.primitive is jit_p and calls and calls.programs.representative(eqn.params["jaxpr"]) in calls.in_place:
                called = eqn.params["jaxpr"].jaxpr
                values.update(zip(called.invars, resolve(eqn.invars)))
                write(called, is_copied or is_open, (*eqn.source_info.name_stack, f"jit({eqn.params['name']})"))
                values.update(zip(eqn.outvars, resolve(called.outvars)))
                continue
            eqns.append(eqn.replace(invars=resolve(eqn.invars)) if values else eqn)
            if is_copied:  # each call has variables of its own
                outvars = [Var(v.aval) for v in eqn.outvars]
                values.update(zip(eqn.outvars, outvars))
                eqns[-1] = eqns[-1].replace(outvars=outvars)

    write(jaxpr, False)
    flat = Jaxpr(jaxpr.constvars, jaxpr.invars, resolve(jaxpr.outvars), eqns, jaxpr.effects, jaxpr.debug_info)
    return Jaxpr(flat.constvars, flat.invars, flat.outvars, live_equations(flat)[0], flat.effects, flat.debug_info)


def _name_of(piece: Piece) -> str:
    """The name of the function that a piece calls, if it is a call, or what it is."""
    usual = "blocks" if piece.is_block else "part"
    return piece.eqns[0].params.get("name", usual) if len(piece.eqns) == 1 else usual


def _with_blocks_in_place(jaxpr: Jaxpr, segments: Sequence[Segment]) -> tuple[Jaxpr, list[Segment]]:
    """The program and its segments, with the equations of a block in the place of each call that is a segment for itself."""
    values: dict[Var, Atom] = {}
    opened = []

    def resolve(atoms: Sequence[Atom]) -> list[Atom]:
        return [values.get(v, v) if type(v) is Var else v for v in atoms]

    for name, eqns in segments:
        if len(eqns) > 1 or eqns[0].primitive is not jit_p:
            opened.append(Segment(name, [eqn.replace(invars=resolve(eqn.invars)) for eqn in eqns]))
            continue
        (call,) = eqns
        called, inside = call.params["jaxpr"].jaxpr, []
        values.update(zip(called.invars, resolve(call.invars)))
        names = (*call.source_info.name_stack, f"jit({call.params['name']})")
        for eqn in live_equations(called)[0]:
            outvars = [Var(v.aval) for v in eqn.outvars]  # the next call of the block makes others
            info = eqn.source_info._replace(name_stack=NameStack((*names, *eqn.source_info.name_stack)))
            inside.append(eqn.replace(invars=resolve(eqn.invars), outvars=outvars, source_info=info))
            values.update(zip(eqn.outvars, outvars))
        values.update(zip(call.outvars, resolve(called.outvars)))
        opened.append(Segment(name, inside))
    eqns = [eqn for segment in opened for eqn in segment.eqns]
    return Jaxpr(jaxpr.constvars, jaxpr.invars, resolve(jaxpr.outvars), eqns, jaxpr.effects, jaxpr.debug_info), opened


def _blocks(jaxpr: Jaxpr, programs: ProgramTable, min_work: int, usual_work: int) -> tuple[list[Piece] | None, Jaxpr, list[Run]]:
    """How to cut a program: into pieces, at the calls of its blocks, or else into runs of equations that repeat.

    Returns the pieces or None, the program, and the runs. Where blocks are too small for a region of their own, the program has the
    equations of the calls in the place of the calls, and a run is several blocks together.
    """
    found = _cut_at_calls(jaxpr, programs, min_work)
    counts = Counter([programs.representative(piece.eqns[0].params["jaxpr"]) for piece in found or () if piece.is_block])
    sizes: dict[Jaxpr, int] = {}
    if found and any(count < 2 * REGION_MIN_CALLS or work(called.jaxpr, sizes) >= usual_work for called, count in counts.items()):
        return found, jaxpr, []
    limits = REGION_MIN_CALLS, OUTLINE_MIN_EQUATIONS, min_work, usual_work
    runs = [] if found else find_runs(jaxpr.eqns, *limits)
    if not runs and any(eqn.primitive is jit_p for eqn in jaxpr.eqns):
        opened = _with_calls_in_place(jaxpr, None)
        runs = find_runs(opened.eqns, *limits)
        if len(runs) >= len(counts) and (not found or sum([run.count for run in runs]) < counts.total()):
            return None, opened, runs
    return (found, jaxpr, []) if found else (None, jaxpr, runs)


def _cut_at_calls(jaxpr: Jaxpr, programs: ProgramTable, min_work: int) -> list[Piece] | None:
    """The equations, cut before and after each call of a block: of a program that is large, and called often."""
    counts: dict[ClosedJaxpr, int] = {}
    for eqn in jaxpr.eqns:
        if eqn.primitive in _CALLS:
            called = programs.representative(eqn.params["jaxpr"])
            counts[called] = counts.get(called, 0) + 1
    sizes: dict[int, int] = {}
    found: dict[Jaxpr, int] = {}
    blocks = {called for called, count in counts.items() if count >= REGION_MIN_CALLS
              and program_size(called.jaxpr, sizes) >= OUTLINE_MIN_EQUATIONS and work(called.jaxpr, found) >= min_work}
    if not blocks:
        return None
    pieces = [Piece([], False)]
    for eqn in jaxpr.eqns:
        if eqn.primitive in _CALLS and programs.representative(eqn.params["jaxpr"]) in blocks:
            pieces += Piece([eqn], True), Piece([], False)
        else:
            pieces[-1].eqns.append(eqn)
    return pieces


def _cut_at_runs(jaxpr: Jaxpr, runs: Iterable[Run], programs: ProgramTable) -> list[Piece] | None:
    """The equations, cut at the borders of the blocks that come again and again; None if those of no run are equal."""
    eqns, done = jaxpr.eqns, 0
    pieces = [Piece([], False)]
    for run in runs:
        found = cut_run(eqns, run, programs.describe)
        if found is None:
            continue
        before, blocks = found
        pieces[-1].eqns.extend([*eqns[done:run.start], *before])
        pieces += [*[Piece(block, True) for block in blocks], Piece([], False)]
        done = run.start + run.length * run.count
    pieces[-1].eqns.extend(eqns[done:])
    return pieces if done else None


def work(jaxpr: Jaxpr, found: dict[Jaxpr, int]) -> int:
    """About how many operations on numbers a program is; loops of unknown length count once. `found` are answers so far."""
    if jaxpr in found:
        return found[jaxpr]
    total = 0
    for eqn in jaxpr.eqns:
        inner = [work(program, found) for program in subjaxprs(eqn)] if eqn.primitive.multiple_results else ()
        if inner:
            total += sum(inner) * (eqn.params["length"] if eqn.primitive is scan_p else 1)
            continue
        total += heavy_work(eqn) if eqn.primitive in HEAVY else sum(math.prod(v.aval.shape) for v in eqn.outvars)
    found[jaxpr] = total
    return total


def _regions(jaxpr: Jaxpr, segments: Sequence[Segment], programs: ProgramTable) -> tuple[tuple[Region, ...], tuple[int, ...], Jaxpr]:
    """The segments as programs on numbered values, the numbers of the results, and the whole with all these values as its results.

    Results that no equation gives for themselves alone (arguments, literals, the second of two that are the same) are copies,
    made by a last region without equations.
    """
    numbers: dict[Atom, int] = {v: i for i, v in enumerate((*jaxpr.constvars, *jaxpr.invars))}
    first_at = {v: i for i, v in reversed([*enumerate(jaxpr.outvars)]) if type(v) is Var}
    copies = {i for i, v in enumerate(jaxpr.outvars) if type(v) is Literal or v in numbers or first_at[v] != i}
    copied = [v for i, v in enumerate(jaxpr.outvars) if i in copies]
    needed = {v for i, v in enumerate(jaxpr.outvars) if i not in copies}
    pieces: list[tuple[Segment, list[Var], list[Any], list[Var]]] = []
    if copies:
        pieces.append((Segment("part", []), _variables(copied), copied, [v for v in _variables(copied) if v not in needed]))
    needed.update(_variables(copied))
    for segment in reversed(segments):
        made = [v for eqn in segment.eqns for v in eqn.outvars]
        read = _variables([v for eqn in segment.eqns for v in eqn.invars], without=set(made))
        pieces.append((segment, read, [v for v in made if v in needed], [v for v in read if v not in needed]))
        needed.update(read)
    regions, num_values = [], len(numbers)
    values: list[Atom] = []
    for segment, read, made, dead in reversed(pieces):
        values += made
        program = programs.representative(ClosedJaxpr(Jaxpr([], read, made, segment.eqns)))
        results = tuple(range(num_values, num_values + len(made)))
        num_values += len(made)
        regions.append(Region(segment.name, program, tuple([numbers[v] for v in read]), results, tuple([numbers[v] for v in dead])))
        if segment.eqns:
            numbers.update(zip(made, results))
    found = iter(regions[-1].results if copies else ())
    results_of_all = tuple([next(found) if i in copies else numbers[v] for i, v in enumerate(jaxpr.outvars)])
    eqns = [eqn for segment in segments for eqn in segment.eqns]
    return tuple(regions), results_of_all, Jaxpr(jaxpr.constvars, jaxpr.invars, values, eqns, jaxpr.effects, jaxpr.debug_info)


def _variables(atoms: Sequence[Atom], without: Container[Var] = ()) -> list[Var]:
    """The variables among them, each once."""
    return [v for v in dict.fromkeys(v for v in atoms if type(v) is Var) if v not in without]


def _donated_operands(regions: Sequence[Region], kept: Iterable[int]) -> dict[ClosedJaxpr, tuple[bool, ...]]:
    """For each program its operands that nobody reads after any of the regions that run it; `kept` are values that belong to others."""
    donated: dict[ClosedJaxpr, tuple[bool, ...]] = {}
    for region in regions:
        dead = frozenset(region.dead).difference(kept)
        flags = tuple([i in dead for i in region.operands])
        before = donated.get(region.program, flags)
        donated[region.program] = tuple([a and b for a, b in zip(before, flags)])
    return donated
