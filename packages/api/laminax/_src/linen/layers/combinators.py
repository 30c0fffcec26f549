"""Layers made of other layers, and functions of one batch axis applied to several."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from laminax_ir.pytrees import pytree

from laminax._src.linen.calls import compact
from laminax._src.linen.module import Module
from laminax._src.numerics.numpy import namespace as jnp

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array


class Sequential(Module):
    """Layers one after the other.

    A layer that returns a tuple gives the next one several arguments, one that returns a dictionary gives it keyword arguments.

    Attributes:
      layers: modules and functions.

    Example:
      >>> import laminax as lx
      >>> from laminax import linen as nn, numpy as jnp
      >>> model = nn.Sequential([nn.Dense(4), nn.relu, nn.Dense(2)])
      >>> variables = model.init(lx.random.key(0), jnp.ones((1, 3)))
      >>> lx.tree.map(jnp.shape, variables["params"])
      {'layers_0': {'bias': (4,), 'kernel': (3, 4)}, 'layers_2': {'bias': (2,), 'kernel': (4, 2)}}
    """

    layers: Sequence[Callable[..., Any]]

    def __post_init__(self) -> None:
        """Checks that the layers are a sequence."""
        if not isinstance(self.layers, Sequence):
            raise ValueError(f"'layers' must be a sequence, got '{type(self.layers).__name__}'.")
        super().__post_init__()

    @compact
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the first layer with the arguments, each other one with the result of the one before."""
        if not self.layers:
            raise ValueError(f"Empty Sequential module {self.name}. Give it at least one layer")
        result = self.layers[0](*args, **kwargs)
        for layer in self.layers[1:]:
            if isinstance(result, tuple):
                result = layer(*result)
            elif isinstance(result, dict):
                result = layer(**result)
            else:
                result = layer(result)
        return result


class BatchApply:
    """A function of arrays with one batch axis as a function of arrays with several.

    The leading axes of the arguments are taken together, and those of the results split again; arguments with fewer axes are
    passed as they are.

    Args:
      f: a function, or a module.
      num_dims: how many batch axes there are.

    Example:
      >>> from laminax import linen as nn, numpy as jnp
      >>> nn.BatchApply(lambda x: x.sum(axis=1), num_dims=2)(jnp.ones((2, 3, 4))).shape
      (2, 3)
    """

    def __init__(self, f: Callable[..., Any], num_dims: int = 2) -> None:
        self._f = f
        self.num_dims = num_dims

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The function's results for the merged arguments, with the batch axes restored.

        Raises:
          ValueError: if no argument has `num_dims` axes.
        """
        count = self.num_dims
        batch = next((jnp.shape(x)[:count] for x in pytree.tree_leaves((args, kwargs)) if jnp.ndim(x) >= count), None)
        if batch is None:
            raise ValueError(f"BatchApply requires at least one input with ndim >= {count}.")

        def merged(x: Any) -> Array:
            return x if jnp.ndim(x) < count else jnp.reshape(x, (math.prod(jnp.shape(x)[:count]), *jnp.shape(x)[count:]))

        args, kwargs = pytree.tree_map(merged, (args, kwargs))
        return pytree.tree_map(lambda y: jnp.reshape(y, (*batch, *jnp.shape(y)[1:])), self._f(*args, **kwargs))
