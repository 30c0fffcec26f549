"""Taylor series of calls: the called program is expanded once per question, and called in its new form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from laminax_ir.ops.calls import checkpoint_p, custom_jvp_call_p, custom_vjp_call_p, custom_vmap_call_p, jit_p, name_p
from laminax_ir.programs.jaxpr import ClosedJaxpr
from laminax_ir.programs.primitive import Primitive
from laminax_ir.recording.evaluation import eval_jaxpr
from laminax_transforms.rules.calls import call_like
from laminax_transforms.taylor.series import define_linear, is_constant, taylor_rule
from laminax_transforms.taylor.taylor import joined, separated, taylor_flat, taylor_jaxpr

if TYPE_CHECKING:
    from laminax_ir.types.annotations import ArrayLike

define_linear(name_p)


@taylor_rule(jit_p)
def _jit(*operands: list[Any], jaxpr: ClosedJaxpr, **params: Any) -> list[list[Any]]:
    varying = tuple(not is_constant(x) for x in operands)
    order = len(operands[0]) - 1
    expanded = taylor_jaxpr(jaxpr, varying, order)
    out = call_like(params, expanded.jaxpr, separated(operands, varying))
    count = len(jaxpr.out_avals)
    return joined(out[:count], out[count:], expanded.out_varying, order)


def define_inlined(primitive: Primitive, program: str) -> None:
    """The function itself is expanded: rules of the first order, and memory that a first derivative would save, do not concern it."""
    @taylor_rule(primitive)
    def rule(*operands: list[ArrayLike], **params: Any) -> Any:
        closed = params[program]
        if closed is None:
            raise NotImplementedError(f"jet of {params.get('operation', primitive)!r}: values of types of users' own have no Taylor "
                                      "series. Use jvp, for which the operation has a rule.")
        return taylor_flat(lambda *xs: eval_jaxpr(closed.jaxpr, closed.consts, *xs), operands, len(operands[0]) - 1)


define_inlined(checkpoint_p, "jaxpr")
define_inlined(custom_jvp_call_p, "call_jaxpr")
define_inlined(custom_vjp_call_p, "call_jaxpr")
define_inlined(custom_vmap_call_p, "call")
