"""Contractions through XLA against the reference."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stablehlo_runner import check

from laminax_ir.ops.contraction import (
    Precision,
    RaggedDotDimensionNumbers,
    batch_matmul,
    dot,
    dot_general,
    ragged_dot,
    ragged_dot_general,
)

f32 = np.float32


@st.composite
def dots(draw):
    """Operand shapes and dimension numbers, axes in any order, sizes 0 to 3."""
    sizes = st.integers(0, 3)
    batch, contracting, lhs_free, rhs_free = (draw(st.lists(sizes, max_size=2)) for _ in range(4))

    def place(*groups):
        labels = [(kind, i, size) for kind, group in groups for i, size in enumerate(group)]
        order = draw(st.permutations(labels))
        where = {(kind, i): axis for axis, (kind, i, _) in enumerate(order)}
        return tuple(size for *_, size in order), where

    lhs_shape, lhs = place(("b", batch), ("k", contracting), ("m", lhs_free))
    rhs_shape, rhs = place(("b", batch), ("k", contracting), ("n", rhs_free))
    axes = lambda where, kind, n: tuple(where[kind, i] for i in range(n))
    return lhs_shape, rhs_shape, ((axes(lhs, "k", len(contracting)), axes(rhs, "k", len(contracting))),
                                  (axes(lhs, "b", len(batch)), axes(rhs, "b", len(batch))))


@settings(max_examples=30)
@given(dots(), st.sampled_from(["float32", "int32", "complex64", "bfloat16", "bool"]))
def test_dot_general(case, dtype):
    lhs_shape, rhs_shape, numbers = case
    rng = np.random.default_rng(0)
    x, y = (rng.integers(0 if dtype == "bool" else -3, 2 if dtype == "bool" else 4, size=s).astype(dtype)
            for s in (lhs_shape, rhs_shape))
    check(lambda x, y: [dot_general(x, y, numbers)], x, y)  # small integers: exact in every dtype


@pytest.mark.parametrize("lhs, rhs, preferred", [
    ("float32", "float32", "float64"), ("bfloat16", "bfloat16", "float32"), ("int8", "int8", "int32"), ("bfloat16", "float32", None),
    ("int8", "uint8", None), ("int8", "int32", None), ("float32", "int32", None), ("complex64", "float32", None),
    ("float32", "float32", "bfloat16"), ("float32", "float32", "int32"), ("complex64", "complex64", "float32"),
    ("float32", "float32", "complex64"), ("bool", "bool", "int32"), ("bool", "int8", None), ("float32", "float32", "bool"),
    ("float16", "float16", None), ("float8_e4m3fn", "float8_e5m2", "float32"), ("uint32", "uint32", None), ("int64", "int64", None),
    ("float64", "float64", None), ("int32", "int32", "float32"), ("int32", "int32", "uint32"),
])
def test_dtypes(lhs, rhs, preferred):
    from laminax_ir.options import config
    with config.enable_x64(True):
        x, y = np.array([[0.5, 1], [2, 3]]).astype(lhs), np.array([[1.5, 1], [0, 2]]).astype(rhs)
        check(lambda x, y: [dot(x, y, preferred_element_type=preferred)], x, y)


@pytest.mark.parametrize("algorithm", ["DEFAULT", "F16_F16_F16", "F32_F32_F32", "F64_F64_F64", "BF16_BF16_F32", "BF16_BF16_F32_X3",
                                       "BF16_BF16_F32_X6"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "int32"])
def test_dot_algorithms(algorithm, dtype):
    from laminax_ir.options import config
    with config.enable_x64(True):
        x, y = np.array([[0.5, 1], [2, 3]]).astype(dtype), np.array([[1.5, 1], [0, 2]]).astype(dtype)
        check(lambda x, y: [dot(x, y, precision=algorithm)], x, y)  # few bits: exact in every algorithm


@pytest.mark.parametrize("algorithm", ["BF16_BF16_F32_X3", "BF16_BF16_F32_X6", "F32_F32_F32"])
def test_dot_algorithms_at_their_accuracy(algorithm):
    x, y = np.random.default_rng(0).normal(size=(2, 4, 4)).astype(f32)
    # XLA's CPU backend may compute more accurately than three products of components, which keep 16 bits
    check(lambda x, y: [dot(x, y, precision=algorithm)], x, y, atol=1e-4 if algorithm.endswith("X3") else 2e-6)


@pytest.mark.parametrize("precision", [None, Precision.DEFAULT, "high", ("highest", "default")])
def test_precisions(precision):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 3, 4)).astype(f32), rng.normal(size=(2, 4, 5)).astype(f32)
    check(lambda x, y: [batch_matmul(x, y, precision)], x, y, rtol=1e-5, atol=1e-6)


def test_ragged_dot():
    rng = np.random.default_rng(0)
    x, y, sizes = rng.normal(size=(5, 2)).astype(f32), rng.normal(size=(3, 2, 4)).astype(f32), np.array([2, 0, 2], np.int32)
    check(lambda x, y, s: [ragged_dot(x, y, s)], x, y, sizes, rtol=1e-5, atol=1e-6)
    contracting = RaggedDotDimensionNumbers((((0,), (0,)), ((), ())), (0,), ())
    check(lambda x, s: [ragged_dot_general(x, x, s, contracting)], x, sizes, rtol=1e-5, atol=1e-6)


def test_ragged_dot_with_batch_axes():
    rng = np.random.default_rng(0)
    numbers = RaggedDotDimensionNumbers((((2,), (0,)), ((1,), (1,))), (0,), (3,))
    check(lambda x, y, s: [ragged_dot_general(x, y, s, numbers)], rng.normal(size=(4, 2, 3)).astype(f32),
          rng.normal(size=(3, 2, 5, 2)).astype(f32), np.array([[1, 3], [2, 1]], np.int32), rtol=1e-5, atol=1e-6)
