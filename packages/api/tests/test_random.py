"""The random module: JAX's numbers for every sampler, distributions, keys of both kinds, transformations, errors.

The recorded numbers were made once, by hand, with JAX 0.10.2 on a CPU from `key(0)`. With that jaxlib they are met to
the last bit, since the same programs go to the same compiler.
"""

from __future__ import annotations

import zlib

import numpy as np
import pytest
from scipy import stats as scipy_stats

from laminax_ir.options import config
from laminax_ir.types import dtypes

import laminax
from laminax import random

RECORDED = [
    (lambda key: random.key_data(random.split(key, 3)), "uint32", [[1797259609, 2579123966], [928981903,
     3453687069], [4146024105, 2718843009]]),
    (lambda key: random.key_data(random.fold_in(key, 12)), "uint32", [2763346363, 124557586]),
    (lambda key: random.bits(key, (3,)), "uint32", [4070199207, 4202968722, 1427181096]),
    (lambda key: random.bits(key, (3,), "uint8"), "uint8", [167, 146, 40]),
    (lambda key: random.uniform(key, (5,)), "float32", [0.947667, 0.9785799, 0.33229148, 0.46866846, 0.5698887]),
    (lambda key: random.uniform(key, (2, 3), minval=-2.0, maxval=7.5), "float32", [[7.0028367, 7.296509, 1.156769],
     [2.4523504, 3.4139428, -0.42772126]]),
    (lambda key: random.uniform(key, (2, 3), "bfloat16"), "bfloat16", [[0.6484375, 0.5703125, 0.15625], [0.203125,
     0.7109375, 0.2578125]]),
    (lambda key: random.uniform(key, (2, 3), "float16", minval=1), "float16", [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]),
    (lambda key: random.uniform(key, (2, 3), minval=np.float32([[0.5], [1.0]]), maxval=np.float32([1.1, 2.2, 3.3])),
     "float32", [[1.0686002, 2.163586, 1.4304161], [1.0468669, 1.6838665, 1.380657]]),
    (lambda key: random.uniform(key), "float32", 0.947667),
    (lambda key: random.normal(key, (7,)), "float32", [1.6226422, 2.0252647, -0.43359444, -0.07861735, 0.1760909,
     -0.97208923, -0.49529874]),
    (lambda key: random.normal(key), "float32", 1.6226422),
    (lambda key: random.normal(key, (3,), "bfloat16"), "bfloat16", [0.38671875, 0.1826171875, -1.0]),
    (lambda key: random.normal(key, (3,), "float16"), "float16", [-0.49365234375, -0.79541015625, -1.5986328125]),
    (lambda key: random.normal(key, (3,), "complex64"), "complex64", [(0.7099452614784241-1.7270770072937012j),
     (-0.6408771872520447-1.4394434690475464j), (-0.5290376543998718+0.14534172415733337j)]),
    (lambda key: random.normal(random.PRNGKey(42), (3, 2)), "float32", [[-0.028304616, 0.46713185], [0.29570296,
     0.15354592], [-0.12403282, 0.21692315]]),
    (lambda key: random.truncated_normal(key, -1.0, 2.0, (6,)), "float32", [1.5094677, 1.747393, -0.17467561,
     0.10624172, 0.31906945, -0.5413444]),
    (lambda key: random.truncated_normal(key, np.float32([-1.0, 0.0]), 2.0), "float32", [1.5094677, 1.8387917]),
    (lambda key: random.bernoulli(key, 0.3, (8,)), "bool", [False, False, False, False, False, True, False, False]),
    (lambda key: random.bernoulli(key, np.float32([0.1, 0.9]), (3, 2)), "bool", [[False, False], [False, True],
     [False, True]]),
    (lambda key: random.bernoulli(key, 0.3, (8,), mode="high"), "bool", [False, False, False, False, False, True,
     False, False]),
    (lambda key: random.bernoulli(key), "bool", False),
    (lambda key: random.exponential(key, (5,)), "float32", [2.950128, 3.8434246, 0.40390354, 0.6323691,
     0.84371126]),
    (lambda key: random.cauchy(key, (5,)), "float32", [6.0274944, 14.837895, -0.58172226, -0.09874987, 0.22315963]),
    (lambda key: random.laplace(key, (5,)), "float32", [-2.2569816, -3.1502788, 0.40859544, 0.06471242,
     -0.15056418]),
    (lambda key: random.logistic(key, (5,)), "float32", [2.896376, 3.8217716, -0.6978392, -0.12549055, 0.2813971]),
    (lambda key: random.gumbel(key, (5,)), "float32", [2.9233725, 3.8326178, -0.09689324, 0.27725708, 0.57569456]),
    (lambda key: random.gumbel(key, (5,), mode="high"), "float32", [-1.0818486, -1.3463638, 0.90657884, 0.45828176,
     0.16994496]),
    (lambda key: random.maxwell(key, (5,)), "float32", [2.6310966, 0.99103284, 0.9649306, 3.0782752, 1.3358209]),
    (lambda key: random.rademacher(key, (8,)), "int32", [-1, -1, 1, 1, -1, 1, 1, -1]),
    (lambda key: random.rademacher(key, (8,), "float32"), "float32", [-1.0, -1.0, 1.0, 1.0, -1.0, 1.0, 1.0, -1.0]),
    (lambda key: random.pareto(key, 2.5, (4,)), "float32", [3.254541, 4.652338, 1.1753447, 1.2878158]),
    (lambda key: random.lognormal(key, 0.5, (4,)), "float32", [2.2508795, 2.752838, 0.8050932, 0.9614539]),
    (lambda key: random.lognormal(key), "float32", 5.066459),
    (lambda key: random.rayleigh(key, np.float32([1.0, 2.0]), (3, 2)), "float32", [[0.32787833, 0.41620055],
     [1.4844142, 2.462291], [1.0604849, 3.793432]]),
    (lambda key: random.weibull_min(key, 1.5, 2.5, (4,)), "float32", [2.312212, 2.570269, 1.043764, 1.2487615]),
    (lambda key: random.triangular(key, 0.0, 0.3, 2.0, (5,)), "float32", [1.5781798, 1.7301326, 0.49327874,
     0.65592885, 0.79071164]),
    (lambda key: random.geometric(key, 0.3, (6,)), "int32", [1, 1, 4, 3, 2, 6]),
    (lambda key: random.randint(key, (6,), 0, 10), "int32", [9, 0, 2, 3, 1, 7]),
    (lambda key: random.randint(key, (6,), 0, 256, "uint8"), "uint8", [101, 80, 200, 61, 3, 211]),
    (lambda key: random.randint(key, (6,), -128, 128, "int8"), "int8", [-27, -48, 72, -67, -125, 83]),
    (lambda key: random.randint(key, (6,), -5, 2**31 - 1), "int32", [31327072, 89727307, 349724607, 1554082360,
     957939710, 512339918]),
    (lambda key: random.randint(key, (6,), 5, 2), "int32", [5, 5, 5, 5, 5, 5]),
    (lambda key: random.randint(key, (2, 3), np.int32([[0], [10]]), np.int32([5, 6, 17])), "int32", [[4, 0, 11],
     [10, 10, 15]]),
    (lambda key: random.randint(key, (6,), 0, 10, "uint32"), "uint32", [9, 0, 2, 3, 1, 7]),
    (lambda key: random.permutation(key, 10), "int32", [0, 1, 8, 5, 6, 4, 3, 2, 7, 9]),
    (lambda key: random.permutation(key, np.float32(range(11))), "float32", [0.0e+00, 1.0, 8.0, 5.0, 6.0, 4.0, 3.0,
     10.0, 2.0, 7.0, 9.0]),
    (lambda key: random.permutation(key, np.float32(range(12)).reshape(3, 4)), "float32", [[0.0e+00, 1.0, 2.0, 3.0],
     [4.0, 5.0, 6.0, 7.0], [8.0, 9.0, 10.0, 11.0]]),
    (lambda key: random.permutation(key, np.float32(range(12)).reshape(3, 4), axis=1), "float32", [[0.0e+00, 1.0,
     3.0, 2.0], [4.0, 5.0, 7.0, 6.0], [8.0, 9.0, 11.0, 10.0]]),
    (lambda key: random.permutation(key, np.float32(range(12)).reshape(3, 4), axis=-1, independent=True), "float32",
     [[0.0e+00, 1.0, 3.0, 2.0], [5.0, 6.0, 4.0, 7.0], [8.0, 10.0, 11.0, 9.0]]),
    (lambda key: random.permutation(key, 0), "int32", []),
    (lambda key: random.choice(key, 10, (4,)), "int32", [9, 0, 2, 3]),
    (lambda key: random.choice(key, 10), "int32", 9),
    (lambda key: random.choice(key, np.float32(range(12)).reshape(3, 4), (2, 2), axis=1), "float32", [[[1.0,
     0.0e+00], [0.0e+00, 1.0]], [[5.0, 4.0], [4.0, 5.0]], [[9.0, 8.0], [8.0, 9.0]]]),
    (lambda key: random.choice(key, 10, (4, 2), replace=False), "int32", [[0, 1], [8, 5], [6, 4], [3, 2]]),
    (lambda key: random.choice(key, np.float32(range(12)).reshape(3, 4), (2,), replace=False, axis=1), "float32",
     [[0.0e+00, 1.0], [4.0, 5.0], [8.0, 9.0]]),
    (lambda key: random.choice(key, 4, (6,), p=np.float32([0.1, 0.2, 0.3, 0.4])), "int32", [0, 0, 3, 2, 2, 3]),
    (lambda key: random.choice(key, 4, (2, 3), p=np.float32([0.1, 0.2, 0.3, 0.4])), "int32", [[0, 0, 3], [2, 2,
     3]]),
    (lambda key: random.choice(key, 4, (3,), replace=False, p=np.float32([0.1, 0.2, 0.3, 0.4])), "int32", [1, 0,
     3]),
    (lambda key: random.choice(key, 4, (0,)), "int32", []),
    (lambda key: random.categorical(key, np.float32([[0.1, 2.0, 0.3], [1.0, 1.0, 0.0]])), "int32", [1, 1]),
    (lambda key: random.categorical(key, np.float32([[0.1, 2.0, 0.3], [1.0, 1.0, 0.0]]), axis=0), "int32", [0, 0,
     0]),
    (lambda key: random.categorical(key, np.float32([[0.1, 2.0, 0.3], [1.0, 1.0, 0.0]]), shape=(4, 2)), "int32",
     [[1, 1], [1, 1], [1, 0], [1, 0]]),
    (lambda key: random.categorical(key, np.float32([[0.1, 2.0, 0.3], [1.0, 1.0, 0.0]]), axis=0, shape=(4, 3)),
     "int32", [[0, 0, 0], [1, 1, 0], [1, 1, 0], [1, 1, 1]]),
    (lambda key: random.categorical(key, np.float32([[0.1, 2.0, 0.3], [1.0, 1.0, 0.0]]), shape=(3, 2),
     replace=False), "int32", [[1, 1], [0, 0], [2, 2]]),
    (lambda key: random.categorical(key, np.float32([[0.1, 2.0, 0.3], [1.0, 1.0, 0.0]]), axis=0, shape=(2, 3),
     replace=False), "int32", [[0, 0, 0], [1, 1, 1]]),
    (lambda key: random.gamma(key, 2.5, (5,)), "float32", [2.078842, 2.2727783, 1.5440423, 4.702054, 3.6000705]),
    (lambda key: random.gamma(key, np.float32([0.3, 20.0]), (3, 2)), "float32", [[0.6292697, 19.982956],
     [0.005973231, 26.020464], [0.08742247, 20.695608]]),
    (lambda key: random.gamma(key, 2.5), "float32", 2.078842),
    (lambda key: random.gamma(key, np.float32([1e-3, 0.5, 3.0, 100.0]), method="approximate"), "float32",  # these with JAX 0.12.0.1
     [0.0028042453341186047, 0.4116884768009186, 2.9654600620269775, 88.37628173828125]),
    (lambda key: random.gamma(key, 3.0, (3,), "bfloat16", method="approximate"), "bfloat16", [4.21875, 3.234375, 2.59375]),
    (lambda key: random.loggamma(key, np.float32([1e-3, 0.5, 3.0, 100.0]), method="approximate"), "float32",
     [-5.876620769500732, -0.8874883651733398, 1.0870321989059448, 4.481603622436523]),
    (lambda key: random.chisquare(key, np.float32([1e-3, 0.5, 3.0, 100.0]), method="approximate"), "float32",
     [3.7107563457539072e-06, 0.5951643586158752, 3.005514621734619, 83.81411743164062]),
    (lambda key: random.beta(key, np.float32([1e-3, 0.5, 3.0, 100.0]), 2.0, method="approximate"), "float32",
     [0.0, 0.24498067796230316, 0.7989741563796997, 0.9941973686218262]),
    (lambda key: random.poisson(key, np.float32([0, 0.5, 3, 6.9, 7.1, 100, 1e6]), (3, 7), method="approximate"), "int32",
     [[0, 2, 2, 7, 7, 90, 999505], [0, 1, 1, 13, 2, 103, 1000158], [0, 2, 5, 8, 7, 81, 998141]]),
    (lambda key: random.poisson(random.key(1, impl="rbg"), 3.5, (6,), method="approximate"), "int32", [3, 1, 8, 4, 5, 5]),
    (lambda key: random.loggamma(key, 0.05, (4,)), "float32", [-2.6082428, -2.1550865, -28.333117, -36.904026]),
    (lambda key: random.beta(key, 0.5, 2.0, (4,)), "float32", [0.1880226, 0.028096942, 0.70359, 0.18822594]),
    (lambda key: random.dirichlet(key, np.float32([0.5, 1.0, 3.0]), (2,)), "float32", [[0.24713923, 0.20291731,
     0.54994345], [0.0155561315, 0.3350609, 0.649383]]),
    (lambda key: random.chisquare(key, 3.0, (4,)), "float32", [2.205084, 2.4899669, 1.4557135, 6.424535]),
    (lambda key: random.t(key, 3.0, (4,)), "float32", [0.69022465, -3.2393365, -1.6745249, -1.8150756]),
    (lambda key: random.poisson(key, 3.0, (8,)), "int32", [0, 0, 4, 4, 1, 2, 2, 6]),
    (lambda key: random.poisson(key, np.float32([0.0, 2.0, 9.0, 50.0, 1e5]), (2, 5)), "int32", [[0, 0, 10, 57,
     99693], [0, 0, 11, 40, 100025]]),
    (lambda key: random.multivariate_normal(key, np.float32([1, 2]), np.float32([[2, 0.5], [0.5, 1]]), (3,)),
     "float32", [[3.2947626, 4.468152], [0.38680488, 1.7731614], [1.2490301, 1.1529512]]),
    (lambda key: random.multivariate_normal(key, np.zeros((3, 2), np.float32), np.float32([[2, 0.5], [0.5, 1]])),
     "float32", [[2.2947626, 2.4681523], [-0.6131951, -0.22683857], [0.24903013, -0.8470487]]),
]


@pytest.mark.parametrize("sample, dtype, expected", RECORDED)
def test_numbers_are_those_of_jax(sample, dtype, expected):
    result = np.asarray(sample(random.key(0)))
    expected = np.array(expected, result.dtype)
    assert result.dtype.name == dtype and result.shape == expected.shape
    if result.dtype.kind in "biu":
        np.testing.assert_array_equal(result, expected)
    else:  # other versions and processors round logarithms and fused multiplications otherwise, by an ulp or two
        wide = np.complex128 if result.dtype.kind == "c" else np.float64
        np.testing.assert_allclose(result.astype(wide), expected.astype(wide), rtol=4 * _epsilon(result.dtype), atol=1e-7)


def _epsilon(dtype) -> float:
    return float(dtypes.finfo(dtype).eps)


def test_a_long_permutation_sorts_twice():
    result = np.asarray(random.permutation(random.key(0), 3000))
    assert zlib.crc32(result.astype("<i4").tobytes()) == 3042258404
    np.testing.assert_array_equal(np.sort(result), np.arange(3000))


@pytest.mark.parametrize("sample", [lambda key: random.normal(key, (3,)), lambda key: random.uniform(key, (3,)),
                                    lambda key: random.randint(key, (3,), 0, 9), lambda key: random.permutation(key, 5)])
def test_raw_keys_and_jit_give_the_same_numbers(sample):
    expected = np.asarray(sample(random.key(3)))
    np.testing.assert_array_equal(sample(random.PRNGKey(3)), expected)
    np.testing.assert_array_equal(laminax.jit(sample)(random.key(3)), expected)
    np.testing.assert_array_equal(laminax.jit(sample)(random.PRNGKey(3)), expected)


def test_vmap_over_keys_is_the_loop():
    keys = random.split(random.key(1), 4)
    for sample in (lambda key: random.uniform(key, (2,)), lambda key: random.randint(key, (3,), 0, 10),
                   lambda key: random.key_data(random.split(key))):
        np.testing.assert_array_equal(laminax.vmap(sample)(keys), np.stack([np.asarray(sample(key)) for key in keys]))


def test_samples_differentiate_with_respect_to_bounds():
    key = random.key(0)
    u = float(random.uniform(key))
    slope = laminax.grad(lambda high: random.uniform(key, maxval=high))(2.0)
    np.testing.assert_allclose(slope, u, rtol=1e-6)


def test_gamma_samples_differentiate_with_respect_to_the_parameter():
    # At a fixed value of the distribution function: the sample as a quantile, moved by a.
    special = pytest.importorskip("scipy.special")
    for a in (0.4, 2.5, 30.0):
        x = float(random.gamma(random.key(1), a))
        p, h = special.gammainc(a, x), 1e-4
        expected = (special.gammaincinv(a + h, p) - special.gammaincinv(a - h, p)) / (2 * h)
        slope = laminax.grad(lambda a: random.gamma(random.key(1), a))(a)
        np.testing.assert_allclose(slope, expected, rtol=1e-3)  # float32 on both sides of a quotient
        np.testing.assert_allclose(laminax.grad(lambda a: random.loggamma(random.key(1), a))(a), expected / x, rtol=1e-3)


@pytest.mark.parametrize("a", [0.01, 0.7, 3.0, 50.0])
def test_approximate_gamma_samples_have_the_distribution(a):
    """By Kolmogorov and Smirnov; 20,000 samples tell distribution functions apart that differ by 0.01."""
    samples = np.asarray(random.gamma(random.key(2), a, (20_000,), method="approximate"), np.float64)
    logs = np.asarray(random.loggamma(random.key(2), a, (20_000,), method="approximate"), np.float64)
    assert scipy_stats.kstest(logs, scipy_stats.loggamma(a).cdf).statistic < 0.014
    np.testing.assert_allclose(np.exp(logs), samples, rtol=1e-4, atol=1e-37)


@pytest.mark.parametrize("rate", [0.3, 4.0, 6.99, 7.0, 30.0, 1e4])
def test_approximate_poisson_counts_have_the_distribution(rate):
    counts = np.asarray(random.poisson(random.key(3), rate, (20_000,), method="approximate"))
    values = np.arange(counts.max() + 1)
    found = np.cumsum(np.bincount(counts)) / len(counts)
    assert np.abs(found - scipy_stats.poisson(rate).cdf(values)).max() < 0.014


def test_approximate_samples_take_any_generator_and_know_their_names():
    assert random.poisson(random.key(0, impl="rbg"), 3.0, method="approximate").shape == ()
    with pytest.raises(NotImplementedError, match="method='exact' is only implemented for the threefry2x32 RNG"):
        random.poisson(random.key(0, impl="rbg"), 3.0)
    for sample in (random.gamma, random.loggamma, random.chisquare, random.poisson):
        with pytest.raises(ValueError, match="must be one of {'exact', 'approximate'}, got 'fast'"):
            sample(random.key(0), 3.0, method="fast")


def test_multivariate_normal_covariance():
    cov = np.float32([[2, 0.5], [0.5, 1]])
    for method in ("cholesky", "eigh", "svd"):
        x = np.asarray(random.multivariate_normal(random.key(0), np.float32([1, -1]), cov, (20_000,), method=method))
        np.testing.assert_allclose(np.cov(x.T), cov, atol=0.06)  # 3 standard errors
        np.testing.assert_allclose(x.mean(0), [1, -1], atol=0.04)


def test_dirichlet_sums_to_one():
    x = np.asarray(random.dirichlet(random.key(0), np.float32([0.1, 1.0, 5.0]), (50,)))
    np.testing.assert_allclose(x.sum(-1), 1, rtol=1e-6)


# --- keys ---


def test_typed_and_raw_keys():
    key, raw = random.key(42), random.PRNGKey(42)
    assert (key.shape, key.dtype.name, raw.shape, raw.dtype) == ((), "key<fry>", (2,), np.uint32)
    np.testing.assert_array_equal(random.key_data(key), raw)
    np.testing.assert_array_equal(random.key_data(random.wrap_key_data(raw)), raw)
    np.testing.assert_array_equal(random.split(raw, 3), random.key_data(random.split(key, 3)))
    np.testing.assert_array_equal(random.fold_in(raw, 5), random.key_data(random.fold_in(key, 5)))
    np.testing.assert_array_equal(random.clone(raw), raw)
    assert random.split(key, (2, 3)).shape == (2, 3) and random.split(raw, (2, 3)).shape == (2, 3, 2)
    first, second = random.split(key)
    assert first.dtype == second.dtype == random.key_dtype()


def test_generators_are_chosen_by_name_dtype_and_option():
    assert random.key_impl(random.key(0, impl="rbg")) == "rbg"
    assert random.key_impl(random.key(0, dtype=random.key_dtype("unsafe_rbg"))) == "unsafe_rbg"
    assert random.PRNGKey(0, impl="rbg").shape == (4,)
    with config.default_prng_impl("rbg"):
        assert random.key_impl(random.key(0)) == "rbg"


# --- distributions: moments and supports; the samples are fixed, the bounds generous ---


def test_moments():
    key, n = random.key(7), 20_000
    sigma = n ** -0.5
    for samples, mean, variance in [
        (random.uniform(key, (n,), minval=-1, maxval=3), 1, 16 / 12), (random.normal(key, (n,)), 0, 1),
        (random.exponential(key, (n,)), 1, 1), (random.laplace(key, (n,)), 0, 2), (random.logistic(key, (n,)), 0, np.pi**2 / 3),
        (random.gumbel(key, (n,)), np.euler_gamma, np.pi**2 / 6), (random.rayleigh(key, 1.0, (n,)), np.sqrt(np.pi / 2), 2 - np.pi / 2),
        (random.maxwell(key, (n,)), 2 * np.sqrt(2 / np.pi), 3 - 8 / np.pi), (random.geometric(key, 0.25, (n,)), 4, 12),
        (random.rademacher(key, (n,)), 0, 1), (random.randint(key, (n,), 0, 10), 4.5, 99 / 12),
        (random.triangular(key, 0.0, 1.0, 2.0, (n,)), 1, 1 / 6), (random.weibull_min(key, 1.0, 1.0, (n,)), 1, 1),
        (random.gamma(key, 2.5, (n,)), 2.5, 2.5), (random.gamma(key, 0.5, (n,)), 0.5, 0.5), (random.beta(key, 2.0, 2.0, (n,)), 0.5, 0.05),
        (random.poisson(key, 4.0, (n,)), 4, 4), (random.poisson(key, 40.0, (n,)), 40, 40), (random.chisquare(key, 3.0, (n,)), 3, 6),
        (random.pareto(key, 5.0, (n,)), 1.25, 5 / 48), (random.bernoulli(key, 0.3, (n,)), 0.3, 0.21),
    ]:
        x = np.asarray(samples, np.float64)
        assert abs(x.mean() - mean) < 5 * sigma * np.sqrt(variance)
        assert abs(x.var() / variance - 1) < 0.25


def test_gumbel_of_all_bits():
    """The highest mode against the same bits as exact fractions, in float64."""
    key, n = random.key(3), 1000
    high, low = (words.astype(object) for words in np.asarray(random.bits(key, (2, n), "uint32")))
    fractions = (high * 2**32 + low + 0.5) / 2**64
    expected = -np.log(-np.log(fractions.astype(np.float64)))
    np.testing.assert_allclose(random.gumbel(key, (n,), mode="highest"), expected, rtol=3e-6, atol=1e-6)  # float32's log
    np.testing.assert_array_equal(random.gumbel(key, (n,), "float16", mode="highest"), random.gumbel(key, (n,), "float16", mode="high"))
    p = np.float32([0.1, 0.2, 0.7])
    categories = np.asarray(random.categorical(key, np.log(p), shape=(20_000,), mode="highest"))
    np.testing.assert_allclose(np.bincount(categories, minlength=3) / 20_000, p, atol=0.02)


def test_weights_of_choice_and_categorical():
    p, n = np.float32([0.1, 0.2, 0.7]), 20_000
    for samples in (random.choice(random.key(1), 3, (n,), p=p), random.categorical(random.key(2), np.log(p), shape=(n,))):
        np.testing.assert_allclose(np.bincount(np.asarray(samples), minlength=3) / n, p, atol=0.02)
    chosen = np.asarray(random.choice(random.key(3), 10, (10,), replace=False))
    np.testing.assert_array_equal(np.sort(chosen), np.arange(10))


def test_truncated_normal_stays_inside():
    x = np.asarray(random.truncated_normal(random.key(0), -0.1, 0.1, (1000,)))
    assert -0.1 < x.min() and x.max() < 0.1


# --- wrong calls ---

key0 = random.key(0)


@pytest.mark.parametrize("call, error, message", [
    (lambda: random.key(1.5), TypeError, "seed must be an integer"),
    (lambda: random.key(np.arange(2)), TypeError, r"key accepts a scalar seed, but was given an array of shape \(2,\)"),
    (lambda: random.key(key0), TypeError, "was given a PRNG key"),
    (lambda: random.key(0, impl="mersenne"), ValueError, 'unrecognized PRNG implementation "mersenne"'),
    (lambda: random.key(0, impl="rbg", dtype="rbg"), ValueError, "Cannot specify both `impl` and `dtype`: both name the generator"),
    (lambda: random.normal(0), TypeError, "invalid PRNG key data"),
    (lambda: random.normal("seed"), TypeError, "unexpected PRNG key type <class 'str'>"),
    (lambda: random.normal(np.zeros(3, np.uint32)), TypeError, r"has shape \(2,\).*got \(3,\)"),
    (lambda: random.normal(random.split(key0)), ValueError, r"normal accepts a single key.*shape \(2,\)"),
    (lambda: random.split(random.split(key0)), ValueError, "split accepts a single key"),
    (lambda: random.fold_in(key0, np.arange(3)), TypeError, "fold_in accepts a scalar"),
    (lambda: random.bits(key0, (2,), "int32"), ValueError, "must be an unsigned int dtype, got int32"),
    (lambda: random.uniform(key0, (2,), "int32"), ValueError, "dtype argument to `uniform` must be a float dtype, got int32"),
    (lambda: random.choice(key0, 5, 3), TypeError, "the shape must be a sequence of integers, got 3"),
    (lambda: random.uniform(key0, (-1,)), ValueError, "negative size"),
    (lambda: random.uniform(key0, (), minval=np.zeros(3)), ValueError, "parameter shapes must be broadcast-compatible"),
    (lambda: random.uniform(key0, out_sharding=1), TypeError, "out_sharding must be a PartitionSpec"),
    (lambda: random.normal(key0, (), "int8"), ValueError, "must be a float or complex dtype, got int8"),
    (lambda: random.bernoulli(key0, 1), TypeError, "must have a floating dtype, got int32"),
    (lambda: random.bernoulli(key0, 0.5, mode="medium"), ValueError, "expected 'high' or 'low'"),
    (lambda: random.gumbel(key0, mode="medium"), ValueError, "mode must be 'low', 'high' or 'highest'"),
    (lambda: random.randint(key0, (2,), 0, 5, "float32"), TypeError, "randint only accepts integer dtypes, got float32"),
    (lambda: random.poisson(random.key(0, impl="rbg"), 1.0), NotImplementedError, "only implemented for the threefry2x32"),
    (lambda: random.dirichlet(key0, 1.0), ValueError, "requires alpha.ndim >= 1"),
    (lambda: random.multivariate_normal(key0, np.zeros(2), np.zeros((3, 3))), ValueError, r"\(\.\.\., n, n\) for n=2"),
    (lambda: random.multivariate_normal(key0, np.zeros(2), np.eye(2), method="lu"), ValueError, "method must be one of"),
    (lambda: random.permutation(key0, 1.5), TypeError, "x must be an integer or at least 1-dimensional"),
    (lambda: random.permutation(key0, np.arange(3), axis=1), ValueError, "axis 1 is out of bounds"),
    (lambda: random.choice(key0, 0, (2,)), ValueError, "a must be greater than 0"),
    (lambda: random.choice(key0, 3, (4,), replace=False), ValueError, r"larger sample \(size 4\) than population \(size 3\)"),
    (lambda: random.choice(key0, 3, (4,), p=np.ones(2)), ValueError, "p must be None or a 1D vector"),
    (lambda: random.categorical(key0, np.zeros((2, 3), np.float32), shape=(3,)), ValueError, "broadcast"),
    (lambda: random.categorical(key0, np.zeros(3, np.float32), shape=(4,), replace=False), ValueError, "cannot exceed number"),
])
def test_wrong_calls(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_an_int_as_shape_is_the_size_of_the_only_axis():
    key = random.key(0)
    for draw in (random.normal, random.uniform, random.bits, random.gumbel, lambda key, shape: random.bernoulli(key, 0.5, shape),
                 lambda key, shape: random.randint(key, shape, 0, 9), lambda key, shape: random.poisson(key, 2.0, shape)):
        np.testing.assert_array_equal(draw(key, 5), draw(key, (5,)))


@pytest.mark.parametrize("impl", ["philox2x32", "philox4x32", "threefry4x32"])
def test_generators_that_hash_counters_of_other_widths(impl):
    """Compiled draws equal NumPy's; the mean and the spread of a thousand draws are the distribution's, to four deviations."""
    from laminax_ir.reference import counter_generators as reference
    key = random.key(5, impl=impl)
    words = reference.seeded(impl, 5)
    np.testing.assert_array_equal(random.key_data(key), words)
    np.testing.assert_array_equal(random.bits(key, (3, 4)), reference.bits(impl, words, 32, (3, 4)))
    np.testing.assert_array_equal(random.key_data(laminax.jit(lambda k: random.split(k, 3))(key)), reference.split(impl, words, (3,)))
    each = [random.bits(k) for k in random.split(key, 3)]
    np.testing.assert_array_equal(laminax.vmap(random.bits)(random.split(key, 3)), each)
    with config.default_prng_impl(impl):
        drawn = np.asarray(random.normal(random.key(5), (1000,)))
        assert random.key_impl(random.key(0)) == impl
    assert abs(drawn.mean()) < 4 / np.sqrt(1000) and abs(drawn.std() - 1) < 4 / np.sqrt(2000)


def test_a_program_keeps_how_counters_are_laid_out_where_bits_are_drawn():
    """The option was read when the program was compiled, so that a context inside of jit did nothing."""
    def draws(key):
        with laminax.threefry_partitionable(not outside):  # noqa: B023
            return random.bits(key, (4,)), random.key_data(random.split(key, 3)), random.normal(key, (3,))

    key = random.key(72)
    for outside in (False, True):
        with laminax.threefry_partitionable(not outside):
            expected = random.bits(key, (4,)), random.key_data(random.split(key, 3)), random.normal(key, (3,))
        with laminax.threefry_partitionable(outside):
            others = random.bits(key, (4,)), random.key_data(random.split(key, 3)), random.normal(key, (3,))
            for found in (draws(key), laminax.jit(draws)(key), [x[0] for x in laminax.jit(laminax.vmap(draws))(key[None])]):
                for x, y, other in zip(found, expected, others):
                    np.testing.assert_array_equal(x, y)
                    assert not np.array_equal(x, other)
