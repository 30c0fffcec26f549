"""Convolutions on every dtype, of 0 to 3 spatial axes in any order, with all dilations, paddings and groups.

Oracle: the defining sum, index by index, in unbounded integers or in float64. The values are small integers, of which float32
holds every partial sum, so that the order of summation does not matter.
"""

from __future__ import annotations

import numpy as np
import pytest
from drawn_arrays import (
    BOOL,
    COMPLEX,
    INTEGERS,
    NUMBERS,
    covers,
    drawn,
    every_operation_is_covered,
    more,
    rounded,
    same,
    seeds,
    wide,
    wrapped,
)
from hypothesis import given
from hypothesis import strategies as st

from laminax_ir.ops.convolution import ConvDimensionNumbers, conv_general_dilated
from laminax_ir.options.config import enable_x64


@pytest.fixture(autouse=True, scope="module")
def x64():
    with enable_x64():
        yield


def by_definition(lhs, rhs, strides, padding, lhs_dilation, rhs_dilation, feature_groups, batch_groups):
    """The defining sum, index by index: lhs [n, c, spatial...], rhs [o, i, spatial...]."""
    spatial = range(len(strides))
    out_shape = []
    for i in spatial:
        padded = (lhs.shape[2 + i] - 1) * lhs_dilation[i] + 1 if lhs.shape[2 + i] else 0
        window = (rhs.shape[2 + i] - 1) * rhs_dilation[i] + 1 if rhs.shape[2 + i] else 0
        out_shape.append(max((padded + sum(padding[i]) - window) // strides[i] + 1, 0))
    batch, outs = lhs.shape[0] // batch_groups, rhs.shape[0]
    result = np.zeros((batch, outs, *out_shape), lhs.dtype)
    for n, o, *y in np.ndindex(*result.shape):
        group = o * max(feature_groups, batch_groups) // outs
        row = n + (group * batch if batch_groups > 1 else 0)
        first = group * rhs.shape[1] if feature_groups > 1 else 0
        for k in np.ndindex(*rhs.shape[2:]):
            place = [y[i] * strides[i] + k[i] * rhs_dilation[i] - padding[i][0] for i in spatial]
            if all(p % d == 0 and 0 <= p // d < s for p, d, s in zip(place, lhs_dilation, lhs.shape[2:])):
                x = tuple(p // d for p, d in zip(place, lhs_dilation))
                result[(n, o, *y)] += lhs[(row, slice(first, first + rhs.shape[1]), *x)] @ rhs[(o, slice(None), *k)]
    return result


@st.composite
def convolutions(draw):
    rank = draw(st.integers(0, 3))
    numbers = lambda low, high: tuple(draw(st.lists(st.integers(low, high), min_size=rank, max_size=rank)))
    groups, by_batch = draw(st.integers(1, 2)), draw(st.booleans())
    feature_groups, batch_groups = (1, groups) if by_batch else (groups, 1)
    ins = draw(st.integers(1, 2))
    lhs = (draw(st.integers(1, 2)) * batch_groups, ins * feature_groups, *numbers(1, 4 if rank < 3 else 2))
    rhs = (draw(st.integers(1, 2)) * groups, ins, *numbers(1, 3 if rank < 3 else 2))
    padding = tuple(zip(numbers(-1, 2), numbers(0, 2)))
    return lhs, rhs, numbers(1, 2), padding, numbers(1, 2), numbers(1, 2), feature_groups, batch_groups


@covers("conv_general_dilated")
@more
@given(case=convolutions(), lhs_order=st.permutations(range(5)), rhs_order=st.permutations(range(5)),
       out_order=st.permutations(range(5)), seed=seeds)
def test_is_the_defining_sum(case, lhs_order, rhs_order, out_order, seed):
    lhs_shape, rhs_shape, strides, padding, lhs_dilation, rhs_dilation, feature_groups, batch_groups = case
    rng = np.random.default_rng(seed)
    orders = [tuple(i for i in order if i < len(lhs_shape)) for order in (lhs_order, rhs_order, out_order)]
    put = lambda x, spec: x.transpose(np.argsort(spec))  # axis spec[i] is the canonical axis i
    for dtype in NUMBERS:
        if dtype.name == "float8_e8m0fnu":  # has no zero for the padding
            continue
        if dtype in INTEGERS:
            lhs, rhs = drawn(rng, dtype, lhs_shape), drawn(rng, dtype, rhs_shape)
        else:
            lhs, rhs = (np.asarray(rng.choice([1, 2, -1, *([1j] if dtype in COMPLEX else [])], s)).astype(dtype)
                        for s in (lhs_shape, rhs_shape))
        exact = by_definition(*[x.astype(object) if dtype in INTEGERS else wide(x) for x in (lhs, rhs)], strides, padding,
                              lhs_dilation, rhs_dilation, feature_groups, batch_groups)
        got = conv_general_dilated(put(lhs, orders[0]), put(rhs, orders[1]), strides, padding, lhs_dilation, rhs_dilation,
                                   ConvDimensionNumbers(*orders), feature_groups, batch_groups)
        expected = put(exact, orders[2])
        if dtype in INTEGERS:
            same(got, np.array([wrapped(int(v), dtype) for v in expected.ravel()], dtype).reshape(expected.shape))
        else:
            rounded(got, expected, dtype, ulps=0)


@covers("conv_general_dilated")
@more
@given(lhs=st.tuples(st.integers(0, 2), st.integers(0, 4)), rhs=st.tuples(st.integers(0, 2), st.integers(1, 3)),
       features=st.integers(1, 2))
def test_empty_axes(lhs, rhs, features):
    (batch, size), (outs, window) = lhs, rhs
    x, k = np.ones((batch, features, size), np.float32), np.ones((outs, features, window), np.float32)
    got = conv_general_dilated(x, k, (1,), "VALID")
    same(got, np.full((batch, outs, max(size - window + 1, 0)), features * window, np.float32))


@covers("conv_general_dilated")
@more
@given(seed=seeds)
def test_of_bools_it_tells_whether_there_is_a_pair(seed):
    rng = np.random.default_rng(seed)
    for dtype in BOOL:
        x, k = drawn(rng, dtype, (1, 2, 6)), drawn(rng, dtype, (3, 2, 2))
        windows = np.lib.stride_tricks.sliding_window_view(x[0], 2, axis=-1)  # [feature, place, window]
        same(conv_general_dilated(x, k, (1,), "VALID"), (windows & k[:, :, None]).any(axis=(1, 3))[None])


def test_every_operation_of_the_family_is_drawn():
    every_operation_is_covered(__name__)
