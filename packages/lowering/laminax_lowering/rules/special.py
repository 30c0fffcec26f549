"""Special functions: CHLO operations where there is one."""

from __future__ import annotations

from laminax_ir.ops import special as op
from laminax_lowering.registry import lowering_rules


def _define(primitive, name: str) -> None:
    def rule(ctx, *operands):
        return ctx.emit_elementwise(name, operands)
    rule.__module__ = __name__
    lowering_rules.add(primitive, rule)


for _primitive, _name in [
        (op.erf_p, "chlo.erf"), (op.erfc_p, "chlo.erfc"), (op.erf_inv_p, "chlo.erf_inv"), (op.lgamma_p, "chlo.lgamma"),
        (op.digamma_p, "chlo.digamma"), (op.polygamma_p, "chlo.polygamma"), (op.zeta_p, "chlo.zeta"),
        (op.bessel_i1e_p, "chlo.bessel_i1e")]:
    _define(_primitive, _name)
