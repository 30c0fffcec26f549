"""Generators that advance by themselves, in the manner of `numpy.random.default_rng`: a key, and a reference that counts.

The n-th key drawn is `fold_in(base key, n)`.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Sequence

import numpy as np

from laminax_ir.pytrees.pytree import register_dataclass
from laminax_ir.refs.refs import Ref, new_ref
from laminax_ir.tracing.trace import is_tracing
from laminax_ir.types import dtypes
from laminax_ir.types.avals import get_aval, is_array_like

from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.random import keys as random_keys
from laminax._src.numerics.random import samplers

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array


@register_dataclass
@dataclass(frozen=True)
class StatefulPRNG:
    """A generator of random numbers; made by `stateful_rng`.

    It is a pytree of its key and its counter, and may be an argument of transformed functions and used in them, but not, as no reference
    may, a result of them or the carry of a loop.
    """

    _base_key: Any
    _counter: Ref

    def __post_init__(self) -> None:
        key, counter = self._base_key, self._counter  # in trees of other leaves than arrays they may be anything
        if not hasattr(key, "dtype"):
            return
        if not dtypes.is_extended(key.dtype):
            raise ValueError(f"StatefulPRNG: Expected base_key to be a typed PRNG key; got {get_aval(key).str_short()}. Make one "
                             "with random.key, or the generator with stateful_rng.")
        if is_array_like(counter):
            raise ValueError(f"StatefulPRNG: Expected counter to be a scalar integer ref; got {counter!r:.80}. Make one with new_ref(0), "
                             "or the generator with stateful_rng.")

    def key(self, shape: int | Sequence[int] = ()) -> Array:
        """The next key, or an array of new ones of the given shape."""
        key = random_keys.fold_in(self._base_key, self._counter[...])
        self._counter.addupdate(1)
        return key if _is_empty(shape) else random_keys.split(key, shape)

    def random(self, size: int | Sequence[int] | None = None, dtype: Any = float) -> Array:
        """Uniform floats in [0, 1); parameters as for `uniform`."""
        return self.uniform(0, 1, size, dtype=dtype)

    def uniform(self, low: Any = 0, high: Any = 1, size: int | Sequence[int] | None = None, *, dtype: Any = float) -> Any:
        """Uniform floats in [low, high).

        Args:
          low, high: real scalars or arrays, broadcast against each other.
          size: the shape of the result, an int or ints; by default that of low and high together.
          dtype: a float dtype.
        """
        return samplers.uniform(self.key(), _shape(size, low, high), dtype, low, high)

    def normal(self, loc: Any = 0, scale: Any = 1, size: int | Sequence[int] | None = None, *, dtype: Any = float) -> Array:
        """Normal floats of mean loc and standard deviation scale; parameters otherwise as for `uniform`."""
        return loc + scale * samplers.normal(self.key(), _shape(size, loc, scale), dtype)

    def integers(self, low: Any, high: Any = None, size: int | Sequence[int] | None = None, *, dtype: Any = int) -> Array:
        """Uniform integers in [low, high), or in [0, low) without high; `dtype` is an integer dtype, size as for `uniform`."""
        if high is None:
            low, high = 0, low
        return samplers.randint(self.key(), _shape(size, low, high), low, high, dtype)

    def split(self, num: int | Sequence[int]) -> StatefulPRNG:
        """Independent generators as one with an array of keys of shape `num`: what `vmap` maps over."""
        keys = self.key(num)
        return StatefulPRNG(keys, new_ref(jnp.zeros(keys.shape, int)))

    def spawn(self, n_children: int) -> list[StatefulPRNG]:
        """A list of `n_children` independent generators."""
        count = operator.index(n_children)
        if count < 0:
            raise ValueError(f"StatefulPRNG.spawn: n_children must not be negative, got {n_children}")
        return [StatefulPRNG(key, new_ref(0)) for key in self.key(count)]


def _is_empty(shape: Any) -> bool:
    return not hasattr(shape, "__index__") and not tuple(shape)


def _shape(size: int | Sequence[int] | None, *bounds: Any) -> tuple[int, ...]:
    if size is None:
        return np.broadcast_shapes(*[np.shape(x) for x in bounds])
    given: Any = size
    return (given,) if hasattr(given, "__index__") else tuple(given)


def stateful_rng(seed: Any = None, *, impl: Any = None) -> StatefulPRNG:
    """A generator of random numbers that advances with every draw.

    Args:
      seed: an integer; by default one drawn by NumPy, which only works outside of traced functions.
      impl: the algorithm, as for `random.key`.

    Returns:
      A generator, with the methods `key`, `random`, `uniform`, `normal`, `integers`, `split` and `spawn`.

    Raises:
      TypeError: without a seed in a traced function.

    Example:
      >>> rng = stateful_rng(0)
      >>> draw = jit(lambda: rng.normal(size=3))
      >>> draw(), draw()  # are different
    """
    if seed is None:
        if is_tracing():
            raise TypeError("stateful_rng: in a traced function a seed must be given; without one every call would draw the same numbers. "
                            "When used within transformed code, write stateful_rng(seed).")
        seed = int(np.random.default_rng().integers(2**32))
    return StatefulPRNG(random_keys.key(seed, impl=impl), new_ref(0))
