"""Derivatives of linear algebra against central differences and adjointness, and vmap against a loop."""

from __future__ import annotations

import numpy as np
import pytest

from laminax_ir.ops import linalg as op
from laminax_ir.ops.reduction import reduce_sum
from laminax_ir.options import config
from laminax_transforms import grad, jvp, vjp, vmap


@pytest.fixture(autouse=True)
def x64():
    with config.enable_x64(True):
        yield


def draw(shape, dtype, seed: int = 0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=shape)
    return (x + 1j * rng.normal(size=shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)


def hermitian(shape, dtype, seed: int = 0):
    x = draw(shape, dtype, seed)
    return x + np.swapaxes(x, -1, -2).conj()


def positive(shape, dtype, seed: int = 0):
    x = draw(shape, dtype, seed)
    return x @ np.swapaxes(x, -1, -2).conj() + 2 * np.eye(shape[-1])


def triangular(shape, dtype, seed: int = 0):
    return draw(shape, dtype, seed) + 3 * np.eye(shape[-1])


def projector(u):
    """What does not depend on the phases of the columns."""
    return np.einsum("...ij,...kj->...jik", u, u.conj())


# name, function of arrays, operands by dtype, and the positions to differentiate
FUNCTIONS = {
    "cholesky": (lambda a: [op.cholesky(a)], lambda t: [positive((2, 3, 3), t)]),
    "solve left": (lambda a, b: [op.triangular_solve(a, b, left_side=True, lower=True)],
                   lambda t: [triangular((2, 3, 3), t), draw((2, 3, 4), t, 1)]),
    "solve right": (lambda a, b: [op.triangular_solve(a, b, transpose_a=True, conjugate_a=True)],
                    lambda t: [triangular((3, 3), t), draw((4, 3), t, 1)]),
    "solve unit": (lambda a, b: [op.triangular_solve(a, b, left_side=True, transpose_a=True, unit_diagonal=True)],
                   lambda t: [triangular((3, 3), t), draw((3, 2), t, 1)]),
    "lu square": (lambda a: op.lu(a)[:1], lambda t: [draw((2, 3, 3), t)]),
    "lu tall": (lambda a: op.lu(a)[:1], lambda t: [draw((4, 2), t)]),
    "lu wide": (lambda a: op.lu(a)[:1], lambda t: [draw((2, 4), t)]),
    "qr square": (lambda a: op.qr(a), lambda t: [draw((2, 3, 3), t)]),
    "qr tall": (lambda a: op.qr(a, full_matrices=False), lambda t: [draw((4, 2), t)]),
    "qr tall, all columns": (lambda a: op.qr(a, full_matrices=True), lambda t: [draw((2, 5, 2), t)]),
    "pivoted qr tall, all columns": (lambda a: op.qr(a, pivoting=True, full_matrices=True)[:2], lambda t: [draw((4, 3), t)]),
    "qr wide": (lambda a: op.qr(a), lambda t: [draw((2, 4), t)]),
    "pivoted qr square": (lambda a: op.qr(a, pivoting=True)[:2], lambda t: [draw((2, 3, 3), t)]),
    "pivoted qr tall": (lambda a: op.qr(a, pivoting=True, full_matrices=False)[:2], lambda t: [draw((4, 2), t)]),
    "pivoted qr wide": (lambda a: op.qr(a, pivoting=True)[:2], lambda t: [draw((2, 4), t)]),
    "eigenvalues": (lambda a: op.eigh(a)[1:], lambda t: [hermitian((2, 3, 3), t)]),
    "singular values": (lambda a: [op.svd(a, compute_uv=False)], lambda t: [draw((2, 3, 4), t)]),
    "general eigenvalues": (lambda a: op.eig(a, compute_left_eigenvectors=False, compute_right_eigenvectors=False),
                            lambda t: [draw((3, 3), t)]),
    "tridiagonal": (lambda dl, d, du, b: [op.tridiagonal_solve(dl, d, du, b)],
                    lambda t: [draw((2, 4), t), draw((2, 4), t, 1) + 4, draw((2, 4), t, 2), draw((2, 4, 3), t, 3)]),
    "symmetric product": (lambda a, c: [op.symmetric_product(a, c, alpha=2.0, beta=-1.0)],
                          lambda t: [draw((2, 3, 4), t), draw((2, 3, 3), t, 1)]),
}


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_jvp_is_the_difference_quotient_and_vjp_its_adjoint(name, dtype):
    function, make = FUNCTIONS[name]
    operands = make(dtype)
    dots = [hermitian(x.shape, dtype, 5) if name in ("cholesky", "eigenvalues") else draw(x.shape, dtype, 5 + i)
            for i, x in enumerate(operands)]

    def flat(*xs):
        return tuple(function(*xs))

    values, tangents = jvp(flat, tuple(operands), tuple(dots))
    h = 1e-6  # the error of the quotient is h**2 times a third derivative of order 100, and 1e-10 of rounding
    ahead, behind = (flat(*[x + s * h * d for x, d in zip(operands, dots)]) for s in (1, -1))
    for value, expected, tangent, f, b in zip(values, flat(*operands), tangents, ahead, behind):
        np.testing.assert_allclose(value, expected, atol=1e-12)
        np.testing.assert_allclose(tangent, (f - b) / (2 * h), rtol=1e-6, atol=1e-7)
    _, pull = vjp(flat, *operands)
    cts = tuple(draw(v.shape, v.dtype, 9 + i) for i, v in enumerate(values))
    # Re(ct . dy) = Re(x_ct . dx), the convention for complex numbers
    forward = sum(np.sum(c * t).real for c, t in zip(cts, tangents))
    backward = sum(np.sum(c * d).real for c, d in zip(pull(cts), dots))
    np.testing.assert_allclose(forward, backward, rtol=1e-9)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_eigenvectors(dtype):
    a, a_dot = hermitian((3, 3), dtype), hermitian((3, 3), dtype, 1)
    (v, _), (v_dot, _) = jvp(lambda a: op.eigh(a), (a,), (a_dot,))
    got = np.einsum("ij,kj->jik", v_dot, v.conj()) + np.einsum("ij,kj->jik", v, v_dot.conj())
    h = 1e-6
    expected = (projector(op.eigh(a + h * a_dot)[0]) - projector(op.eigh(a - h * a_dot)[0])) / (2 * h)
    np.testing.assert_allclose(got, expected, atol=1e-7)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4)])
def test_singular_vectors(shape, dtype):
    a, a_dot = draw(shape, dtype), draw(shape, dtype, 1)
    (u, s, vh), (u_dot, s_dot, vh_dot) = jvp(lambda a: op.svd(a, full_matrices=False), (a,), (a_dot,))
    # the product rule of A = U S V^H, and the projectors on single vectors
    np.testing.assert_allclose(u_dot * s @ vh + u * s_dot @ vh + u * s @ vh_dot, a_dot, atol=1e-10)
    h = 1e-6
    ahead, behind = (op.svd(a + sign * h * a_dot, full_matrices=False) for sign in (1, -1))
    got = np.einsum("ij,kj->jik", u_dot, u.conj()) + np.einsum("ij,kj->jik", u, u_dot.conj())
    np.testing.assert_allclose(got, (projector(ahead[0]) - projector(behind[0])) / (2 * h), atol=1e-6)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_vmap_is_the_loop(name):
    function, make = FUNCTIONS[name]
    operands = [np.stack([x, 2 * x + 1], 1) for x in make("float64")]
    got = vmap(lambda *xs: tuple(function(*xs)), in_axes=1)(*operands)
    rows = [function(*[x[:, i] for x in operands]) for i in range(2)]
    for result, expected in zip(got, zip(*rows)):
        np.testing.assert_allclose(result, np.stack(expected), atol=1e-12)
    if len(operands) == 2:
        a, b = operands[0][:, 0], operands[1]
        got = vmap(lambda b: function(a, b)[0], in_axes=1)(b)
        np.testing.assert_allclose(got, np.stack([function(a, b[:, i])[0] for i in range(2)]), atol=1e-12)


@pytest.mark.parametrize("call, shape, message", [
    (lambda x: op.svd(x)[0], (4, 3), "svd of a matrix that is not square"),
    (lambda x: op.eig(x)[0], (3, 3), "eigenvectors of general matrices"),
])
def test_refused_derivatives(call, shape, message):
    x = draw(shape, "float64")
    with pytest.raises(NotImplementedError, match=message):
        jvp(call, (x,), (x,))


def test_degenerate_eigenvalues_and_singular_values():
    """Values have derivatives (of symmetric functions: the trace's is the identity), vectors have none."""
    def total(x):
        return reduce_sum(x, tuple(range(len(x.shape))))

    with np.errstate(all="ignore"):
        for matrix in (np.eye(2), 2 * np.eye(3)):
            np.testing.assert_allclose(grad(lambda a: total(op.eigh(a)[1]))(matrix), np.eye(len(matrix)), atol=1e-12)
            assert np.isnan(grad(lambda a: total(op.eigh(a)[0]))(matrix)).all()
            np.testing.assert_allclose(grad(lambda a: total(op.svd(a, compute_uv=False)))(matrix), np.eye(len(matrix)), atol=1e-12)
            assert np.isnan(grad(lambda a: total(op.svd(a)[0]))(matrix)).all()
