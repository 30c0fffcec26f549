"""Updates: cheap equations behind the blocks of a program, put into the blocks whose results they read.

A program that trains ends with the update of all its parameters, of which each reads the gradient that one block gives. Left in a region of
its own, it makes every gradient a value that is written, kept until the end and read; and it makes one large program of as many equal
kernels as there are parameters. In the blocks the updates are part of programs that are compiled once. What the updates share, such as
the size of a step, is made of a few numbers, before the first block. Blocks that are alike stay so: one that would get other equations than
most of its kind gets none.
"""

from __future__ import annotations

from collections import Counter
from typing import Collection, NamedTuple, Sequence

from laminax_ir.programs.jaxpr import JaxprEqn, Var, subjaxprs
from laminax_lowering.planning.operation_costs import is_cheap, num_bytes

MAX_SHARED_BYTES = 64  # of what equations read and make that are computed before the first block


class Piece(NamedTuple):
    """Equations, and whether they are a block: one of several that are alike."""
    eqns: list[JaxprEqn]
    is_block: bool


def with_updates_in_blocks(pieces: Sequence[Piece]) -> list[list[JaxprEqn]]:
    """The equations of a program with the updates moved: a piece that comes first, which may be empty, and then the pieces.

    Args:
      pieces: the equations of the program in order.
    """
    kinds = [tuple([eqn.primitive for eqn in eqns]) for eqns, _ in pieces]
    open_to = {i for i, piece in enumerate(pieces) if piece.is_block}
    while True:
        moved = _moved(pieces, open_to)
        added = {i: tuple([_signature(eqn) for eqn in moved[i + 1][len(pieces[i].eqns):]]) for i in open_to}
        usual: dict[tuple, Counter[tuple]] = {}
        for i, signature in added.items():
            usual.setdefault(kinds[i], Counter())[signature] += 1
        unlike = {i for i, signature in added.items() if signature and signature != usual[kinds[i]].most_common(1)[0][0]}
        if not unlike:
            return moved if pieces[0].is_block else [[], [*moved[0], *moved[1]], *moved[2:]]
        open_to -= unlike


def _moved(pieces: Sequence[Piece], open_to: Collection[int]) -> list[list[JaxprEqn]]:
    """The equations after the moves, where only some blocks take any; blocks keep their own ones in front."""
    moved: list[list[JaxprEqn]] = [[] for _ in range(len(pieces) + 1)]
    maker: dict[Var, int] = {}
    late: set[Var] = set()  # what is made behind the front
    for i, (eqns, is_block) in enumerate(pieces):
        for eqn in eqns:
            place = i if is_block else _place(eqn, i, open_to, maker, late)
            moved[place + 1].append(eqn)
            maker.update(dict.fromkeys(eqn.outvars, place))
            if place >= 0:
                late.update(eqn.outvars)
    return moved


def _place(eqn: JaxprEqn, i: int, open_to: Collection[int], maker: dict[Var, int], late: set[Var]) -> int:
    """Where an equation of piece `i` goes: to -1, the front, if it is about a few numbers; to the block that it updates; or it stays."""
    read = [v for v in eqn.invars if type(v) is Var]
    if eqn.effects:
        return i
    if late.isdisjoint(read) and _bytes(read) <= MAX_SHARED_BYTES and _bytes(eqn.outvars) <= MAX_SHARED_BYTES and not subjaxprs(eqn):
        return -1
    last = max([maker.get(v, -1) for v in read], default=-1)
    if last in open_to and is_cheap(eqn) and _bytes(eqn.outvars) <= max(num_bytes(v.aval) for v in read if maker.get(v) == last):
        return last
    return i


def _signature(eqn: JaxprEqn) -> tuple:
    return eqn.primitive, *[v.aval for v in eqn.outvars]


def _bytes(values: Sequence[Var]) -> int:
    return sum([num_bytes(v.aval) for v in values])
