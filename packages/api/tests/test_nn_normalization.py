"""nn.softmax and nn.log_softmax with a mask, and nn.standardize, against NumPy on the elements that are left in."""

import numpy as np
import pytest

import laminax
import laminax.numpy as jnp
from laminax import nn

X = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, -6.0]], np.float32)
MASKS = {"some": [[True, False, True], [True, True, True]], "none_of_a_row": [[True, False, True], [False, False, False]],
         "one_row_for_all": [False, True, True], "none": False}


def by_row(x, mask):
    """Softmax of each row's elements in the mask, and the derivative of its sum of logarithms."""
    mask = np.broadcast_to(mask, x.shape)
    y, log_slope = np.zeros(x.shape), np.zeros(x.shape)
    for i, row in enumerate(mask):
        exponentials = np.exp(x[i, row].astype(np.float64))
        y[i, row] = exponentials / exponentials.sum()
        log_slope[i, row] = 1 - row.sum() * y[i, row]
    return y, log_slope


@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
@pytest.mark.parametrize("wrap", [lambda f: f, laminax.jit], ids=["eager", "jit"])
def test_softmax_of_a_mask_has_zeros_and_finite_gradients(wrap, mask):
    where, (y, log_slope) = jnp.asarray(mask), by_row(X, mask)
    np.testing.assert_allclose(wrap(lambda x: nn.softmax(x, where=where))(X), y, rtol=1e-6)
    with np.errstate(divide="ignore"):
        # atol: log of a sum near 1
        np.testing.assert_allclose(wrap(lambda x: nn.log_softmax(x, where=where))(X), np.log(y), rtol=1e-6, atol=1.2e-7)
    gradient = laminax.grad(wrap(lambda x: jnp.sum(nn.log_softmax(x, where=where), where=where)))(X)
    np.testing.assert_allclose(gradient, log_slope, atol=1e-6)
    squares = laminax.grad(wrap(lambda x: jnp.sum(nn.softmax(x, where=where) ** 2)))(X)
    np.testing.assert_allclose(squares, 2 * y * (y - (y * y).sum(-1, keepdims=True)), atol=1e-6)


def test_a_mask_keeps_the_nan_of_its_elements_only():
    x = np.array([np.nan, 1.0, 2.0], np.float32)
    assert np.isnan(nn.softmax(x, where=jnp.array([True, True, False]))[:2]).all()
    np.testing.assert_allclose(nn.softmax(x, where=jnp.array([False, True, True])), [0, *by_row(x[None, 1:], True)[0][0]], rtol=1e-6)


def test_standardize_by_either_algorithm():
    x = np.random.default_rng(0).normal(size=(4, 50)).astype(np.float32)
    where = np.random.default_rng(1).uniform(size=x.shape) < 0.8
    exact = x.astype(np.float64)

    def expected(x, **mask):
        return (x - x.mean(-1, keepdims=True, **mask)) / np.sqrt(x.var(-1, keepdims=True, **mask) + 1e-5)
    for algorithm in ("fast", "stable"):
        standardize = lambda x, algorithm=algorithm, **options: nn.standardize(x, algorithm=algorithm, **options)
        np.testing.assert_allclose(standardize(x), expected(exact), rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(standardize(x, where=where), expected(exact, where=where), rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(standardize(x, mean=0.5, variance=4.0), (exact - 0.5) / np.sqrt(4.00001), rtol=1e-5, atol=1e-6)
    far = x + np.float32(4096)  # the squares of these have no bits left for a variance of 1
    np.testing.assert_allclose(nn.standardize(far, algorithm="stable"), expected(far.astype(np.float64)), atol=2e-3)
    assert not np.allclose(nn.standardize(far), expected(far.astype(np.float64)), atol=2e-3)
    with pytest.raises(ValueError, match="Unknown algorithm 'welford'. Expected 'fast' or 'stable'"):
        nn.standardize(x, algorithm="welford")


def test_empty_arrays():
    for function in (nn.softmax, nn.log_softmax):
        for x in (jnp.zeros(0), jnp.zeros((3, 0))):
            assert function(x).shape == laminax.jit(function)(x).shape == x.shape
        assert function(jnp.zeros((0, 3)), where=jnp.array([True, False, True])).shape == (0, 3)
        assert laminax.grad(lambda x, function=function: jnp.sum(function(x)))(jnp.zeros(0)).shape == (0,)


def test_softmax_without_a_rule_computes_and_keeps_its_exponentials_once():
    with laminax.softmax_custom_jvp(False):
        made = laminax.make_jaxpr(nn.softmax)(X[0])
        kept = laminax.ad_checkpoint.saved_residuals(nn.softmax, X[0])
    assert [eqn.primitive.name for eqn in made.eqns].count("exp") == 1
    assert len(kept) == 2  # and their sum


def test_one_hot_takes_integers_and_a_number_of_classes():
    with pytest.warns(DeprecationWarning, match="one_hot input should be integer-typed; got dtype=float32"):
        codes = nn.one_hot(jnp.array([1.0, 0.0]), 2)
    np.testing.assert_array_equal(codes, [[0, 1], [1, 0]])
    with pytest.raises(laminax.errors.ConcretizationTypeError, match="in jax.nn.one_hot argument `num_classes` must be a concrete integer"):
        laminax.jit(nn.one_hot)(jnp.array([1, 0]), 2)
    with pytest.raises(TypeError, match="one_hot: num_classes must be 0 or more, got -1, which is no size of an axis"):
        nn.one_hot(jnp.array([1, 0]), -1)
