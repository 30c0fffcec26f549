"""Values that cross the borders between the regions of a program: kept in memory, or computed again on the other side.

A derivative reads values that the program made long before, many of them cheap: the compiler of a whole program would fuse them with the
equations that read them. Cut in two, the program writes all of them out. This module chooses the values that cross, by a minimum cut over
the part of a region between its operands and the values that a later region reads: each value there is either kept, which costs its bytes,
written and read; or made again from other values, which costs an operation, if it is a cheap one. The cut takes the least sum. Prices are
those of `operation_costs`, so that no choice makes a program slower than keeping everything, as far as they are true.

Sources: Ford and Fulkerson's minimum cuts, as for choosing what to recompute in Chen et al., "Training Deep Nets with Sublinear
Memory Cost", 2016, and He and Yu, "Transcending Runtime-Memory Tradeoffs in Checkpointing by being Fusion Aware", MLSys 2023, section 3.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import Container, Iterable, Sequence

from laminax_ir.programs.jaxpr import Atom, ClosedJaxpr, Jaxpr, JaxprEqn, Var
from laminax_lowering.planning.equal_programs import ProgramTable
from laminax_lowering.planning.minimum_cut import UNLIMITED, Network
from laminax_lowering.planning.operation_costs import cost, is_cheap, is_series, num_bytes

PRICE_OF_A_BYTE = 3.0  # of a value that crosses: written, read, and kept in memory that cannot be used otherwise meanwhile
PRICE_OF_A_BYTE_WITHIN = 2.0  # of a value made again: written and read, where it is read twice and cannot be fused

Segment = list[JaxprEqn]


def choose_crossings(segments: Sequence[Segment], given: Iterable[Var], results: Iterable[Atom], programs: ProgramTable,
                     price_of_a_value: float = 0.0) -> list[Segment]:
    """The segments of a program. Some of them now compute values again that others have made.

    One choice is made for all segments that do the same, as far as they read the same, so that they stay equal. The few segments at the
    ends of a row that read other values stay as they are, or they would become programs of their own.

    Args:
      segments: the equations in order, in pieces.
      given: the program's constants and arguments, which are there all the time.
      results: the program's results, which stay when they are made.
      programs: knows equal programs.
      price_of_a_value: of each value that is kept, besides that of its bytes.
    """
    program = _Segments([list(segment) for segment in segments], frozenset(given), frozenset([v for v in results if type(v) is Var]),
                        price_of_a_value)
    for kind in _kinds(_all_crossings(program), programs):
        now = [_crossing(program, c.made_at, c.reader, set(c.read)) for c in kind]
        for crossings in [kind] if now == kind else _kinds(now, programs):  # the segments may have changed meanwhile
            again = _cheapest(program, crossings) if program.are_most_of_their_kind(crossings) else ()
            for crossing in crossings if again else ():
                program.compute_again(crossing, again)
    return program.live_segments()


class _Segments:
    """Segments while equations are moved between them, with the segment that makes each value and the segments that read it."""

    def __init__(self, segments: list[Segment], given: frozenset[Var], results: frozenset[Var], price_of_a_value: float) -> None:
        self.price_of_a_value = price_of_a_value
        self.segments = segments
        self.given = given
        self.results = results
        shapes = [tuple([eqn.primitive for eqn in segment]) for segment in segments]
        counts = Counter(shapes)
        self.num_alike = [counts[shape] for shape in shapes]  # as far as their operations tell
        self.maker: dict[Var, int] = {v: i for i, segment in enumerate(segments) for eqn in segment for v in eqn.outvars}
        self.readers: dict[Var, set[int]] = defaultdict(set)
        for i, segment in enumerate(segments):
            for v in self.reads(i):
                self.readers[v].add(i)

    def reads(self, i: int) -> list[Var]:
        """The variables that a segment reads and does not make, each once."""
        read = dict.fromkeys(v for eqn in self.segments[i] for v in eqn.invars if type(v) is Var)
        return [v for v in read if self.maker.get(v) != i]

    def is_kept_anyway(self, v: Var, reader: int) -> bool:
        """Whether a value is in memory when the segment `reader` runs, even if that segment does not read it."""
        return v in self.given or v in self.results or any(i > reader for i in self.readers[v])

    def are_most_of_their_kind(self, crossings: Sequence[_Crossing]) -> bool:
        """Whether the crossings change most of the segments that are alike: a change of only a few makes separate programs of them."""
        return all(2 * len(crossings) > max(self.num_alike[c.made_at], self.num_alike[c.reader]) for c in crossings)

    def needs_itself(self, made_at: int, reader: int, crossing: Container[Var]) -> set[JaxprEqn]:
        """The equations that a segment needs even if `reader` reads none of its cheap values."""
        live: set[Var] = set()
        found: set[JaxprEqn] = set()
        for eqn in reversed(self.segments[made_at]):
            if not is_cheap(eqn) or any(v in live or v in self.results or self.readers[v] - {reader} for v in eqn.outvars):
                found.add(eqn)
                live.update([v for v in eqn.invars if type(v) is Var])
        return found

    def compute_again(self, crossing: _Crossing, again: Sequence[int]) -> None:
        """Puts copies of the equations with these numbers in front of the segment that reads their results."""
        i = crossing.reader
        copies: dict[Var, Var] = {}
        front = []
        for eqn in [crossing.eqns[k] for k in again]:
            outvars = [Var(v.aval) for v in eqn.outvars]
            front.append(eqn.replace(invars=_renamed(eqn.invars, copies), outvars=outvars))
            copies.update(zip(eqn.outvars, outvars))
        for v in self.reads(i):
            self.readers[v].discard(i)
        self.segments[i] = [*front, *[eqn.replace(invars=_renamed(eqn.invars, copies))
                                      if any([type(v) is Var and v in copies for v in eqn.invars]) else eqn for eqn in self.segments[i]]]
        self.maker.update((v, i) for v in copies.values())
        for v in self.reads(i):
            self.readers[v].add(i)

    def live_segments(self) -> list[Segment]:
        """The segments without the equations whose results are not read any more."""
        live, kept = set(self.results), []
        for segment in reversed(self.segments):
            own = []
            for eqn in reversed(segment):
                if eqn.effects or not live.isdisjoint(eqn.outvars):
                    own.append(eqn)
                    live.update([v for v in eqn.invars if type(v) is Var])
            kept.append(own[::-1])
        return kept[::-1]


@dataclass(frozen=True)
class _Crossing:
    """Values, `read`, that a segment makes and a later one, `reader`, reads; `eqns` are the cheap equations that make them of `sources`."""
    made_at: int
    reader: int
    eqns: tuple[JaxprEqn, ...]
    sources: tuple[Var, ...]
    read: tuple[Var, ...]


def _all_crossings(program: _Segments) -> list[_Crossing]:
    """The crossings of a program; those read latest come first, since values kept for a late reader are there for earlier ones."""
    found = []
    for reader in reversed(range(len(program.segments))):
        by_maker: dict[int, set[Var]] = defaultdict(set)
        for v in program.reads(reader):
            if v in program.maker:
                by_maker[program.maker[v]].add(v)
        for made_at in sorted(by_maker, reverse=True):
            found += _independent(program, _crossing(program, made_at, reader, by_maker[made_at]))
    return found


def _independent(program: _Segments, crossing: _Crossing) -> list[_Crossing]:
    """A crossing as several that have no value in common: what is chosen for one says nothing about the others.

    The first block of a row reads what all others read too, such as a mask, and besides what others have from the block before.
    """
    group: dict[Var, int] = {}  # of values that belong together
    members: list[list[Var]] = []
    for eqn in crossing.eqns:
        own = [v for v in (*_variables(eqn.invars), *eqn.outvars) if v not in program.given]
        joined = sorted({group[v] for v in own if v in group})
        target = joined[0] if joined else len(members)
        if not joined:
            members.append([])
        members[target] += [v for v in own if v not in group]
        for other in joined[1:]:
            members[target] += members[other]
            members[other] = []
        group.update(dict.fromkeys(members[target], target))
    read_by: dict[int, set[Var]] = defaultdict(set)
    for v in crossing.read:
        read_by[group[v]].add(v)
    if len(read_by) < 2:
        return [crossing]
    return [_crossing(program, crossing.made_at, crossing.reader, read) for read in read_by.values()]


def _kinds(crossings: Iterable[_Crossing], programs: ProgramTable) -> list[list[_Crossing]]:
    """The crossings, those that do the same together."""
    found: dict[ClosedJaxpr, list[_Crossing]] = {}
    for crossing in crossings:
        if crossing.eqns:
            does = ClosedJaxpr(Jaxpr([], crossing.sources, crossing.read, crossing.eqns))
            found.setdefault(programs.representative(does), []).append(crossing)
    return list(found.values())


def _crossing(program: _Segments, made_at: int, reader: int, read: set[Var]) -> _Crossing:
    """The crossing from a segment to `reader`, with the cheap equations between values that cannot be computed again and `read`."""
    wanted, eqns = set(read), []
    for eqn in reversed(program.segments[made_at]):
        if is_cheap(eqn) and not wanted.isdisjoint(eqn.outvars):
            eqns.append(eqn)
            wanted.update([v for v in eqn.invars if type(v) is Var])
    eqns.reverse()
    made = {v for eqn in eqns for v in eqn.outvars}
    used = dict.fromkeys([v for eqn in eqns for v in eqn.invars if type(v) is Var])
    return _Crossing(made_at, reader, tuple(eqns), tuple([v for v in used if v not in made]),
                     tuple([v for eqn in eqns for v in eqn.outvars if v in read]))


def _cheapest(program: _Segments, crossings: Sequence[_Crossing]) -> list[int]:
    """The equations to compute again, by number, for crossings of one kind: a minimum cut.

    On the source's side is what the first segment leaves behind, on the sink's what the second one has. A value is a node; an
    equation is one, on the sink's side if it is computed again. An edge is cut where a value is kept, from its equation, or the
    source, to the value; and where an equation is computed again, from the source to the equation, unless only the reader needs
    its result: then it moves there, for nothing.
    """
    network, first = Network(), crossings[0]
    own = [program.needs_itself(c.made_at, c.reader, c.read) for c in crossings]
    readers = Counter(v for eqn in (*first.eqns, *program.segments[first.reader]) for v in _variables(eqn.invars))
    value = {v: network.add_node() for v in first.sources}
    for k, v in enumerate(first.sources):
        others = [(c, c.sources[k]) for c in crossings if c.reader not in program.readers[c.sources[k]]]
        network.add_edge(network.source, value[v], _price(program, others))
    nodes = []
    for k, eqn in enumerate(first.eqns):
        node = network.add_node()
        nodes.append(node)
        times = sum(c.eqns[k] in needed for c, needed in zip(crossings, own))
        within = PRICE_OF_A_BYTE_WITHIN * num_bytes(eqn.outvars[0].aval) if is_series(eqn) and readers[eqn.outvars[0]] > 1 else 0
        network.add_edge(network.source, node, times * cost(eqn) + len(crossings) * within)
        for v in _variables(eqn.invars):
            network.add_edge(value[v], node, UNLIMITED)
        for j, v in enumerate(eqn.outvars):
            value[v] = network.add_node()
            network.add_edge(node, value[v], _price(program, [(c, c.eqns[k].outvars[j]) for c in crossings]))
    for v in first.read:
        network.add_edge(value[v], network.sink, UNLIMITED)
    on_other_side = network.sink_side()
    return [k for k, node in enumerate(nodes) if node in on_other_side]


def _price(program: _Segments, values: Sequence[tuple[_Crossing, Var]]) -> float:
    """The cost of keeping values for readers in other segments."""
    sizes = [num_bytes(v.aval) for crossing, v in values if not program.is_kept_anyway(v, crossing.reader)]
    return PRICE_OF_A_BYTE * sum(sizes) + program.price_of_a_value * len(sizes)


def _variables(atoms: Iterable[Atom]) -> list[Var]:
    return list(dict.fromkeys([v for v in atoms if type(v) is Var]))


def _renamed(atoms: Sequence[Atom], names: dict[Var, Var]) -> list[Atom]:
    return [names.get(v, v) if type(v) is Var else v for v in atoms]
