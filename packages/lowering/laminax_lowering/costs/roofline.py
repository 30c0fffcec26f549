"""Estimates of a program's work for roofline models: operations on numbers, bytes of memory, bytes between devices.

A program is walked equation by equation; a rule per operation says what it asks for (`roofline_rules`, and users' own), and what is alive
beside it gives the most bytes at once. The numbers are those of JAX's module of this name, whose model is simple on purpose: all memory is
one level, and what is called "unfused" counts each operation's operands and results, while without that word products only count, since
compilers fuse the rest with them. It differs where JAX leaves something out: a loop of known length counts so often, of the programs of a
branch the one with the most operations counts, and a call's values live beside those around it.
"""

from __future__ import annotations

import functools
import logging
from dataclasses import dataclass, replace

from laminax_ir.ops.control_primitives import cond_p, scan_p, while_p
from laminax_ir.programs.jaxpr import Jaxpr, JaxprEqn, Literal, Var
from laminax_ir.types.abstract_meshes import NamedGrid
from laminax_ir.types.avals import ShapedArray
from laminax_lowering.costs.equation_counts import counted_programs, repetitions
from laminax_lowering.costs.roofline_counts import RooflineResult, RooflineRuleContext, RooflineShape
from laminax_lowering.costs.roofline_rules import roofline_rule

_logger = logging.getLogger("laminax")


def roofline_estimate(jaxpr: Jaxpr, mesh: NamedGrid | None, *, pin_lhs_in_vmem: bool, pin_rhs_in_vmem: bool) -> RooflineResult:
    """What a program asks for on each device.

    Args:
      jaxpr: the program of a device; what nobody reads in it counts, too.
      mesh: the mesh whose devices run it, for collectives.
      pin_lhs_in_vmem, pin_rhs_in_vmem: leave the left operand of products and their result, or the right one, out of the bytes.

    Raises:
      ValueError: at a collective, if there is no mesh.
    """
    return _estimate(jaxpr, _Settings(mesh, pin_lhs_in_vmem, pin_rhs_in_vmem))


@dataclass(frozen=True)
class _Settings:
    """What rules are told besides the equation."""

    mesh: NamedGrid | None
    pin_lhs: bool
    pin_rhs: bool


def _estimate(jaxpr: Jaxpr, settings: _Settings) -> RooflineResult:
    """The sum over a program's equations, and the most bytes alive: results may lie where operands did that are read for the last time."""
    last_use = {var: eqn for eqn in jaxpr.eqns for var in eqn.invars if type(var) is not Literal}
    kept = {var for var in jaxpr.outvars if type(var) is not Literal}
    alive = {var: _bytes(var) for var in jaxpr.all_invars}
    total, current = RooflineResult.zeros(), sum(alive.values())
    peak = current
    for eqn in jaxpr.eqns:
        result, inside = _of_equation(eqn, settings)
        total += result
        operands = {var for var in eqn.invars if type(var) is not Literal}
        if inside is not None and eqn.primitive in (scan_p, while_p):  # the whole of what a loop reads is there beside one step
            peak = max(peak, current + inside)
        elif inside is not None:  # a call's operands are in its program
            peak = max(peak, current - sum(alive[var] for var in operands) + inside)
        alive.update((var, _bytes(var)) for var in eqn.outvars)
        current += sum(alive[var] for var in eqn.outvars)
        for var in {*operands, *eqn.outvars}:
            if var not in kept and last_use.get(var, eqn) is eqn:
                current -= alive.pop(var)
        peak = max(peak, current)
    return replace(total, peak_hbm_bytes=peak)


def _bytes(var: Var) -> int:
    return RooflineShape.from_aval(var.aval).bytes if isinstance(var.aval, ShapedArray) else 0


def _of_equation(eqn: JaxprEqn, settings: _Settings) -> tuple[RooflineResult, int | None]:
    """The count of one equation, and the most bytes alive in the programs that it runs, None if it runs none."""
    rule = roofline_rule(eqn.primitive)
    if rule is None and (programs := counted_programs(eqn)):
        inner = [_estimate(program, settings) for program in programs]
        peak = max(part.peak_hbm_bytes for part in inner)
        if eqn.primitive is cond_p:
            inner = [max(inner, key=lambda result: result.unfused_flops)]
        result = functools.reduce(RooflineResult.__add__, inner) * (repetitions(eqn) if eqn.primitive is scan_p else 1)
        return result, peak
    if rule is None:
        _logger.warning("roofline: the operation %s has no rule and counts as nothing; register_roofline gives it one. It is in %s.",
                        eqn.primitive.name, eqn)
        return RooflineResult.zeros(), None
    context = RooflineRuleContext(
        name_stack=eqn.source_info.name_stack, primitive=eqn.primitive, avals_in=[atom.aval for atom in eqn.invars],
        avals_out=[var.aval for var in eqn.outvars], jaxpr_eqn_ctx=eqn, mesh=settings.mesh, pin_lhs_in_vmem=settings.pin_lhs,
        pin_rhs_in_vmem=settings.pin_rhs)
    return rule(context, *map(RooflineShape.from_aval, context.avals_in), **eqn.params), None
