"""Derivatives and batching of convolutions.

With out[y] = sum_k lhs[x] rhs[k] where x * lhs_dilation + low = y * stride + k * rhs_dilation, both adjoints are sums
over the same index equation, solved for another index: convolutions with strides and dilations in other roles, and
padding chosen so that the result has the size of the operand.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Sequence

import numpy as np

from laminax_ir.ops.convolution import ConvDimensionNumbers, conv_general_dilated_p, dilated
from laminax_ir.ops.elementwise import convert_element_type
from laminax_ir.ops.shape import reshape, rev, transpose
from laminax_ir.types import dtypes
from laminax_ir.types.avals import get_aval, remove_axis
from laminax_transforms.base.registry import batching_rule, define_jvp, is_linear, transpose_rule
from laminax_transforms.base.zeros import ZERO, cotangent_of_dtype, zeros_of
from laminax_transforms.batching.batch_axes import move_axis

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike


def _lhs_partial(t: ArrayLike, result: ArrayLike, lhs: ArrayLike, rhs: ArrayLike, **params: Any) -> Array:
    return ZERO if not dtypes.issubdtype(result.dtype, dtypes.inexact) else conv_general_dilated_p.bind(t, rhs, **params)


def _rhs_partial(t: ArrayLike, result: ArrayLike, lhs: ArrayLike, rhs: ArrayLike, **params: Any) -> Array:
    return ZERO if not dtypes.issubdtype(result.dtype, dtypes.inexact) else conv_general_dilated_p.bind(lhs, t, **params)


define_jvp(conv_general_dilated_p, _lhs_partial, _rhs_partial)


@transpose_rule(conv_general_dilated_p)
def _conv_transpose(ct: Any, lhs: Any, rhs: Any, **params: Any) -> list[Any]:
    linear, adjoint = (lhs, _lhs_adjoint) if is_linear(lhs) else (rhs, _rhs_adjoint)
    if 0 in (math.prod(lhs.shape), math.prod(rhs.shape), math.prod(ct.shape)):
        result = zeros_of(linear)
    else:
        other = rhs if is_linear(lhs) else lhs
        if ct.dtype != other.dtype:  # the result had a dtype of its own, and operands of a convolution have one
            params["preferred_element_type"] = wide = _wider(ct.dtype, other.dtype)
            ct, other = convert_element_type(ct, wide), convert_element_type(other, wide)
            lhs, rhs = (lhs, other) if is_linear(lhs) else (other, rhs)
        result = adjoint(ct, lhs, rhs, **params)
        if result.dtype != linear.dtype:
            result = cotangent_of_dtype(result, linear.dtype)
    return [result, None] if is_linear(lhs) else [None, result]


def _wider(a: np.dtype, b: np.dtype) -> np.dtype:
    """The one of two dtypes that has more bits; float32 where neither holds the other's numbers, as of float16 and bfloat16."""
    if dtypes.bit_width(a) == dtypes.bit_width(b):
        return np.dtype(np.float32)
    return a if dtypes.bit_width(a) > dtypes.bit_width(b) else b


def _lhs_adjoint(ct: Any, lhs: Any, rhs: Any, *, window_strides: tuple[int, ...], padding: Sequence[tuple[int, int]], lhs_dilation: Any,
                 rhs_dilation: Any, dimension_numbers: ConvDimensionNumbers, feature_group_count: int, batch_group_count: int,
                 precision: Any, preferred_element_type: Any, out_sharding: Any) -> Any:
    """ct convolved with the flipped kernel: strides and input dilation change places."""
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    pads = []
    for i, (low, _) in enumerate(padding):
        window = dilated(rhs.shape[rhs_spec[2 + i]], rhs_dilation[i])
        new_low = window - 1 - low
        size = (lhs.shape[lhs_spec[2 + i]] - 1) * lhs_dilation[i] + window
        pads.append((new_low, size - dilated(ct.shape[out_spec[2 + i]], window_strides[i]) - new_low))
    # Each group of output features becomes a group of input features, the kernel's two feature axes change places.
    groups = feature_group_count * batch_group_count
    kernel = rev(rhs, rhs_spec[2:])
    kernel = _move_group(kernel, rhs_spec[0], rhs_spec[1], groups)
    result = conv_general_dilated_p.bind(
        ct, kernel, window_strides=lhs_dilation, padding=tuple(pads), lhs_dilation=window_strides, rhs_dilation=rhs_dilation,
        dimension_numbers=ConvDimensionNumbers(out_spec, (rhs_spec[1], rhs_spec[0], *rhs_spec[2:]), lhs_spec),
        feature_group_count=groups, batch_group_count=1, precision=precision, preferred_element_type=preferred_element_type,
        out_sharding=None)  # the sharding of the cotangent is set where it is used
    return _move_group(result, lhs_spec[1], lhs_spec[0], batch_group_count)


def _rhs_adjoint(ct: Any, lhs: Any, rhs: Any, *, window_strides: Any, padding: Sequence[tuple[int, int]], lhs_dilation: tuple[int, ...],
                 rhs_dilation: Any, dimension_numbers: ConvDimensionNumbers, feature_group_count: int, batch_group_count: int,
                 precision: Any, preferred_element_type: Any, out_sharding: Any) -> Any:
    """lhs convolved with ct, features for batch: strides and kernel dilation change places, and so do the two groupings."""
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    pads = []
    for i, (low, _) in enumerate(padding):
        size = (rhs.shape[rhs_spec[2 + i]] - 1) * rhs_dilation[i] + dilated(ct.shape[out_spec[2 + i]], window_strides[i])
        pads.append((low, size - dilated(lhs.shape[lhs_spec[2 + i]], lhs_dilation[i]) - low))
    numbers = ConvDimensionNumbers((lhs_spec[1], lhs_spec[0], *lhs_spec[2:]), (out_spec[1], out_spec[0], *out_spec[2:]),
                                   (rhs_spec[1], rhs_spec[0], *rhs_spec[2:]))
    return conv_general_dilated_p.bind(
        lhs, ct, window_strides=rhs_dilation, padding=tuple(pads), lhs_dilation=lhs_dilation, rhs_dilation=window_strides,
        dimension_numbers=numbers, feature_group_count=batch_group_count, batch_group_count=feature_group_count,
        precision=precision, preferred_element_type=preferred_element_type, out_sharding=None)


def _move_group(x: ArrayLike, source: int, target: int, groups: int) -> Array:
    """Moves the leading factor `groups` of one axis to the front of another: [.., g * a, .., b, ..] to [.., a, .., g * b, ..]."""
    if groups == 1:
        return x
    shape = x.shape
    split = reshape(x, (*shape[:source], groups, shape[source] // groups, *shape[source + 1:]))
    target_now = target + (target > source)  # the group axis is at `source`, the rest of its axis behind it
    order = [axis for axis in range(len(shape) + 1) if axis != source]
    order.insert(order.index(target_now), source)
    merged = list(shape)
    merged[source] //= groups
    merged[target] *= groups
    return reshape(transpose(split, order), merged)


# Batching: the mapped axis is merged into the batch, the output features, or, if both operands have it, the groups.


@batching_rule(conv_general_dilated_p)
def _conv_batch(operands: Sequence[Any], batch_axes: Sequence[Any], *, dimension_numbers: ConvDimensionNumbers,
                feature_group_count: int, batch_group_count: int, **params: Any) -> tuple[Any, Any]:
    lhs, rhs = operands
    lhs_axis, rhs_axis = batch_axes
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    size = get_aval(lhs).shape[lhs_axis] if lhs_axis is not None else get_aval(rhs).shape[rhs_axis]
    if not size:  # a mapped axis of size 0 could not be split from a merged axis again
        avals = [get_aval(x) if axis is None else remove_axis(get_aval(x), axis) for x, axis in zip(operands, batch_axes)]
        result = conv_general_dilated_p.shape_rule(*avals, dimension_numbers=dimension_numbers, feature_group_count=feature_group_count,
                                                   batch_group_count=batch_group_count, **params)
        return zeros_of(result.update(shape=(0, *result.shape))), 0
    if lhs_axis is not None and rhs_axis is not None:
        # One more grouping: of the batch if it is grouped already, of the features otherwise.
        by_batch = batch_group_count > 1
        lhs = _merge(lhs, lhs_axis, lhs_spec[0 if by_batch else 1], 1)
        rhs = _merge(rhs, rhs_axis, rhs_spec[0], 1)
        feature_group_count, batch_group_count = \
            (feature_group_count, size * batch_group_count) if by_batch else (size * feature_group_count, batch_group_count)
        out_axis, outer = out_spec[1], 1
    elif lhs_axis is not None:
        lhs = _merge(lhs, lhs_axis, lhs_spec[0], batch_group_count)
        out_axis, outer = out_spec[0], 1
    else:
        outer = feature_group_count * batch_group_count
        rhs = _merge(rhs, rhs_axis, rhs_spec[0], outer)
        out_axis = out_spec[1]
    result = conv_general_dilated_p.bind(lhs, rhs, dimension_numbers=dimension_numbers, feature_group_count=feature_group_count,
                                         batch_group_count=batch_group_count, **params)
    return _unmerge(result, out_axis, outer, size)


def _merge(x: ArrayLike, batch_axis: int, target: int, outer: int) -> Array:
    """Merges the batch axis into axis `target` (numbered without it), inside a leading factor `outer` of that axis."""
    x = move_axis(x, batch_axis, 0)
    size, *shape = x.shape
    split = reshape(x, (size, *shape[:target], outer, shape[target] // outer, *shape[target + 1:]))
    order = list(range(1, len(shape) + 2))
    order.insert(target + 1, 0)
    shape[target] *= size
    return reshape(transpose(split, order), shape)


def _unmerge(x: ArrayLike, axis: int, outer: int, size: int) -> tuple[Any, Any]:
    """The inverse on the result: takes the batch axis out of `axis`; returns the array and where it is."""
    shape = x.shape
    if outer == 1:
        return reshape(x, (*shape[:axis], size, shape[axis] // size, *shape[axis + 1:])), axis
    split = reshape(x, (*shape[:axis], outer, size, shape[axis] // (outer * size), *shape[axis + 1:]))
    moved = move_axis(split, axis + 1, 0)
    return reshape(moved, (size, *shape[:axis], shape[axis] // size, *shape[axis + 1:])), 0
