"""Convolutions: up to two spatial axes, of the drawn sizes."""

from __future__ import annotations

from laminax_ir.ops import convolution as op

from .case import Case


def images(features: int, filters: int, batch: int = 1):
    """[batch, features, *size] and [filters, features of a group, *window]."""
    def points(numbers, size):
        spatial = size[:2]
        return numbers(batch, features, *spatial), numbers(filters, 1, *(min(s, 2) for s in spatial))
    return points


def convolution(lhs_dilation: int = 1, rhs_dilation: int = 1, stride: int = 1, **groups: int):
    def fun(x, k):
        rank = len(x.shape) - 2
        return op.conv_general_dilated(x, k, (stride,) * rank, ((1, 1),) * rank, (lhs_dilation,) * rank, (rhs_dilation,) * rank, **groups)
    return fun


CASES = {
    "conv_general_dilated": Case(convolution(), images(1, 2), rtol=40),
    "with strides and dilations": Case(convolution(2, 2, 2), images(1, 1), rtol=40),
    "of feature groups": Case(convolution(feature_group_count=2), images(2, 2), rtol=40),
    "of batch groups": Case(convolution(batch_group_count=2), images(1, 2, 2), rtol=40),
}
