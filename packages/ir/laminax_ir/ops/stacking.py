"""Stacking: arrays of one shape as the slices of one array along a new axis, and the slices of an array apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Sequence

from laminax_ir.ops.elementwise_avals import joined_named_shape
from laminax_ir.ops.shape_arguments import canonical_axis
from laminax_ir.programs.primitive import Primitive, shape_rule
from laminax_ir.types.avals import ShapedArray, get_aval
from laminax_ir.types.errors import DTypeError, ShapeError

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike

stack_p = Primitive("stack", family="stacking")
unstack_p = Primitive("unstack", multiple_results=True, family="stacking")


@shape_rule(stack_p)
def _stack_shape(*operands: ShapedArray, axis: int) -> ShapedArray:
    first = operands[0]
    if not 0 <= axis <= first.ndim:
        raise ValueError(f"stack: axis {axis} is out of range for operands of {first.ndim} axes, {first.str_short()}")
    for x in operands:
        if x.shape != first.shape:
            raise ShapeError(f"stack: all operands must have the same shape, got {', '.join(x.str_short() for x in operands)}")
        if x.dtype != first.dtype:
            raise DTypeError(f"stack: all operands must have the same dtype, got {', '.join(x.str_short() for x in operands)}. "
                             "numpy.stack is the similar function that promotes")
    shape = (*first.shape[:axis], len(operands), *first.shape[axis:])
    return ShapedArray(shape, first.dtype, all(x.weak_type for x in operands), named_shape=joined_named_shape(operands))


@shape_rule(unstack_p)
def _unstack_shape(x: ShapedArray, *, axis: int) -> list[ShapedArray]:
    if not 0 <= axis < x.ndim:
        raise ValueError(f"unstack: axis {axis} is out of range for {x.str_short()}, which has {x.ndim} axes")
    return [x.update(shape=(*x.shape[:axis], *x.shape[axis + 1:]))] * x.shape[axis]


def stack(operands: Sequence, axis: int = 0) -> Array:
    """Joins arrays of one shape along a new axis.

    Args:
      operands: a sequence of arrays of one shape and dtype, at least one.
      axis: where the new axis is in the result; a negative one counts from the end.

    Returns:
      An array of the operands' dtype and of their shape with an axis of size `len(operands)` more.

    Raises:
      ValueError: if there are no operands or the axis is out of range.
      TypeError: if shapes or dtypes differ.

    Example:
      >>> stack([np.array([1, 2]), np.array([3, 4])], axis=1)
      array([[1, 3],
             [2, 4]], dtype=int32)
    """
    operands = list(operands)
    if not operands:
        raise ValueError("stack: at least one operand is needed, got an empty sequence")
    return stack_p.bind(*operands, axis=canonical_axis("stack", axis, get_aval(operands[0]).ndim + 1))


def unstack(x: ArrayLike, axis: int = 0) -> tuple:
    """The slices of an array along an axis.

    Args:
      x: an array of at least one axis and any dtype.
      axis: the axis that the slices do not have; a negative one counts from the end.

    Returns:
      A tuple of `x.shape[axis]` arrays of x's dtype.

    Raises:
      ValueError: if the axis is out of range.

    Example:
      >>> unstack(np.float32([[1, 2], [3, 4]]))
      (array([1., 2.], dtype=float32), array([3., 4.], dtype=float32))
    """
    return tuple(unstack_p.bind(x, axis=canonical_axis("unstack", axis, get_aval(x).ndim)))
