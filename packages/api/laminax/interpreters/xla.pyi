# Written by tools/stubs.py.
"""Running one primitive. A table of contents: names load on first use."""

from laminax_ir.programs.primitive import Primitive
from typing import Any
from laminax_runtime._jaxlib import Client as Backend

__all__: list[str]

def apply_primitive(prim: Primitive, *args: Any, **params: Any) -> Any:
    """Computes one operation on values: compiles it on the first call for their types, and runs it."""
