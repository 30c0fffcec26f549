"""Taylor series of conditionals and scans: the programs they hold are expanded. while, which may stop elsewhere, has no rule."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from laminax_ir.ops.calls import close_over_constants
from laminax_ir.ops.control_flow import bind_scan, common_constants, cond_p, scan_p
from laminax_ir.programs.jaxpr import ClosedJaxpr
from laminax_transforms.differentiation.dependence import scan_fixpoint, tangent_results, union
from laminax_transforms.rules.control_flow_scan import kept_parameters
from laminax_transforms.rules.control_flow_values import in_groups
from laminax_transforms.taylor.series import is_constant, taylor_rule
from laminax_transforms.taylor.taylor import joined, separated, taylor_jaxpr

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array


@taylor_rule(cond_p)
def _cond(index: Sequence[Any], *operands: list[Any], branches: tuple[ClosedJaxpr, ...], **params: Any) -> list[list[Array]]:
    order = len(index) - 1
    varying = tuple(not is_constant(x) for x in operands)
    wanted = tuple(union(*[tangent_results(branch, varying) for branch in branches]))
    expanded = [taylor_jaxpr(branch, varying, order, wanted) for branch in branches]
    consts, programs = common_constants([e.jaxpr for e in expanded])
    out = cond_p.bind(index[0], *consts, *separated(operands, varying), branches=programs, **params)
    return joined(out[:len(wanted)], out[len(wanted):], wanted, order)


@taylor_rule(scan_p)
def _scan(*operands: list[Any], jaxpr: ClosedJaxpr, num_consts: int, num_carry: int, **params: Any) -> list[Any]:
    """A scan of the body's expansion, with the coefficients of constants, carry and slices behind them."""
    order = len(operands[0]) - 1
    varying, outs = scan_fixpoint(jaxpr, tuple(not is_constant(x) for x in operands), num_consts, num_carry, tangent_results)
    outs = tuple(outs)
    body, new_consts = close_over_constants(taylor_jaxpr(jaxpr, tuple(varying), order, outs).jaxpr)
    program = body.jaxpr
    fresh, invars = in_groups(program.invars, len(new_consts))
    consts, carry, xs = _grouped(invars, varying, order, num_consts, num_carry)
    _, carry_out, ys_out = _grouped(program.outvars, outs, order, 0, num_carry)
    step = ClosedJaxpr(program.replace(invars=[*fresh, *consts, *carry, *xs], outvars=[*carry_out, *ys_out]), ())
    const_values, carry_values, xs_values = _grouped(separated(operands, varying), varying, order, num_consts, num_carry)
    out = bind_scan(step, [*new_consts, *const_values], carry_values, xs_values, **kept_parameters(params))
    carry_size = num_carry + order * sum(outs[:num_carry])
    groups = ((out[:carry_size], outs[:num_carry]), (out[carry_size:], outs[num_carry:]))
    return [y for values, flags in groups for y in joined(values[:len(flags)], values[len(flags):], flags, order)]


def _grouped(items: Sequence[Any], varying: tuple[bool, ...], order: int, num_consts: int, num_carry: int) -> list[Any]:
    """Values and coefficients as `separated` gives them, by constants, carry and slices, the values of each before its coefficients."""
    values, terms = in_groups(items, len(varying))
    flags = in_groups(varying, num_consts, num_carry)
    term_groups = in_groups(terms, *[order * sum(group) for group in flags[:2]])
    return [[*group, *group_terms] for group, group_terms in zip(in_groups(values, num_consts, num_carry), term_groups)]
