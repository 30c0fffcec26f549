"""Values that a loop carries and never changes: they become constants of its body.

The derivative of a scan does not stack constants, one copy for each step; and reverse mode knows the derivative of a value that a while
loop only passes on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from laminax_ir.programs.jaxpr import ClosedJaxpr, Var
from laminax_ir.tracing.trace import eval_trace, state
from laminax_ir.types import dtypes

if TYPE_CHECKING:
    from laminax_ir.types.annotations import ArrayLike

Flags = tuple[bool, ...]


def invariants(body: ClosedJaxpr, num_consts: int, carry: Sequence[Any]) -> Flags:
    """Which carried values the body returns as it gets them; none where the loop is evaluated at once.

    Args:
      body: `(*consts, *carry, ...) -> (*carry, ...)`.
      num_consts: how many constants it takes.
      carry: the values before the first step. Those that are not arrays of ours (Python and NumPy values) would be results of
        the loop as they are: they stay in the carry.
    """
    if state.trace is eval_trace:
        return (False,) * len(carry)
    parameters, results = body.jaxpr.invars[num_consts:], body.jaxpr.outvars
    return tuple([v is out and not _is_foreign(x) for x, v, out in zip(carry, parameters, results)])


def _is_foreign(x: ArrayLike) -> bool:
    return type(x) in dtypes.python_scalar_types or isinstance(x, (np.ndarray, np.generic))


def body_with_constants(body: ClosedJaxpr, num_consts: int, flags: Flags) -> ClosedJaxpr:
    """The body with the marked values as further constants instead of in the carry.

    The same one whenever it is asked for: transformations remember what they made of a program.
    """
    question = ("body with constants", num_consts, flags)
    if question not in body.derived:
        jaxpr = body.jaxpr
        carried, rest = jaxpr.invars[num_consts:num_consts + len(flags)], jaxpr.invars[num_consts + len(flags):]
        body.remember(question, body.replace(jaxpr=jaxpr.replace(
            invars=[*jaxpr.invars[:num_consts], *picked(carried, flags), *picked(carried, flags, False), *rest],
            outvars=[*picked(jaxpr.outvars, flags, False), *jaxpr.outvars[len(flags):]])))
    return body.derived[question]


def condition_with_constants(condition: ClosedJaxpr, num_consts: int, flags: Flags) -> tuple[ClosedJaxpr, Flags]:
    """The condition of a while loop whose marked carried values are constants, as a program, and which of these it reads and so takes.

    Args:
      condition: the program of (constants, carried values).
      num_consts: how many constants it has.
      flags: marks the carried values that the body never changes.
    """
    question = ("condition with constants", num_consts, flags)
    if question not in condition.derived:
        jaxpr = condition.jaxpr
        carried = jaxpr.invars[num_consts:]
        read = {v for eqn in jaxpr.eqns for v in eqn.invars if type(v) is Var}.union([v for v in jaxpr.outvars if type(v) is Var])
        needed = tuple([flag and v in read for flag, v in zip(flags, carried)])
        invars = [*jaxpr.invars[:num_consts], *picked(carried, needed), *picked(carried, flags, False)]
        condition.remember(question, (condition.replace(jaxpr=jaxpr.replace(invars=invars)), needed))
    return condition.derived[question]


def picked(values: Sequence[Any], flags: Flags, which: bool = True) -> list[Any]:
    """The values whose flag is `which`; flags may be fewer than values."""
    return [x for x, flag in zip(values, flags) if flag is which]


def put_back(carry: Sequence[Any], flags: Flags, results: Sequence[Any]) -> list[Any]:
    """The results of the loop without its invariants, and the invariants in their places."""
    changed = iter(results)
    return [x if flag else next(changed) for x, flag in zip(carry, flags)]
