"""Random keys: made from seeds, split, and folded into.

A key is either typed, an array of dtype `key<fry>`, or raw, the uint32 words of one. Functions that return keys
return the kind they were given.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NewType, Sequence

import numpy as np

from laminax_ir.key_arrays.keys import PRNGKeyArray, check_key_data
from laminax_ir.ops import random_bits as ops
from laminax_ir.ops.elementwise import convert_element_type
from laminax_ir.ops.slicing import index_in_dim
from laminax_ir.options import config
from laminax_ir.tracing.trace import Tracer, eval_trace, state
from laminax_ir.tracing.user_warnings import warn_at_user
from laminax_ir.types import dtypes
from laminax_ir.types.avals import is_array_like
from laminax_ir.types.dtypes import KeyDType, PRNGImpl, prng_impls

from laminax._src.numerics.floor import as_array

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike, DTypeLike

# What generator is meant


class PRNGSpec:
    """Names a generator; hashable, equal when the generators are."""

    __slots__ = ("_impl",)

    def __init__(self, impl: PRNGImpl) -> None:
        self._impl = impl

    def __eq__(self, other: Any) -> Any:
        return isinstance(other, PRNGSpec) and self._impl == other._impl

    def __hash__(self) -> int:
        return hash(self._impl)

    def __repr__(self) -> str:
        return f"PRNGSpec({self._impl.name!r})"

    def __str__(self) -> str:
        return str(self._impl)


Key = NewType("Key", PRNGKeyArray)
Key.__doc__ = """The type of random keys, for annotations: what functions of random numbers take.

    Example:
      >>> def noise(key: random.Key):
      ...     return random.normal(key, (2,))
      >>> noise(random.key(0)).shape
      (2,)
    """


def default_prng_impl() -> PRNGImpl:
    """The generator of keys that do not name one: the option `default_prng_impl`."""
    return prng_impls[config.default_prng_impl.value]


def resolve_prng_impl(spec: Any) -> PRNGImpl:
    """The generator for a name, a spec, a key dtype, or None for the default.

    Raises:
      ValueError: if no generator has the name.
      TypeError: if it is none of these.
    """
    if spec is None:
        return default_prng_impl()
    if isinstance(spec, PRNGImpl):
        return spec
    if isinstance(spec, PRNGSpec):
        return spec._impl
    if isinstance(spec, KeyDType):
        return spec.impl
    if isinstance(spec, str):
        if spec in prng_impls:
            return prng_impls[spec]
        raise ValueError(f'unrecognized PRNG implementation "{spec}". Did you mean one of: '
                         + ", ".join(f'"{name}"' for name in prng_impls) + "?")
    raise TypeError(f"unrecognized type {type(spec)} for specifying a PRNG implementation; give a name such as 'threefry2x32'")


def _one_of(function: str, impl: Any, dtype: Any) -> PRNGImpl:
    if impl is not None and dtype is not None:
        raise ValueError(f"random.{function}: Cannot specify both `impl` and `dtype`: both name the generator, impl={impl!r} and "
                         f"dtype={dtype!r}; give one of them")
    return resolve_prng_impl(dtype if impl is None else impl)


def key_dtype(impl_spec: Any = None) -> KeyDType:
    """The dtype of a generator's keys, `key<fry>` by default.

    Args:
      impl_spec: the generator: its name, a key dtype, or None for the default.

    Returns:
      A dtype of keys.

    Raises:
      ValueError: if no generator has the name.
      TypeError: if it is something else.

    Example:
      >>> random.key_dtype("rbg")
      key<rbg>
    """
    return dtypes.key_dtype(resolve_prng_impl(impl_spec))


# Typed and raw keys


def is_typed(key: Any) -> bool:
    """Whether this is an array of keys, not of words."""
    return dtypes.is_extended(getattr(key, "dtype", None))


def typed_key(function: str, key: Any, *, allow_batched: bool = False) -> Any:
    """The argument `key` of a function as a typed key.

    Raises:
      TypeError: if it is no key: not an array, or not one of the words of the default generator.
      ValueError: if it is an array of keys, and one key is wanted.
    """
    if is_typed(key):
        typed = key
    elif is_array_like(key):
        typed = _wrapped(function, key, default_prng_impl())
        _report_legacy_key(function)
    else:
        raise TypeError(f"random.{function}: unexpected PRNG key type {type(key)}; make a key with random.key(seed)")
    if typed.ndim and not allow_batched:
        raise ValueError(f"{function} accepts a single key, but was given a key array of shape {tuple(key.shape)} != (). "
                         "Use vmap for batching.")
    return typed


def _report_legacy_key(function: str) -> None:
    """What the option `legacy_prng_key` says about keys that are words."""
    if (level := config.legacy_prng_key.value) == "allow":
        return
    message = (f"Legacy uint32 key array passed as key to jax.random function: random.{function} got one. Make keys with "
               'random.key(seed), or wrap these words with random.wrap_key_data. If they are meant, set legacy_prng_key="allow".')
    if level == "error":
        raise ValueError(message)
    warn_at_user(message)


def _wrapped(function: str, words: Any, impl: PRNGImpl) -> Any:
    """`random_wrap` for a public function, without a compiled call where there is nothing to compute."""
    check_key_data(f"random.{function}", impl, words)
    if isinstance(words, Tracer) or state.trace is not eval_trace:
        return ops.random_wrap(words, impl=impl)
    return PRNGKeyArray(impl, as_array(words))


def _unwrapped(keys: Any) -> Any:
    """`random_unwrap`, likewise."""
    if isinstance(keys, PRNGKeyArray) and state.trace is eval_trace:
        return keys.base
    return ops.random_unwrap(keys)


def split_typed(key: Any, num: int = 2) -> list:
    """`num` typed keys from a typed one."""
    keys = ops.random_split(key, (num,))
    return [index_in_dim(keys, i, keepdims=False) for i in range(num)]


# The public functions


def _seeded(function: str, seed: Any, impl: PRNGImpl) -> Any:
    if is_typed(seed):
        raise TypeError(f"{function} accepts a scalar seed, but was given a PRNG key.")
    if np.ndim(seed) if not hasattr(seed, "ndim") else seed.ndim:
        raise TypeError(f"{function} accepts a scalar seed, but was given an array of shape {np.shape(seed)} != (). "
                        "Use vmap for batching")
    if offset := config.random_seed_offset.value:
        seed = seed + offset
    return ops.random_seed(seed, impl)


def key(seed: Any, *, impl: Any = None, dtype: DTypeLike | None = None) -> Array:
    """Makes a random key from an integer.

    Args:
      seed: an integer scalar. Without x64 mode, only its low 32 bits count.
      impl: the generator: 'threefry2x32', 'threefry4x32', 'philox2x32', 'philox4x32', 'rbg' or 'unsafe_rbg', or one that
        `extend.random.define_prng_impl` made; by default the option `default_prng_impl`.
      dtype: the same choice as a key dtype, such as `key_dtype('rbg')`.

    Returns:
      A scalar of dtype `key<fry>` (or of the chosen generator's).

    Raises:
      TypeError: if the seed is no integer scalar.
      ValueError: if no generator has the name, or both `impl` and `dtype` are given.

    Example:
      >>> split(key(0)).shape
      (2,)
    """
    return _seeded("key", seed, _one_of("key", impl, dtype))


def PRNGKey(seed: Any, *, impl: Any = None) -> Array:
    """Makes a raw random key from an integer: the words of `key(seed)`, uint32 of shape (2,), or (4,) for 'rbg'.

    The words do not say which generator they are for: functions take them for the default one's. `key` is better.

    Args:
      seed: an integer scalar.
      impl: the generator; by default the option `default_prng_impl`.

    Returns:
      The words, or while the option `enable_custom_prng` is on what `key` returns.

    Raises:
      TypeError: if the seed is no integer scalar.
      ValueError: if no generator has the name.

    Example:
      >>> random.PRNGKey(0)
      Array([0, 0], dtype=uint32)
    """
    made = _seeded("PRNGKey", seed, resolve_prng_impl(impl))
    return made if config.enable_custom_prng.value else _unwrapped(made)


def split(key: ArrayLike, num: int | Sequence[int] = 2) -> Array:
    """Makes new keys from one, independent of each other; the old one should not be used again.

    Args:
      key: a key, typed or raw.
      num: how many, or the shape of an array of them.

    Returns:
      An array of keys of shape `(num,)`, or `num` if that is a shape; of a raw key, the words with one more axis.

    Example:
      >>> a, b = random.split(random.key(0))
      >>> bool(random.normal(a) == random.normal(b))
      False
    """
    shape = tuple(num) if isinstance(num, Sequence) else (num,)
    return _like(key, ops.random_split(typed_key("split", key), shape))


def fold_in(key: ArrayLike, data: ArrayLike) -> Array:
    """Makes a new key from a key and an integer, such as a step or a device number.

    Args:
      key: a key, typed or raw.
      data: an integer scalar; its low 32 bits count.

    Raises:
      TypeError: if `data` is no scalar.

    Example:
      >>> [random.randint(random.fold_in(random.key(0), step), (), 0, 100).item() for step in range(3)]
      [91, 22, 59]
    """
    typed = typed_key("fold_in", key)
    if np.ndim(data) if not hasattr(data, "ndim") else data.ndim:
        raise TypeError(f"fold_in accepts a scalar, but was given an array of shape {tuple(np.shape(data))} != (). "
                        "Use vmap for batching.")
    data = np.uint32(data) if isinstance(data, int) else convert_element_type(data, np.uint32)
    return _like(key, ops.random_fold_in(typed, data))


def clone(key: ArrayLike) -> Array:
    """The same key, for a deliberate second use of it.

    Example:
      >>> random.clone(random.key(0)) == random.key(0)
      Array(True, dtype=bool)
    """
    return _like(key, ops.random_clone(typed_key("clone", key, allow_batched=True)))


def key_data(keys: ArrayLike) -> Array:
    """The words of an array of keys: uint32 of shape `(*keys.shape, *key_shape)`; raw keys as they are.

    Example:
      >>> random.key_data(random.key(7))
      Array([0, 7], dtype=uint32)
    """
    return _unwrapped(typed_key("key_data", keys, allow_batched=True))


def wrap_key_data(key_bits_array: ArrayLike, *, impl: Any = None, dtype: DTypeLike | None = None) -> Array:
    """The array of typed keys with these words.

    Args:
      key_bits_array: uint32; its last axis is that of a key's words.
      impl: the generator; by default the option `default_prng_impl`.
      dtype: the same choice as a key dtype.

    Raises:
      TypeError: if shape or dtype do not fit the generator.

    Example:
      >>> random.wrap_key_data(random.key_data(random.key(7))) == random.key(7)
      Array(True, dtype=bool)
    """
    return _wrapped("wrap_key_data", key_bits_array, _one_of("wrap_key_data", impl, dtype))


def key_impl(keys: ArrayLike) -> str | PRNGSpec:
    """The name of the generator of an array of keys; for one that `extend.random.define_prng_impl` defined, what that returned.

    Example:
      >>> random.key_impl(random.key(0))
      'threefry2x32'
    """
    impl = typed_key("key_impl", keys, allow_batched=True).dtype.impl
    return impl.name if impl.functions is None else PRNGSpec(impl)


def _like(key: Any, result: Any) -> Any:
    return result if is_typed(key) else _unwrapped(result)
