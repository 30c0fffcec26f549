"""Printing jaxprs in the syntax of the JAX documentation.

`{ lambda a:f32[3]; b:f32[]. let c:f32[] = cos b in (c,) }`: constvars before the semicolon, parameters
after it, one equation a line when there are several. Variables are named a, b, ..., z, ba, ... in the
order in which they are first met.
"""

from __future__ import annotations

import enum
from typing import Any, Iterator

import numpy as np

from laminax_ir import source
from laminax_ir.jaxpr import ClosedJaxpr, DropVar, Jaxpr, JaxprEqn, Literal, Var

_INDENT = "  "


class _Names:
    """Letters for variables, shared by a jaxpr and the jaxprs nested in it."""

    def __init__(self):
        self._names: dict[Var, str] = {}

    def __call__(self, var: Var) -> str:
        name = self._names.get(var)
        if name is None:
            name = self._names[var] = _letters(len(self._names))
        return name

    def name(self, var: Var) -> str:
        return "_" if type(var) is DropVar else self(var)


def _letters(index: int) -> str:
    text = ""
    while True:
        index, digit = divmod(index, 26)
        text = chr(ord("a") + digit) + text
        if index == 0:
            return text


def format_jaxpr(jaxpr: Jaxpr, *, source_info: bool = False, print_shapes: bool = True, name_stack: bool = False,
                 **unknown: Any) -> str:
    """A jaxpr as text.

    Args:
      jaxpr: the program.
      source_info: append ` # file.py:12 in f` to each equation.
      print_shapes: write the types of variables.
      name_stack: prefix equations with the name scopes they were made in.

    Returns:
      The text, one line when there is at most one equation and it fits.
    """
    if unknown:
        raise TypeError(f"format_jaxpr: unknown options {sorted(unknown)}; "
                        "expected source_info, print_shapes, name_stack")
    options = {"source_info": source_info, "print_shapes": print_shapes, "name_stack": name_stack}
    return "\n".join(_jaxpr_lines(jaxpr, _Names(), options))


def format_eqn(eqn: JaxprEqn) -> str:
    """One equation as text."""
    options = {"source_info": False, "print_shapes": True, "name_stack": False}
    return "\n".join(_eqn_lines(eqn, _Names(), options))


def _jaxpr_lines(jaxpr: Jaxpr, names: _Names, options) -> list[str]:
    header = _join_nonempty("{ lambda", _binders(jaxpr.constvars, names, options), ";",
                            _binders(jaxpr.invars, names, options)) + ". let"
    body = [line for eqn in jaxpr.eqns for line in _eqn_lines(eqn, names, options)]
    outs = [_atom(v, names) for v in jaxpr.outvars]
    closing = "in (" + ", ".join(outs) + ("," if len(outs) == 1 else "") + ") }"
    one_line = " ".join([header, *body, closing])
    if len(body) <= 1 and len(one_line) <= 80:
        return [one_line]
    return [header, *(_INDENT * 2 + line for line in body), _INDENT + closing]


def _join_nonempty(*parts: str) -> str:
    return " ".join(part for part in parts if part)


def _binders(variables, names, options) -> str:
    return " ".join(_binder(v, names, options) for v in variables)


def _binder(var: Var, names: _Names, options) -> str:
    text = names.name(var)
    return f"{text}:{var.aval.str_short()}" if options["print_shapes"] else text


def _atom(atom, names: _Names) -> str:
    if type(atom) is not Literal:
        return names.name(atom)
    value = atom.val
    text = str(value.item() if isinstance(value, np.generic) and value.dtype.kind in "biufc" else value)
    return f"{text}:{atom.aval.str_short()}"


def _eqn_lines(eqn: JaxprEqn, names: _Names, options) -> list[str]:
    operands = " ".join(_atom(v, names) for v in eqn.invars)
    parameters = _param_lines(eqn, names, options)
    results = _binders(eqn.outvars, names, options)
    scope = "/".join(eqn.source_info.name_stack) + "/" if options["name_stack"] and eqn.source_info.name_stack else ""
    head = f"{results} = {scope}{eqn.primitive.name}" if eqn.outvars else f"{scope}{eqn.primitive.name}"
    where = source.summarize(eqn.source_info) if options["source_info"] else ""
    comment = f" # {where}" if where else ""
    if not parameters:
        return [f"{head} {operands}".rstrip() + comment]
    flat = " ".join(parameters)
    if not any("\n" in p or "lambda" in p for p in parameters) and len(head) + len(flat) + len(operands) < 100:
        return [f"{head}[{flat}] {operands}".rstrip() + comment]
    inner = [_INDENT + line for parameter in parameters for line in parameter.split("\n")]
    return [f"{head}[", *inner, f"] {operands}".rstrip() + comment]


def _param_lines(eqn: JaxprEqn, names: _Names, options) -> list[str]:
    return [f"{key}={_format_param(value, names, options)}" for key, value in sorted(_shown_params(eqn))]


def _shown_params(eqn: JaxprEqn) -> Iterator[tuple[str, Any]]:
    hidden = _hidden_params.get(eqn.primitive.name, {})
    for key, value in eqn.params.items():
        if key in hidden and (hidden[key] is Ellipsis or hidden[key] == value):
            continue
        yield key, value


# Parameters not printed when they have these values (`...`: never printed).
_hidden_params: dict[str, dict[str, Any]] = {}


def hide_params(primitive_name: str, **values: Any) -> None:
    """Leaves parameters out of the printed form when they have the given values (`...` for any)."""
    _hidden_params.setdefault(primitive_name, {}).update(values)


def _format_param(value: Any, names: _Names, options) -> str:
    if isinstance(value, ClosedJaxpr):
        value = value.jaxpr
    if isinstance(value, Jaxpr):
        return "\n".join(_jaxpr_lines(value, names, options))
    if isinstance(value, (tuple, list)) and any(isinstance(v, (Jaxpr, ClosedJaxpr)) for v in value):
        inner = "\n".join(_format_param(v, names, options) for v in value)
        return "(\n" + "\n".join(_INDENT + line for line in inner.split("\n")) + "\n)"
    if isinstance(value, np.dtype):
        return value.name
    if isinstance(value, enum.Enum):
        return str(value)
    if callable(value) and hasattr(value, "__name__"):
        return value.__name__
    return str(value)
