"""The polar decomposition against the one that singular values give."""

import numpy as np
import pytest

from laminax_ir.ops.polar import qdwh
from laminax_ir.options.config import enable_x64
from laminax_ir.types.errors import DTypeError, ShapeError


@pytest.mark.parametrize("dtype, shape, tolerance", [("float32", (4, 4), 2e-6), ("float64", (5, 3), 1e-14), ("complex64", (4, 2), 2e-6),
                                                     ("complex128", (3, 3), 1e-14), ("float64", (1, 1), 1e-14), ("float32", (3, 0), 0)])
def test_factors(dtype, shape, tolerance):
    rng = np.random.default_rng(0)
    x = (rng.normal(size=shape) + (1j * rng.normal(size=shape) if dtype[0] == "c" else 0)).astype(dtype)
    with enable_x64():
        u, h, steps, is_converged = qdwh(x)
    left, s, right = np.linalg.svd(x, full_matrices=False)
    assert u.dtype == h.dtype == dtype and is_converged and steps <= 7
    np.testing.assert_allclose(u, left @ right, atol=10 * tolerance)  # u is less well conditioned than x is
    np.testing.assert_allclose(h, right.conj().T * s @ right, atol=3 * tolerance)
    np.testing.assert_allclose(u @ h, x, atol=3 * tolerance)


def test_small_singular_values_are_lifted():
    rng = np.random.default_rng(0)
    left, right = (np.linalg.qr(rng.normal(size=(4, 4)))[0] for _ in range(2))
    with enable_x64():
        u, _, steps, is_converged = qdwh(left * [1, 1e-3, 1e-6, 1e-9] @ right)
    assert is_converged and steps <= 7
    np.testing.assert_allclose(u, left @ right, atol=1e-6)  # the condition number times the rounding error


def test_arguments():
    x = np.random.default_rng(0).normal(size=(4, 3))
    with enable_x64():
        u, h, steps, is_converged = qdwh(x, max_iterations=2)
        assert steps == 2 and not is_converged and not np.allclose(u.T @ u, np.eye(3))
        assert qdwh(x, max_iterations=0)[2:] == (0, False)
        assert qdwh(x, eps=1e-12)[2] <= qdwh(x, eps=1e-40)[2]
        u, h, _, _ = qdwh(x, dynamic_shape=(3, 2))
        inner = qdwh(x[:3, :2])
        np.testing.assert_allclose(u, np.pad(inner[0], ((0, 1), (0, 1))), atol=1e-14)
        np.testing.assert_allclose(h, np.pad(inner[1], ((0, 1), (0, 1))), atol=1e-14)
        symmetric = x[:3] + x[:3].T
        hermitian = qdwh(symmetric, is_hermitian=True)[0]
        np.testing.assert_array_equal(hermitian, hermitian.T)
        np.testing.assert_allclose(hermitian, qdwh(symmetric)[0], atol=1e-14)


@pytest.mark.parametrize("call, error, message", [
    (lambda: qdwh(np.zeros((2, 3), "float32")), ValueError, r"at least as many rows as columns, got f32\[2,3\]"),
    (lambda: qdwh(np.zeros((2, 3, 3), "float32")), ShapeError, "one matrix"),
    (lambda: qdwh(np.zeros(3, "float32")), ShapeError, "a matrix"),
    (lambda: qdwh(np.zeros((3, 3), "int32")), DTypeError, "int32"),
    (lambda: qdwh(np.zeros((3, 3), "float32"), max_iterations=-1), ValueError, "-1"),
])
def test_malformed_calls(call, error, message):
    with pytest.raises(error, match=message):
        call()
