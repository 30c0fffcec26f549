"""Whether a parameter has the shape that its initializer would give it."""

from __future__ import annotations

from typing import Any, Callable, Mapping

import numpy as np

from laminax_ir.pytrees.pytree import tree_leaves

from laminax._src.linen.errors import ScopeParamShapeError
from laminax._src.numerics.floor import eval_shape
from laminax._src.numerics.random import keys as random_keys


def check_shapes(
    name: str, path: str, value: Any, init_fn: Callable[..., Any], init_args: tuple[Any, ...], init_kwargs: Mapping[str, Any]
) -> None:
    """Raises where a parameter was given in another shape than it would be initialized in.

    Raises:
      ScopeParamShapeError: with both shapes.
    """
    expected = eval_shape(lambda: init_fn(random_keys.key(0), *init_args, **init_kwargs))
    for given, wanted in zip(tree_leaves(value), tree_leaves(expected)):
        if np.shape(given) != np.shape(wanted):
            raise ScopeParamShapeError(name, path, np.shape(given), np.shape(wanted))
