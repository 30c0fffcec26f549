"""NumPy meaning of the generators that hash counters of any words: one key and its counters at a time, in 64-bit integers modulo 2**32.

Written from the paper and Random123, and not from `laminax_ir.random.counter_generators`, which the tests hold against it.
"""

from __future__ import annotations

import math

import numpy as np

from laminax_ir.ops.random_bits import UINT_DTYPES

_LOW = 0xFFFFFFFF


def philox2x32(key: np.ndarray, counters: np.ndarray) -> np.ndarray:
    """u32[n, 2] from a key u32[1] and counters u32[n, 2]."""
    left, right = counters.astype(np.uint64).T
    for turn in range(10):
        product = left * np.uint64(0xD256D193)
        bumped = (int(key[0]) + turn * 0x9E3779B9) & _LOW
        left, right = product >> np.uint64(32) ^ right ^ np.uint64(bumped), product & np.uint64(_LOW)
    return np.stack([left, right], -1).astype(np.uint32)


def philox4x32(key: np.ndarray, counters: np.ndarray) -> np.ndarray:
    """u32[n, 4] from a key u32[2] and counters u32[n, 4], with 10 rounds."""
    x = counters.astype(np.uint64)
    low_half = np.uint64(0xFFFFFFFF)
    k1, k2 = (int(word) for word in key)
    for _ in range(10):
        first, second = x[:, 0] * np.uint64(0xD2511F53), x[:, 2] * np.uint64(0xCD9E8D57)
        x = np.stack([second >> np.uint64(32) ^ x[:, 1] ^ np.uint64(k1), second & low_half,
                      first >> np.uint64(32) ^ x[:, 3] ^ np.uint64(k2), first & low_half], -1)
        k1, k2 = (k1 + 0x9E3779B9) % 2**32, (k2 + 0xBB67AE85) % 2**32
    return x.astype(np.uint32)


_ROTATIONS = np.array([10, 26, 11, 21, 13, 27, 23, 5, 6, 20, 17, 11, 25, 10, 18, 20]).reshape(8, 2)


def threefry4x32(key: np.ndarray, counters: np.ndarray) -> np.ndarray:
    """u32[n, 4] from a key u32[4] and counters u32[n, 4]: even words mix with the next, then with the one before."""
    parity = 0x1BD11BDA
    for word in key:
        parity ^= int(word)
    schedule = [*map(int, key), parity]
    x = [(counters[:, i].astype(object) + schedule[i]) & _LOW for i in range(4)]
    for turn in range(20):
        for pair in (0, 1):
            a, b, bits = 2 * pair, (2 * pair + (1 if turn % 2 == 0 else 3)) % 4, int(_ROTATIONS[turn % 8, pair])
            x[a] = (x[a] + x[b]) & _LOW
            x[b] = ((x[b] << bits | x[b] >> (32 - bits)) & _LOW) ^ x[a]
        if (turn + 1) % 4 == 0:
            count = (turn + 1) // 4
            x = [(x[i] + schedule[(count + i) % 5] + (count if i == 3 else 0)) & _LOW for i in range(4)]
    return np.stack(x, -1).astype(np.uint32)


_HASHES = {"philox2x32": philox2x32, "philox4x32": philox4x32, "threefry4x32": threefry4x32}


def hashes(name: str) -> bool:
    """Whether a generator is one of these."""
    return name in _HASHES


def seeded(name: str, seed: int) -> np.ndarray:
    high, low = seed >> 32, seed & _LOW
    if name == "threefry4x32":
        return threefry4x32(np.array([high, low, 0, 0], np.uint32), np.zeros((1, 4), np.uint32))[0]
    size = 2 if name == "philox2x32" else 4
    return _HASHES[name](np.zeros(size // 2, np.uint32), np.array([[high, low, 0, 0][:size]], np.uint32))[0, :size // 2]


def _numbered(name: str, key: np.ndarray, count: int, at_end: bool) -> np.ndarray:
    number = np.arange(count, dtype=np.uint64)
    counters = np.zeros((count, 2 if name == "philox2x32" else 4), np.uint32)
    first = counters.shape[1] - 2 if at_end else 0
    counters[:, first], counters[:, first + 1] = number >> np.uint64(32), number & np.uint64(_LOW)
    return _HASHES[name](key, counters)


def split(name: str, key: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    return _numbered(name, key, math.prod(shape), at_end=True)[:, :len(key)].reshape(*shape, len(key))


def folded(name: str, key: np.ndarray, data: int) -> np.ndarray:
    counter = np.zeros((1, 2 if name == "philox2x32" else 4), np.uint32)
    counter[0, -1] = data
    return _HASHES[name](key, counter)[0, :len(key)]


def bits(name: str, key: np.ndarray, width: int, shape: tuple[int, ...]) -> np.ndarray:
    words = _numbered(name, key, math.prod(shape), at_end=False)
    if width != 64:
        return np.bitwise_xor.reduce(words, axis=1).astype(UINT_DTYPES[width]).reshape(shape)
    high, low = (words[:, 0] ^ words[:, 2], words[:, 1] ^ words[:, 3]) if name == "threefry4x32" else (words[:, 0], words[:, 1])
    return (high.astype(np.uint64) << np.uint64(32) | low).reshape(shape)
