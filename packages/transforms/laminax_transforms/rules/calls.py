"""Calls: the called jaxpr is transformed once per question, and called in its new form."""

from __future__ import annotations

from laminax_ir.jaxpr import eval_jaxpr
from laminax_ir.ops.calls import (
    CustomJVPCall, CustomVJPCall, bind_checkpoint, call_jaxpr, checkpoint_p, custom_jvp_call_p, custom_vjp_call_p, jit_p, name_p,
)
from laminax_transforms.custom_rules import batch_custom_jvp, batch_custom_vjp, linearize_custom_vjp
from laminax_transforms.jaxpr_transforms import batch_jaxpr, jvp_jaxpr, linearize_jaxpr, transpose_jaxpr
from laminax_transforms.rematerialization import rematerialize
from laminax_transforms.registry import axis_batching_rule, batching_rule, is_linear, jvp_rules, linearize_rule, transpose_rule
from laminax_transforms.zeros import ZERO


def _call_like(params: dict, closed, operands, name: str | None = None) -> list:
    """A jit call of a transformed jaxpr with what carries over of the original call's parameters."""
    return call_jaxpr(closed, *operands, name=name or params["name"], inline=params["inline"])


def _jit_jvp(primals, tangents, params):
    closed = params["jaxpr"]
    nonzero = tuple(t is not ZERO for t in tangents)
    derived = jvp_jaxpr(closed, nonzero)
    out = _call_like(params, derived.jaxpr, [*primals, *(t for t in tangents if t is not ZERO)])
    count = len(closed.out_avals)
    found = iter(out[count:])
    return out[:count], [next(found) if has else ZERO for has in derived.out_nonzero]


jvp_rules.add(jit_p, _jit_jvp)


def _jit_linearize(primals, tangents, params):
    closed = params["jaxpr"]
    nonzero = tuple(t is not ZERO for t in tangents)
    split = linearize_jaxpr(closed, nonzero)
    count = len(closed.out_avals)
    outputs = _call_like(params, split.primal, primals)
    if not any(split.out_nonzero):
        return outputs[:count], [ZERO] * count
    residuals = split.residuals(primals, outputs)
    found = iter(_call_like(params, split.linear, [*residuals, *(t for t in tangents if t is not ZERO)]))
    return outputs[:count], [next(found) if has else ZERO for has in split.out_nonzero]


linearize_rule.add(jit_p, _jit_linearize)


@transpose_rule(jit_p)
def _jit_transpose(cts, *operands, **params):
    linear = tuple(is_linear(x) for x in operands)
    adjoint = transpose_jaxpr(params["jaxpr"], linear, tuple(ct is not ZERO for ct in cts))
    fixed = [x for x in operands if not is_linear(x)]
    out = iter(_call_like(params, adjoint.jaxpr, [*fixed, *(ct for ct in cts if ct is not ZERO)]))
    has_ct = iter(adjoint.out_nonzero)
    return [(next(out) if next(has_ct) else ZERO) if lin else None for lin in linear]


@axis_batching_rule(jit_p)
def _jit_batch(axis, operands, batch_axes, **params):
    batched = batch_jaxpr(params["jaxpr"], axis, tuple(batch_axes))
    return _call_like(params, batched.jaxpr, operands), list(batched.out_axes)


# Checkpointed calls. Their linear part is one equation: a call that computes the residuals again.


def _checkpoint_like(params: dict, closed, operands, differentiated: bool) -> list:
    return bind_checkpoint(closed, *operands, name=params["name"], prevent_cse=params["prevent_cse"], policy=params["policy"],
                           differentiated=differentiated)


def _checkpoint_jvp(primals, tangents, params):
    closed = params["jaxpr"]
    derived = jvp_jaxpr(closed, tuple(t is not ZERO for t in tangents))
    out = _checkpoint_like(params, derived.jaxpr, [*primals, *(t for t in tangents if t is not ZERO)], params["differentiated"])
    count = len(closed.out_avals)
    found = iter(out[count:])
    return out[:count], [next(found) if has else ZERO for has in derived.out_nonzero]


jvp_rules.add(checkpoint_p, _checkpoint_jvp)


def _checkpoint_linearize(primals, tangents, params):
    closed = params["jaxpr"]
    split = rematerialize(closed, tuple(t is not ZERO for t in tangents), params["policy"])
    outputs = _checkpoint_like(params, split.primal, primals, params["differentiated"])
    count = len(closed.out_avals)
    if not any(split.out_nonzero):
        return outputs[:count], [ZERO] * count
    residuals = [*[primals[i] for i in split.used_inputs], *outputs[count:]]
    found = iter(_checkpoint_like(params, split.tangent, [*residuals, *(t for t in tangents if t is not ZERO)], True))
    return outputs[:count], [next(found) if has else ZERO for has in split.out_nonzero]


linearize_rule.add(checkpoint_p, _checkpoint_linearize)


@transpose_rule(checkpoint_p)
def _checkpoint_transpose(cts, *operands, **params):
    linear = tuple(is_linear(x) for x in operands)
    adjoint = transpose_jaxpr(params["jaxpr"], linear, tuple(ct is not ZERO for ct in cts))
    fixed = [x for x in operands if not is_linear(x)]
    out = iter(_checkpoint_like(params, adjoint.jaxpr, [*fixed, *(ct for ct in cts if ct is not ZERO)], params["differentiated"]))
    has_ct = iter(adjoint.out_nonzero)
    return [(next(out) if next(has_ct) else ZERO) if lin else None for lin in linear]


@axis_batching_rule(checkpoint_p)
def _checkpoint_batch(axis, operands, batch_axes, **params):
    batched = batch_jaxpr(params["jaxpr"], axis, tuple(batch_axes))
    return _checkpoint_like(params, batched.jaxpr, operands, params["differentiated"]), list(batched.out_axes)


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
    results = batch_custom_jvp(_as_custom_jvp(operands, params), axis, operands, batch_axes).bind()
    return results, [0] * len(results)


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
    fwd, bwd = params["fwd"], params["bwd"]

    def fun(*args):
        return eval_jaxpr(closed.jaxpr, closed.consts, *args)

    return CustomVJPCall(fun, lambda args, perturbed: fwd(args[skipped:], perturbed[skipped:]),
                         lambda residuals, cts: [ZERO] * skipped + list(bwd(residuals, cts)), operands, params["name"])


def _custom_vjp_call_jvp(primals, tangents, params):
    return linearize_custom_vjp(_as_custom_vjp(primals, params), primals, tangents)


jvp_rules.add(custom_vjp_call_p, _custom_vjp_call_jvp)


@axis_batching_rule(custom_vjp_call_p)
def _custom_vjp_call_batch(axis, operands, batch_axes, **params):
    results = batch_custom_vjp(_as_custom_vjp(operands, params), axis, operands, batch_axes).bind()
    return results, [0] * len(results)
