"""The shapes that convolutions and windowed reductions give, computed from shapes alone."""

from __future__ import annotations

from operator import index
from typing import Any, Sequence

from laminax_ir.ops.convolution import (
    canonical_pads,
    check_per_axis,
    conv_dimension_numbers,
    dilated,
    int_tuple,
    padtype_to_pads,
    transposed_pads,
    windows_along,
)
from laminax_ir.ops.windows import windowed_shape
from laminax_ir.types.errors import ShapeError

Shape = tuple[int, ...]


def conv_general_permutations(dimension_numbers: tuple[str, str, str]) -> tuple[Shape, Shape, Shape]:
    """Which axes of lhs, rhs and result are batch, features and space.

    Args:
      dimension_numbers: three strings as for `conv_dimension_numbers`.

    Returns:
      Three tuples of axes: of lhs in the order batch, feature, spatial..., of rhs in the order output feature, input
      feature, spatial..., of the result as of lhs; the order of spatial axes is that in the second string.

    Raises:
      TypeError: if they are not three strings that fit each other.

    Example:
      >>> conv_general_permutations(("NHWC", "HWIO", "NHWC"))
      ((0, 3, 1, 2), (3, 2, 0, 1), (0, 3, 1, 2))
    """
    return tuple(_numbers_of("conv_general_permutations", dimension_numbers))


def _numbers_of(name: str, dimension_numbers: tuple[str, ...]) -> Any:
    if not isinstance(dimension_numbers, (tuple, list)) or len(dimension_numbers) != 3 or \
            not all(isinstance(spec, str) for spec in dimension_numbers):
        raise TypeError(f"{name}: dimension_numbers must be three strings such as ('NHWC', 'HWIO', 'NHWC'), got "
                        f"{dimension_numbers!r}")
    rank = (0,) * len(dimension_numbers[0])
    return conv_dimension_numbers(rank, rank, dimension_numbers)


def conv_shape_tuple(lhs_shape: Sequence[int], rhs_shape: Sequence[int], strides: Sequence[int], pads: Any,
                     batch_group_count: int = 1) -> Shape:
    """The shape of a convolution of arrays whose axes are in the order batch, feature, spatial....

    Args:
      lhs_shape: the shape of lhs, n + 2 sizes.
      rhs_shape: the shape of rhs: output features, input features, n spatial sizes.
      strides: n steps.
      pads: 'VALID', 'SAME', 'SAME_LOWER', or n pairs (low, high).
      batch_group_count: how many groups the batch is divided into.

    Returns:
      n + 2 ints: batch, feature, spatial....

    Raises:
      ShapeError, ValueError: if the arguments do not fit each other.

    Example:
      >>> conv_shape_tuple((1, 3, 8), (4, 3, 3), (2,), [(0, 0)])
      (1, 4, 3)
    """
    name = "conv_shape_tuple"
    lhs, rhs = int_tuple(name, "lhs_shape", lhs_shape), int_tuple(name, "rhs_shape", rhs_shape)
    if len(lhs) != len(rhs) or len(lhs) < 2:
        raise ShapeError(f"{name}: lhs_shape and rhs_shape must have the same number of sizes, at least 2; got {lhs} and {rhs}")
    steps = int_tuple(name, "strides", strides)
    check_per_axis(name, "strides", steps, len(lhs) - 2, "spatial axis")
    groups = index(batch_group_count)
    if groups < 1 or lhs[0] % groups:
        raise ValueError(f"{name}: batch_group_count must be positive and divide the batch size, got {groups} and lhs_shape {lhs}")
    pairs = padtype_to_pads(lhs[2:], rhs[2:], steps, pads) if isinstance(pads, str) else canonical_pads(name, pads, len(lhs) - 2)
    spatial = [windows_along(size + low + high, window, step)
               for size, window, step, (low, high) in zip(lhs[2:], rhs[2:], steps, pairs)]
    return (lhs[0] // groups, rhs[0], *spatial)


def conv_general_shape_tuple(lhs_shape: Sequence[int], rhs_shape: Sequence[int], window_strides: Sequence[int], padding: Any,
                             dimension_numbers: tuple[str, str, str]) -> Shape:
    """The shape of a convolution with axes in any order.

    Args:
      lhs_shape, rhs_shape: shapes, n + 2 sizes each.
      window_strides, padding: as for `conv_shape_tuple`.
      dimension_numbers: three strings as for `conv_dimension_numbers`.

    Returns:
      n + 2 ints, in the order of the third string.

    Raises:
      ShapeError, ValueError: if the arguments do not fit each other.

    Example:
      >>> conv_general_shape_tuple((8, 28, 28, 3), (5, 5, 3, 16), (1, 1), "VALID", ("NHWC", "HWIO", "NHWC"))
      (8, 24, 24, 16)
    """
    lhs_spec, rhs_spec, out_spec = _numbers_of("conv_general_shape_tuple", dimension_numbers)
    lhs, rhs = _arranged(lhs_shape, lhs_spec), _arranged(rhs_shape, rhs_spec)
    return _placed(conv_shape_tuple(lhs, rhs, window_strides, padding), out_spec)


def conv_transpose_shape_tuple(lhs_shape: Sequence[int], rhs_shape: Sequence[int], window_strides: Sequence[int], padding: Any,
                               dimension_numbers: tuple[str, str, str]) -> Shape:
    """The shape of a transposed convolution; see `conv_transpose`.

    Args:
      lhs_shape, rhs_shape: shapes, n + 2 sizes each.
      window_strides: n factors of upsampling.
      padding: 'VALID', 'SAME', or n pairs (low, high).
      dimension_numbers: three strings as for `conv_dimension_numbers`.

    Returns:
      n + 2 ints, in the order of the third string.

    Raises:
      ShapeError, ValueError: if the arguments do not fit each other.

    Example:
      >>> conv_transpose_shape_tuple((1, 8, 3), (3, 3, 4), (2,), "VALID", ("NWC", "WIO", "NWC"))
      (1, 17, 4)
    """
    name = "conv_transpose_shape_tuple"
    lhs_spec, rhs_spec, out_spec = _numbers_of(name, dimension_numbers)
    lhs, rhs = _arranged(lhs_shape, lhs_spec), _arranged(rhs_shape, rhs_spec)
    steps = int_tuple(name, "window_strides", window_strides)
    check_per_axis(name, "window_strides", steps, len(lhs) - 2, "spatial axis")
    pads = [transposed_pads(size, step, padding) for size, step in zip(rhs[2:], steps)] if isinstance(padding, str) else padding
    upsampled = (*lhs[:2], *[dilated(size, step) for size, step in zip(lhs[2:], steps)])
    return _placed(conv_shape_tuple(upsampled, rhs, (1,) * len(steps), pads), out_spec)


def _arranged(shape: Sequence[int], axes: Shape) -> Shape:
    if len(shape) != len(axes):
        raise ShapeError(f"convolution: the shape {tuple(shape)} must have as many sizes as its dimension numbers have letters, "
                         f"{len(axes)}")
    return tuple([shape[axis] for axis in axes])


def _placed(shape: Shape, axes: Shape) -> Shape:
    """The sizes put at the axes they belong to."""
    where = dict(zip(axes, shape))
    return tuple([where[axis] for axis in range(len(axes))])


def reduce_window_shape_tuple(operand_shape: Sequence[int], window_dimensions: Sequence[int], window_strides: Sequence[int],
                              padding: Sequence[tuple[int, int]], base_dilation: Sequence[int] | None = None,
                              window_dilation: Sequence[int] | None = None) -> Shape:
    """The shape of a windowed reduction; see `reduce_window`.

    Args:
      operand_shape: the operand's shape, n sizes.
      window_dimensions, window_strides: n sizes and steps.
      padding: n pairs (low, high).
      base_dilation, window_dilation: n dilations; None for ones.

    Returns:
      n ints.

    Raises:
      ShapeError, ValueError: if the arguments do not fit each other.

    Example:
      >>> reduce_window_shape_tuple((6, 6), (2, 2), (2, 2), [(0, 0), (0, 0)])
      (3, 3)
    """
    name, rank = "reduce_window_shape_tuple", len(operand_shape)
    sizes = (int_tuple(name, "window_dimensions", window_dimensions), int_tuple(name, "window_strides", window_strides))
    dilations = (int_tuple(name, "base_dilation", base_dilation, rank), int_tuple(name, "window_dilation", window_dilation, rank))
    shape, pads = int_tuple(name, "operand_shape", operand_shape), canonical_pads(name, padding, rank)
    return windowed_shape(name, shape, *sizes, pads, *dilations)
