"""Truth values, and the choice between two values by them: what reductions, sorting and selection are made of."""

from __future__ import annotations

from typing import Any

import numpy as np

from laminax_ir.ops import elementwise as op
from laminax_ir.ops.scalar_operands import scalar_like
from laminax_ir.ops.shape import broadcast_to_shape
from laminax_ir.ops.shape_arguments import broadcast_shapes
from laminax_ir.types import dtypes
from laminax_ir.types.errors import DTypeError

from laminax._src.numerics.floor import fused
from laminax._src.numerics.numpy.arguments import dtype_of, ensure_arrays, promote_dtypes, shape_of

_BOOL = np.dtype(bool)


def truth_of(x: Any, name: str = "where") -> Any:
    """The truth value of each element: whether it is not 0.

    Args:
      x: an array or scalar of numbers or bools.
      name: the function that asks, for the message.

    Raises:
      TypeError: if it is an array of random keys, which have none.
    """
    if type(x) in dtypes.python_scalar_types:
        return bool(x)
    if dtypes.is_extended(dtype_of(x)):
        raise DTypeError(f"{name} does not accept dtype {dtype_of(x)}: random keys have no truth value. random.key_data(keys) gives their "
                         "words.")
    return x if dtype_of(x) == _BOOL else op.ne(x, scalar_like(0, dtype_of(x)))


@fused
def _where(condition: Any, x: Any, y: Any) -> Any:
    """Elements of x where the condition holds, of y elsewhere: `where` of three arguments, under the name that its program has."""
    condition, x, y = ensure_arrays("where", condition, x, y)
    condition = truth_of(condition)
    x, y = promote_dtypes("where", x, y)
    shapes = shape_of(condition), shape_of(x), shape_of(y)
    if shapes[0] == shapes[1] == shapes[2]:
        return op.select(condition, x, y)
    try:
        shape = broadcast_shapes(*shapes)
    except ValueError:
        raise ValueError(f"where: incompatible shapes for broadcasting: condition {shapes[0]}, x {shapes[1]}, "
                         f"y {shapes[2]}") from None
    if shapes[0]:  # a scalar condition need not be repeated
        condition = broadcast_to_shape(condition, shape)
    return op.select(condition, repeated(x, shape), repeated(y, shape))


def repeated(x: Any, shape: tuple[int, ...]) -> Any:
    """x, broadcast to a shape that it may have already."""
    return x if shape_of(x) == shape else broadcast_to_shape(x, shape)
