"""Calls: the called jaxpr is transformed once per question, and called in its new form."""

from __future__ import annotations

import sys
from typing import Any, Iterable, Sequence

from laminax_ir.ops.calls import bind_checkpoint, call_jaxpr, checkpoint_p, jit_p, name_p
from laminax_ir.options import config
from laminax_ir.programs.jaxpr import ClosedJaxpr
from laminax_transforms.base.registry import axis_batching_rule, batching_rule, is_linear, jvp_rule, linearize_rule, transpose_rule
from laminax_transforms.base.zeros import ZERO, spread
from laminax_transforms.batching.batch_axes import Axis
from laminax_transforms.programs.jaxpr_transforms import batch_jaxpr, jvp_jaxpr, linearize_jaxpr, transpose_jaxpr
from laminax_transforms.rematerializing.rematerialization import Rematerialized, rematerialize
from laminax_transforms.rematerializing.saved_residuals import describe_value
from laminax_transforms.rules import calls_custom  # noqa: F401  (registers the rules of that half of the family)


def call_like(params: dict, closed: ClosedJaxpr, operands: Sequence[Any], name: str | None = None) -> list:
    """A jit call of a transformed jaxpr with those parameters of the original call that still hold."""
    return call_jaxpr(closed, *operands, name=name or params["name"], inline=params["inline"])


@jvp_rule(jit_p, symbolic_zeros=True)
def _jit_jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
    closed = params["jaxpr"]
    nonzero = tuple(t is not ZERO for t in tangents)
    derived = jvp_jaxpr(closed, nonzero)
    out = call_like(params, derived.jaxpr, [*primals, *(t for t in tangents if t is not ZERO)])
    count = len(closed.out_avals)
    return out[:count], spread(out[count:], derived.out_nonzero)


@linearize_rule(jit_p)
def _jit_linearize(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
    closed = params["jaxpr"]
    nonzero = tuple(t is not ZERO for t in tangents)
    split = linearize_jaxpr(closed, nonzero)
    count = len(closed.out_avals)
    outputs = call_like(params, split.primal, primals)
    if not any(split.out_nonzero):
        return outputs[:count], [ZERO] * count
    residuals = split.residuals(primals, outputs)
    out_tangents = call_like(params, split.linear, [*residuals, *(t for t in tangents if t is not ZERO)])
    return outputs[:count], spread(out_tangents, split.out_nonzero)


@transpose_rule(jit_p)
def _jit_transpose(cts: Sequence[Any], *operands: Any, **params: Any) -> list[Any]:
    linear = tuple(is_linear(x) for x in operands)
    adjoint = transpose_jaxpr(params["jaxpr"], linear, tuple(ct is not ZERO for ct in cts))
    fixed = [x for x in operands if not is_linear(x)]
    out = iter(call_like(params, adjoint.jaxpr, [*fixed, *(ct for ct in cts if ct is not ZERO)]))
    has_ct = iter(adjoint.out_nonzero)
    return [(next(out) if next(has_ct) else ZERO) if lin else None for lin in linear]


@axis_batching_rule(jit_p)
def _jit_batch(axis: Axis, operands: Sequence[Any], batch_axes: Sequence[int | None], **params: Any) -> tuple[Any, Any]:
    batched = batch_jaxpr(params["jaxpr"], axis, tuple(batch_axes))
    return call_like(params, batched.jaxpr, operands), list(batched.out_axes)


# Checkpointed calls. Their linear part is one equation: a call that computes the residuals again.


def _checkpoint_like(params: dict, closed: ClosedJaxpr, operands: Sequence[Any], kept: Iterable[int], differentiated: bool) -> list:
    """Binds a checkpointed call with these parameters; its first operands are the original operands numbered `kept`."""
    flags = params["prevent_cse"]
    if isinstance(flags, tuple):
        flags = tuple(flags[i] for i in kept)
        flags += (True,) * (len(operands) - len(flags))
    return bind_checkpoint(closed, *operands, name=params["name"], prevent_cse=flags, policy=params["policy"],
                           differentiated=differentiated)


@jvp_rule(checkpoint_p, symbolic_zeros=True)
def _checkpoint_jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
    closed = params["jaxpr"]
    derived = jvp_jaxpr(closed, tuple(t is not ZERO for t in tangents))
    out = _checkpoint_like(params, derived.jaxpr, [*primals, *(t for t in tangents if t is not ZERO)], range(len(primals)),
                           params["differentiated"])
    count = len(closed.out_avals)
    return out[:count], spread(out[count:], derived.out_nonzero)


@linearize_rule(checkpoint_p)
def _checkpoint_linearize(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
    closed = params["jaxpr"]
    split = rematerialize(closed, tuple(t is not ZERO for t in tangents), params["policy"])
    outputs = _checkpoint_like(params, split.primal, primals, range(len(primals)), params["differentiated"])
    count = len(closed.out_avals)
    if not any(split.out_nonzero):
        return outputs[:count], [ZERO] * count
    if config.log_checkpoint_residuals.value or "logging" in sys.modules:  # importing it takes 5 ms, and nobody listens
        _log_saved_values(closed, split)
    residuals = [*[primals[i] for i in split.used_inputs], *outputs[count:]]
    given = [*residuals, *(t for t in tangents if t is not ZERO)]
    return outputs[:count], spread(_checkpoint_like(params, split.tangent, given, split.used_inputs, True), split.out_nonzero)


def _log_saved_values(closed: ClosedJaxpr, split: Rematerialized) -> None:
    """Logs the saved values: as a warning with the option `log_checkpoint_residuals`, else for debugging."""
    import logging  # lazy: imported only if the option is set, or by somebody else

    logger, level = logging.getLogger("laminax"), logging.WARNING if config.log_checkpoint_residuals.value else logging.DEBUG
    if not logger.isEnabledFor(level):
        return
    made = {v: eqn for eqn in split.primal.eqns for v in eqn.outvars}
    inputs = [f"  {closed.in_avals[i].str_short()}" for i in split.used_inputs]
    values = [f"  {v.aval.str_short()} from {describe_value(made[v]).removeprefix('output of ')}"
              for v in split.primal.jaxpr.outvars[len(closed.out_avals):]]
    parts = [f"saving {what}:\n" + "\n".join(lines) for what, lines in (("inputs with shapes", inputs), ("these intermediates", values))
             if lines]
    logger.log(level, "remat-decorated function %s", "\nand ".join(parts) or "saving nothing")


@transpose_rule(checkpoint_p)
def _checkpoint_transpose(cts: Sequence[Any], *operands: Any, **params: Any) -> list[Any]:
    linear = tuple(is_linear(x) for x in operands)
    adjoint = transpose_jaxpr(params["jaxpr"], linear, tuple(ct is not ZERO for ct in cts))
    fixed = [x for x in operands if not is_linear(x)]
    out = iter(_checkpoint_like(params, adjoint.jaxpr, [*fixed, *(ct for ct in cts if ct is not ZERO)],
                                [i for i, lin in enumerate(linear) if not lin], params["differentiated"]))
    has_ct = iter(adjoint.out_nonzero)
    return [(next(out) if next(has_ct) else ZERO) if lin else None for lin in linear]


@axis_batching_rule(checkpoint_p)
def _checkpoint_batch(axis: Axis, operands: Sequence[Any], batch_axes: Sequence[int | None], **params: Any) -> tuple[Any, Any]:
    batched = batch_jaxpr(params["jaxpr"], axis, tuple(batch_axes))
    return _checkpoint_like(params, batched.jaxpr, operands, range(len(operands)), params["differentiated"]), list(batched.out_axes)


@jvp_rule(name_p, symbolic_zeros=True)
def _name_jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
    return name_p.bind(*primals, **params), tangents[0]


@transpose_rule(name_p)
def _name_transpose(ct: Any, x: Any, *, name: str) -> list[Any]:
    return [ct]


@batching_rule(name_p)
def _name_batch(operands: Sequence[Any], batch_axes: Sequence[int | None], *, name: str) -> tuple[Any, Any]:
    return name_p.bind(*operands, name=name), batch_axes[0]
