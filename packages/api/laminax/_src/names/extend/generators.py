"""Generators of random bits of the user's own: functions of one key, which become those of arrays of keys by `vmap`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Sequence

import numpy as np

from laminax_ir.ops.random_bits import UINT32, UINT_DTYPES
from laminax_ir.types.avals import get_aval
from laminax_ir.types.dtypes import PRNGImpl
from laminax_ir.types.extended_dtypes import WordFunctions
from laminax_transforms import vmap

import laminax.numpy as jnp
from laminax._src.numerics.random.keys import PRNGSpec

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike


def define_prng_impl(*, key_shape: Sequence[int], seed: Callable, split: Callable, random_bits: Callable, fold_in: Callable,
                     name: str = "<unnamed>", tag: str = "?") -> PRNGSpec:
    """A generator of random bits, to be given to `random.key` and `random.wrap_key_data` as `impl`.

    Args:
      key_shape: the shape of the uint32 words of a key.
      seed: from an integer scalar to a key, u32[*key_shape].
      split: from a key and a shape to new keys, u32[*shape, *key_shape].
      random_bits: from a key, a width (8, 16, 32 or 64) and a shape to unsigned integers of that width and shape.
      fold_in: from a key and a u32[] to a key.
      name: what the generator is called.
      tag: what its keys' dtype shows, `key<tag>`.

    Returns:
      What names the generator; generators are equal if they are one.

    Raises:
      TypeError: when keys are made or used, if a function returns something of another shape or dtype.
    """
    key_shape = tuple(key_shape)
    rank = len(key_shape)

    def seeds(values: ArrayLike) -> Array:
        return _mapped(lambda s: _checked("seed", name, seed(s), key_shape, UINT32), values.ndim)(values)

    def splits(words: ArrayLike, *, shape: tuple[int, ...]) -> Array:
        return _mapped(lambda k: _checked("split", name, split(k, shape), (*shape, *key_shape), UINT32), words.ndim - rank)(words)

    def folds(words: ArrayLike, data: ArrayLike) -> Array:
        keys = np.broadcast_shapes(words.shape[:words.ndim - rank], data.shape)
        words, data = jnp.broadcast_to(words, (*keys, *key_shape)), jnp.broadcast_to(data, keys)
        return _mapped(lambda k, d: _checked("fold_in", name, fold_in(k, d), key_shape, UINT32), len(keys))(words, data)

    def bits(words: ArrayLike, *, bit_width: int, shape: tuple[int, ...]) -> Array:
        expected = UINT_DTYPES[bit_width]
        return _mapped(lambda k: _checked("random_bits", name, random_bits(k, bit_width, shape), shape, expected), words.ndim - rank)(words)

    return PRNGSpec(PRNGImpl(name, tag, key_shape, WordFunctions(seeds, splits, folds, bits)))


def _mapped(function: Callable, times: int) -> Callable:
    for _ in range(times):
        function = vmap(function)
    return function


def _checked(parameter: str, name: str, result: Any, shape: tuple[int, ...], dtype: np.dtype) -> Any:
    aval = get_aval(result)
    if (aval.shape, aval.dtype) != (shape, dtype):
        raise TypeError(f"define_prng_impl: {parameter} of the generator {name!r} must return an array of shape {shape} and dtype {dtype}, "
                        f"got {aval.str_short()}. Convert or reshape it.")
    return jnp.asarray(result)
