# Written by tools/stubs.py.
"""References to arrays, which can be read and written. A table of contents: names load on first use."""

from laminax_ir.refs.refs import Ref as _Ref, RefView
from typing import Any
from laminax_ir.refs.refs import Ref as Ref
from laminax_ir.types.ref_types import AbstractRef as AbstractRef

__all__: list[str]

def addupdate(ref: _Ref | RefView, idx: Any, x: Any) -> None:
    """Adds to a reference, or to a part of it; elements that the index names twice are added to twice."""
def empty_ref(ty: Any, memory_space: Any = None, pin: bool = False) -> _Ref:
    """Makes a reference whose first value does not matter."""
def free_ref(ref: _Ref) -> None:
    """Ends the life of a reference: `freeze`, without the value."""
def freeze(ref: _Ref) -> Any:
    """The array in a reference, which must not be used afterwards."""
def get(ref: _Ref | RefView, idx: Any = None) -> Any:
    """The array in a reference, or a part of it: `ref[idx]`."""
def new_ref(init_val: Any, *, memory_space: Any = None, kind: str | None = None, pin: bool = False) -> _Ref:
    """Makes a reference to an array, which can be read and written."""
def set(ref: _Ref | RefView, idx: Any, value: Any) -> None:
    """Writes to a reference, or to a part of it: `ref[idx] = value`."""
def swap(ref: _Ref | RefView, idx: Any, value: Any) -> Any:
    """Writes to a reference, or to a part of it, and returns what was there."""
