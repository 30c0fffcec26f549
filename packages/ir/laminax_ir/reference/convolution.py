"""NumPy meaning of convolutions: a sum over the places of the kernel, each one matrix product."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from laminax_ir.ops.convolution import conv_general_dilated_p, dilated, windows_along
from laminax_ir.reference.contraction import in_common_dtype, to_result
from laminax_ir.reference.evaluate import reference_rule

if TYPE_CHECKING:
    from laminax_ir.ops.convolution import ConvDimensionNumbers
    from laminax_ir.types.annotations import ArrayLike


@reference_rule(conv_general_dilated_p)
def _conv_general_dilated(lhs: np.ndarray, rhs: np.ndarray, *, window_strides: tuple[int, ...], padding: tuple[tuple[int, ...], ...],
                          lhs_dilation: tuple[int, ...], rhs_dilation: tuple[int, ...], dimension_numbers: ConvDimensionNumbers,
                          feature_group_count: int, batch_group_count: int, precision: Any, preferred_element_type: np.dtype | None,
                          out_sharding: Any) -> np.ndarray:
    lhs, rhs, result_dtype = in_common_dtype(lhs, rhs, preferred_element_type)
    lhs, rhs = lhs.transpose(dimension_numbers.lhs_spec), rhs.transpose(dimension_numbers.rhs_spec)
    lhs = padded(lhs, lhs.dtype.type(0), ((0, 0), (0, 0), *padding), (1, 1, *lhs_dilation))
    (batch, features), groups = lhs.shape[:2], feature_group_count * batch_group_count
    out_features, _, *kernel = rhs.shape
    sizes = [windows_along(size, dilated(k, d), s) for size, k, d, s in zip(lhs.shape[2:], kernel, rhs_dilation, window_strides)]
    # Groups in front: of the input's batch or of its features, and of the kernel's output features.
    lhs = lhs.reshape(batch_group_count, batch // batch_group_count, feature_group_count, features // feature_group_count,
                      *lhs.shape[2:])
    lhs = lhs.swapaxes(1, 2).reshape(groups, batch // batch_group_count, features // feature_group_count, *lhs.shape[4:])
    rhs = rhs.reshape(groups, out_features // groups, *rhs.shape[1:])
    result = np.zeros((groups, batch // batch_group_count, out_features // groups, *sizes), lhs.dtype)
    for place in np.ndindex(*kernel):
        part = window_part(lhs, (0, 0, 0, *place), (1, 1, 1, *rhs_dilation), (1, 1, 1, *window_strides), (*lhs.shape[:3], *sizes))
        product = np.matmul(rhs[(..., *place)][:, None], part.reshape(*part.shape[:3], math.prod(sizes)))
        result = result + product.reshape(result.shape)
    result = np.moveaxis(result, 0, 1).reshape(batch // batch_group_count, out_features, *sizes)
    return to_result(result.transpose(np.argsort(dimension_numbers.out_spec)), result_dtype)


def padded(x: np.ndarray, fill: ArrayLike, padding: tuple[tuple[int, ...], ...], dilation: tuple[int, ...]) -> Any:
    """The array with holes between its elements and margins around it, both of value `fill`; negative margins cut off."""
    shape = [dilated(size, d) for size, d in zip(x.shape, dilation)]
    spread = np.full(shape, fill, x.dtype)
    spread[tuple(slice(None, None, d) for d in dilation)] = x
    if x.ndim:  # np.pad refuses rank 0
        spread = np.pad(spread, [(max(low, 0), max(high, 0)) for low, high in padding], constant_values=fill)
    return spread[tuple(slice(max(-low, 0), size - max(-high, 0)) for (low, high), size in zip(padding, spread.shape))]


def window_part(x: np.ndarray, place: tuple[int, ...], window_dilation: tuple[int, ...], strides: tuple[int, ...],
                sizes: tuple[int, ...]) -> Any:
    """The elements of x at one place of the window, for all windows."""
    return x[tuple(slice(p * d, p * d + (n - 1) * s + 1 if n else p * d, s)
                   for p, d, s, n in zip(place, window_dilation, strides, sizes))]
