"""Reductions through XLA against the reference."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stablehlo_runner import check

from laminax_ir.ops import elementwise, reduction

f32 = np.float32
inf, nan = np.inf, np.nan


@st.composite
def shape_and_axes(draw):
    shape = tuple(draw(st.lists(st.integers(0, 3), max_size=3)))
    return shape, tuple(i for i in draw(st.permutations(range(len(shape)))) if draw(st.booleans()))


@pytest.mark.parametrize("name, dtypes", [
    ("reduce_sum", "float32 bfloat16 int32 uint8 complex64 int4"), ("reduce_prod", "float32 int8 complex64"),
    ("reduce_max", "float32 float16 int32 uint8 bool complex64 int4"), ("reduce_min", "float32 int32 uint8 bool complex64"),
    ("reduce_and", "int32 bool uint8"), ("reduce_or", "int32 bool"), ("reduce_xor", "int32 bool"),
])
@settings(max_examples=4)
@given(shape_and_axes())
def test_named_reductions(name, dtypes, case):
    shape, axes = case
    for dtype in dtypes.split():
        x = np.random.default_rng(0).integers(0, 3, size=shape).astype(dtype)
        if dtype == "complex64":
            x = x + 1j * np.random.default_rng(1).integers(-1, 2, size=shape).astype(f32)
        check(lambda x: [getattr(reduction, name)(x, axes)], x)


def test_nan_is_every_extreme():
    x = np.array([[1, nan], [3, -inf]], f32)
    check(lambda x: [reduction.reduce_max(x, (1,)), reduction.reduce_min(x, (1,))], x)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int8", "uint8", "bool", "float64"])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_positions(dtype, axis):
    from laminax_ir.options import config
    with config.enable_x64(True):
        x = np.random.default_rng(0).integers(0, 3, size=(3, 4, 5)).astype(dtype)
        check(lambda x: [reduction.argmax(x, axis, np.int32), reduction.argmin(x, axis, np.uint8)], x)


@pytest.mark.parametrize("x", [[3, nan, inf, nan], [nan, nan], [-inf, -inf], [inf, inf, 1], [0.0, -0.0], [-0.0, 0.0]])
def test_positions_at_the_hard_places(x):
    check(lambda x: [reduction.argmax(x, 0, np.int32), reduction.argmin(x, 0, np.int32)], np.array(x, f32))


def test_general_reduce_with_constants_in_the_computation():
    x = np.random.default_rng(0).normal(size=(3, 4, 5)).astype(f32)
    scale = np.array(2.0, f32)
    check(lambda x: [reduction.reduce(x, f32(-1), lambda a, b: elementwise.max(elementwise.mul(a, 1.0), elementwise.mul(
        elementwise.div(b, scale), 2.0)), (0, 2))], x)


def test_variadic_reduce():
    x = np.random.default_rng(0).normal(size=(3, 7)).astype(f32)
    where = np.broadcast_to(np.arange(7, dtype=np.int32), x.shape).copy()

    def later(a, b):
        keep = elementwise.ge(a[0], b[0])
        return tuple(elementwise.select(keep, p, q) for p, q in zip(a, b))

    check(lambda x, i: list(reduction.reduce((x, i), (f32(-inf), np.int32(-1)), later, (1,))), x, where)


def test_initial_values_may_be_computed():
    x = np.arange(6, dtype=f32).reshape(2, 3)
    add = lambda a, b: elementwise.add(a, b)
    check(lambda x, i: [reduction.reduce(x, elementwise.mul(i, 0.0), add, (1,))], x, f32(3))
