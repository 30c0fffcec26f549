"""Samplers made of several others: the numbers that JAX 0.10.2 gives for key(7), and their distributions against SciPy's."""

import numpy as np
import pytest
import scipy.stats

import laminax
import laminax.numpy as jnp
from laminax import random

KEY = random.key(7)

# printed by jax.random of jax 0.10.2
RECORDED = {
    "generalized_normal": (lambda: random.generalized_normal(KEY, 1.5, (3,)), [-0.1131488, -0.7860649, 0.05867381]),
    "ball": (lambda: random.ball(KEY, 2, 1.5, (2,)), [-0.3568303, 0.3705167, 0.08796252, -0.4887179]),
    "double_sided_maxwell": (lambda: random.double_sided_maxwell(KEY, 1.0, 2.0, (3,)), [-1.477191, -4.170105, 3.760345]),
    "f": (lambda: random.f(KEY, 2.0, jnp.array([3.0, 4.0, 5.0])), [0.3502313, 1.041505, 1.563249]),
    "orthogonal": (lambda: random.orthogonal(KEY, 2, m=3), [0.4897351, -0.5602856, 0.6680117, 0.869762, 0.3672174, -0.3296444]),
    "wald": (lambda: random.wald(KEY, 2.0, (3,)), [0.4709511, 2.442716, 0.970578]),
}


@pytest.mark.parametrize("name", RECORDED)
def test_the_numbers_are_those_of_jax(name):
    sample, expected = RECORDED[name]
    np.testing.assert_allclose(np.ravel(sample()), expected, rtol=2e-5)  # the last digits of pow and gamma differ


@pytest.mark.parametrize("sample, distribution", [
    (lambda key, n: random.generalized_normal(key, 1.5, (n,)), scipy.stats.gennorm(1.5)),
    (lambda key, n: random.f(key, 4.0, 6.0, (n,)), scipy.stats.f(4, 6)),
    (lambda key, n: random.wald(key, 2.0, (n,)), scipy.stats.invgauss(2.0, scale=1.0)),
    (lambda key, n: jnp.abs(random.double_sided_maxwell(key, 0.0, 2.0, (n,))), scipy.stats.maxwell(scale=2.0)),
    (lambda key, n: jnp.sum(random.ball(key, 3, shape=(n,)) ** 2, -1) ** 1.5, scipy.stats.uniform()),
])
def test_distributions(sample, distribution):
    # a true null hypothesis is rejected once in a thousand keys, and this is one key
    assert scipy.stats.kstest(np.asarray(sample(random.key(1), 3000)), distribution.cdf).pvalue > 1e-3


@pytest.mark.parametrize("n, m, dtype", [(3, 3, np.float32), (2, 4, np.float32), (4, 2, np.complex64)])
def test_orthogonal_matrices(n, m, dtype):
    q = np.asarray(random.orthogonal(KEY, n, (2,), dtype, m=m))
    assert q.shape == (2, n, m) and q.dtype == dtype
    inner = q @ np.conj(np.swapaxes(q, -1, -2)) if n <= m else np.conj(np.swapaxes(q, -1, -2)) @ q
    np.testing.assert_allclose(inner, np.broadcast_to(np.eye(min(n, m)), inner.shape), atol=1e-5)


def test_shapes_and_dtypes():
    assert random.double_sided_maxwell(KEY, jnp.zeros(2), 1.0, (3,)).shape == (3, 2)
    assert random.ball(random.PRNGKey(0), 2, dtype=jnp.float16).dtype == np.float16
    assert random.f(KEY, 2, np.ones(3)).shape == (3,)
    assert laminax.vmap(lambda key: random.wald(key, 1.0, (4,)))(random.split(KEY, 2)).shape == (2, 4)


@pytest.mark.parametrize("call, error, message", [
    (lambda: random.wald(KEY, 1.0, dtype=int), ValueError, "dtype argument to `wald` must be a float dtype, got int32"),
    (lambda: random.ball(KEY, 2.5), TypeError, "float"),
    (lambda: random.orthogonal(KEY, 2, out_sharding="x"), TypeError, "orthogonal: out_sharding must be a PartitionSpec"),
    (lambda: random.f(KEY, np.ones(3), 1.0, (2,)), ValueError, "Incompatible shapes for broadcasting"),
])
def test_refusals(call, error, message):
    with pytest.raises(error, match=message):
        call()
