"""The kernels that linear algebra calls on each platform, and the programs that take their place.

Names, attributes and layouts are those that the kernels of jaxlib's plugins and of the TPU compiler expect.
"""

import re

import numpy as np
import pytest

from laminax_ir.ops import linalg as op
from laminax_ir.options import config
from laminax_ir.recording.staging import stage
from laminax_ir.reference.evaluate import evaluate
from laminax_ir.types.avals import ShapedArray, get_aval
from laminax_lowering import lower
from laminax_lowering.rules.linalg_programs import solve_tridiagonal, svd_by_polar

F32, C64 = np.dtype(np.float32), np.dtype(np.complex64)
BY_COLUMNS = "dense<[1, 2, 0]> : tensor<3xindex>"


def text(fun, platform, *avals):
    return lower(stage(lambda *xs: list(fun(*xs)), [ShapedArray(shape, dtype) for shape, dtype in avals]), platform=platform).text


def calls(module: str) -> list[str]:
    return re.findall(r'call_target_name = "([^"]*)"', module)


def svd(x, **options):
    return op.svd_p.bind(x, **{"full_matrices": True, "compute_uv": True, "subset_by_index": None, "algorithm": None, **options})


MATRIX = ((2, 5, 3), F32)
SQUARE = ((2, 4, 4), F32)


@pytest.mark.parametrize("fun, avals, cuda, rocm", [
    (op.lu, [MATRIX], ["cusolver_getrf_ffi", "cu_lu_pivots_to_permutation"], ["hipsolver_getrf_ffi", "hip_lu_pivots_to_permutation"]),
    (op.geqrf, [MATRIX], ["cusolver_geqrf_ffi"], ["hipsolver_geqrf_ffi"]),
    (op.qr, [MATRIX], ["cusolver_geqrf_ffi", "cusolver_orgqr_ffi"], ["hipsolver_geqrf_ffi", "hipsolver_orgqr_ffi"]),
    (lambda x: op.qr(x, pivoting=True), [MATRIX], ["cuhybrid_geqp3", "cusolver_orgqr_ffi"], ["hiphybrid_geqp3", "hipsolver_orgqr_ffi"]),
    (lambda x: [op.cholesky(x)], [SQUARE], ["cusolver_potrf_ffi"], ["hipsolver_potrf_ffi"]),
    (op.eigh, [SQUARE], ["cusolver_syevd_ffi"], ["hipsolver_syevd_ffi"]),
    (svd, [MATRIX], ["cusolver_gesvdj_ffi"], ["hipsolver_gesvdj_ffi"]),
    (svd, [((5, 1025), F32)], ["cusolver_gesvd_ffi"], ["hipsolver_gesvd_ffi"]),
    (op.eig, [SQUARE], ["cuhybrid_eig_real"], ["hiphybrid_eig_real"]),
    (op.eig, [((4, 4), C64)], ["cuhybrid_eig_comp"], ["hiphybrid_eig_comp"]),
    (lambda *xs: [op.tridiagonal_solve(*xs)], [((2, 4), F32)] * 3 + [((2, 4, 3), F32)], ["cusparse_gtsv2_ffi"], ["hipsparse_gtsv2_ffi"]),
    (lambda *xs: [op.tridiagonal_solve(*xs)], [((2,), F32)] * 3 + [((2, 3), F32)], [], []),  # cuSPARSE starts at 3
    (op.lu, [((0, 3), F32)], [], []),
    (op.eigh, [((0, 0), F32)], [], []),
])
def test_kernels_of_gpus(fun, avals, cuda, rocm):
    assert calls(text(fun, "cuda", *avals)) == cuda
    assert calls(text(fun, "rocm", *avals)) == rocm


def test_a_call_of_a_gpu_kernel():
    (line,) = [line for line in text(op.eigh, "cuda", SQUARE).splitlines() if "custom_call" in line]
    assert "backend_config = {algorithm = 0 : ui8, lower = true}" in line and "api_version = 4 : i32" in line
    assert 'mhlo.frontend_attributes = {num_batch_dims = "1"}' in line
    assert f"operand_layouts = [{BY_COLUMNS}]" in line
    assert f"result_layouts = [{BY_COLUMNS}, dense<[1, 0]> : tensor<2xindex>, dense<[0]> : tensor<1xindex>]" in line
    assert "output_tuple_indices = [0], operand_index = 0" in line
    assert ("sdy.sharding_rule = #sdy.op_sharding_rule<([i, j, k])->([i, l, m], [i, n], [i]) "
            "{i=2, j=4, k=4, l=4, m=4, n=4}, custom>") in line  # the batch axis is one and the same, and may be split
    assert line.endswith("(tensor<2x4x4xf32>, tensor<2x4xf32>, tensor<2xi32>) loc(#loc%s" % line.rpartition("#loc")[2])


@pytest.mark.parametrize("shape, options, config_text, factors", [
    ((40, 50), {"full_matrices": False}, "compute_uv = true, full_matrices = false", ["40x40", "50x40"]),
    ((33, 32), {"full_matrices": False}, "compute_uv = true, full_matrices = true", ["33x33", "32x32"]),  # the batched kernel
    ((40, 50), {"compute_uv": False}, "compute_uv = false, full_matrices = true", ["40x40", "50x50"]),
    ((1500, 2000), {"full_matrices": False}, "compute_uv = true, full_matrices = false, transposed = true", ["1500x2000", "1500x1500"]),
    ((1500, 2000), {}, "compute_uv = true, full_matrices = true, transposed = true", ["2000x2000", "1500x1500"]),
    ((2000, 1500), {"full_matrices": False}, "compute_uv = true, full_matrices = false, transposed = false", ["2000x1500", "1500x1500"]),
    ((2000, 1500), {"compute_uv": False}, "compute_uv = false, full_matrices = true, transposed = false", ["", ""]),
])
def test_singular_values_on_gpus(shape, options, config_text, factors):
    """The factors' shapes: Jacobi's kernel returns V, the other one V^H, and of a transposed matrix in exchanged order."""
    (line,) = [line for line in text(lambda x: svd(x, **options), "cuda", (shape, F32)).splitlines() if "custom_call" in line]
    assert f"backend_config = {{{config_text}}}" in line
    first, second = (f"tensor<{size}{'x' if size else ''}f32>" for size in factors)
    assert f"{first}, {second}, tensor<i32>)" in line
    if "transposed = true" in config_text:
        assert "operand_layouts = [dense<[1, 0]>" in line


@pytest.mark.parametrize("fun, avals, targets", [
    (op.lu, [MATRIX], ["LuDecomposition"]),
    (op.qr, [MATRIX], ["Qr", "ProductOfElementaryHouseholderReflectors"]),
    (op.eigh, [SQUARE], ["Eigh"]),
    (lambda x: [op.cholesky(x)], [SQUARE], []),
    (lambda *xs: [op.tridiagonal_solve(*xs)], [((2, 4), F32)] * 3 + [((2, 4, 3), F32)], []),
])
def test_functions_of_the_tpu_compiler(fun, avals, targets):
    assert calls(text(fun, "tpu", *avals)) == targets


def test_attributes_for_tpus():
    assert 'backend_config = "1,1,100,1e-6"' in text(op.eigh, "tpu", SQUARE)
    assert 'backend_config = "0,1,100,1e-6"' in text(lambda x: op.eigh(x, lower=False), "tpu", SQUARE)
    assert "api_version = 2 : i32" in text(op.lu, "tpu", MATRIX)
    assert set(calls(text(svd, "tpu", MATRIX))) == {"Qr", "ProductOfElementaryHouseholderReflectors", "Eigh"}


@pytest.mark.parametrize("fun, platform, reason", [
    (op.eig, "tpu", "eig is not supported on tpu: the TPU compiler has no eigenvalues of general matrices; compute them on the CPU"),
    (op.schur, "cuda", "schur is not supported on cuda: only LAPACK has this factorization; compute it on the CPU"),
    (op.hessenberg, "rocm", "hessenberg is not supported on rocm: only LAPACK"),
])
def test_what_is_not_supported(fun, platform, reason):
    with pytest.raises(NotImplementedError, match=reason):
        text(fun, platform, SQUARE)


# Programs, against NumPy


def draw(rng, shape, dtype):
    x = rng.normal(size=shape)
    return (x + 1j * rng.normal(size=shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("shape", [(3, 3), (2, 5, 2), (2, 5), (1, 1)])
@pytest.mark.parametrize("full_matrices", [True, False])
def test_singular_values_by_polar_decomposition(shape, dtype, full_matrices):
    check_svd(draw(np.random.default_rng(0), shape, dtype), full_matrices)


@pytest.mark.parametrize("x", [
    np.zeros((3, 3)), np.diag([1.0, 1e-30, 0.0]), np.ones((4, 3)), np.diag([1e150, 1e-150]), np.vander(np.arange(6.0)),
    np.eye(3)[[1, 0, 2]] * [[2], [-2], [2]],
], ids=["zeros", "graded", "rank one", "range", "ill-conditioned", "equal values"])
def test_singular_values_of_matrices_that_are_hard(x):
    check_svd(x, True)


def check_svd(x, full_matrices):
    """The factors are unitary and give the matrix back, up to rounding in its norm (Higham: a modest multiple of n eps)."""
    with config.enable_x64(True):
        closed = stage(lambda x: list(svd_by_polar(x, full_matrices, True)), [get_aval(x)])
        s, u, vt = evaluate(closed, x)
        (alone,) = evaluate(stage(lambda x: list(svd_by_polar(x, full_matrices, False)), [get_aval(x)]), x)
    tolerance = 50 * np.finfo(x.dtype).eps
    size = np.linalg.norm(x) + np.finfo(s.dtype).tiny
    k = min(x.shape[-2:])
    expected = np.linalg.svd(x, full_matrices=full_matrices)
    assert [a.shape for a in (u, s, vt)] == [a.shape for a in expected] and s.dtype == expected[1].dtype and u.dtype == vt.dtype == x.dtype
    for values in (s, alone):
        np.testing.assert_allclose(values / size, expected[1] / size, atol=tolerance)
    np.testing.assert_allclose((u[..., :k] * (s[..., None, :] / size)) @ vt[..., :k, :], x / size, atol=tolerance)
    for q in (u, np.swapaxes(vt, -1, -2).conj()):
        np.testing.assert_allclose(np.swapaxes(q, -1, -2).conj() @ q,
                                   np.broadcast_to(np.eye(q.shape[-1]), (*q.shape[:-2], *[q.shape[-1]] * 2)), atol=tolerance)


def test_singular_values_of_a_matrix_with_nan_are_nan():
    x = np.stack([np.eye(2), np.full((2, 2), np.nan)])
    with config.enable_x64(True):
        s, u, vt = evaluate(stage(lambda x: list(svd_by_polar(x, True, True)), [get_aval(x)]), x)
    np.testing.assert_allclose(s, [[1, 1], [np.nan, np.nan]])
    for factor in (u, vt):
        assert np.isfinite(factor[0]).all() and np.isnan(factor[1]).all()


@pytest.mark.parametrize("dtype", ["float32", "complex128"])
@pytest.mark.parametrize("n", [1, 2, 5])
def test_tridiagonal_systems_by_elimination(n, dtype):
    rng = np.random.default_rng(0)
    dl, d, du = (draw(rng, (2, n), dtype) for _ in range(3))
    d, b = d + np.array(5, dtype), draw(rng, (2, n, 3), dtype)
    matrix = np.stack([np.diag(d[i]) + np.diag(dl[i, 1:], -1) + np.diag(du[i, :-1], 1) for i in range(2)])
    dl[:, 0] = du[:, -1] = np.nan  # they are not read
    with config.enable_x64(True):
        (x,) = evaluate(stage(lambda *xs: [solve_tridiagonal(*xs)], [get_aval(a) for a in (dl, d, du, b)]), dl, d, du, b)
    assert x.dtype == b.dtype
    np.testing.assert_allclose(matrix @ x, b, atol=50 * np.finfo(dtype).eps)


def test_columns_are_exchanged_on_one_platform_at_a_time_and_not_by_the_tpu():
    program = stage(lambda x: op.qr(x, pivoting=True), [ShapedArray(*MATRIX)])
    for platforms in ("tpu", ("cpu", "cuda")):
        with pytest.raises(NotImplementedError, match="qr: pivoting=True is lowered for one platform at a time and not for tpu"):
            lower(program, platform=platforms)
    with pytest.raises(NotImplementedError, match="qr: use_magma=True is for GPUs"):
        lower(stage(lambda x: op.qr(x, pivoting=True, use_magma=True), [ShapedArray(*MATRIX)]))


def test_the_convention_names_what_is_called():
    matrix = ShapedArray((4, 4), F32)
    closed = stage(lambda x: [op.cholesky(op.cholesky(x)), *op.qr(x)], [matrix])
    for platform in ("cpu", "cuda"):
        module = lower(closed, platform=platform)
        assert module.convention.call_targets == tuple(dict.fromkeys(calls(module.text)))
    assert lower(closed, platform="cpu").convention.call_targets == ("lapack_spotrf_ffi", "lapack_sgeqrf_ffi", "lapack_sorgqr_ffi")
    assert lower(stage(lambda x: [x], [matrix])).convention.call_targets == ()
