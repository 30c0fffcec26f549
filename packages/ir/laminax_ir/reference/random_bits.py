"""NumPy meaning of the random bits: hashes of counters, computed with wrapping integers.

Written from the papers and not from `laminax_ir.random.generators`, which the tests hold against it. Keys come as records
(see `laminax_ir.key_arrays.keys`) and are treated one by one.

Source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC11, and its Random123 library.
"""

from __future__ import annotations

import math
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from laminax_ir.key_arrays.extended_arrays import record_dtype
from laminax_ir.ops import random_bits as ops
from laminax_ir.reference import counter_generators
from laminax_ir.reference.evaluate import reference_rule
from laminax_ir.types.extended_dtypes import key_dtype

if TYPE_CHECKING:
    from laminax_ir.ops.random_bits import RandomAlgorithm
    from laminax_ir.types.annotations import ArrayLike
    from laminax_ir.types.extended_dtypes import PRNGImpl

# Threefry-2x32

_ROTATIONS = (13, 15, 26, 6, 17, 29, 16, 24)
_PARITY = np.uint32(0x1BD11BDA)


@reference_rule(ops.threefry2x32_p)
def threefry(key1: ArrayLike, key2: ArrayLike, x1: ArrayLike, x2: ArrayLike) -> list[np.ndarray]:
    """Threefry-2x32 with 20 rounds; a key word is injected after every fourth."""
    schedule = (key1, key2, key1 ^ key2 ^ _PARITY)
    x1, x2 = x1 + key1, x2 + key2
    for step in range(20):
        x1 = x1 + x2
        x2 = x1 ^ _rotated(x2, _ROTATIONS[step % 8])
        if step % 4 == 3:
            turn = step // 4 + 1
            x1 = x1 + schedule[turn % 3]
            x2 = x2 + schedule[(turn + 1) % 3] + np.uint32(turn)
    return list(np.broadcast_arrays(x1, x2))


def _rotated(x: np.ndarray, bits: int) -> np.ndarray:
    return (x << np.uint32(bits)) | (x >> np.uint32(32 - bits))


@reference_rule(ops.iota_2x32_shape_p)
def counters(*, shape: tuple[int, ...]) -> list[np.ndarray]:
    """High and low words of 0, 1, 2, ..."""
    count = np.arange(math.prod(shape), dtype=np.uint64).reshape(shape)
    return [(count >> np.uint64(32)).astype(np.uint32), count.astype(np.uint32)]


def _threefry_split(key: np.ndarray, shape: tuple[int, ...], partitionable: bool) -> np.ndarray:
    if partitionable:
        return np.stack(threefry(*key, *counters(shape=shape)), -1)
    return _threefry_words(key, 2 * math.prod(shape)).reshape((*shape, 2))


def _threefry_fold_in(key: np.ndarray, data: np.ndarray) -> np.ndarray:
    return np.stack(threefry(*key, np.uint32(0), data))


def _threefry_bits(partitionable: bool, key: np.ndarray, width: int, shape: tuple[int, ...]) -> np.ndarray:
    if partitionable:
        high, low = threefry(*key, *counters(shape=shape))
        return high.astype(np.uint64) << np.uint64(32) | low if width == 64 else (high ^ low).astype(f"u{width // 8}")
    size = math.prod(shape)
    words = _threefry_words(key, -(-width * size // 32))
    if width == 64:
        return (words[:size].astype(np.uint64) << np.uint64(32) | words[size:]).reshape(shape)
    return words.astype("<u4").view(f"<u{width // 8}")[:size].reshape(shape)


def _threefry_words(key: np.ndarray, count: int) -> np.ndarray:
    """The older layout: the counters 0..count-1, padded with a zero to an even number, hashed half against half."""
    padded = np.append(np.arange(count, dtype=np.uint32), np.zeros(count % 2, np.uint32))
    return np.concatenate(threefry(*key, *np.split(padded, 2)))[:count]


# Philox-4x32 and XLA's generator


@reference_rule(ops.rng_bit_generator_p)
def generate(state: np.ndarray, *, shape: tuple[int, ...], dtype: np.dtype, algorithm: RandomAlgorithm,
             out_sharding: Any = None) -> list[np.ndarray]:
    """The generator of XLA's CPU compiler, whose default is Philox: the new state and the bits.

    The state's first 64 bits are the key, the rest a counter that grows by the number of hashes.
    """
    words = np.ascontiguousarray(state).view(np.uint32)
    width = max(np.dtype(dtype).itemsize, 4)
    expand = _expand_threefry if algorithm == ops.RandomAlgorithm.RNG_THREE_FRY else _expand_philox
    bits, hashes = expand(words[:2], _joined(words[2:]), shape, width)
    new_state = np.array([_joined(words[:2]), (_joined(words[2:]) + hashes) % 2**64], np.uint64)
    return [new_state.view(state.dtype), bits.astype(dtype)]


@cache
def _hidden_state() -> np.random.Generator:
    """The state of the generator that takes no key; `numpy.random` takes 15 ms to load, which the first key would wait for."""
    return np.random.default_rng()


@reference_rule(ops.rng_uniform_p)
def _rng_uniform(a: np.ndarray, b: np.ndarray, *, shape: tuple[int, ...]) -> np.ndarray:
    if a.dtype.kind in "iu":
        return _hidden_state().integers(a, b, size=shape, dtype=a.dtype)
    return _hidden_state().uniform(np.float64(a), np.float64(b), size=shape).astype(a.dtype)


def _joined(words: np.ndarray) -> int:
    return int(words[0]) | int(words[1]) << 32


def _expand_philox(key: np.ndarray, counter: int, shape: tuple[int, ...], width: int) -> tuple[np.ndarray, int]:
    """Consecutive counters of 128 bits, whose high half begins as the key."""
    size = math.prod(shape)
    hashes = -(-size * width // 16)
    first = counter + (_joined(key) << 64)
    counters = [[(first + i) >> shift & 0xFFFFFFFF for shift in (0, 32, 64, 96)] for i in range(hashes)]
    words = counter_generators.philox4x32(key, np.array(counters, np.uint32).reshape(hashes, 4))
    return words.view(f"u{width}").ravel()[:size].reshape(shape), hashes


def _expand_threefry(key: np.ndarray, counter: int, shape: tuple[int, ...], width: int) -> tuple[np.ndarray, int]:
    """One hash per 64 bits. Of 32-bit results, each hash gives one to either half of an axis: the first even one, else
    the longest, padded."""
    if width == 8:
        low, high = _threefry_range(key, counter, math.prod(shape))
        return (high.astype(np.uint64) << np.uint64(32) | low).reshape(shape), math.prod(shape)
    sizes = list(shape) or [1]
    axis = next((i for i, size in enumerate(sizes) if size % 2 == 0), int(np.argmax(sizes)))
    half = (*sizes[:axis], -(-sizes[axis] // 2), *sizes[axis + 1:])
    pair = [x.reshape(half) for x in _threefry_range(key, counter, math.prod(half))]
    padded = np.stack(pair, axis + 1).reshape((*sizes[:axis], 2 * half[axis], *sizes[axis + 1:]))
    return np.take(padded, range(sizes[axis]), axis).reshape(shape), math.prod(half)


def _threefry_range(key: np.ndarray, counter: int, count: int) -> list[np.ndarray]:
    counts = np.arange(count, dtype=np.uint64) + np.uint64(counter)
    return threefry(*key, counts.astype(np.uint32), (counts >> np.uint64(32)).astype(np.uint32))


# Keys. The generators of four words treat their halves by threefry, or take XLA's bits for a hash.


@reference_rule(ops.random_wrap_p)
def _random_wrap(words: np.ndarray, *, impl: PRNGImpl) -> np.ndarray:
    record_dtype(key_dtype(impl))  # refuses a generator of the user's
    return _records(words, impl.name)


@reference_rule(ops.random_unwrap_p)
def _random_unwrap(keys: np.ndarray) -> np.ndarray:
    return keys[_name(keys)]


@reference_rule(ops.random_clone_p)
def _random_clone(keys: np.ndarray) -> np.ndarray:
    return keys


@reference_rule(ops.random_seed_p)
def _random_seed(seeds: np.ndarray, *, impl: PRNGImpl) -> np.ndarray:
    record_dtype(key_dtype(impl))
    # Only a 64-bit seed has a high word: a negative int32 is not sign extended.
    mask = 2**64 - 1 if seeds.dtype.itemsize == 8 else 2**32 - 1
    words = [_seed(impl.name, int(seed) & mask) for seed in seeds.flat]
    return _records(np.array(words, np.uint32).reshape((*seeds.shape, *impl.key_shape)), impl.name)


@reference_rule(ops.random_split_p)
def _random_split(keys: np.ndarray, *, shape: tuple[int, ...], partitionable: bool = True) -> np.ndarray:
    name, words = _name(keys), keys[_name(keys)]
    if name == "unsafe_rbg":
        blocks = _of_first_key(words, (10 * math.prod(shape), 4))
        return _records(blocks[..., ::10, :].reshape((*keys.shape, *shape, 4)), name)
    by_name = partial(counter_generators.split, name) if counter_generators.hashes(name) else partial(_split_in_halves, partitionable)
    result = [by_name(key, shape) for key in words.reshape(-1, words.shape[-1])]
    return _records(np.array(result, np.uint32).reshape((*keys.shape, *shape, words.shape[-1])), name)


def _split_in_halves(partitionable: bool, key: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    return np.concatenate([_threefry_split(half, shape, partitionable) for half in key.reshape(-1, 2)], -1)


@reference_rule(ops.random_fold_in_p)
def _random_fold_in(keys: np.ndarray, data: np.ndarray) -> np.ndarray:
    name, seeds = _name(keys), data
    whole = np.broadcast_shapes(keys.shape, data.shape)
    words, data = np.broadcast_to(keys, whole)[name], np.broadcast_to(data, whole)
    if name == "unsafe_rbg":
        folded = np.array([_seed(name, int(d)) for d in seeds.flat], np.uint32).reshape((*seeds.shape, 4))
        return _records(words ^ _of_first_key(folded, (10, 4))[..., -1, :], name)
    by_name = partial(counter_generators.folded, name) if counter_generators.hashes(name) else _fold_into_halves
    result = [by_name(key, d) for key, d in zip(words.reshape(-1, words.shape[-1]), data.flat)]
    return _records(np.array(result, np.uint32).reshape(words.shape), name)


def _fold_into_halves(key: np.ndarray, data: np.ndarray) -> np.ndarray:
    return np.concatenate([_threefry_fold_in(half, data) for half in key.reshape(-1, 2)])


@reference_rule(ops.random_bits_p)
def _random_bits(keys: np.ndarray, *, bit_width: int, shape: tuple[int, ...], partitionable: bool = True) -> np.ndarray:
    name, words = _name(keys), keys[_name(keys)]
    if name in ("rbg", "unsafe_rbg"):
        return _of_first_key(words, shape, bit_width)
    by_name = partial(counter_generators.bits, name) if counter_generators.hashes(name) else partial(_threefry_bits, partitionable)
    result = [by_name(key, bit_width, shape) for key in words.reshape(-1, words.shape[-1])]
    return np.array(result, ops.UINT_DTYPES[bit_width]).reshape((*keys.shape, *shape))


def _of_first_key(words: np.ndarray, shape: tuple[int, ...], width: int = 32) -> np.ndarray:
    """Bits of shape `(*keys, *shape)` from the first of an array of keys of four words."""
    whole, dtype = (*words.shape[:-1], *shape), ops.UINT_DTYPES[width]
    if 0 in words.shape:
        return np.zeros(whole, dtype)
    return generate(words.reshape(-1, 4)[0], shape=whole, dtype=dtype, algorithm=ops.RandomAlgorithm.RNG_DEFAULT)[1]


def _seed(name: str, seed: int) -> np.ndarray:
    if counter_generators.hashes(name):
        return counter_generators.seeded(name, seed)
    half = np.array([seed >> 32, seed & 0xFFFFFFFF], np.uint32)
    return half if name == "threefry2x32" else np.concatenate([half, half])


def _name(keys: np.ndarray) -> str:
    (name,) = keys.dtype.names or ()
    return name


def _records(words: np.ndarray, name: str) -> np.ndarray:
    records = np.empty(words.shape[:-1], record_dtype(key_dtype(name)))
    records[name] = words
    return records
