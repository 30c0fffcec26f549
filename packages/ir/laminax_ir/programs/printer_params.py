"""How the equations of an operation print: which parameters they leave out, which have a form of their own, and rules for equations that
have another form altogether.

The module that defines an operation says so here; the printer, which is loaded when something is printed, looks it up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable

if TYPE_CHECKING:
    from laminax_ir.programs.jaxpr import JaxprEqn
    from laminax_ir.programs.layout import Doc
    from laminax_ir.programs.primitive import Primitive
    from laminax_ir.programs.printer import Printer

    EquationRule = Callable[[JaxprEqn, Printer], Doc]

# By the primitive, then by the parameter's name.
hidden: dict[Primitive, dict[str, Any]] = {}
formats: dict[Primitive, dict[str, Callable[[Any], str]]] = {}
equation_rules: dict[Primitive, EquationRule] = {}


def hide_params(primitive: Primitive, **values: Any) -> None:
    """Leaves parameters out of the printed form when they have the given values (`...` for any)."""
    if primitive in hidden:
        raise ValueError(f"{primitive}: hide_params was called for it before, with {hidden[primitive]}")
    hidden[primitive] = values


def format_param(primitive: Primitive, key: str) -> Callable[[Callable[[Any], str]], Callable[[Any], str]]:
    """Decorator: the function gives the text of one parameter."""
    def register(function: Callable[[Any], str]) -> Callable[[Any], str]:
        formats.setdefault(primitive, {})[key] = function
        return function
    return register


def equation_rule(*primitives: Primitive) -> Callable[[EquationRule], EquationRule]:
    """Decorator: `rule(eqn, printer) -> Doc` prints equations of these primitives, mostly by `printer.assignment`."""
    def register(rule: EquationRule) -> EquationRule:
        for primitive in primitives:
            if primitive in equation_rules or primitive in hidden:
                first = equation_rules.get(primitive, hide_params).__module__
                raise ValueError(f"{primitive}: a second printing rule, in {rule.__module__}; the first is in {first}")
            equation_rules[primitive] = rule
        return rule
    return register
