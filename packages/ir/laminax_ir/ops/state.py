"""Operations on array references: reading, writing, adding to them, making and freezing them.

As equations they stand in programs that were recorded and not yet used. `discharge` replaces them by operations on the
arrays in the references before a program is transformed, lowered or evaluated, so they have no rules for that. Their
operands are the reference, the value that is written, and the indices that are values of the program; `places` has the rest
of the index (see `ref_indexing`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from laminax_ir import ref_indexing
from laminax_ir.avals import ShapedArray
from laminax_ir.jaxpr import JaxprEqn
from laminax_ir.ops.shape import full
from laminax_ir.primitive import Primitive, effects_rule, shape_rule
from laminax_ir.printer_params import equation_rule
from laminax_ir.refs import (
    AbstractRef,
    Ref,
    RefView,
    accum_effect,
    check_is_ref,
    freeze,
    internal_effect,
    new_ref,
    read,
    read_effect,
    write,
    write_effect,
)

if TYPE_CHECKING:  # loaded when something is printed
    from laminax_ir.printer import Printer

__all__ = ["AbstractRef", "Ref", "addupdate", "addupdate_p", "empty_ref", "free_ref", "freeze", "freeze_p", "get", "get_p", "new_ref", "new_ref_p",
           "set", "swap", "swap_p"]

new_ref_p = Primitive("new_ref", family="state")
freeze_p = Primitive("freeze", family="state")
get_p = Primitive("get", family="state")
swap_p = Primitive("swap", family="state")
addupdate_p = Primitive("addupdate", multiple_results=True, family="state")


@shape_rule(new_ref_p)
def _new_ref_shape(x: ShapedArray, *, kind: None, memory_space: None) -> AbstractRef:
    return AbstractRef(x)


@effects_rule(new_ref_p)
def _new_ref_effects(*_avals, **_params):
    return {internal_effect}


@shape_rule(freeze_p)
def _freeze_shape(ref: AbstractRef) -> ShapedArray:
    return ref.inner_aval


@effects_rule(freeze_p)
@effects_rule(get_p)
def _reading_effects(*_avals, **_params):
    return {read_effect}


@shape_rule(get_p)
def _get_shape(ref: AbstractRef, *_indices: ShapedArray, places) -> ShapedArray:
    return ref_indexing.part_aval(ref.inner_aval, places)


@shape_rule(swap_p)
def _swap_shape(ref: AbstractRef, value: ShapedArray, *_indices: ShapedArray, places) -> ShapedArray:
    return ref_indexing.part_aval(ref.inner_aval, places)


@effects_rule(swap_p)
def _swap_effects(*_avals, **_params):
    return {write_effect}


@shape_rule(addupdate_p)
def _addupdate_shape(ref: AbstractRef, value: ShapedArray, *_indices: ShapedArray, places) -> list[ShapedArray]:
    return []


@effects_rule(addupdate_p)
def _addupdate_effects(*_avals, **_params):
    return {accum_effect}


# As equations print


@equation_rule("get")
def _get_equation(eqn: JaxprEqn, printer: Printer):
    from laminax_ir.layout import concat
    return concat(printer.binders(eqn.outvars), " <- ", _part(eqn, printer, 1))


@equation_rule("swap")
def _swap_equation(eqn: JaxprEqn, printer: Printer):
    from laminax_ir.layout import concat
    part, value = _part(eqn, printer, 2), printer.atom(eqn.invars[1])
    if printer.name(eqn.outvars[0]) == "_":
        return concat(part, " <- ", value)
    return concat(printer.binders(eqn.outvars), f", {part} <- {part}, {value}")


@equation_rule("addupdate")
def _addupdate_equation(eqn: JaxprEqn, printer: Printer):
    from laminax_ir.layout import concat
    return concat(_part(eqn, printer, 2), " += ", printer.atom(eqn.invars[1]))


def _part(eqn: JaxprEqn, printer: Printer, first_index: int) -> str:
    ref, indices = eqn.invars[0], eqn.invars[first_index:]
    return printer.atom(ref) + ref_indexing.text(eqn.params["places"], [printer.atom(x) for x in indices])


# What users call


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


def empty_ref(ty: Any, memory_space: Any = None) -> Ref:
    """Makes a reference whose first value does not matter.

    Args:
      ty: the type of the array, anything with a shape and a dtype.
      memory_space: only None, as for `new_ref`.

    Returns:
      A `Ref`; zeros are in it.

    Raises:
      TypeError: if ty is not a type of arrays.
    """
    if not (hasattr(ty, "shape") and hasattr(ty, "dtype")):
        raise TypeError(f"empty_ref: ty must have a shape and a dtype, such as ShapeDtypeStruct((2,), 'float32'), got {ty!r}")
    return new_ref(full(ty.shape, 0, ty.dtype), memory_space=memory_space)


def free_ref(ref: Ref) -> None:
    """Ends the life of a reference: `freeze`, without the value.

    Args:
      ref: a `Ref`, made by the function that frees it.
    """
    check_is_ref("free_ref", ref)
    freeze(ref)


def _target(name: str, ref: Any, idx: Any) -> tuple[Ref, tuple[ref_indexing.Place, ...]]:
    places = ref_indexing.places(name, ref, idx) if isinstance(ref, (Ref, RefView)) else ()
    if isinstance(ref, RefView):
        return ref.ref, (*ref.places, *places)
    check_is_ref(name, ref)
    return ref, places
