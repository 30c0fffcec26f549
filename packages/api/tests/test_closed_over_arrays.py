"""Arrays that compiled functions close over: what was compiled with them stays when they are deleted or donated."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import laminax as jax
import laminax.numpy as jnp
from laminax._src.compiling.executables import _copies

VALUES = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.mark.parametrize("is_donated", [False, True])
@pytest.mark.parametrize("calls", [1, 3])
def test_a_compiled_function_outlives_the_arrays_that_it_closes_over(is_donated, calls):
    """It failed once, though it had been compiled with them."""
    w = jax.device_put(VALUES)
    f = jax.jit(lambda x: x @ w)
    x = np.ones((4, 2), np.float32)
    for _ in range(calls):
        np.testing.assert_allclose(f(x), x @ VALUES)
    if is_donated:
        jax.jit(lambda w: w + 1, donate_argnums=0)(w)
    else:
        w.delete()
    assert w.is_deleted()
    for _ in range(2):
        np.testing.assert_allclose(f(x), x @ VALUES)
    np.testing.assert_allclose(f(jnp.asarray(x)), x @ VALUES)


def test_a_nested_function_and_its_derivative_outlive_them():
    w = jax.device_put(VALUES)
    inner = jax.jit(lambda x: jnp.sum(x * w))
    g = jax.jit(jax.grad(lambda x: inner(x) ** 2))
    np.testing.assert_allclose(g(VALUES), 2 * np.sum(VALUES**2) * VALUES)
    w.delete()
    np.testing.assert_allclose(g(VALUES), 2 * np.sum(VALUES**2) * VALUES)


def test_keys_that_are_closed_over():
    key = jax.random.key(3)
    f = jax.jit(lambda x: x + jax.random.normal(key, (3,)))
    expected = f(np.zeros(3, np.float32))
    jax.random.key_data(key).delete()
    np.testing.assert_array_equal(f(np.zeros(3, np.float32)), expected)


def test_a_function_that_is_compiled_after_the_deletion_says_so():
    w = jax.device_put(VALUES)
    w.delete()
    with pytest.raises(RuntimeError, match="deleted"):
        jax.jit(lambda x: x * w)(VALUES)


def test_programs_share_the_copy_which_goes_with_them():
    def times(w):
        return jax.jit(lambda x: x * w[0, 1])

    jax.clear_caches()
    gc.collect()  # or copies of earlier tests might go in between
    w = jax.device_put(VALUES)
    f = times(w)
    before = len(_copies)
    for n in range(2, 5):
        f(np.ones(n, np.float32))
    assert len(_copies) == before + 1
    copied = _copies[id(w)][1]
    assert copied() is not None
    del f
    jax.clear_caches()
    gc.collect()
    assert copied() is None
    del w
    gc.collect()
    assert len(_copies) == before
