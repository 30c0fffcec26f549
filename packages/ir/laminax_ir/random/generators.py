"""The generators of random bits, as programs of ordinary operations on the words of keys.

Each function takes words `u32[*keys, *key_shape]` and works on all keys at once. Threefry is counter based: the i-th
output is the hash of the counter i under the key, so any part of an array can be computed by itself, which is what
lets a compiler split it over devices. With the option `threefry_partitionable` off, an older layout of the counters
is used, which old results may depend on.

`word_program` gives the program of a key primitive as a jaxpr, for layers that only know ordinary arrays, and
`threefry_program` that of the hash itself, for those that have no operation for it.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any, Sequence

import numpy as np

from laminax_ir.key_arrays.extended_arrays import physical_aval
from laminax_ir.ops import elementwise, random_bits, slicing
from laminax_ir.ops import shape as shapes
from laminax_ir.ops.random_bits import UINT32, UINT_DTYPES, iota_2x32_shape, threefry2x32
from laminax_ir.ops.scalar_operands import scalar_like
from laminax_ir.options import config
from laminax_ir.programs.jaxpr import ClosedJaxpr
from laminax_ir.programs.primitive import Primitive
from laminax_ir.random import counter_generators
from laminax_ir.random.word_arrays import join_halves, join_words, split_words, to_dtype, words_of_seeds, zeros
from laminax_ir.recording.staging import stage
from laminax_ir.symbolic.symbolic_dims import exceeds
from laminax_ir.tracing.explicit_axes import without_mesh
from laminax_ir.types.avals import ShapedArray
from laminax_ir.types.extended_dtypes import WordFunctions

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike

_ZERO = np.uint32(0)


def word_program(primitive: Primitive, avals: Sequence[ShapedArray], params: dict) -> ClosedJaxpr:
    """The program of a key primitive on words: a jaxpr from the operands' physical avals to the result's.

    Args:
      primitive: one of `random_seed`, `random_split`, `random_fold_in`, `random_bits`.
      avals: the avals of its operands, keys as keys.
      params: its parameters.
    """
    if params.get("bit_width") == 64 and not config.enable_x64.value:
        with config.enable_x64(True):  # bits of that width were asked for, and are joined of narrower ones
            return word_program(primitive, avals, params)
    is_kept = primitive in (random_bits.random_split_p, random_bits.random_bits_p)  # a parameter where the option is off
    partitionable = params.get("partitionable", True) if is_kept else config.threefry_partitionable.value
    return _cached_program(primitive, tuple(avals), tuple(params.items()), partitionable, config.enable_x64.value)


@functools.lru_cache(maxsize=1024)
def _cached_program(primitive: Primitive, avals: Sequence[ShapedArray], params: dict[str, Any], partitionable: bool,
                    _x64: bool) -> ClosedJaxpr:
    params = dict(params)
    params.pop("partitionable", None)
    impl = params.pop("impl", None) or avals[0].dtype.impl
    function = getattr(impl.functions or _WORD_FUNCTIONS[impl.name], _FUNCTION_OF[primitive])
    with without_mesh(), config.threefry_partitionable(partitionable):
        return stage(lambda *words: [function(*words, **params)], [physical_aval(aval) for aval in avals],
                     name=f"{impl.name}_{primitive.name.removeprefix('random_')}")


# The hash


_ROTATIONS = (13, 15, 26, 6, 17, 29, 16, 24)
_PARITY = np.uint32(0x1BD11BDA)


@functools.lru_cache(maxsize=256)
def threefry_program(shape: tuple[int, ...]) -> ClosedJaxpr:
    """Threefry-2x32 on four arrays u32[shape] as adds, rotations and exclusive ors: what `threefry2x32_p` expands to."""
    with without_mesh():
        return stage(_threefry_rounds, [ShapedArray(shape, UINT32)] * 4, name="threefry2x32")


def _threefry_rounds(key1: ArrayLike, key2: ArrayLike, x1: ArrayLike, x2: ArrayLike) -> list[Array]:
    add, xor = elementwise.add, elementwise.bitwise_xor
    schedule = (key1, key2, xor(xor(key1, key2), _PARITY))
    x1, x2 = add(x1, key1), add(x2, key2)
    for turn in range(1, 6):  # four rounds, then the next two words of the schedule
        for i in range(4):
            bits = _ROTATIONS[4 * (turn - 1) % 8 + i]
            x1 = add(x1, x2)
            left = elementwise.shift_left(x2, np.uint32(bits))
            right = elementwise.shift_right_logical(x2, np.uint32(32 - bits))
            x2 = xor(x1, elementwise.bitwise_or(left, right))
        x1 = add(x1, schedule[turn % 3])
        x2 = add(x2, add(schedule[(turn + 1) % 3], np.uint32(turn)))
    return [x1, x2]


# Threefry


def threefry_seed(seeds: Any) -> Any:
    """u32[*s, 2] from integers of shape s: the high word, which is 0 for a seed of 32 bits, and the low word."""
    return join_words(words_of_seeds(seeds))


def threefry_split(words: Any, *, shape: tuple[int, ...]) -> Any:
    """u32[*keys, *shape, 2] from u32[*keys, 2]."""
    if config.threefry_partitionable.value:
        return join_words(_hash_counters(words, shape))
    flat = _hash_in_halves(words, 2 * math.prod(shape))
    return shapes.reshape(flat, (*words.shape[:-1], *shape, 2))


def threefry_fold_in(words: Any, data: Any) -> Any:
    """u32[*s, 2] from u32[*keys, 2] and uint32 data, s being their common shape."""
    key1, key2 = split_words(words)
    return join_words(threefry2x32(key1, key2, _ZERO, data))


def threefry_bits(words: Any, *, bit_width: int, shape: tuple[int, ...]) -> Any:
    """Unsigned integers of the given width and shape `(*keys, *shape)` from u32[*keys, 2]."""
    if not config.threefry_partitionable.value:
        return _threefry_bits_original(words, bit_width, shape)
    high, low = _hash_counters(words, shape)
    if bit_width == 64:
        return join_halves(high, low)
    return to_dtype(elementwise.bitwise_xor(high, low), UINT_DTYPES[bit_width])


def _hash_counters(words: ArrayLike, shape: tuple[int, ...]) -> tuple[Array, Array]:
    """The two words of the hashes of the counters 0, 1, ... laid out over a shape, for each key."""
    keys = words.shape[:-1]
    high, low = iota_2x32_shape(shape) if shape else (_ZERO, _ZERO)
    key1, key2 = split_words(words)
    if keys and shape:
        whole = (*keys, *shape)
        key_axes, counter_axes = tuple(range(len(keys))), tuple(range(len(keys), len(whole)))
        key1, key2 = (shapes.broadcast_in_dim(k, whole, key_axes) for k in (key1, key2))
        high, low = (shapes.broadcast_in_dim(c, whole, counter_axes) for c in (high, low))
    return threefry2x32(key1, key2, high, low)


# The older layout of the counters


def _hash_in_halves(words: ArrayLike, count: int) -> Array:
    """u32[*keys, count]: hashes pairs of counters, one from each half of 0..count-1 (of an odd number, padded with 0)."""
    if exceeds(count, 2**32 - 2):
        raise NotImplementedError("threefry without the option threefry_partitionable makes fewer than 2**32 words "
                                  f"at once, got {count}; turn the option on")
    keys, half = words.shape[:-1], (count + 1) // 2
    counters = shapes.iota(UINT32, half)
    second = elementwise.add(counters, scalar_like(half, UINT32))
    is_padded = count != 2 * half  # also where that depends on a symbolic size: then the padding may have no element
    if is_padded:  # the padding is a zero, not the next number
        second = elementwise.select(elementwise.lt(second, scalar_like(count, UINT32)), second, zeros((half,)))
    whole = (*keys, half)
    key1, key2 = (shapes.broadcast_in_dim(k, whole, tuple(range(len(keys)))) for k in split_words(words))
    first, second = (shapes.broadcast_in_dim(c, whole, (len(keys),)) for c in (counters, second))
    joined = shapes.concatenate(threefry2x32(key1, key2, first, second), len(keys))
    return shapes.pad(joined, _ZERO, ((0, 0, 0),) * len(keys) + ((0, count - 2 * half, 0),)) if is_padded else joined


def _threefry_bits_original(words: ArrayLike, bit_width: int, shape: tuple[int, ...]) -> Array:
    keys, size, dtype = words.shape[:-1], math.prod(shape), UINT_DTYPES[bit_width]
    count = -(-bit_width * size // 32)
    bits = _hash_in_halves(words, count)
    if bit_width == 64:
        start = (0,) * len(keys)
        bits = join_halves(slicing.slice(bits, (*start, 0), (*keys, size)),
                            slicing.slice(bits, (*start, size), (*keys, count)))
    elif bit_width < 32:  # each word holds several results, the lowest bits first
        per_word = 32 // bit_width
        whole = (*keys, count, per_word)
        spread = shapes.broadcast_in_dim(bits, whole, tuple(range(len(keys) + 1)))
        shifts = elementwise.mul(shapes.broadcasted_iota(UINT32, whole, len(whole) - 1), np.uint32(bit_width))
        bits = to_dtype(elementwise.shift_right_logical(spread, shifts), dtype)
        bits = shapes.reshape(bits, (*keys, count * per_word))
        bits = slicing.slice(bits, (0,) * bits.ndim, (*keys, size))
    return shapes.reshape(bits, (*keys, *shape))


# The generators on top of XLA's: keys of four words


def rbg_seed(seeds: Any) -> Any:
    """u32[*s, 4]: the threefry key twice."""
    half = threefry_seed(seeds)
    return shapes.concatenate((half, half), half.ndim - 1)


def _as_halves(words: ArrayLike) -> Array:
    return shapes.reshape(words, (*words.shape[:-1], 2, 2))


def rbg_split(words: Any, *, shape: tuple[int, ...]) -> Any:
    """u32[*keys, *shape, 4]: splits the two halves of each key by threefry."""
    keys, n = words.shape[:-1], words.ndim - 1
    halves = threefry_split(_as_halves(words), shape=shape)  # u32[*keys, 2, *shape, 2]
    order = (*range(n), *range(n + 1, halves.ndim - 1), n, halves.ndim - 1)
    return shapes.reshape(shapes.transpose(halves, order), (*keys, *shape, 4))


def rbg_fold_in(words: Any, data: Any) -> Any:
    """u32[*s, 4]: folds the data into both halves by threefry."""
    keys = words.shape[:-1]
    if data.shape:
        data = shapes.broadcast_in_dim(data, (*data.shape, 1), tuple(range(data.ndim)))
        if not keys:
            words = shapes.broadcast_in_dim(words, (*data.shape[:-1], 4), (data.ndim - 1,))
    folded = threefry_fold_in(_as_halves(words), data)
    return shapes.reshape(folded, (*folded.shape[:-2], 4))


def _generate(words: ArrayLike, shape: tuple[int, ...], dtype: np.dtype) -> Array:
    """Bits of shape `(*keys, *shape)`, all drawn with the first key: what `vmap` of `rng_bit_generator` gives for a batch of keys."""
    keys = words.shape[:-1]
    if 0 in keys:
        return zeros((*keys, *shape), dtype)
    first = slicing.slice(words, (0,) * words.ndim, (1,) * len(keys) + (4,))
    return random_bits.rng_bit_generator_p.bind(shapes.reshape(first, (4,)), shape=(*keys, *shape), dtype=dtype,
                                                algorithm=random_bits.RandomAlgorithm.RNG_DEFAULT, out_sharding=None)[1]


def rbg_bits(words: Any, *, bit_width: int, shape: tuple[int, ...]) -> Any:
    """Unsigned integers of shape `(*keys, *shape)`."""
    return _generate(words, shape, UINT_DTYPES[bit_width])


_HASH_STEPS = 10  # unsafe_rbg takes every tenth block of bits for a hash


def unsafe_rbg_split(words: Any, *, shape: tuple[int, ...]) -> Any:
    """u32[*keys, *shape, 4]."""
    keys, count = words.shape[:-1], math.prod(shape)
    blocks = _generate(words, (_HASH_STEPS * count, 4), UINT32)
    every_tenth = slicing.slice(blocks, (0,) * blocks.ndim, blocks.shape, (1,) * len(keys) + (_HASH_STEPS, 1))
    return shapes.reshape(every_tenth, (*keys, *shape, 4))


def unsafe_rbg_fold_in(words: Any, data: Any) -> Any:
    """u32[*s, 4]."""
    blocks = _generate(rbg_seed(data), (_HASH_STEPS, 4), UINT32)
    last = slicing.slice(blocks, (0,) * data.ndim + (_HASH_STEPS - 1, 0), blocks.shape)
    last = shapes.reshape(last, (*data.shape, 4))
    if words.ndim > last.ndim:
        last = shapes.broadcast_in_dim(last, words.shape, (words.ndim - 1,))
    elif words.ndim < last.ndim:
        words = shapes.broadcast_in_dim(words, last.shape, (last.ndim - 1,))
    return elementwise.bitwise_xor(words, last)


_FUNCTION_OF = {random_bits.random_seed_p: "seed", random_bits.random_split_p: "split", random_bits.random_fold_in_p: "fold_in",
                random_bits.random_bits_p: "bits"}
_WORD_FUNCTIONS = {
    **counter_generators.generators,
    "threefry2x32": WordFunctions(threefry_seed, threefry_split, threefry_fold_in, threefry_bits),
    "rbg": WordFunctions(rbg_seed, rbg_split, rbg_fold_in, rbg_bits),
    "unsafe_rbg": WordFunctions(rbg_seed, unsafe_rbg_split, unsafe_rbg_fold_in, rbg_bits),
}
