"""Many small matrices on the CPU: the kernel against NumPy, against LAPACK's kernel, and on matrices without a factorization."""

import numpy as np
import pytest
from stablehlo_runner import run_text

from laminax_ir.ops import linalg as ops
from laminax_ir.options.config import enable_x64
from laminax_ir.recording.staging import stage
from laminax_ir.types.avals import get_aval
from laminax_lowering import lower

# The steps are LAPACK's, each entry a sum of at most four products: a few roundings, times the growth of the factors.
RTOL = {"float32": 2e-5, "float64": 2e-14}


def results(fun, *args, is_taken=True):
    """Those of the kernel and those of LAPACK."""
    with enable_x64(True):
        closed = stage(lambda *xs: list(fun(*xs)), [get_aval(x) for x in args])
    text, general = lower(closed, cpu_kernels=True).text, lower(closed).text
    calls = [line for line in text.splitlines() if "xla_cpu_small_call" in line and "@permutation" not in line]
    assert (bool(calls), "lapack" in text) == (is_taken, not is_taken) and "lapack" in general
    return run_text(text, list(args)), run_text(general, list(args))


def matrices(shape, dtype):
    x = np.random.default_rng(0).normal(size=shape).astype(dtype)
    return x + 2 * np.eye(shape[-1], dtype=dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(40, 2, 2), (1030, 2, 2), (5, 7, 3, 3), (513, 3, 3)])
def test_factors(shape, dtype):
    x = matrices(shape, dtype)
    (factors, pivots, permutation), by_lapack = results(ops.lu, x)
    np.testing.assert_array_equal(pivots, by_lapack[1])
    np.testing.assert_array_equal(permutation, by_lapack[2])
    np.testing.assert_allclose(factors, by_lapack[0], rtol=RTOL[dtype], atol=RTOL[dtype])
    lower_part = np.tril(factors, -1) + np.eye(shape[-1], dtype=dtype)
    np.testing.assert_allclose(lower_part @ np.triu(factors), np.take_along_axis(x, permutation[..., None], -2), atol=10 * RTOL[dtype])
    positive = x @ x.swapaxes(-1, -2) + np.eye(shape[-1], dtype=dtype)
    (factor,), _ = results(lambda x: [ops.cholesky(x)], positive)
    np.testing.assert_allclose(factor, np.linalg.cholesky(positive), rtol=10 * RTOL[dtype], atol=10 * RTOL[dtype])


@pytest.mark.parametrize("unit_diagonal", [False, True])
@pytest.mark.parametrize("transpose_a", [False, True])
@pytest.mark.parametrize("lower_half", [False, True])
@pytest.mark.parametrize("left_side", [False, True])
def test_triangular_systems(left_side, lower_half, transpose_a, unit_diagonal):
    a = matrices((600, 4, 4), np.float64)
    b = np.random.default_rng(1).normal(size=(600, 4, 3) if left_side else (600, 3, 4))
    options = {"left_side": left_side, "lower": lower_half, "transpose_a": transpose_a, "unit_diagonal": unit_diagonal}
    (x,), (by_lapack,) = results(lambda a, b: [ops.triangular_solve(a, b, **options)], a, b)
    matrix = np.tril(a) if lower_half else np.triu(a)
    if unit_diagonal:
        matrix = matrix - matrix * np.eye(4) + np.eye(4)
    matrix = matrix.swapaxes(-1, -2) if transpose_a else matrix
    bound = 1e-12 * np.abs(x).max((-2, -1), keepdims=True) * 100  # the matrices' condition numbers are up to a hundred
    assert np.all(np.abs((matrix @ x if left_side else x @ matrix) - b) <= bound + 1e-12)
    np.testing.assert_allclose(x, by_lapack, rtol=1e-9, atol=1e-9)


def test_matrices_without_a_factorization():
    x = np.stack([np.array(m, np.float64) for m in ([[0, 0], [0, 0]], [[0, 1], [0, 2]], [[1, 1], [1, 1]], [[2, 1], [1, 2]])] * 10)
    (factors, pivots, permutation), by_lapack = results(ops.lu, x)
    for ours, lapacks in zip((factors, pivots, permutation), by_lapack, strict=True):
        np.testing.assert_array_equal(ours, lapacks)
    (factor,), (by_lapack,) = results(lambda x: [ops.cholesky(x)], x[2:])  # singular, and positive definite
    indefinite = np.broadcast_to(np.array([[1.0, 2.0], [2.0, 1.0]]), (40, 2, 2)).copy()
    (failed,), (failed_by_lapack,) = results(lambda x: [ops.cholesky(x)], indefinite)
    np.testing.assert_array_equal(np.isnan(np.tril(failed))[:, [0, 1, 1], [0, 0, 1]], True)
    np.testing.assert_array_equal(np.isnan(failed), np.isnan(failed_by_lapack))
    assert factor.shape == by_lapack.shape


@pytest.mark.parametrize("x", [np.ones((31, 2, 2)), np.ones((40, 4, 4)), np.ones((40, 1, 1)), np.ones((40, 2, 2), np.complex64)],
                         ids=["few", "large", "numbers", "complex"])
def test_what_is_left_to_lapack(x):
    results(ops.lu, x, is_taken=False)
