"""Linear algebra on GPUs: calls of the kernels in jaxlib's CUDA and ROCm plugins.

They call cuSOLVER and cuSPARSE, or hipSOLVER and hipSPARSE, under names that differ in the prefix only. Where a kernel reports
failure (its info is not 0), the results of that matrix become NaN. Source: the registrations of the plugins' modules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Sequence

import numpy as np

from laminax_ir.ops import linalg as op
from laminax_ir.ops.linalg import EighImplementation, EigImplementation, SvdAlgorithm, adjoint
from laminax_ir.ops.linalg_primitives import real_dtype
from laminax_ir.ops.slicing import slice as slice_
from laminax_ir.types import dtypes
from laminax_ir.types.avals import ShapedArray
from laminax_lowering.rules.linalg_kernels import check_choice, kernel_rule, run_program
from laminax_lowering.rules.linalg_programs import solve_perturbed_tridiagonal, solve_tridiagonal
from laminax_lowering.writing.context import FunctionWriter
from laminax_lowering.writing.custom_calls import emit_ffi_call, info_aval, nan_unless
from laminax_lowering.writing.ssa_values import Value
from laminax_lowering.writing.types import bool_text

if TYPE_CHECKING:
    from laminax_ir.types.annotations import ArrayLike

_GPUS = ("cuda", "rocm")
_SOLVER = {"cuda": "cusolver", "rocm": "hipsolver"}
_SPARSE = {"cuda": "cusparse", "rocm": "hipsparse"}
_KERNELS = {"cuda": "cu", "rocm": "hip"}
_INT32 = np.dtype(np.int32)


def call_solver(ctx: FunctionWriter, routine: str, operands: Sequence[Value], results: Sequence[ShapedArray],
                config: dict[str, str] | None = None, batch_rank: int | None = None) -> list[Value]:
    """Calls `cusolver_<routine>_ffi`, which may overwrite its first operand with its first result."""
    rank = operands[0].aval.ndim - 2 if batch_rank is None else batch_rank
    return emit_ffi_call(ctx, f"{_SOLVER[ctx.platform]}_{routine}_ffi", operands, results, config=config, batch_rank=rank,
                         aliases={0: 0})


@kernel_rule(op.cholesky_p, *_GPUS)
def _lower_cholesky(ctx: FunctionWriter, x: Value) -> Value:
    factor, info = call_solver(ctx, "potrf", [x], [x.aval, info_aval(x)], {"lower": "true"})
    return nan_unless(ctx, info, [factor])[0]


@kernel_rule(op.lu_p, *_GPUS)
def _lower_lu(ctx: FunctionWriter, x: Value) -> list[Any]:
    out, pivot_aval, permutation = ctx.avals_out
    factors, pivots, info = call_solver(ctx, "getrf", [x], [out, pivot_aval, info_aval(x)])
    pivots = ctx.emit("stablehlo.subtract", [pivots, ctx.constant(1, _INT32, pivot_aval.shape)], results=[pivot_aval])
    (factors,) = nan_unless(ctx, info, [factors], "GE")  # a positive info tells of a zero pivot, which is no failure
    return [factors, pivots, _permutation(ctx, pivots, permutation)]


@kernel_rule(op.lu_pivots_to_permutation_p, *_GPUS)
def _lower_lu_pivots_to_permutation(ctx: FunctionWriter, pivots: Value, *, permutation_size: int) -> Value:
    return _permutation(ctx, pivots, ctx.avals_out[0])


def _permutation(ctx: FunctionWriter, pivots: Value, aval: ShapedArray) -> Value:
    return emit_ffi_call(ctx, f"{_KERNELS[ctx.platform]}_lu_pivots_to_permutation", [pivots], [aval],
                         batch_rank=aval.ndim - 1)[0]


@kernel_rule(op.geqrf_p, *_GPUS)
def _lower_geqrf(ctx: FunctionWriter, x: Value) -> list[Value]:
    return call_solver(ctx, "geqrf", [x], ctx.avals_out)


@kernel_rule(op.householder_product_p, *_GPUS)
def _lower_householder_product(ctx: FunctionWriter, a: Value, taus: Value) -> Value:
    return call_solver(ctx, "orgqr", [a, taus], ctx.avals_out)[0]


@kernel_rule(op.eigh_p, *_GPUS)
def _lower_eigh(ctx: FunctionWriter, x: Value, *, lower: bool, sort_eigenvalues: bool, subset_by_index: Any, algorithm: Any) -> list[Value]:
    check_choice(ctx, "eigh", algorithm, EighImplementation.QR, EighImplementation.JACOBI)
    number = {EighImplementation.QR: 1, EighImplementation.JACOBI: 2}.get(algorithm, 0)  # 0: the kernel chooses
    config = {"algorithm": f"{number} : ui8", "lower": bool_text(lower)}
    v, w, info = call_solver(ctx, "syevd", [x], [*ctx.avals_out, info_aval(x)], config)
    return nan_unless(ctx, info, [v, w])


JACOBI_LIMIT = 1024  # up to this many rows and columns, Jacobi's method is the faster one
_BATCHED_LIMIT = 32  # up to this many, it is a kernel for batches that knows square factors only


@kernel_rule(op.svd_p, *_GPUS)
def _lower_svd(ctx: FunctionWriter, x: Value, *, full_matrices: bool, compute_uv: bool, subset_by_index: Any,
               algorithm: Any = None) -> list[Value]:
    check_choice(ctx, "svd", algorithm, SvdAlgorithm.DEFAULT, SvdAlgorithm.QR, SvdAlgorithm.JACOBI)
    by_jacobi = max(x.aval.shape[-2:]) <= JACOBI_LIMIT if algorithm in (None, SvdAlgorithm.DEFAULT) else \
        algorithm is SvdAlgorithm.JACOBI
    kernel = _svd_by_jacobi if by_jacobi else _svd_by_bidiagonals
    s, u, vt, info = kernel(ctx, x, full_matrices, compute_uv)
    return nan_unless(ctx, info, [s, u, vt] if compute_uv else [s])


def _svd_by_jacobi(ctx: FunctionWriter, x: Value, full_matrices: bool, compute_uv: bool) -> list[Value]:
    *batch, m, n = x.aval.shape
    k = min(m, n)
    is_thin = compute_uv and not full_matrices and k > _BATCHED_LIMIT
    u_aval, v_aval = (x.aval.update(shape=(*batch, size, k if is_thin else size)) for size in (m, n))
    values = ShapedArray((*batch, k), real_dtype(x.dtype))
    config = {"compute_uv": bool_text(compute_uv), "full_matrices": bool_text(not is_thin)}
    _, s, u, v, info = call_solver(ctx, "gesvdj", [x], [x.aval, values, u_aval, v_aval, info_aval(x)], config)
    if not compute_uv:
        return [s, u, v, info]

    def wanted(u: ArrayLike, v: ArrayLike) -> tuple[Any, Any]:
        vt = adjoint(v)
        if full_matrices or is_thin:
            return u, vt
        start = (0,) * len(u.shape)
        return slice_(u, start, (*batch, m, k)), slice_(vt, start, (*batch, k, n))

    return [s, *run_program(ctx, wanted, [u, v]), info]


def _svd_by_bidiagonals(ctx: FunctionWriter, x: Value, full_matrices: bool, compute_uv: bool) -> list[Value]:
    """The kernel wants at least as many rows as columns: of other matrices it gets the transpose, by a layout by rows.

    The factors of the transpose change places, and by rows they are transposed themselves.
    """
    *batch, m, n = x.aval.shape
    k, is_transposed = min(m, n), m < n
    u_aval, vt_aval = (x.aval.update(shape=shape) for shape in (
        (*batch, m, m if full_matrices else k), (*batch, n if full_matrices else k, n)))
    if not compute_uv:
        u_aval = vt_aval = x.aval.update(shape=())
    factors = [vt_aval, u_aval] if is_transposed else [u_aval, vt_aval]
    results = [x.aval, ShapedArray((*batch, k), real_dtype(x.dtype)), *factors, info_aval(x)]
    config = {"compute_uv": bool_text(compute_uv), "full_matrices": bool_text(full_matrices or not compute_uv),
              "transposed": bool_text(is_transposed)}
    _, s, first, second, info = emit_ffi_call(
        ctx, f"{_SOLVER[ctx.platform]}_gesvd_ffi", [x], results, config=config, batch_rank=len(batch), aliases={0: 0},
        by_rows=is_transposed)
    return [s, *([second, first] if is_transposed else [first, second]), info]


@kernel_rule(op.eig_p, *_GPUS)
def _lower_eig(ctx: FunctionWriter, x: Value, *, compute_left_eigenvectors: bool, compute_right_eigenvectors: bool,
               enable_eigvec_derivs: bool, implementation: Any) -> list[Value]:
    """A kernel that computes on the host, with LAPACK, or with MAGMA where that library is there."""
    check_choice(ctx, "eig", implementation, EigImplementation.LAPACK, EigImplementation.MAGMA)
    magma = {EigImplementation.LAPACK: "off", EigImplementation.MAGMA: "on"}.get(implementation, "auto")
    values_aval = ctx.avals_out[0]
    is_complex = dtypes.issubdtype(x.dtype, dtypes.complexfloating)
    vectors = ShapedArray(x.aval.shape, values_aval.dtype)
    values = [values_aval] if is_complex else [ShapedArray(values_aval.shape, x.dtype)] * 2
    config = {"left": bool_text(compute_left_eigenvectors), "magma": f'"{magma}"', "right": bool_text(compute_right_eigenvectors)}
    target = f"{_KERNELS[ctx.platform]}hybrid_eig_{'comp' if is_complex else 'real'}"
    *parts, left, right, info = emit_ffi_call(ctx, target, [x], [*values, vectors, vectors, info_aval(x)], config=config,
                                          batch_rank=x.aval.ndim - 2)
    w = parts[0] if is_complex else ctx.emit("stablehlo.complex", parts, results=[values_aval])
    return nan_unless(ctx, info, [w, *[left] * compute_left_eigenvectors, *[right] * compute_right_eigenvectors])


def exchanged_factors(ctx: FunctionWriter, x: Value, free: Value, results: Sequence[ShapedArray], use_magma: bool | None) -> list[Value]:
    """The QR factors of x with its columns exchanged, the columns' numbers, from 1, and the reflections' factors.

    The kernel computes on the host, with LAPACK, or with MAGMA where that library is there.
    """
    magma = {None: "auto", True: "on", False: "off"}[use_magma]
    return emit_ffi_call(ctx, f"{_KERNELS[ctx.platform]}hybrid_geqp3", [x, free], results, config={"magma": f'"{magma}"'},
                         batch_rank=x.aval.ndim - 2, aliases={0: 0, 1: 1})


@kernel_rule(op.tridiagonal_solve_p, *_GPUS)
def _lower_tridiagonal_solve(ctx: FunctionWriter, dl: Value, d: Value, du: Value, b: Value, *, perturb_singular: bool) -> Value:
    if perturb_singular:
        return run_program(ctx, lambda *xs: [solve_perturbed_tridiagonal(*xs)], [dl, d, du, b])[0]
    batch_rank = b.aval.ndim - 2
    if d.aval.shape[-1] < 3:  # cuSPARSE's smallest
        return run_program(ctx, lambda *xs: [solve_tridiagonal(*xs)], [dl, d, du, b])[0]
    return emit_ffi_call(ctx, f"{_SPARSE[ctx.platform]}_gtsv2_ffi", [dl, d, du, b], [b.aval], batch_rank=batch_rank,
                         aliases={3: 0})[0]
