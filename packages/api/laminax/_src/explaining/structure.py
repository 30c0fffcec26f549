"""The structure of a program: blocks within blocks, by scopes, calls, loops and branches."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Sequence

from laminax_ir.ops.control_primitives import cond_p, scan_p, while_p
from laminax_ir.programs.jaxpr import Jaxpr, JaxprEqn
from laminax_ir.tracing.name_stacks import TRANSPOSE, scope_path
from laminax_lowering.costs.equation_counts import count_of, counted_programs, repetitions

from laminax._src.explaining.compiled_costs import Collective
from laminax._src.explaining.program_costs import ProgramCosts, program_costs
from laminax._src.inspecting.places import Place, place_of


@dataclass
class Block:
    """A part of a program.

    Attributes:
      kind: "program", "call", "loop", "branch", "scope", "devices" (each device runs it on its part) or "operations".
      name: the function's, the scope's, or what operations there are.
      times: how often it runs in one run of what it is in; of a loop of unknown length, 1.
      flops: the operations on numbers of one run.
      operations: how many of each operation it has itself.
      places: the user's lines of them.
      shardings: how values in it are split, as far as the program says so.
      collectives: the communication that the compiler has put there.
      blocks: the blocks in it, in order.
      is_backward: whether it is a part of a transposed program, as derivatives are.
    """

    kind: str
    name: str
    times: int = 1
    flops: float = 0
    operations: Counter[str] = field(default_factory=Counter)
    places: list[Place] = field(default_factory=list)
    shardings: list[str] = field(default_factory=list)
    collectives: list[Collective] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)
    is_backward: bool = False

    @cached_property
    def signature(self) -> tuple[Any, ...]:
        """Equal for blocks that look the same."""
        return (self.kind, self.name, self.times, self.flops, self.is_backward, tuple(sorted(self.operations.items())),
                tuple(self.shardings), tuple((c.kind, c.moved) for c in self.collectives), tuple(self.places),
                tuple(block.signature for block in self.blocks))


def structure(name: str, jaxpr: Jaxpr, collectives: Sequence[Collective], shardings: Sequence[str],
              costs: dict[Jaxpr, ProgramCosts]) -> Block:
    """The blocks of a program.

    Args:
      name: the function's name.
      jaxpr: the program.
      collectives: what devices send each other in the compiled program.
      shardings: how arguments and results are split.
      costs: the counts of the programs in it, as far as they are known.
    """
    builder = _Builder(list(collectives), costs)
    root = Block("program", name, shardings=list(dict.fromkeys(shardings)))
    builder.fill(root, jaxpr, ())
    root.flops = program_costs(jaxpr, costs).total.flops
    root.collectives = builder.collectives  # what belongs to no operation
    return root


class _Builder:
    def __init__(self, collectives: list[Collective], costs: dict[Jaxpr, ProgramCosts]) -> None:
        self.collectives = collectives
        self.costs = costs

    def fill(self, block: Block, jaxpr: Jaxpr, scopes: tuple[str, ...]) -> None:
        """Puts the blocks of a program into one; `scopes` are the names of the scopes it is in."""
        stack: list[tuple[str, Block]] = []  # the scopes that are open
        for eqn in jaxpr.eqns:
            path = tuple(part for part in eqn.source_info.name_stack if type(part) is str)
            path = path[len(scopes):] if path[:len(scopes)] == scopes else path
            is_backward = TRANSPOSE in eqn.source_info.name_stack
            same = 0
            while same < len(stack) and same < len(path) and stack[same][0] == path[same] and stack[same][1].is_backward == is_backward:
                same += 1
            del stack[same:]
            for name in path[same:]:
                scope = Block("scope", name, is_backward=is_backward)
                (stack[-1][1] if stack else block).blocks.append(scope)
                stack.append((name, scope))
            flops = self._add(stack[-1][1] if stack else block, eqn, (*scopes, *path), is_backward)
            for _, scope in stack:
                scope.flops += flops

    def _add(self, into: Block, eqn: JaxprEqn, scopes: tuple[str, ...], is_backward: bool) -> float:
        """Adds an equation to a block; returns the operations on numbers that it does."""
        programs, place = counted_programs(eqn), place_of(eqn)
        if programs:
            made = Block(_kind(eqn), _name(eqn), repetitions(eqn), is_backward=is_backward)
            made.places += [place] if place is not None else []
            if eqn.primitive is cond_p:
                for i, program in enumerate(programs):
                    branch = Block("branch", f"branch {i}", is_backward=is_backward)
                    self.fill(branch, program, scopes)
                    branch.flops = program_costs(program, self.costs).total.flops
                    made.blocks.append(branch)
                made.flops = max(branch.flops for branch in made.blocks)
            else:
                for program in programs:
                    self.fill(made, program, scopes)
                made.flops = sum(program_costs(program, self.costs).total.flops for program in programs)
            into.blocks.append(made)
            self._note(made, eqn)
            return made.times * made.flops
        last = into.blocks[-1] if into.blocks else None
        if last is None or last.kind != "operations" or last.is_backward != is_backward:
            last = Block("operations", "", is_backward=is_backward)
            into.blocks.append(last)
        last.operations[eqn.primitive.name] += 1
        flops = count_of(eqn).flops
        last.flops += flops
        if place is not None and place not in last.places:
            last.places.append(place)
        self._note(last, eqn)
        return flops

    def _note(self, block: Block, eqn: JaxprEqn) -> None:
        """Notes the shardings that an equation names, and the communication that it has become."""
        for text in _shardings(eqn):
            if text not in block.shardings:
                block.shardings.append(text)
        if self.collectives:
            name, place = scope_path("", eqn.source_info.name_stack, eqn.primitive.name), place_of(eqn)
            own = [c for c in self.collectives if c.place == place and c.operation.endswith(name)]
            block.collectives += own
            self.collectives = [c for c in self.collectives if c not in own]


def _kind(eqn: JaxprEqn) -> str:
    if eqn.primitive in (scan_p, while_p):
        return "loop"
    return "branch" if eqn.primitive is cond_p else "devices" if repetitions(eqn) > 1 else "call"


def _name(eqn: JaxprEqn) -> str:
    name = eqn.params.get("name")
    return f"{eqn.primitive.name} {name}" if isinstance(name, str) and name else eqn.primitive.name


def _shardings(eqn: JaxprEqn) -> list[str]:
    """How an equation's values are split, as the program says it: a partition spec as text."""
    found = [spec_text(getattr(eqn.params.get(key), "spec", None)) for key in ("sharding", "dst_sharding")]
    found += [spec_text(getattr(getattr(v.aval, "_split", None), "spec", None)) for v in eqn.outvars]
    found += [spec_text(spec) for spec in eqn.params.get("in_specs", ())]
    return [text for text in found if text]


def spec_text(spec: Any) -> str:
    """A partition spec in words of its mesh: `('data', None)`; empty where nothing is split."""
    entries = tuple(spec) if spec is not None else ()
    return str(entries).replace(",)", ")") if any(entry is not None for entry in entries) else ""


_LONGEST_PATTERN = 6


def repeated(blocks: Sequence[Block]) -> list[tuple[int, list[Block]]]:
    """Blocks with those that repeat folded: pairs of a count and the blocks that come so often in turn."""
    found: list[tuple[int, list[Block]]] = []
    at = 0
    while at < len(blocks):
        best = (1, 1)
        for length in range(1, min(_LONGEST_PATTERN, (len(blocks) - at) // 2) + 1):
            pattern = [block.signature for block in blocks[at:at + length]]
            count = 1
            while [b.signature for b in blocks[at + count * length:at + (count + 1) * length]] == pattern:
                count += 1
            if count > 1 and count * length > best[0] * best[1]:
                best = (count, length)
        count, length = best
        found.append((count, list(blocks[at:at + length])))
        at += count * length
    return found
