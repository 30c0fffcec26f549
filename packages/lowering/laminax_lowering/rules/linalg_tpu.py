"""Linear algebra on TPUs: functions that the TPU compiler has itself, and programs where it has none."""

from __future__ import annotations

from typing import Any

from laminax_ir.ops import linalg as op
from laminax_ir.ops.linalg import EighImplementation, SvdAlgorithm
from laminax_lowering.rules.linalg_kernels import check_choice, kernel_rule, run_program
from laminax_lowering.rules.linalg_programs import solve_perturbed_tridiagonal, solve_tridiagonal, svd_program
from laminax_lowering.writing.context import FunctionWriter
from laminax_lowering.writing.custom_calls import emit_builtin_call
from laminax_lowering.writing.ssa_values import Value


@kernel_rule(op.lu_p, "tpu")
def _lower_lu(ctx: FunctionWriter, x: Value) -> list[Value]:
    return emit_builtin_call(ctx, "LuDecomposition", [x], ctx.avals_out, api_version=2)


@kernel_rule(op.geqrf_p, "tpu")
def _lower_geqrf(ctx: FunctionWriter, x: Value) -> list[Value]:
    return emit_builtin_call(ctx, "Qr", [x], ctx.avals_out)


@kernel_rule(op.householder_product_p, "tpu")
def _lower_householder_product(ctx: FunctionWriter, a: Value, taus: Value) -> Value:
    return emit_builtin_call(ctx, "ProductOfElementaryHouseholderReflectors", [a, taus], ctx.avals_out)[0]


@kernel_rule(op.eigh_p, "tpu")
def _lower_eigh(ctx: FunctionWriter, x: Value, *, lower: bool, sort_eigenvalues: bool, subset_by_index: Any, algorithm: Any) -> list[Value]:
    """By Jacobi's method, in at most 100 sweeps, up to a relative error of 1e-6."""
    check_choice(ctx, "eigh", algorithm, EighImplementation.JACOBI)
    return emit_builtin_call(ctx, "Eigh", [x], ctx.avals_out, backend_config=f"{int(lower)},1,100,1e-6")


@kernel_rule(op.svd_p, "tpu")
def _lower_svd(ctx: FunctionWriter, x: Value, *, full_matrices: bool, compute_uv: bool, subset_by_index: Any,
               algorithm: Any = None) -> list[Value]:
    check_choice(ctx, "svd", algorithm, SvdAlgorithm.DEFAULT, SvdAlgorithm.POLAR)
    program = svd_program(x.aval.strip_weak_type(), full_matrices, compute_uv)
    return ctx.call_program(program, "svd", [x], ctx.avals_out)


@kernel_rule(op.tridiagonal_solve_p, "tpu")
def _lower_tridiagonal_solve(ctx: FunctionWriter, dl: Value, d: Value, du: Value, b: Value, *, perturb_singular: bool) -> Value:
    solve = solve_perturbed_tridiagonal if perturb_singular else solve_tridiagonal
    return run_program(ctx, lambda *xs: [solve(*xs)], [dl, d, du, b])[0]
