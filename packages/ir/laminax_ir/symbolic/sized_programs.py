"""Programs at given sizes: a program with symbolic dimensions, with other sizes in the place of its variables.

Nothing is traced: the equations stay, and the sizes in their types and parameters are replaced. The program that comes out remembers the
one that it was made of, its template, and the sizes, so that whoever transforms it may transform the template once for all sizes.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from dataclasses import replace as replaced
from typing import Any, Mapping, NamedTuple, Sequence

from laminax_ir.options.records import Record
from laminax_ir.programs.jaxpr import Atom, ClosedJaxpr, DropVar, Jaxpr, JaxprEqn, Literal, Var
from laminax_ir.symbolic.symbolic_dims import DimSize, SymbolicDim, evaluated
from laminax_ir.symbolic.symbolic_values import dim_as_value_p
from laminax_ir.types.avals import ShapedArray
from laminax_ir.types.ref_types import AbstractRef
from laminax_ir.types.shape_dtype_structs import ShapeDtypeStruct


class Template(NamedTuple):
    """The program that another one was made of, and the sizes that it was given for its variables."""
    program: ClosedJaxpr
    sizes: tuple[tuple[str, DimSize], ...]


def at_sizes(closed: ClosedJaxpr, sizes: Mapping[str, DimSize]) -> ClosedJaxpr:
    """A program with sizes, numbers or other symbolic dimensions, in the place of its variables.

    Args:
      closed: the program.
      sizes: one size for each variable.

    Returns:
      The same object for the same sizes, as long as the program remembers it; the program itself if it has no variables.

    Example:
      >>> at_sizes(closed, {"n": 5})
    """
    if not _is_symbolic(closed):
        return closed
    listed = tuple(sorted(sizes.items()))
    question = ("at sizes", listed)
    found = closed.derived.get(question)
    if found is None:
        found = ClosedJaxpr(_Sizing(dict(sizes)).jaxpr(closed.jaxpr), closed.consts)
        found.template = Template(closed, listed)
        closed.remember(question, found)
    return found


def value_at_sizes(value: Any, sizes: Mapping[str, DimSize]) -> Any:
    """A value with sizes in the place of variables, wherever it has them: a type, a program, a container or a dataclass of such."""
    return _Sizing(dict(sizes)).value(value)


def _is_symbolic(closed: ClosedJaxpr) -> bool:
    """Whether a program has symbolic dimensions."""
    question = ("is symbolic",)
    found = closed.derived.get(question)
    if found is None:
        found = closed.remember(question, _has_variables(closed.jaxpr))
    return found


def _has_variables(jaxpr: Jaxpr) -> bool:
    return (any(_is_symbolic_aval(v.aval) for v in (*jaxpr.constvars, *jaxpr.invars))
            or any(_is_symbolic_aval(v.aval) for eqn in jaxpr.eqns for v in (*eqn.invars, *eqn.outvars))
            or any(_mentions_variables(value) for eqn in jaxpr.eqns for value in eqn.params.values()))


def _is_symbolic_aval(aval: Any) -> bool:
    return any(type(size) is SymbolicDim for size in getattr(aval, "shape", ()))


def _mentions_variables(value: Any) -> bool:
    if type(value) is SymbolicDim:
        return True
    if isinstance(value, ClosedJaxpr):
        return _is_symbolic(value)
    if isinstance(value, Jaxpr):
        return _has_variables(value)
    if isinstance(value, (tuple, list)):
        return any(map(_mentions_variables, value))
    return isinstance(value, (ShapedArray, ShapeDtypeStruct)) and _is_symbolic_aval(value)


_PLAIN = frozenset((int, str, bool, float, type(None)))


class _Sizing:
    """The replacement of variables by sizes, in one program; types that come up often are replaced once."""

    def __init__(self, sizes: dict[str, DimSize]) -> None:
        self.sizes = sizes
        self.avals: dict[Any, Any] = {}

    def value(self, value: Any) -> Any:
        """Any value; what has no sizes stays as it is."""
        kind = type(value)
        if kind in _PLAIN:
            return value
        if kind is SymbolicDim:
            return evaluated(value, self.sizes)
        if kind is tuple or kind is list:
            return kind([self.value(item) for item in value])
        if isinstance(value, tuple):
            items = [self.value(item) for item in value]
            return value if all(a is b for a, b in zip(items, value)) else kind(*items)
        if kind is dict:
            return {key: self.value(item) for key, item in value.items()}
        if isinstance(value, ClosedJaxpr):
            return at_sizes(value, self.sizes)
        if isinstance(value, Jaxpr):
            return self.jaxpr(value)
        if isinstance(value, (ShapedArray, AbstractRef)):
            return self.aval(value)
        if isinstance(value, ShapeDtypeStruct):
            return value.update(shape=self.value(value.shape)) if _is_symbolic_aval(value) else value
        if isinstance(value, Record):
            changed = self._changed(value, value.record_fields)
            return value.replace(**changed) if changed else value
        if is_dataclass(value) and not isinstance(value, type):
            changed = self._changed(value, [field.name for field in fields(value) if field.init])
            return replaced(value, **changed) if changed else value
        return value

    def _changed(self, value: Any, names: Sequence[str]) -> dict[str, Any]:
        """The attributes that are others at the sizes."""
        changed = {}
        for name in names:
            old = getattr(value, name)
            new = self.value(old)
            if new is not old and new != old:
                changed[name] = new
        return changed

    def aval(self, aval: Any) -> Any:
        """The type at the sizes."""
        found = self.avals.get(aval)
        if found is None:
            found = self.avals[aval] = aval.update(shape=self.value(aval.shape)) if _is_symbolic_aval(aval) else aval
        return found

    def jaxpr(self, jaxpr: Jaxpr) -> Jaxpr:
        """The program at the sizes."""
        env: dict[Var, Atom] = {}

        def defined(v: Var) -> Var:
            new = env[v] = type(v)(self.aval(v.aval)) if isinstance(v, DropVar) else Var(self.aval(v.aval))
            return new

        def read(x: Atom) -> Atom:
            return x if type(x) is Literal else env[x]

        constvars, invars = [*map(defined, jaxpr.constvars)], [*map(defined, jaxpr.invars)]
        eqns = []
        for eqn in jaxpr.eqns:
            params = {name: self.value(value) for name, value in eqn.params.items()}
            if eqn.primitive is dim_as_value_p and type(params["dim"]) is not SymbolicDim:
                env[eqn.outvars[0]] = Literal(int(params["dim"]), eqn.outvars[0].aval)
                continue
            eqns.append(JaxprEqn([*map(read, eqn.invars)], [*map(defined, eqn.outvars)], eqn.primitive, params, eqn.effects,
                                 eqn.source_info))
        return Jaxpr(constvars, invars, [*map(read, jaxpr.outvars)], eqns, jaxpr.effects, jaxpr.debug_info)
