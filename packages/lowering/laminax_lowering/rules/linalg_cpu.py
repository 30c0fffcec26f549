"""Linear algebra on CPU: calls of jaxlib's LAPACK kernels.

Where a kernel reports failure (its info is not 0), the results of that matrix become NaN.
"""

from __future__ import annotations

import math
from typing import Any, Mapping, Sequence

import numpy as np

from laminax_ir.ops import elementwise as e
from laminax_ir.ops import linalg as op
from laminax_ir.ops.linalg import EighImplementation, EigImplementation, SvdAlgorithm
from laminax_ir.ops.linalg_primitives import real_dtype
from laminax_ir.ops.loops import while_loop
from laminax_ir.ops.shape import broadcasted_iota, full, reshape
from laminax_ir.ops.slicing import dynamic_slice, dynamic_update_slice
from laminax_ir.symbolic.symbolic_dims import SymbolicDim, min_dim
from laminax_ir.types import dtypes
from laminax_ir.types.avals import ShapedArray
from laminax_lowering.rules.linalg_kernels import check_choice, kernel_rule, permutation_of, run_program, zeros
from laminax_lowering.rules.linalg_programs import solve_perturbed_tridiagonal
from laminax_lowering.writing.context import FunctionWriter
from laminax_lowering.writing.custom_calls import emit_ffi_call, info_aval, nan_unless
from laminax_lowering.writing.registry import cpu_kernel
from laminax_lowering.writing.ssa_values import Value

_PREFIX = {np.dtype(np.float32): "s", np.dtype(np.float64): "d", np.dtype(np.complex64): "c", np.dtype(np.complex128): "z"}
_INT32 = np.dtype(np.int32)
MOST_MATRICES, FEWEST_STEPS = 64, 16  # more matrices that have fewer exchanges are done together, with vectors


def call_lapack(ctx: FunctionWriter, routine: str, operands: Sequence[Value], results: Sequence[ShapedArray], batch_rank: int,
                config: Mapping[str, str] | None = None, aliases: Mapping[int, int] | None = None) -> list[Value]:
    """Calls `lapack_<type><routine>_ffi`; the arguments are those of `emit_ffi_call`."""
    target = f"lapack_{_PREFIX[operands[0].dtype]}{routine}_ffi"
    return emit_ffi_call(ctx, target, operands, results, config=config, batch_rank=batch_rank, aliases=aliases)


def letter(char: str) -> str:
    """A letter as a kernel's attribute: LAPACK takes its options as letters."""
    return f"{ord(char)} : ui8"


@kernel_rule(op.cholesky_p, "cpu")
def _lower_cholesky(ctx: FunctionWriter, x: Value) -> Value:
    aval = ctx.avals_out[0]
    factor, info = call_lapack(ctx, "potrf", [x], [aval, info_aval(x)], aval.ndim - 2, {"uplo": letter("L")}, {0: 0})
    return nan_unless(ctx, info, [factor])[0]


@kernel_rule(op.triangular_solve_p, "cpu")
def _lower_triangular_solve(ctx: FunctionWriter, a: Value, b: Value, *, left_side: bool, lower: bool, transpose_a: bool, conjugate_a: bool,
                            unit_diagonal: bool) -> Value:
    if conjugate_a and not transpose_a:
        a = ctx.emit("chlo.conj", [a], results=[a.aval])
    config = {"side": letter("L" if left_side else "R"), "uplo": letter("L" if lower else "U"),
              "trans_x": letter("N" if not transpose_a else "C" if conjugate_a else "T"),
              "diag": letter("U" if unit_diagonal else "N")}
    return call_lapack(ctx, "trsm", [a, b], ctx.avals_out, a.aval.ndim - 2, config, {1: 0})[0]


@kernel_rule(op.lu_p, "cpu")
def _lower_lu(ctx: FunctionWriter, x: Value) -> list[Any]:
    out, pivot_aval, permutation = ctx.avals_out
    factors, pivots, info = call_lapack(ctx, "getrf", [x], [out, pivot_aval, info_aval(x)], out.ndim - 2, None, {0: 0})
    pivots = ctx.emit("stablehlo.subtract", [pivots, ctx.constant(1, _INT32, pivots.shape)], results=[pivot_aval])
    (factors,) = nan_unless(ctx, info, [factors], "GE")  # a positive info tells of a zero pivot, which is no failure
    return [factors, pivots, _permutation(ctx, pivots, permutation_size=out.shape[-2]) or permutation_of(ctx, pivots, permutation)]


@cpu_kernel(op.lu_pivots_to_permutation_p)
def _permutation(ctx: FunctionWriter, pivots: Value, *, permutation_size: int) -> Value | None:
    """Exchanges two numbers at a time, in one kernel for all matrices.

    Microseconds of one core, jaxlib 0.12, and compile times in ms, by the rule, which selects among all numbers -> with this kernel:

      10 of 4 by 4     5.4 -> 4.7, 59 -> 32       128 by 128          17 -> 5.6, 71 -> 27
      32 by 32         6.5 -> 4.4, 62 -> 28       512 by 512          115 -> 17, 63 -> 31
      1000 of 4 by 4   15 -> 39, left alone       64 of 64 by 64      130 -> 43, 70 -> 51
    """
    shape = pivots.aval.shape
    if not ctx.module.uses_cpu_kernels or not all(type(n) is int for n in (*shape, permutation_size)):
        return None
    steps, count = shape[-1], math.prod(shape[:-1])
    if steps * count == 0 or permutation_size == 1:  # no exchange, and the compiler stops at a kernel that does not read its operand
        return None
    if count > MOST_MATRICES and steps < FEWEST_STEPS:
        return None

    def permutation(pivots: Any) -> Any:
        """Of one matrix: a vector of its own, which the compiler copies each time that it is changed in two places."""
        def exchange(state: Any) -> Any:
            i, rows = state
            places = i, reshape(_at(pivots, i), ())
            here, there = (_at(rows, place) for place in places)
            for place, value in zip(places, (there, here)):
                rows = dynamic_update_slice(rows, value, (place,), allow_negative_indices=False)
            return e.add(i, np.int32(1)), rows

        rows = broadcasted_iota(_INT32, (permutation_size,), 0)
        return while_loop(lambda state: e.lt(state[0], np.int32(steps)), exchange, (np.int32(0), rows))[1]

    def permutations(pivots: Any) -> list[Any]:
        if count == 1:
            return [reshape(permutation(reshape(pivots, (steps,))), (*shape[:-1], permutation_size))]
        every = reshape(pivots, (count, steps))

        def body(state: Any) -> Any:
            i, results = state
            row = dynamic_slice(every, (i, np.int32(0)), (1, steps), allow_negative_indices=False)
            found = reshape(permutation(reshape(row, (steps,))), (1, permutation_size))
            return e.add(i, np.int32(1)), dynamic_update_slice(results, found, (i, np.int32(0)), allow_negative_indices=False)

        empty = full((count, permutation_size), 0, _INT32)
        results = while_loop(lambda state: e.lt(state[0], np.int32(count)), body, (np.int32(0), empty))[1]
        return [reshape(results, (*shape[:-1], permutation_size))]

    return ctx.small_call("permutation", [pivots], lambda to, *xs: run_program(to, permutations, xs))[0]


def _at(x: Any, place: Any) -> Any:
    """The element of a vector at a place, as a vector of one."""
    return dynamic_slice(x, (place,), (1,), allow_negative_indices=False)


@kernel_rule(op.geqrf_p, "cpu")
def _lower_geqrf(ctx: FunctionWriter, x: Value) -> list[Value]:
    return call_lapack(ctx, "geqrf", [x], ctx.avals_out, x.aval.ndim - 2, None, {0: 0})


def exchanged_factors(ctx: FunctionWriter, x: Value, free: Value, results: Sequence[ShapedArray], use_magma: bool | None) -> list[Value]:
    """The QR factors of x with its columns exchanged, the columns' numbers, from 1, and the reflections' factors."""
    if use_magma:
        raise NotImplementedError("qr: use_magma=True is for GPUs, got the platform cpu; leave it out")
    return call_lapack(ctx, "geqp3", [x, free], results, x.aval.ndim - 2, None, {0: 0, 1: 1})


@kernel_rule(op.householder_product_p, "cpu")
def _lower_householder_product(ctx: FunctionWriter, a: Value, taus: Value) -> Value:
    is_complex = dtypes.issubdtype(a.dtype, dtypes.complexfloating)
    return call_lapack(ctx, "ungqr" if is_complex else "orgqr", [a, taus], ctx.avals_out, a.aval.ndim - 2, None, {0: 0})[0]


@kernel_rule(op.eigh_p, "cpu")
def _lower_eigh(ctx: FunctionWriter, x: Value, *, lower: bool, sort_eigenvalues: bool, subset_by_index: Any, algorithm: Any) -> list[Value]:
    check_choice(ctx, "eigh", algorithm, EighImplementation.QR)
    is_complex = dtypes.issubdtype(x.dtype, dtypes.complexfloating)
    v, w, info = call_lapack(ctx, "heevd" if is_complex else "syevd", [x], [*ctx.avals_out, info_aval(x)], x.aval.ndim - 2,
                       {"mode": letter("V"), "uplo": letter("L" if lower else "U")}, {0: 0})
    return nan_unless(ctx, info, [v, w])


@kernel_rule(op.svd_p, "cpu")
def _lower_svd(ctx: FunctionWriter, x: Value, *, full_matrices: bool, compute_uv: bool, subset_by_index: Any,
               algorithm: Any = None) -> list[Value]:
    check_choice(ctx, "svd", algorithm, SvdAlgorithm.DEFAULT, SvdAlgorithm.QR, SvdAlgorithm.DIVIDE_AND_CONQUER)
    *batch, m, n = x.shape
    k = min_dim(m, n)
    rows, columns = (m, n) if full_matrices else (k, k)
    values = ShapedArray((*batch, k), real_dtype(x.dtype))
    left, right = (ShapedArray(shape, x.dtype) for shape in ((*batch, m, rows), (*batch, columns, n)))
    mode = letter("N" if not compute_uv else "A" if full_matrices else "S")
    routine = "gesvd" if algorithm is SvdAlgorithm.QR else "gesdd"
    _, s, u, vt, info = call_lapack(ctx, routine, [x], [x.aval, values, left, right, info_aval(x)], len(batch), {"mode": mode}, {0: 0})
    return nan_unless(ctx, info, [s, u, vt] if compute_uv else [s])


@kernel_rule(op.eig_p, "cpu")
def _lower_eig(ctx: FunctionWriter, x: Value, *, compute_left_eigenvectors: bool, compute_right_eigenvectors: bool,
               enable_eigvec_derivs: bool, implementation: EigImplementation | None) -> list[Value]:
    check_choice(ctx, "eig", implementation, EigImplementation.LAPACK)
    values_aval = ctx.avals_out[0]
    is_complex = dtypes.issubdtype(x.dtype, dtypes.complexfloating)
    vectors = ShapedArray(x.shape, values_aval.dtype)
    values = [values_aval] if is_complex else [ShapedArray(values_aval.shape, x.dtype)] * 2
    config = {"compute_left": letter("V" if compute_left_eigenvectors else "N"),
              "compute_right": letter("V" if compute_right_eigenvectors else "N")}
    *parts, left, right, info = call_lapack(ctx, "geev", [x], [*values, vectors, vectors, info_aval(x)], x.aval.ndim - 2, config)
    w = parts[0] if is_complex else ctx.emit("stablehlo.complex", parts, results=[values_aval])
    kept: list[Value] = [w, *[left] * compute_left_eigenvectors, *[right] * compute_right_eigenvectors]
    return nan_unless(ctx, info, kept)


@kernel_rule(op.schur_p, "cpu")
def _lower_schur(ctx: FunctionWriter, x: Value, *, compute_schur_vectors: bool, sort_eig_vals: bool, select_callable: Any) -> list[Value]:
    is_complex = dtypes.issubdtype(x.dtype, dtypes.complexfloating)
    values = ShapedArray(x.shape[:-1], x.dtype)
    config = {"mode": letter("V" if compute_schur_vectors else "N"), "sort": letter("N")}
    results = [x.aval, x.aval, *[values] * (1 if is_complex else 2), info_aval(x), info_aval(x)]
    t, z, *_, info = call_lapack(ctx, "gees", [x], results, x.aval.ndim - 2, config, {0: 0})
    return nan_unless(ctx, info, [t, z] if compute_schur_vectors else [t])


@kernel_rule(op.hessenberg_p, "cpu")
def _lower_hessenberg(ctx: FunctionWriter, x: Value) -> list[Value]:
    if type(x.shape[-1]) is SymbolicDim:
        raise NotImplementedError(f"hessenberg: LAPACK takes the size as a constant, and it is the symbolic dimension '{x.shape[-1]}'. "
                                  "Export for a size that is a number; schur has no such restriction.")
    if x.shape[-1] == 1:
        return [x, *zeros(ctx, ctx.avals_out[1:])]
    config = {"low": "1 : i32", "high": f"{x.shape[-1]} : i32"}
    packed, taus, info = call_lapack(ctx, "gehrd", [x], [*ctx.avals_out, info_aval(x)], x.aval.ndim - 2, config, {0: 0})
    return nan_unless(ctx, info, [packed, taus])


@kernel_rule(op.tridiagonal_solve_p, "cpu")
def _lower_tridiagonal_solve(ctx: FunctionWriter, dl: Any, d: Any, du: Any, b: Value, *, perturb_singular: bool) -> Value:
    if perturb_singular:
        return run_program(ctx, lambda *xs: [solve_perturbed_tridiagonal(*xs)], [dl, d, du, b])[0]
    batch = b.aval.ndim - 2
    status = ShapedArray(b.shape[:-2], _INT32)
    *_, x, info = call_lapack(ctx, "gtsv", [dl, d, du, b], [dl.aval, d.aval, du.aval, b.aval, status], batch, None,
                        {i: i for i in range(4)})
    return nan_unless(ctx, info, [x])[0]
