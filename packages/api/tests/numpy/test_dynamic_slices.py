"""Slices of known size at a position that may be traced, against slices of NumPy."""

import numpy as np
import pytest

import laminax
import laminax.numpy as jnp
from laminax import ds

X = np.arange(60, dtype=np.float32).reshape(3, 4, 5)


@pytest.mark.parametrize("start, size, stride, expected", [
    (1, 2, None, slice(1, 3)),
    (3, 2, None, slice(2, 4)),  # moved back within the axis; nothing is written
    (-3, 2, None, slice(1, 3)),
    (0, 2, 3, slice(0, 4, 3)),
    (1, 2, 2, slice(1, 4, 2)),
    (0, 0, None, slice(0, 0)),
])
def test_starts_known_and_traced(start, size, stride, expected):
    x = jnp.asarray(X)
    for read in (lambda x, i: x[:, ds(i, size, stride)], lambda x, i: x[..., ds(i, size, stride), :]):
        np.testing.assert_array_equal(read(x, start), X[:, expected])
        np.testing.assert_array_equal(laminax.jit(read)(x, start), X[:, expected])
        np.testing.assert_array_equal(read(x, jnp.asarray(start)), X[:, expected])
    np.testing.assert_array_equal(laminax.jit(lambda x, i: x[None, 1, ds(i, size, stride), ::-2])(x, start), X[None, 1, expected, ::-2])
    written = X.copy()
    if start != 3:
        written[:, expected] += 5
    for start in (start, jnp.asarray(start)):
        write = lambda x, i: x.at[:, ds(i, size, stride)].add(5)  # noqa: E731
        np.testing.assert_array_equal(write(x, start), written)
        np.testing.assert_array_equal(laminax.jit(write)(x, start), written)


def test_beside_other_indices():
    x = jnp.asarray(X)
    places = np.array([[0], [2]])
    read = laminax.jit(lambda x, i: (x[ds(i, 2), :, ds(2, 3)], x[ds(i, 2), 1, places], x[ds(i, 2)][0]))
    for found, expected in zip(read(x, 1), (X[1:3, :, 2:5], X[1:3, 1, places], X[1])):
        np.testing.assert_array_equal(found, expected)
    rows = laminax.vmap(lambda i: x[0, 0, ds(i, 3)])(jnp.arange(3))
    np.testing.assert_array_equal(rows, np.lib.stride_tricks.sliding_window_view(X[0, 0], 3))
    gradient = laminax.grad(lambda x: (x[ds(1, 2)] ** 2).sum())(jnp.arange(4.0))
    np.testing.assert_array_equal(gradient, [0, 2, 4, 0])


def test_a_size_alone_none_and_arguments_of_functions():
    x = jnp.arange(6)
    np.testing.assert_array_equal(x[ds(2)], [0, 1])
    np.testing.assert_array_equal(x[ds(None)], np.arange(6))
    np.testing.assert_array_equal(laminax.jit(lambda x, s: x[s])(x, ds(3, 2)), [3, 4])
    np.testing.assert_array_equal(x[ds(None, 2)], np.arange(6)[:2])  # None is 0, as the start of a slice is
    np.testing.assert_array_equal(x[ds(None, 2, 3)], np.arange(6)[0:4:3])
    np.testing.assert_array_equal(x[ds(None, stride=2)], np.arange(6)[::2])
    assert str(ds(3, 2)) == "Slice(start=3, size=2, stride=1)"


@pytest.mark.parametrize("call, error, message", [
    (lambda: ds(1, -1), ValueError, "ds: size must not be negative, got size -1"),
    (lambda: ds(1, 2, 0), ValueError, "ds: stride must be positive, got stride 0"),
    (lambda: ds(None, stride=0), ValueError, "ds: stride must be positive, got stride 0"),
    (lambda: ds(1.5, 2), TypeError, "ds: start must be an integer .* got f32"),
    (lambda: ds(np.arange(2), 2), TypeError, r"ds: start must be an integer .* got i\d+\[2\]"),
    (lambda: laminax.jit(lambda n: ds(0, n))(2), TypeError, r"ds: size must be an int, .* got i32\[\]"),
    (lambda: jnp.arange(3)[ds(0, 4)], IndexError, "larger than axis 0, of size 3"),
])
def test_what_is_no_dynamic_slice(call, error, message):
    with pytest.raises(error, match=message):
        call()
