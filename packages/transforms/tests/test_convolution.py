"""Convolutions: derivatives against differences and the adjoint identity, vmap against a loop."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numeric_checks import check_derivatives, check_vmap

from laminax_ir.ops.convolution import ConvDimensionNumbers, conv_general_dilated, conv_transpose
from laminax_transforms import vmap

f32 = np.float32


@st.composite
def convolutions(draw, max_rank=2):
    rank = draw(st.integers(0, max_rank))
    numbers = lambda low, high: tuple(draw(st.lists(st.integers(low, high), min_size=rank, max_size=rank)))
    groups, by_batch = draw(st.integers(1, 3)), draw(st.booleans())
    feature_groups, batch_groups = (1, groups) if by_batch else (groups, 1)
    ins = draw(st.integers(1, 2))
    orders = [tuple(draw(st.permutations(range(rank + 2)))) for _ in range(3)]
    shapes = [(draw(st.integers(1, 2)) * batch_groups, ins * feature_groups, *numbers(1, 4)),
              (draw(st.integers(1, 2)) * groups, ins, *numbers(1, 3))]
    lhs, rhs = (tuple(np.array(s)[np.argsort(order)].tolist()) for s, order in zip(shapes, orders))
    args = (numbers(1, 3), tuple(zip(numbers(-1, 2), numbers(0, 2))), numbers(1, 2), numbers(1, 2),
            ConvDimensionNumbers(*orders), feature_groups, batch_groups)
    return lhs, rhs, args


@settings(max_examples=40)
@given(convolutions())
def test_derivatives(case):
    lhs, rhs, args = case
    rng = np.random.default_rng(0)
    check_derivatives(lambda x, k: conv_general_dilated(x, k, *args), rng.normal(size=lhs), rng.normal(size=rhs), order=1)


@pytest.mark.parametrize("groups", [(1, 1), (2, 1), (1, 2)])
def test_second_derivatives(groups):
    rng = np.random.default_rng(0)
    feature_groups, batch_groups = groups
    check_derivatives(lambda x, k: conv_general_dilated(x, k, (2, 1), "SAME", feature_group_count=feature_groups,
                                                        batch_group_count=batch_groups),
                      rng.normal(size=(2, 2 * feature_groups, 5, 3)), rng.normal(size=(2, 2, 3, 2)))


def test_complex_derivatives():
    rng = np.random.default_rng(0)
    draw = lambda *s: rng.normal(size=s) + 1j * rng.normal(size=s)
    check_derivatives(lambda x, k: conv_general_dilated(x, k, (2,), "SAME"), draw(1, 2, 5), draw(3, 2, 2))


def test_conv_transpose_derivatives():
    rng = np.random.default_rng(0)
    check_derivatives(lambda x, k: conv_transpose(x, k, (2,), "SAME"), rng.normal(size=(1, 4, 2)), rng.normal(size=(3, 2, 3)))


@settings(max_examples=50)
@given(convolutions(max_rank=1), st.data())
def test_vmap(case, data):
    lhs, rhs, args = case
    rng = np.random.default_rng(0)
    axes, arrays = [], []
    for shape in (lhs, rhs):
        axis = data.draw(st.none() | st.integers(0, len(shape)))
        axes.append(axis)
        arrays.append(rng.normal(size=shape if axis is None else (*shape[:axis], 3, *shape[axis:])).astype(f32))
    if axes == [None, None]:
        axes[1], arrays[1] = 0, np.stack([arrays[1]] * 3)
    check_vmap(lambda x, k: conv_general_dilated(x, k, *args), arrays, axes, rtol=1e-4)


def test_vmap_of_vmap():
    rng = np.random.default_rng(0)
    conv = lambda x, k: conv_general_dilated(x, k, (1,), "SAME", feature_group_count=2)
    x, k = rng.normal(size=(2, 3, 1, 4, 5)).astype(f32), rng.normal(size=(2, 3, 4, 2, 3)).astype(f32)
    check_vmap(vmap(conv), [x, k], [0, 0], rtol=1e-4)


@pytest.mark.parametrize("in_axes", [(0, None), (None, 0), (0, 0)])
def test_vmap_over_no_examples(in_axes):
    """Only the shape is left: that of a convolution of one example, without examples."""
    shapes = [(0, *shape) if axis == 0 else shape for shape, axis in zip([(2, 4, 6), (3, 2, 3)], in_axes)]
    conv = vmap(lambda x, k: conv_general_dilated(x, k, (1,), "VALID", feature_group_count=2), in_axes)
    with pytest.raises(ValueError, match="feature_group_count"):  # what does not fit is refused all the same
        conv(*(np.zeros(shape, f32) for shape in shapes))
    conv = vmap(lambda x, k: conv_general_dilated(x, k, (2,), "VALID", feature_group_count=1), in_axes)
    result = conv(*(np.zeros(shape, f32) for shape in [(0, 2, 4, 7) if in_axes[0] == 0 else (2, 4, 7),
                                                       (0, 3, 4, 3) if in_axes[1] == 0 else (3, 4, 3)]))
    assert result.shape == (0, 2, 3, 3) and result.dtype == f32


def test_empty_operands():
    check_derivatives(lambda x, k: conv_general_dilated(x, k, (1,), "VALID"), np.zeros((0, 2, 5)), np.ones((3, 2, 2)))
    check_derivatives(lambda x, k: conv_general_dilated(x, k, (1,), "VALID"), np.ones((1, 2, 3)), np.ones((3, 2, 5)))
