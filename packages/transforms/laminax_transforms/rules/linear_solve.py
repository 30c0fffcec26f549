"""Linear solves given by functions, x = A^-1 b.

The derivative follows from A x = b: dx = A^-1 (db - dA x), a solve with the same A; the adjoint of a solve with A is a
solve with its transpose. How the user's functions solve is never differentiated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Sequence

from laminax_ir.ops import elementwise as op
from laminax_ir.ops.calls import close_over_constants
from laminax_ir.ops.linear_solve import SolveParts, bind_solve, custom_linear_solve_p, split_operands
from laminax_ir.recording.evaluation import eval_jaxpr
from laminax_ir.types.avals import get_aval
from laminax_transforms.base.registry import axis_batching_rule, jvp_rule, transpose_rule
from laminax_transforms.base.zeros import ZERO, instantiate
from laminax_transforms.batching.batch_axes import Axis, move_batch_axis
from laminax_transforms.differentiation.dependence import batched_results
from laminax_transforms.differentiation.differentiation import jvp_flat
from laminax_transforms.programs.jaxpr_transforms import batch_jaxpr

if TYPE_CHECKING:
    from laminax_ir.programs.jaxpr import ClosedJaxpr
    from laminax_ir.types.annotations import Array, ArrayLike


@jvp_rule(custom_linear_solve_p, symbolic_zeros=True)
def _solve_jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
    consts, b = split_operands(primals, params["const_lengths"])
    const_dots, b_dots = split_operands(tangents, params["const_lengths"])
    jaxprs = params["jaxprs"]
    results = custom_linear_solve_p.bind(*primals, **params)
    x = results[:len(b)]

    def matvec(*matrix: ArrayLike) -> Any:
        return eval_jaxpr(jaxprs.matvec.jaxpr, jaxprs.matvec.consts, *matrix, *x)

    # The constants of `solve` and of the transposed functions stand for the same matrix: their tangents add nothing.
    right = b_dots
    if any(dot is not ZERO for dot in const_dots.matvec):
        _, moved = jvp_flat(matvec, consts.matvec, const_dots.matvec)
        right = [_difference(dot, term) for dot, term in zip(b_dots, moved)]
    if all(dot is ZERO for dot in right):
        return results, [ZERO] * len(results)
    x_dot = bind_solve(jaxprs, consts, [instantiate(dot, get_aval(value)) for dot, value in zip(right, b)])
    return results, [*x_dot[:len(b)], *[ZERO] * (len(results) - len(b))]


def _difference(a: Any, b: ArrayLike) -> Array:
    if b is ZERO:
        return a
    return op.neg_p.bind(b) if a is ZERO else op.sub_p.bind(a, b)


@transpose_rule(custom_linear_solve_p)
def _solve_transpose(cts: Sequence[Any], *operands: Any, const_lengths: SolveParts, jaxprs: SolveParts) -> list[Any]:
    if jaxprs.transpose_solve is None:
        raise TypeError("custom_linear_solve: transpose_solve required for backwards mode automatic differentiation. Give the function "
                        "that solves with the transposed matrix.")
    consts, b = split_operands(operands, const_lengths)
    cts = [instantiate(ct, aval) for ct, aval in zip(cts, b)]
    out = bind_solve(jaxprs.transposed(), consts.transposed(), cts)
    return [None] * sum(const_lengths) + out[:len(b)]


@axis_batching_rule(custom_linear_solve_p)
def _solve_batch(axis: Axis, operands: Sequence[Any], batch_axes: Sequence[int | None], *, const_lengths: SolveParts,
                 jaxprs: SolveParts) -> tuple[Any, Any]:
    consts, b = split_operands(operands, const_lengths)
    const_axes, b_axes = split_operands(batch_axes, const_lengths)
    const_flags = const_axes.map(lambda axes: tuple(a is not None for a in axes))
    present = [part for part in zip(jaxprs, const_flags) if part[0] is not None]
    marks = tuple(a is not None for a in b_axes)
    while True:  # all functions must map the same vectors; each function may add mapped vectors
        found = [batched_results(jaxpr, (*flags, *marks), axis)[:len(marks)] for jaxpr, flags in present]
        joined = tuple(any(flags) for flags in zip(marks, *found))
        if joined == marks:
            break
        marks = joined
    vector_axes = tuple(0 if marked else None for marked in marks)

    def batched(jaxpr: ClosedJaxpr, axes: Sequence[int]) -> Any:
        if jaxpr is None:
            return None, []
        wanted = vector_axes + (0,) * (len(jaxpr.out_avals) - len(b))
        return close_over_constants(batch_jaxpr(jaxpr, axis, (*axes, *vector_axes), wanted).jaxpr)

    programs = jaxprs.map(batched, const_axes)
    b = [move_batch_axis(x, a, want, axis.size) for x, a, want in zip(b, b_axes, vector_axes)]
    out = bind_solve(SolveParts(*[jaxpr for jaxpr, _ in programs]),
                     consts.map(lambda given, program: [*program[1], *given], programs), b)
    return out, [*vector_axes, *[0] * (len(out) - len(b))]
