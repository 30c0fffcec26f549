# Written by tools/stubs.py.
"""Generators of random bits. A table of contents: names load on first use."""

from collections.abc import Callable, Sequence
from laminax._src.numerics.random.keys import PRNGSpec
from laminax_ir.key_arrays.keys import PRNGKeyArray
from laminax_ir.programs.primitive import Primitive
from laminax_ir.types.dtypes import PRNGImpl as _PRNGImpl
from laminax_ir.types.extended_dtypes import PRNGImpl
from typing import Any

__all__: list[str]

def define_prng_impl(
    *,
    key_shape: Sequence[int],
    seed: Callable[..., Any],
    split: Callable[..., Any],
    random_bits: Callable[..., Any],
    fold_in: Callable[..., Any],
    name: str = '<unnamed>',
    tag: str = '?',
) -> PRNGSpec:
    """A generator of random bits, to be given to `random.key` and `random.wrap_key_data` as `impl`."""
def random_seed(seeds: Any, impl: Any) -> PRNGKeyArray:
    """Typed keys of a generator, one for each seed."""
rbg_prng_impl: PRNGImpl
def seed_with_impl(impl: _PRNGImpl, seed: Any) -> PRNGKeyArray:
    """A typed key of a generator."""
threefry2x32_p: Primitive
def threefry_2x32(keypair: Any, count: Any) -> Any:
    """The Threefry 2x32 hash of counters."""
threefry_prng_impl: PRNGImpl
unsafe_rbg_prng_impl: PRNGImpl
