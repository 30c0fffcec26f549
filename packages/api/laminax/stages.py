"""The stages of a jitted function ahead of time: `jit(f).trace(x)`, `.lower()`, `.compile()`."""

from __future__ import annotations

from laminax._src.stages import Compiled, Lowered, Traced

__all__ = ["Compiled", "Lowered", "Traced"]
