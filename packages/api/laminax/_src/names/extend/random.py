"""Generators of random bits, by the names that JAX's extension interface gives them."""

from __future__ import annotations

from typing import Any

from laminax_ir.key_arrays.keys import PRNGKeyArray
from laminax_ir.ops.random_bits import random_seed as seeded
from laminax_ir.ops.random_bits import threefry2x32, threefry2x32_p
from laminax_ir.types.dtypes import PRNGImpl, prng_impls

import laminax.numpy as jnp
from laminax._src.numerics.random import keys

__all__ = ["threefry2x32_p"]

threefry_prng_impl = prng_impls["threefry2x32"]
rbg_prng_impl = prng_impls["rbg"]
unsafe_rbg_prng_impl = prng_impls["unsafe_rbg"]


def seed_with_impl(impl: PRNGImpl, seed: Any) -> PRNGKeyArray:
    """A typed key of a generator.

    Args:
      impl: `threefry_prng_impl`, `rbg_prng_impl` or `unsafe_rbg_prng_impl`.
      seed: an integer.
    """
    return keys.key(seed, impl=impl)


def random_seed(seeds: Any, impl: Any) -> PRNGKeyArray:
    """Typed keys of a generator, one for each seed.

    Args:
      seeds: integers of any shape.
      impl: the generator, as `random.key` takes it: also what `define_prng_impl` returns, or a name.
    """
    return seeded(seeds, keys.resolve_prng_impl(impl))


def threefry_2x32(keypair: Any, count: Any) -> Any:
    """The Threefry 2x32 hash of counters.

    Args:
      keypair: two u32[] words.
      count: u32[...], the first half of which are the first words of the counters, and the second half the second.

    Returns:
      u32[...] of the counters' shape.
    """
    count = jnp.asarray(count)
    flat = jnp.ravel(count)
    padded = jnp.concatenate([flat, jnp.zeros(flat.size % 2, flat.dtype)])
    half = padded.size // 2
    first, second = threefry2x32(keypair[0], keypair[1], padded[:half], padded[half:])
    return jnp.reshape(jnp.concatenate([first, second])[:flat.size], count.shape)
