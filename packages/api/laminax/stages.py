"""The stages of a jitted function ahead of time: `jit(f).trace(x)`, `.lower()`, `.compile()`."""

from __future__ import annotations

from laminax._src.compiling.stages import ArgInfo, Compiled, CompilerOptions, Lowered, Traced, Wrapped

__all__ = ["ArgInfo", "Compiled", "CompilerOptions", "Lowered", "Traced", "Wrapped"]
