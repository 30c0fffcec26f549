"""Windowed reductions through XLA against the reference."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stablehlo_runner import check

from laminax_ir.ops import elementwise, windows
from laminax_ir.ops.elementwise import ge_p, le_p

f32 = np.float32
inf = np.inf
reduce_window = windows.reduce_window


@st.composite
def windowed(draw, dilations=True):
    rank = draw(st.integers(1, 2))
    numbers = lambda low, high: tuple(draw(st.lists(st.integers(low, high), min_size=rank, max_size=rank)))
    high = 2 if dilations else 1
    return (numbers(2, 5), numbers(1, 3), numbers(1, 2), tuple(zip(numbers(-1 if dilations else 0, 2), numbers(0, 2))),
            numbers(1, high), numbers(1, high))


@settings(max_examples=20)
@given(windowed(), st.sampled_from(["float32", "int32", "bfloat16"]))
def test_values(case, dtype):
    shape, *window = case
    x = np.random.default_rng(0).integers(-4, 5, size=shape).astype(dtype)
    least, greatest = (-inf, inf) if dtype != "int32" else (np.iinfo(np.int32).min, np.iinfo(np.int32).max)
    one = np.ones((), dtype)[()]
    check(lambda x: [reduce_window(x, 0, elementwise.add, *window), reduce_window(x, least, elementwise.max, *window),
                     reduce_window(x, greatest, elementwise.min, *window),
                     reduce_window(x, one, lambda a, b: elementwise.mul(a, elementwise.mul(b, np.ones((), dtype)[()])), *window)], x)


def test_variadic():
    x = np.random.default_rng(0).normal(size=(3, 8)).astype(f32)

    def later(a, b):
        keep = elementwise.ge(a[0], b[0])
        return tuple(elementwise.select(keep, p, q) for p, q in zip(a, b))

    check(lambda x, i: list(reduce_window((x, i), (f32(-inf), np.int32(-1)), later, (1, 3), (1, 2), "SAME")), x,
          np.tile(np.arange(8, dtype=np.int32), (3, 1)))


@settings(max_examples=12)
@given(windowed(dilations=False), st.sampled_from([ge_p, le_p]))
def test_selections(case, select):
    shape, window, strides, padding, *ones = case
    rng = np.random.default_rng(0)
    x, tangents = rng.integers(0, 4, size=shape).astype(f32), rng.integers(1, 9, size=shape).astype(f32)
    counts = windows.windowed_shape("", shape, window, strides, padding, *ones)
    source = rng.integers(1, 9, size=counts).astype(f32)
    check(lambda s, t, x: [windows.select_and_scatter_add(s, x, select, window, strides, padding),
                           windows.select_and_gather_add(t, x, select, window, strides, padding)], source, tangents, x)


@pytest.mark.parametrize("dtype", ["bool", "complex64"])
def test_other_dtypes(dtype):
    x = np.random.default_rng(0).integers(0, 2, size=(4, 5)).astype(dtype)
    fun, init = (elementwise.max, False) if dtype == "bool" else (elementwise.add, 0)
    check(lambda x: [reduce_window(x, init, fun, (2, 2))], x)
