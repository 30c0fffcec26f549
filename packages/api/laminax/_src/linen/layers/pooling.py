"""Pooling: windows over the spatial axes of `[*batch, *spatial, features]`, each reduced to one number."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from laminax_ir.ops import elementwise
from laminax_ir.ops.windows import reduce_window

from laminax._src.linen.layers.arguments import expect_ndim
from laminax._src.numerics.numpy import namespace as jnp

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array


def pool(inputs: Array, init: Any, reduce_fn: Callable[[Array, Array], Array], window_shape: Sequence[int],
         strides: Sequence[int] | None, padding: Any) -> Array:
    """Reduces every window of the spatial axes by a monoid.

    Args:
      inputs: [*batch, *spatial, features], with any number of batch axes.
      init: the neutral value of `reduce_fn`.
      reduce_fn: an associative function of two numbers; `lax.add`, `lax.max` and `lax.min` have derivatives.
      window_shape: the window's sizes along the spatial axes.
      strides: steps between windows for each spatial axis; 1 by default.
      padding: "SAME", "VALID", or a pair (before, after) for each spatial axis; what is added is `init`.

    Returns:
      [*batch, *spatial, features], with a place for each window.

    Raises:
      ValueError: if the numbers of axes do not fit.

    Example:
      >>> import laminax as lx
      >>> from laminax import linen as nn, numpy as jnp
      >>> nn.pool(jnp.arange(4.0).reshape(1, 4, 1), 0.0, lx.lax.add, (2,), (2,), "VALID").ravel()
      Array([1., 5.], dtype=float32)
    """
    window = tuple(window_shape)
    strides = (1,) * len(window) if strides is None else tuple(strides)
    if len(strides) != len(window):
        raise ValueError(f"pool: strides={strides} has {len(strides)} entries, window_shape={window} has {len(window)}. Give one for each")
    expect_ndim("pool", inputs, len(window) + 1, f"[*batch, {', '.join(['spatial'] * len(window))}, features], "
                f"since window_shape has {len(window)} entries")
    batch = (1,) * (inputs.ndim - len(window) - 1)
    if not isinstance(padding, str):
        padding = (*((0, 0) for _ in batch), *_pairs(padding, window), (0, 0))
    return reduce_window(inputs, init, reduce_fn, (*batch, *window, 1), (*batch, *strides, 1), padding)


def _pairs(padding: Sequence[Sequence[int]], window: tuple[int, ...]) -> list[tuple[int, ...]]:
    pairs = [tuple(pair) for pair in padding]
    if len(pairs) != len(window) or any(len(pair) != 2 for pair in pairs):
        raise ValueError(f"pool: padding={padding!r} must be 'SAME', 'VALID', or a pair (before, after) for each of the "
                         f"{len(window)} axes of window_shape={window}")
    return pairs


def avg_pool(inputs: Array, window_shape: Sequence[int], strides: Sequence[int] | None = None, padding: Any = "VALID",
             count_include_pad: bool = True) -> Array:
    """The mean of each window.

    Args:
      inputs: [*batch, *spatial, features].
      window_shape: the window's sizes along the spatial axes.
      strides: steps between windows for each spatial axis; 1 by default.
      padding: "SAME", "VALID", or a pair (before, after) for each spatial axis; zeros are added.
      count_include_pad: whether these zeros count in the mean.

    Example:
      >>> from laminax import linen as nn, numpy as jnp
      >>> nn.avg_pool(jnp.arange(4.0).reshape(1, 4, 1), (2,), strides=(2,)).ravel()
      Array([0.5, 2.5], dtype=float32)
    """
    total = pool(inputs, 0.0, elementwise.add, window_shape, strides, padding)
    if count_include_pad:
        return total / np.prod(window_shape)
    spatial = len(window_shape)
    ones = jnp.ones((*(1,) * (inputs.ndim - spatial - 1), *inputs.shape[-spatial - 1:-1], 1))
    return total / pool(ones, 0.0, elementwise.add, window_shape, strides, padding)


def max_pool(inputs: Array, window_shape: Sequence[int], strides: Sequence[int] | None = None, padding: Any = "VALID") -> Array:
    """The maximum of each window; the arguments are those of `avg_pool`, and what is padded does not count.

    Example:
      >>> from laminax import linen as nn, numpy as jnp
      >>> nn.max_pool(jnp.arange(4.0).reshape(1, 4, 1), (2,), strides=(2,)).ravel()
      Array([1., 3.], dtype=float32)
    """
    return pool(inputs, -math.inf, elementwise.max, window_shape, strides, padding)


def min_pool(inputs: Array, window_shape: Sequence[int], strides: Sequence[int] | None = None, padding: Any = "VALID") -> Array:
    """The minimum of each window; the arguments are those of `avg_pool`, and what is padded does not count.

    Example:
      >>> from laminax import linen as nn, numpy as jnp
      >>> nn.min_pool(jnp.arange(4.0).reshape(1, 4, 1), (2,), strides=(2,)).ravel()
      Array([0., 2.], dtype=float32)
    """
    return pool(inputs, math.inf, elementwise.min, window_shape, strides, padding)
