"""The generators philox2x32, philox4x32 and threefry4x32, as programs on the words of keys: what draws is a hash of a counter under a key.

A counter has as many words as the hash gives. Draws number their elements in its first two words, new keys in the last two, so that both
never hash the same; data that is folded in is the last word.

Source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC11, and its Random123 library, whose constants these are.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any, Callable, Sequence

import numpy as np

from laminax_ir.ops import elementwise
from laminax_ir.ops import shape as shapes
from laminax_ir.ops.random_bits import UINT_DTYPES, iota_2x32_shape
from laminax_ir.random.word_arrays import join_halves, join_words, split_words, to_dtype, words_of_seeds
from laminax_ir.types.extended_dtypes import WordFunctions

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike

_ZERO = np.uint32(0)
_add, _xor, _mul = elementwise.add, elementwise.bitwise_xor, elementwise.mul

# The hashes, from the words of a key and those of a counter


def _philox2x32(key: Sequence[Any], x: Sequence[Any]) -> list:
    multiplier, step = np.uint32(0xD256D193), np.uint32(0x9E3779B9)
    (k,), (first, second) = key, x
    for turn in range(10):
        k = _add(k, step) if turn else k
        first, second = _xor(_xor(elementwise.mulhi(first, multiplier), second), k), _mul(first, multiplier)
    return [first, second]


def _philox4x32(key: Sequence[Any], x: Sequence[Any]) -> list:
    multipliers, steps = (np.uint32(0xD2511F53), np.uint32(0xCD9E8D57)), (np.uint32(0x9E3779B9), np.uint32(0xBB67AE85))
    for turn in range(10):
        key = [_add(k, step) for k, step in zip(key, steps)] if turn else key
        low, high = ([product(word, m) for word, m in zip((x[0], x[2]), multipliers)] for product in (_mul, elementwise.mulhi))
        x = _xor(_xor(high[1], x[1]), key[0]), low[1], _xor(_xor(high[0], x[3]), key[1]), low[0]
    return list(x)


_ROTATIONS_4X32 = ((10, 26), (11, 21), (13, 27), (23, 5), (6, 20), (17, 11), (25, 10), (18, 20))


def _threefry4x32(key: Sequence[Any], x: Sequence[Any]) -> list:
    schedule = (*key, reduce(_xor, key, np.uint32(0x1BD11BDA)))
    x = [_add(word, k) for word, k in zip(x, schedule)]
    for turn in range(20):
        partners = (1, 3) if turn % 2 == 0 else (3, 1)  # of the words 0 and 2
        for word, partner, bits in zip((0, 2), partners, _ROTATIONS_4X32[turn % 8]):
            x[word] = _add(x[word], x[partner])
            x[partner] = _xor(_rotated(x[partner], bits), x[word])
        if turn % 4 == 3:
            count = turn // 4 + 1
            x = [_add(word, schedule[(count + i) % 5]) for i, word in enumerate(x)]
            x[3] = _add(x[3], np.uint32(count))
    return x


def _rotated(x: ArrayLike, bits: int) -> Array:
    return elementwise.bitwise_or(elementwise.shift_left(x, np.uint32(bits)), elementwise.shift_right_logical(x, np.uint32(32 - bits)))


# The generators


def _generator(mix: Callable, size: int, key_size: int, seed_is_key: bool = False, pairs: bool = False) -> WordFunctions:
    """The functions of a generator.

    Args:
      mix: the hash.
      size: the words of a counter.
      key_size: the words of a key.
      seed_is_key: whether a seed stands for a key, under which 0 is hashed, and not for a counter that is hashed under the key 0.
      pairs: whether each half of 64 bits is made of two words.
    """
    def seed(seeds: Any) -> Any:
        halves = list(words_of_seeds(seeds))
        zeros = [_like(_ZERO, halves[1])] * 4
        key, counter = (halves + zeros[2:], zeros) if seed_is_key else (zeros[:key_size], (halves + zeros)[:size])
        return join_words(mix(key, counter)[:key_size])

    def split(words: Any, *, shape: Sequence[int]) -> Any:
        return join_words(_numbered(words, shape, size - 2)[:key_size])

    def fold_in(words: Any, data: Any) -> Any:
        key = split_words(words)
        if data.shape:
            key = [_like(k, data) for k in key]
        zero = _like(_ZERO, key[0])
        data = _like(data, key[0])
        return join_words(mix(key, [zero] * (size - 1) + [data])[:key_size])

    def bits(words: Any, *, bit_width: int, shape: Sequence[int]) -> Any:
        mixed = _numbered(words, shape, 0)
        if bit_width == 64:
            return join_halves(*([_xor(mixed[0], mixed[2]), _xor(mixed[1], mixed[3])] if pairs else mixed[:2]))
        return to_dtype(reduce(_xor, mixed), UINT_DTYPES[bit_width])

    def _numbered(words: ArrayLike, shape: Sequence[int], first: int) -> list[Array]:
        """The hashes of 0, 1, ... in row-major order, as the counter's words `first` and the next; each word of shape (*keys, *shape)."""
        keys = tuple(words.shape[:-1])
        whole = (*keys, *shape)
        key = [shapes.broadcast_in_dim(k, whole, tuple(range(len(keys)))) for k in split_words(words)]
        counts = [shapes.broadcast_in_dim(c, whole, tuple(range(len(keys), len(whole)))) for c in iota_2x32_shape(shape)]
        counter = [_like(_ZERO, key[0])] * size
        counter[first:first + 2] = counts
        return mix(key, counter)

    return WordFunctions(seed, split, fold_in, bits)


def _like(x: ArrayLike, other: ArrayLike) -> Array:
    """x, repeated to the shape of the other if it is a scalar."""
    return x if np.shape(x) == other.shape else shapes.broadcast_in_dim(x, other.shape, ())


generators = {
    "philox2x32": _generator(_philox2x32, 2, 1),
    "philox4x32": _generator(_philox4x32, 4, 2),
    "threefry4x32": _generator(_threefry4x32, 4, 4, seed_is_key=True, pairs=True),
}
