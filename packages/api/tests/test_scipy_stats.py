"""laminax.scipy.stats against SciPy in float64: every function of every distribution, in one call of all its parameters."""

import importlib
import inspect

import numpy as np
import pytest
import scipy.stats

import laminax
import laminax.numpy as jnp
from laminax.scipy import stats

X = np.array([-7.3, -2.0, -1.0, -0.4, 0.0, 0.25, 0.5, 1.0, 1.7, 2.0, 3.0, 6.0, 9.5, 50.0, np.nan, np.inf, -np.inf])
Q = np.array([1e-8, 0.2, 0.5, 0.9, 1 - 1e-8])
PARAMETERS = {"p": [0.3, 0.5, 0.9], "a": [0.7, 2.5, 4.0], "b": [1.3, 0.6, 2.0], "n": [5.0, 3.0, 1.0], "df": [1.5, 4.0, 30.0],
              "beta": [0.8, 2.0, 3.5], "mu": [0.7, 4.0, 60.0], "kappa": [0.3, 5.0, 30.0], "c": [0.3, 0.9, 0.01]}
ELEMENTWISE = ["bernoulli", "beta", "betabinom", "binom", "cauchy", "chi2", "expon", "gamma", "gennorm", "geom", "gumbel_l", "gumbel_r",
               "laplace", "logistic", "nbinom", "norm", "pareto", "poisson", "t", "truncnorm", "uniform", "vonmises", "wrapcauchy"]
FUNCTIONS = [(name, function) for name in ELEMENTWISE for function in importlib.import_module(f"laminax.scipy.stats.{name}").__all__]


@pytest.fixture(autouse=True)
def double_precision():
    with laminax.enable_x64(True):
        yield


def arguments(name, function):
    """The first argument in a column, and rows of the parameters."""
    names = list(inspect.signature(getattr(getattr(stats, name), function)).parameters)
    given = {k: np.array(v) for k, v in PARAMETERS.items()}
    if name == "truncnorm":
        given |= {"a": np.array([-3.0, 0.5, -8.0]), "b": np.array([1.0, 4.0, -6.0])}
    first = {"ppf": Q, "isf": Q}.get(function, X)[:, None]
    if name in ("bernoulli", "betabinom", "binom", "geom", "nbinom", "poisson"):
        first = first if function == "ppf" else np.round(first)  # SciPy rounds or refuses what is no integer
    if name in ("vonmises", "wrapcauchy"):
        first = np.linspace(0, 3, 9)[:, None]
    if function == "entropy":
        return [given["mu"]], "loc" in names, False
    return [first, *[given[k] for k in names[1:] if k not in ("loc", "scale")]], "loc" in names, "scale" in names


@pytest.mark.parametrize("name, function", FUNCTIONS)
def test_distributions(name, function):
    args, has_loc, has_scale = arguments(name, function)
    got_function, reference = getattr(getattr(stats, name), function), getattr(getattr(scipy.stats, name), function)
    changes = {"loc": 2} if has_loc else {}
    changes |= {"scale": 1.5} if has_scale else {}
    if name == "gamma":
        changes["loc"] = 0.5
    got = got_function(*args, **changes)
    expected = reference(*args, **changes)
    np.testing.assert_allclose(got, expected, rtol=2e-7, atol=1e-11)  # XLA's incomplete gamma functions lose some digits
    assert got.dtype == np.float64
    if name in ("norm", "expon", "binom"):
        np.testing.assert_allclose(got_function(*args), reference(*args), rtol=2e-7, atol=1e-11)


def test_tails_keep_their_digits():
    tail = np.array([10.0, 30.0, 37.0])
    for name, shape in (("norm", ()), ("expon", ()), ("gumbel_r", ()), ("logistic", ()), ("pareto", (2.0,)), ("cauchy", ())):
        np.testing.assert_allclose(getattr(stats, name).sf(tail, *shape), getattr(scipy.stats, name).sf(tail, *shape), rtol=1e-9)
    np.testing.assert_allclose(stats.truncnorm.logpdf(31.0, 30.0, 40.0), scipy.stats.truncnorm.logpdf(31.0, 30.0, 40.0), rtol=1e-8)


INF, NAN = np.inf, np.nan


@pytest.mark.parametrize("name, args", [
    ("t.logpdf", (1.0, [4, 1e2, 1e3, 1e4, 1e6, 1e20, INF])),  # to the normal distribution
    ("t.pdf", ([0.0, 0.5, 3.0], INF, 1.0, 2.0)),
    ("vonmises.pdf", ([0.0, 0.5, 3.0], 0.0)),  # to the uniform one
    ("cauchy.ppf", ([1e-30, 1e-6, 0.1, 0.25, 0.4, 0.5, 0.625, 0.75, 0.9], 1.5, 2.0)),
    ("cauchy.isf", ([1e-30, 1e-6, 0.1, 0.25, 0.4, 0.5, 0.625, 0.75, 0.9], 1.5, 2.0)),
    ("cauchy.ppf", ([-0.1, 1.1, NAN],)),
    ("cauchy.isf", ([-0.1, 1.1, NAN],)),
    ("pareto.cdf", ([0.0, 0.5, 2.0], INF)),
    ("pareto.logsf", ([0.0, 0.5, 2.0], INF)),
    ("pareto.ppf", ([1e-6, 0.25, 0.9], [1e-6, 0.5, 3.0])),
    ("pareto.logcdf", ([2.0, 3.0, 10.0], 1e-6)),
    ("gennorm.cdf", ([2.0, -2.0, 0.5], 100.0)),  # 2**100 is where the incomplete gamma function is 1
    ("uniform.pdf", ([0.5, 1.0], [NAN, 0.0], [1.0, -1.0])),
    ("uniform.logpdf", ([0.5, 1.0], [0.0, 0.0], [0.0, -1.0])),
    ("poisson.cdf", (INF, [2.0, 0.0, -1.0, NAN])),
    ("expon.logpdf", ([1.0, -1.0], 0.0, -1.0)),
    ("gamma.logpdf", ([1.0, -1.0], 2.0, 0.0, -1.0)),
    ("chi2.logpdf", ([1.0, -1.0], 2.0, 0.0, -1.0)),
    *[(f"gumbel_{side}.{function}", ([0.5, -0.5], 0.0, [0.0, -1.0])) for side in "lr"
      for function in ("cdf", "sf", "logcdf", "logsf", "ppf")],
])
def test_limits_of_parameters_and_probabilities(name, args):
    args = np.broadcast_arrays(*[np.float32(arg) for arg in args])
    distribution, function = name.split(".")
    with np.errstate(all="ignore"):
        expected = getattr(getattr(scipy.stats, distribution), function)(*[arg.astype(np.float64) for arg in args])
    assert np.isnan(expected).any() or np.isfinite(expected).any()
    got = getattr(getattr(stats, distribution), function)(*args)
    # The logarithms of the gamma function and of 1e-6 lose some bits; what these cases once had were factors, NaN and a third digit.
    np.testing.assert_allclose(got, expected, rtol=2e-5, atol=1e-6)


def test_no_trials_have_no_successes():
    for x64 in (True, False):
        with laminax.enable_x64(x64):
            assert stats.binom.logpmf(0, 0, 0.8) == stats.betabinom.logpmf(0, 0, 10, 5) == stats.binom.logpmf(3, 0, 0.8, 3) == 0
            assert stats.binom.logpmf(1, 0, 0.8) == -np.inf and np.isnan(stats.binom.logpmf(np.nan, 0, 0.8))


def test_dtypes():
    with laminax.enable_x64(False):
        assert stats.norm.logpdf(1).dtype == np.float32
        assert stats.gamma.pdf(np.float32(1), 2, scale=3.0).dtype == np.float32


def test_gradients_have_no_nan_at_the_border():
    for fun, x, expected in ((lambda x: stats.expon.logpdf(x), -1.0, 0), (lambda x: stats.gamma.logpdf(x, 2.0), -1.0, 0),
                             (lambda x: stats.beta.logpdf(x, 2.0, 2.0), 1.5, 0), (lambda x: stats.norm.logcdf(x), -40.0, 40 + 1 / 40)):
        np.testing.assert_allclose(laminax.grad(fun)(x), expected, rtol=1e-4)


def test_dirichlet():
    alpha, x = np.array([0.5, 2.0, 3.0]), np.array([[0.2, 0.1], [0.3, 0.1], [0.5, 0.8]])
    np.testing.assert_allclose(stats.dirichlet.logpdf(x, alpha), scipy.stats.dirichlet.logpdf(x, alpha), rtol=1e-12)
    np.testing.assert_allclose(stats.dirichlet.pdf(x[:2], alpha), scipy.stats.dirichlet.pdf(x, alpha), rtol=1e-12)
    assert stats.dirichlet.logpdf(np.array([0.2, 0.2, 0.2]), alpha) == -np.inf
    with pytest.raises(ValueError, match=r"alpha must be \[n\] and x \[n, ...\]"):
        stats.dirichlet.logpdf(x[:1], alpha)


def test_multinomial():
    x, p = np.array([[1, 2, 3], [0, 6, 0], [1, 1, 1]]), np.array([0.2, 0.3, 0.5])
    np.testing.assert_allclose(stats.multinomial.logpmf(x, 6, p), scipy.stats.multinomial.logpmf(x, 6, p), rtol=1e-12)
    np.testing.assert_allclose(stats.multinomial.pmf(x, 6, p), scipy.stats.multinomial.pmf(x, 6, p), rtol=1e-12)


def test_multivariate_normal():
    x, mean, cov = np.array([[1.0, 2], [0, -1], [3, 3]]), np.array([0.5, 1]), np.array([[2.0, 0.5], [0.5, 1]])
    np.testing.assert_allclose(stats.multivariate_normal.logpdf(x, mean, cov), scipy.stats.multivariate_normal.logpdf(x, mean, cov),
                               rtol=1e-12)
    np.testing.assert_allclose(stats.multivariate_normal.pdf(x, mean, 2.0), scipy.stats.multivariate_normal.pdf(x, mean, 2.0), rtol=1e-12)
    np.testing.assert_allclose(stats.multivariate_normal.logpdf(x[0, 0], 1.0, 2.0), scipy.stats.norm.logpdf(1, 1, np.sqrt(2)), rtol=1e-12)
    covs = np.stack([cov, 2 * cov, 3 * cov])
    expected = [scipy.stats.multivariate_normal.logpdf(a, mean, c) for a, c in zip(x, covs)]
    np.testing.assert_allclose(stats.multivariate_normal.logpdf(x, mean, covs), expected, rtol=1e-12)
    with pytest.raises(ValueError, match="or cov a scalar, got"):
        stats.multivariate_normal.logpdf(x, mean, np.eye(3))
    with pytest.raises(NotImplementedError, match="allow_singular must be None"):
        stats.multivariate_normal.logpdf(x, mean, cov, allow_singular=True)


# --- statistics ---

TABLE = np.array([[3, 1, 2, 2], [1, 1, 2, 5], [3, 0, 5, 2]])


@pytest.mark.parametrize("axis", [0, 1, -1, None])
@pytest.mark.parametrize("keepdims", [False, True])
def test_mode_and_standard_error(axis, keepdims):
    got, expected = stats.mode(TABLE, axis, keepdims=keepdims), scipy.stats.mode(TABLE, axis, keepdims=keepdims)
    np.testing.assert_array_equal(got.mode, expected.mode)
    np.testing.assert_array_equal(got.count, expected.count)
    assert got.mode.dtype == TABLE.dtype
    np.testing.assert_allclose(stats.sem(TABLE, axis, keepdims=keepdims), scipy.stats.sem(TABLE, axis, keepdims=keepdims), rtol=1e-12)
    gaps = np.where(TABLE == 5, np.nan, TABLE)
    np.testing.assert_allclose(stats.sem(gaps, axis, nan_policy="omit"), scipy.stats.sem(gaps, axis, nan_policy="omit"), rtol=1e-12)
    np.testing.assert_allclose(stats.sem(gaps, axis, ddof=0), scipy.stats.sem(gaps, axis, ddof=0), rtol=1e-12)


@pytest.mark.parametrize("method", ["average", "min", "max", "dense", "ordinal"])
def test_ranks(method):
    for axis in (None, 0, 1):
        expected = scipy.stats.rankdata(TABLE, method, axis=axis)
        np.testing.assert_array_equal(stats.rankdata(TABLE, method, axis=axis), expected)
    gaps = np.where(TABLE == 5, np.nan, TABLE)
    np.testing.assert_array_equal(stats.rankdata(gaps, method, axis=0), scipy.stats.rankdata(gaps, method, axis=0))


def test_modes_of_nothing_and_of_nan():
    assert np.isnan(stats.mode(np.zeros(0)).mode) and stats.mode(np.zeros((0, 2))).count.shape == (2,)
    assert stats.mode(np.array([np.nan, np.nan, 1.0])).count == 1 and stats.mode(5).mode == 5


# --- density estimation ---

POINTS = np.array([[1.0, 2, 3, 4, 1.5], [1, 3, 2, 6, 0.5]])
WEIGHTS = np.array([1.0, 2, 1, 1, 3])


@pytest.mark.parametrize("points", [POINTS, POINTS[0]])
@pytest.mark.parametrize("method, weights", [(None, None), ("silverman", WEIGHTS), (0.4, WEIGHTS), (lambda kde: 0.5, None)])
def test_density_estimates(points, method, weights):
    got, expected = stats.gaussian_kde(points, method, weights), scipy.stats.gaussian_kde(points, method, weights)
    where = points + 0.3
    for name in ("evaluate", "logpdf", "__call__", "pdf"):
        np.testing.assert_allclose(getattr(got, name)(where), getattr(expected, name)(where), rtol=1e-9)
    for name in ("covariance", "inv_cov", "neff", "weights", "d", "n"):
        np.testing.assert_allclose(getattr(got, name), getattr(expected, name), rtol=1e-9)
    other = stats.gaussian_kde(points[..., 1:] + 1), scipy.stats.gaussian_kde(points[..., 1:] + 1)
    np.testing.assert_allclose(got.integrate_kde(other[0]), expected.integrate_kde(other[1]), rtol=1e-9)
    mean, cov = (np.ones(2), np.diag([1.0, 2])) if points.ndim == 2 else (np.ones(1), np.ones((1, 1)))
    np.testing.assert_allclose(got.integrate_gaussian(mean, cov), expected.integrate_gaussian(mean, cov), rtol=1e-9)
    if points.ndim == 1:
        np.testing.assert_allclose(got.integrate_box_1d(0, 2.5), expected.integrate_box_1d(0, 2.5), rtol=1e-9)


def test_an_estimate_is_a_pytree_and_is_sampled():
    kde = stats.gaussian_kde(POINTS)
    np.testing.assert_allclose(laminax.jit(lambda k, x: k(x))(kde, POINTS), kde(POINTS), rtol=1e-12)
    samples = np.asarray(kde.resample(laminax.random.key(0), (4000,)))
    assert samples.shape == (2, 4000)
    # six standard errors of the mean; the sample's covariance is the points' own plus the kernels'
    np.testing.assert_allclose(samples.mean(1), POINTS.mean(1), atol=6 * samples.std() / np.sqrt(4000))
    np.testing.assert_allclose(np.cov(samples), np.cov(POINTS, bias=True) + kde.covariance, rtol=0.15)


@pytest.mark.parametrize("call, error, message", [
    (lambda: stats.mode(TABLE, nan_policy="omit"), NotImplementedError, "mode: nan_policy='omit' is not supported"),
    (lambda: stats.mode(TABLE, nan_policy="drop"), ValueError, "nan_policy must be one of 'propagate', 'omit', 'raise', got 'drop'"),
    (lambda: stats.rankdata(TABLE, "best"), ValueError, "method must be .*, got 'best'"),
    (lambda: stats.sem(TABLE, nan_policy="raise"), ValueError, "nan_policy must be 'propagate' or 'omit', got 'raise'"),
    (lambda: stats.gaussian_kde(np.ones(1)), ValueError, "must have several elements"),
    (lambda: stats.gaussian_kde(POINTS, "wide"), ValueError, "or a callable; got 'wide'"),
    (lambda: stats.gaussian_kde(POINTS, weights=np.ones(3)), ValueError, "one for each point"),
    (lambda: stats.gaussian_kde(POINTS * 1j), NotImplementedError, "complex data is not supported"),
    (lambda: stats.gaussian_kde(POINTS)(np.ones(3)), ValueError, "points have dimension 1, dataset has dimension 2"),
    (lambda: stats.gaussian_kde(POINTS).integrate_box_1d(0, 1), ValueError, "is for one dimension, the dataset has 2"),
    (lambda: stats.gaussian_kde(POINTS).integrate_gaussian(np.ones(3), np.eye(2)), ValueError, "mean does not have dimension 2"),
    (lambda: stats.gaussian_kde(POINTS).integrate_kde(3), TypeError, "another gaussian_kde is expected, got 3"),
    (lambda: stats.gaussian_kde(POINTS).integrate_box(0, 1), NotImplementedError, "only 1D box integrations"),
    (lambda: stats.gaussian_kde(POINTS).set_bandwidth(1), NotImplementedError, "does not change"),
])
def test_refusals(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_a_distribution_is_jitted_and_mapped():
    got = laminax.vmap(laminax.jit(lambda x: stats.norm.logpdf(x, 1.0, 2.0)))(jnp.arange(3.0))
    np.testing.assert_allclose(got, scipy.stats.norm.logpdf(np.arange(3.0), 1, 2), rtol=1e-12)


def test_the_slope_of_the_pareto_density_where_it_begins():
    """It has values from there on, so the slope is that of -(b + 1) log x."""
    assert laminax.grad(stats.pareto.logpdf)(1.0, 2.0) == -3 and laminax.jacfwd(stats.pareto.logpdf)(1.0, 2.0) == -3
