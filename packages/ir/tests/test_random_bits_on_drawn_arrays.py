"""Random bits on drawn keys, data and shapes of rank 0 to 5 with empty axes, for every generator and width.

Oracle: Threefry-2x32 and Philox-4x32 in Python's integers, one block at a time (Salmon et al., "Parallel random numbers: as easy
as 1, 2, 3", SC11), which the published vectors are held against first. `test_random_bits` holds JAX's own numbers.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from drawn_arrays import FLOATS, INTEGERS, cases, covers, drawn, every_operation_is_covered, few, more, same, seeds, shapes, sizes, wide
from hypothesis import given
from hypothesis import strategies as st

from laminax_ir.key_arrays.keys import PRNGKeyArray
from laminax_ir.ops import random_bits as ops
from laminax_ir.options import config
from laminax_ir.types import dtypes

IMPLS = ("threefry2x32", "rbg", "unsafe_rbg")
M32 = 2**32 - 1


def threefry_block(key, counter):
    """20 rounds on two words."""
    rotations = [[13, 15, 26, 6], [17, 29, 16, 24]]
    words = [*key, key[0] ^ key[1] ^ 0x1BD11BDA]
    a, b = ((c + k) & M32 for c, k in zip(counter, key))
    for group in range(5):
        for turn in rotations[group % 2]:
            a = (a + b) & M32
            b = ((b << turn | b >> (32 - turn)) & M32) ^ a
        a = (a + words[(group + 1) % 3]) & M32
        b = (b + words[(group + 2) % 3] + group + 1) & M32
    return a, b


def philox_block(key, counter):
    """10 rounds on four words."""
    a, b, c, d = counter
    k, m = key
    for _ in range(10):
        first, second = a * 0xD2511F53, c * 0xCD9E8D57
        a, b, c, d = (second >> 32) ^ b ^ k, second & M32, (first >> 32) ^ d ^ m, first & M32
        k, m = (k + 0x9E3779B9) & M32, (m + 0xBB67AE85) & M32
    return a, b, c, d


def test_the_oracles_give_the_published_vectors():
    assert threefry_block((0x13198A2E, 0x03707344), (0x243F6A88, 0x85A308D3)) == (0xC4923A9C, 0x483DF7A0)
    assert philox_block((0xA4093822, 0x299F31D0), (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344)) == \
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1)


def philox_stream(state, count, width):
    """XLA's generator: the key is the first 64 bits of the state, the counter the rest with the key above it."""
    low = state[2] | state[3] << 32
    high = state[0] | state[1] << 32
    words, step = [], 0
    while len(words) * 32 < count * max(width, 32):
        counter = low + step + (high << 64)
        words += philox_block(state[:2], [counter >> shift & M32 for shift in (0, 32, 64, 96)])
        step += 1
    if width == 64:
        return [words[2 * i] | words[2 * i + 1] << 32 for i in range(count)], step
    return [word & (2**width - 1) for word in words[:count]], step


def words_of(rng, *shape):
    return rng.integers(0, 2**32, shape, dtype=np.uint32)


@covers("threefry2x32")
@few
@given(sizes=sizes, seed=seeds, scalar_key=st.booleans())
def test_the_hash_on_arrays(sizes, seed, scalar_key):
    rng = np.random.default_rng(seed)
    for _, shape in cases([np.uint32], sizes):
        key = [words_of(rng, *(() if scalar_key else shape)) for _ in range(2)]
        counter = [words_of(rng, *shape) for _ in range(2)]
        pairs = [np.broadcast_to(x, shape).ravel().tolist() for x in (*key, *counter)]
        expected = [threefry_block((a, b), (c, d)) for a, b, c, d in zip(*pairs)]
        for i, got in enumerate(ops.threefry2x32(*key, *counter)):
            same(got, np.array([pair[i] for pair in expected], np.uint32).reshape(shape))


@covers("iota_2x32_shape")
@more
@given(shape=shapes)
def test_counters(shape):
    high, low = ops.iota_2x32_shape(shape)
    same(high, np.zeros(shape, np.uint32))
    same(low, np.arange(math.prod(shape), dtype=np.uint32).reshape(shape))


@covers("rng_bit_generator")
@more
@given(shape=shapes, seed=seeds, width=st.sampled_from([8, 16, 32, 64]), wide_state=st.booleans())
def test_the_generator(shape, seed, width, wide_state):
    state = words_of(np.random.default_rng(seed), 4)
    with config.enable_x64(True):
        given_state = state.view(np.uint64) if wide_state else state
        after, bits = ops.rng_bit_generator(given_state, shape, f"u{width // 8}", ops.RandomAlgorithm.RNG_PHILOX)
    expected, steps = philox_stream(state.tolist(), math.prod(shape), width)
    same(bits, np.array(expected, f"u{width // 8}").reshape(shape))
    low, high = state.view(np.uint64).tolist()
    same(after, np.array([low, (high + steps) % 2**64], np.uint64).view(given_state.dtype))


# Keys


@covers("random_seed", "random_unwrap", "random_wrap", "random_clone")
@few
@given(sizes=sizes, seed=seeds, impl=st.sampled_from(IMPLS), x64=st.booleans())
def test_keys_are_the_words_of_their_seeds(sizes, seed, impl, x64):
    rng = np.random.default_rng(seed)
    with config.enable_x64(x64):
        for dtype, shape in cases([d for d in INTEGERS if x64 or d.itemsize < 8], sizes):
            values = drawn(rng, dtype, shape)
            width = 64 if dtype.itemsize == 8 else 32
            words = [(int(v) % 2**width >> 32, int(v) % 2**32) for v in values.ravel()]
            repeat = 1 if impl == "threefry2x32" else 2
            expected = np.array([pair * repeat for pair in words], np.uint32).reshape(*shape, 2 * repeat)
            keys = ops.random_seed(values, impl)
            same(ops.random_unwrap(keys), expected)
            same(ops.random_unwrap(ops.random_clone(keys)), expected)
            again = ops.random_wrap(expected, impl=impl)
            assert again.aval is keys.aval
            same(again.base, expected)


def halves(impl):
    """The parts of a key that Threefry treats one by one."""
    return [slice(0, 2)] if impl == "threefry2x32" else [slice(0, 2), slice(2, 4)]


@covers("random_split", "random_fold_in", "random_bits")
@more
@given(keys_shape=shapes.filter(lambda s: math.prod(s) < 20), shape=shapes.filter(lambda s: math.prod(s) < 40), seed=seeds,
       width=st.sampled_from([8, 16, 32, 64]), impl=st.sampled_from(["threefry2x32", "rbg"]))
def test_what_follows_from_a_key(keys_shape, shape, seed, width, impl):
    """Counter i in the shape is hashed under the key; data is a counter too."""
    rng = np.random.default_rng(seed)
    words = words_of(rng, *keys_shape, 2 if impl == "threefry2x32" else 4)
    data = words_of(rng, *keys_shape)
    keys, count = PRNGKeyArray(impl, words), math.prod(shape)
    split, folded, bits = np.empty((*keys_shape, count, words.shape[-1]), np.uint32), np.empty_like(words), []
    for place in np.ndindex(*keys_shape):
        for half in halves(impl):
            key = tuple(words[place][half].tolist())
            folded[place][half] = threefry_block(key, (0, int(data[place])))
            split[place][:, half] = np.array([threefry_block(key, (0, i)) for i in range(count)], np.uint32).reshape(count, 2)
            for i in range(count if impl == "threefry2x32" else 0):
                high, low = threefry_block(key, (0, i))
                bits.append(high << 32 | low if width == 64 else (high ^ low) & (2**width - 1))
    with config.enable_x64(width == 64):
        same(ops.random_unwrap(ops.random_split(keys, shape)), split.reshape(*keys_shape, *shape, words.shape[-1]))
        same(ops.random_unwrap(ops.random_fold_in(keys, data)), folded)
        got = ops.random_bits(keys, width, shape)
    if impl == "rbg":  # XLA's generator started from the first key serves all
        first = words.reshape(-1, 4)[0].tolist() if words.size else [0] * 4
        bits, _ = philox_stream(first, math.prod(keys_shape) * count, width)
    same(got, np.array(bits, f"u{width // 8}").reshape((*keys_shape, *shape)))


@covers("random_split", "random_fold_in", "random_bits")
@more
@given(shape=shapes.filter(lambda s: math.prod(s) < 20), seed=seeds, data=st.integers(0, M32))
def test_unsafe_keys_take_the_generators_bits_for_a_hash(shape, seed, data):
    words = words_of(np.random.default_rng(seed), 4)
    key, count = PRNGKeyArray("unsafe_rbg", words), math.prod(shape)
    stream, _ = philox_stream(words.tolist(), 10 * count * 4, 32)
    split = np.array(stream, np.uint32).reshape(count * 10, 4)[::10]  # every tenth block
    same(ops.random_unwrap(ops.random_split(key, shape)), split.reshape(*shape, 4))
    last, _ = philox_stream([0, data, 0, data], 40, 32)  # the tenth block from the data's own key
    same(ops.random_unwrap(ops.random_fold_in(key, np.uint32(data))), words ^ np.array(last[36:], np.uint32))
    bits, _ = philox_stream(words.tolist(), count, 32)
    same(ops.random_bits(key, 32, shape), np.array(bits, np.uint32).reshape(shape))


@covers("rng_uniform")
@few
@given(sizes=sizes, seed=seeds)
def test_uniform_numbers_lie_in_the_interval(sizes, seed):
    rng = np.random.default_rng(seed)
    with config.enable_x64(True):
        for dtype, shape in cases([d for d in FLOATS + INTEGERS if dtypes.bit_width(d) >= 8 and d.name != "float8_e8m0fnu"], sizes):
            low, high = (np.asarray(v).astype(dtype)[()] for v in sorted(rng.choice(12, 2, replace=False)))
            got = np.asarray(ops.rng_uniform(low, high, shape))
            assert got.dtype == dtype and got.shape == shape
            assert np.all((wide(low) <= wide(got)) & (wide(got) <= wide(high)))
        many = np.asarray(ops.rng_uniform(np.float32(-1), np.float32(3), (4000,)))
    assert abs(many.mean() - 1) < 0.2 and abs(many.var() - 16 / 12) < 0.2  # ten standard errors, and more
    assert dtypes.issubdtype(many.dtype, dtypes.floating) and len(set(many.tolist())) > 3900


@pytest.mark.parametrize("impl", IMPLS)
def test_keys_do_not_wear_out(impl):
    """The same key gives the same bits; split keys give others."""
    key = ops.random_seed(3, impl)
    bits = np.asarray(ops.random_bits(key, 32, (50,)))
    same(ops.random_bits(key, 32, (50,)), bits)
    assert not set(bits.tolist()) & set(np.asarray(ops.random_bits(ops.random_fold_in(key, np.uint32(1)), 32, (50,))).tolist())


def test_every_operation_of_the_family_is_drawn():
    every_operation_is_covered(__name__)
