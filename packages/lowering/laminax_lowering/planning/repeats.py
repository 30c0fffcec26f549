"""Repeated runs of equations: the blocks of a program whose layers are a plain Python loop, and of its derivative.

A run is found by its heavy operations (products and convolutions), of which there are few: a stretch of them that comes
again and again at the same distance, with the same types. It is then widened to the equations around, as far as they repeat
too, and cut where the fewest bytes go from one block to the next. Equations that differ in parameters or literals, such as the number of a
layer from which its random key is made, are moved before the run if they can be (`cut_run`). The caller compares whether the blocks are
really equal, down to which value goes where, when it makes programs of them.
"""

from __future__ import annotations

import math
from itertools import groupby
from typing import Any, Callable, NamedTuple, Sequence

from laminax_ir.programs.jaxpr import JaxprEqn, Literal, Var
from laminax_lowering.planning.operation_costs import HEAVY, heavy_work, num_bytes

MAX_HEAVY_PER_BLOCK = 128  # bounds the search
MAX_BYTES_BEFORE = 1 << 24  # of values that are computed before a run, for all of its blocks


class Run(NamedTuple):
    """`count` blocks of `length` equations each, from equation `start` on."""
    start: int
    length: int
    count: int  # type: ignore[assignment]  # the tuple's own method of this name is not used


class _Layers(NamedTuple):
    """`count` stretches of `length` equations each, from equation `start` on; a block needs at least so many `together`."""
    start: int
    length: int
    count: int  # type: ignore[assignment]  # as above
    together: int


class _Program(NamedTuple):
    """The equations of a program, and the kind of each."""
    eqns: Sequence[JaxprEqn]
    kinds: list[int]


def find_runs(eqns: Sequence[JaxprEqn], min_count: int, min_length: int, min_work: int, usual_work: int = 0) -> list[Run]:
    """The repeated runs of equations, in order; they do not overlap.

    Args:
      eqns: the equations.
      min_count: the least number of blocks of a run.
      min_length: the least number of equations of a block.
      min_work: the least number of operations on numbers in a block's heavy operations.
      usual_work: of how many operations blocks are where there are enough layers for that; or `min_work`, if that is more.
    """
    heavy = [i for i, eqn in enumerate(eqns) if eqn.primitive in HEAVY]
    if len(heavy) < min_count or sum(heavy_work(eqns[i]) for i in heavy) < min_count * min_work:
        return []
    numbers: dict[tuple, int] = {}
    kinds = [numbers.setdefault(_kind(eqn), len(numbers)) for eqn in eqns]
    runs: list[_Layers] = []
    _search(_Program(eqns, kinds), heavy, 0, len(eqns), (min_count, min_length, min_work, usual_work), runs)
    return _grouped(sorted(runs), min_count)


def _grouped(runs: Sequence[_Layers], min_count: int) -> list[Run]:
    """The layers of each run in blocks. Runs with as many layers, such as a run and its derivative, get blocks of as many.

    Layers that are left over are the first ones of the earlier run, and the last ones of the later run, which is the derivative and has its
    layers in reverse. So the derivative of a block has the same layers as the block.
    """
    grouped = []
    for number, (start, length, count, _) in enumerate(runs):
        together = max([run.together for run in runs if abs(run.count - count) <= 1 and count // run.together >= min_count])
        together = next((n for n in range(together, 2 * together) if count % n == 0 and count // n >= min_count), together)
        left_over = count % together if 2 * number < len(runs) - 1 else 0
        grouped.append(Run(start + left_over * length, length * together, count // together))
    return grouped


def cut_run(eqns: Sequence[JaxprEqn], run: Run, describe: Callable[[JaxprEqn], Any]) -> tuple[list[JaxprEqn], list[list[JaxprEqn]]] | None:
    """The equations to be moved before a run, and its blocks without these; None if equations that differ cannot be moved.

    Args:
      eqns: the equations.
      run: a run of them.
      describe: a function whose result is equal for equations of the same parameters and literals.
    """
    length, own = run.length, eqns[run.start:run.start + run.length * run.count]
    odd = {i for i in range(length) if len({describe(eqn) for eqn in own[i::length]}) > 1}
    early = _depending_on_nothing_within(own) if odd else set()
    made = {v: i for i, eqn in enumerate(own) for v in eqn.outvars}
    todo = list(odd)
    while todo:  # with each equation go its counterparts, and what they read
        for i in range(todo.pop(), len(own), length):
            if i not in early:
                return None
            found = {made[v] % length for v in own[i].invars if type(v) is Var and v in made} - odd
            odd |= found
            todo += found
    before = [eqn for i, eqn in enumerate(own) if i % length in odd]
    if sum(num_bytes(v.aval) for eqn in before for v in eqn.outvars) > MAX_BYTES_BEFORE:
        return None
    blocks = [own[i:i + length] for i in range(0, len(own), length)]
    return before, [[eqn for i, eqn in enumerate(block) if i not in odd] for block in blocks]


def _depending_on_nothing_within(eqns: Sequence[JaxprEqn]) -> set[int]:
    """The equations, by number, that could be computed before all others; none with effects, which stay in their order."""
    late: set[Var] = set()
    found = set()
    for i, eqn in enumerate(eqns):
        if eqn.effects or eqn.primitive in HEAVY or not late.isdisjoint([v for v in eqn.invars if type(v) is Var]):
            late.update(eqn.outvars)
        else:
            found.add(i)
    return found


def _search(program: _Program, heavy: list[int], first: int, last: int, least: tuple[int, int, int, int],
            runs: list[_Layers]) -> None:
    """Adds the runs among the equations from `first` to before `last`: the longest one, then those before and behind it."""
    if len(heavy) < least[0]:
        return
    run = _longest_run(program, heavy, first, last, *least)
    if run is None:
        return
    runs.append(run)
    end = run.start + run.length * run.count
    _search(program, [i for i in heavy if i < run.start], first, run.start, least, runs)
    _search(program, [i for i in heavy if i >= end], end, last, least, runs)


def _longest_run(program: _Program, heavy: list[int], first: int, last: int, min_count: int, min_length: int, min_work: int,
                 usual_work: int) -> _Layers | None:
    kinds = [program.kinds[i] for i in heavy]
    best, most = None, 0
    for period in range(1, min(len(heavy) // min_count, MAX_HEAVY_PER_BLOCK) + 1):
        for begin, end in _stretches(heavy, kinds, period):
            if end - begin <= most or (end - begin) // period < min_count:
                continue
            run = _as_run(program, heavy[begin:end], period, first, last, min_count, min_length, min_work, usual_work)
            if run is not None:
                best, most = run, end - begin
    return best


def _stretches(heavy: list[int], kinds: list[int], period: int) -> list[tuple[int, int]]:
    """The stretches in which each heavy operation is of the same kind as the one `period` places later, always at the same distance."""
    distances = [j - i if kind == other else 0 for i, j, kind, other in zip(heavy, heavy[period:], kinds, kinds[period:])]
    found, begin = [], 0
    for distance, alike in groupby(distances):
        end = begin + len([*alike])
        if distance:
            found.append((begin, end + period))
        begin = end
    return found


def _as_run(program: _Program, heavy: list[int], period: int, first: int, last: int, min_count: int, min_length: int,
            min_work: int, usual_work: int) -> _Layers | None:
    """The run around a stretch of heavy operations; None if its blocks are too few or too small."""
    eqns, kinds = program
    length = heavy[period] - heavy[0]
    start, end = heavy[0], heavy[0] + length
    while end < last and kinds[end] == kinds[end - length]:
        end += 1
    while start > first and kinds[start - 1] == kinds[start - 1 + length]:
        start -= 1
    per_block = sum(heavy_work(eqns[i]) for i in heavy[:period])
    together = max(math.ceil(min_work / per_block), math.ceil(min_length / length))  # small blocks are taken several at a time
    start += _cheapest_cut(eqns, start, end, length)
    count = (end - start) // length
    together = max(together, min(math.ceil(usual_work / per_block), count // min_count))
    return _Layers(start, length, count, together) if count // together >= min_count else None


def _cheapest_cut(eqns: Sequence[JaxprEqn], start: int, end: int, length: int) -> int:
    """How many equations to leave out at the start of a run, so that the fewest bytes go from each block to the next.

    A value that is kept for later than the next block does not count: it crosses any cut.
    """
    middle = start + (end - start) // length // 2 * length
    uses: dict[Var, int] = {}  # the last one that is not further away than a block is long
    made: dict[Var, int] = {}
    for i in range(middle, min(middle + 2 * length, end)):
        for v in eqns[i].invars:
            if type(v) is Var and v in made and i - made[v] <= length:
                uses[v] = i
        if i < middle + length:
            made.update((v, i) for v in eqns[i].outvars)
    costs = [0] * length
    for v, use in uses.items():
        for cut in range(made[v] + 1, use + 1):
            costs[(cut - middle) % length] += num_bytes(v.aval)
    return costs.index(min(costs))


def _kind(eqn: JaxprEqn) -> tuple:
    """Equal for equations that may correspond to each other."""
    return (eqn.primitive, *[v.aval for v in eqn.outvars], *[(type(v) is Literal, v.aval) for v in eqn.invars])
