"""The product of block-scaled operands: narrow floats with a factor for each block along the contracted axes.

Source: Open Compute Project, "OCP Microscaling Formats (MX) Specification", version 1.0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

from laminax_ir.ops.contraction import (
    DotDimensionNumbers,
    canonical_preferred,
    canonicalize_dot_dimension_numbers,
    dot_general,
    dot_general_shape,
)
from laminax_ir.ops.elementwise import convert_element_type, mul
from laminax_ir.ops.elementwise_avals import joined_named_shape
from laminax_ir.ops.shape import broadcast_in_dim, full, reshape
from laminax_ir.programs.primitive import Primitive, shape_rule
from laminax_ir.types import dtypes
from laminax_ir.types.avals import ShapedArray, get_aval
from laminax_ir.types.errors import DTypeError, ShapeError

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike, DTypeLike

scaled_dot_p = Primitive("scaled_dot", family="scaled_dot")

_SCALE = np.dtype(ml_dtypes.float8_e8m0fnu)


@shape_rule(scaled_dot_p)
def _scaled_dot_shape(lhs: ShapedArray, rhs: ShapedArray, lhs_scale: ShapedArray, rhs_scale: ShapedArray, *,
                      dimension_numbers: DotDimensionNumbers, preferred_element_type: np.dtype) -> ShapedArray:
    avals = (lhs, rhs, lhs_scale, rhs_scale)
    for x in avals:
        if not dtypes.issubdtype(x.dtype, dtypes.floating):
            raise DTypeError(f"scaled_dot: operands and scales must be floating, got {', '.join(x.str_short() for x in avals)}")
    shape = dot_general_shape("scaled_dot", lhs.shape, rhs.shape, dimension_numbers)
    (contracting, rhs_contracting), _ = dimension_numbers
    _check_scale("lhs", lhs, lhs_scale, contracting)
    _check_scale("rhs", rhs, rhs_scale, rhs_contracting)
    return ShapedArray(shape, preferred_element_type, named_shape=joined_named_shape(avals))


def _check_scale(side: str, x: ShapedArray, scale: ShapedArray, contracting: tuple[int, ...]) -> None:
    listed = f"{side} {x.str_short()}, {side}_scale {scale.str_short()}"
    if scale.ndim != x.ndim:
        raise ShapeError(f"scaled_dot: {side} and its scale must have the same number of axes, got {listed}")
    for axis, (size, count) in enumerate(zip(x.shape, scale.shape)):
        if axis in contracting and (count == 0 or size % count):
            raise ShapeError(f"scaled_dot: the contracted axis {axis} of {side} must be a multiple of its scale's, got {listed}")
        if axis not in contracting and size != count:
            raise ShapeError(f"scaled_dot: axis {axis} of {side}, which is not contracted, must have the size of its scale's, got "
                             f"{listed}")


def scaled_dot(lhs: ArrayLike, rhs: ArrayLike, *, lhs_scale: Any = None, rhs_scale: Any = None, dimension_numbers: Any = None,
               preferred_element_type: DTypeLike | None = None) -> Array:
    """The product of (lhs * lhs_scale) and (rhs * rhs_scale), each scale's elements repeated over blocks.

    Args:
      lhs: floating, [batch, m, k] or [m, k]; any shape if dimension_numbers is given.
      rhs: floating, [batch, k, n] or [k, n].
      lhs_scale: floating, of lhs's shape but for contracted axes, whose sizes divide those of lhs; None for ones.
      rhs_scale: the same for rhs.
      dimension_numbers: as for `dot_general`; by default the last axis of lhs is contracted with the last but one of rhs, and
        an axis in front of both is a batch.
      preferred_element_type: the dtype of the scaled operands and of the result, bfloat16 by default.

    Returns:
      An array of that dtype, of the shape that `dot_general` gives.

    Raises:
      TypeError: if shapes do not fit, or a dtype is not floating.
      ValueError: if dimension_numbers is malformed, or not given for operands of other ranks.

    Example:
      >>> lhs, rhs = np.float32([[1, 2, 3, 4]]), np.float32([[1], [1], [1], [1]])
      >>> scaled_dot(lhs, rhs, lhs_scale=np.float32([[1, 10]]), preferred_element_type=np.float32)  # 1 + 2 + 10 (3 + 4)
      array([[73.]], dtype=float32)
    """
    lhs_aval, rhs_aval = get_aval(lhs), get_aval(rhs)
    if dimension_numbers is None:
        rank = lhs_aval.ndim
        if rank not in (2, 3) or rhs_aval.ndim != rank:
            raise ValueError("scaled_dot: dimension_numbers must be given for anything but two matrices or two batches of them, got "
                             f"{lhs_aval.str_short()} and {rhs_aval.str_short()}")
        batch = tuple(range(rank - 2))
        dimension_numbers = (((rank - 1,), (rank - 2,)), (batch, batch))
    numbers = canonicalize_dot_dimension_numbers("scaled_dot", dimension_numbers)
    preferred = canonical_preferred("scaled_dot", preferred_element_type) or np.dtype(ml_dtypes.bfloat16)
    scales = [_ones(aval, axes) if scale is None else scale
              for aval, scale, axes in ((lhs_aval, lhs_scale, numbers[0][0]), (rhs_aval, rhs_scale, numbers[0][1]))]
    return scaled_dot_p.bind(lhs, rhs, *scales, dimension_numbers=numbers, preferred_element_type=preferred)


def _ones(x: ShapedArray, contracting: tuple[int, ...]) -> Array:
    return full(tuple([1 if axis in contracting else size for axis, size in enumerate(x.shape)]), 1, _SCALE)


def scaled_product(lhs: Any, rhs: Any, lhs_scale: Any, rhs_scale: Any, *, dimension_numbers: DotDimensionNumbers,
                   preferred_element_type: Any) -> Any:
    """A scaled product by its definition, in operations that every platform has.

    Args:
      lhs, rhs, lhs_scale, rhs_scale: arrays as for `scaled_dot`, none missing.
      dimension_numbers, preferred_element_type: in normal form.

    Returns:
      An array of the preferred dtype.
    """
    scaled: list[Any] = []
    for x, scale in ((lhs, lhs_scale), (rhs, rhs_scale)):
        factors = convert_element_type(_repeated(scale, x.shape), preferred_element_type)
        scaled.append(mul(convert_element_type(x, preferred_element_type), factors))
    x, y = scaled
    return dot_general(x, y, dimension_numbers, preferred_element_type=preferred_element_type)


def _repeated(scale: ArrayLike, shape: tuple[int, ...]) -> Array:
    """Each element of the scale for all of its block."""
    apart = [(count, size // count if count else 1) for count, size in zip(scale.shape, shape)]
    spread = broadcast_in_dim(scale, tuple([n for pair in apart for n in pair]), tuple(range(0, 2 * len(shape), 2)))
    return reshape(spread, shape)
