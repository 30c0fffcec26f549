"""The cost of a program, estimated before it is compiled: the memory that it needs at once, the bytes that it moves, the compiler's work.

A compiler writes to memory the values that it cannot fuse: those that operations which are not cheap make or read, and those that are read
twice and cost too much to be made twice. All other values are made where they are read. For a program in this form, the values that live at
once are counted, and the bytes that are read and written. The unit of time is that of `operation_costs`. These are estimates to compare
programs of the same operations by, cut up or not; compilers order operations and reuse buffers in ways of their own.

Compiling was measured with jaxlib 0.12 on one core: a program takes 30 ms, a kernel that is like no other in it about 8, and each
further one like that 0.25 where it is elementwise or a product, and 1 to 4 otherwise (reductions are written out again each time).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Container, Iterable, Mapping, Sequence

from laminax_ir.ops.control_primitives import scan_p
from laminax_ir.programs.jaxpr import Jaxpr, JaxprEqn, Var, subjaxprs
from laminax_lowering.planning.operation_costs import HEAVY, REDUCTIONS, cost, heavy_work, is_cheap, is_series, num_bytes

# Operations on numbers in products and convolutions, in the time of a byte: a core does 50 in the nanosecond in which it moves 5 bytes.
HEAVY_OPERATIONS_PER_BYTE = {"cpu": 10.0, "cuda": 100.0, "rocm": 100.0, "tpu": 200.0}
# Milliseconds of compiling.
PER_PROGRAM, PER_KERNEL, PER_REPETITION, PER_REPEATED_REDUCTION = 30.0, 8.0, 0.3, 2.5


@dataclass(frozen=True)
class Estimate:
    """The cost of running a program once, and of compiling it.

    peak: the most bytes at once, with its results and without its operands.
    time: of one run, in bytes that are moved in the same time.
    least_time: below which no way of cutting the program comes, nor of choosing what it computes again.
    kernels: how many pieces of code the compiler has to write: equal ones count once, and those in calls count too.
    overhead: milliseconds that it spends on all of them besides.
    programs: how many it is given.
    """
    peak: float
    time: float
    least_time: float
    kernels: int
    overhead: float
    programs: int = 1

    @property
    def compiling(self) -> float:
        """Milliseconds that compiling takes."""
        return PER_PROGRAM * self.programs + PER_KERNEL * self.kernels + self.overhead


class Estimates:
    """Estimates for one platform; what was found for a program is kept."""

    def __init__(self, platform: str) -> None:
        self._heavy_operations_per_byte = HEAVY_OPERATIONS_PER_BYTE[platform]
        self._found: dict[Jaxpr, Estimate] = {}

    def of(self, jaxpr: Jaxpr, consumed: Container[Var] = ()) -> Estimate:
        """The estimate for a program that is compiled as a whole, in which calls stay calls.

        Args:
          jaxpr: the program.
          consumed: the arguments whose memory is free after their last use; always the same ones of a program.
        """
        found = self._found.get(jaxpr)
        if found is None:
            found = self._found[jaxpr] = self._estimate(jaxpr, consumed)
        return found

    def _estimate(self, jaxpr: Jaxpr, consumed: Container[Var]) -> Estimate:
        inner = {eqn: self._inner(eqn) for eqn in jaxpr.eqns if eqn.primitive.multiple_results}
        necessary = _necessary_values(jaxpr)
        stored = necessary | _values_read_twice(jaxpr)
        sources: dict[Var, tuple[Var, ...]] = {}
        last_use: dict[Var, int] = {}
        made: list[list[Var]] = []
        kernels: set[tuple] = set()  # what tells them apart, their operands and results: the compiler writes equal ones once
        traffic = overhead = 0.0
        for i, eqn in enumerate(jaxpr.eqns):
            read = _sources(eqn, sources)
            own = [v for v in eqn.outvars if v in stored]
            made.append(own)
            for v in eqn.outvars:
                sources[v] = (v,) if v in stored else read
            if own:
                last_use.update(dict.fromkeys(read, i))
                traffic += _bytes_of((*read, *own))
                kernels.add((eqn.primitive, *[v.aval for v in (*read, *own)]))
                overhead += PER_REPETITION if is_cheap(eqn) or eqn.primitive in HEAVY else PER_REPEATED_REDUCTION
        work = sum([self._work(eqn) for eqn in jaxpr.eqns])
        time = work + traffic + sum([e.time for e in inner.values()])
        least_time = work + _least_traffic(jaxpr, necessary) + sum([e.least_time for e in inner.values()])
        different = {id(program): self.of(program).kernels for eqn in inner for program in subjaxprs(eqn)}
        peak = _peak(jaxpr, made, last_use, consumed, {eqn: e.peak for eqn, e in inner.items()})
        overhead += sum([e.overhead for e in inner.values()])
        return Estimate(peak, time, least_time, len(kernels) + sum(different.values()), overhead)

    def _work(self, eqn: JaxprEqn) -> float:
        """The time of an equation's own operations: without reading, writing, and the programs that it holds."""
        if is_cheap(eqn):
            return cost(eqn)
        return heavy_work(eqn) / self._heavy_operations_per_byte if eqn.primitive in HEAVY else 0

    def _inner(self, eqn: JaxprEqn) -> Estimate:
        """The cost of the programs that an equation holds; a loop of unknown length counts once."""
        found = [self.of(program) for program in subjaxprs(eqn)]
        times = eqn.params["length"] if eqn.primitive is scan_p else 1
        results = _bytes_of(eqn.outvars)
        return Estimate(max([0, *[e.peak - results for e in found]]), times * sum([e.time for e in found]),
                        times * sum([e.least_time for e in found]), sum([e.kernels for e in found]), sum([e.overhead for e in found]))


def _peak(jaxpr: Jaxpr, made: Sequence[Sequence[Var]], last_use: Mapping[Var, int], consumed: Container[Var],
          inner: Mapping[JaxprEqn, float]) -> float:
    """The most bytes that live at once.

    Args:
      jaxpr: the program.
      made: the values that each equation writes to memory.
      last_use: the last equation that reads each value in memory.
      consumed: the arguments that die with their last use.
      inner: what equations that hold programs need besides their results.
    """
    results = {v for v in jaxpr.outvars if type(v) is Var}
    all_made = {v for values in made for v in values}
    dying: list[list[Var]] = [[] for _ in jaxpr.eqns]
    for v, i in last_use.items():
        if v not in results and (v in all_made or v in consumed):
            dying[i].append(v)
    live = most = 0.0
    for i, eqn in enumerate(jaxpr.eqns):
        live += _bytes_of(made[i])
        most = max(most, live + inner.get(eqn, 0))
        live -= _bytes_of(dying[i])
    return most


def _is_fusing(eqn: JaxprEqn) -> bool:
    """Whether the equations that make an equation's operands can be fused with it."""
    return is_cheap(eqn) or eqn.primitive in REDUCTIONS


def _necessary_values(jaxpr: Jaxpr) -> set[Var]:
    """The results, and the values between equations that cannot be fused: in memory however a program is cut."""
    found = {v for v in jaxpr.outvars if type(v) is Var}
    for eqn in jaxpr.eqns:
        if not is_cheap(eqn):
            found.update(eqn.outvars)
            if not _is_fusing(eqn):
                found.update([v for v in eqn.invars if type(v) is Var])
    return found


def _values_read_twice(jaxpr: Jaxpr) -> set[Var]:
    """The values that several equations read and that cost too much to be made for each of them."""
    series = {eqn.outvars[0] for eqn in jaxpr.eqns if is_cheap(eqn) and is_series(eqn)}
    num_uses = Counter([v for eqn in jaxpr.eqns for v in set(eqn.invars) if v in series]) if series else {}
    return {v for v, count in num_uses.items() if count > 1}


def _least_traffic(jaxpr: Jaxpr, necessary: set[Var]) -> float:
    """The bytes that are read and written however a program is cut, if each of its equations runs.

    Equations that cannot be fused read each operand, and all others together read at least once what is in memory anyway.
    """
    fused_reads: set[Var] = set()
    made: set[Var] = set()
    total = 0
    for eqn in jaxpr.eqns:
        read = {v for v in eqn.invars if type(v) is Var}
        made.update(eqn.outvars)
        if _is_fusing(eqn):
            fused_reads |= read
        else:
            total += _bytes_of(read)
    return total + _bytes_of(necessary & made) + _bytes_of([v for v in fused_reads if v in necessary or v not in made])


def _bytes_of(values: Iterable[Var]) -> int:
    return sum([num_bytes(v.aval) for v in values])


def _sources(eqn: JaxprEqn, sources: dict[Var, tuple[Var, ...]]) -> tuple[Var, ...]:
    """The values in memory from which an equation's operands are made, each once."""
    read = [v for v in eqn.invars if type(v) is Var]
    if len(read) == 1:
        return sources.get(read[0], (read[0],))
    return tuple(dict.fromkeys([source for v in read for source in sources.get(v, (v,))]))
