"""References to arrays, which can be read and written."""

from laminax_ir.ops.state import AbstractRef, Ref, addupdate, empty_ref, free_ref, freeze, get, new_ref, set, swap

from laminax._src import setup  # noqa: F401

__all__ = ["AbstractRef", "Ref", "addupdate", "empty_ref", "free_ref", "freeze", "get", "new_ref", "set", "swap"]
