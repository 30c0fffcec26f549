"""Convolutions through XLA against the reference."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stablehlo_runner import check

from laminax_ir.ops.convolution import ConvDimensionNumbers, conv_general_dilated, conv_general_dilated_local, conv_transpose

f32 = np.float32


@st.composite
def convolutions(draw):
    rank = draw(st.integers(1, 2))
    numbers = lambda low, high: tuple(draw(st.lists(st.integers(low, high), min_size=rank, max_size=rank)))
    groups, by_batch = draw(st.integers(1, 2)), draw(st.booleans())
    feature_groups, batch_groups = (1, groups) if by_batch else (groups, 1)
    ins = draw(st.integers(1, 2))
    orders = [tuple(draw(st.permutations(range(rank + 2)))) for _ in range(3)]
    shapes = [(draw(st.integers(1, 2)) * batch_groups, ins * feature_groups, *numbers(2, 5)),
              (draw(st.integers(1, 2)) * groups, ins, *numbers(1, 3))]
    lhs, rhs = (tuple(np.array(s)[np.argsort(order)].tolist()) for s, order in zip(shapes, orders))
    args = (numbers(1, 2), tuple(zip(numbers(-1, 2), numbers(0, 2))), numbers(1, 2), numbers(1, 2),
            ConvDimensionNumbers(*orders), feature_groups, batch_groups)
    return lhs, rhs, args


@settings(max_examples=25)
@given(convolutions(), st.sampled_from(["float32", "int32", "complex64", "bfloat16"]))
def test_values(case, dtype):
    lhs, rhs, args = case
    rng = np.random.default_rng(0)
    x, k = (rng.integers(-3, 4, size=s).astype(dtype) for s in (lhs, rhs))  # exact in every dtype
    check(lambda x, k: [conv_general_dilated(x, k, *args)], x, k)


@pytest.mark.parametrize("dtype, preferred", [("int8", "int32"), ("bfloat16", "float32"), ("bool", None), ("float16", None),
                                              ("int32", "float32"), ("uint8", None)])
def test_dtypes(dtype, preferred):
    rng = np.random.default_rng(0)
    x, k = rng.integers(0, 3, size=(1, 2, 5)).astype(dtype), rng.integers(0, 3, size=(3, 2, 2)).astype(dtype)
    check(lambda x, k: [conv_general_dilated(x, k, (1,), "SAME", preferred_element_type=preferred)], x, k)


def test_wrappers():
    rng = np.random.default_rng(0)
    x, k = rng.normal(size=(1, 4, 4, 2)).astype(f32), rng.normal(size=(3, 3, 2, 3)).astype(f32)
    check(lambda x, k: [conv_transpose(x, k, (2, 2), "SAME", transpose_kernel=False, precision="highest")], x, k, rtol=1e-5, atol=1e-5)
    local = rng.normal(size=(3, 18, 6, 6)).astype(f32)
    check(lambda x, k: [conv_general_dilated_local(x, k, (1, 1), "VALID", (3, 3))], rng.normal(size=(1, 2, 8, 8)).astype(f32), local,
          rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("lhs, rhs", [((0, 2, 5), (3, 2, 2)), ((1, 0, 5), (3, 0, 2)), ((1, 2, 1), (3, 2, 2))])
def test_empty(lhs, rhs):
    check(lambda x, k: [conv_general_dilated(x, k, (1,), "VALID")], np.ones(lhs, f32), np.ones(rhs, f32))
