"""Calls: the called jaxpr is transformed once per question, and called in its new form."""

from __future__ import annotations

from typing import Iterable

from laminax_ir import config
from laminax_ir.avals import get_aval
from laminax_ir.dce import dce_jaxpr
from laminax_ir.jaxpr import ClosedJaxpr, eval_jaxpr
from laminax_ir.ops.calls import (
    CustomJVPCall,
    CustomVJPCall,
    bind_checkpoint,
    call_jaxpr,
    checkpoint_p,
    close_over_constants,
    custom_jvp_call_p,
    custom_vjp_call_p,
    custom_vmap_call_p,
    jit_p,
    name_p,
    run_forward,
)
from laminax_ir.ops.reduction import reduce_sum
from laminax_transforms.batching import Axis, batch_flat, broadcast_batch, move_axis
from laminax_transforms.custom_rules import batch_custom_jvp, batch_custom_vjp, linearize_custom_vjp
from laminax_transforms.differentiation import jvp_flat, linear_program_of
from laminax_transforms.jaxpr_transforms import (
    add_batch_axis,
    batch_jaxpr,
    cached_by_jaxpr,
    jvp_jaxpr,
    linearize_jaxpr,
    transpose_jaxpr,
)
from laminax_transforms.registry import axis_batching_rule, batching_rule, is_linear, jvp_rules, linearize_rule, transpose_rule
from laminax_transforms.rematerialization import Rematerialized, rematerialize
from laminax_transforms.zeros import ZERO, instantiate, instantiate_cotangent


def call_like(params: dict, closed, operands, name: str | None = None) -> list:
    """A jit call of a transformed jaxpr with what carries over of the original call's parameters."""
    return call_jaxpr(closed, *operands, name=name or params["name"], inline=params["inline"])


def _jit_jvp(primals, tangents, params):
    closed = params["jaxpr"]
    nonzero = tuple(t is not ZERO for t in tangents)
    derived = jvp_jaxpr(closed, nonzero)
    out = call_like(params, derived.jaxpr, [*primals, *(t for t in tangents if t is not ZERO)])
    count = len(closed.out_avals)
    found = iter(out[count:])
    return out[:count], [next(found) if has else ZERO for has in derived.out_nonzero]


jvp_rules.add(jit_p, _jit_jvp)


def _jit_linearize(primals, tangents, params):
    closed = params["jaxpr"]
    nonzero = tuple(t is not ZERO for t in tangents)
    split = linearize_jaxpr(closed, nonzero)
    count = len(closed.out_avals)
    outputs = call_like(params, split.primal, primals)
    if not any(split.out_nonzero):
        return outputs[:count], [ZERO] * count
    residuals = split.residuals(primals, outputs)
    found = iter(call_like(params, split.linear, [*residuals, *(t for t in tangents if t is not ZERO)]))
    return outputs[:count], [next(found) if has else ZERO for has in split.out_nonzero]


linearize_rule.add(jit_p, _jit_linearize)


@transpose_rule(jit_p)
def _jit_transpose(cts, *operands, **params):
    linear = tuple(is_linear(x) for x in operands)
    adjoint = transpose_jaxpr(params["jaxpr"], linear, tuple(ct is not ZERO for ct in cts))
    fixed = [x for x in operands if not is_linear(x)]
    out = iter(call_like(params, adjoint.jaxpr, [*fixed, *(ct for ct in cts if ct is not ZERO)]))
    has_ct = iter(adjoint.out_nonzero)
    return [(next(out) if next(has_ct) else ZERO) if lin else None for lin in linear]


@axis_batching_rule(jit_p)
def _jit_batch(axis, operands, batch_axes, **params):
    batched = batch_jaxpr(params["jaxpr"], axis, tuple(batch_axes))
    return call_like(params, batched.jaxpr, operands), list(batched.out_axes)


# Checkpointed calls. Their linear part is one equation: a call that computes the residuals again.


def _checkpoint_like(params: dict, closed, operands, kept: Iterable[int], differentiated: bool) -> list:
    """Binds a call like that of the parameters, whose operands those numbered `kept` are the first of."""
    flags = params["prevent_cse"]
    if isinstance(flags, tuple):
        flags = tuple(flags[i] for i in kept)
        flags += (True,) * (len(operands) - len(flags))
    return bind_checkpoint(closed, *operands, name=params["name"], prevent_cse=flags, policy=params["policy"],
                           differentiated=differentiated)


def _checkpoint_jvp(primals, tangents, params):
    closed = params["jaxpr"]
    derived = jvp_jaxpr(closed, tuple(t is not ZERO for t in tangents))
    out = _checkpoint_like(params, derived.jaxpr, [*primals, *(t for t in tangents if t is not ZERO)], range(len(primals)),
                           params["differentiated"])
    count = len(closed.out_avals)
    found = iter(out[count:])
    return out[:count], [next(found) if has else ZERO for has in derived.out_nonzero]


jvp_rules.add(checkpoint_p, _checkpoint_jvp)


def _checkpoint_linearize(primals, tangents, params):
    closed = params["jaxpr"]
    split = rematerialize(closed, tuple(t is not ZERO for t in tangents), params["policy"])
    outputs = _checkpoint_like(params, split.primal, primals, range(len(primals)), params["differentiated"])
    count = len(closed.out_avals)
    if not any(split.out_nonzero):
        return outputs[:count], [ZERO] * count
    if config.log_checkpoint_residuals.value:
        _log_saved_values(closed, split)
    residuals = [*[primals[i] for i in split.used_inputs], *outputs[count:]]
    found = iter(_checkpoint_like(params, split.tangent, [*residuals, *(t for t in tangents if t is not ZERO)], split.used_inputs, True))
    return outputs[:count], [next(found) if has else ZERO for has in split.out_nonzero]


linearize_rule.add(checkpoint_p, _checkpoint_linearize)


def _log_saved_values(closed: ClosedJaxpr, split: Rematerialized) -> None:
    """What the option `log_checkpoint_residuals` asks for."""
    import logging  # few need it

    from laminax_transforms.checkpoint import describe_value
    made = {v: eqn for eqn in split.primal.eqns for v in eqn.outvars}
    inputs = [f"  {closed.in_avals[i].str_short()}" for i in split.used_inputs]
    values = [f"  {v.aval.str_short()} from {describe_value(made[v]).removeprefix('output of ')}"
              for v in split.primal.jaxpr.outvars[len(closed.out_avals):]]
    parts = [f"saving {what}:\n" + "\n".join(lines) for what, lines in (("inputs with shapes", inputs), ("these intermediates", values)) if lines]
    logging.getLogger("laminax").warning("remat-decorated function %s", "\nand ".join(parts) or "saving nothing")


@transpose_rule(checkpoint_p)
def _checkpoint_transpose(cts, *operands, **params):
    linear = tuple(is_linear(x) for x in operands)
    adjoint = transpose_jaxpr(params["jaxpr"], linear, tuple(ct is not ZERO for ct in cts))
    fixed = [x for x in operands if not is_linear(x)]
    out = iter(_checkpoint_like(params, adjoint.jaxpr, [*fixed, *(ct for ct in cts if ct is not ZERO)],
                                [i for i, lin in enumerate(linear) if not lin], params["differentiated"]))
    has_ct = iter(adjoint.out_nonzero)
    return [(next(out) if next(has_ct) else ZERO) if lin else None for lin in linear]


@axis_batching_rule(checkpoint_p)
def _checkpoint_batch(axis, operands, batch_axes, **params):
    batched = batch_jaxpr(params["jaxpr"], axis, tuple(batch_axes))
    return _checkpoint_like(params, batched.jaxpr, operands, range(len(operands)), params["differentiated"]), list(batched.out_axes)


def _name_jvp(primals, tangents, params):
    return name_p.bind(*primals, **params), tangents[0]


jvp_rules.add(name_p, _name_jvp)


@transpose_rule(name_p)
def _name_transpose(ct, x, *, name):
    return [ct]


@batching_rule(name_p)
def _name_batch(operands, batch_axes, *, name):
    return name_p.bind(*operands, name=name), batch_axes[0]


# Staged custom calls: the rules of the Python objects, on the equation's parameters.


def _as_custom_jvp(operands, params) -> CustomJVPCall:
    closed, skipped = params["call_jaxpr"], params["num_consts"]
    rule = params["jvp"]

    def fun(*args):
        return eval_jaxpr(closed.jaxpr, closed.consts, *args)

    def jvp(primals, tangents):  # the constants that the function closed over come first and have no tangents
        return rule(primals[skipped:], tangents[skipped:])

    return CustomJVPCall(fun, jvp, operands, params["name"])


def _custom_jvp_call_jvp(primals, tangents, params):
    return _as_custom_jvp(primals, params).jvp(primals, tangents)


jvp_rules.add(custom_jvp_call_p, _custom_jvp_call_jvp)


@axis_batching_rule(custom_jvp_call_p)
def _custom_jvp_call_batch(axis, operands, batch_axes, **params):
    batched, results_batched = batch_custom_jvp(_as_custom_jvp(operands, params), axis, None, operands, batch_axes)
    results = batched.bind()
    return results, [0 if results_batched() else None] * len(results)


@transpose_rule(custom_jvp_call_p)
def _custom_jvp_call_transpose(cts, *operands, call_jaxpr, **_params):
    return _transpose_linear_call(cts, operands, call_jaxpr)


def _transpose_linear_call(cts, operands, closed):
    """The call is linear in the marked operands: its rule does not matter, its adjoint is that of its jaxpr."""
    linear = tuple(is_linear(x) for x in operands)
    adjoint = transpose_jaxpr(closed, linear, tuple(ct is not ZERO for ct in cts))
    fixed = [x for x in operands if not is_linear(x)]
    out = iter(eval_jaxpr(adjoint.jaxpr.jaxpr, adjoint.jaxpr.consts, *fixed, *(ct for ct in cts if ct is not ZERO)))
    has_ct = iter(adjoint.out_nonzero)
    return [(next(out) if next(has_ct) else ZERO) if lin else None for lin in linear]


def _as_custom_vjp(operands, params) -> CustomVJPCall:
    closed, skipped = params["call_jaxpr"], params["num_consts"]
    staged_fwd, staged_bwd = params["fwd"], params["bwd"]

    def fun(*args):
        return eval_jaxpr(closed.jaxpr, closed.consts, *args)

    def fwd(args, perturbed):  # the constants that the function closed over come first and have no cotangents
        results, residuals, bwd = run_forward(staged_fwd, staged_bwd, args[skipped:], perturbed[skipped:])
        return results, residuals, lambda residuals, cts: [*[ZERO] * skipped, *bwd(residuals, cts)]

    return CustomVJPCall(fun, fwd, staged_bwd, operands, params["name"])


def _custom_vjp_call_jvp(primals, tangents, params):
    return linearize_custom_vjp(_as_custom_vjp(primals, params), primals, tangents)


jvp_rules.add(custom_vjp_call_p, _custom_vjp_call_jvp)


@axis_batching_rule(custom_vjp_call_p)
def _custom_vjp_call_batch(axis, operands, batch_axes, **params):
    batched, results_batched = batch_custom_vjp(_as_custom_vjp(operands, params), axis, None, operands, batch_axes)
    results = batched.bind()
    return results, [0 if results_batched() else None] * len(results)


# Calls with a batching rule of their own. Their derivatives are such calls too, whose rules are derived from the user's: a
# rule is a function over the batch, which can be differentiated and transposed like any other.


@axis_batching_rule(custom_vmap_call_p)
def _custom_vmap_batch(axis, operands, batch_axes, *, call, rule, name):
    mapped = [b is not None for b in batch_axes]
    in_front = [x if b is None else move_axis(x, b, 0) for x, b in zip(operands, batch_axes)]
    results, out_mapped = rule(axis.size, mapped, in_front)
    return results, [0 if is_mapped else None for is_mapped in out_mapped]


def _custom_vmap_jvp(primals, tangents, params):
    call = params["call"]
    nonzero = tuple(t is not ZERO for t in tangents)
    derived = jvp_jaxpr(call, nonzero, True)
    program, consts = close_over_constants(derived.jaxpr)
    count = len(call.out_avals)
    out = custom_vmap_call_p.bind(*consts, *primals, *(t for t in tangents if t is not ZERO), call=program, name=params["name"],
                                  rule=_derivative_rule(params["rule"], nonzero, len(consts)))
    return out[:count], [t if aval.to_tangent_aval() is aval else ZERO for t, aval in zip(out[count:], call.out_avals)]


def _derivative_rule(rule, nonzero, skipped: int):
    """The user's rule, with tangents: `(*consts, *primals, *tangents) -> (*results, *tangents of results)`."""
    count = len(nonzero)
    differentiated = [i for i, has in enumerate(nonzero) if has]

    def of_rule(size, flags, operands):
        """The user's rule with these flags, and its derivative: results and tangents, and which of them are mapped."""
        primals, given = operands[:count], iter(operands[count:])
        out_mapped: list[bool] = []

        def over_the_batch(*xs):
            results, found = rule(size, flags, xs)
            out_mapped.extend(found)
            return results

        results, out = jvp_flat(over_the_batch, primals, [next(given) if has else ZERO for has in nonzero])
        return [*results, *[instantiate(t, get_aval(r)) for t, r in zip(out, results)]], [*out_mapped, *out_mapped]

    def derived(size, mapped, operands):
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


jvp_rules.add(custom_vmap_call_p, _custom_vmap_jvp)


def _custom_vmap_linearize(primals, tangents, params):
    """The tangents are one linear equation, which computes again what it needs of the primals."""
    call = params["call"]
    nonzero = tuple(t is not ZERO for t in tangents)
    derived = jvp_jaxpr(call, nonzero, True)
    count, given = len(call.out_avals), [t for t in tangents if t is not ZERO]
    program, consts = close_over_constants(_tangents_only(derived.jaxpr, count))
    with_tangents = _derivative_rule(params["rule"], nonzero, len(consts))

    def rule(size, mapped, operands):
        results, out_mapped = with_tangents(size, mapped, operands)
        return results[count:], out_mapped[count:]

    results = custom_vmap_call_p.bind(*primals, **params)
    out = custom_vmap_call_p.bind(*consts, *primals, *given, call=program, name=params["name"], rule=rule)
    return results, [t if aval.to_tangent_aval() is aval else ZERO for t, aval in zip(out, call.out_avals)]


linearize_rule.add(custom_vmap_call_p, _custom_vmap_linearize)


@cached_by_jaxpr
def _tangents_only(closed, count: int):
    jaxpr, _ = dce_jaxpr(closed.jaxpr, [False] * count + [True] * (len(closed.out_avals) - count), True)
    return closed.replace(jaxpr=jaxpr)


@transpose_rule(custom_vmap_call_p)
def _custom_vmap_transpose(cts, *operands, call, rule, name):
    linear = tuple(is_linear(x) for x in operands)
    has_ct = tuple(ct is not ZERO for ct in cts)
    adjoint = transpose_jaxpr(call, linear, has_ct, True)
    program, consts = close_over_constants(adjoint.jaxpr)
    fixed = [x for x in operands if not is_linear(x)]
    linear_avals = [x for x in operands if is_linear(x)]
    num_consts, num_fixed = len(consts), len(fixed)  # the rule must not hold on to the values

    def transposed(size, mapped, values):
        mapped, values = mapped[num_consts:], values[num_consts:]
        out_mapped: list[bool] = []

        def over_the_batch(*tangents):
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


def _fitted(ct, is_mapped: bool, wanted: bool, size: int):
    """A cotangent with a batch axis in front if its result has one, without if it has not."""
    if is_mapped == wanted:
        return ct
    return broadcast_batch(ct, size, 0) if wanted else reduce_sum(ct, (0,))
