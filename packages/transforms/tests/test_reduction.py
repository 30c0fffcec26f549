"""Reductions: derivatives against differences and the adjoint identity, vmap against a loop, documented conventions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numeric_checks import check_derivatives, check_vmap

from laminax_ir.ops import elementwise, reduction
from laminax_transforms import grad, jvp, vjp

f32 = np.float32
float_reductions = ["reduce_sum", "reduce_prod", "reduce_max", "reduce_min"]


@st.composite
def shape_and_axes(draw):
    shape = tuple(draw(st.lists(st.integers(1, 3), max_size=3)))
    return shape, tuple(i for i in draw(st.permutations(range(len(shape)))) if draw(st.booleans()))


def distinct(shape):
    """Distinct values, so that extrema are away from ties."""
    rng = np.random.default_rng(0)
    return rng.permutation(np.linspace(-2, 2.1, int(np.prod(shape)))).reshape(shape)


@settings(max_examples=40)
@given(shape_and_axes(), st.sampled_from(float_reductions))
def test_derivatives(case, name):
    shape, axes = case
    check_derivatives(lambda x: getattr(reduction, name)(x, axes), distinct(shape))


@pytest.mark.parametrize("name", ["reduce_sum", "reduce_prod"])
def test_complex_derivatives(name):
    x = distinct((2, 3)) + 1j * distinct((3, 2)).T
    check_derivatives(lambda x: getattr(reduction, name)(x, (1,)), x)


@settings(max_examples=40)
@given(shape_and_axes(), st.data(), st.sampled_from([*float_reductions, "reduce_xor", "argmax"]))
def test_vmap(case, data, name):
    shape, axes = case
    if name == "argmax":
        shape = shape or (3,)
        fun = lambda x: reduction.argmax(x, len(shape) - 1, np.int32)
    else:
        fun = lambda x: getattr(reduction, name)(x, axes)
    batch_axis = data.draw(st.integers(0, len(shape)))
    x = np.random.default_rng(0).integers(0, 4, size=(*shape[:batch_axis], 4, *shape[batch_axis:]))
    check_vmap(fun, [x.astype(np.int32 if name == "reduce_xor" else f32)], [batch_axis])


@pytest.mark.parametrize("x, expected", [
    ([2, 3, 4], [12, 8, 6]), ([0, 3, 4], [12, 0, 0]), ([0, 3, 0], [0, 0, 0]), ([5], [1]), ([], []),
    ([1, 2, 3, 4, 5], [120, 60, 40, 30, 24]),
])
def test_product_is_differentiated_without_division(x, expected):
    np.testing.assert_allclose(grad(lambda x: reduction.reduce_prod(x, (0,)))(np.array(x, f32)), expected)


def test_product_with_zeros_to_second_order():
    check_derivatives(lambda x: reduction.reduce_prod(x, (0,)), np.array([0.0, 1.5, 0.0, 2.0, 3.0]), order=3)


@pytest.mark.parametrize("name, x, expected", [
    ("reduce_max", [1, 3, 3, 2, 3], [0, 1 / 3, 1 / 3, 0, 1 / 3]), ("reduce_min", [1, 1, 2], [0.5, 0.5, 0]),
    ("reduce_max", [1, np.nan], [np.nan, np.nan]),
])
def test_ties_share_the_gradient_equally(name, x, expected):
    # The documented convention of jax.lax and jax.numpy.max.
    np.testing.assert_allclose(grad(lambda x: getattr(reduction, name)(x, (0,)))(np.array(x, f32)), expected, rtol=1e-6)


def test_positions_have_no_derivative():
    x = np.array([1.0, 3.0, 2.0], f32)
    _, tangent = jvp(lambda x: reduction.argmax(x, 0, np.int32), (x,), (x,))
    assert np.shape(tangent) == () and np.asarray(tangent).dtype.names == ("float0",)
    np.testing.assert_array_equal(vjp(lambda x: elementwise.convert_element_type(reduction.argmin(x, 0, np.int32), f32), x)[1](f32(1))[0],
                                  np.zeros(3))


# The general reduction: log(sum(exp)) as a monoid.


def log_add_exp(a, b):
    top = elementwise.max(a, b)
    return elementwise.add(top, elementwise.log1p(elementwise.exp(elementwise.neg(elementwise.abs(elementwise.sub(a, b))))))


def logsumexp(x, dimensions=(1,)):
    return reduction.reduce(x, np.asarray(-1e30, np.asarray(x).dtype if isinstance(x, np.ndarray) else x.dtype)[()], log_add_exp,
                            dimensions)


@pytest.mark.parametrize("shape, dimensions", [((2, 3), (1,)), ((2, 3, 2), (2, 0)), ((3,), (0,))])
def test_general_reduce_derivatives(shape, dimensions):
    check_derivatives(lambda x: logsumexp(x, dimensions), distinct(shape))


def test_gradient_of_logsumexp_is_softmax():
    x = distinct((2, 3)).astype(f32)
    expected = np.exp(x) / np.exp(x).sum(1, keepdims=True)
    np.testing.assert_allclose(vjp(logsumexp, x)[1](np.ones(2, f32))[0], expected, rtol=1e-5)


def test_variadic_reduce_derivatives():
    multiply_add = lambda a, b: (elementwise.mul(a[0], b[0]), elementwise.add(a[1], b[1]))

    def fun(x, y):
        one, zero = np.ones((), x.dtype)[()], np.zeros((), x.dtype)[()]
        product, total = reduction.reduce((x, y), (one, zero), multiply_add, (0,))
        return elementwise.mul(product, total)

    check_derivatives(fun, distinct((3, 2)), distinct((2, 3)).T.copy())


@pytest.mark.parametrize("batch_axis", [0, 1, 2])
def test_general_reduce_vmap(batch_axis):
    check_vmap(logsumexp, [np.moveaxis(distinct((4, 2, 3)).astype(f32), 0, batch_axis)], [batch_axis])


def test_general_reduce_vmap_of_one_of_several_operands_and_of_initial_values():
    last = lambda a, b: (elementwise.add(a[0], b[0]), elementwise.max(a[1], b[1]))
    fun = lambda x, y, i: list(reduction.reduce((x, y), (i, f32(-9)), last, (0,)))
    x, y = distinct((4, 3, 2)).astype(f32), distinct((3, 2)).astype(f32)
    check_vmap(fun, [x, y, f32(0)], [0, None, None])
    check_vmap(fun, [x, y, np.arange(4, dtype=f32)], [0, None, 0])
    check_vmap(fun, [x[0], y, np.arange(4, dtype=f32)], [None, None, 0])
