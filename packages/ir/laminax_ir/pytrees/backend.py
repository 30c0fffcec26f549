"""Which pytree registry this process uses: jaxlib's C++ one if it can be imported, else the Python one.

`LAMINAX_PYTREE_BACKEND=jaxlib` or `=python` in the environment decides instead, read once, at import.
Both have the same names; everything else in laminax takes them from here.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

_requested = os.environ.get("LAMINAX_PYTREE_BACKEND", "")
if _requested not in ("", "jaxlib", "python"):
    raise ValueError(
        f"LAMINAX_PYTREE_BACKEND={_requested!r} is not a pytree backend.\n"
        "Set it to 'jaxlib' or 'python', or unset it to use jaxlib's where it can be imported."
    )

backend_name = _requested or "jaxlib"
if TYPE_CHECKING:  # the Python registry is the meaning of both
    import laminax_ir.pytrees.python_backend as backend
elif backend_name == "jaxlib":
    try:
        import laminax_ir.pytrees.jaxlib_backend as backend
    except ImportError as error:
        if _requested:
            raise ImportError(
                f"LAMINAX_PYTREE_BACKEND=jaxlib, but jaxlib's pytree registry cannot be used: {error}\n"
                "Install jaxlib, or unset the variable to use the pure-Python registry."
            ) from error
        backend_name = "python"
if not TYPE_CHECKING and backend_name == "python":
    import laminax_ir.pytrees.python_backend as backend

__all__ = ["backend", "backend_name"]
