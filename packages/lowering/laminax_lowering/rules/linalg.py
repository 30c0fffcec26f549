"""Linear algebra: rules that are the same on several platforms, and errors for operations that are not supported.

The factorizations are kernels of each platform's own: LAPACK's (`linalg_cpu`), those of the GPU libraries (`linalg_gpu`), and
those of the TPU compiler (`linalg_tpu`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from laminax_ir.ops import linalg as op
from laminax_ir.ops.elementwise import add, mul
from laminax_ir.ops.linalg import geqrf_p, householder_product_p, swap_last, triangle
from laminax_ir.ops.shape import broadcasted_iota, pad
from laminax_ir.ops.slicing import slice as slice_
from laminax_ir.symbolic.symbolic_dims import max_dim, min_dim
from laminax_ir.types.avals import ShapedArray
from laminax_lowering.rules import linalg_cpu, linalg_gpu, linalg_small, linalg_tpu  # noqa: F401  (they register their rules)
from laminax_lowering.rules.linalg_kernels import permutation_of, run_program
from laminax_lowering.writing.context import FunctionWriter
from laminax_lowering.writing.registry import lowering_rule, not_supported
from laminax_lowering.writing.ssa_values import Value
from laminax_lowering.writing.types import bool_text

if TYPE_CHECKING:
    from laminax_ir.types.annotations import ArrayLike

not_supported(op.eig_p, ("tpu",), "the TPU compiler has no eigenvalues of general matrices; compute them on the CPU")
not_supported(op.schur_p, ("cuda", "rocm", "tpu"), "only LAPACK has this factorization; compute it on the CPU")
not_supported(op.hessenberg_p, ("cuda", "rocm", "tpu"), "only LAPACK has this factorization; compute it on the CPU")


@lowering_rule(op.cholesky_p)
def _lower_cholesky(ctx: FunctionWriter, x: Value) -> Value:
    return ctx.emit("stablehlo.cholesky", [x], attributes={"lower": "true"})


@lowering_rule(op.triangular_solve_p)
def _lower_triangular_solve(ctx: FunctionWriter, a: Value, b: Value, *, left_side: bool, lower: bool, transpose_a: bool, conjugate_a: bool,
                            unit_diagonal: bool) -> Value:
    if conjugate_a and not transpose_a:
        a = ctx.emit("chlo.conj", [a], results=[a.aval])
    kind = "NO_TRANSPOSE" if not transpose_a else "ADJOINT" if conjugate_a else "TRANSPOSE"
    return ctx.emit("stablehlo.triangular_solve", [a, b], attributes={
        "left_side": bool_text(left_side), "lower": bool_text(lower), "unit_diagonal": bool_text(unit_diagonal),
        "transpose_a": f"#stablehlo<transpose {kind}>"})


@lowering_rule(op.lu_pivots_to_permutation_p)
def _lower_lu_pivots_to_permutation(ctx: FunctionWriter, pivots: Value, *, permutation_size: int) -> Value:
    return permutation_of(ctx, pivots, ctx.avals_out[0])


@lowering_rule(op.qr_p)
def _lower_qr(ctx: FunctionWriter, x: Value, *, pivoting: bool, full_matrices: bool, use_magma: bool | None) -> list[Value]:
    """By `geqrf` and `householder_product`, which stand for a platform's own kernels, or by the kernel that exchanges columns."""
    def factors(packed: ArrayLike, taus: ArrayLike) -> list[Any]:
        *batch, m, n = x.shape
        k: Any = m if full_matrices else min_dim(m, n)
        no = ((0, 0, 0),) * len(batch)
        zero = np.array(0, x.dtype)[()]
        missing: Any = max_dim(k - n, 0)
        if missing != 0:
            packed = pad(packed, zero, (*no, (0, 0, 0), (0, missing, 0)))
        columns = slice_(packed, (0,) * (len(batch) + 2), (*batch, m, k))
        height: Any = min_dim(m, k)
        rows = slice_(packed, (0,) * (len(batch) + 2), (*batch, height, n))
        return [householder_product_p.bind(columns, taus), triangle(rows, lower=False)]
    if not pivoting:
        return run_program(ctx, lambda x: factors(*geqrf_p.bind(x)), [x])
    packed, taus, permutation = _exchanged_factors(ctx, x, use_magma)
    return [*run_program(ctx, factors, [packed, taus]), permutation]


def _exchanged_factors(ctx: FunctionWriter, x: Value, use_magma: bool | None) -> list[Value]:
    """The results of LAPACK's geqp3: the factors as `geqrf` has them, and the order of the columns, from 0."""
    *batch, m, n = x.shape
    order = ctx.avals_out[2]
    if 0 in x.shape:
        return [*run_program(ctx, geqrf_p.bind, [x]),
                *run_program(ctx, lambda: [broadcasted_iota(np.int32, order.shape, len(order.shape) - 1)], [])]
    if len(ctx.platforms) > 1 or ctx.platform == "tpu":
        raise NotImplementedError(f"qr: pivoting=True is lowered for one platform at a time and not for tpu, got "
                                  f"{', '.join(ctx.platforms)}; compute it on the CPU")
    free = ctx.constant(0, order.dtype, order.shape)  # every column may be exchanged
    results = [x.aval, order, ShapedArray((*batch, min_dim(m, n)), x.dtype)]
    kernel = linalg_cpu.exchanged_factors if ctx.platform == "cpu" else linalg_gpu.exchanged_factors
    packed, columns, taus = kernel(ctx, x, free, results, use_magma)
    one = ctx.constant(1, order.dtype, order.shape)
    return [packed, taus, ctx.emit("stablehlo.subtract", [columns, one], results=[order])]


@lowering_rule(op.symmetric_product_p)
def _lower_symmetric_product(ctx: FunctionWriter, a: Value, c: Value, *, alpha: float, beta: float) -> Value:
    def program(a: Value, c: ArrayLike) -> list[Any]:
        product = op.matmul(a, swap_last(a))
        result = product if alpha == 1 else mul(np.array(alpha, a.dtype)[()], product)
        return [result if beta == 0 else add(result, mul(np.array(beta, a.dtype)[()], c))]
    return run_program(ctx, program, [a, c])[0]
