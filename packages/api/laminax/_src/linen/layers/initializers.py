"""Functions that return initializers of constants, beside those of `laminax.nn.initializers`."""

from __future__ import annotations

from laminax._src.numerics.nn.initializers import Initializer, ones, zeros


def zeros_init() -> Initializer:
    """The initializer `zeros`, for code that calls what makes initializers.

    Example:
      >>> import laminax as lx
      >>> from laminax import linen as nn
      >>> nn.zeros_init()(lx.random.key(0), (2,))
      Array([0., 0.], dtype=float32)
    """
    return zeros


def ones_init() -> Initializer:
    """The initializer `ones`, for code that calls what makes initializers.

    Example:
      >>> import laminax as lx
      >>> from laminax import linen as nn
      >>> nn.ones_init()(lx.random.key(0), (2,))
      Array([1., 1.], dtype=float32)
    """
    return ones
