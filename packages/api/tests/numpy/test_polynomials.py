"""Roots and coefficients of polynomials, against NumPy."""

import numpy as np
import pytest

import laminax
import laminax.numpy as jnp


@pytest.mark.parametrize("p", [(1, -3, 2), (0, 0, 1, -3, 2), (0, 1, 2, 0), (2, -3, 1), (0, 0, 5), (0, 3)])
def test_zeros_in_front_are_roots_that_are_nan(p):
    expected = np.roots(p)
    for roots in (jnp.roots, laminax.jit(jnp.roots, static_argnames="strip_zeros")):
        found = np.asarray(roots(jnp.array(p, float), strip_zeros=False))
        assert found.shape == (len(p) - 1,) and np.isnan(found.real[len(expected):]).all() and np.isnan(found.imag[len(expected):]).all()
        np.testing.assert_allclose(np.sort_complex(found[:len(expected)]), np.sort_complex(expected), atol=1e-5)


def test_coefficients_of_scalars_and_sums_of_many():
    np.testing.assert_array_equal(jnp.poly(3), np.poly(np.array(3.0)[None]))
    assert jnp.poly(np.zeros(0)).shape == np.shape(np.poly(np.zeros(0))) == () and jnp.poly(np.zeros(0)) == 1
    many = np.arange(6).reshape(2, 3)
    np.testing.assert_array_equal(jnp.polyadd(jnp.array([[1, 2, 3]]), many), many + np.array([[0, 0, 0], [1, 2, 3]]))
    np.testing.assert_array_equal(jnp.polysub(many, jnp.array([[1, 2, 3]])), many - np.array([[0, 0, 0], [1, 2, 3]]))
    np.testing.assert_array_equal(jnp.polyadd(jnp.array([2]), many), many + np.array([[0, 0, 0], [2, 2, 2]]))
    with pytest.raises(ValueError, match="Cannot broadcast to shape with fewer dimensions"):
        jnp.polyadd(jnp.array([1, 2, 3]), many)
