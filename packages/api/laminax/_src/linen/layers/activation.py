"""Activations with parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from laminax._src.linen.calls import compact
from laminax._src.linen.module import Module
from laminax._src.numerics.nn.normalization import standardize
from laminax._src.numerics.numpy import namespace as jnp

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, DTypeLike


class PReLU(Module):
    """Rectified linear unit whose slope below zero is learned.

    Parameter: `negative_slope`, one number.

    Attributes:
      param_dtype: the dtype of the slope.
      negative_slope_init: its initial value.

    Source: He et al., "Delving Deep into Rectifiers", ICCV 2015.

    Example:
      >>> import laminax as lx
      >>> from laminax import linen as nn, numpy as jnp
      >>> layer = nn.PReLU(negative_slope_init=0.25)
      >>> variables = layer.init(lx.random.key(0), jnp.ones(3))
      >>> layer.apply(variables, jnp.array([-2.0, 0.0, 2.0]))
      Array([-0.5,  0. ,  2. ], dtype=float32)
    """

    param_dtype: DTypeLike = jnp.float32
    negative_slope_init: float = 0.01

    @compact
    def __call__(self, inputs: Array) -> Array:
        """The input where it is at least 0, elsewhere the slope times the input."""
        slope = self.param("negative_slope", lambda key: jnp.asarray(self.negative_slope_init, self.param_dtype))
        return jnp.where(inputs >= 0, inputs, jnp.asarray(slope, inputs.dtype) * inputs)


normalize = standardize  # the older name of it
