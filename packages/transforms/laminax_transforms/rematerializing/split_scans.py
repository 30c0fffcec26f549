"""The backward pass of a scan in two parts: a loop over the cotangent of the carry, and the rest for all steps at once.

The cotangent of the carry at one step depends on the cotangent of the carry at the next. The cotangents of constants and of the slices
depend only on the carry's: once the loop has stacked the carry's cotangents, all steps are one batch, a few large operations instead of
many small ones. The price is the memory of the stacked values. `scan(..., _split_transpose=True)` asks for the split.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Sequence

from laminax_ir.ops.calls import close_over_constants
from laminax_ir.ops.control_primitives import bind_scan
from laminax_ir.ops.reduction import reduce_sum
from laminax_ir.programs.jaxpr import ClosedJaxpr, Jaxpr, Literal
from laminax_ir.recording.evaluation import eval_jaxpr
from laminax_transforms.base.derived_programs import cached_by_jaxpr
from laminax_transforms.batching.batch_axes import Axis
from laminax_transforms.programs.jaxpr_transforms import batch_jaxpr


@dataclass(frozen=True)
class SplitStep:
    """A step `(*consts, *carry, *slices) -> (*terms, *carry, *ys)` in two parts.

    loop: `(*consts, *carry, *slices) -> (*carry, *saved)`.
    rest: `(*consts, *slices, *saved) -> (*terms, *ys)`, which needs nothing of other steps.
    """
    loop: ClosedJaxpr
    rest: ClosedJaxpr
    num_consts: int
    num_terms: int


def split_step(step: Jaxpr, num_consts: int, num_carry: int, num_terms: int) -> SplitStep:
    """Divides a step into the equations that the carry needs, the loop, and the others, the rest."""
    consts, carry, slices = step.invars[:num_consts], step.invars[num_consts:num_consts + num_carry], step.invars[num_consts + num_carry:]
    terms, carry_out = step.outvars[:num_terms], step.outvars[num_terms:num_terms + num_carry]
    results = [*terms, *step.outvars[num_terms + num_carry:]]
    needed = {v for v in carry_out if type(v) is not Literal}
    loop_eqns, rest_eqns = [], []
    for eqn in reversed(step.eqns):
        if eqn.effects or not needed.isdisjoint(eqn.outvars):
            loop_eqns.append(eqn)
            needed.update([v for v in eqn.invars if type(v) is not Literal])
        else:
            rest_eqns.append(eqn)
    given = {*carry, *[v for eqn in loop_eqns for v in eqn.outvars]}
    read = [v for eqn in rest_eqns[::-1] for v in eqn.invars] + results
    saved = list(dict.fromkeys(v for v in read if type(v) is not Literal and v in given))
    loop = step.replace(outvars=[*carry_out, *saved], eqns=loop_eqns[::-1])
    rest = step.replace(invars=[*consts, *slices, *saved], outvars=results, eqns=rest_eqns[::-1])
    return SplitStep(ClosedJaxpr(loop), ClosedJaxpr(rest), num_consts, num_terms)


def run_split_scan(step: SplitStep, consts: Sequence[Any], carry: Sequence[Any], xs: Sequence[Any], *, length: int,
                   reverse: bool, unroll: int) -> tuple[list[Any], list[Any], list[Any]]:
    """Runs all steps; returns the sums of the terms over the steps, the final carry, and the stacked ys."""
    out = bind_scan(step.loop, consts, carry, xs, length=length, reverse=reverse, unroll=unroll)
    carry, saved = out[:len(carry)], out[len(carry):]
    batched, new_consts = _for_all_steps(step.rest, length, step.num_consts)
    results = eval_jaxpr(batched.jaxpr, (), *new_consts, *consts, *xs, *saved)
    return [reduce_sum(term, (0,)) for term in results[:step.num_terms]], carry, results[step.num_terms:]


@cached_by_jaxpr
def _for_all_steps(rest: ClosedJaxpr, length: int, num_consts: int) -> tuple[ClosedJaxpr, list[Any]]:
    in_axes = tuple(None if i < num_consts else 0 for i in range(len(rest.in_avals)))
    return close_over_constants(batch_jaxpr(rest, Axis(length), in_axes, (0,) * len(rest.out_avals)).jaxpr)
