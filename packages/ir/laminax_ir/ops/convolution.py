"""Convolutions of any number of spatial axes, with strides, dilations, padding and groups.

`conv_general_dilated` is the one primitive; the others prepare its arguments. As everywhere in machine learning the
kernel is not flipped: out[y] is the sum over k of lhs[y * stride + k] * rhs[k].
Source: StableHLO specification, `convolution`.
"""

from __future__ import annotations

import functools
import math
import operator
from typing import TYPE_CHECKING, Any, NamedTuple, Sequence

import numpy as np

from laminax_ir.ops.contraction import (
    CanonicalPrecision,
    PrecisionLike,
    canonical_preferred,
    canonicalize_precision,
    contraction_dtype,
    dot_general,
    refuse_out_sharding,
)
from laminax_ir.ops.elementwise import convert_element_type, eq
from laminax_ir.ops.elementwise_avals import joined_named_shape
from laminax_ir.ops.shape import broadcasted_iota, reshape, rev, transpose
from laminax_ir.ops.shape_arguments import checked_out_sharding
from laminax_ir.programs.primitive import Primitive, Trait, shape_rule
from laminax_ir.symbolic.symbolic_dims import max_dim, size_of
from laminax_ir.types import dtypes
from laminax_ir.types.arguments import as_int, called_with
from laminax_ir.types.avals import ShapedArray, get_aval
from laminax_ir.types.errors import DTypeError, ShapeError

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike, DTypeLike

conv_general_dilated_p = Primitive("conv_general_dilated", family="convolution", traits=(Trait.PRODUCT, Trait.CONTRACTION))


class ConvDimensionNumbers(NamedTuple):
    """Which axes of a convolution are what.

    Args:
      lhs_spec: the axes of lhs in the order batch, feature, spatial...
      rhs_spec: the axes of rhs in the order output feature, input feature, spatial...
      out_spec: the axes of the result in the order batch, feature, spatial...

    Example:
      >>> ConvDimensionNumbers(lhs_spec=(0, 3, 1, 2), rhs_spec=(3, 2, 0, 1), out_spec=(0, 3, 1, 2))  # images NHWC, kernels HWIO
      ConvDimensionNumbers(lhs_spec=(0, 3, 1, 2), rhs_spec=(3, 2, 0, 1), out_spec=(0, 3, 1, 2))
    """

    lhs_spec: tuple[int, ...]
    rhs_spec: tuple[int, ...]
    out_spec: tuple[int, ...]


ConvGeneralDilatedDimensionNumbers = None | ConvDimensionNumbers | tuple[str, str, str]


# Sizes and padding


def dilated(size: int, dilation: int) -> int:
    """The size of an axis with dilation - 1 holes between its elements.

    Args:
      size: the number of elements, an int.
      dilation: a positive int.

    Returns:
      An int; 0 for no elements.
    """
    return 0 if size == 0 else (size - 1) * dilation + 1


def windows_along(size: Any, window: Any, stride: Any) -> Any:
    """How many windows fit along an axis; sizes with padding and dilation.

    Args:
      size, window, stride: sizes, which may be symbolic, the stride positive.

    Returns:
      A size, at least 0.
    """
    return max_dim((size - window) // stride + 1, 0)


def padtype_to_pads(in_shape: Sequence[int], window_shape: Sequence[int], window_strides: Sequence[int], padding: Any) \
        -> list[tuple[int, int]]:
    """The (low, high) padding of each axis for a padding by name.

    Args:
      in_shape, window_shape: sizes, dilation included.
      window_strides: steps.
      padding: 'VALID' (none), 'SAME' (the result has ceil(size / stride) elements, an odd one out is put high) or
        'SAME_LOWER' (low).

    Returns:
      A list of pairs of ints, one per axis.

    Raises:
      ValueError: for another name.

    Example:
      >>> padtype_to_pads((5, 5), (3, 3), (1, 1), "SAME")
      [(1, 1), (1, 1)]
    """
    name = padding.upper() if isinstance(padding, str) else None
    if name == "VALID":
        return [(0, 0)] * len(in_shape)
    if name not in ("SAME", "SAME_LOWER"):
        raise ValueError(f"{called_with(padding)}unrecognized padding type: expected 'VALID', 'SAME', 'SAME_LOWER' or pairs of integers, "
                         f"got {padding!r}")
    pads: list[Any] = []
    for size, window, stride in zip(in_shape, window_shape, window_strides):
        total = max_dim((-(-size // stride) - 1) * stride + window - size, 0)
        low = total // 2 if name == "SAME" else total - total // 2
        pads.append((size_of(low), size_of(total - low)))
    return pads


def canonical_pads(name: str, padding: Any, rank: int) -> tuple[tuple[int, int], ...]:
    """Explicit padding as pairs of ints.

    Args:
      name: the operation, for messages.
      padding: a sequence of pairs of integers.
      rank: the number of axes.

    Returns:
      A tuple of pairs of ints.

    Raises:
      ValueError: if it is no sequence of pairs of integers.
      ShapeError: if there is not one pair per axis.
    """
    try:
        pads = tuple((size_of(low), size_of(high)) for low, high in padding)
    except (TypeError, ValueError):
        raise ValueError(f"{name}: padding argument must be 'VALID', 'SAME', 'SAME_LOWER' or a sequence of (low, high) pairs of "
                         f"integers, got {padding!r}") from None
    if len(pads) != rank:
        raise ShapeError(f"{name}: wrong number of explicit pads: expected {rank}, got {len(pads)}: {pads}")
    return pads


def check_per_axis(name: str, what: str, values: tuple[int, ...], rank: int, axes: str) -> None:
    """Checks one positive integer per window axis.

    Raises:
      ShapeError: if their number is wrong, or one is not positive.
    """
    if len(values) != rank:
        raise ShapeError(f"{name}: {what} must have one entry per {axes}, {rank}, got {values}")
    if any(v < 1 for v in values):
        raise ShapeError(f"{name}: {what} must have every element be strictly positive, got {values}")


def int_tuple(name: str, what: str, values: Any, rank: int | None = None) -> tuple[int, ...]:
    """A tuple of ints, or of sizes that are symbolic; `rank` ones for None.

    Args:
      name, what: the operation and the argument, for the message.
      values: a sequence of integers, or None if rank is given.
      rank: the length of the result for None.

    Returns:
      A tuple of ints.

    Raises:
      TypeError: if it is no sequence of integers.
    """
    if values is None and rank is not None:
        return (1,) * rank
    try:
        return tuple(map(size_of, values))
    except TypeError:
        raise TypeError(f"{name}: {what} must be a sequence of integers, got {values!r}") from None


@shape_rule(conv_general_dilated_p)
def _conv_shape(lhs: ShapedArray, rhs: ShapedArray, *, window_strides: tuple[int, ...], padding: tuple[tuple[int, ...], ...],
                lhs_dilation: tuple[int, ...], rhs_dilation: tuple[int, ...], dimension_numbers: ConvDimensionNumbers,
                feature_group_count: int, batch_group_count: int, precision: CanonicalPrecision, preferred_element_type: np.dtype | None,
                out_sharding: Any) -> ShapedArray:
    if out_sharding is not None:
        refuse_out_sharding("conv_general_dilated", out_sharding)
    return _conv_aval(lhs, rhs, window_strides, padding, lhs_dilation, rhs_dilation, dimension_numbers, feature_group_count,
                      batch_group_count, preferred_element_type)


# Pure in its arguments, and a program's layers repeat them: worth remembering on the staging path.
@functools.lru_cache(maxsize=1024)
def _conv_aval(lhs: ShapedArray, rhs: ShapedArray, window_strides: tuple[int, ...], padding: tuple[tuple[int, ...], ...],
               lhs_dilation: tuple[int, ...], rhs_dilation: tuple[int, ...], dimension_numbers: ConvDimensionNumbers,
               feature_group_count: int, batch_group_count: int, preferred: np.dtype | None) -> ShapedArray:
    name = "conv_general_dilated"
    _check_specs(name, lhs, rhs, dimension_numbers)
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    rank = lhs.ndim - 2
    _check_steps(name, rank, window_strides, lhs_dilation, rhs_dilation)
    if len(padding) != rank:
        raise ShapeError(f"{name}: padding must have one pair per spatial axis, {rank}, got {padding}")
    if lhs.dtype != rhs.dtype:
        raise DTypeError(f"lax.{name} requires arguments to have the same dtypes, got {dtypes.dtype_name(lhs.dtype)}, "
                         f"{dtypes.dtype_name(rhs.dtype)}. Convert one of them first.")
    _check_groups(name, lhs, rhs, dimension_numbers, feature_group_count, batch_group_count)
    shape = [0] * lhs.ndim
    shape[out_spec[0]] = lhs.shape[lhs_spec[0]] // batch_group_count
    shape[out_spec[1]] = rhs.shape[rhs_spec[0]]
    for i in range(rank):
        size = dilated(lhs.shape[lhs_spec[2 + i]], lhs_dilation[i]) + padding[i][0] + padding[i][1]
        if size < 0:
            raise ValueError(f"{name}: negative padding {padding[i]} is larger than spatial axis {lhs_spec[2 + i]} of lhs, "
                             f"{lhs.str_short()} with lhs_dilation {lhs_dilation[i]}")
        shape[out_spec[2 + i]] = windows_along(size, dilated(rhs.shape[rhs_spec[2 + i]], rhs_dilation[i]), window_strides[i])
    return ShapedArray(tuple(shape), contraction_dtype(name, lhs.dtype, rhs.dtype, preferred), lhs.weak_type and rhs.weak_type,
                       named_shape=joined_named_shape((lhs, rhs)))


def _check_steps(name: str, rank: int, window_strides: tuple[int, ...], lhs_dilation: tuple[int, ...],
                 rhs_dilation: tuple[int, ...]) -> None:
    if len(window_strides) != rank:
        raise ValueError(f"{name} window and window_strides must have the same number of dimensions, got {rank} spatial axes and "
                         f"window_strides={window_strides}")
    for what, values in (("window_strides", window_strides), ("lhs_dilation", lhs_dilation), ("rhs_dilation", rhs_dilation)):
        check_per_axis(name, what, values, rank, "spatial axis")


def _check_specs(name: str, lhs: ShapedArray, rhs: ShapedArray, dimension_numbers: ConvDimensionNumbers) -> None:
    if lhs.ndim != rhs.ndim:
        raise ValueError(f"{name} lhs and rhs must have the same number of dimensions, got {lhs.str_short()} and {rhs.str_short()}")
    if lhs.ndim < 2:
        raise ShapeError(f"{name}: lhs and rhs need a batch (output feature) and a feature axis, got {lhs.str_short()} and "
                         f"{rhs.str_short()}")
    for what, spec in zip(dimension_numbers._fields, dimension_numbers):
        if sorted(spec) != list(range(lhs.ndim)):
            raise ShapeError(f"{name}: dimension_numbers.{what} must be a permutation of the {lhs.ndim} axes, got {spec}")


def _check_groups(name: str, lhs: ShapedArray, rhs: ShapedArray, dimension_numbers: ConvDimensionNumbers, features: int,
                  batches: int) -> None:
    batch, lhs_features = (lhs.shape[axis] for axis in dimension_numbers.lhs_spec[:2])
    out_features, rhs_features = (rhs.shape[axis] for axis in dimension_numbers.rhs_spec[:2])
    avals = f"lhs {lhs.str_short()}, rhs {rhs.str_short()}"
    for what, count in (("feature_group_count", features), ("batch_group_count", batches)):
        if count < 1:
            raise ValueError(f"{name}: {what} must be a positive integer, got {count}")
        if out_features % count:
            raise ValueError(f"{name}: the rhs output feature dimension size must be a multiple of {what}, but {out_features} is "
                             f"not a multiple of {count}; {avals}")
    if features > 1 and batches > 1:
        raise ValueError(f"{name}: at most one of batch_group_count and feature_group_count may be > 1, got {batches} and {features}")
    if lhs_features % features:
        raise ValueError(f"{name}: feature_group_count must divide the lhs feature dimension size, but {features} does not divide "
                         f"{lhs_features}; {avals}")
    if lhs_features // features != rhs_features:
        raise ValueError(f"{name}: the lhs feature dimension size divided by feature_group_count must equal the rhs input feature "
                         f"dimension size, but {lhs_features} // {features} != {rhs_features}; {avals}")
    if batch % batches:
        raise ValueError(f"{name}: batch_group_count must divide the lhs batch dimension size, but {batches} does not divide "
                         f"{batch}; {avals}")


# The functions


def conv_dimension_numbers(lhs_shape: Sequence[int], rhs_shape: Sequence[int], dimension_numbers: Any) -> ConvDimensionNumbers:
    """Dimension numbers from letters.

    Args:
      lhs_shape, rhs_shape: shapes, for their ranks.
      dimension_numbers: None for ('NCHW...', 'OIHW...', 'NCHW...'); or three strings for lhs, rhs and result with N for
        batch, C for feature, O and I for output and input feature, other letters for the spatial axes, whose order is
        that in the second string; or a `ConvDimensionNumbers`.

    Returns:
      A `ConvDimensionNumbers`: three tuples of n + 2 ints.

    Raises:
      TypeError: if they do not fit the ranks or each other.

    Example:
      >>> conv_dimension_numbers((1, 8, 8, 2), (3, 3, 2, 5), ('NHWC', 'HWIO', 'NHWC')).lhs_spec
      (0, 3, 1, 2)
    """
    if isinstance(dimension_numbers, ConvDimensionNumbers):
        return ConvDimensionNumbers(*(tuple(map(operator.index, spec)) for spec in dimension_numbers))
    rank = len(lhs_shape)
    if rank != len(rhs_shape):
        raise ShapeError(f"convolution: lhs and rhs must have the same number of axes, got {rank} and {len(rhs_shape)}: "
                         f"{tuple(lhs_shape)} and {tuple(rhs_shape)}")
    if dimension_numbers is None:
        return ConvDimensionNumbers(*(tuple(range(rank)),) * 3)
    if not isinstance(dimension_numbers, (list, tuple)) or len(dimension_numbers) != 3 or \
            not all(isinstance(spec, str) for spec in dimension_numbers):
        raise TypeError("convolution: dimension_numbers must be None, a ConvDimensionNumbers or three strings such as "
                        f"('NHWC', 'HWIO', 'NHWC'), got {dimension_numbers!r}")
    for spec, letters in zip(dimension_numbers, ("NC", "OI", "NC")):
        if len(spec) != rank or len(set(spec)) != rank or not set(letters) <= set(spec):
            raise ShapeError(f"convolution: dimension_numbers {dimension_numbers!r}: {spec!r} must have one distinct letter per "
                             f"axis, {rank}, with {letters[0]} and {letters[1]} among them; the shapes are {tuple(lhs_shape)} and "
                             f"{tuple(rhs_shape)}")
    lhs, rhs, out = dimension_numbers
    spatial = [letter for letter in rhs if letter not in "OI"]
    if not set(lhs) - set("NC") == set(spatial) == set(out) - set("NC"):
        raise ShapeError(f"convolution: dimension_numbers {dimension_numbers!r} must each have the same spatial letters")
    return ConvDimensionNumbers(*(tuple(spec.index(letter) for letter in (*letters, *spatial))
                                  for spec, letters in ((lhs, "NC"), (rhs, "OI"), (out, "NC"))))


def conv_general_dilated(lhs: ArrayLike, rhs: ArrayLike, window_strides: Sequence[int], padding: Any,
                         lhs_dilation: Sequence[int] | None = None,
                         rhs_dilation: Sequence[int] | None = None, dimension_numbers: Any = None, feature_group_count: int = 1,
                         batch_group_count: int = 1, precision: PrecisionLike = None, preferred_element_type: DTypeLike | None = None,
                         out_sharding: Any = None) -> Array:
    """General convolution over n spatial axes.

    Args:
      lhs: the input, n + 2 axes: batch, feature and the spatial ones.
      rhs: the kernel, n + 2 axes: output feature, input feature and the spatial ones; of lhs's dtype.
      window_strides: n steps.
      padding: 'SAME', 'VALID', 'SAME_LOWER', or n pairs (low, high); negative ones cut off.
      lhs_dilation: n steps between elements of the input (transposed convolution); 1 by default.
      rhs_dilation: n steps between elements of the kernel (atrous convolution); 1 by default.
      dimension_numbers: which axis is what, see `conv_dimension_numbers`.
      feature_group_count: how many groups the features fall into; group i of the input features makes group i of the
        output features.
      batch_group_count: the same for the input's batch: group i makes group i of the output features.
      precision, preferred_element_type: as for `dot_general`.
      out_sharding: how the result is split over explicit mesh axes, a partition spec or a `NamedSharding`.

    Returns:
      An array of n + 2 axes in the order of the third dimension number: batch size / batch_group_count, the output
      features of rhs, and along each spatial axis the number of windows that fit. Its dtype is
      preferred_element_type, by default the operands'.

    Raises:
      ValueError: if groups do not divide sizes, or a number is not positive.
      TypeError: if ranks or dtypes do not fit.

    Example:
      >>> conv_general_dilated(np.float32([[[1, 2, 3, 4]]]), np.float32([[[1, 1]]]), (1,), "VALID", rhs_dilation=(2,))
      array([[[4., 6.]]], dtype=float32)
    """
    name = "conv_general_dilated"
    lhs_aval, rhs_aval = get_aval(lhs), get_aval(rhs)
    lhs_shape, rhs_shape = lhs_aval.shape, rhs_aval.shape
    numbers = conv_dimension_numbers(lhs_shape, rhs_shape, dimension_numbers)
    _check_specs(name, lhs_aval, rhs_aval, numbers)
    rank = len(lhs_shape) - 2
    window_strides = int_tuple(name, "window_strides", window_strides)
    lhs_dilation = int_tuple(name, "lhs_dilation", lhs_dilation, rank)
    rhs_dilation = int_tuple(name, "rhs_dilation", rhs_dilation, rank)
    if isinstance(padding, str):
        if any(d != 1 for d in lhs_dilation):
            raise ValueError(f"{name}: padding by name, {padding!r}, has no meaning with lhs_dilation {lhs_dilation}; give pairs, "
                             "or use conv_transpose")
        _check_steps(name, rank, window_strides, lhs_dilation, rhs_dilation)
        window = [dilated(rhs_shape[axis], d) for axis, d in zip(numbers.rhs_spec[2:], rhs_dilation)]
        padding = padtype_to_pads([lhs_shape[axis] for axis in numbers.lhs_spec[2:]], window, window_strides, padding)
    return conv_general_dilated_p.bind(
        lhs, rhs, window_strides=window_strides, padding=canonical_pads(name, padding, rank), lhs_dilation=lhs_dilation,
        rhs_dilation=rhs_dilation, dimension_numbers=numbers, feature_group_count=as_int(name, "feature_group_count", feature_group_count),
        batch_group_count=as_int(name, "batch_group_count", batch_group_count),
        precision=canonicalize_precision(name, precision, algorithms=False),
        preferred_element_type=canonical_preferred(name, preferred_element_type),
        out_sharding=None if out_sharding is None else checked_out_sharding(name, out_sharding, get_aval(lhs).ndim))


def conv(lhs: ArrayLike, rhs: ArrayLike, window_strides: Sequence[int], padding: Any, precision: PrecisionLike = None,
         preferred_element_type: DTypeLike | None = None) -> Array:
    """Convolution in the standard order of axes; see `conv_general_dilated`.

    Args:
      lhs: the input, [batch, feature, spatial...].
      rhs: the kernel, [out feature, in feature, spatial...], of lhs's dtype.
      window_strides, padding, precision, preferred_element_type: as for `conv_general_dilated`.

    Returns:
      An array of axes [batch, out feature, spatial...] and of the dtype preferred_element_type, by default the
      operands'.

    Raises:
      ValueError, TypeError: as `conv_general_dilated`.

    Example:
      >>> conv(np.float32([[[1, 2, 3, 4]]]), np.float32([[[1, 1]]]), (1,), "VALID")
      array([[[3., 5., 7.]]], dtype=float32)
    """
    return conv_general_dilated(lhs, rhs, window_strides, padding, precision=precision,
                                preferred_element_type=preferred_element_type)


def conv_with_general_padding(lhs: ArrayLike, rhs: ArrayLike, window_strides: Sequence[int], padding: Any, lhs_dilation: Any,
                              rhs_dilation: Any,
                              precision: PrecisionLike = None, preferred_element_type: DTypeLike | None = None) -> Array:
    """As `conv`, with dilations; see `conv_general_dilated`.

    Args:
      lhs: the input, [batch, feature, spatial...].
      rhs: the kernel, [out feature, in feature, spatial...], of lhs's dtype.
      window_strides, padding, lhs_dilation, rhs_dilation, precision, preferred_element_type: as for
        `conv_general_dilated`.

    Returns:
      An array of axes [batch, out feature, spatial...] and of the dtype preferred_element_type, by default the
      operands'.

    Raises:
      ValueError, TypeError: as `conv_general_dilated`.

    Example:
      >>> conv_with_general_padding(np.float32([[[1, 2, 3]]]), np.float32([[[1, 1]]]), (1,), [(1, 0)], None, None)
      array([[[1., 3., 5.]]], dtype=float32)
    """
    return conv_general_dilated(lhs, rhs, window_strides, padding, lhs_dilation, rhs_dilation, precision=precision,
                                preferred_element_type=preferred_element_type)


_CHANNELS_LAST = {3: ("NHC", "HIO", "NHC"), 4: ("NHWC", "HWIO", "NHWC"), 5: ("NHWDC", "HWDIO", "NHWDC")}


def conv_transpose(lhs: ArrayLike, rhs: ArrayLike, strides: Sequence[int], padding: Any, rhs_dilation: Sequence[int] | None = None,
                   dimension_numbers: Any = None, transpose_kernel: bool = False, precision: PrecisionLike = None,
                   preferred_element_type: DTypeLike | None = None, use_consistent_padding: bool = False) -> Array:
    """Transposed convolution: upsamples by `strides`, as the gradient of a convolution does.

    Args:
      lhs: the input, n + 2 axes.
      rhs: the kernel, n + 2 axes.
      strides: n factors of upsampling.
      padding: 'SAME' or 'VALID', as of the convolution whose gradient this is like; or n pairs, the padding of this
        operation, or of that convolution with use_consistent_padding.
      rhs_dilation: n steps between elements of the kernel.
      dimension_numbers: see `conv_dimension_numbers`; by default features are last.
      transpose_kernel: whether to flip the kernel's spatial axes and swap its features, which makes this exactly the
        gradient of the convolution with that kernel.
      precision, preferred_element_type: as for `dot_general`.

    Returns:
      An array of n + 2 axes in the order of the third dimension number, of the dtype preferred_element_type, by
      default the operands'. With padding 'SAME' its spatial sizes are those of lhs times the strides.

    Raises:
      ValueError, TypeError: as `conv_general_dilated`.

    Example:
      >>> conv_transpose(np.float32([[[1], [2]]]), np.float32([[[1]], [[1]]]), (2,), "VALID").shape
      (1, 4, 1)
    """
    name = "conv_transpose"
    lhs_aval, rhs_aval = get_aval(lhs), get_aval(rhs)
    if lhs_aval.ndim != rhs_aval.ndim or lhs_aval.ndim < 2:
        raise ShapeError(f"{name}: lhs and rhs must have the same number of axes, at least 2; got {lhs_aval.str_short()} and "
                         f"{rhs_aval.str_short()}")
    rank = lhs_aval.ndim - 2
    if dimension_numbers is None:
        if rank + 2 not in _CHANNELS_LAST:
            raise ValueError(f"{name}: dimension_numbers must be given for anything but 1, 2 or 3 spatial axes, got {rank}")
        dimension_numbers = _CHANNELS_LAST[rank + 2]
    numbers = conv_dimension_numbers(lhs_aval.shape, rhs_aval.shape, dimension_numbers)
    strides = int_tuple(name, "strides", strides)
    check_per_axis(name, "strides", strides, rank, "spatial axis")
    rhs_dilation = int_tuple(name, "rhs_dilation", rhs_dilation, rank)
    check_per_axis(name, "rhs_dilation", rhs_dilation, rank, "spatial axis")
    sizes = [dilated(rhs_aval.shape[axis], d) for axis, d in zip(numbers.rhs_spec[2:], rhs_dilation)]
    if isinstance(padding, str):
        pads = [transposed_pads(size, stride, padding) for size, stride in zip(sizes, strides)]
    else:
        pads = list(canonical_pads(name, padding, rank))
        if use_consistent_padding:
            pads = [(size - 1 - low, size - 1 - high) for size, (low, high) in zip(sizes, pads)]
    if transpose_kernel:
        out_feature, in_feature, *spatial = numbers.rhs_spec
        rhs = rev(rhs, spatial)
        numbers = numbers._replace(rhs_spec=(in_feature, out_feature, *spatial))
    return conv_general_dilated(lhs, rhs, (1,) * rank, pads, strides, rhs_dilation, numbers, precision=precision,
                                preferred_element_type=preferred_element_type)


def transposed_pads(size: int, stride: int, padding: str) -> tuple[int, int]:
    """The (low, high) padding of a transposed convolution's input, elements a stride apart, for a padding by name.

    Args:
      size: the kernel's size, an int.
      stride: the factor of upsampling, a positive int.
      padding: 'SAME', for which the result has the input's size times the stride, or 'VALID', for all that is touched.

    Returns:
      A pair of ints.

    Raises:
      ValueError: for another name.
    """
    name = padding.upper()
    if name == "SAME":
        total = size + stride - 2
        low = size - 1 if stride > size - 1 else -(-total // 2)
    elif name == "VALID":
        total = size + stride - 2 + max(size - stride, 0)
        low = size - 1
    else:
        raise ValueError(f"conv_transpose: padding must be 'SAME', 'VALID' or a sequence of pairs, got {padding!r}")
    return low, total - low


def conv_general_dilated_patches(lhs: ArrayLike, filter_shape: Sequence[int], window_strides: Sequence[int], padding: Any,
                                 lhs_dilation: Any = None, rhs_dilation: Any = None, dimension_numbers: Any = None,
                                 precision: PrecisionLike = None, preferred_element_type: DTypeLike | None = None) -> Array:
    """The patches of the input that a convolution would see, flattened into the feature axis.

    Args:
      lhs: the input, n + 2 axes.
      filter_shape: the n sizes of a patch.
      window_strides, padding, lhs_dilation, rhs_dilation, dimension_numbers, precision, preferred_element_type: as for
        `conv_general_dilated`.

    Returns:
      An array of n + 2 axes, of the dtype preferred_element_type, by default lhs's, whose feature axis has size
      features * prod(filter_shape), the input's feature varying slowest.

    Raises:
      TypeError: if filter_shape has not one size per spatial axis.

    Example:
      >>> conv_general_dilated_patches(np.float32([[[1, 2, 3, 4]]]), (2,), (1,), "VALID")
      array([[[1., 2., 3.],
              [2., 3., 4.]]], dtype=float32)
    """
    aval = get_aval(lhs)
    filter_shape = int_tuple("conv_general_dilated_patches", "filter_shape", filter_shape)
    if len(filter_shape) != aval.ndim - 2:
        raise ShapeError(f"conv_general_dilated_patches: filter_shape must have one size per spatial axis of {aval.str_short()}, "
                         f"got {filter_shape}")
    numbers = conv_dimension_numbers(aval.shape, (1,) * aval.ndim, dimension_numbers)
    features, size = aval.shape[numbers.lhs_spec[1]], math.prod(filter_shape)
    # One kernel per place of the patch, that is 1 there; applied to each feature by itself.
    square = (features, size, size)
    one_hot = convert_element_type(eq(broadcasted_iota(np.int32, square, 1), broadcasted_iota(np.int32, square, 2)), aval.dtype)
    kernel = reshape(one_hot, (features * size, 1, *filter_shape))
    numbers = numbers._replace(rhs_spec=tuple(range(aval.ndim)))
    return conv_general_dilated(lhs, kernel, window_strides, padding, lhs_dilation, rhs_dilation, numbers,
                                feature_group_count=features, precision=precision, preferred_element_type=preferred_element_type)


def conv_general_dilated_local(lhs: ArrayLike, rhs: ArrayLike, window_strides: Sequence[int], padding: Any, filter_shape: Sequence[int],
                               lhs_dilation: Any = None, rhs_dilation: Any = None, dimension_numbers: Any = None,
                               precision: PrecisionLike = None) -> Array:
    """Convolution with a kernel of its own at each place of the result (a locally connected layer).

    Args:
      lhs: the input, n + 2 axes.
      rhs: the kernels, n + 2 axes: output feature, flattened patch (see `conv_general_dilated_patches`), and the
        spatial axes of the result.
      filter_shape: the n sizes of a patch.
      window_strides, padding, lhs_dilation, rhs_dilation, dimension_numbers, precision: as for `conv_general_dilated`.

    Returns:
      An array of n + 2 axes in the order of the third dimension number, of the dtype of the operand with the higher
      precision.

    Raises:
      ValueError, TypeError: as `conv_general_dilated` and `dot_general`.

    Example:
      >>> signal, kernels = np.float32([[[1, 2, 3]]]), np.float32([[[1, 10], [1, 10]]])  # a patch of 2 numbers at each of 2 places
      >>> conv_general_dilated_local(signal, kernels, (1,), "VALID", (2,))
      array([[[ 3., 50.]]], dtype=float32)
    """
    numbers = conv_dimension_numbers(get_aval(lhs).shape, get_aval(rhs).shape, dimension_numbers)
    patches = conv_general_dilated_patches(lhs, filter_shape, window_strides, padding, lhs_dilation, rhs_dilation, numbers,
                                           precision=precision if not isinstance(precision, (tuple, list)) else precision[0])
    _, out_feature, *out_spatial = numbers.out_spec
    rhs_out, rhs_in, *rhs_spatial = numbers.rhs_spec
    product = dot_general(patches, rhs, (((out_feature,), (rhs_in,)), (out_spatial, rhs_spatial)), precision)
    # [spatial..., batch, feature] to the order of the result
    axes = (*out_spatial, numbers.out_spec[0], out_feature)
    return transpose(product, sorted(range(len(axes)), key=axes.__getitem__))
