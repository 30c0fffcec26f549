"""Cumulative reductions: derivatives against differences and the adjoint identity, vmap against a loop."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numeric_checks import check_derivatives, check_vmap

from laminax_ir.ops import cumulative, reduction
from laminax_ir.ops.slicing import slice_in_dim
from laminax_transforms import grad, jvp

f32 = np.float32
names = ["cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp"]


def distinct(shape):
    return np.random.default_rng(0).permutation(np.linspace(-2, 2.1, int(np.prod(shape)))).reshape(shape)


@pytest.mark.parametrize("name", names)
@pytest.mark.parametrize("shape, axis, reverse", [((5,), 0, False), ((2, 4), 1, True), ((3, 2), 0, False), ((1,), 0, True)])
def test_derivatives(name, shape, axis, reverse):
    check_derivatives(lambda x: getattr(cumulative, name)(x, axis, reverse), distinct(shape))


@pytest.mark.parametrize("name", ["cumsum", "cumprod", "cumlogsumexp"])
def test_complex_derivatives(name):
    x = distinct((4,)) + 0.5j * distinct((4,))[::-1]
    check_derivatives(lambda x: getattr(cumulative, name)(x), x)


@settings(max_examples=30)
@given(st.sampled_from(names), st.integers(0, 2), st.data(), st.booleans())
def test_vmap(name, batch_axis, data, reverse):
    x = distinct((2, 3, 4)).astype(f32)
    axis = data.draw(st.integers(0, 1))
    check_vmap(lambda x: getattr(cumulative, name)(x, axis, reverse), [x], [batch_axis])


def test_product_with_zeros():
    check_derivatives(cumulative.cumprod, np.array([2.0, 0.0, 3.0, 0.0, 4.0]))


def test_ties_share_the_tangent():
    # Two equal maxima side by side count half each; from then on too.
    x = np.array([1, 3, 3, 2], f32)
    for i, column in enumerate([[1, 0, 0, 0], [0, 1, 0.5, 0.5], [0, 0, 0.5, 0.5], [0, 0, 0, 0]]):
        _, tangent = jvp(cumulative.cummax, (x,), (np.eye(4, dtype=f32)[i],))
        np.testing.assert_array_equal(tangent, column)


def test_leading_minus_infinities_have_gradient_zero():
    x = np.array([-np.inf, -np.inf, 0.5, 1.0], f32)
    result = grad(lambda x: reduction.reduce_sum(slice_in_dim(cumulative.cumlogsumexp(x), 2, 4), (0,)))(x)
    share = np.exp(0.5) / (np.exp(0.5) + np.exp(1.0))
    np.testing.assert_allclose(result, [0, 0, 1 + share, 1 - share], rtol=1e-6)


@pytest.mark.parametrize("name", ["cummax", "cummin"])
@pytest.mark.parametrize("reverse", [False, True])
def test_extrema_from_nan_on_have_gradient_zero(name, reverse):
    """They are NaN however the elements move; the NaN after the first had gradients of their own. What comes before has what it had."""
    x = np.array([2, 2, np.nan, 1, np.nan, 5], f32)
    weights = np.arange(1, 7, dtype=f32)
    if reverse:
        x, weights = x[::-1], weights[::-1]

    def weighted(x):
        return reduction.reduce_sum(getattr(cumulative, name)(x, 0, reverse) * weights, (0,))
    found = grad(weighted)(x)
    np.testing.assert_array_equal(found[::-1] if reverse else found, [2, 1, 0, 0, 0, 0])  # the tie of the first two is shared
