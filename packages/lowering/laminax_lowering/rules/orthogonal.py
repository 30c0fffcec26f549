"""StableHLO of reflections and rotations: LAPACK's kernels on the CPU, programs of other operations elsewhere.

On CUDA and ROCm the tridiagonal form is a kernel of the platform's solver.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from laminax_ir.ops import orthogonal as op
from laminax_ir.ops.elementwise import add, div, eq, mul, select, sqrt, sub
from laminax_ir.ops.linalg import adjoint, householder_product_p, matmul, triangle
from laminax_ir.ops.loops import scan
from laminax_ir.ops.reduction import reduce_sum
from laminax_ir.ops.shape import broadcasted_iota, concatenate, expand_dims, full, full_like, reshape, transpose
from laminax_ir.ops.slicing import slice_in_dim
from laminax_ir.types import dtypes
from laminax_lowering.rules.linalg_cpu import call_lapack, letter
from laminax_lowering.rules.linalg_gpu import call_solver
from laminax_lowering.rules.linalg_kernels import run_program
from laminax_lowering.writing.context import FunctionWriter
from laminax_lowering.writing.custom_calls import info_aval, nan_unless
from laminax_lowering.writing.registry import lowering_rule, not_supported
from laminax_lowering.writing.ssa_values import Value
from laminax_lowering.writing.types import bool_text

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike

not_supported(op.tridiagonal_p, ("tpu",), "the TPU compiler has no tridiagonal form of matrices; compute it on the CPU")


@lowering_rule(op.ormqr_p)
def _ormqr(ctx: FunctionWriter, a: Value, taus: Value, c: Value, *, left: bool, transpose: bool) -> Value:
    """With the matrix Q itself, of all its columns."""
    def program(a: Value, taus: ArrayLike, c: ArrayLike) -> list[Any]:
        *batch, m, n = a.shape
        if n < m:
            a = concatenate((a, full((*batch, m, m - n), 0, a.dtype)), len(batch) + 1)
        q = householder_product_p.bind(slice_in_dim(a, 0, m, axis=len(batch) + 1), taus)
        q = adjoint(q) if transpose else q
        return [matmul(q, c) if left else matmul(c, q)]
    return run_program(ctx, program, [a, taus, c])[0]


@lowering_rule(op.ormqr_p, platforms=("cpu",))
def _ormqr_cpu(ctx: FunctionWriter, a: Value, taus: Value, c: Value, *, left: bool, transpose: bool) -> Value:
    if any(0 in x.aval.shape for x in (a, taus, c)):
        return c
    name = "unmqr" if dtypes.issubdtype(a.dtype, dtypes.complexfloating) else "ormqr"
    config = {"left": bool_text(left), "transpose": bool_text(transpose)}
    return call_lapack(ctx, name, [a, taus, c], ctx.avals_out, a.aval.ndim - 2, config, {2: 0})[0]


@lowering_rule(op.tridiagonal_p, platforms=("cpu",))
def _tridiagonal_cpu(ctx: FunctionWriter, a: Value, *, lower: bool) -> list[Value]:
    if 0 in a.aval.shape:
        return [ctx.constant(0, aval.dtype, aval.shape) for aval in ctx.avals_out]
    name = "hetrd" if dtypes.issubdtype(a.dtype, dtypes.complexfloating) else "sytrd"
    config = {"uplo": letter("L" if lower else "U")}
    *results, info = call_lapack(ctx, name, [a], [*ctx.avals_out, info_aval(a)], a.aval.ndim - 2, config, {0: 0})
    return nan_unless(ctx, info, results)


@lowering_rule(op.tridiagonal_p, platforms=("cuda", "rocm"))
def _tridiagonal_gpu(ctx: FunctionWriter, a: Value, *, lower: bool) -> list[Value]:
    if 0 in a.aval.shape:
        return [ctx.constant(0, aval.dtype, aval.shape) for aval in ctx.avals_out]
    *results, info = call_solver(ctx, "sytrd", [a], [*ctx.avals_out, info_aval(a)], {"lower": bool_text(lower)})
    return nan_unless(ctx, info, results)


@lowering_rule(op.cholesky_update_p)
def _cholesky_update(ctx: FunctionWriter, r: Value, w: Value) -> Value:
    return run_program(ctx, lambda r, w: [_rotated(r, w)], [r, w])[0]


def _rotated(r: ArrayLike, w: ArrayLike) -> Array:
    """A loop over the rows of R, in each of which a rotation zeroes an element of w."""
    *batch, n, _ = r.shape
    last = len(batch)
    if not n:
        return r

    def step(w: ArrayLike, row_and_place: tuple[ArrayLike, ...]) -> tuple[Any, Any]:
        row, place = row_and_place
        diagonal, moved = (reduce_sum(mul(x, place), (last,)) for x in (row, w))
        length = sqrt(add(mul(diagonal, diagonal), mul(moved, moved)))
        is_zero = eq(length, full_like(length, 0))
        safe = select(is_zero, full_like(length, 1), length)
        cosine = expand_dims(select(is_zero, full_like(length, 1), div(diagonal, safe)), (last,))
        sine = expand_dims(div(moved, safe), (last,))
        return sub(mul(cosine, w), mul(sine, row)), add(mul(cosine, row), mul(sine, w))

    rows = transpose(triangle(r, lower=False), (last, *range(last), last + 1))
    row, column = (broadcasted_iota(np.int32, (n, *[1] * last, n), axis) for axis in (0, last + 1))
    places = select(eq(row, column), full_like(row, 1, r.dtype), full_like(row, 0, r.dtype))
    _, rotated = scan(step, w, (rows, places))
    return transpose(reshape(rotated, (n, *batch, n)), (*range(1, last + 1), 0, last + 1))
