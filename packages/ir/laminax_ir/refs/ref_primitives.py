"""The primitives of references: reading, writing, adding to them, making and freezing them.

Their equations stand in programs that were recorded and not yet used. `discharge` replaces them by operations on the arrays in the
references before a program is transformed, lowered or evaluated, so the primitives have no rules for that. Their operands are the
reference, the value that is written, and the indices that are values of the program; `places` has the rest of the index (see
`ref_indexing`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from laminax_ir.programs.effects import Effect, accum_effect, internal_effect, read_effect, write_effect
from laminax_ir.programs.jaxpr import JaxprEqn
from laminax_ir.programs.primitive import Primitive, Trait, effects_rule, shape_rule
from laminax_ir.programs.printer_params import equation_rule
from laminax_ir.refs import ref_indexing
from laminax_ir.types.avals import ShapedArray
from laminax_ir.types.ref_types import AbstractRef

if TYPE_CHECKING:  # loaded when something is printed
    from laminax_ir.programs.layout import Doc
    from laminax_ir.programs.printer import Printer

new_ref_p = Primitive("new_ref", family="state", traits=(Trait.TYPES_ITS_RESULTS,))
freeze_p = Primitive("freeze", family="state", traits=(Trait.TYPES_ITS_RESULTS,))
get_p = Primitive("get", family="state", traits=(Trait.TYPES_ITS_RESULTS,))
swap_p = Primitive("swap", family="state", traits=(Trait.TYPES_ITS_RESULTS,))
addupdate_p = Primitive("addupdate", multiple_results=True, family="state", traits=(Trait.TYPES_ITS_RESULTS,))


@shape_rule(new_ref_p)
def _new_ref_shape(x: ShapedArray, *, kind: str | None, memory_space: None) -> AbstractRef:
    return AbstractRef(x, kind)


@effects_rule(new_ref_p)
def _new_ref_effects(*_avals: ShapedArray, **_params: Any) -> set[Effect]:
    return {internal_effect}


@shape_rule(freeze_p)
def _freeze_shape(ref: AbstractRef) -> ShapedArray:
    return ref.inner_aval


@effects_rule(freeze_p)
@effects_rule(get_p)
def _reading_effects(*_avals: ShapedArray | AbstractRef, **_params: Any) -> set[Effect]:
    return {read_effect}


@shape_rule(get_p)
def _get_shape(ref: AbstractRef, *_indices: ShapedArray, places: tuple[ref_indexing.Place, ...]) -> ShapedArray:
    return ref_indexing.part_aval(ref.inner_aval, places)


@shape_rule(swap_p)
def _swap_shape(ref: AbstractRef, value: ShapedArray, *_indices: ShapedArray, places: tuple[ref_indexing.Place, ...]) -> ShapedArray:
    return ref_indexing.part_aval(ref.inner_aval, places)


@effects_rule(swap_p)
def _swap_effects(*_avals: ShapedArray | AbstractRef, **_params: Any) -> set[Effect]:
    return {write_effect}


@shape_rule(addupdate_p)
def _addupdate_shape(ref: AbstractRef, value: ShapedArray, *_indices: ShapedArray,
                     places: tuple[ref_indexing.Place, ...]) -> list[ShapedArray]:
    return []


@effects_rule(addupdate_p)
def _addupdate_effects(*_avals: ShapedArray | AbstractRef, **_params: Any) -> set[Effect]:
    return {accum_effect}


# As equations print


@equation_rule(get_p)
def _get_equation(eqn: JaxprEqn, printer: Printer) -> Doc:
    return printer.concat(printer.binders(eqn.outvars), " <- ", _part(eqn, printer, 1))


@equation_rule(swap_p)
def _swap_equation(eqn: JaxprEqn, printer: Printer) -> Doc:
    part, value = _part(eqn, printer, 2), printer.atom(eqn.invars[1])
    if printer.name(eqn.outvars[0]) == "_":
        return printer.concat(part, " <- ", value)
    return printer.concat(printer.binders(eqn.outvars), f", {part} <- {part}, {value}")


@equation_rule(addupdate_p)
def _addupdate_equation(eqn: JaxprEqn, printer: Printer) -> Doc:
    return printer.concat(_part(eqn, printer, 2), " += ", printer.atom(eqn.invars[1]))


def _part(eqn: JaxprEqn, printer: Printer, first_index: int) -> str:
    ref, indices = eqn.invars[0], eqn.invars[first_index:]
    return printer.atom(ref) + ref_indexing.text(eqn.params["places"], [printer.atom(x) for x in indices])
