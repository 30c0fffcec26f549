"""Functions and parameters that NumPy or the reference got of late, against NumPy, SciPy and definitions."""

import numpy as np
import pytest
import scipy.special

import laminax
import laminax.numpy as jnp
from laminax import lax

X = np.random.default_rng(0).integers(0, 5, (4, 6)).astype(np.float32)


@pytest.mark.parametrize("axis, keepdims", [(None, False), (0, True), ((0, 1), False), (-1, True)])
def test_minmax(axis, keepdims):
    low, high = laminax.jit(lambda x: jnp.minmax(x, axis, keepdims=keepdims))(X)
    np.testing.assert_array_equal(low, X.min(axis, keepdims=keepdims))
    np.testing.assert_array_equal(high, X.max(axis, keepdims=keepdims))


def test_minmax_of_some():
    for initial, pair in ((2.0, (2.0, 2.0)), ((1.0, 9.0), (1.0, 9.0))):
        low, high = jnp.minmax(X, 1, initial=initial, where=X > 2)
        np.testing.assert_array_equal(low, X.min(1, initial=pair[0], where=X > 2))
        np.testing.assert_array_equal(high, X.max(1, initial=pair[1], where=X > 2))
    with pytest.raises(ValueError, match="zero-size array to reduction operation"):
        jnp.minmax(np.zeros(0))
    with pytest.raises(ValueError, match="pair of them"):
        jnp.minmax(X, initial=(1, 2, 3))


@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.uint8, np.bool_])
@pytest.mark.parametrize("axis, k", [(-1, 2), (0, 4), (1, 0)])
def test_top_k(axis, k, dtype):
    x = (X - 2).astype(dtype)
    order = np.argsort(x, axis, kind="stable")
    first = np.take(order, range(k), axis)
    values, places = jnp.top_k(x, k, axis=axis, mode="smallest")
    np.testing.assert_array_equal(places, first)
    np.testing.assert_array_equal(values, np.take_along_axis(x, first, axis))
    values, places = laminax.jit(lambda x: jnp.top_k(x, k, axis=axis))(x)
    greatest = np.take(np.argsort(-x.astype(np.int64), axis, kind="stable"), range(k), axis)
    np.testing.assert_array_equal(places, greatest)
    np.testing.assert_array_equal(values, np.take_along_axis(x, greatest, axis))


def test_top_k_of_NaN_and_what_it_refuses():
    x = np.array([3, np.nan, 1], np.float32)
    assert [int(i) for i in jnp.top_k(x, 3)[1]] == [1, 0, 2] and [int(i) for i in jnp.top_k(x, 3, mode="smallest")[1]] == [2, 0, 1]
    for call, words in ((lambda: jnp.top_k(x, 4), "k must be from 0 to"), (lambda: jnp.top_k(x, -1), "k must be from 0 to"),
                        (lambda: jnp.top_k(x, 1, mode="a"), "mode must be"), (lambda: jnp.top_k(x + 1j, 1), "complex")):
        with pytest.raises(ValueError, match=words):
            call()
    for is_stable in (True, False):
        np.testing.assert_array_equal(lax.top_k(np.array([1, 3, 3]), 2, is_stable=is_stable)[1], [1, 2])


@pytest.mark.parametrize("batch_size", [1, 2, 3, 16])
def test_lexsort_in_batches(batch_size):
    keys = np.random.default_rng(1).integers(0, 3, (5, 40))
    np.testing.assert_array_equal(jnp.lexsort(keys, batch_size=batch_size), np.lexsort(keys))
    np.testing.assert_array_equal(jnp.lexsort(keys.reshape(5, 8, 5), 0, batch_size=batch_size), np.lexsort(keys.reshape(5, 8, 5), 0))
    mixed = (keys[0], keys[1].astype(np.float32), keys[2].astype(bool))
    np.testing.assert_array_equal(jnp.lexsort(mixed, batch_size=batch_size), np.lexsort(mixed))
    with pytest.raises(ValueError, match="batch_size must be positive"):
        jnp.lexsort(keys, batch_size=0)


def test_erfcinv():
    y = np.array([0, 1e-30, 1e-8, 0.01, 0.5, 1, 1.5, 1.99, 2, -0.1, 2.1, np.nan], np.float32)
    np.testing.assert_allclose(laminax.scipy.special.erfcinv(y), scipy.special.erfcinv(y.astype(np.float64)), rtol=2e-6, atol=1e-7)
    step = 1e-6
    slope = (scipy.special.erfcinv(0.3 + step) - scipy.special.erfcinv(0.3 - step)) / (2 * step)
    np.testing.assert_allclose(laminax.grad(laminax.scipy.special.erfcinv)(0.3), slope, rtol=1e-5)
    assert laminax.scipy.special.erfcinv(1) == 0 and laminax.scipy.special.erfcinv(np.int32(0)) == np.inf
    half = laminax.scipy.special.erfcinv(jnp.array([0.5, 1.5], jnp.bfloat16))
    assert half.dtype == jnp.bfloat16
    np.testing.assert_allclose(half.astype(np.float32), scipy.special.erfcinv([0.5, 1.5]), rtol=2**-8)


def test_one_hot_of_narrow_integers():
    """The numbers of the classes did not fit the dtype, and some were equal."""
    for dtype in (np.uint8, np.int8, np.int32):
        np.testing.assert_array_equal(laminax.nn.one_hot(np.array([2, 100], dtype), 300), np.eye(300)[[2, 100]])


def test_one_hot_takes_out_sharding():
    mesh = laminax.make_mesh((1,), ("x",))
    with laminax.set_mesh(mesh):
        x = laminax.reshard(jnp.array([1, 0]), laminax.sharding.PartitionSpec("x"))
        found = laminax.nn.one_hot(x, 3, out_sharding=laminax.sharding.PartitionSpec("x"))
        np.testing.assert_array_equal(found, np.eye(3)[[1, 0]])
        assert laminax.typeof(found).sharding.spec == laminax.sharding.PartitionSpec("x", None)


@pytest.mark.parametrize("dtype", [np.int16, np.float16])
def test_densities_of_histograms_where_dtypes_are_not_promoted(dtype):
    """Counts, their sum and the edges have dtypes of our choice: the user mixes none."""
    x = np.arange(10).astype(dtype)
    with laminax.numpy_dtype_promotion("strict"), laminax.numpy_rank_promotion("raise"):
        density, _ = jnp.histogram(x, 5, density=True, weights=x)
        planar, _, _ = jnp.histogram2d(x, x, 5, density=True, weights=x)
    np.testing.assert_allclose(density, np.histogram(x, 5, density=True, weights=x.astype(float))[0], rtol=2e-3)
    np.testing.assert_allclose(planar, np.histogram2d(x, x, 5, density=True, weights=x.astype(float))[0], rtol=2e-3)
