"""vmap of random bits against a loop over keys; bits have no derivatives."""

from __future__ import annotations

import numpy as np
import pytest

from laminax_ir.ops import elementwise
from laminax_ir.ops import random_bits as op
from laminax_transforms import grad, jvp, vmap

IMPLS = ("threefry2x32", "rbg", "unsafe_rbg", "philox2x32", "philox4x32", "threefry4x32")


def keys_of(impl: str, shape=(3,)):
    return op.random_split(op.random_seed(7, impl), shape)


def stacked(results):
    return np.stack([np.asarray(r.base if hasattr(r, "impl") else r) for r in results])


def words(x):
    return x.base if hasattr(x, "impl") else x


@pytest.mark.parametrize("width", [8, 16, 32])
def test_vmap_of_bits_is_the_loop(width):
    keys = keys_of("threefry2x32")
    got = vmap(lambda k: op.random_bits(k, width, (2, 3)))(keys)
    np.testing.assert_array_equal(got, stacked([op.random_bits(k, width, (2, 3)) for k in keys]))


@pytest.mark.parametrize("impl", IMPLS[:2])
def test_vmap_of_split_and_fold_in_is_the_loop(impl):
    keys, data = keys_of(impl), np.arange(3, dtype=np.uint32)
    for got, expected in [
        (vmap(lambda k: op.random_split(k, (2,)))(keys), [op.random_split(k, (2,)) for k in keys]),
        (vmap(op.random_fold_in)(keys, data), [op.random_fold_in(k, d) for k, d in zip(keys, data)]),
        (vmap(op.random_fold_in, in_axes=(None, 0))(keys[0], data), [op.random_fold_in(keys[0], d) for d in data]),
        (vmap(op.random_fold_in, in_axes=(0, None))(keys, data[1]), [op.random_fold_in(k, data[1]) for k in keys]),
        (vmap(op.random_unwrap)(keys), [op.random_unwrap(k) for k in keys]),
        (vmap(op.random_clone)(keys), list(keys)),
    ]:
        np.testing.assert_array_equal(words(got), stacked(expected))


@pytest.mark.parametrize("impl", IMPLS)
def test_vmap_of_seed_and_wrap_is_the_loop(impl):
    seeds = np.arange(4, dtype=np.int32)
    keys = vmap(lambda s: op.random_seed(s, impl))(seeds)
    np.testing.assert_array_equal(keys.base, stacked([op.random_seed(s, impl) for s in seeds]))
    for axis in (0, 1):
        wrapped = vmap(lambda w: op.random_wrap(w, impl=impl), in_axes=axis)(np.moveaxis(keys.base, 0, axis))
        np.testing.assert_array_equal(wrapped.base, keys.base)


def test_nested_vmap_and_other_axes():
    keys = keys_of("threefry2x32", (2, 3))
    bits = vmap(vmap(lambda k: op.random_bits(k, 32, (4,))), in_axes=1, out_axes=1)(keys)
    np.testing.assert_array_equal(bits, op.random_bits(keys, 32, (4,)))


def test_vmap_of_threefry_is_the_loop():
    k, x = np.arange(3, dtype=np.uint32), np.arange(12, dtype=np.uint32).reshape(4, 3)
    got = vmap(lambda k, x: op.threefry2x32(k, np.uint32(1), x, x), in_axes=(0, 1))(k, x)
    expected = [op.threefry2x32(k[i], np.uint32(1), x[:, i], x[:, i]) for i in range(3)]
    for j in range(2):
        np.testing.assert_array_equal(got[j], np.stack([e[j] for e in expected]))


def test_vmap_of_the_generator_uses_the_first_state():
    states = np.arange(8, dtype=np.uint32).reshape(2, 4)
    new_states, bits = vmap(lambda s: op.rng_bit_generator(s, (3,)))(states)
    expected_state, expected = op.rng_bit_generator(states[0], (2, 3))
    np.testing.assert_array_equal(bits, expected)
    np.testing.assert_array_equal(new_states, np.stack([expected_state, states[1]]))


def test_bits_have_no_derivative():
    key = op.random_seed(0, "threefry2x32")

    def noisy(x):
        bits = op.random_bits(key, 32, ())
        return elementwise.mul(x, elementwise.convert_element_type(bits, np.float32))

    scale = np.float32(op.random_bits(key, 32, ()))
    assert grad(noisy)(np.float32(2)) == scale
    primal, tangent = jvp(noisy, (np.float32(2),), (np.float32(1),))
    assert tangent == scale
