"""Reductions and cumulative reductions against NumPy."""

import numpy as np
import pytest

import laminax
import laminax.numpy as jnp

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
    with pytest.raises(ValueError, match="duplicate value in 'axis'"):
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


@pytest.mark.parametrize("shape, axis", [((9,), None), ((3, 5), 0), ((3, 5), -1), ((2, 3, 4), (0, 2))])
@pytest.mark.parametrize("name", ["quantile", "nanquantile"])
def test_weighted_quantiles(name, shape, axis):
    rng = np.random.default_rng(0)
    x, weights = rng.normal(size=shape).astype(np.float32), rng.integers(1, 5, shape).astype(np.float32)
    weights.flat[2] = 0
    if name == "nanquantile":
        x.flat[1] = np.nan
    q = np.array([0.0, 0.3, 0.62, 1.0], np.float32)
    want = getattr(np, name)(x, q, axis=axis, weights=weights, method="inverted_cdf", keepdims=True)
    np.testing.assert_array_equal(getattr(jnp, name)(x, q, axis=axis, weights=weights, method="inverted_cdf", keepdims=True), want)
    np.testing.assert_array_equal(getattr(jnp, name)(x, 0.45, axis=axis, method="inverted_cdf"),
                                  getattr(np, name)(x, 0.45, axis=axis, method="inverted_cdf"))


@pytest.mark.parametrize("name", ["quantile", "nanquantile", "percentile", "nanpercentile", "median", "nanmedian"])
def test_order_statistics_are_not_written_in_place(name):
    args = (jnp.ones(3),) if name.endswith("median") else (jnp.ones(3), 0.5)
    for refused in ({"overwrite_input": True}, {"out": np.zeros(())}):
        with pytest.raises(ValueError, match=f"numpy.{name} does not support overwrite_input=True or out != None"):
            getattr(jnp, name)(*args, **refused)


def test_weights_of_a_vector_along_the_axis():
    x, weights = np.arange(10.0, dtype=np.float32).reshape(2, 5), np.array([1, 0, 2, 3, 1], np.float32)
    np.testing.assert_array_equal(jnp.percentile(x, 60, axis=1, weights=weights, method="inverted_cdf"), [3, 8])
    with pytest.raises(ValueError, match="weights must have the shape"):
        jnp.quantile(x, 0.5, axis=0, weights=weights, method="inverted_cdf")
    with pytest.raises(NotImplementedError, match="Only method 'inverted_cdf' supports weights"):
        jnp.quantile(x, 0.5, axis=1, weights=weights)


def test_nan_is_left_out_of_derivatives_too():
    x = np.array([np.nan, 1, 2, 3, 4], np.float32)
    present = x[1:]
    np.testing.assert_allclose(laminax.grad(jnp.nanvar)(x), [0, *(2 * (present - present.mean()) / 4)])  # d/dx of mean (x - m)**2
    np.testing.assert_allclose(laminax.grad(jnp.nanstd)(x), [0, *((present - present.mean()) / 4 / present.std())], rtol=1e-6)


def test_a_dtype_that_is_asked_for_is_computed_in():
    half = np.float16([1, 2, 4])
    for fun in (jnp.sum, jnp.prod, jnp.mean):
        eqns = laminax.make_jaxpr(lambda x, fun=fun: fun(x, dtype="float16"))(half).eqns
        assert all(v.aval.dtype == np.float16 for eqn in eqns for v in eqn.outvars)
    assert jnp.mean(np.int16([1, 2, 4]), dtype=np.int16) == 2
    with laminax.numpy_dtype_promotion("strict"):
        assert jnp.var(half, dtype=np.float32).dtype == np.float32 and jnp.var(half, dtype=np.complex64).dtype == np.complex64
        assert jnp.quantile(half, np.float32(0.5)).dtype == np.float16


@pytest.mark.parametrize("name", ["sum", "nanmax", "nanmean", "std", "nanvar", "any"])
def test_masks_are_bools_and_broadcast_explicitly(name):
    x, options = np.ones((2, 3), np.float32), {"initial": 0} if name == "nanmax" else {}
    with laminax.numpy_rank_promotion("raise"):
        mask = np.array([True, False, True])
        np.testing.assert_allclose(getattr(jnp, name)(x, where=mask, **options), getattr(np, name)(x, where=mask, **options))
    with pytest.raises(ValueError, match=f"jnp.{name}: where must be None or a boolean array"):
        getattr(jnp, name)(x, where=np.ones(3, np.int32), **options)


@pytest.mark.parametrize("call, words", [
    (lambda: jnp.sum(np.ones(3), initial=np.zeros((1, 2))), r"initial value must be a scalar. Got array of shape \(1, 2\)"),
    (lambda: jnp.sum(np.ones(3), (0, 0)), r"duplicate value in 'axis': \(0, 0\)"),
    (lambda: jnp.cumulative_sum(1.0), "The input must be non-scalar"),
    (lambda: jnp.cumulative_prod(np.ones((2, 2))), "The input array has rank 2, however"),
    (lambda: jnp.var(np.ones(3, np.complex64), dtype=np.float32), "var: the variance of complex numbers is computed in a complex dtype"),
    (lambda: jnp.cov(np.ones(3), dtype=int), "cov: dtype must be a subclass of float or complex"),
])
def test_what_reductions_refuse(call, words):
    with pytest.raises(ValueError, match=words):
        call()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("shape, rowvar", [((3, 0), True), ((0,), True), ((1, 3), False), ((3, 1), True)])
def test_covariance_of_few_observations(shape, rowvar):
    np.testing.assert_array_equal(jnp.cov(np.ones(shape, np.float32), rowvar=rowvar), np.cov(np.ones(shape), rowvar=rowvar))


@pytest.mark.parametrize("shape, distances, axis",
                         [((3, 10), (3, 1), -1), ((2, 3), (3,), 0), ((3, 4, 5), (3, 5), 1), ((3, 4, 5), (2, 4, 5), 0)])
def test_trapezoid_takes_an_array_of_distances(shape, distances, axis):
    rng = np.random.default_rng(0)
    y, dx = rng.normal(size=shape).astype(np.float32), rng.normal(size=distances).astype(np.float32)
    rank = len(shape) - len(distances)
    spread = np.moveaxis(np.broadcast_to(np.moveaxis(dx.reshape((1,) * rank + distances), axis, -1),
                                         np.moveaxis(np.diff(y, axis=axis), axis, -1).shape), -1, axis)
    expected = np.trapezoid(y, np.concatenate([np.zeros_like(np.take(spread, [0], axis)), np.cumsum(spread, axis)], axis), axis=axis)
    np.testing.assert_allclose(jnp.trapezoid(y, dx=dx, axis=axis), expected, rtol=1e-4, atol=1e-5)


def test_gradient_along_a_tuple_of_one_axis_is_one_array():
    x = np.random.default_rng(0).normal(size=(3, 4))
    np.testing.assert_allclose(jnp.gradient(x, axis=(1,)), np.gradient(x, axis=1), rtol=1e-6, atol=1e-6)
    assert jnp.gradient(x, axis=()) == []


@pytest.mark.parametrize("name", ["sum", "prod", "nansum", "nanprod"])
@pytest.mark.parametrize("dtype", ["bool", "int8", "float32", "complex64"])
def test_sums_and_products_of_truth_values(name, dtype):
    x = np.array([[1, 0, 2], [3, 0, 0], [1, 1, 0]]).astype(dtype)
    keep = np.array([[True, False, True]])
    for options in ({}, {"axis": 0}, {"axis": 1, "keepdims": True}, {"axis": 0, "where": keep}, {"axis": 0, "initial": True}):
        got = getattr(jnp, name)(x, dtype=bool, **options)
        expected = getattr(np, name)(x, dtype=bool, **options)
        assert got.dtype == bool
        np.testing.assert_array_equal(got, expected)
    np.testing.assert_array_equal(getattr(jnp, name)(x[:0], axis=0, dtype=bool), getattr(np, name)(x[:0], axis=0, dtype=bool))


def test_booleans_are_counted_also_where_integers_are_not_promoted():
    x = np.array([True, True, False])
    for function, expected in ((jnp.sum, 2), (jnp.prod, 0)):
        got = function(x, promote_integers=False)
        assert got == expected and got.dtype == function(x).dtype
