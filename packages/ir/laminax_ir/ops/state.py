"""Operations on array references that users call: reading, writing, adding to them, making, freezing and freeing them.

Their primitives are those of `ref_primitives`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from laminax_ir.ops.shape import full
from laminax_ir.refs import ref_indexing
from laminax_ir.refs.ref_primitives import addupdate_p, freeze_p, get_p, new_ref_p, swap_p
from laminax_ir.refs.refs import Ref, RefView, check_is_ref, freeze, new_ref, read, write
from laminax_ir.types.hi_types import HiType
from laminax_ir.types.ref_types import AbstractRef

__all__ = ["AbstractRef", "Ref", "addupdate", "addupdate_p", "empty_ref", "free_ref", "freeze", "freeze_p", "get", "get_p", "new_ref",
           "new_ref_p", "set", "swap", "swap_p"]

def get(ref: Ref | RefView, idx: Any = None) -> Any:
    """The array in a reference, or a part of it: `ref[idx]`.

    Args:
      ref: a `Ref`.
      idx: ints, slices, Ellipsis and integer arrays, as for NumPy arrays; None for all.

    Returns:
      An array.

    Raises:
      ValueError: if ref is not a reference, or the index does not fit its shape.

    Example:
      >>> get(new_ref(jnp.arange(5)), slice(1, 3))
      Array([1, 2], dtype=int32)
    """
    base, places = _target("ref_get", ref, idx)
    return read(base, places)


def set(ref: Ref | RefView, idx: Any, value: Any) -> None:
    """Writes to a reference, or to a part of it: `ref[idx] = value`.

    Args:
      ref: a `Ref`.
      idx: as for `get`.
      value: an array of the shape of `ref[idx]`, and of ref's dtype.

    Raises:
      ValueError: if ref is not a reference, the index does not fit its shape, or the value is of another shape or dtype.

    Example:
      >>> ref = new_ref(jnp.zeros(3))
      >>> set(ref, 1, 10.)
      >>> ref
      Ref([ 0., 10.,  0.], dtype=float32)
    """
    base, places = _target("ref_set", ref, idx)
    write("ref_set", base, places, value)


def swap(ref: Ref | RefView, idx: Any, value: Any) -> Any:
    """Writes to a reference, or to a part of it, and returns what was there.

    Args:
      ref: a `Ref`.
      idx: as for `get`.
      value: as for `set`.

    Returns:
      An array, `ref[idx]` before the write.

    Raises:
      ValueError: as `set`.

    Example:
      >>> swap(new_ref(jnp.arange(5)), 3, 10)
      Array(3, dtype=int32)
    """
    base, places = _target("ref_swap", ref, idx)
    return write("ref_swap", base, places, value, returns_old=True)


def addupdate(ref: Ref | RefView, idx: Any, x: Any) -> None:
    """Adds to a reference, or to a part of it; elements that the index names twice are added to twice.

    Args:
      ref: a `Ref`.
      idx: as for `get`.
      x: as value for `set`.

    Raises:
      ValueError: as `set`.

    Example:
      >>> ref = new_ref(jnp.arange(5))
      >>> addupdate(ref, 2, 10)
      >>> ref
      Ref([ 0,  1, 12,  3,  4], dtype=int32)
    """
    base, places = _target("ref_addupdate", ref, idx)
    write("ref_addupdate", base, places, x)


def empty_ref(ty: Any, memory_space: Any = None, pin: bool = False) -> Ref:
    """Makes a reference whose first value does not matter.

    Args:
      ty: the type of the array, anything with a shape and a dtype; or a type of users' own.
      memory_space: only None, as for `new_ref`.
      pin: only False, as for `new_ref`.

    Returns:
      A `Ref`; zeros are in it, or a value that consists of arrays of zeros.

    Raises:
      TypeError: if ty is not a type of arrays.

    Example:
      >>> empty_ref(ShapeDtypeStruct((3,), "float32")).shape
      (3,)
    """
    if isinstance(ty, HiType):
        return new_ref(_of_zeros(ty), memory_space=memory_space, pin=pin)
    if not (hasattr(ty, "shape") and hasattr(ty, "dtype")):
        raise TypeError(f"empty_ref: ty must have a shape and a dtype, such as ShapeDtypeStruct((2,), 'float32'), got {ty!r}")
    return new_ref(full(ty.shape, 0, ty.dtype), memory_space=memory_space, pin=pin)


def _of_zeros(aval: Any) -> Any:
    """A value of a type that consists of arrays of zeros."""
    if isinstance(aval, HiType):
        return aval.raise_val(*map(_of_zeros, aval.lo_ty()))
    return np.zeros(aval.shape, aval.dtype)


def free_ref(ref: Ref) -> None:
    """Ends the life of a reference: `freeze`, without the value.

    Args:
      ref: a `Ref`, made by the function that frees it.

    Example:
      >>> r = new_ref(jnp.zeros(3))
      >>> free_ref(r)
    """
    check_is_ref("free_ref", ref)
    freeze(ref)


def _target(name: str, ref: Any, idx: Any) -> tuple[Ref, tuple[ref_indexing.Place, ...]]:
    places = ref_indexing.places(name, ref, idx) if isinstance(ref, (Ref, RefView)) else ()
    if isinstance(ref, RefView):
        return ref.ref, (*ref.places, *places)
    check_is_ref(name, ref)
    return ref, places
