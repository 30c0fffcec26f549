"""Reductions and cumulative reductions against NumPy."""

import laminax
import laminax.numpy as jnp
import numpy as np
import pytest

X = np.random.default_rng(0).normal(size=(3, 4, 5)).astype(np.float32)
N = np.where(X[0] > 0.8, np.nan, X[0]).astype(np.float32)
FUNCTIONS = ["sum", "prod", "mean", "var", "std", "max", "min", "ptp", "median"]


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("axis", [None, 1, (0, -1)])
def test_reduction(name, axis):
    # sums of 60 float32 numbers in another order than NumPy's
    np.testing.assert_allclose(getattr(jnp, name)(X, axis), getattr(np, name)(X, axis), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_keepdims(name):
    assert getattr(jnp, name)(X, axis=(0, 2), keepdims=True).shape == (1, 4, 1)


@pytest.mark.parametrize("name", ["nansum", "nanprod", "nanmean", "nanvar", "nanstd", "nanmax", "nanmin", "nanmedian", "nanargmax",
                                  "nanargmin", "nancumsum", "nancumprod"])
def test_nan_left_out(name):
    np.testing.assert_allclose(getattr(jnp, name)(N, axis=1), getattr(np, name)(N, axis=1), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["argmax", "argmin", "cumsum", "cumprod", "any", "all", "count_nonzero"])
@pytest.mark.parametrize("axis", [None, 0, -1])
def test_other_reductions(name, axis):
    x = (X > 0.5) if name in ("any", "all", "count_nonzero") else X
    np.testing.assert_allclose(getattr(jnp, name)(x, axis=axis), getattr(np, name)(x, axis=axis), rtol=1e-4, atol=1e-5)


def test_where_and_initial():
    mask = X > 0
    np.testing.assert_allclose(jnp.sum(X, axis=1, where=mask, initial=2.0), np.sum(X, axis=1, where=mask, initial=2.0), rtol=1e-5)
    np.testing.assert_allclose(jnp.max(X, axis=1, where=mask, initial=-9.0), np.max(X, axis=1, where=mask, initial=-9.0))
    np.testing.assert_allclose(jnp.mean(X, where=mask), np.mean(X, where=mask), rtol=1e-5)
    np.testing.assert_allclose(jnp.var(X, axis=0, ddof=1), np.var(X, axis=0, ddof=1), rtol=1e-4)


def test_empty_arrays():
    assert float(jnp.sum(np.zeros((0, 3)))) == 0
    np.testing.assert_array_equal(jnp.sum(np.zeros((0, 3)), axis=0), np.zeros(3))
    assert np.isnan(jnp.mean(np.zeros(0)))
    with pytest.raises(ValueError, match="zero-size array to reduction operation max.*Give initial"):
        jnp.max(np.zeros((0, 3)))
    with pytest.raises(ValueError, match="argmax of an empty sequence"):
        jnp.argmax(np.zeros(0))


def test_dtypes():
    assert jnp.sum(np.ones(3, np.int8)).dtype == np.int32
    assert jnp.sum(np.ones(3, np.uint8)).dtype == np.uint32
    assert jnp.sum(np.ones(3, bool)).dtype == np.int32
    assert jnp.sum(np.ones(3, np.int8), promote_integers=False).dtype == np.int8
    assert jnp.mean(np.ones(3, np.int8)).dtype == np.float32
    assert jnp.max(np.ones(3, np.int8)).dtype == np.int8
    assert jnp.cumsum(np.ones(3, np.int8)).dtype == np.int8
    assert jnp.argmax(X).dtype == np.int32


def test_half_precision_is_summed_in_single():
    x = np.full(4096, 1.0, np.float16)  # a float16 sum stops at 2048
    assert float(jnp.sum(x)) == 4096 and jnp.sum(x).dtype == np.float16


def test_errors():
    with pytest.raises(ValueError, match="sum: axis 5 is out of bounds"):
        jnp.sum(X, axis=5)
    with pytest.raises(ValueError, match="axes must be unique"):
        jnp.sum(X, axis=(0, 0))
    with pytest.raises(NotImplementedError, match="'out' argument"):
        jnp.sum(X, out=X)
    with pytest.raises(TypeError, match="sum requires ndarray or scalar arguments"):
        jnp.sum([1, 2])


@pytest.mark.parametrize("name", ["mean", "var", "std"])
def test_gradients_by_central_differences(name):
    x = X[0, 0].astype(np.float64)
    got = laminax.grad(getattr(jnp, name))(x.astype(np.float32))
    h = 1e-6
    want = [(getattr(np, name)(x + h * e) - getattr(np, name)(x - h * e)) / (2 * h) for e in np.eye(len(x))]
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-6)


def test_average_and_quantiles():
    w = np.arange(1.0, 5.0)
    np.testing.assert_allclose(jnp.average(X, axis=1, weights=w), np.average(X, axis=1, weights=w), rtol=1e-5)
    for method in ("linear", "lower", "higher", "midpoint", "nearest"):
        np.testing.assert_allclose(jnp.quantile(X, np.array([0.2, 0.8]), axis=1, method=method),
                                   np.quantile(X, [0.2, 0.8], axis=1, method=method), rtol=1e-5)
    np.testing.assert_allclose(jnp.nanpercentile(N, 30.0, axis=1), np.nanpercentile(N, 30.0, axis=1), rtol=1e-5)
