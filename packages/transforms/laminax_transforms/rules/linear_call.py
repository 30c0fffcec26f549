"""Linear calls: tangents go through the same call, the transpose calls the other function, and both functions are batched together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Sequence

from laminax_ir.ops.elementwise import add_p
from laminax_ir.ops.linear_call import bind_linear_call, linear_call_p
from laminax_ir.recording.evaluation import eval_jaxpr
from laminax_ir.types.avals import get_aval
from laminax_transforms.base.registry import axis_batching_rule, is_linear, jvp_rule, transpose_rule
from laminax_transforms.base.zeros import ZERO, instantiate, instantiate_cotangent
from laminax_transforms.batching.batch_axes import Axis, batch_axis_first
from laminax_transforms.batching.batching import over_axis
from laminax_transforms.batching.custom_batches import batch_backward
from laminax_transforms.differentiation.differentiation import jvp_flat
from laminax_transforms.programs.jaxpr_transforms import batch_jaxpr

if TYPE_CHECKING:
    from laminax_ir.programs.jaxpr import ClosedJaxpr
    from laminax_ir.types.annotations import ArrayLike


@jvp_rule(linear_call_p, symbolic_zeros=True)
def _linear_call_jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
    """f(r, x) is linear in x: its tangent is f(r, x_dot), and the derivative of f's program in the direction of r_dot."""
    count, call = params["num_residuals"], params["call"]
    results = linear_call_p.bind(*primals, **params)
    dots = [ZERO] * len(results)
    if any(t is not ZERO for t in tangents[count:]):
        linear = [instantiate(t, get_aval(x)) for x, t in zip(primals[count:], tangents[count:])]
        dots = linear_call_p.bind(*primals[:count], *linear, **params)
    if any(t is not ZERO for t in tangents[:count]):
        def of_residuals(*residuals: ArrayLike) -> Any:
            return eval_jaxpr(call.jaxpr, call.consts, *residuals, *primals[count:])
        _, more = jvp_flat(of_residuals, primals[:count], tangents[:count])
        dots = [a if b is ZERO else b if a is ZERO else add_p.bind(a, b) for a, b in zip(dots, more)]
    return results, dots


@transpose_rule(linear_call_p)
def _linear_call_transpose(cts: Sequence[Any], *operands: Any, call: Any, transpose: Callable, num_residuals: int, name: str) -> list[Any]:
    residuals, linear = operands[:num_residuals], operands[num_residuals:]
    if any(is_linear(x) for x in residuals):
        raise TypeError(f"linear_call: {name} cannot be transposed with respect to its residual arguments. Pass them as linear_args, "
                        "if it is linear in them.")
    in_cts = transpose(list(residuals), [instantiate_cotangent(ct, aval) for ct, aval in zip(cts, call.out_avals)])
    return [None] * num_residuals + [ct if is_linear(x) else None for x, ct in zip(linear, in_cts)]


@axis_batching_rule(linear_call_p)
def _linear_call_batch(axis: Axis, operands: Sequence[Any], batch_axes: Sequence[int | None], *, call: ClosedJaxpr, transpose: Callable,
                       num_residuals: int, name: str) -> tuple[Any, Any]:
    """Every linear operand and result is mapped, so that the transposes of the batched functions are each other's too."""
    residual_axes = tuple(batch_axes[:num_residuals])
    linear = [batch_axis_first(x, b, axis.size) for x, b in zip(operands[num_residuals:], batch_axes[num_residuals:])]
    count, out_count = len(linear), len(call.out_avals)
    batched = batch_jaxpr(call, axis, (*residual_axes, *[0] * count), (0,) * out_count).jaxpr

    def batched_transpose(residuals: Sequence[Any], cts: Sequence[Any]) -> Any:
        return batch_backward(transpose, over_axis(axis), axis.size, residuals, residual_axes, cts, [0] * out_count, [0] * count)

    batched_transpose.__name__ = getattr(transpose, "__name__", "transpose")
    return bind_linear_call(batched, batched_transpose, operands[:num_residuals], linear, name), [0] * out_count
