# Written by tools/stubs.py.
"""References to arrays, which can be read and written. A table of contents: names load on first use."""

from laminax_ir.refs.refs import Ref as _Ref, RefView
from typing import Any
from laminax import empty_ref as empty_ref
from laminax import free_ref as free_ref
from laminax import freeze as freeze
from laminax import new_ref as new_ref
from laminax_ir.refs.refs import Ref as Ref
from laminax_ir.types.ref_types import AbstractRef as AbstractRef

__all__: list[str]

def addupdate(ref: _Ref | RefView, idx: Any, x: Any) -> None:
    """Adds to a reference, or to a part of it; elements that the index names twice are added to twice."""
def get(ref: _Ref | RefView, idx: Any = None) -> Any:
    """The array in a reference, or a part of it: `ref[idx]`."""
def set(ref: _Ref | RefView, idx: Any, value: Any) -> None:
    """Writes to a reference, or to a part of it: `ref[idx] = value`."""
def swap(ref: _Ref | RefView, idx: Any, value: Any) -> Any:
    """Writes to a reference, or to a part of it, and returns what was there."""
