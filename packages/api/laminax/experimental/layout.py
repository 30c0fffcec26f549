"""How the elements of an array lie in memory: the types with which libraries name it. Programs use the platform's default only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from laminax._src.refused import with_layout_constraint

__all__ = ["Format", "Layout", "with_layout_constraint"]


@dataclass(frozen=True)
class Layout:
    """The order of an array's axes in memory.

    Args:
      major_to_minor: the axes, from the one whose elements are furthest apart.
      tiling: must be None.
    """

    major_to_minor: tuple[int, ...]
    tiling: None = None

    def __post_init__(self):
        if self.tiling is not None:
            raise NotImplementedError(f"Layout: tiling is not supported, got {self.tiling!r}")


@dataclass(frozen=True)
class Format:
    """A layout with a sharding; either may be None. `jit` and `device_put` do not take it yet, and say so.

    Args:
      layout: a `Layout`.
      sharding: how the array is split over devices.
    """

    layout: Layout | None = None
    sharding: Any = None
