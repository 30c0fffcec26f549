"""Generators that advance by themselves: which keys they draw, inside and outside of transformed functions."""

import numpy as np
import pytest

import laminax
import laminax.numpy as jnp
from laminax.experimental.random import StatefulPRNG, stateful_rng


def words(key):
    return np.asarray(laminax.random.key_data(key))


def folded(seed, n):
    return laminax.random.fold_in(laminax.random.key(seed), n)


def test_the_nth_key():
    rng = stateful_rng(7)
    np.testing.assert_array_equal(words(rng.key()), words(folded(7, 0)))
    inside = laminax.jit(lambda: (laminax.random.key_data(rng.key()), laminax.random.key_data(rng.key())))()
    np.testing.assert_array_equal(inside, [words(folded(7, 1)), words(folded(7, 2))])
    np.testing.assert_array_equal(words(rng.key(np.int64(3))), words(laminax.random.split(folded(7, 3), 3)))
    np.testing.assert_array_equal(laminax.jit(lambda rng: laminax.random.key_data(rng.key()))(rng), words(folded(7, 4)))
    assert rng.key((2, 0)).shape == (2, 0)
    assert str(rng).startswith("StatefulPRNG(_base_key=") and "_counter=Ref(6" in str(rng)


def test_draws_are_those_of_the_keys():
    rng, key = stateful_rng(3), lambda n: folded(3, n)
    random = laminax.random
    low = jnp.array([1.0, 2.0, 3.0])
    for n, (found, expected) in enumerate((
            (rng.uniform(low, 5), lambda k: random.uniform(k, (3,), float, low, 5)),
            (rng.random((2, 2)), lambda k: random.uniform(k, (2, 2))),
            (rng.normal(low, 2.0, (4, 3)), lambda k: low + 2 * random.normal(k, (4, 3))),
            (rng.integers(10, size=5), lambda k: random.randint(k, (5,), 0, 10)),
            (rng.integers(-3, jnp.array([1, 2])), lambda k: random.randint(k, (2,), -3, jnp.array([1, 2]))))):
        np.testing.assert_array_equal(found, expected(key(n)))


def test_children():
    keys = laminax.random.split(folded(5, 0), 3)
    drawn = laminax.vmap(lambda rng: (rng.uniform(), rng.uniform()))(stateful_rng(5).split(3))
    expected = [[laminax.random.uniform(laminax.random.fold_in(key, n)) for key in keys] for n in (0, 1)]
    np.testing.assert_array_equal(drawn, expected)
    children = stateful_rng(5).spawn(3)
    assert all(type(child) is StatefulPRNG for child in children)
    np.testing.assert_array_equal([child.uniform() for child in children], expected[0])


def test_seeds():
    assert not np.array_equal(words(stateful_rng().key()), words(stateful_rng().key()))
    assert stateful_rng(1, impl="rbg").key().dtype == laminax.random.key(1, impl="rbg").dtype
    with pytest.raises(TypeError, match="stateful_rng: in a traced function a seed must be given"):
        laminax.jit(lambda: stateful_rng().uniform())()
    with pytest.raises(ValueError, match="n_children must not be negative, got -1"):
        stateful_rng(0).spawn(-1)
