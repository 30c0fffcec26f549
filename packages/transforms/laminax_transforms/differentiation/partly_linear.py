"""Calls with results that depend on the tangents, and others that do not.

A rule written by a user may compute a value and its tangent in one call: `vmap` of `jvp` of a jitted function binds one call
with both results. On the tape of a linear program even the value would count as linear. Dead-code elimination splits the call in two:
one call for the results that are known without the tangents, and one for the others, which recomputes the intermediate values that it
needs.
"""

from __future__ import annotations

from typing import Any, Sequence

from laminax_ir.programs.dce import dce_rules
from laminax_ir.programs.jaxpr import JaxprEqn, Var
from laminax_ir.programs.primitive import Primitive
from laminax_ir.programs.result_types import typed_results
from laminax_ir.types.avals import ShapedArray
from laminax_ir.types.type_shardings import in_use
from laminax_transforms.differentiation.dependence import call_results


def split_equation(eqn: JaxprEqn, linear: Sequence[bool]) -> tuple[JaxprEqn, JaxprEqn | None] | None:
    """The known part of a call and the linear one, if there is any; None if it is linear as a whole, or no call.

    Args:
      eqn: an equation with several results.
      linear: which operands are linear.
    """
    dependent = call_results(eqn.primitive, eqn.params, linear)
    if dependent is None or all(dependent) or eqn.effects:  # split in two calls, the effects would happen twice
        return None
    rule = dce_rules.find(eqn.primitive)
    if rule is None:
        return None
    known = rule([not d for d in dependent], eqn)[1]
    if not {v for v, is_lin in zip(eqn.invars, linear) if is_lin}.isdisjoint(known.invars):  # the known part still uses a linear operand
        return None
    return known, rule(list(dependent), eqn)[1] if any(dependent) else None


def as_equation(primitive: Primitive, avals: Sequence[ShapedArray], params: dict[str, Any]) -> JaxprEqn:
    """An equation of new variables."""
    effects = frozenset(primitive.effects_rule(*avals, **params)) if primitive.effects_rule else frozenset()
    results = typed_results(primitive, avals, params) if in_use else primitive.shape_rule(*avals, **params)
    return JaxprEqn([Var(aval) for aval in avals], [Var(aval) for aval in results],
                    primitive, params, effects)
