"""Random bits: the Threefry hash, XLA's bit generator, and the operations on arrays of keys.

A random key is data, and random bits are a function of it. The operations on keys are stated per key: on an array
of keys of shape `s` each of them works on every key and puts `s` in front of the result's shape. What they compute
on the uint32 words of the keys is in `laminax_ir.random.generators`.

Source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC11; the key operations are those JAX
documents for `jax.random`.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Any, Sequence

import numpy as np

from laminax_ir.key_arrays.extended_arrays import physical_aval
from laminax_ir.key_arrays.keys import random_wrap_p
from laminax_ir.ops.elementwise_avals import broadcast_avals, joined_named_shape
from laminax_ir.ops.shape_arguments import canonical_shape, checked_out_sharding
from laminax_ir.ops.sharding import reshard
from laminax_ir.options import config
from laminax_ir.programs.primitive import Primitive, Trait, shape_rule
from laminax_ir.types import dtypes
from laminax_ir.types.avals import ShapedArray
from laminax_ir.types.errors import DTypeError, ShapeError

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike, DTypeLike
    from laminax_ir.types.extended_dtypes import PRNGImpl

UINT32 = np.dtype(np.uint32)
UINT_DTYPES: dict[int, np.dtype] = {8: np.dtype(np.uint8), 16: np.dtype(np.uint16), 32: UINT32, 64: np.dtype(np.uint64)}

threefry2x32_p = Primitive("threefry2x32", multiple_results=True, family="random_bits", traits=(Trait.EXACT_WHOLE, Trait.HASHES_KEYS))
iota_2x32_shape_p = Primitive("iota_2x32_shape", multiple_results=True, family="random_bits", traits=(Trait.EXACT_WHOLE,))
rng_bit_generator_p = Primitive("rng_bit_generator", multiple_results=True, family="random_bits")
rng_uniform_p = Primitive("rng_uniform", family="random_bits")
random_seed_p = Primitive("random_seed", family="random_bits", traits=(Trait.EXACT_WHOLE,))
random_unwrap_p = Primitive("random_unwrap", family="random_bits", traits=(Trait.EXACT_WHOLE,))
random_split_p = Primitive("random_split", family="random_bits", traits=(Trait.EXACT_WHOLE, Trait.HASHES_KEYS))
random_fold_in_p = Primitive("random_fold_in", family="random_bits", traits=(Trait.EXACT_WHOLE, Trait.HASHES_KEYS))
random_bits_p = Primitive("random_bits", family="random_bits", traits=(Trait.EXACT_WHOLE, Trait.HASHES_KEYS))
random_clone_p = Primitive("random_clone", family="random_bits")


class RandomAlgorithm(enum.IntEnum):
    """The algorithm of `rng_bit_generator`.

    Example:
      >>> key, bits = rng_bit_generator(np.uint32([0, 0, 0, 1]), (4,), algorithm=RandomAlgorithm.RNG_THREE_FRY)
      >>> bits.shape
      (4,)
    """

    RNG_DEFAULT = 0  # the platform's own
    RNG_THREE_FRY = 1  # Threefry-2x32
    RNG_PHILOX = 2  # Philox-4x32

    def __str__(self) -> str:
        return self.name


# The hash and the counters


@shape_rule(threefry2x32_p)
def _threefry2x32_shape(*avals: ShapedArray) -> list[ShapedArray]:
    if len(avals) != 4:
        raise TypeError(f"threefry2x32 takes four arrays, got {len(avals)}")
    for aval in avals:
        if aval.dtype != UINT32:
            raise DTypeError(f"threefry2x32: its operands must be uint32, got {', '.join(a.str_short() for a in avals)}")
    result = ShapedArray(broadcast_avals("threefry2x32", avals), UINT32, named_shape=joined_named_shape(avals))
    return [result, result]


def threefry2x32(key1: Any, key2: Any, x1: Any, x2: Any) -> tuple:
    """The Threefry-2x32 hash of 20 rounds: mixes the pair (x1, x2) under the key (key1, key2), elementwise.

    Args:
      key1: u32[...], the key's first word.
      key2: u32[...], its second word.
      x1: u32[...], the counter's first word.
      x2: u32[...], its second word. The four have one shape; rank 0 stands for any, an axis of size 1 for any size.

    Returns:
      The two words of the hash, two u32 arrays of the common shape.

    Raises:
      TypeError: if an operand is not uint32 or the shapes do not fit.

    Source: Salmon et al., SC11, section 4; the constants are Random123's.
    """
    return tuple(threefry2x32_p.bind(key1, key2, x1, x2))


@shape_rule(iota_2x32_shape_p)
def _iota_2x32_shape_shape(*, shape: Sequence[int]) -> list[ShapedArray]:
    aval = ShapedArray(shape, UINT32)
    return [aval, aval]


def iota_2x32_shape(shape: Sequence[int]) -> tuple:
    """The numbers 0, 1, 2, ... in row-major order over a shape, as the high and the low words of 64-bit counters.

    Args:
      shape: the shape of the results.

    Returns:
      (high, low): two uint32 arrays of that shape.
    """
    return tuple(iota_2x32_shape_p.bind(shape=_checked_shape("iota_2x32_shape", shape)))


# XLA's generator


@shape_rule(rng_bit_generator_p)
def _rng_bit_generator_shape(key: ShapedArray, *, shape: Sequence[int], dtype: np.dtype, algorithm: RandomAlgorithm,
                             out_sharding: Any = None) -> list[ShapedArray]:
    if (key.shape, key.dtype) not in (((4,), UINT32), ((2,), UINT_DTYPES[64])):
        raise ShapeError(f"rng_bit_generator: the key must be u32[4] or u64[2], got {key.str_short()}")
    return [key.strip_weak_type(), ShapedArray(shape, dtype, named_shape=key.named_shape)]


def rng_bit_generator(key: ArrayLike, shape: Sequence[int], dtype: DTypeLike = np.uint32,
                      algorithm: RandomAlgorithm = RandomAlgorithm.RNG_DEFAULT, *, out_sharding: Any = None) -> tuple:
    """Random bits of XLA's stateless generator, and the state after them.

    Which bits come may differ between platforms and compiler versions; under `vmap` the first key of a batch gives
    the bits of all. The functions of the random module on threefry keys have neither trait.

    Args:
      key: u32[4] or u64[2], the state.
      shape: the shape of the result.
      dtype: uint8, uint16, uint32 or uint64.
      algorithm: the platform's default, Threefry or Philox.
      out_sharding: how the bits are split over explicit mesh axes, a partition spec or a `NamedSharding`.

    Returns:
      The new state, of the shape and dtype of `key`, and the bits, of the given shape and dtype.

    Raises:
      TypeError: if the key has another shape or dtype, or the dtype is none of the four.

    Example:
      >>> key, bits = rng_bit_generator(np.uint32([0, 0, 0, 1]), (2, 3), np.uint8)
      >>> key.shape, bits.shape, bits.dtype.name
      ((4,), (2, 3), 'uint8')
    """
    dtype = dtypes.requested_dtype(dtype, fun_name="rng_bit_generator")
    if dtype not in UINT_DTYPES.values():
        raise DTypeError(f"rng_bit_generator: unsupported dtype {dtypes.dtype_name(dtype)}; "
                         "use uint8, uint16, uint32 or uint64")
    if algorithm not in RandomAlgorithm._value2member_map_:
        raise ValueError(f"rng_bit_generator: algorithm must be a RandomAlgorithm, got {algorithm!r}")
    shape = _checked_shape("rng_bit_generator", shape)
    split = None if out_sharding is None else checked_out_sharding("rng_bit_generator", out_sharding, len(shape))
    key, bits = rng_bit_generator_p.bind(key, shape=shape, dtype=dtype, algorithm=RandomAlgorithm(algorithm), out_sharding=None)
    return key, bits if split is None else reshard(bits, split)


@shape_rule(rng_uniform_p)
def _rng_uniform_shape(a: ShapedArray, b: ShapedArray, *, shape: Sequence[int]) -> ShapedArray:
    if a.shape or b.shape:
        raise ValueError(f"rng_uniform: a and b must be scalars, got {a.str_short()} and {b.str_short()}")
    if a.dtype != b.dtype or not (dtypes.issubdtype(a.dtype, dtypes.floating) or dtypes.issubdtype(a.dtype, dtypes.integer)):
        raise ValueError(f"rng_uniform: a and b must have one dtype, floating or integer, got {a.str_short()} and {b.str_short()}. "
                         "Convert one of them first")
    return ShapedArray(shape, a.dtype)


def rng_uniform(a: ArrayLike, b: ArrayLike, shape: Sequence[int]) -> Array:
    """Random numbers in [a, b) from a generator with a hidden state, others at each run.

    The functions of the random module, whose numbers follow from a key, are what most programs want: here each platform
    has its own generator, and nothing can be reproduced.

    Args:
      a: a floating or integer scalar, the least number.
      b: a scalar of the same dtype, above a.
      shape: the shape of the result.

    Returns:
      An array of the given shape and a's dtype.

    Raises:
      ValueError: if a and b are no scalars, or not of one such dtype, or the shape has a negative size.

    Example:
      >>> rng_uniform(np.float32(0), np.float32(1), (3,)).shape
      (3,)
    """
    return rng_uniform_p.bind(a, b, shape=_checked_shape("rng_uniform", shape))


# Keys


def _check_keys(name: str, keys: ShapedArray) -> None:
    if not dtypes.issubdtype(keys.dtype, dtypes.prng_key):
        raise DTypeError(f"{name}: an array of keys is expected, got {keys.str_short()}. "
                         "Make keys with random.key, or wrap uint32 words with random.wrap_key_data.")


def _checked_shape(name: str, shape: Sequence[int]) -> tuple[int, ...]:
    result = canonical_shape(name, shape)
    for size in result:
        if size < 0:
            raise ValueError(f"{name}: the shape {result} has a negative size")
    return result


@shape_rule(random_seed_p)
def _random_seed_shape(seeds: ShapedArray, *, impl: PRNGImpl) -> ShapedArray:
    if not dtypes.issubdtype(seeds.dtype, dtypes.integer):
        raise DTypeError(f"random_seed: PRNG key seed must be an integer; got {seeds.str_short()}")
    return ShapedArray(seeds.shape, dtypes.key_dtype(impl), named_shape=seeds.named_shape)


def random_seed(seeds: Any, impl: Any) -> Any:
    """Keys from integer seeds.

    Args:
      seeds: integers of any shape. A Python integer beyond 32 bits loses its high bits unless x64 is enabled.
      impl: the generator, a `PRNGImpl` or its name.

    Returns:
      An array of keys of the seeds' shape.

    Raises:
      TypeError: if the seeds are not integers.
    """
    if type(seeds) is int:
        seeds = np.asarray(seeds, np.int64).astype(dtypes.canonicalize_dtype(np.int64))
    return random_seed_p.bind(seeds, impl=dtypes.key_dtype(impl).impl)


def random_wrap(words: Any, *, impl: Any) -> Any:
    """The keys stored as these words.

    Args:
      words: uint32 of shape `(*shape, *impl.key_shape)`.
      impl: the generator, a `PRNGImpl` or its name.

    Returns:
      An array of keys of shape `shape`.

    Raises:
      TypeError: if dtype or shape of the words do not fit the generator.
    """
    return random_wrap_p.bind(words, impl=dtypes.key_dtype(impl).impl)


@shape_rule(random_unwrap_p)
def _random_unwrap_shape(keys: ShapedArray) -> ShapedArray:
    _check_keys("random_unwrap", keys)
    return physical_aval(keys)


def random_unwrap(keys: Any) -> Any:
    """The words of an array of keys.

    Args:
      keys: an array of keys, of any shape.

    Returns:
      A uint32 array of shape `(*keys.shape, *key_shape)`.

    Raises:
      TypeError: if `keys` are no keys.
    """
    return random_unwrap_p.bind(keys)


@shape_rule(random_split_p)
def _random_split_shape(keys: ShapedArray, *, shape: Sequence[int], partitionable: bool = True) -> ShapedArray:
    _check_keys("random_split", keys)
    return keys.update(shape=(*keys.shape, *shape))


def random_split(keys: Any, shape: Sequence[int]) -> Any:
    """New keys from each key.

    Args:
      keys: an array of keys.
      shape: the shape of the new keys that each one gives.

    Returns:
      An array of keys of shape `(*keys.shape, *shape)`.

    Raises:
      TypeError: if `keys` are no keys, or the shape is no sequence of integers.
      ValueError: if the shape has a negative size.
    """
    return random_split_p.bind(keys, shape=_checked_shape("random_split", shape), **_layout_of_counters())


@shape_rule(random_fold_in_p)
def _random_fold_in_shape(keys: ShapedArray, data: ShapedArray) -> ShapedArray:
    _check_keys("random_fold_in", keys)
    if data.dtype != UINT32:
        raise DTypeError(f"random_fold_in: the data must be uint32, got {data.str_short()}")
    if not data.shape and not data._named:
        return keys
    return keys.update(shape=broadcast_avals("random_fold_in", (keys, data)), named_shape=joined_named_shape((keys, data)))


def random_fold_in(keys: Any, data: Any) -> Any:
    """The keys that follow from keys and 32-bit data.

    Args:
      keys: an array of keys.
      data: uint32 of the same shape; rank 0 of either stands for any shape.

    Returns:
      An array of keys of the keys' dtype and the common shape.

    Raises:
      TypeError: if `keys` are no keys, `data` is not uint32, or the shapes do not fit.
    """
    return random_fold_in_p.bind(keys, data)


def _layout_of_counters() -> dict[str, bool]:
    """The parameter that says the option `threefry_partitionable` is off: a program keeps what holds where the operation is written."""
    return {} if config.threefry_partitionable.value else {"partitionable": False}


@shape_rule(random_bits_p)
def _random_bits_shape(keys: ShapedArray, *, bit_width: int, shape: Sequence[int], partitionable: bool = True) -> ShapedArray:
    _check_keys("random_bits", keys)
    return keys.update(shape=(*keys.shape, *shape), dtype=UINT_DTYPES[bit_width])


def random_bits(keys: Any, bit_width: int, shape: Sequence[int]) -> Any:
    """Uniform random bits from each key.

    Args:
      keys: an array of keys.
      bit_width: 8, 16, 32 or 64.
      shape: the shape of what each key gives.

    Returns:
      Unsigned integers of that width, of shape `(*keys.shape, *shape)`.

    Raises:
      TypeError: if `keys` are no keys, or the width is none of the four, or 64 without x64 mode.
      ValueError: if the shape has a negative size.
    """
    if bit_width not in UINT_DTYPES:
        raise TypeError(f"random_bits: the bit width must be 8, 16, 32 or 64, got {bit_width!r}")
    if bit_width == 64 and not config.enable_x64.value and config.explicit_x64_dtypes.value != "allow":
        raise DTypeError("random_bits: integers of 64 bits need x64 mode; set the option enable_x64, or ask for 32 bits")
    return random_bits_p.bind(keys, bit_width=int(bit_width), shape=_checked_shape("random_bits", shape), **_layout_of_counters())


@shape_rule(random_clone_p)
def _random_clone_shape(keys: ShapedArray) -> ShapedArray:
    _check_keys("random_clone", keys)
    return keys


def random_clone(keys: Any) -> Any:
    """The same keys, which reuse checking takes for fresh ones.

    Args:
      keys: an array of keys, of any shape.

    Returns:
      An array of keys of the same shape and dtype.

    Raises:
      TypeError: if `keys` are no keys.
    """
    return random_clone_p.bind(keys)
