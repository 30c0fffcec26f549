"""Special functions: CHLO operations where there is one, programs of `laminax_ir.functions.special_programs` elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable

import numpy as np

import laminax_lowering.rules.special_cpu  # noqa: F401
from laminax_ir.functions.special_programs import special_program
from laminax_ir.ops import special as op
from laminax_ir.programs.primitive import Primitive
from laminax_lowering.writing.context import FunctionWriter
from laminax_lowering.writing.registry import lowering_rule, lowering_rules

if TYPE_CHECKING:
    from laminax_lowering.writing.ssa_values import Value


def _define(primitive: Primitive, name: str) -> None:
    def rule(ctx: FunctionWriter, *operands: Value) -> Any:
        return ctx.emit_elementwise(name, operands)
    rule.__module__ = __name__
    lowering_rules.add(primitive, rule)


for _primitive, _name in [
        (op.erf_p, "chlo.erf"), (op.erfc_p, "chlo.erfc"), (op.erf_inv_p, "chlo.erf_inv"), (op.lgamma_p, "chlo.lgamma"),
        (op.digamma_p, "chlo.digamma"), (op.polygamma_p, "chlo.polygamma"), (op.zeta_p, "chlo.zeta"),
        (op.bessel_i1e_p, "chlo.bessel_i1e")]:
    _define(_primitive, _name)


@lowering_rule(op.lgamma_p, platforms=("cpu",))
def _lower_lgamma(ctx: FunctionWriter, x: Value) -> Value:
    """Of float32 in float64: XLA's sum of logarithms cancels near 1 and 2, where the value is 0, and near the negative zeros."""
    wide = ctx.convert(x, np.dtype(np.float64 if x.aval.dtype == np.float32 else x.aval.dtype))
    return ctx.convert(ctx.emit("chlo.lgamma", [wide], results=[wide.aval]), x.aval.dtype)


# The others run as programs, one private function each.


def _lower_by_program(primitive: Primitive) -> Callable:
    def rule(ctx: FunctionWriter, *operands: Any) -> Any:
        aval = ctx.avals_out[0].strip_weak_type()
        full = [x if x.shape == aval.shape else ctx.broadcast_to(x, aval.shape) for x in operands]
        return ctx.call_program(special_program(primitive, aval), primitive.name, full, [aval])[0]
    return rule


for _primitive in (op.bessel_i0e_p, op.igamma_p, op.igammac_p, op.igamma_grad_a_p, op.random_gamma_grad_p,
                   op.regularized_incomplete_beta_p):
    lowering_rule(_primitive)(_lower_by_program(_primitive))
