"""Programs of IFRT's own kinds, which are not supported and say so. Libraries, orbax among them, import the module."""

from laminax._src.names.refused import names_of_module

__all__ = ["ifrt_programs"]

__getattr__ = names_of_module("extend.ifrt_programs", "programs are compiled by XLA alone. Use jit(f).lower(...).compile().")
