"""Which programs do the same: equal ones share one private function, and count as one where calls are planned.

A function that is traced anew for each layer gives as many programs as there are layers, equal up to the names of their
variables. They are compared only where their types and sizes agree, equation by equation; names and positions in the user's
code do not count, and neither does what lowering does not read, such as derivative rules; attributes for the compiler do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from laminax_ir.ops.calls import checkpoint_p, custom_jvp_call_p, custom_vjp_call_p, custom_vmap_call_p
from laminax_ir.ops.user_operations import call_hi_primitive_p
from laminax_ir.programs.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Literal
from laminax_ir.programs.primitive import Primitive
from laminax_ir.tracing.operation_attributes import attributes_of, in_use

if TYPE_CHECKING:
    from laminax_ir.types.annotations import ArrayLike

_IGNORED: dict[Primitive, frozenset[str]] = {
    custom_jvp_call_p: frozenset({"jvp"}), custom_vjp_call_p: frozenset({"fwd", "bwd"}), custom_vmap_call_p: frozenset({"rule"}),
    checkpoint_p: frozenset({"policy"}), call_hi_primitive_p: frozenset({"operation"}),
}
_ATOMS = frozenset((bool, int, str))  # most parameters, and the elements of most others


class ProgramTable:
    """The distinct programs of one module, each known by the first of its equals."""

    def __init__(self) -> None:
        self._first: dict[int, ClosedJaxpr | Jaxpr] = {}  # by the identity of each program seen
        self._seen: list[Any] = []  # kept, so that no other object gets its identity
        self._alone: dict[tuple[Any, ...], ClosedJaxpr | Jaxpr | None] = {}  # by types and size, until there is a second
        self._described: dict[tuple[Any, ...], ClosedJaxpr | Jaxpr] = {}
        self._known_params: dict[int, tuple[dict[str, Any], Primitive, tuple[Any, ...]]] = {}  # by the identity of the first

    def representative(self, program: ClosedJaxpr | Jaxpr) -> Any:
        """The first program seen that is equal to this one, which may be this one itself."""
        found = self._first.get(id(program))
        if found is None:
            found = self._find_equal(program)
            self._first[id(program)] = found
            self._seen.append(program)
        return found

    def describe(self, eqn: JaxprEqn) -> tuple[Any, ...]:
        """A key that is equal for equations that do the same, whichever variables they read."""
        return (eqn.primitive, tuple([_literal(v) if type(v) is Literal else None for v in eqn.invars]), self._params(eqn), eqn.effects,
                _attributes(eqn))

    def _find_equal(self, program: ClosedJaxpr | Jaxpr) -> Any:
        jaxpr = program.jaxpr if isinstance(program, ClosedJaxpr) else program
        types = type(program), tuple([v.aval for v in jaxpr.invars]), tuple([v.aval for v in jaxpr.outvars]), len(jaxpr.eqns)
        if types not in self._alone:
            self._alone[types] = program
            return program
        first, self._alone[types] = self._alone[types], None  # before it is described: it may have others of these types inside
        if first is not None:
            self._described[types, self._describe(first)] = first
        return self._described.setdefault((types, self._describe(program)), program)

    def _describe(self, program: ClosedJaxpr | Jaxpr) -> tuple[Any, ...]:
        """The program with its variables numbered in the order of their definitions."""
        jaxpr, consts = (program.jaxpr, program.consts) if isinstance(program, ClosedJaxpr) else (program, ())
        numbers: dict[Any, int] = {}
        for v in (*jaxpr.constvars, *jaxpr.invars):
            numbers[v] = len(numbers)
        lines = []
        for eqn in jaxpr.eqns:
            operands = tuple([_literal(v) if type(v) is Literal else numbers[v] for v in eqn.invars])
            lines.append((eqn.primitive, operands, tuple([v.aval for v in eqn.outvars]), self._params(eqn), eqn.effects, _attributes(eqn)))
            for v in eqn.outvars:
                numbers[v] = len(numbers)
        results = tuple([_literal(v) if type(v) is Literal else numbers[v] for v in jaxpr.outvars])
        return tuple(map(id, consts)), tuple(lines), results

    def _params(self, eqn: JaxprEqn) -> tuple[Any, ...]:
        """The parameters that count; found once for all equations that share them, as copies of one do."""
        known = self._known_params.get(id(eqn.params))
        if known is None or known[1] is not eqn.primitive:
            ignored = _IGNORED.get(eqn.primitive, ())
            described = tuple([(name, self._value(value)) for name, value in sorted(eqn.params.items()) if name not in ignored])
            known = self._known_params[id(eqn.params)] = eqn.params, eqn.primitive, described
        return known[2]

    def _value(self, value: Any) -> tuple[str | type[Any], Any]:
        """A key that is equal for parameters of the same meaning."""
        if value is None or type(value) in _ATOMS:
            return type(value), value
        if isinstance(value, (ClosedJaxpr, Jaxpr)):
            return "program", id(self.representative(value))
        if isinstance(value, (tuple, list)):
            return type(value), tuple(map(self._value, value))
        if isinstance(value, dict):
            return dict, tuple((key, self._value(item)) for key, item in value.items())
        if isinstance(value, (np.ndarray, np.generic, float, complex)):
            return type(value), _bits(value)  # by bits: NaN equals itself, and zeros have signs
        try:
            hash(value)
        except TypeError:
            return "object", id(value)
        return type(value), value


def _attributes(eqn: JaxprEqn) -> Any:
    return tuple(sorted(attributes_of(eqn.source_info.name_stack).items())) if in_use else None


def _literal(literal: Literal) -> tuple[Any, ...]:
    return literal.aval, type(literal.val), _bits(literal.val)


def _bits(value: ArrayLike) -> tuple[Any, ...]:
    array = np.asarray(value)
    return array.dtype, array.shape, array.tobytes()
