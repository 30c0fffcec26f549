"""Linear algebra: on CPU, calls of jaxlib's LAPACK kernels (XLA FFI); elsewhere StableHLO where it has the operation.

LAPACK keeps matrices by columns, so each operand and result has its last two axes exchanged in memory, which the
layouts state. Where a kernel reports failure (its info is not 0), the results of that matrix become NaN.
"""

from __future__ import annotations

from typing import Mapping, Sequence

import numpy as np

from laminax_ir import dtypes
from laminax_ir.avals import ShapedArray
from laminax_ir.ops import linalg as op
from laminax_ir.ops.elementwise import add, convert_element_type, eq, mul
from laminax_ir.ops.indexing import slice as slice_
from laminax_ir.ops.linalg import geqrf_p, householder_product_p, real_dtype, swap_last, triangle
from laminax_ir.ops.shape import broadcasted_iota, pad
from laminax_ir.staging import stage
from laminax_lowering.context import Value
from laminax_lowering.registry import lowering_rule
from laminax_lowering.types import bool_text, i64_array

_PREFIX = {np.dtype(np.float32): "s", np.dtype(np.float64): "d", np.dtype(np.complex64): "c", np.dtype(np.complex128): "z"}
_INT32, _BOOL = np.dtype(np.int32), np.dtype(bool)


# Calling LAPACK


def _letter(char: str) -> str:
    return f"{ord(char)} : ui8"


def _layout(rank: int, is_matrix: bool) -> str:
    """Minor-to-major order of the axes."""
    order = list(reversed(range(rank)))
    if is_matrix:
        order[:2] = order[1], order[0]
    return f"dense<{order}> : tensor<{rank}xindex>" if rank else "dense<> : tensor<0xindex>"


def _call(ctx, routine: str, operands: Sequence[Value], results: Sequence[ShapedArray], batch_rank: int,
          config: Mapping[str, str] | None = None, aliases: Mapping[int, int] | None = None) -> list[Value]:
    """Calls `lapack_<type><routine>_ffi`.

    Args:
      operands: the kernel's; those with two axes more than the batch are matrices.
      config: its attributes.
      aliases: which operand a result may overwrite.
    """
    target = f"lapack_{_PREFIX[operands[0].dtype]}{routine}_ffi"

    def layouts(avals):
        return "[" + ", ".join(_layout(aval.ndim, aval.ndim == batch_rank + 2) for aval in avals) + "]"

    single = len(results) == 1
    alias = ", ".join(
        f"#stablehlo.output_operand_alias<output_tuple_indices = [{'' if single else result}], operand_index = {operand}, "
        "operand_tuple_indices = []>" for operand, result in (aliases or {}).items())
    listed = ", ".join(f"{name} = {value}" for name, value in (config or {}).items())
    attributes = {
        "call_target_name": f'"{target}"', "api_version": "4 : i32", "has_side_effect": "false", "backend_config": f"{{{listed}}}",
        "mhlo.frontend_attributes": f'{{num_batch_dims = "{batch_rank}"}}', "operand_layouts": layouts(v.aval for v in operands),
        "result_layouts": layouts(results), "output_operand_aliases": f"[{alias}]",
    }
    out = ctx.emit("stablehlo.custom_call", operands, attributes=attributes, results=list(results))
    return [out] if single else out


def _info(x: Value) -> ShapedArray:
    return ShapedArray(x.shape[:-2], _INT32)


def _nan_unless(ctx, info: Value, results: Sequence[Value], direction: str = "EQ") -> list[Value]:
    """NaN in the matrices whose info is not 0 (or, with direction GE, negative)."""
    batch = ShapedArray(info.shape, _BOOL)
    attributes = {"comparison_direction": f"#stablehlo<comparison_direction {direction}>",
                  "compare_type": "#stablehlo<comparison_type SIGNED>"}
    is_good = ctx.emit("stablehlo.compare", [info, ctx.constant(0, _INT32, info.shape)], attributes=attributes, results=[batch])
    out = []
    for x in results:
        mask = ctx.emit("stablehlo.broadcast_in_dim", [is_good], results=[ShapedArray(x.shape, _BOOL)],
                        attributes={"broadcast_dimensions": i64_array(range(len(info.shape)))})
        nan = ctx.constant(np.array(np.nan, x.dtype), shape=x.shape)
        out.append(ctx.emit("stablehlo.select", [mask, x, nan], results=[x.aval]))
    return out


def _run(ctx, function, operands: Sequence[Value]) -> list[Value]:
    """Writes operations of the IR in place."""
    return ctx.run(stage(lambda *xs: list(function(*xs)), [v.aval for v in operands]), operands)


def _zeros(ctx, avals) -> list[Value]:
    return [ctx.constant(0, aval.dtype, aval.shape) for aval in avals]


def _is_empty(ctx) -> bool:
    return any(0 in aval.shape for aval in ctx.avals_in)


# Cholesky and triangular systems


@lowering_rule(op.cholesky_p)
def _lower_cholesky(ctx, x):
    return ctx.emit("stablehlo.cholesky", [x], attributes={"lower": "true"})


@lowering_rule(op.cholesky_p, platforms=("cpu",))
def _lower_cholesky_cpu(ctx, x):
    aval = ctx.avals_out[0]
    if _is_empty(ctx):
        return x
    factor, info = _call(ctx, "potrf", [x], [aval, _info(x)], aval.ndim - 2, {"uplo": _letter("L")}, {0: 0})
    return _nan_unless(ctx, info, [factor])[0]


@lowering_rule(op.triangular_solve_p)
def _lower_triangular_solve(ctx, a, b, *, left_side, lower, transpose_a, conjugate_a, unit_diagonal):
    if conjugate_a and not transpose_a:
        a = ctx.emit("chlo.conj", [a], results=[a.aval])
    kind = "NO_TRANSPOSE" if not transpose_a else "ADJOINT" if conjugate_a else "TRANSPOSE"
    return ctx.emit("stablehlo.triangular_solve", [a, b], attributes={
        "left_side": bool_text(left_side), "lower": bool_text(lower), "unit_diagonal": bool_text(unit_diagonal),
        "transpose_a": f"#stablehlo<transpose {kind}>"})


@lowering_rule(op.triangular_solve_p, platforms=("cpu",))
def _lower_triangular_solve_cpu(ctx, a, b, *, left_side, lower, transpose_a, conjugate_a, unit_diagonal):
    if _is_empty(ctx):
        return b
    if conjugate_a and not transpose_a:
        a = ctx.emit("chlo.conj", [a], results=[a.aval])
    config = {"side": _letter("L" if left_side else "R"), "uplo": _letter("L" if lower else "U"),
              "trans_x": _letter("N" if not transpose_a else "C" if conjugate_a else "T"),
              "diag": _letter("U" if unit_diagonal else "N")}
    return _call(ctx, "trsm", [a, b], ctx.avals_out, a.aval.ndim - 2, config, {1: 0})[0]


# LU


@lowering_rule(op.lu_p, platforms=("cpu",))
def _lower_lu_cpu(ctx, x):
    out, pivot_aval, permutation = ctx.avals_out
    if _is_empty(ctx):
        rows = ctx.emit("stablehlo.iota", [], results=[permutation],
                        attributes={"iota_dimension": f"{permutation.ndim - 1} : i64"})
        return [x, *_zeros(ctx, [pivot_aval]), rows]
    factors, pivots, info = _call(ctx, "getrf", [x], [out, pivot_aval, _info(x)], out.ndim - 2, None, {0: 0})
    pivots = ctx.emit("stablehlo.subtract", [pivots, ctx.constant(1, _INT32, pivots.shape)], results=[pivot_aval])
    (factors,) = _nan_unless(ctx, info, [factors], "GE")  # a positive info tells of a zero pivot, which is no failure
    return [factors, pivots, _permutation(ctx, pivots, permutation)]


@lowering_rule(op.lu_pivots_to_permutation_p)
def _lower_lu_pivots_to_permutation(ctx, pivots, *, permutation_size):
    return _permutation(ctx, pivots, ctx.avals_out[0])


def _permutation(ctx, pivots: Value, aval: ShapedArray) -> Value:
    """Applies the exchanges one by one to the row numbers, in a loop; each is a select by the two positions."""
    batch = aval.shape[:-1]
    last = len(batch)
    rows = ctx.emit("stablehlo.iota", [], results=[aval], attributes={"iota_dimension": f"{last} : i64"})
    count = pivots.shape[-1]
    if count == 0 or 0 in batch:
        return rows
    step = ShapedArray((), _INT32)
    single, flag, mask = ShapedArray((*batch, 1), _INT32), ShapedArray((), _BOOL), ShapedArray(aval.shape, _BOOL)
    zero, one, limit = (ctx.constant(v, _INT32) for v in (0, 1, count))
    compare = {"compare_type": "#stablehlo<comparison_type SIGNED>"}

    def equal(a, b):
        return ctx.emit("stablehlo.compare", [a, b], results=[mask],
                        attributes={"comparison_direction": "#stablehlo<comparison_direction EQ>", **compare})

    def spread(x):
        return ctx.emit("stablehlo.broadcast_in_dim", [x], results=[aval],
                        attributes={"broadcast_dimensions": i64_array(range(aval.ndim if x.aval.ndim else 0))})

    def read(x, is_there):
        """The value at the one position where the mask holds, everywhere."""
        chosen = ctx.emit("stablehlo.select", [is_there, x, ctx.constant(0, _INT32, aval.shape)], results=[aval])
        region = ctx.region([step, step], lambda a, b: ctx.emit("stablehlo.add", [a, b], results=[step]))
        total = ctx.emit("stablehlo.reduce", [chosen, zero], attributes={"dimensions": i64_array([last])}, regions=[region],
                         results=[ShapedArray(batch, _INT32)])
        return ctx.emit("stablehlo.broadcast_in_dim", [total], results=[aval],
                        attributes={"broadcast_dimensions": i64_array(range(last))})

    def body(i, permutation):
        starts = [zero] * last + [i]
        pivot = ctx.emit("stablehlo.dynamic_slice", [pivots, *starts], results=[single],
                         attributes={"slice_sizes": i64_array(single.shape)})
        here, there = equal(rows, spread(i)), equal(rows, spread(pivot))
        at_here, at_there = read(permutation, here), read(permutation, there)
        moved = ctx.emit("stablehlo.select", [there, at_here, permutation], results=[aval])
        moved = ctx.emit("stablehlo.select", [here, at_there, moved], results=[aval])
        return [ctx.emit("stablehlo.add", [i, one], results=[step]), moved]

    def is_running(i, _permutation):
        return ctx.emit("stablehlo.compare", [i, limit], results=[flag],
                        attributes={"comparison_direction": "#stablehlo<comparison_direction LT>", **compare})

    regions = [ctx.region([step, aval], is_running), ctx.region([step, aval], body)]
    return ctx.emit("stablehlo.while", [zero, rows], regions=regions, results=[step, aval])[1]


# QR


@lowering_rule(op.geqrf_p, platforms=("cpu",))
def _lower_geqrf_cpu(ctx, x):
    if _is_empty(ctx):
        return [x, *_zeros(ctx, ctx.avals_out[1:])]
    return _call(ctx, "geqrf", [x], ctx.avals_out, x.aval.ndim - 2, None, {0: 0})


@lowering_rule(op.householder_product_p, platforms=("cpu",))
def _lower_householder_product_cpu(ctx, a, taus):
    if _is_empty(ctx):
        return a if 0 in a.shape else _run(ctx, lambda a, _: [_eye_like(a)], [a, taus])[0]
    is_complex = dtypes.issubdtype(a.dtype, dtypes.complexfloating)
    return _call(ctx, "ungqr" if is_complex else "orgqr", [a, taus], ctx.avals_out, a.aval.ndim - 2, None, {0: 0})[0]


def _eye_like(a):
    rank = len(a.shape)
    row, column = (broadcasted_iota(_INT32, a.shape, rank - 2 + i) for i in range(2))
    return convert_element_type(eq(row, column), a.dtype)


@lowering_rule(op.qr_p)
def _lower_qr(ctx, x, *, pivoting, full_matrices, use_magma):
    """By `geqrf` and `householder_product`, which stand for a platform's own kernels."""
    def program(x):
        *batch, m, n = x.shape
        packed, taus = geqrf_p.bind(x)
        k = m if full_matrices else min(m, n)
        no = ((0, 0, 0),) * len(batch)
        zero = np.array(0, x.dtype)[()]
        columns = slice_(packed, (0,) * (len(batch) + 2), (*batch, m, min(n, k)))
        if k > n:
            columns = pad(packed, zero, (*no, (0, 0, 0), (0, k - n, 0)))
        rows = slice_(packed, (0,) * (len(batch) + 2), (*batch, min(m, k), n))
        return [householder_product_p.bind(columns, taus), triangle(rows, lower=False)]
    return _run(ctx, program, [x])


# Eigenvalues and singular values


@lowering_rule(op.eigh_p, platforms=("cpu",))
def _lower_eigh_cpu(ctx, x, *, lower, sort_eigenvalues, subset_by_index, algorithm):
    if _is_empty(ctx):
        return [x, *_zeros(ctx, ctx.avals_out[1:])]
    is_complex = dtypes.issubdtype(x.dtype, dtypes.complexfloating)
    v, w, info = _call(ctx, "heevd" if is_complex else "syevd", [x], [*ctx.avals_out, _info(x)], x.aval.ndim - 2,
                       {"mode": _letter("V"), "uplo": _letter("L" if lower else "U")}, {0: 0})
    return _nan_unless(ctx, info, [v, w])


@lowering_rule(op.svd_p, platforms=("cpu",))
def _lower_svd_cpu(ctx, x, *, full_matrices, compute_uv, subset_by_index, algorithm):
    if _is_empty(ctx):
        zeros = _zeros(ctx, ctx.avals_out)
        return [zeros[0], *_run(ctx, lambda *xs: [_eye_like(v) for v in xs], zeros[1:])] if compute_uv else zeros
    *batch, m, n = x.shape
    k = min(m, n)
    rows, columns = (m, n) if full_matrices else (k, k)
    values = ShapedArray((*batch, k), real_dtype(x.dtype))
    u, vt = (ShapedArray(shape, x.dtype) for shape in ((*batch, m, rows), (*batch, columns, n)))
    mode = _letter("N" if not compute_uv else "A" if full_matrices else "S")
    _, s, u, vt, info = _call(ctx, "gesdd", [x], [x.aval, values, u, vt, _info(x)], len(batch), {"mode": mode}, {0: 0})
    return _nan_unless(ctx, info, [s, u, vt] if compute_uv else [s])


@lowering_rule(op.eig_p, platforms=("cpu",))
def _lower_eig_cpu(ctx, x, *, compute_left_eigenvectors, compute_right_eigenvectors, enable_eigvec_derivs, implementation):
    if _is_empty(ctx):
        return _zeros(ctx, ctx.avals_out)
    values_aval = ctx.avals_out[0]
    is_complex = dtypes.issubdtype(x.dtype, dtypes.complexfloating)
    vectors = ShapedArray(x.shape, values_aval.dtype)
    values = [values_aval] if is_complex else [ShapedArray(values_aval.shape, x.dtype)] * 2
    config = {"compute_left": _letter("V" if compute_left_eigenvectors else "N"),
              "compute_right": _letter("V" if compute_right_eigenvectors else "N")}
    *w, left, right, info = _call(ctx, "geev", [x], [*values, vectors, vectors, _info(x)], x.aval.ndim - 2, config)
    w = w[0] if is_complex else ctx.emit("stablehlo.complex", w, results=[values_aval])
    kept = [w, *[left] * compute_left_eigenvectors, *[right] * compute_right_eigenvectors]
    return _nan_unless(ctx, info, kept)


@lowering_rule(op.schur_p, platforms=("cpu",))
def _lower_schur_cpu(ctx, x, *, compute_schur_vectors, sort_eig_vals, select_callable):
    if _is_empty(ctx):
        return [x] * len(ctx.avals_out)
    is_complex = dtypes.issubdtype(x.dtype, dtypes.complexfloating)
    values = ShapedArray(x.shape[:-1], x.dtype)
    config = {"mode": _letter("V" if compute_schur_vectors else "N"), "sort": _letter("N")}
    results = [x.aval, x.aval, *[values] * (1 if is_complex else 2), _info(x), _info(x)]
    t, z, *_, info = _call(ctx, "gees", [x], results, x.aval.ndim - 2, config, {0: 0})
    return _nan_unless(ctx, info, [t, z] if compute_schur_vectors else [t])


@lowering_rule(op.hessenberg_p, platforms=("cpu",))
def _lower_hessenberg_cpu(ctx, x):
    if 0 in x.shape or x.shape[-1] == 1:
        return [x, *_zeros(ctx, ctx.avals_out[1:])]
    config = {"low": "1 : i32", "high": f"{x.shape[-1]} : i32"}
    packed, taus, info = _call(ctx, "gehrd", [x], [*ctx.avals_out, _info(x)], x.aval.ndim - 2, config, {0: 0})
    return _nan_unless(ctx, info, [packed, taus])


# Others


@lowering_rule(op.tridiagonal_solve_p, platforms=("cpu",))
def _lower_tridiagonal_solve_cpu(ctx, dl, d, du, b, *, perturb_singular):
    if _is_empty(ctx):
        return b
    batch = b.aval.ndim - 2
    info = ShapedArray(b.shape[:-2], _INT32)
    *_, x, info = _call(ctx, "gtsv", [dl, d, du, b], [dl.aval, d.aval, du.aval, b.aval, info], batch, None,
                        {i: i for i in range(4)})
    return _nan_unless(ctx, info, [x])[0]


@lowering_rule(op.symmetric_product_p)
def _lower_symmetric_product(ctx, a, c, *, alpha, beta):
    def program(a, c):
        product = op.matmul(a, swap_last(a))
        result = product if alpha == 1 else mul(np.array(alpha, a.dtype)[()], product)
        return [result if beta == 0 else add(result, mul(np.array(beta, a.dtype)[()], c))]
    return _run(ctx, program, [a, c])[0]
