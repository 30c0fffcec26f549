"""The functions that vjp, linearize and linear_transpose return go into jitted functions and out of them."""

import numpy as np
import pytest

import laminax
import laminax.numpy as jnp

X = np.linspace(0.5, 2.0, 4, dtype=np.float32)


@pytest.mark.parametrize("make, expected", [
    (lambda x: laminax.vjp(jnp.sin, x)[1], (np.cos(X),)),
    (lambda x: laminax.linearize(jnp.sin, x)[1], np.cos(X)),
    (lambda x: laminax.linear_transpose(lambda y: y * x, x), (X,)),
], ids=["vjp", "linearize", "linear_transpose"])
def test_a_linear_function_is_made_in_one_program_and_called_in_another(make, expected):
    traces = []

    @laminax.jit
    def call(function, y):
        traces.append(1)
        return function(y)

    made = laminax.jit(make)
    for _ in range(2):
        np.testing.assert_allclose(call(made(X), 3.0 * jnp.ones(4)), 3.0 * np.asarray(expected), rtol=1e-6)
    assert len(traces) == 1
    np.testing.assert_allclose(laminax.jit(made(X))(jnp.ones(4)), expected, rtol=1e-6)
