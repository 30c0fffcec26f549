"""Helpers of the rules of control flow, for lists of values and the flags that mark some of them."""

from __future__ import annotations

from typing import Any, Sequence

from laminax_ir.types.avals import get_aval
from laminax_transforms.base.zeros import ZERO, instantiate
from laminax_transforms.differentiation.dependence import Flags


def nonzero_flags(tangents: Sequence[Any]) -> Flags:
    """Which of the tangents are not the symbolic zero."""
    return tuple(t is not ZERO for t in tangents)


def present(values: Sequence[Any], flags: Sequence[bool]) -> list[Any]:
    """The values at the marked places."""
    return [x for x, has in zip(values, flags) if has]


def absent(values: Sequence[Any], flags: Sequence[bool]) -> list[Any]:
    """The values at the places that are not marked."""
    return [x for x, has in zip(values, flags) if not has]


def in_groups(values: Sequence[Any], *sizes: int) -> list[list[Any]]:
    """The values in consecutive groups of the given sizes, and the rest."""
    groups, start = [], 0
    for size in sizes:
        groups.append(list(values[start:start + size]))
        start += size
    return [*groups, list(values[start:])]


def full_tangents(tangents: Sequence[Any], primals: Sequence[Any], flags: Sequence[bool]) -> list[Any]:
    """The tangents at the marked places, as arrays."""
    return [instantiate(t, get_aval(x)) if t is ZERO else t for t, x, has in zip(tangents, primals, flags) if has]


def front_axes(flags: Sequence[bool]) -> tuple[int | None, ...]:
    """The batch axes of values: in front for the marked values, None for the others."""
    return tuple(0 if has else None for has in flags)
