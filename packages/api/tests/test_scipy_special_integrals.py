"""Special functions that are integrals, and combinatorial ones, against SciPy in float64; derivatives against differences."""

import numpy as np
import pytest
import scipy.special

import laminax
from laminax.scipy import special
from laminax.testing import check_grads

REAL = np.array([-30.0, -9.0, -3.3, -1.5, -0.2, 1e-3, 0.3, 1.0, 1.6, 2.7, 4.5, 7.9, 9.5, 13.0, 39.0, 45.0])
POSITIVE = REAL[REAL > 0]
COMPLEX = np.array([0.1 + 0.2j, -3 + 0.5j, 2 - 1j, -0.5 - 2j, 6 + 6j, 1e-3 + 10j, 20 + 0.1j, 2.0])
EDGES = np.array([0.0, np.inf, np.nan])

CASES = {
    "expi": (REAL,), "exp1": (POSITIVE,), "sici": (REAL,), "fresnel": (REAL,), "wofz": (COMPLEX,), "erfcx": (REAL[1:],),
    "dawsn": (REAL,), "spence": (np.append(POSITIVE, [0.49, 0.51, 2.0, 1e6]),),
    "owens_t": (np.array([0.0, 0.5, 1.5, 3.0, -2.0, 8.0])[:, None], np.array([0.2, 1.0, 3.0, -0.7, 40.0, np.inf, 0.0])),
    "expn": (np.array([0, 1, 2, 3, 10])[:, None], np.array([0.1, 0.9, 1.0, 1.1, 3.0, 30.0])),
    "comb": (np.array([5, 10, 30, 3])[:, None], np.array([0, 2, 3, 7, -1])),
    "poch": (np.array([0.5, 2.0, 7.3, -1.5])[:, None], np.array([0.0, 1.0, 2.5])),
    "boxcox": (POSITIVE[:, None], np.array([0.0, 0.5, -1.0, 1e-9])), "boxcox1p": (POSITIVE[:, None], np.array([0.0, 0.5, -1.0, 1e-9])),
}


@pytest.fixture(autouse=True)
def double_precision():
    with laminax.enable_x64(True):
        yield


@pytest.mark.parametrize("name", CASES)
def test_values(name):
    got, expected = getattr(special, name)(*CASES[name]), getattr(scipy.special, name)(*CASES[name])
    for x, y in zip(got if isinstance(got, tuple) else (got,), expected if isinstance(expected, tuple) else (expected,), strict=True):
        # cancellation near zeros, and the 12 digits of the Faddeeva function
        np.testing.assert_allclose(x, y, rtol=2e-11, atol=2e-13)
        assert x.dtype == y.dtype
    single = laminax.eval_shape(getattr(special, name), *(a.astype(np.float32) if a.dtype == np.float64 else a for a in CASES[name]))
    assert laminax.tree.leaves(single)[0].dtype == ({"wofz": np.complex128, "comb": np.float64}.get(name, np.float32))


@pytest.mark.parametrize("name", ["expi", "exp1", "sici", "fresnel", "erfcx", "dawsn", "spence", "exp1"])
def test_single_precision(name):
    args = [a.astype(np.float32) for a in CASES[name]]
    got, expected = getattr(special, name)(*args), getattr(scipy.special, name)(*[a.astype(np.float64) for a in args])
    for x, y in zip(got if isinstance(got, tuple) else (got,), expected if isinstance(expected, tuple) else (expected,), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-4, atol=2e-6)  # exp(x**2) of x near 8 loses two digits


@pytest.mark.parametrize("name, low, high, units", [("erfcx", -9.3, 2, 6), ("erfcx", 2, 30, 32), ("dawsn", -30, 30, 6)])
def test_single_precision_has_its_digits(name, low, high, units):
    """Those of x**2 in exp(x**2), and those of x where Dawson's integral is nearly x, were lost; between 2 and 8 XLA's erfc has fewer."""
    x = np.append(np.linspace(low, high, 4001), [0.013, 0.0099, 0.3, 0.29999] if name == "dawsn" else []).astype(np.float32)
    expected = getattr(scipy.special, name)(x.astype(np.float64))
    np.testing.assert_allclose(getattr(special, name)(x), expected, rtol=units * np.finfo(np.float32).eps)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_exp1_of_negative_numbers_is_nan(dtype):
    x = np.array([-1.0, -1e-30, -30.0, -np.inf, -0.0], dtype)
    np.testing.assert_array_equal(special.exp1(x), scipy.special.exp1(x))


def test_erfcx_at_the_ends():
    for dtype, x in ((np.float32, [-9.4, -20, -np.inf, np.inf]), (np.float64, [-26.7, -1e3, -np.inf, np.inf])):
        np.testing.assert_array_equal(special.erfcx(np.array(x, dtype)), [np.inf, np.inf, np.inf, 0])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_erfcx_of_narrow_floats(dtype):
    """exp(16) is no number of float16, so that 4 gave NaN."""
    x = laminax.numpy.array([-2.0, 0.0, 3.0, 3.5, 4.0, 7.5, 100.0], dtype)
    found = special.erfcx(x)
    assert found.dtype == dtype
    np.testing.assert_allclose(np.float64(found), scipy.special.erfcx(np.float64(x)), rtol=float(laminax.numpy.finfo(dtype).eps))


def test_derivatives_of_poch_in_the_second_argument_at_zero():
    """gamma(z + m) / gamma(z) is 1 at m = 0, but not constant: its derivatives are digamma(z) and, by z too, polygamma(1, z)."""
    z = np.array([1.0, 0.5, 3.0, -1.5])
    by_m = laminax.grad(special.poch, 1)
    np.testing.assert_allclose(laminax.vmap(by_m, (0, None))(z, 0.0), scipy.special.digamma(z), rtol=1e-12)
    np.testing.assert_allclose(laminax.vmap(laminax.grad(by_m), (0, None))(z[:3], 0.0), scipy.special.polygamma(1, z[:3]), rtol=1e-10)
    np.testing.assert_array_equal(special.poch(np.array([0.0, -1.0, -2.0]), 0.0), 1)


def test_derivatives_of_owens_t():
    """In closed form: a difference of normal distributions lost the digits for small h, and infinite h gave NaN."""
    h, a = np.float32([1e-6, -1e-6, 0.5, 2.0, np.inf, -np.inf])[:, None], np.float32([2.0, -0.5, 3.0])
    wide, slope_h = np.float64(h), laminax.vmap(laminax.vmap(laminax.grad(special.owens_t), (None, 0)), (0, None))
    with np.errstate(invalid="ignore"):
        by_h = -np.exp(-wide**2 / 2) * scipy.special.erf(a * wide / np.sqrt(2)) / np.sqrt(8 * np.pi)
    by_a = np.exp(-wide**2 * (1 + np.float64(a)**2) / 2) / (2 * np.pi * (1 + np.float64(a)**2))
    with laminax.enable_x64(False):
        np.testing.assert_allclose(slope_h(h[:, 0], a), by_h, rtol=1e-5)
        by_both = laminax.vmap(laminax.vmap(laminax.grad(special.owens_t, 1), (None, 0)), (0, None))(h[:, 0], a)
    np.testing.assert_allclose(by_both, by_a, rtol=1e-5, atol=1e-12)


@pytest.mark.parametrize("name", ["expi", "exp1", "sici", "fresnel", "expn", "dawsn"])
def test_without_jit(name):
    args = (2, 0.7) if name == "expn" else (0.7,)  # loops count in Python integers then
    with laminax.disable_jit():
        got = getattr(special, name)(*args)
    np.testing.assert_allclose(got, getattr(scipy.special, name)(*args), rtol=1e-11)


@pytest.mark.parametrize("name", ["expi", "sici", "fresnel", "erfcx", "dawsn", "spence"])
def test_derivatives(name):
    check_grads(getattr(special, name), (np.array([0.3, 1.0, 2.7, 4.5, 9.5]),), order=1, rtol=1e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_derivatives_far_out_keep_their_digits(dtype):
    """2 x erfcx(x) - 2/sqrt(pi) and 1 - 2 x dawsn(x) lose them: at 1000 20 % was wrong. Expected are first terms of their series."""
    x = np.array([50.0, 1e3, 1e6, 1e15])
    u, rtol = 1 / (2 * x * x), 1e-6 if dtype == np.float32 else 1e-11
    erfcx, dawsn = (laminax.vmap(laminax.grad(f))(x.astype(dtype)) for f in (special.erfcx, special.dawsn))
    np.testing.assert_allclose(erfcx, -2 / np.sqrt(np.pi) * u * (1 - 3 * u * (1 - 5 * u * (1 - 7 * u))), rtol=rtol)
    np.testing.assert_allclose(dawsn, -u * (1 + 3 * u * (1 + 5 * u * (1 + 7 * u))), rtol=rtol)
    for f in (special.erfcx, special.dawsn):
        assert laminax.grad(f)(dtype(np.inf)) == 0 and laminax.grad(laminax.grad(f))(dtype(np.inf)) == 0
        assert np.isnan(laminax.grad(f)(dtype(np.nan)))


def test_more_derivatives():
    check_grads(special.owens_t, (np.array([0.5, 1.5, -2.0]), np.array([0.3, 2.0, 0.7])), order=1)
    check_grads(special.boxcox, (np.array([0.5, 3.0]), np.array([0.5, -1.0])), order=1)
    slope = laminax.grad(special.wofz, holomorphic=True)(0.3 + 0.4j)
    np.testing.assert_allclose(slope, -2 * (0.3 + 0.4j) * scipy.special.wofz(0.3 + 0.4j) + 2j / np.sqrt(np.pi), rtol=1e-10)


@pytest.mark.parametrize("name", ["expi", "exp1", "sici", "fresnel", "erfcx", "dawsn", "spence"])
def test_edges(name):
    got, expected = getattr(special, name)(EDGES), getattr(scipy.special, name)(EDGES)
    if name == "spence":
        got, expected = np.asarray(got)[[0, 2]], expected[[0, 2]]  # SciPy gives NaN at infinity, the limit is -inf
    np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-300)


def test_numbers_of_bernoulli():
    for n in (0, 1, 2, 20):
        np.testing.assert_allclose(special.bernoulli(n), scipy.special.bernoulli(n)[:n + 1], rtol=1e-9, atol=1e-15)
    assert special.comb(4, 2, repetition=True) == scipy.special.comb(4, 2, repetition=True)


@pytest.mark.parametrize("call, error, message", [
    (lambda: special.expi(1j), ValueError, r"Argument `x` to expi must be real-valued, got c128\[\]"),
    (lambda: special.expn(1.5, 2.0), ValueError, "expn: n must be of integer dtype"),
    (lambda: special.bernoulli(-1), ValueError, "n must not be negative, got -1"),
    (lambda: special.spence([1.0]), TypeError, "spence requires ndarray or scalar arguments"),
])
def test_refusals(call, error, message):
    with pytest.raises(error, match=message):
        call()
