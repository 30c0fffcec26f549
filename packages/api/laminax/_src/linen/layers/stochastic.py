"""Dropout."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from laminax_ir.ops.elementwise import select

from laminax._src.linen.calls import compact
from laminax._src.linen.functional import merge_param
from laminax._src.linen.module import Module
from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.random import samplers

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array


class Dropout(Module):
    """Sets each element of the input to 0 with probability `rate` and divides the others by 1 - rate.

    Attributes:
      rate: the probability that an element is dropped, from 0 to 1.
      broadcast_dims: axes along which elements are dropped or kept together.
      deterministic: whether the input is returned as it is (at evaluation); given here or to the call.
      rng_collection: the name of the stream of keys that a key is taken from.

    Source: Srivastava et al., "Dropout", JMLR 2014.

    Example:
      >>> import laminax as lx
      >>> from laminax import linen as nn, numpy as jnp
      >>> layer = nn.Dropout(rate=0.5, deterministic=False)
      >>> y = layer.apply({}, jnp.ones((2, 3)), rngs={"dropout": lx.random.key(0)})
      >>> bool(((y == 0) | (y == 2)).all())
      True
    """

    rate: float
    broadcast_dims: Sequence[int] = ()
    deterministic: bool | None = None
    rng_collection: str = "dropout"

    @compact
    def __call__(self, inputs: Array, deterministic: bool | None = None, rng: Array | None = None) -> Array:
        """Drops elements of the input.

        Args:
          inputs: an array.
          deterministic: whether nothing is dropped, where the layer was made without saying so.
          rng: the key to use; by default one of the stream `rng_collection`.
        """
        deterministic = merge_param("deterministic", self.deterministic, deterministic)
        rate: Any = self.rate
        if isinstance(rate, (int, float)) and not 0 <= rate <= 1:
            raise ValueError(f"Dropout: rate={rate} must be a probability, from 0 to 1")
        if deterministic or rate == 0.0:
            return inputs
        if rate == 1.0:  # 0 / 0 below, whose derivative is NaN
            return jnp.zeros_like(inputs)
        kept = 1.0 - rate
        key = self.make_rng(self.rng_collection) if rng is None else rng
        shape = list(inputs.shape)
        for axis in self.broadcast_dims:
            shape[axis] = 1
        mask = jnp.broadcast_to(samplers.bernoulli(key, p=kept, shape=shape), inputs.shape)
        return select(mask, inputs / kept, jnp.zeros_like(inputs))
