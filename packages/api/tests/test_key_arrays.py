"""Arrays of random keys are arrays: what moves, reads and writes elements works on them, what computes with them does not.

The oracle is NumPy on the numbers of the keys: the same operation on an array of 0, 1, 2, ... says which key stands where.
"""

import numpy as np
import pytest

import laminax
import laminax.numpy as jnp
from laminax import lax, random

NUMBERS = np.arange(6).reshape(2, 3)
KEYS = random.split(random.key(0), 6).reshape(2, 3)
WORDS = np.asarray(random.key_data(KEYS)).reshape(6, 2)
ONE = random.key(7)


def agree(keys, numbers):
    assert keys.dtype == KEYS.dtype and keys.shape == numbers.shape
    np.testing.assert_array_equal(random.key_data(keys), WORDS[numbers])


MOVES = {
    "index": (lambda k: k[0], lambda n: n[0]), "slices": (lambda k: k[-1, ::2], lambda n: n[-1, ::2]),
    "array index": (lambda k: k[np.array([0, 1, 1])], lambda n: n[np.array([0, 1, 1])]),
    "new axis": (lambda k: k[None, ..., 0], lambda n: n[None, ..., 0]),
    "reshape": (lambda k: k.reshape(3, -1), lambda n: n.reshape(3, -1)),
    "reshape_by_columns": (lambda k: k.reshape(3, -1, order="F"), lambda n: n.reshape(3, -1, order="F")),
    "ravel": (jnp.ravel, np.ravel),
    "transpose": (lambda k: k.T, lambda n: n.T),
    "moveaxis": (lambda k: jnp.moveaxis(k, 0, 1), lambda n: np.moveaxis(n, 0, 1)),
    "expand_dims": (lambda k: jnp.expand_dims(k, 1), lambda n: np.expand_dims(n, 1)),
    "squeeze": (lambda k: jnp.squeeze(k[:1]), lambda n: np.squeeze(n[:1])),
    "concatenate": (lambda k: jnp.concatenate([k, k]), lambda n: np.concatenate([n, n])),
    "stack": (lambda k: jnp.stack([k, k], 1), lambda n: np.stack([n, n], 1)),
    "lax.stack": (lambda k: lax.stack([k, k], 2), lambda n: np.stack([n, n], 2)),
    "unstack": (lambda k: lax.unstack(k, 1)[2], lambda n: n[:, 2]),
    "split": (lambda k: jnp.split(k, 3, axis=1)[1], lambda n: np.split(n, 3, axis=1)[1]),
    "where": (lambda k: jnp.where(np.array([True, False, True]), k, k[0, 0]), lambda n: np.where([True, False, True], n, n[0, 0])),
    "select": (lambda k: jnp.select([NUMBERS > 3, NUMBERS > 1], [k, k[0]], k[1, 1]),
               lambda n: np.select([n > 3, n > 1], [n, n[0] + 0 * n], n[1, 1])),
    "broadcast_to": (lambda k: jnp.broadcast_to(k, (2, 2, 3)), lambda n: np.broadcast_to(n, (2, 2, 3))),
    "tile": (lambda k: jnp.tile(k, 2), lambda n: np.tile(n, 2)),
    "repeat": (lambda k: jnp.repeat(k, 2, axis=1), lambda n: np.repeat(n, 2, axis=1)),
    "roll": (lambda k: jnp.roll(k, 1), lambda n: np.roll(n, 1)),
    "flip": (jnp.flip, np.flip), "take": (lambda k: jnp.take(k, np.array([2, 0]), axis=1), lambda n: np.take(n, [2, 0], axis=1)),
    "take_along_axis": (lambda k: jnp.take_along_axis(k, np.array([[2], [0]]), axis=1),
                        lambda n: np.take_along_axis(n, np.array([[2], [0]]), axis=1)),
    "array": (lambda k: jnp.array([k[0], k[1]]), lambda n: n), "diagonal": (jnp.diag, np.diag),
    "insert": (lambda k: jnp.insert(k, 1, k[0, 2]), lambda n: np.insert(n, 1, n[0, 2])),
    "delete": (lambda k: jnp.delete(k, 1, axis=1), lambda n: np.delete(n, 1, axis=1)),
    "full_like": (lambda k: jnp.full_like(k, k[1, 0]), lambda n: np.full_like(n, n[1, 0])),
    "dynamic_slice": (lambda k: lax.dynamic_slice(k, (0, 1), (2, 2)), lambda n: n[:, 1:]),
    "dynamic_update_slice": (lambda k: lax.dynamic_update_slice(k, k[:1], (1, 0)), lambda n: n[[0, 0]]),
    "sorted with others": (lambda k: lax.sort((-NUMBERS, k), num_keys=1)[1], lambda n: n[:, ::-1]),
    "at get": (lambda k: k.at[1, 1:].get(), lambda n: n[1, 1:]), "at apply": (lambda k: k.at[0].apply(lambda x: x), lambda n: n),
    "cond": (lambda k: lax.cond(True, lambda k: k[::-1], lambda k: k, k), lambda n: n[::-1]),
    "vmap": (laminax.vmap(lambda row: row[::-1], in_axes=1), lambda n: n[::-1].T),
}


@pytest.mark.parametrize("name", MOVES)
def test_what_moves_elements(name):
    moved, expected = MOVES[name]
    agree(moved(KEYS), expected(NUMBERS))
    agree(laminax.jit(moved)(KEYS), expected(NUMBERS))


def test_writing():
    def expected(index, numbers):
        copy = NUMBERS.copy()
        copy[index] = numbers
        return copy

    for index, source in (((0,), (1,)), ((0, 1), (1, 2)), ((slice(None), 0), (slice(None), 2)), ((np.array([1, 0]), 1), (0, slice(0, 2)))):
        write = lambda k, index=index, source=source: k.at[index].set(k[source])
        agree(write(KEYS), expected(index, NUMBERS[source]))
        agree(laminax.jit(write)(KEYS), expected(index, NUMBERS[source]))
    np.testing.assert_array_equal(random.key_data(KEYS.at[1].set(ONE)[1]), np.stack([random.key_data(ONE)] * 3))
    agree(KEYS.at[5].set(ONE), NUMBERS)  # out of bounds: dropped
    assert repr(KEYS.at[0]).startswith("IndexUpdateRef(Array((2, 3), dtype=key<fry>)")


def test_words_for_what_is_not_there():
    for absent in (KEYS.at[5].get(mode="fill"), jnp.take(KEYS, 9), laminax.jit(lambda k: k.at[5].get(mode="fill"))(KEYS)):
        assert np.all(np.asarray(random.key_data(absent)) == 2**32 - 1)
    agree(KEYS.at[5].get(mode="clip"), NUMBERS[1])
    for like, word in ((jnp.zeros_like, 0), (jnp.ones_like, 1), (jnp.empty_like, 0)):
        assert np.all(random.key_data(like(KEYS)) == word) and like(KEYS).shape == KEYS.shape
    lower = random.key_data(jnp.tril(KEYS))
    np.testing.assert_array_equal(lower, WORDS[NUMBERS] * np.tri(2, 3, dtype=np.uint32)[..., None])
    assert laminax.eval_shape(jnp.zeros_like, KEYS).dtype == KEYS.dtype


def test_comparisons():
    np.testing.assert_array_equal(KEYS == KEYS[0], [[True] * 3, [False] * 3])
    np.testing.assert_array_equal(KEYS != KEYS[:, :1], NUMBERS % 3 != 0)
    assert jnp.array_equal(KEYS, KEYS) and ONE != "x"
    np.testing.assert_array_equal(jnp.isclose(KEYS, KEYS[0]), [[True] * 3, [False] * 3])
    assert jnp.allclose(KEYS, KEYS) and not laminax.jit(jnp.allclose)(KEYS, ONE)
    with pytest.raises(TypeError, match="isclose does not accept dtypes key<fry>, float32"):
        jnp.isclose(KEYS, 1.0)


def test_where_they_are():
    words = random.key_data(KEYS)
    assert KEYS.devices() == words.devices() and KEYS.sharding == words.sharding and KEYS.device == words.device
    assert KEYS.is_fully_addressable and KEYS.is_fully_replicated and not KEYS.committed
    assert laminax.device_put(KEYS, laminax.devices()[0]).committed
    assert KEYS.on_device_size_in_bytes() == words.on_device_size_in_bytes() and KEYS.copy_to_host_async() is None
    agree(KEYS.addressable_data(0), NUMBERS)
    assert [shard.index for shard in KEYS.global_shards] == [(slice(None), slice(None))]


def test_deleting():
    keys = random.split(random.key(1), 3)
    words = random.key_data(keys)
    assert not keys.is_deleted()
    keys.delete()
    assert keys.is_deleted() and words.is_deleted()
    with pytest.raises(RuntimeError, match="deleted"):
        random.bits(keys[0])


def test_put_together_from_parts():
    mesh = laminax.make_mesh((1,), ("x",))
    sharding = laminax.NamedSharding(mesh, laminax.P("x"))
    agree(laminax.make_array_from_single_device_arrays((2, 3), sharding, [KEYS]), NUMBERS)
    made = laminax.make_array_from_callback((2, 3), sharding, lambda index: KEYS[index])
    agree(made, NUMBERS)
    assert made.sharding == sharding and made.device == laminax.devices()[0]
    with pytest.raises(ValueError, match="one dtype, got key<fry>, key<rbg>"):
        laminax.make_array_from_single_device_arrays((1,), sharding, [KEYS[0, :1], random.split(random.key(0, impl="rbg"), 1)])
    with pytest.raises(ValueError, match="returned key<fry>, but the array's dtype is key<rbg>"):
        laminax.make_array_from_callback((2, 3), sharding, lambda index: KEYS, dtype=random.key_dtype("rbg"))


@pytest.mark.parametrize("call, error, message", [
    (lambda k: k.at[0].add(k[0]), TypeError, "add does not accept dtype key<fry>"), (lambda k: k.at[0].set(3), TypeError, "same dtype"),
    (lambda k: k.at[0].get(mode="fill", fill_value=3), TypeError, "fill_value must be None for random keys"),
    (lambda k: jnp.add(k, k), TypeError, "add does not accept dtype key<fry>"), (jnp.sort, TypeError, "have no order"),
    (lambda k: k + 1, TypeError, "add does not accept dtypes key<fry>, int32"),
    (lambda k: 1.5 - k, TypeError, "sub.* does not accept dtypes float32, key<fry>"),
    (lambda k: k == 1, TypeError, "does not accept dtypes key<fry>, int32"),
    (lambda k: -k, TypeError, "neg does not accept dtype key<fry>"),
    (lambda k: lax.convert_element_type(k, np.uint32), ValueError, "random keys cannot be converted.*key_data"),
    (lambda k: lax.bitcast_convert_type(k, np.uint32), TypeError, "random.key_data"),
    (lambda k: lax.pad(k, ONE, [(1, 0, 0), (0, 0, 0)]), TypeError, "random keys cannot be padded"),
    (lambda k: jnp.full_like(k, 0.5), TypeError, "can be filled with a key"), (lambda k: jnp.full_like(k, -1), TypeError, "from 0 to"),
])
def test_what_they_do_not_do(call, error, message):
    with pytest.raises(error, match=message):
        call(KEYS)
    with pytest.raises(error):
        laminax.jit(call)(KEYS)


def test_shards_of_keys():
    keys = random.split(random.key(0), 3)
    (shard,) = keys.addressable_shards
    assert (shard.data == keys).all() and shard.device in keys.devices() and keys.is_fully_addressable and keys.is_fully_replicated
