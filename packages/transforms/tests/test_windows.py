"""Windowed reductions: derivatives against differences and the adjoint identity, vmap against a loop."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numeric_checks import check_derivatives, check_vmap

from laminax_ir.ops import elementwise, reduction, windows
from laminax_ir.ops.elementwise import ge_p, le_p
from laminax_transforms import grad, jvp

f32 = np.float32
inf = np.inf
reduce_window = windows.reduce_window


def distinct(shape):
    return np.random.default_rng(0).permutation(np.linspace(-2, 2.1, int(np.prod(shape)))).reshape(shape)


@st.composite
def windowed(draw, max_dilation=2, max_padding=2):
    rank = draw(st.integers(1, 2))
    numbers = lambda low, high: tuple(draw(st.lists(st.integers(low, high), min_size=rank, max_size=rank)))
    window = numbers(1, 3)
    return (numbers(3, 5), window, numbers(1, 2), tuple(zip(numbers(-1 if max_padding else 0, max_padding), numbers(0, 0))),
            numbers(1, max_dilation), numbers(1, max_dilation))


@settings(max_examples=25)
@given(windowed())
def test_sum_derivatives(case):
    shape, *window = case
    check_derivatives(lambda x: reduce_window(x, 0.0, elementwise.add, *window), distinct(shape))


@settings(max_examples=20)
@given(windowed(max_padding=0), st.booleans())
def test_extremum_derivatives(case, greatest):
    shape, *window = case
    fun, init = (elementwise.max, -inf) if greatest else (elementwise.min, inf)
    assume(np.isfinite(reduce_window(distinct(shape), init, fun, *window)).all())  # no window lies in the gaps of a dilated operand
    check_derivatives(lambda x: reduce_window(x, init, fun, *window), distinct(shape))


def test_dilated_maximum_has_derivatives():
    x = distinct((6,)).astype(f32)
    pooled = lambda x: reduce_window(x, -inf, elementwise.max, (2,), window_dilation=(2,))
    _, tangent = jvp(pooled, (x,), (np.arange(6, dtype=f32),))
    np.testing.assert_array_equal(tangent, [i + 2 * (x[i + 2] > x[i]) for i in range(4)])
    expected = np.zeros(6)
    np.add.at(expected, [i + 2 * (x[i + 2] > x[i]) for i in range(4)], np.arange(4) + 1.0)
    np.testing.assert_array_equal(grad(lambda x: reduction.reduce_sum(elementwise.mul(pooled(x), np.arange(1, 5, dtype=f32)), (0,)))(x),
                                  expected)


@pytest.mark.parametrize("select, init, fun, expected", [
    (ge_p, -inf, elementwise.max, [0, 2, 1, 0]), (le_p, inf, elementwise.min, [1, 1, 0, 1]),
])
def test_first_of_equal_elements_has_the_gradient(select, init, fun, expected):
    # The convention of JAX's max pooling, unlike the one of reduce_max.
    x = np.array([1, 3, 3, 2], f32)
    np.testing.assert_array_equal(grad(lambda x: reduction.reduce_sum(reduce_window(x, init, fun, (2,)), (0,)))(x), expected)


@pytest.mark.parametrize("shape, window, params", [
    ((5,), (2,), {}), ((4, 3), (2, 2), {"window_strides": (2, 1), "padding": "SAME"}),
    ((4,), (2,), {"base_dilation": (2,), "window_dilation": (3,), "padding": [(2, 1)]}),
])
def test_general_derivatives(shape, window, params):
    product = lambda a, b: elementwise.mul(a, b)
    check_derivatives(lambda x: reduce_window(x, np.ones((), x.dtype)[()], product, window, **params), distinct(shape))


def test_variadic_derivatives():
    both = lambda a, b: (elementwise.mul(a[0], b[0]), elementwise.add(a[1], b[1]))

    def fun(x, y):
        product, total = reduce_window((x, y), (np.ones((), x.dtype)[()], np.zeros((), x.dtype)[()]), both, (2,), (1,))
        return elementwise.mul(product, total)

    check_derivatives(fun, distinct((5,)), distinct((5,))[::-1].copy())


@pytest.mark.parametrize("select", [ge_p, le_p])
def test_selections_are_linear_in_what_they_move(select):
    x = distinct((4, 5))
    window = ((2, 2), (2, 1), [(0, 0), (1, 0)])
    check_derivatives(lambda t: windows.select_and_gather_add(t, x, select, *window), distinct((4, 5)))
    check_derivatives(lambda s: windows.select_and_scatter_add(s, x, select, *window), distinct((2, 5)))


@pytest.mark.parametrize("batch_axis", [0, 1, 2])
@pytest.mark.parametrize("fun, init", [(elementwise.add, 0.0), (elementwise.max, -inf), (elementwise.min, inf),
                                       (lambda a, b: elementwise.mul(a, b), f32(1))])
def test_vmap(batch_axis, fun, init):
    x = distinct((3, 4, 5)).astype(f32)
    check_vmap(lambda x: reduce_window(x, init, fun, (2, 3), (1, 2), [(1, 0), (0, 2)]), [np.moveaxis(x, 0, batch_axis)], [batch_axis])


def test_vmap_of_selections_and_of_one_of_several_operands():
    x, t, s = distinct((3, 5)).astype(f32), distinct((3, 5)).astype(f32)[::-1].copy(), distinct((3, 4)).astype(f32)
    gather = lambda t, x: windows.select_and_gather_add(t, x, ge_p, (2,), (1,), [(0, 0)])
    scatter = lambda s, x: windows.select_and_scatter_add(s, x, ge_p, (2,), (1,), [(0, 0)])
    for axes in [(0, 0), (0, None), (None, 0)]:
        pick = lambda *arrays: [a if axis == 0 else a[0] for a, axis in zip(arrays, axes)]
        check_vmap(gather, pick(t, x), axes)
        check_vmap(scatter, pick(s, x), axes)
    both = lambda a, b: (elementwise.mul(a[0], b[0]), elementwise.add(a[1], b[1]))
    fun = lambda x, y: list(reduce_window((x, y), (f32(1), f32(0)), both, (2,)))
    check_vmap(fun, [x, t[0]], [0, None])


def test_vmap_of_gradient():
    x = distinct((3, 6)).astype(f32)
    pooled = lambda x: reduction.reduce_sum(elementwise.square(reduce_window(x, -inf, elementwise.max, (2,), (2,))), (0,))
    check_vmap(grad(pooled), [x], [0])
