"""How traces meet functions with derivative rules of their own: the flat half of `custom_jvp` and `custom_vjp`."""

from __future__ import annotations

from typing import Any, Callable, Sequence

import numpy as np

from laminax_ir import dtypes
from laminax_ir.avals import get_aval
from laminax_ir.ops.calls import CustomJVPCall, CustomVJPCall, custom_vjp_tangent_p, run_forward
from laminax_ir.refs import Ref
from laminax_transforms.registry import batching_rules, transpose_rule
from laminax_transforms.zeros import ZERO, instantiate


def linearize_custom_vjp(call: CustomVJPCall, primals: Sequence[Any], tangents: Sequence[Any]):
    """Results of the forward rule, and tangents that record the backward rule; the tangent trace is current."""
    results, residuals, bwd = run_forward(call.fwd, call.bwd, primals, [t is not ZERO for t in tangents])
    out_avals = tuple(get_aval(r) for r in results)
    full = [_NO_TANGENT if isinstance(x, Ref) else instantiate(t, get_aval(x)) for x, t in zip(primals, tangents)]
    out_tangents = custom_vjp_tangent_p.bind(*residuals, *full, bwd=bwd, num_residuals=len(residuals),
                                             out_avals=out_avals, name=call.name)
    return results, [ZERO if aval.to_tangent_aval() is not aval else t for t, aval in zip(out_tangents, out_avals)]


_NO_TANGENT = np.zeros((), dtypes.float0)  # of a reference


@transpose_rule(custom_vjp_tangent_p)
def _tangent_transpose(cts, *operands, bwd, num_residuals, out_avals, name):
    in_cts = bwd(operands[:num_residuals], cts)
    return [None] * num_residuals + list(in_cts)


class _Layout:
    """Whether the results of a batched call have the batch axis, all of them in front; its first run decides.

    They do if an operand is mapped. Otherwise it depends on what the function closes over, and on collectives over the mapped axis.
    """

    __slots__ = ("axis", "batched")

    def __init__(self, axis, batch_axes: Sequence[int | None]):
        self.axis = axis
        self.batched = True if any(b is not None for b in batch_axes) else None

    def decide(self, found_axes: Sequence[int | None]) -> None:
        if self.batched is None:
            self.batched = any(b is not None for b in found_axes)

    def laid_out(self, values: Sequence[Any], found_axes: Sequence[int | None]) -> list[Any]:
        from laminax_transforms.batching import move_batch_axis
        target = 0 if self.batched else None
        return [move_batch_axis(x, b, target, self.axis.size) for x, b in zip(values, found_axes)]

    def results_batched(self) -> bool:
        return bool(self.batched)


def batch_custom_jvp(call: CustomJVPCall, axis, mapping: object, values: Sequence[Any], batch_axes: Sequence[int | None]) \
        -> tuple[CustomJVPCall, Callable[[], bool]]:
    """The call over a batch; and whether its results have the batch axis, in front, for who asks after the call."""
    from laminax_transforms.batching import batch_flat
    one_fun, one_jvp = call.fun, call.jvp  # the rules outlive the call, and must not hold on to its operands
    layout = _Layout(axis, batch_axes)

    def fun(*args):
        results, axes = batch_flat(one_fun, axis, args, batch_axes, mapping=mapping)
        layout.decide(axes)
        return layout.laid_out(results, axes)

    def jvp(primals, tangents):
        present = [t is not ZERO for t in tangents]
        given = [t for t in tangents if t is not ZERO]
        count = len(primals)
        out_present: list[bool] = []

        def rule(*args):
            found = iter(args[count:])
            results, out_tangents = one_jvp(list(args[:count]), [next(found) if p else ZERO for p in present])
            out_present.extend(t is not ZERO for t in out_tangents)
            return [*results, *(t for t in out_tangents if t is not ZERO)]

        tangent_axes = [b for b, p in zip(batch_axes, present) if p]
        outputs, axes = batch_flat(rule, axis, [*primals, *given], [*batch_axes, *tangent_axes], mapping=mapping)
        layout.decide(axes)
        outputs = layout.laid_out(outputs, axes)
        split = len(out_present)
        found = iter(outputs[split:])
        return outputs[:split], [next(found) if p else ZERO for p in out_present]

    jvp.__name__ = getattr(one_jvp, "__name__", "jvp")
    return CustomJVPCall(fun, jvp, values, call.name), layout.results_batched


def batch_custom_vjp(call: CustomVJPCall, axis, mapping: object, values: Sequence[Any], batch_axes: Sequence[int | None]) \
        -> tuple[CustomVJPCall, Callable[[], bool]]:
    """The call over a batch; and whether its results have the batch axis, in front, for who asks after the call."""
    from laminax_transforms.batching import batch_flat
    one_fun, one_fwd, any_bwd = call.fun, call.fwd, call.bwd  # the rules must not hold on to the call's operands
    layout = _Layout(axis, batch_axes)

    def fun(*args):
        results, axes = batch_flat(one_fun, axis, args, batch_axes, mapping=mapping)
        layout.decide(axes)
        return layout.laid_out(results, axes)

    def fwd(args, perturbed):
        runs: list[tuple[int, Any]] = []

        def rule(*xs):
            results, residuals, bwd = run_forward(one_fwd, any_bwd, xs, perturbed)
            runs.append((len(results), bwd))
            return [*results, *residuals]

        outputs, axes = batch_flat(rule, axis, args, batch_axes, mapping=mapping)
        (split, one_bwd), = runs
        residual_axes = axes[split:]
        layout.decide(axes)
        ct_axis = 0 if layout.batched else None

        def bwd(residuals, cts):
            return batch_backward(one_bwd, axis, mapping, residuals, residual_axes, cts, [ct_axis] * len(cts), batch_axes)

        return layout.laid_out(outputs[:split], axes), outputs[split:], bwd

    fwd.__name__ = getattr(one_fwd, "__name__", "fwd")
    return CustomVJPCall(fun, fwd, any_bwd, values, call.name), layout.results_batched


def batch_backward(bwd, axis, mapping, residuals, residual_axes, cts, ct_axes, in_axes) -> list[Any]:
    """Cotangents of the operands over a batch by the rule `bwd(residuals, cts)` for one example, laid out like the operands.

    They are summed where those are not mapped. `mapping` is as for `batch_flat`.
    """
    from laminax_ir.ops.reduction import reduce_sum
    from laminax_transforms.batching import batch_flat, move_batch_axis
    present = [ct is not ZERO and ct is not None for ct in cts]
    given = [ct for ct, is_present in zip(cts, present) if is_present]
    out_present: list[bool] = []
    count = len(residuals)

    def rule(*args):
        found = iter(args[count:])
        in_cts = bwd(list(args[:count]), [next(found) if p else ZERO for p in present])
        out_present.extend(ct is not ZERO and ct is not None for ct in in_cts)
        return [ct for ct in in_cts if ct is not ZERO and ct is not None]

    given_axes = [b for b, p in zip(ct_axes, present) if p]
    outputs, axes = batch_flat(rule, axis, [*residuals, *given], [*residual_axes, *given_axes], mapping=mapping)
    found = iter(zip(outputs, axes))
    result: list[Any] = []
    for has, wanted in zip(out_present, in_axes):
        if not has:
            result.append(ZERO)
            continue
        ct, b = next(found)
        if wanted is not None:
            result.append(move_batch_axis(ct, b, wanted, axis.size))
        elif b is None and all(a is None for a in ct_axes):  # one call for all examples
            result.append(ct)
        else:  # shared by all examples: their cotangents add up
            result.append(reduce_sum(move_batch_axis(ct, b, 0, axis.size), axes=(0,)))
    return result


def _batch_tangent(axis, operands, batch_axes, params):
    """Batching the recorded tangent map: its transpose is the backward rule over the batch."""
    from laminax_transforms.batching import batch_axis_first
    from laminax_transforms.jaxpr_transforms import add_batch_axis
    count, bwd = params["num_residuals"], params["bwd"]
    tangents = [batch_axis_first(t, b, axis.size) for t, b in zip(operands[count:], batch_axes[count:])]
    num_tangents, residual_axes = len(tangents), list(batch_axes[:count])  # the rule must not hold on to the operands

    def batched_bwd(residuals, cts):
        return batch_backward(bwd, axis, None, residuals, residual_axes, cts, [0] * len(cts), [0] * num_tangents)

    out_avals = tuple(add_batch_axis(aval, axis.size, 0) for aval in params["out_avals"])
    out = custom_vjp_tangent_p.bind(*operands[:count], *tangents,
                                    **{**params, "bwd": batched_bwd, "out_avals": out_avals})
    return out, [0] * len(out)


batching_rules.add(custom_vjp_tangent_p, _batch_tangent)
