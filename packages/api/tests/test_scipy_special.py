"""Special functions against SciPy, with derivatives against central differences in float64."""

import numpy as np
import pytest
import scipy.special

import laminax
import laminax.numpy as jnp
from laminax.scipy import special

REAL = np.array([-3.3, -1.5, -0.2, 0.3, 1.0, 2.7, 9.5])
POSITIVE = np.array([0.05, 0.3, 1.0, 2.0, 3.7, 12.0, 40.0])
UNIT = np.array([0.001, 0.1, 0.3, 0.5, 0.7, 0.9, 0.999])
OTHER = np.array([4.5, 1.2, 30.0, 0.7, 2.0, 9.0, 0.1])

CASES = {
    **{name: (REAL,) for name in ("erf", "erfc", "expit", "i0", "i0e", "i1", "i1e", "gamma", "gammaln", "digamma", "gammasgn", "ndtr",
                                  "log_ndtr")},
    **{name: (UNIT,) for name in ("logit", "ndtri", "erfinv")},
    "entr": (POSITIVE,), "factorial": (POSITIVE,),
    **{name: (POSITIVE, OTHER) for name in ("xlogy", "xlog1py", "betaln", "beta", "gammainc", "gammaincc", "rel_entr", "kl_div")},
    "betainc": (POSITIVE, OTHER, UNIT), "zeta": (POSITIVE + 1.5, OTHER), "polygamma": (np.array([0, 1, 2, 3, 1, 2, 0]), OTHER),
}
WITHOUT_DERIVATIVE = {"betainc": 2, "polygamma": 1}  # how many leading arguments


@pytest.fixture(autouse=True)
def double_precision():
    with laminax.enable_x64(True):
        yield


@pytest.mark.parametrize("name", CASES)
def test_values(name):
    args = CASES[name]
    got, expected = getattr(special, name)(*args), getattr(scipy.special, name)(*args)
    np.testing.assert_allclose(got, expected, rtol=2e-9, atol=1e-13)  # the incomplete gamma functions of XLA lose some digits
    assert got.dtype == np.float64
    single = laminax.eval_shape(getattr(special, name), *(x.astype(np.float32) if x.dtype == np.float64 else x for x in args))
    assert single.dtype == np.float32  # integers do not widen floats


@pytest.mark.parametrize("name", [name for name in CASES if name != "gammasgn"])
def test_derivatives(name):
    args = list(CASES[name])
    fun, step = getattr(special, name), 1e-6
    for i in range(WITHOUT_DERIVATIVE.get(name, 0), len(args)):
        @laminax.jit
        def with_tangent(x, i=i):
            return laminax.jvp(lambda x: fun(*args[:i], x, *args[i + 1:]), (x,), (jnp.ones_like(x),))
        h = step * args[i]
        difference = (np.asarray(with_tangent(args[i] + h)[0]) - np.asarray(with_tangent(args[i] - h)[0])) / (2 * h)
        _, tangent = with_tangent(args[i])
        np.testing.assert_allclose(tangent, difference, rtol=1e-5, atol=1e-7)


def test_zeta_is_differentiable_in_its_exponent_many_times():
    # -zeta'(2) = sum of log(n) / n^2; the mixed derivative is that of -x zeta(x + 1, q), also when it is taken the other way round
    assert np.isclose(laminax.grad(special.zeta)(2.0, 1.0), -0.9375482543158437, rtol=1e-12)  # the OEIS's A073002
    x, q = 3.5, 0.7
    one_way = laminax.grad(laminax.grad(special.zeta, 0), 1)(x, q)
    expected = laminax.grad(lambda x: -x * special.zeta(x + 1, q))(x)
    np.testing.assert_allclose([one_way, laminax.grad(laminax.grad(special.zeta, 1), 0)(x, q)], [expected, expected], rtol=1e-10)
    h = 1e-4
    second = (laminax.grad(special.zeta)(x + h, q) - laminax.grad(special.zeta)(x - h, q)) / (2 * h)
    np.testing.assert_allclose(laminax.grad(laminax.grad(special.zeta))(x, q), second, rtol=1e-6)


def test_sign_of_gamma_of_nan_is_nan():
    np.testing.assert_array_equal(special.gammasgn(np.array([np.nan, np.inf, -2.0])), [np.nan, 1, np.nan])


def test_far_tails_of_the_normal_distribution():
    x = np.array([-300.0, -40.0, -25.0, -12.0, 2.2, 5.5, 9.0, 30.0])
    # three terms of the asymptotic series leave an error of 105 / x^8
    np.testing.assert_allclose(special.log_ndtr(x), scipy.special.log_ndtr(x), rtol=1e-10, atol=1e-300)
    np.testing.assert_allclose(special.log_ndtr(x, series_order=8), scipy.special.log_ndtr(x), rtol=1e-12, atol=1e-300)
    p = np.array([1e-300, 1e-30, 1e-9, 1 - 1e-9])
    np.testing.assert_allclose(special.ndtri(p), scipy.special.ndtri(p), rtol=1e-7)
    np.testing.assert_allclose(laminax.grad(special.log_ndtr)(-40.0), 40 + 1 / 40, rtol=1e-4)
    with laminax.enable_x64(False):
        single = np.array([1e-30, 1e-3, 0.4, 0.99], np.float32)
        np.testing.assert_allclose(special.ndtri(single), scipy.special.ndtri(single), rtol=2e-6)


@pytest.mark.parametrize("jit", [laminax.jit, lambda f: f], ids=["jit", "eager"])
def test_log_ndtr_of_single_precision_keeps_its_digits_above_0(jit):
    """Where the distribution function rounds to 1, its logarithm is the density's tail; a jitted program's as well."""
    x = np.float32([1e-3, 0.5, 1, 2.5, 4, 5, 5.6, 8, np.inf, -np.inf, np.nan, 0, -0.0])
    with laminax.enable_x64(False):
        found = jit(special.log_ndtr)(x)
    assert found.dtype == np.float32
    # the complementary error function of a rounded argument: half a unit of it, times x**2
    np.testing.assert_allclose(found, scipy.special.log_ndtr(x.astype(np.float64)), rtol=1e-5)


@pytest.mark.parametrize("function, is_weak", [(jnp.hypot, True), (jnp.logaddexp2, False), (special.rel_entr, False),
                                               (special.kl_div, False)])
def test_weak_types_of_two_operands(function, is_weak):
    """As in JAX 0.12: hypot of integers and a Python number is weakly typed, what has constants of the operands' dtype strongly."""
    assert function(jnp.array([1, 2]), 2.0).weak_type is is_weak
    assert function(1, 2.0).weak_type and not function(jnp.float32([1]), 2.0).weak_type


def test_edges():
    edges = np.array([0.0, -1.0, 2.0, 0.5])
    np.testing.assert_array_equal(np.isnan(special.ndtri(edges)), [False, True, True, False])
    assert special.ndtri(0.0) == -np.inf and special.ndtri(1.0) == np.inf
    assert special.xlogy(0.0, 0.0) == 0 and special.xlog1py(0.0, -1.0) == 0 and np.isnan(special.xlogy(0.0, np.nan))
    assert special.entr(0.0) == 0 and special.entr(-1.0) == -np.inf
    p, q = np.array([0.0, 0.0, 1.0, 1.0, -1.0, np.nan]), np.array([1.0, 0.0, 0.0, -1.0, 1.0, 1.0])
    np.testing.assert_array_equal(special.rel_entr(p, q), scipy.special.rel_entr(p, q))
    np.testing.assert_array_equal(special.kl_div(p, q), scipy.special.kl_div(p, q))
    p, q = np.array([np.inf, 0.0, 1.0, -np.inf, 0.0, np.inf]), np.array([0.0, -np.inf, -np.inf, 1.0, np.inf, 1.0])
    np.testing.assert_array_equal(special.kl_div(p, q), scipy.special.kl_div(p, q))
    assert laminax.grad(special.kl_div)(1.0, 0.0) == 0 and laminax.grad(special.kl_div)(-1.0, 1.0) == 0  # inf on both sides
    assert laminax.grad(special.rel_entr)(0.0, 1.0) == 0 and laminax.grad(special.entr)(0.0) == np.inf
    assert special.gamma(0.0) == np.inf and special.gamma(-0.0) == -np.inf and np.isnan(special.gamma(-2.0))
    assert special.factorial(-1.0) == 0


def test_large_arguments_of_beta_do_not_cancel():
    a, b = np.array([0.5, 3.0, 2e5]), np.array([1e9, 1e12, 1e6])
    np.testing.assert_allclose(special.betaln(a, b), scipy.special.betaln(a, b), rtol=1e-11)


def test_multigammaln():
    for a in (3.5, POSITIVE + 1.5):
        np.testing.assert_allclose(special.multigammaln(a, 3), scipy.special.multigammaln(a, 3), rtol=1e-10)


@pytest.mark.parametrize("axis", [None, 0, (0, 1)])
def test_softmax(axis):
    x = np.stack([REAL, POSITIVE])
    np.testing.assert_allclose(special.softmax(x, axis=axis), scipy.special.softmax(x, axis), rtol=1e-9)
    np.testing.assert_allclose(special.log_softmax(x, axis=axis), scipy.special.log_softmax(x, axis), rtol=1e-9)
    np.testing.assert_allclose(special.logsumexp(x, axis=axis, b=x * x), scipy.special.logsumexp(x, axis, b=x * x), rtol=1e-9)


def test_integers_and_scalars():
    with laminax.enable_x64(False):
        with laminax.numpy_dtype_promotion("strict"):
            factors, exponents = np.int32([1, 0, 2]), np.int32([3, 100, -2])
            np.testing.assert_allclose(special.logsumexp(exponents, b=factors), np.log(np.exp(3) + 2 * np.exp(-2)), rtol=1e-6)
            assert special.logsumexp(exponents).dtype == special.softmax(exponents).dtype == np.float32
        assert special.gammaln(3).dtype == np.float32
        assert special.polygamma(1, np.float32(2)).dtype == np.float32
        np.testing.assert_allclose(special.factorial(np.array([3, 4])), [6, 24], rtol=1e-5)
        np.testing.assert_allclose(special.entr(np.array([1, 2])), [0, -2 * np.log(2)], rtol=1e-6)


@pytest.mark.parametrize("call, error, message", [
    (lambda: special.polygamma(1.5, 2.0), ValueError, "polygamma: n must be of integer dtype"),
    (lambda: special.zeta(2.0), NotImplementedError, "give q=1"),
    (lambda: special.factorial(3, exact=True), NotImplementedError, "exact=True is not supported"),
    (lambda: special.ndtr(1), TypeError, "ndtr: x must be float32 or float64"),
    (lambda: special.log_ndtr(1.0, series_order=31), ValueError, "series_order must be from 0 to 30, got 31"),
    (lambda: special.multigammaln(3.0, 2.5), TypeError, "d must be a static integer, got 2.5"),
    (lambda: special.erf([1.0]), TypeError, "erf requires ndarray or scalar arguments"),
    (lambda: special.erf(1j), TypeError, "erf"),
])
def test_refusals(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_derivative_of_logsumexp_where_what_is_left_out_is_large():
    """exp(100) is infinite in float32: times the 0 of what is left out it was NaN."""
    x = np.float32([0, 0, 0, 0, 100])
    gradient = laminax.grad(lambda x: special.logsumexp(x, where=np.arange(5) < 4))(x)
    np.testing.assert_allclose(gradient, [0.25, 0.25, 0.25, 0.25, 0], rtol=1e-6)


def _derivatives(function, at, orders):
    """Values of the derivatives of so many orders, order 0 first."""
    for _ in range(orders):
        yield np.asarray(laminax.vmap(function)(jnp.asarray(at)))
        function = laminax.grad(function)


def test_derivatives_of_bessel_functions_near_zero():
    """I0 = sum (x/2)^(2k) / k!^2 and I0' = I1: smooth at 0, unlike exp(|x|) and exp(-|x|) I0."""
    x = np.array([0.0, -0.0, 1e-20, -1e-6, 1e-3, -0.3, 0.9])
    series = np.polynomial.Polynomial([t for k in range(20) for t in (1 / (4.0**k * scipy.special.factorial(k) ** 2), 0.0)])
    for function, order in ((special.i0, 0), (special.i1, 1)):
        for i, found in enumerate(_derivatives(function, np.float32(x), 3)):
            expected = series.deriv(order + i)(x) if order + i else series(x)
            np.testing.assert_allclose(found, expected, rtol=3e-6)
    np.testing.assert_allclose(laminax.grad(special.i1)(5.0), scipy.special.ivp(1, 5.0), rtol=2e-6)
    assert np.isnan(laminax.grad(special.i0)(np.nan)) and np.isnan(laminax.grad(special.i1)(np.nan))


def test_the_slope_of_logit_at_its_ends():
    """1 / (x (1 - x))."""
    for transform in (laminax.grad, laminax.jacfwd):
        slopes = laminax.vmap(transform(special.logit))(jnp.array([0.0, 1.0, 0.25, 1e-20]))
        np.testing.assert_allclose(slopes, [np.inf, np.inf, 16 / 3, 1e20], rtol=1e-6)


def test_second_derivatives_of_relative_entropy_of_very_small_and_large_numbers():
    """Those of p log(p/q) are 1/p, -1/q and p/q^2; of NaN all is NaN."""
    for p, q in ((1e-20, 1.0), (1e30, 2.0), (0.5, 0.25), (3.0, 1e15)):
        (pp, pq), (qp, qq) = laminax.hessian(special.rel_entr, (0, 1))(p, q)
        np.testing.assert_allclose([pp, pq, qp, qq], [1 / p, -1 / q, -1 / q, p / q**2], rtol=1e-6)
    for p, q in ((np.nan, 1.0), (1.0, np.nan), (np.nan, -1.0), (0.0, np.nan)):
        assert np.isnan(special.rel_entr(p, q)) and np.isnan(scipy.special.rel_entr(p, q))
        assert np.isnan(laminax.grad(special.rel_entr)(p, q))
