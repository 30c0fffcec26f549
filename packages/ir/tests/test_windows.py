"""Windowed reductions against a loop over windows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from laminax_ir.avals import ShapedArray
from laminax_ir.errors import DTypeError, ShapeError
from laminax_ir.ops import elementwise, windows
from laminax_ir.ops.elementwise import ge_p, le_p, lt_p
from laminax_ir.staging import stage

f32 = np.float32
inf = np.inf
reduce_window = windows.reduce_window


def windows_of(shape, window, strides, padding, base_dilation, window_dilation):
    """For each window the indices of the elements in it, in row-major order of the window; None outside."""
    counts = []
    for i, size in enumerate(shape):
        padded = ((size - 1) * base_dilation[i] + 1 if size else 0) + sum(padding[i])
        counts.append(max((padded - ((window[i] - 1) * window_dilation[i] + 1)) // strides[i] + 1, 0))
    table = np.empty(counts, object)
    for y in np.ndindex(*counts):
        table[y] = []
        for k in np.ndindex(*window):
            place = [y[i] * strides[i] + k[i] * window_dilation[i] - padding[i][0] for i in range(len(shape))]
            inside = all(p % d == 0 and 0 <= p // d < s for p, d, s in zip(place, base_dilation, shape))
            table[y].append(tuple(p // d for p, d in zip(place, base_dilation)) if inside else None)
    return table


@st.composite
def windowed(draw, dilations=True):
    rank = draw(st.integers(0, 2))
    numbers = lambda low, high: tuple(draw(st.lists(st.integers(low, high), min_size=rank, max_size=rank)))
    high = 2 if dilations else 1
    return (numbers(1, 5), numbers(1, 3), numbers(1, 2), tuple(zip(numbers(-1 if dilations else 0, 2), numbers(0, 2))),
            numbers(1, high), numbers(1, high))


@settings(max_examples=50)
@given(windowed(), st.sampled_from(["float32", "int32", "bfloat16"]), st.sampled_from(["sum", "max", "min", "xor"]))
def test_is_a_loop_over_windows(case, dtype, kind):
    shape, window, strides, padding, base_dilation, window_dilation = case
    dtype = "int32" if kind == "xor" else dtype
    x = np.random.default_rng(0).integers(-4, 5, size=shape).astype(dtype)
    least, greatest = (-inf, inf) if dtype != "int32" else (np.iinfo(np.int32).min, np.iinfo(np.int32).max)
    computation, init, combine = {
        "sum": (elementwise.add, 0, np.sum), "max": (elementwise.max, least, np.max), "min": (elementwise.min, greatest, np.min),
        "xor": (elementwise.bitwise_xor, np.int32(0), np.bitwise_xor.reduce)}[kind]
    result = np.asarray(reduce_window(x, init, computation, window, strides, padding, base_dilation, window_dilation))
    assert result.dtype == np.dtype(dtype)
    table = windows_of(shape, window, strides, padding, base_dilation, window_dilation)
    assert result.shape == table.shape
    wide = x.astype(np.int64 if dtype == "int32" else np.float64)
    for y in np.ndindex(*table.shape):
        elements = [wide[i] for i in table[y] if i is not None]
        assert float(result[y]) == combine(np.array([init, *elements], wide.dtype))


def test_variadic_window_finds_maxima_with_their_places():
    x = np.random.default_rng(0).normal(size=8).astype(f32)

    def later(a, b):
        keep = elementwise.ge(a[0], b[0])
        return tuple(elementwise.select(keep, p, q) for p, q in zip(a, b))

    value, place = reduce_window((x, np.arange(8, dtype=np.int32)), (f32(-inf), np.int32(-1)), later, (3,), (2,))
    np.testing.assert_array_equal(value, [x[i:i + 3].max() for i in (0, 2, 4)])
    np.testing.assert_array_equal(place, [i + x[i:i + 3].argmax() for i in (0, 2, 4)])


@settings(max_examples=40)
@given(windowed(dilations=False), st.booleans())
def test_select_and_scatter_and_gather(case, greatest):
    shape, window, strides, padding, *ones = case
    rng = np.random.default_rng(0)
    x = rng.integers(0, 4, size=shape).astype(f32)  # with ties: the first counts
    table = windows_of(shape, window, strides, padding, *ones)
    source, tangents = (rng.integers(1, 9, size=s).astype(f32) for s in (table.shape, shape))
    scattered, gathered = np.zeros(shape, f32), np.zeros(table.shape, f32)
    for y in np.ndindex(*table.shape):
        places = [i for i in table[y] if i is not None]
        if places:
            best = max(places, key=lambda i: x[i]) if greatest else min(places, key=lambda i: x[i])
            scattered[best] += source[y]
            gathered[y] = tangents[best]
    select = ge_p if greatest else le_p
    np.testing.assert_array_equal(windows.select_and_scatter_add(source, x, select, window, strides, padding), scattered)
    np.testing.assert_array_equal(windows.select_and_gather_add(tangents, x, select, window, strides, padding), gathered)


@pytest.mark.parametrize("computation, init, dtype, name", [
    (elementwise.add, 0.0, f32, "reduce_window_sum"), (elementwise.max, -inf, f32, "reduce_window_max"),
    (elementwise.min, inf, f32, "reduce_window_min"), (elementwise.max, False, bool, "reduce_window_max"),
    (elementwise.mul, f32(1), f32, "reduce_window"), (elementwise.max, f32(0), f32, "reduce_window"),
])
def test_known_monoids_have_primitives(computation, init, dtype, name):
    jaxpr = stage(lambda x: [reduce_window(x, init, computation, (2,))], [ShapedArray((5,), dtype)])
    assert [eqn.primitive.name for eqn in jaxpr.eqns] == [name] and jaxpr.out_avals == [ShapedArray((4,), dtype)]


def test_same_padding_with_dilations():
    x = np.ones((4, 6), f32)
    assert reduce_window(x, 0.0, elementwise.add, (2, 2), (1, 1), "SAME", (2, 1), (1, 2)).shape == (7, 6)


y = np.ones((4, 6), f32)
add = elementwise.add


@pytest.mark.parametrize("call, error, words", [
    (lambda: reduce_window(y, 0.0, add, (2,)), ShapeError, "window_dimensions must have one entry per axis of the operand of shape (4, 6), 2, got (2,)"),
    (lambda: reduce_window(y, 0.0, add, (0, 2)), ValueError, "window_dimensions must be positive"),
    (lambda: reduce_window(y, 0.0, add, (2, 2), (0, 1)), ValueError, "window_strides must be positive"),
    (lambda: reduce_window(y, 0.0, add, (2, 2), (1,)), ShapeError, "window_strides"),
    (lambda: reduce_window(y, 0.0, add, (2, 2), (1,), "SAME"), ShapeError, "window_strides"),
    (lambda: reduce_window(y, 0.0, add, (2, 2), (1, 1), "FOO"), ValueError, "'FOO'"),
    (lambda: reduce_window(y, 0.0, add, (2, 2), (1, 1), [(0, 0)]), ShapeError, "expected 2, got 1"),
    (lambda: reduce_window(y, 0.0, add, (2, 2), (1, 1), [(-9, 0), (0, 0)]), ValueError, "negative padding"),
    (lambda: reduce_window(y, 0.0, add, (2, 2), base_dilation=(0, 1)), ValueError, "base_dilation must be positive"),
    (lambda: reduce_window(y, 0.0, add, (2, 2), window_dilation=(0, 1)), ValueError, "window_dilation must be positive"),
    (lambda: reduce_window(y, np.zeros(2, f32), add, (2, 2)), ShapeError, "scalars"),
    (lambda: reduce_window(y, np.int32(1), lambda a, b: add(a, b), (2, 2)), DTypeError, "initial values"),
    (lambda: windows.select_and_scatter_add(y, y, ge_p, (2, 2), (1, 1), [(0, 0)] * 2), ShapeError, "one element per window"),
    (lambda: windows.select_and_scatter_add(y, y, lt_p, (1, 1), (1, 1), [(0, 0)] * 2), ValueError, "ge_p or le_p"),
    (lambda: windows.select_and_gather_add(y[0], y, ge_p, (1, 1), (1, 1), [(0, 0)] * 2), ShapeError, "operand's shape"),
    (lambda: windows.select_and_gather_add(y > 0, y > 0, ge_p, (1, 1), (1, 1), [(0, 0)] * 2), DTypeError, "bool"),
])
def test_malformed_calls(call, error, words):
    with pytest.raises(error) as info:
        call()
    assert words in str(info.value)
