"""Partitions, and what is selected by conditions, against NumPy."""

import numpy as np
import pytest

import laminax
import laminax.numpy as jnp


@pytest.mark.parametrize("kth", [0, 3, -1, -4])
@pytest.mark.parametrize("axis", [0, -1])
def test_partitions(kth, axis):
    x = np.random.default_rng(0).integers(0, 9, (7, 7))
    place = kth % 7
    found = np.moveaxis(np.asarray(laminax.jit(lambda x: jnp.partition(x, kth, axis))(x)), axis, 0)
    ordered = np.moveaxis(np.sort(x, axis), axis, 0)
    np.testing.assert_array_equal(found[:place + 1], ordered[:place + 1])
    np.testing.assert_array_equal(found[place + 1:], ordered[place + 1:][::-1])  # as JAX documents its examples
    order = np.asarray(jnp.argpartition(x, kth, axis))
    after = np.moveaxis(order, axis, 0)[place + 1:]
    assert (np.diff(after, axis=0) > 0).all()
    np.testing.assert_array_equal(np.sort(np.moveaxis(np.take_along_axis(x, order, axis), axis, 0)[place + 1:], 0), ordered[place + 1:])
    np.testing.assert_array_equal(np.moveaxis(np.take_along_axis(x, order, axis), axis, 0)[:place + 1], ordered[:place + 1])


def test_a_traced_fill_value():
    x = jnp.arange(6).reshape(2, 3)
    found = laminax.jit(lambda fill: jnp.compress(jnp.array([True, False, True]), x, 1, size=3, fill_value=fill))(7)
    np.testing.assert_array_equal(found, [[0, 2, 7], [3, 5, 7]])
    found = laminax.jit(lambda fill: jnp.setdiff1d(jnp.array([4, 1, 3, 2]), jnp.array([3, 4]), size=4, fill_value=fill))(7)
    np.testing.assert_array_equal(found, [1, 2, 7, 7])


def test_conditions_of_pieces_may_be_scalars():
    x = np.arange(-4.0, 5)
    functions = [lambda x: x * 0, lambda x: x * 10, lambda x: x * 100]
    np.testing.assert_array_equal(jnp.piecewise(x, jnp.array([False, True, False]), functions), x * 10)
    np.testing.assert_array_equal(jnp.piecewise(x, x > 2, [lambda x: x * 0, 5]), np.piecewise(x, x > 2, [lambda x: x * 0, 5]))


@pytest.mark.parametrize("x", [1, 1.0, np.inf, -np.inf, True])
def test_infinities_of_python_numbers(x):
    for name in ("isinf", "isposinf", "isneginf"):
        found = getattr(jnp, name)(x)
        assert found == getattr(np, name)(x) and not found.weak_type


@pytest.mark.parametrize("dtype", [np.int32, np.float32, np.uint8, np.complex64])
@pytest.mark.parametrize("first, second",
                         [([1, 2], [3, 4]), ([1, 2, 2, 3], [2, 3, 9]), ([5, 5], [5]), ([], [1]), ([1], []), ([0, 1], [1, 0])])
def test_what_fills_sets_of_a_given_size(first, second, dtype):
    """An intersection by its least element, or 0 if it is empty, as a union is; a difference by 0."""
    a, b = np.array(first, dtype), np.array(second, dtype)
    expected = np.intersect1d(a, b)
    fill = expected[0] if len(expected) else 0
    np.testing.assert_array_equal(jnp.intersect1d(a, b, size=4), [*expected, *[fill] * (4 - len(expected))])
    np.testing.assert_array_equal(jnp.intersect1d(a, b, size=4, fill_value=7), [*expected, *[7] * (4 - len(expected))])
    expected = np.setdiff1d(a, b)
    np.testing.assert_array_equal(jnp.setdiff1d(a, b, size=4), [*expected, *[0] * (4 - len(expected))])


def test_exclusive_sums_of_weak_scalars_are_weak():
    assert jnp.setxor1d(True, 2.5).weak_type and jnp.intersect1d(2.5, 2.5).weak_type and not jnp.setxor1d(np.float32(1), 2.5).weak_type
