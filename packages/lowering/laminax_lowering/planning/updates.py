"""Updates: cheap equations behind the blocks of a program, put into the blocks whose results they read.

A program that trains ends with the update of all its parameters; the update of each reads the gradient that one block gives. In a region of
its own, it would have every gradient written, kept until the end and read again, and be one large program with as many equal kernels
as there are parameters. In the blocks the updates are part of programs that are compiled once. What the updates share, such as
the size of a step, is made of a few numbers, before the first block. Blocks that are alike stay so: one that would get other equations than
most of its kind gets none.
"""

from __future__ import annotations

from collections import Counter
from typing import Collection, NamedTuple, Sequence

from laminax_ir.programs.jaxpr import JaxprEqn, Var
from laminax_lowering.planning.operation_costs import is_cheap, num_bytes

MAX_SHARED_BYTES = 64  # the most that an equation may read and make, to be computed before the first block


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
    places = _Places(open_to, [[] for _ in range(len(pieces) + 1)])
    for i, (eqns, is_block) in enumerate(pieces):
        for eqn in eqns:
            if is_block:
                places.put(eqn, i)
            elif i == len(pieces) - 1 and places.can_wait(eqn):
                places.waiting.update(dict.fromkeys(eqn.outvars, eqn))
            else:
                places.put(eqn, places.find(eqn, i))
    for eqn in dict.fromkeys(places.waiting.values()):
        places.put(eqn, len(pieces) - 1)
    return places.eqns


class _Places:
    """Where equations go while the pieces of a program are walked through: the piece -1 is the front.

    open_to: the blocks that take updates.
    eqns: of each piece, the front's first.
    waiting: equations behind the blocks of arguments alone, such as the decay of a weight, by their results: they go with their reader.
    """

    def __init__(self, open_to: Collection[int], eqns: list[list[JaxprEqn]]) -> None:
        self.open_to = open_to
        self.eqns = eqns
        self.maker: dict[Var, int] = {}
        self.waiting: dict[Var, JaxprEqn] = {}

    def put(self, eqn: JaxprEqn, place: int) -> None:
        """Puts an equation into a piece, after what it reads of the waiting ones."""
        for v in eqn.outvars:
            self.waiting.pop(v, None)
        for v in _read(eqn):
            if v in self.waiting:
                self.put(self.waiting[v], place)
        self.eqns[place + 1].append(eqn)
        self.maker.update(dict.fromkeys(eqn.outvars, place))

    def can_wait(self, eqn: JaxprEqn) -> bool:
        """Whether an equation is cheap, of arguments and the front alone, and of more than a few numbers."""
        return (is_cheap(eqn) and not self._belongs_in_front(eqn)
                and all(v in self.waiting or self.maker.get(v, -1) < 0 for v in _read(eqn)))

    def find(self, eqn: JaxprEqn, i: int) -> int:
        """The piece that an equation of piece `i` moves to: the front (-1) if its values are small, the block that it updates, or `i`."""
        if self._belongs_in_front(eqn):
            return -1
        read = _read(eqn)
        last = max([self.maker.get(v, -1) for v in read], default=-1)
        if last not in self.open_to or not is_cheap(eqn):
            return i
        return last if _bytes(eqn.outvars) <= max(num_bytes(v.aval) for v in read if self.maker.get(v) == last) else i

    def _belongs_in_front(self, eqn: JaxprEqn) -> bool:
        read = _read(eqn)
        return (not eqn.effects and all(v not in self.waiting and self.maker.get(v, -1) < 0 for v in read)
                and _bytes(read) <= MAX_SHARED_BYTES and _bytes(eqn.outvars) <= MAX_SHARED_BYTES)


def _read(eqn: JaxprEqn) -> list[Var]:
    return [v for v in eqn.invars if type(v) is Var]


def _signature(eqn: JaxprEqn) -> tuple:
    return eqn.primitive, *[v.aval for v in eqn.outvars]


def _bytes(values: Sequence[Var]) -> int:
    return sum([num_bytes(v.aval) for v in values])
