"""Calls of functions with derivative or batching rules of their own: the rules of the Python objects, on the equation's parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Sequence

from laminax_ir.ops.calls import (
    CustomJVPCall,
    CustomVJPCall,
    close_over_constants,
    custom_jvp_call_p,
    custom_vjp_call_p,
    custom_vjp_tangent_p,
    custom_vmap_call_p,
)
from laminax_ir.ops.reduction import reduce_sum
from laminax_ir.programs.dce import dce_jaxpr
from laminax_ir.programs.jaxpr import ClosedJaxpr
from laminax_ir.recording.evaluation import eval_jaxpr
from laminax_ir.types.avals import get_aval
from laminax_transforms.base.derived_programs import cached_by_jaxpr
from laminax_transforms.base.registry import axis_batching_rule, is_linear, jvp_rule, linearize_rule, transpose_rule
from laminax_transforms.base.zeros import ZERO, has_tangents, instantiate, instantiate_cotangent
from laminax_transforms.batching.batch_axes import Axis, add_batch_axis, batch_axis_first, broadcast_batch, move_axis
from laminax_transforms.batching.batching import batch_flat, over_axis
from laminax_transforms.batching.custom_batches import batch_backward, batch_custom_jvp, batch_custom_vjp
from laminax_transforms.custom.rule_arguments import CustomVJPException
from laminax_transforms.differentiation.custom_vjp_tangents import linearize_custom_vjp
from laminax_transforms.differentiation.differentiation import jvp_flat, linear_program_of
from laminax_transforms.programs.jaxpr_transforms import jvp_jaxpr, transpose_jaxpr

if TYPE_CHECKING:
    from laminax_ir.types.annotations import ArrayLike
    from laminax_transforms.custom.custom_batching import _FlatRule


@jvp_rule(custom_jvp_call_p, symbolic_zeros=True)
def _custom_jvp_call_jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
    return CustomJVPCall.of_program(primals, params).jvp(primals, tangents)


@axis_batching_rule(custom_jvp_call_p)
def _custom_jvp_call_batch(axis: Axis, operands: Sequence[Any], batch_axes: Sequence[int | None], **params: Any) -> tuple[Any, Any]:
    call = CustomJVPCall.of_program(operands, params)
    batched, results_batched = batch_custom_jvp(call, over_axis(axis), axis.size, operands, batch_axes)
    results = batched.bind()
    return results, [0 if results_batched() else None] * len(results)


@transpose_rule(custom_jvp_call_p)
def _custom_jvp_call_transpose(cts: Sequence[Any], *operands: Any, call_jaxpr: ClosedJaxpr, **_params: Any) -> Sequence[Any]:
    return transpose_linear_call(cts, operands, call_jaxpr)


def transpose_linear_call(cts: Sequence[Any], operands: Sequence[Any], closed: ClosedJaxpr) -> list[Any]:
    """The call is linear in the marked operands: its adjoint is that of its jaxpr, and its rule is not needed."""
    linear = tuple(is_linear(x) for x in operands)
    adjoint = transpose_jaxpr(closed, linear, tuple(ct is not ZERO for ct in cts))
    fixed = [x for x in operands if not is_linear(x)]
    out = iter(eval_jaxpr(adjoint.jaxpr.jaxpr, adjoint.jaxpr.consts, *fixed, *(ct for ct in cts if ct is not ZERO)))
    has_ct = iter(adjoint.out_nonzero)
    return [(next(out) if next(has_ct) else ZERO) if lin else None for lin in linear]


def _as_custom_vjp(operands: Sequence[Any], params: dict[str, Any]) -> CustomVJPCall:
    call, skipped = CustomVJPCall.of_program(operands, params), params["num_consts"]
    whole_fwd = call.fwd

    def fwd(args: Sequence[ArrayLike], perturbed: Sequence[bool]) -> tuple[Any, Any, Any]:
        if any(perturbed[:skipped]):
            raise CustomVJPException(
                f"{params['name']}: Detected differentiation of a custom_vjp function with respect to a closed-over value. Its rule "
                "has cotangents for its arguments only. Pass the value as an argument, or use stop_gradient of it.")
        return whole_fwd(args, perturbed)

    call.fwd = fwd
    return call


@jvp_rule(custom_vjp_call_p, symbolic_zeros=True)
def _custom_vjp_call_jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
    return linearize_custom_vjp(_as_custom_vjp(primals, params), primals, tangents)


@axis_batching_rule(custom_vjp_call_p)
def _custom_vjp_call_batch(axis: Axis, operands: Sequence[Any], batch_axes: Sequence[int | None], **params: Any) -> tuple[Any, Any]:
    batched, results_batched = batch_custom_vjp(_as_custom_vjp(operands, params), over_axis(axis), axis.size, operands, batch_axes)
    results = batched.bind()
    return results, [0 if results_batched() else None] * len(results)


# The tangents of functions with a backward rule, which `custom_vjp_tangents` records.


@transpose_rule(custom_vjp_tangent_p)
def _custom_vjp_tangent_transpose(cts: Sequence[Any], *operands: Any, bwd: Any, num_residuals: int, out_avals: Any, name: str) -> list[Any]:
    in_cts = bwd(operands[:num_residuals], cts)
    return [None] * num_residuals + list(in_cts)


@axis_batching_rule(custom_vjp_tangent_p)
def _custom_vjp_tangent_batch(axis: Axis, operands: Sequence[Any], batch_axes: Sequence[int | None], **params: Any) -> tuple[Any, Any]:
    """Batches the recorded tangent map, whose transpose is the backward rule over the batch."""
    count, bwd = params["num_residuals"], params["bwd"]
    tangents = [batch_axis_first(t, b, axis.size) for t, b in zip(operands[count:], batch_axes[count:])]
    num_tangents, residual_axes = len(tangents), list(batch_axes[:count])  # the rule must not hold on to the operands

    def batched_bwd(residuals: Sequence[Any], cts: Sequence[Any]) -> Any:
        return batch_backward(bwd, over_axis(axis), axis.size, residuals, residual_axes, cts, [0] * len(cts), [0] * num_tangents)

    out_avals = tuple(add_batch_axis(aval, axis.size, 0) for aval in params["out_avals"])
    out = custom_vjp_tangent_p.bind(*operands[:count], *tangents,
                                    **{**params, "bwd": batched_bwd, "out_avals": out_avals})
    return out, [0] * len(out)


# Calls with a batching rule of their own. Their derivatives are such calls too, whose rules are derived from the user's: a
# rule is a function over the batch, which can be differentiated and transposed like any other.


@axis_batching_rule(custom_vmap_call_p)
def _custom_vmap_batch(axis: Axis, operands: Sequence[Any], batch_axes: Sequence[int | None], *, call: ClosedJaxpr,
                       rule: _FlatRule | Callable, name: str) -> tuple[Any, Any]:
    mapped = [b is not None for b in batch_axes]
    in_front = [x if b is None else move_axis(x, b, 0) for x, b in zip(operands, batch_axes)]
    results, out_mapped = rule(axis.size, mapped, in_front)
    return results, [0 if is_mapped else None for is_mapped in out_mapped]


@jvp_rule(custom_vmap_call_p, symbolic_zeros=True)
def _custom_vmap_jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
    call = params["call"]
    nonzero = tuple(t is not ZERO for t in tangents)
    derived = jvp_jaxpr(call, nonzero, True)
    program, consts = close_over_constants(derived.jaxpr)
    count = len(call.out_avals)
    out = custom_vmap_call_p.bind(*consts, *primals, *(t for t in tangents if t is not ZERO), call=program, name=params["name"],
                                  rule=_derivative_rule(params["rule"], nonzero, len(consts)))
    return out[:count], [t if has_tangents(aval) else ZERO for t, aval in zip(out[count:], call.out_avals)]


def _derivative_rule(rule: _FlatRule, nonzero: tuple[bool, ...], skipped: int) -> Callable:
    """The user's rule, with tangents: `(*consts, *primals, *tangents) -> (*results, *tangents of results)`."""
    count = len(nonzero)
    differentiated = [i for i, has in enumerate(nonzero) if has]

    def of_rule(size: int, flags: Sequence[bool], operands: Sequence[Any]) -> tuple[Any, Any]:
        """The user's rule with these flags, and its derivative: results and tangents, and which of them are mapped."""
        primals, given = operands[:count], iter(operands[count:])
        out_mapped: list[bool] = []

        def over_the_batch(*xs: ArrayLike) -> Any:
            results, found = rule(size, flags, xs)
            out_mapped.extend(found)
            return results

        results, out = jvp_flat(over_the_batch, primals, [next(given) if has else ZERO for has in nonzero])
        return [*results, *[instantiate(t, get_aval(r)) for t, r in zip(out, results)]], [*out_mapped, *out_mapped]

    def derived(size: int, mapped: Sequence[bool], operands: Sequence[Any]) -> Any:
        mapped, operands = mapped[skipped:], list(operands[skipped:])
        flags = list(mapped[:count])  # the rule knows one flag for a primal and its tangent
        for i, tangent_mapped in zip(differentiated, mapped[count:]):
            flags[i] = flags[i] and tangent_mapped
        if not any(flags) and any(mapped):  # no operand is mapped with its tangent: the rule has one example, its derivative many
            outputs, axes = batch_flat(lambda *xs: of_rule(size, flags, xs)[0], Axis(size), operands, [0 if m else None for m in mapped])
            return [x if b is None else move_axis(x, b, 0) for x, b in zip(outputs, axes)], [b is not None for b in axes]
        for i, j in zip(differentiated, range(count, len(operands))):
            if mapped[i] != mapped[j]:
                k, flags[i] = (j if mapped[i] else i), True
                operands[k] = broadcast_batch(operands[k], size, 0)
        return of_rule(size, flags, operands)

    return derived


@linearize_rule(custom_vmap_call_p)
def _custom_vmap_linearize(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
    """The tangents are one linear equation, which recomputes the primal values that it needs."""
    call = params["call"]
    nonzero = tuple(t is not ZERO for t in tangents)
    derived = jvp_jaxpr(call, nonzero, True)
    count, given = len(call.out_avals), [t for t in tangents if t is not ZERO]
    program, consts = close_over_constants(_tangents_only(derived.jaxpr, count))
    with_tangents = _derivative_rule(params["rule"], nonzero, len(consts))

    def rule(size: int, mapped: Sequence[bool], operands: Sequence[Any]) -> tuple[Any, Any]:
        results, out_mapped = with_tangents(size, mapped, operands)
        return results[count:], out_mapped[count:]

    results = custom_vmap_call_p.bind(*primals, **params)
    out = custom_vmap_call_p.bind(*consts, *primals, *given, call=program, name=params["name"], rule=rule)
    return results, [t if has_tangents(aval) else ZERO for t, aval in zip(out, call.out_avals)]


@cached_by_jaxpr
def _tangents_only(closed: ClosedJaxpr, count: int) -> ClosedJaxpr:
    jaxpr, _ = dce_jaxpr(closed.jaxpr, [False] * count + [True] * (len(closed.out_avals) - count), True)
    return closed.replace(jaxpr=jaxpr)


@transpose_rule(custom_vmap_call_p)
def _custom_vmap_transpose(cts: Sequence[Any], *operands: Any, call: ClosedJaxpr, rule: Callable, name: str) -> list[Any]:
    linear = tuple(is_linear(x) for x in operands)
    has_ct = tuple(ct is not ZERO for ct in cts)
    adjoint = transpose_jaxpr(call, linear, has_ct, True)
    program, consts = close_over_constants(adjoint.jaxpr)
    fixed = [x for x in operands if not is_linear(x)]
    linear_avals = [x for x in operands if is_linear(x)]
    num_consts, num_fixed = len(consts), len(fixed)  # the rule must not hold on to the values

    def transposed(size: int, mapped: Sequence[bool], values: Sequence[ArrayLike]) -> tuple[Any, Any]:
        mapped, values = mapped[num_consts:], values[num_consts:]
        out_mapped: list[bool] = []

        def over_the_batch(*tangents: ArrayLike) -> Any:
            found, others, flags = iter(tangents), iter(values[:num_fixed]), iter(mapped[:num_fixed])
            xs = [next(found) if is_lin else next(others) for is_lin in linear]
            results, which = rule(size, [is_lin or next(flags) for is_lin in linear], xs)
            out_mapped.extend(which)
            return results

        linear_program = linear_program_of(over_the_batch, [add_batch_axis(aval, size, 0) for aval in linear_avals])
        given = iter(zip(values[num_fixed:], mapped[num_fixed:]))
        batched = [_fitted(*next(given), is_mapped, size) if has else ZERO for has, is_mapped in zip(has_ct, out_mapped)]
        in_cts = linear_program.transpose(batched)
        in_cts = [instantiate_cotangent(ct, add_batch_axis(aval, size, 0)) for ct, aval in zip(in_cts, linear_avals)]
        return in_cts, [True] * len(in_cts)

    out = iter(custom_vmap_call_p.bind(*consts, *fixed, *(ct for ct in cts if ct is not ZERO), call=program, name=name,
                                       rule=transposed))
    return [next(out) if is_lin else None for is_lin in linear]


def _fitted(ct: Any, is_mapped: bool, wanted: bool, size: int) -> Any:
    """A cotangent with a batch axis in front if its result has one, without if it has not."""
    if is_mapped == wanted:
        return ct
    return broadcast_batch(ct, size, 0) if wanted else reduce_sum(ct, (0,))
