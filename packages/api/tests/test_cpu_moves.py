"""Arrays that move along an axis, and windows written in loops, on one CPU device: NumPy's numbers, and how they are written."""

import numpy as np
import pytest

import laminax
import laminax.numpy as jnp
from laminax import lax

RNG = np.random.default_rng(0)
STEPS = 5


def steps_of(step, x, steps=STEPS):
    return laminax.jit(lambda x: lax.fori_loop(0, steps, lambda _, x: step(x), x))(x)


def text_of(step, x):
    return laminax.jit(lambda x: lax.fori_loop(0, STEPS, lambda _, x: step(x), x)).lower(x).as_text()


def drawn(shape, dtype=np.float32):
    return RNG.integers(-1000, 1000, shape).astype(dtype) if np.dtype(dtype).kind in "iu" else RNG.normal(size=shape).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.int8])
@pytest.mark.parametrize("shape, axis", [
    ((16, 16), 1), ((3, 100), 1), ((4, 8, 16), 2), ((16, 16), 0), ((64,), 0), ((1000,), 0), ((1, 64), 1)])
@pytest.mark.parametrize("shift", [1, -1, 3, -5])
def test_a_roll_in_a_loop(shape, axis, shift, dtype):
    x = drawn(shape, dtype)
    np.testing.assert_array_equal(steps_of(lambda x: jnp.roll(x, shift, axis), x), np.roll(x, STEPS * shift, axis))


def test_a_roll_of_a_large_matrix():
    x = drawn((300, 500))
    np.testing.assert_array_equal(laminax.jit(lambda x: jnp.roll(x, 2, 1) + jnp.roll(x, -3, 1))(x), np.roll(x, 2, 1) + np.roll(x, -3, 1))


@pytest.mark.parametrize("join, expected", [
    (lambda x: jnp.concatenate([x[:, :1], x[:, :-1]], 1), lambda x: np.concatenate([x[:, :1], x[:, :-1]], 1)),  # the edge stays
    (lambda x: jnp.concatenate([x[:, 2:], 0 * x[:, :2]], 1), lambda x: np.concatenate([x[:, 2:], 0 * x[:, :2]], 1)),
    (lambda x: jnp.concatenate([x[:, 1:-1], x[:, :2]], 1), lambda x: np.concatenate([x[:, 1:-1], x[:, :2]], 1)),  # neither begins nor ends
    (lambda x: jnp.tile(jnp.concatenate([x[8:, :20], x[8:, :20]], 1), (2, 1)),
     lambda x: np.tile(np.concatenate([x[8:, :20], x[8:, :20]], 1), (2, 1))),  # of fewer rows than the array
    (lambda x: jnp.concatenate([x[:, 1::2], x[:, ::2]], 1), lambda x: np.concatenate([x[:, 1::2], x[:, ::2]], 1)),
], ids=["edge", "zeros", "inner", "rows", "strides"])
def test_what_is_joined_from_windows(join, expected):
    x = drawn((16, 40))
    np.testing.assert_array_equal(steps_of(join, x, 1), expected(x))


def test_a_matrix_that_moves_is_a_window_of_a_wider_one():
    roll = lambda x: jnp.roll(x, 1, 1)
    assert "tensor<16x17xf32>" in text_of(roll, drawn((16, 16)))
    assert "tensor<16x17xf32>" not in text_of(lambda x: jnp.roll(x, 8, 1), drawn((16, 16)))  # half of it would be copied twice
    assert "tensor<4x5xf32>" not in text_of(lambda x: jnp.roll(x, 1, 1), drawn((4, 4)))
    assert "tensor<16x17xf32>" not in laminax.jit(roll).lower(drawn((16, 16))).as_text()


def is_made_before(text):
    return "optimization_barrier" in text or "call @window" in text  # jaxlib 0.12 and 0.10


def laplacian(x):
    return x[2:, 1:-1] + x[:-2, 1:-1] + x[1:-1, 2:] + x[1:-1, :-2] - 4 * x[1:-1, 1:-1]


def test_a_window_that_is_made_of_its_neighbours_is_made_before_it_is_written():
    def heat(u):
        return u.at[1:-1, 1:-1].set(u[1:-1, 1:-1] + np.float32(0.125) * laplacian(u))

    u = drawn((20, 24))
    expected = u.copy()
    for _ in range(STEPS):
        expected[1:-1, 1:-1] = expected[1:-1, 1:-1] + np.float32(0.125) * laplacian(expected)
    np.testing.assert_allclose(steps_of(heat, u), expected, rtol=1e-5, atol=1e-6)
    assert is_made_before(text_of(heat, u))


@pytest.mark.parametrize("step", [
    lambda u: u.at[1:-1, 1:-1].set(2 * u[1:-1, 1:-1]),  # in place
    lambda u: u.at[1:-1, 1:-1].set(0),  # nothing to make
    lambda u: u.at[3, 4].set(u[4, 3] + u[5, 5]),  # one number
])
def test_what_is_written_without_a_copy(step):
    assert not is_made_before(text_of(step, drawn((20, 24))))


@pytest.mark.parametrize("make, written", [
    (lambda x: x[:2], lambda x: x[:2]),
    (lambda x: 2 * x[:2] + 1, lambda x: 2 * x[:2] + 1),
    (lambda x: x[::-1][:2] * x[0], lambda x: x[::-1][:2] * x[0]),
    (lambda x: lax.dynamic_slice(x, (jnp.argmax(x) - 2,), (2,)), lambda x: x[np.argmax(x) - 2:np.argmax(x)]),
], ids=["slice", "computed", "reversed", "dynamic"])
@pytest.mark.parametrize("read, expected", [
    (lambda y: y.reshape(-1, 1), lambda y: y.reshape(-1, 1)),
    (jnp.cumsum, np.cumsum),
    (lambda y: jnp.convolve(y, jnp.ones(2)), lambda y: np.convolve(y, np.ones(2))),
    (lambda y: lax.reduce_window(y, -jnp.inf, lax.max, (2,), (1,), "SAME"), lambda y: np.maximum(y, np.append(y[1:], -np.inf))),
], ids=["reshape", "cumsum", "convolve", "reduce_window"])
def test_a_window_that_reads_where_it_is_written(make, written, read, expected):
    """XLA writes it in place and reads what it has written, where the result is reshaped."""
    x = np.array([1.0, 2.0, 4.0, 8.0, 16.0], np.float32)
    y = x.copy()
    y[1:3] = written(x)
    np.testing.assert_array_equal(laminax.jit(lambda x, i: read(lax.dynamic_update_slice(x, make(x), (i,))))(x, 1), expected(y))
    put = laminax.jit(lambda x, window, i: lax.dynamic_update_slice(x, window, (i,)))
    np.testing.assert_array_equal(laminax.jit(lambda x, i: read(put(x, make(x), i)))(x, 1), expected(y))  # made outside of the program


def test_the_derivative_of_a_stencil():
    u, v = drawn((20, 20)), drawn((20, 20))

    def run(u):
        moved = lax.fori_loop(0, STEPS, lambda _, u: u + 0.1 * (jnp.roll(u, 1, 1) + jnp.roll(u, -2, 1) - 2 * u), u)
        return lax.fori_loop(0, STEPS, lambda _, u: u.at[1:-1, 1:-1].add(0.1 * laplacian(u)), moved)

    transposed = laminax.jit(laminax.vjp(run, u)[1])(v)[0]
    np.testing.assert_allclose(np.vdot(transposed, u), np.vdot(v, laminax.jit(run)(u)), rtol=1e-4)  # run is linear
