"""`pjit`: `jit` with the mesh that is entered with `with mesh:`. New programs use `jit` and `set_mesh`."""

from __future__ import annotations

from laminax._src.compiling.jit import pjit

__all__ = ["pjit"]
