"""References to arrays, which can be read and written."""

from laminax_ir.ops.state import AbstractRef, Ref, addupdate, empty_ref, free_ref, freeze, get, new_ref, set, swap

import laminax._src  # noqa: F401  (puts the layers together)

__all__ = ["AbstractRef", "Ref", "addupdate", "empty_ref", "free_ref", "freeze", "get", "new_ref", "set", "swap"]
