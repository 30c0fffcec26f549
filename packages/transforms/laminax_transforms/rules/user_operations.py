"""Operations that users define: the rules of the operation, and of its program where it has none."""

from __future__ import annotations

from typing import Any, Sequence

from laminax_ir.ops.user_operations import UserOperation, call_hi_primitive_p
from laminax_ir.programs.jaxpr import ClosedJaxpr
from laminax_transforms.base.registry import axis_batching_rule, jvp_rule, linearize_rule, transpose_rule
from laminax_transforms.base.zeros import ZERO
from laminax_transforms.batching.batch_axes import Axis
from laminax_transforms.custom.rule_arguments import CustomVJPException
from laminax_transforms.rules.calls_custom import transpose_linear_call


@jvp_rule(call_hi_primitive_p, symbolic_zeros=True)
def _user_operation_jvp(primals: Sequence[Any], tangents: Sequence[Any], *, operation: UserOperation, num_consts: int,
                        **_params: Any) -> tuple[list[Any], list[Any]]:
    _check_closed_over(operation, tangents[:num_consts])
    return operation.jvp(primals[num_consts:], tangents[num_consts:])


@linearize_rule(call_hi_primitive_p)
def _user_operation_linearize(primals: Sequence[Any], tangents: Sequence[Any], *, operation: UserOperation, num_consts: int,
                              **_params: Any) -> tuple[list[Any], list[Any]]:
    _check_closed_over(operation, tangents[:num_consts])
    return operation.linearize(primals[num_consts:], tangents[num_consts:])


def _check_closed_over(operation: UserOperation, tangents: Sequence[Any]) -> None:
    if any(t is not ZERO for t in tangents):
        raise CustomVJPException(
            f"{operation.name}: Detected differentiation of an operation with respect to a closed-over value. Its rules have tangents for "
            "its operands only. Pass the value as an operand, or use stop_gradient of it.")


@transpose_rule(call_hi_primitive_p)
def _user_operation_transpose(cts: Sequence[Any], *operands: Any, operation: UserOperation, call_jaxpr: ClosedJaxpr,
                              num_consts: int) -> Sequence[Any]:
    in_cts = operation.transpose(cts, operands[num_consts:])
    return transpose_linear_call(cts, operands, call_jaxpr) if in_cts is None else [*[None] * num_consts, *in_cts]


@axis_batching_rule(call_hi_primitive_p)
def _user_operation_batch(axis: Axis, operands: Sequence[Any], batch_axes: Sequence[int | None], *, operation: UserOperation,
                          num_consts: int, **_params: Any) -> tuple[list[Any], list[int | None]]:
    if any(b is not None for b in batch_axes[:num_consts]):
        raise NotImplementedError(f"vmap of the operation {operation.name}: it closes over a mapped value. Pass the value as an operand.")
    return operation.batch(axis, operands[num_consts:], batch_axes[num_consts:])
