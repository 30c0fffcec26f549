"""Derivatives and batching of while: forward mode only, since the number of steps, and so of residuals, is not known before it runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Sequence

from laminax_ir.ops import elementwise as op
from laminax_ir.ops.calls import close_over_constants
from laminax_ir.ops.checks import check_effect
from laminax_ir.ops.control_flow import while_p
from laminax_ir.ops.reduction import reduce_or
from laminax_ir.ops.shape import broadcast_in_dim
from laminax_ir.ops.sharding import in_memory
from laminax_ir.programs.effects import debug_effect, ordered_debug_effect
from laminax_ir.programs.jaxpr import ClosedJaxpr, Var
from laminax_ir.recording.evaluation import eval_jaxpr
from laminax_ir.recording.staging import stage
from laminax_ir.types.avals import get_aval
from laminax_ir.types.hi_types import HiType
from laminax_transforms.base.derived_programs import cached_by_jaxpr
from laminax_transforms.base.registry import axis_batching_rule, jvp_rule, linearize_rule, transpose_rule
from laminax_transforms.base.zeros import ZERO, spread
from laminax_transforms.batching.batch_axes import Axis, move_batch_axis
from laminax_transforms.differentiation.dependence import Flags, batched_results, scan_fixpoint, union
from laminax_transforms.programs.jaxpr_transforms import batch_jaxpr
from laminax_transforms.rules.control_flow_scan import DerivedBody, jvp_body
from laminax_transforms.rules.control_flow_values import front_axes, full_tangents, in_groups, nonzero_flags, present

if TYPE_CHECKING:
    from laminax_ir.types.annotations import ArrayLike


@jvp_rule(while_p, symbolic_zeros=True)
def _while_jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
    """Forward mode: the loop carries the tangents beside the values."""
    body, operands = _while_with_tangents(primals, tangents, params)
    count = len(params["body_jaxpr"].out_avals)
    if not any(body.out_flags):
        return while_p.bind(*primals, **params), [ZERO] * count
    out = _bind_while_with_tangents(body, operands, params)
    return out[:count], spread(out[count:], body.out_flags)


@linearize_rule(while_p)
def _while_linearize(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
    """The loop of the tangents runs the primal loop again: the residuals of an unknown number of steps cannot be stored."""
    results = while_p.bind(*primals, **params)
    body, operands = _while_with_tangents(primals, tangents, params)
    if not any(body.out_flags):
        return results, [ZERO] * len(results)
    out = _bind_while_with_tangents(body, operands, params)
    return results, spread(out[len(results):], body.out_flags)


def _while_with_tangents(primals: Sequence[Any], tangents: Sequence[Any], params: dict[str, Any]) -> tuple[DerivedBody, list[list[Any]]]:
    """The body with tangents, and its operands: the condition's constants, the body's, the carry."""
    skipped, num_consts = params["cond_nconsts"], params["body_nconsts"]
    cond_consts, consts, carry = in_groups(primals, skipped, num_consts)
    body = jvp_body(params["body_jaxpr"], nonzero_flags(tangents[skipped:]), num_consts, len(carry))
    _, const_dots, carry_dots = in_groups(tangents, skipped, num_consts)
    const_dots = full_tangents(const_dots, consts, body.in_flags[:num_consts])
    carry_dots = full_tangents(carry_dots, carry, body.in_flags[num_consts:])
    return body, [cond_consts, [*body.consts, *consts, *const_dots], [*carry, *carry_dots]]


def _bind_while_with_tangents(body: DerivedBody, operands: Sequence[Any], params: dict[str, Any]) -> list[Any]:
    condition = _with_more_parameters(params["cond_jaxpr"], body.out_flags, params["cond_nconsts"])
    cond_consts, consts, carry = operands
    return while_p.bind(*cond_consts, *consts, *carry, cond_jaxpr=condition, body_jaxpr=body.jaxpr,
                        cond_nconsts=len(cond_consts), body_nconsts=len(consts))


@cached_by_jaxpr
def _with_more_parameters(condition: ClosedJaxpr, flags: Flags, cond_nconsts: int) -> ClosedJaxpr:
    """The condition on a carry with tangents, which it does not read."""
    jaxpr = condition.jaxpr
    carry = jaxpr.invars[cond_nconsts:]
    tangents = [Var(v.aval.to_tangent_aval()) for v in present(carry, flags)]
    return ClosedJaxpr(jaxpr.replace(invars=[*jaxpr.invars, *tangents]))


@transpose_rule(while_p)
def _while_transpose(cts: Sequence[Any], *operands: Any, **params: Any) -> Sequence[Any]:
    raise ValueError(
        "Reverse-mode differentiation does not work for lax.while_loop or lax.fori_loop with dynamic start/stop values. "
        "Try using lax.scan, or using fori_loop with static start/stop. Forward mode (jvp, jacfwd) works for both.")


@axis_batching_rule(while_p, uses_axis_name=True)
def _while_batch(axis: Axis, operands: Sequence[Any], batch_axes: Sequence[int | None], *, cond_jaxpr: ClosedJaxpr, body_jaxpr: ClosedJaxpr,
                 cond_nconsts: int, body_nconsts: int) -> tuple[Any, Any]:
    mapped = tuple(b is not None for b in batch_axes)
    loop = _batch_while(cond_jaxpr, body_jaxpr, axis, mapped, cond_nconsts, body_nconsts)
    operands = [move_batch_axis(x, b, place, axis.size) for x, b, place in zip(operands, batch_axes, front_axes(loop.in_flags))]
    cond_consts, consts, carry = in_groups(operands, cond_nconsts, body_nconsts)
    consts = [*loop.body_consts, *consts]
    cond_consts = [*loop.cond_consts, *cond_consts]
    axes = list(front_axes(loop.in_flags[cond_nconsts + body_nconsts:]))
    if not loop.is_masked:
        out = while_p.bind(*cond_consts, *consts, *carry, cond_jaxpr=loop.condition, body_jaxpr=loop.body,
                           cond_nconsts=len(cond_consts), body_nconsts=len(consts))
        return out, axes
    (pred,) = eval_jaxpr(loop.condition.jaxpr, (), *cond_consts, *carry)
    body_operands = [*cond_consts, *consts]
    _, *out = while_p.bind(*body_operands, pred, *carry, cond_jaxpr=loop.any_left, body_jaxpr=loop.body, cond_nconsts=0,
                           body_nconsts=len(body_operands))
    return out, axes


@dataclass(frozen=True)
class _BatchedWhile:
    """A while loop over a batch; with a mapped condition (`is_masked`), examples that are done keep their carry.

    Such a loop carries the condition's value of each example in front of the carry: `any_left` is its condition, and
    the body takes the constants of both.
    """
    condition: ClosedJaxpr
    cond_consts: list[Any]
    body: ClosedJaxpr
    body_consts: list[Any]
    in_flags: Flags
    is_masked: bool
    any_left: ClosedJaxpr | None = None


@cached_by_jaxpr
def _batch_while(cond_jaxpr: ClosedJaxpr, body_jaxpr: ClosedJaxpr, axis: Any, mapped: Flags, cond_nconsts: int,
                 body_nconsts: int) -> _BatchedWhile:
    count = len(body_jaxpr.out_avals)
    cond_flags, body_flags = mapped[:cond_nconsts], mapped[cond_nconsts:]

    def step(body: ClosedJaxpr, marks: tuple[bool, ...]) -> Any:
        return batched_results(body, marks, axis)

    flags, carry_flags = scan_fixpoint(body_jaxpr, body_flags, body_nconsts, count, step)
    (is_masked,) = batched_results(cond_jaxpr, (*cond_flags, *carry_flags), axis)
    if is_masked:  # the values that the body changes differ between examples
        changes = [a is not b for a, b in zip(body_jaxpr.jaxpr.invars[body_nconsts:], body_jaxpr.jaxpr.outvars)]
        flags, carry_flags = scan_fixpoint(body_jaxpr, (*flags[:body_nconsts], *union(carry_flags, changes)), body_nconsts,
                                           count, step)
    condition = batch_jaxpr(cond_jaxpr, axis, front_axes((*cond_flags, *carry_flags)), front_axes((is_masked,)))
    condition, cond_consts = close_over_constants(condition.jaxpr)
    body, body_consts = close_over_constants(batch_jaxpr(body_jaxpr, axis, front_axes(flags), front_axes(carry_flags)).jaxpr)
    loop = _BatchedWhile(condition, cond_consts, body, body_consts, (*cond_flags, *flags), is_masked)
    if not is_masked:
        return loop
    if any(effect == check_effect for jaxpr in (cond_jaxpr, body_jaxpr) for effect in jaxpr.effects):
        raise ValueError("checkify-of-vmap-of-while is not supported: the condition of the while_loop is batched, and checks in it would "
                         "be made for examples that are done. Map what checkify returns, vmap(checkify(f)), instead.")
    if has_io(cond_jaxpr, body_jaxpr):
        raise NotImplementedError("IO effect not supported in vmap-of-while, as others are not supported in while_loop with batched "
                                  "predicate. vmap of while_loop: the condition is batched and the loop has IO effects, which would run "
                                  "for examples that are done. Move the effects out of the loop.")
    return _masked(loop, len(cond_consts) + cond_nconsts, len(body_consts) + body_nconsts, carry_flags)


def has_io(*jaxprs: ClosedJaxpr) -> bool:
    """Whether the programs have effects other than debugging effects, which may happen once too often."""
    return any(effect not in (debug_effect, ordered_debug_effect) for jaxpr in jaxprs for effect in jaxpr.effects)


def _masked(loop: _BatchedWhile, num_cond: int, num_body: int, carry_flags: Flags) -> _BatchedWhile:
    condition, body = loop.condition.jaxpr, loop.body.jaxpr

    def step(*args: ArrayLike) -> list[Any]:
        cond_consts, consts, (pred, *carry) = in_groups(args, num_cond, num_body)
        new = eval_jaxpr(body, (), *consts, *carry)
        new = [select_examples(pred, x, old) if has else x for x, old, has in zip(new, carry, carry_flags)]
        return [*eval_jaxpr(condition, (), *cond_consts, *new), *new]

    (pred_aval,) = loop.condition.out_avals
    avals = [*condition.in_avals[:num_cond], *body.in_avals[:num_body], pred_aval, *body.in_avals[num_body:]]
    masked, step_consts = close_over_constants(stage(step, avals, body.debug_info))
    any_left = stage(lambda pred, *_: [reduce_or(pred, (0,))], avals[num_cond + num_body:], "any_left")
    if step_consts:
        raise AssertionError("the masked body of a loop brought constants of its own")
    return _BatchedWhile(loop.condition, loop.cond_consts, masked, loop.body_consts, loop.in_flags, True, any_left)


def select_examples(pred: ArrayLike, on_true: ArrayLike, on_false: ArrayLike) -> Any:
    """Chooses between two batches, example by example; the batch axis is in front."""
    return op.select(beside(pred, on_true), on_true, on_false)


def beside(choice: ArrayLike, examples: ArrayLike) -> Any:
    """A value for each example as an array of the shape of the batch of them, in the same memory."""
    aval = get_aval(examples)
    if isinstance(aval, HiType):
        raise NotImplementedError(f"vmap of cond or while_loop: the predicate is mapped, and values of the type {aval.str_short()} cannot "
                                  "be chosen example by example. Return arrays that are made of them.")
    return in_memory(broadcast_in_dim(choice, aval.shape, (0,)) if aval.ndim > 1 else choice, aval.memory_space)
