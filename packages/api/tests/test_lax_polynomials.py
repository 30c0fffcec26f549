"""`lax.polynomial`, `lax.log2` and `lax.one_minus_square` as users call them."""

from __future__ import annotations

import numpy as np
import pytest

import laminax
import laminax.numpy as jnp
from laminax import lax


@pytest.mark.parametrize("count", [1, 2, 8, 9, 30])
def test_polynomials_are_numpy_s(count):
    coeffs, x = np.random.default_rng(0).normal(size=count), np.linspace(-1, 1, 7, dtype=np.float32)
    expected = np.polynomial.polynomial.polyval(x, coeffs)
    for f in (lax.polynomial, laminax.jit(lambda x, c: lax.polynomial(x, c, unroll=3))):
        np.testing.assert_allclose(f(x, list(coeffs)), expected, rtol=1e-5, atol=1e-5)


def test_the_derivative_of_a_polynomial_is_one_polynomial():
    jaxpr = laminax.make_jaxpr(laminax.grad(lambda x: lax.polynomial(x, [1.0, 2.0, 3.0, 4.0])))(0.5)
    assert str(jaxpr).count("polynomial") <= 2
    np.testing.assert_allclose(laminax.grad(lambda x: lax.polynomial(x, [1.0, 2.0, 3.0, 4.0]))(0.5), 2 + 3 + 3, rtol=1e-6)


def test_an_infinite_argument_of_many_coefficients_is_infinite():
    assert lax.polynomial(jnp.float32(jnp.inf), [1.0] * 12) == np.inf


def test_shapes_and_types_of_polynomials():
    x = jnp.ones((2, 3))
    assert lax.polynomial(x, []).tolist() == [[0] * 3] * 2
    assert lax.polynomial(x, [jnp.arange(2.0).reshape(2, 1), 1.0]).tolist() == [[1.0] * 3, [2.0] * 3]
    assert lax.polynomial(3, [1, 5, 2]).dtype == np.int32 and lax.polynomial(3, [1, 5, 2]) == 34
    assert lax.polynomial(3.0, [1.0, 5.0, 2.0]).weak_type
    with pytest.raises(ValueError, match="unroll must be at least 1, got 0"):
        lax.polynomial(x, [1.0, 2.0], unroll=0)
    with pytest.raises(TypeError, match="number of dimensions"):
        lax.polynomial(x, [1.0, jnp.ones(3)])
    with pytest.raises(TypeError, match=r"polynomial: coeffs must be a sequence .* got 3 of type int"):
        lax.polynomial(x, 3)


@pytest.mark.parametrize("coefficient", [2j, np.complex64(2j), jnp.complex64(2j), jnp.ones((2, 3), jnp.complex64)])
def test_complex_coefficients_ask_for_a_complex_argument(coefficient):
    x = jnp.ones((2, 3))
    with pytest.raises(TypeError, match="polynomial: a coefficient is complex"):
        lax.polynomial(x, [1.0, coefficient])
    found = lax.polynomial(x.astype(jnp.complex64), [1.0, coefficient])
    np.testing.assert_array_equal(found, 1 + np.asarray(coefficient) * np.ones((2, 3)))


def test_one_minus_square_near_one():
    x = np.float32(1 - 2.0**-20)
    np.testing.assert_allclose(lax.one_minus_square(x), 1 - np.float64(x) ** 2, rtol=2e-7)
    assert laminax.grad(lax.one_minus_square)(3.0) == -6.0


def test_log2():
    np.testing.assert_array_equal(lax.log2(np.float32([8, 0, np.inf, 0.25])), [3, -np.inf, np.inf, -2])
    np.testing.assert_allclose(lax.log2(np.complex64(3 + 4j)), np.log2(np.complex128(3 + 4j)), rtol=1e-6)
    np.testing.assert_allclose(laminax.grad(lax.log2)(3.0), 1 / (3 * np.log(2)), rtol=1e-6)
