"""The collectives of compiled HLO: what each moves, read from its text."""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass

_KINDS = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all", "collective-permute")
_OPERATION = re.compile(rf"= (?P<type>\(.*?\)|\S+) (?P<kind>{'|'.join(_KINDS)})(?P<start>-start)?\((?P<rest>.*)")
_COMPUTATION = re.compile(r"^(ENTRY )?%?(?P<name>[\w.-]+) \(")
_ARRAY = re.compile(r"\b(pred|[suf]\d+|bf16|c64|c128)\[([\d,]*)\]")
_BYTES = {"pred": 1, "bf16": 2, "c64": 8, "c128": 16}


@dataclass(frozen=True)
class Collective:
    """One collective: its kind, the bytes that each device puts in or gets out, whichever is more, and how many devices take part."""

    kind: str
    bytes: int
    group_size: int


def collectives(hlo: str) -> list[Collective]:
    """The collectives of the text. A loop's body counts once.

    What TPUs start and go on with in several fusions counts once: these have the number of one channel. A fusion in which an
    all-reduce is cut up is a reduce-scatter.
    """
    found: dict[object, Collective] = {}
    computation = ""
    for number, line in enumerate(hlo.splitlines()):
        if (start := _COMPUTATION.match(line)) is not None:
            computation = start["name"]
        if (match := _OPERATION.search(line)) is None:
            continue
        sizes = [_size(*array) for array in _ARRAY.findall(match["type"])]
        is_cut = computation.startswith("all-reduce-scatter")
        kind = "reduce-scatter" if is_cut else match["kind"]
        group = _group_size(match["rest"])
        # What starts an asynchronous collective also returns its operands; a reduce-scatter returns a part of them.
        total = max(sizes) if match["start"] and kind != "all-reduce" else sum(sizes)
        channel = re.search(r"channel_id=(\d+)", match["rest"])
        found.setdefault((kind, channel[1] if channel else number, total if channel is None else None),
                         Collective(kind, total * (group if kind == "reduce-scatter" and not is_cut else 1), group))
    return list(found.values())


def bytes_by_kind(hlo: str) -> Counter[str]:
    total: Counter[str] = Counter()
    for collective in collectives(hlo):
        total[collective.kind] += collective.bytes
    return total


def _size(dtype: str, dimensions: str) -> int:
    result = _BYTES.get(dtype) or int(dtype[1:]) // 8
    for size in filter(None, dimensions.split(",")):
        result *= int(size)
    return result


def _group_size(rest: str) -> int:
    """How many devices each group has, in the three ways in which XLA prints groups; 0 where none are named."""
    if match := re.search(r"replica_groups=\[(\d+),(\d+)\]", rest):  # how many groups, and the size of each
        return int(match[2])
    if match := re.search(r"replica_groups=\{\{([\d,]*)\}", rest):  # listed
        return len(match[1].split(","))
    if match := re.search(r"replica_groups=mesh\[([^\]]*)\] \{([^}]*)\}", rest):  # axes of a mesh
        sizes = dict(item.split("=") for item in match[1].split(","))
        return math.prod(int(sizes[name.strip()]) for name in match[2].split(","))
    return 0
