"""Matrix product of arrays of any rank, as `numpy.matmul` defines it, on `dot_general`."""

from __future__ import annotations

from typing import Any

from laminax_ir.functions.promoted_operands import promote_dtypes
from laminax_ir.ops.contraction import dot_general
from laminax_ir.ops.shape import broadcast_to_shape, squeeze
from laminax_ir.ops.shape_arguments import common_shape
from laminax_ir.types.avals import get_aval
from laminax_ir.types.errors import ShapeError


def matmul(x: Any, y: Any, *, precision: Any = None, preferred_element_type: Any = None) -> Any:
    """Matrix product of the last two axes, leading axes broadcast against each other.

    Args:
      x: an array of rank at least 1; rank 1 is a row vector, whose axis is dropped again.
      y: an array of rank at least 1; rank 1 is a column vector.
      precision: see `dot_general`.
      preferred_element_type: dtype to sum in and return.

    Raises:
      ValueError: for a scalar operand.
      TypeError: if the contracted sizes differ or leading axes do not broadcast.
    """
    x_shape, y_shape = get_aval(x).shape, get_aval(y).shape
    if not x_shape or not y_shape:
        raise ValueError(f"matmul: operands must have at least one axis, got {get_aval(x).str_short()} and "
                         f"{get_aval(y).str_short()}. Use * to scale by a scalar.")
    k, m = x_shape[-1], y_shape[-2 if len(y_shape) > 1 else 0]
    if k != m:
        raise ShapeError(f"dot_general requires contracting dimensions to have the same shape, got ({k},) and ({m},): "
                         f"matmul of {get_aval(x).str_short()} and {get_aval(y).str_short()}.")
    x, y = promote_dtypes(x, y)
    options = {"precision": precision, "preferred_element_type": summed_in(x, preferred_element_type)}
    x_rank, y_rank = len(x_shape), len(y_shape)
    if y_rank <= 2:  # the common cases need no batch axes
        return dot_general(x, y, (((x_rank - 1,), (max(y_rank - 2, 0),)), ((), ())), **options)
    if x_rank == 1:
        return _vector_times_stack(x, y, options)
    return _stack_times_stack(x, y, x_shape[:-2], y_shape[:-2], options)


def summed_in(x: Any, preferred_element_type: Any) -> Any:
    """The dtype to sum in and return, for a product of x and another array of its dtype: by default theirs, said outright.

    The product of weakly typed arrays is weakly typed, which only a product without a preferred dtype is.
    """
    if preferred_element_type is not None:
        return preferred_element_type
    aval = get_aval(x)
    return None if aval.weak_type else aval.dtype


def _vector_times_stack(x: Any, y: Any, options: Any) -> Any:
    return dot_general(y, x, (((len(y.shape) - 2,), (0,)), ((), ())), **options)


def _stack_times_stack(x: Any, y: Any, x_batch: Any, y_batch: Any, options: Any) -> Any:
    """Shared leading axes are batch axes; an axis of size 1 on one side is dropped there and put back in order."""
    try:
        batch = common_shape(x_batch, y_batch)
    except ValueError:
        raise ShapeError(f"matmul: the leading axes {x_batch} and {y_batch} cannot be broadcast together") from None
    rank = len(batch)
    if all(size == 1 for size in y_batch) and len(y_batch) <= len(x_batch):
        return dot_general(x, squeeze(y, tuple(range(len(y_batch)))),
                           (((len(x.shape) - 1,), (0,)), ((), ())), **options)
    x = _with_rank(x, rank + 2, batch)
    y = _with_rank(y, rank + 2, batch)
    axes = tuple(range(rank))
    return dot_general(x, y, (((rank + 1,), (rank,)), (axes, axes)), **options)


def _with_rank(x: Any, rank: int, batch: Any) -> Any:
    return x if x.shape[:-2] == batch else broadcast_to_shape(x, (*batch, *x.shape[-2:]))
