"""Convolutions: derivatives against differences and the adjoint identity, vmap against a loop."""

from functools import partial

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numeric_checks import check_derivatives, check_vmap

from laminax_ir.ops.convolution import ConvDimensionNumbers, conv_general_dilated, conv_transpose
from laminax_ir.ops.elementwise import convert_element_type
from laminax_ir.ops.reduction import reduce_sum
from laminax_transforms import grad, vmap

DTYPES = {"bfloat16": np.dtype(ml_dtypes.bfloat16), "float16": np.dtype(np.float16), "float32": np.dtype(np.float32)}

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


@pytest.mark.parametrize("operands, preferred", [("bfloat16", "float32"), ("float16", "float32"), ("float32", "bfloat16"),
                                                 ("bfloat16", "float16")])
@pytest.mark.parametrize("groups", [1, 2])
def test_derivatives_where_the_result_has_a_dtype_of_its_own(operands, preferred, groups):
    rng = np.random.default_rng(3)
    # small integers, of which no dtype here rounds the sums
    x, w = (rng.integers(-3, 4, shape).astype(DTYPES[operands]) for shape in ((2, 4, 7), (4, 4 // groups, 3)))
    fun = partial(conv_general_dilated, window_strides=(2,), padding=[(1, 0)], rhs_dilation=(2,), feature_group_count=groups)

    def loss(x, w, **options):
        return reduce_sum(convert_element_type(fun(x, w, **options), np.float32), (0, 1, 2))
    got = grad(partial(loss, preferred_element_type=DTYPES[preferred]), (0, 1))(x, w)
    expected = grad(loss, (0, 1))(x.astype(np.float32), w.astype(np.float32))
    for g, e in zip(got, expected, strict=True):
        assert g.dtype == DTYPES[operands]
        np.testing.assert_array_equal(np.asarray(g, np.float32), e)


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
