"""Special functions of complex numbers against SciPy, and those of real numbers that refuse them."""

import numpy as np
import pytest
import scipy.special

import laminax
from laminax import numpy as jnp
from laminax.scipy import special

PARTS = np.array([-30.5, -7.3, -2.5, -2.0, -1.0, -0.5, -1e-3, 0.0, 0.1, 0.5, 1.0, 1.4, 1.8, 2.0, 2.3, 6.9, 7.1,
                  25.0])
PLANE = (PARTS[:, None] + 1j * np.array([-30.0, -7.1, -2.0, -0.3, -1e-4, 0.0, 1e-4, 0.3, 2.0, 6.9, 30.0])).ravel()
BELOW_THE_CUT = np.array([complex(-0.5, -0.0), complex(-2.5, -0.0), complex(-7.3, -0.0), complex(0.5, -0.0)])
INFINITE = np.array([complex(np.inf, 0), complex(1, np.inf), complex(-np.inf, 1), complex(np.nan, 1), complex(-30.5, 2),
                     complex(3, -1e200)])


def close(got, expected, tolerance):
    """By the size of the complex number, as numbers that nearly cancel leave nothing of one part."""
    finite = np.isfinite(expected)
    np.testing.assert_array_equal(np.isnan(got), np.isnan(expected))
    assert np.all(np.abs(got - expected)[finite] <= tolerance * (1e-3 + np.abs(expected[finite])))


@pytest.mark.parametrize("name", ["gamma", "loggamma", "erfcx", "wofz"])
@pytest.mark.parametrize("x64", [True, False])
def test_values_in_the_plane(name, x64):
    z = np.concatenate([PLANE, BELOW_THE_CUT]) if name in ("gamma", "loggamma") else PLANE[np.abs(PLANE.real) < 3]
    z = z[z.imag > -3] if name == "wofz" else z
    z = z.astype(np.complex128 if x64 else np.complex64)
    with laminax.enable_x64(x64):
        got = np.asarray(getattr(special, name)(z))
    assert got.dtype == z.dtype
    with np.errstate(all="ignore"):
        expected = getattr(scipy.special, name)(z.astype(np.complex128))
    expected = np.where(np.abs(expected) > np.finfo(z.dtype).max, np.nan, expected)
    # loggamma of 90 in single precision has an error of 4e-6, which is the relative error of gamma
    close(np.where(np.isnan(expected) & np.isinf(got), np.nan, got), expected, 2e-11 if x64 else 4e-5)


@pytest.mark.parametrize("name", ["wofz", "erfcx"])
def test_infinite_arguments_and_results(name):
    with laminax.enable_x64(True):
        got = np.asarray(getattr(special, name)(INFINITE))
    expected = getattr(scipy.special, name)(INFINITE)
    for x, y in ((got, expected), (expected, got)):
        np.testing.assert_array_equal(np.isnan(x), np.isnan(y))
    zeros = expected == 0
    assert zeros.any()
    np.testing.assert_allclose(got[zeros], 0, atol=1e-150)
    np.testing.assert_array_equal(np.isinf(got), np.isinf(expected))


@pytest.mark.parametrize("name", ["gamma", "loggamma", "erfcx"])
@pytest.mark.parametrize("z", [0.7 + 0.2j, 1.1 - 0.1j, 2.2 + 0.3j, 3.1 + 4j, 12 - 9j, -1.4 + 0.6j, -2.3 - 0.2j])
def test_derivatives_are_those_of_the_plane(name, z):
    fun, step = getattr(scipy.special, name), 1e-5
    with laminax.enable_x64(True):
        got = laminax.grad(getattr(special, name), holomorphic=True)(z)
    expected = (fun(z + step) - fun(z - step)) / (2 * step)
    np.testing.assert_allclose(got, expected, rtol=1e-7)
    np.testing.assert_allclose(expected, (fun(z + 1j * step) - fun(z - 1j * step)) / (2j * step), rtol=1e-7)


def test_real_loggamma_has_no_value_where_gamma_may_be_negative():
    x = np.array([-2.5, -1.5, -1.0, -0.5, 0.0, 0.3, 2.5, 50.0, np.inf, np.nan], np.float32)
    np.testing.assert_allclose(special.loggamma(x), scipy.special.loggamma(x.astype(np.float64)), rtol=2e-6)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "int32"])
def test_erfcinv_of_other_dtypes(dtype):
    y = jnp.array([0, 1, 2], dtype) if dtype == "int32" else jnp.array([0.1, 0.5, 1.9], dtype)
    got = special.erfcinv(y)
    assert got.dtype == (jnp.float32 if dtype == "int32" else dtype)
    np.testing.assert_allclose(got.astype(float), scipy.special.erfcinv(np.asarray(y, np.float64)), rtol=1e-2)


@pytest.mark.parametrize("name, arity", [
    ("beta", 2), ("betainc", 3), ("dawsn", 1), ("entr", 1), ("erfcinv", 1), ("exp1", 1), ("expi", 1), ("fresnel", 1), ("gammasgn", 1),
    ("hyp1f1", 3), ("i0", 1), ("i1", 1), ("kl_div", 2), ("poch", 2), ("rel_entr", 2), ("sici", 1)])
def test_functions_of_real_numbers_refuse_complex_ones(name, arity):
    args = [jnp.array([0.5], jnp.float32)] * (arity - 1) + [jnp.array([0.5 + 0j], jnp.complex64)]
    with pytest.raises(ValueError, match=rf"Argument `\w+` to {name} must be real-valued, got c64\[1\]: {name} does not support"):
        getattr(special, name)(*args)
    with pytest.raises(ValueError, match=f"{name} does not support complex-valued inputs"):
        laminax.jit(getattr(special, name))(*args)


@pytest.mark.parametrize("name", ["sici", "fresnel"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_pairs_of_integrals_in_half_precision(name, dtype):
    x = jnp.array([-3.0, 0.5, 2.0], dtype)
    for got, expected in zip(getattr(special, name)(x), getattr(scipy.special, name)(np.asarray(x, np.float64)), strict=True):
        assert got.dtype == dtype
        np.testing.assert_allclose(got.astype(float), expected, rtol=1e-2)
