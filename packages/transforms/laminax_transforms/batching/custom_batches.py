"""Batching of functions with derivative rules of their own: the function and each of its rules is batched.

The rules outlive the trace that batches the call, and run later, in traces of their own; so they get a function that batches, not the
trace.
"""

from __future__ import annotations

from typing import Any, Callable, Sequence

from laminax_ir.ops.calls import CustomJVPCall, CustomVJPCall, run_forward
from laminax_ir.ops.reduction import reduce_sum
from laminax_transforms.base.zeros import ZERO
from laminax_transforms.batching.batch_axes import move_batch_axis

# `batch(fun, args, in_axes)` applies a flat function to a batch: its results and their batch axes. See `batching.over_axis`.
BatchFunction = Callable[[Callable[..., Sequence[Any]], Sequence[Any], Sequence[int | None]], tuple[list[Any], list[int | None]]]


class _Layout:
    """Whether the results of a batched call have the batch axis, all of them in front; the first run of the call decides.

    The results have it if an operand is mapped. Otherwise that depends on the values that the function closes over, and on collectives
    over the mapped axis.
    """

    __slots__ = ("size", "batched")

    def __init__(self, size: int, batch_axes: Sequence[int | None]) -> None:
        self.size = size
        self.batched = True if any(b is not None for b in batch_axes) else None

    def decide(self, found_axes: Sequence[int | None]) -> None:
        if self.batched is None:
            self.batched = any(b is not None for b in found_axes)

    def laid_out(self, values: Sequence[Any], found_axes: Sequence[int | None]) -> list[Any]:
        target = 0 if self.batched else None
        return [move_batch_axis(x, b, target, self.size) for x, b in zip(values, found_axes)]

    def results_batched(self) -> bool:
        return bool(self.batched)


def batch_custom_jvp(call: CustomJVPCall, batch: BatchFunction, size: int, values: Sequence[Any], batch_axes: Sequence[int | None]) \
        -> tuple[CustomJVPCall, Callable[[], bool]]:
    """The call over a batch; and a function that tells, after the call, whether its results have the batch axis, in front."""
    one_fun, one_jvp = call.fun, call.jvp  # the rules outlive the call, and must not hold on to its operands
    layout = _Layout(size, batch_axes)

    def fun(*args: Any) -> list[Any]:
        results, axes = batch(one_fun, args, batch_axes)
        layout.decide(axes)
        return layout.laid_out(results, axes)

    def jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        present = [t is not ZERO for t in tangents]
        given = [t for t in tangents if t is not ZERO]
        count = len(primals)
        out_present: list[bool] = []

        def rule(*args: Any) -> list[Any]:
            found = iter(args[count:])
            results, out_tangents = one_jvp(list(args[:count]), [next(found) if p else ZERO for p in present])
            out_present.extend(t is not ZERO for t in out_tangents)
            return [*results, *(t for t in out_tangents if t is not ZERO)]

        tangent_axes = [b for b, p in zip(batch_axes, present) if p]
        outputs, axes = batch(rule, [*primals, *given], [*batch_axes, *tangent_axes])
        layout.decide(axes)
        outputs = layout.laid_out(outputs, axes)
        split = len(out_present)
        found = iter(outputs[split:])
        return outputs[:split], [next(found) if p else ZERO for p in out_present]

    jvp.__name__ = getattr(one_jvp, "__name__", "jvp")
    return CustomJVPCall(fun, jvp, values, call.name), layout.results_batched


def batch_custom_vjp(call: CustomVJPCall, batch: BatchFunction, size: int, values: Sequence[Any], batch_axes: Sequence[int | None]) \
        -> tuple[CustomVJPCall, Callable[[], bool]]:
    """The call over a batch; and a function that tells, after the call, whether its results have the batch axis, in front."""
    one_fun, one_fwd, any_bwd = call.fun, call.fwd, call.bwd  # the rules must not hold on to the call's operands
    layout = _Layout(size, batch_axes)

    def fun(*args: Any) -> list[Any]:
        results, axes = batch(one_fun, args, batch_axes)
        layout.decide(axes)
        return layout.laid_out(results, axes)

    def fwd(args: Sequence[Any], perturbed: Sequence[bool]) -> tuple[list[Any], list[Any], Callable]:
        runs: list[tuple[int, Any]] = []

        def rule(*xs: Any) -> list[Any]:
            results, residuals, bwd = run_forward(one_fwd, any_bwd, xs, perturbed)
            runs.append((len(results), bwd))
            return [*results, *residuals]

        outputs, axes = batch(rule, args, batch_axes)
        (split, one_bwd), = runs
        residual_axes = axes[split:]
        layout.decide(axes)
        ct_axis = 0 if layout.batched else None

        def bwd(residuals: Sequence[Any], cts: Sequence[Any]) -> list[Any]:
            return batch_backward(one_bwd, batch, size, residuals, residual_axes, cts, [ct_axis] * len(cts), batch_axes)

        return layout.laid_out(outputs[:split], axes), outputs[split:], bwd

    fwd.__name__ = getattr(one_fwd, "__name__", "fwd")
    return CustomVJPCall(fun, fwd, any_bwd, values, call.name), layout.results_batched


def batch_backward(bwd: Callable[[list[Any], list[Any]], Sequence[Any]], batch: BatchFunction, size: int, residuals: Sequence[Any],
                   residual_axes: Sequence[int | None], cts: Sequence[Any], ct_axes: Sequence[int | None],
                   in_axes: Sequence[int | None]) -> list[Any]:
    """Cotangents of the operands over a batch by the rule `bwd(residuals, cts)` for one example, laid out like the operands.

    The cotangent of an operand that is not mapped is the sum over the batch.
    """
    present = [ct is not ZERO and ct is not None for ct in cts]
    given = [ct for ct, is_present in zip(cts, present) if is_present]
    out_present: list[bool] = []
    count = len(residuals)

    def rule(*args: Any) -> list[Any]:
        found = iter(args[count:])
        in_cts = bwd(list(args[:count]), [next(found) if p else ZERO for p in present])
        out_present.extend(ct is not ZERO and ct is not None for ct in in_cts)
        return [ct for ct in in_cts if ct is not ZERO and ct is not None]

    given_axes = [b for b, p in zip(ct_axes, present) if p]
    outputs, axes = batch(rule, [*residuals, *given], [*residual_axes, *given_axes])
    found = iter(zip(outputs, axes))
    result: list[Any] = []
    for has, wanted in zip(out_present, in_axes):
        if not has:
            result.append(ZERO)
            continue
        ct, b = next(found)
        if wanted is not None:
            result.append(move_batch_axis(ct, b, wanted, size))
        elif b is None and all(a is None for a in ct_axes):  # one call for all examples
            result.append(ct)
        else:  # shared by all examples: their cotangents add up
            result.append(reduce_sum(move_batch_axis(ct, b, 0, size), axes=(0,)))
    return result
