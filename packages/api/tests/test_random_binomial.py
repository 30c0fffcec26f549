"""Binomial and multinomial samples against SciPy's distributions."""

import numpy as np
import pytest
import scipy.stats

import laminax
import laminax.numpy as jnp
from laminax import random


def p_value(samples, distribution):
    """Of the chi-squared test that the samples are of a discrete distribution; rare values are one bin."""
    counts = np.bincount(np.asarray(samples).astype(int).ravel(), minlength=1)
    expected = distribution.pmf(np.arange(len(counts))) * counts.sum()
    common = expected >= 5
    observed, wanted = np.append(counts[common], counts[~common].sum()), np.append(expected[common], counts.sum() - expected[common].sum())
    return scipy.stats.chisquare(*(x[wanted > 1e-9] for x in (observed, wanted))).pvalue


@pytest.mark.parametrize("n", [5, 500])
@pytest.mark.parametrize("p", [0.1, 0.7])
def test_binomial_samples(n, p):
    samples = random.binomial(random.key(12), n, p, (4000,))
    assert samples.dtype == np.float32 and samples.shape == (4000,)
    assert p_value(samples, scipy.stats.binom(n, p)) > 1e-3
    np.testing.assert_array_equal(laminax.jit(lambda key: random.binomial(key, n, p, (4000,)))(random.key(12)), samples)


def test_binomial_of_arrays_of_parameters():
    n, p = jnp.array([3.0, 80.0]), jnp.array([[0.2], [0.9], [0.5]])
    assert random.binomial(random.key(0), n, p).shape == (3, 2)
    samples = np.asarray(random.binomial(random.key(0), n, p, (4000, 3, 2)))
    for i, j in np.ndindex(3, 2):
        assert p_value(samples[:, i, j], scipy.stats.binom(int(n[j]), float(p[i, 0]))) > 1e-3


def test_binomial_at_the_borders():
    key, nan, inf = random.key(0), np.nan, np.inf
    np.testing.assert_array_equal(random.binomial(key, jnp.array([-1, 0, nan, inf]), 0.5), [nan, 0, nan, inf])
    np.testing.assert_array_equal(random.binomial(key, 5, jnp.array([nan, 0, 1, -0.1, 1.1])), [nan, 0, 5, nan, nan])
    np.testing.assert_array_equal(random.binomial(key, inf, jnp.array([nan, 0.0, -0.1])), [nan, inf, nan])
    np.testing.assert_array_equal(random.binomial(key, 4.9, 1.0), 4)
    assert random.binomial(key, jnp.float16(100), jnp.float16(0.5), dtype=jnp.float16).dtype == np.float16
    with pytest.raises(ValueError, match="dtype argument to `binomial` must be a float dtype"):
        random.binomial(key, 5, 0.5, dtype=int)
    with pytest.raises(ValueError, match="Incompatible shapes for broadcasting"):
        random.binomial(key, jnp.ones(3), 0.5, (2,))


def test_multinomial_counts():
    probabilities = jnp.array([[0.5, 0.2, 0.3], [1, 0, 0], [0, 0, 1], [0.5, 0, 0.5]])
    counts = random.multinomial(random.key(0), 1e5, probabilities)
    np.testing.assert_array_equal(counts.sum(-1), 1e5)
    np.testing.assert_allclose(counts / 1e5, probabilities, atol=0.01)  # six standard deviations
    assert (np.asarray(counts)[np.asarray(probabilities) == 0] == 0).all()


def test_multinomial_samples():
    samples = np.asarray(random.multinomial(random.key(1), 7, jnp.array([0.2, 0.5, 0.3]), shape=(4000, 3)))
    assert samples.shape == (4000, 3) and (samples.sum(-1) == 7).all()
    for i, p in enumerate((0.2, 0.5, 0.3)):
        assert p_value(samples[:, i], scipy.stats.binom(7, p)) > 1e-3
    # atol: five standard deviations
    np.testing.assert_allclose(np.cov(samples.T), 7 * (np.diag([0.2, 0.5, 0.3]) - np.outer([0.2, 0.5, 0.3], [0.2, 0.5, 0.3])), atol=0.15)


def test_multinomial_arguments():
    key, p = random.key(0), jnp.ones(3) / 3
    assert random.multinomial(key, jnp.float16(10), p.astype(jnp.bfloat16), dtype=jnp.float16).dtype == np.float16
    assert random.multinomial(key, jnp.array([[1], [5]]), p, shape=(2, 4, 3), unroll=True).sum(-1).tolist() == [[1] * 4, [5] * 4]
    for bad in (lambda: random.multinomial(key, 5, 0.5), lambda: random.multinomial(key, 5, p, shape=(4,)),
                lambda: random.multinomial(key, jnp.ones(3), p, shape=(2, 3))):
        with pytest.raises(ValueError, match="random.multinomial"):
            bad()
