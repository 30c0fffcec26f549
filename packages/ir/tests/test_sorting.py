"""Sorting operations against Python's sort with explicit comparisons."""

import functools
import math

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from laminax_ir.ops import sorting as ops
from laminax_ir.recording.staging import stage
from laminax_ir.types import dtypes
from laminax_ir.types.avals import ShapedArray
from laminax_ir.types.errors import DTypeError, ShapeError

NAN = float("nan")
HARD = [0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, NAN, -NAN, 2.5, 2.5]
floats = st.lists(st.sampled_from(HARD), max_size=8)
FLOAT_DTYPES = ["float32", "float16", ml_dtypes.bfloat16, "complex64"]


def compare(a, b):
    """-1, 0 or 1: the order of sort's keys: NaN last, zeros equal, complex by real part first."""
    if isinstance(a, complex):
        return compare(a.real, b.real) or compare(a.imag, b.imag)
    if math.isnan(a) or math.isnan(b):
        return math.isnan(a) - math.isnan(b)
    return (a > b) - (a < b)


def scalar(value):
    return complex(value) if np.iscomplexobj(value) else float(value)


def stable_order(*keys):
    def compare_rows(i, j):
        return next((c for c in (compare(scalar(k[i]), scalar(k[j])) for k in keys) if c), 0)
    return sorted(range(len(keys[0])), key=functools.cmp_to_key(compare_rows))


def bits(x):
    return np.asarray(x).tobytes()


@settings(max_examples=60)
@given(floats, st.sampled_from(FLOAT_DTYPES))
def test_sort_is_pythons_stable_sort(values, dtype):
    x = np.array(values, np.complex64 if dtype == "complex64" else np.float32).astype(dtype)
    assert bits(ops.sort(x)) == bits(x[stable_order(x)])


def test_complex_sort_goes_by_real_then_imaginary_part():
    x = np.array([1 + 2j, 1 + 1j, 0 + 5j, complex(NAN, 0), complex(1, NAN)], np.complex64)
    assert bits(ops.sort(x)) == bits(x[[2, 1, 0, 4, 3]])


@settings(max_examples=40)
@given(st.lists(st.tuples(st.integers(0, 2), st.sampled_from([0.0, -0.0, 1.0, NAN]), st.integers(0, 9)), max_size=8), st.integers(1, 3))
def test_further_keys_break_ties(rows, num_keys):
    columns = [np.array([r[i] for r in rows], d) for i, d in enumerate(["int32", "float32", "uint8"])]
    order = stable_order(*columns[:num_keys]) if rows else []
    for result, column in zip(ops.sort(columns, num_keys=num_keys), columns):
        assert bits(result) == bits(column[order])


@pytest.mark.parametrize("dtype", ["int8", "uint32", "int32", "bool", "int4", "float16", ml_dtypes.float8_e4m3fn])
@pytest.mark.parametrize("dimension", [0, 1, -1])
def test_sort_along_an_axis(dtype, dimension):
    x = np.random.default_rng(0).integers(0, 8, (4, 3, 2)).astype(dtype)
    wide = x.astype(np.float32)
    np.testing.assert_array_equal(ops.sort(x, dimension).astype(np.float32), np.sort(wide, dimension))


def test_extreme_integers_sort():
    for dtype in (np.int32, np.uint32, np.int8, np.uint8):
        info = np.iinfo(dtype)
        x = np.array([info.max, 0, info.min, 1], dtype)
        np.testing.assert_array_equal(ops.sort(x), np.sort(x))
        np.testing.assert_array_equal(ops.top_k(x, 4)[0], np.sort(x)[::-1])


def test_sort_key_val_carries_the_values():
    keys, values = np.array([[3, 1], [1, 2]], np.int32), np.array([[1., 2.], [3., 4.]], np.float32)
    sorted_keys, carried = ops.sort_key_val(keys, values, dimension=0)
    np.testing.assert_array_equal(sorted_keys, [[1, 1], [3, 2]])
    np.testing.assert_array_equal(carried, [[3, 2], [1, 4]])


def total_order(value):
    """IEEE 754 totalOrder as a Python number: sign, then magnitude with NaN beyond infinity."""
    magnitude = 1e300 if math.isinf(value) else math.inf if math.isnan(value) else abs(value)
    return (-magnitude, -1) if math.copysign(1, value) < 0 else (magnitude, 1)


@settings(max_examples=60)
@given(floats, st.sampled_from(["float32", "float16", ml_dtypes.bfloat16]), st.data())
def test_top_k_takes_the_total_order(values, dtype, data):
    x = np.array(values, np.float32).astype(dtype)
    k = data.draw(st.integers(0, len(values)))
    order = sorted(range(len(values)), key=lambda i: total_order(float(x[i])), reverse=True)
    # reverse=True keeps equal elements in order, as top_k promises
    best, indices = ops.top_k(x, k)
    assert indices.dtype == np.int32 and list(indices) == order[:k]
    assert bits(best) == bits(x[order[:k]])


def test_top_k_along_an_axis():
    x = np.random.default_rng(1).normal(size=(4, 3, 5)).astype(np.float32)
    for axis in range(3):
        best, indices = ops.top_k(x, 2, axis=axis)
        np.testing.assert_array_equal(best, np.take(-np.sort(-x, axis), [0, 1], axis))
        np.testing.assert_array_equal(np.take_along_axis(x, indices, axis), best)


def test_empty_arrays():
    assert ops.sort(np.zeros((0, 3), np.float32)).shape == (0, 3)
    assert [r.shape for r in ops.top_k(np.zeros((2, 0), np.float32), 0)] == [(2, 0), (2, 0)]


def test_programs_print_as_documented():
    def fun(x):
        return [*ops.sort((x, x), dimension=0, is_stable=False, num_keys=2), *ops.top_k(x, 2)]
    text = str(stage(fun, [ShapedArray((3, 4), np.float32, True)]))
    assert "b:f32[3,4] c:f32[3,4] = sort[dimension=0 is_stable=False num_keys=2] a a" in text
    assert "d:f32[3,2] e:i32[3,2] = top_k[axis=1 k=2] a" in text
    avals = stage(fun, [ShapedArray((3, 4), np.float32, True)]).out_avals
    assert [a.weak_type for a in avals] == [True, True, True, False]


X = np.ones((3, 4), np.float32)
MALFORMED = [
    (lambda: ops.sort(X, dimension=2), ValueError, "sort: axis 2 is out of bounds"),
    (lambda: ops.sort(np.float32(1)), ValueError, "sort: axis -1 is out of bounds"),
    (lambda: ops.sort((X, X[0])), ShapeError, r"sort: operands must have equal shapes, got f32\[3,4\], f32\[4\]"),
    (lambda: ops.sort(()), ShapeError, "sort: at least one operand"),
    (lambda: ops.sort((X, X), num_keys=3), ValueError, "sort: num_keys=3 must be between 1 and .*2"),
    (lambda: ops.sort((X, X), num_keys=0), ValueError, "sort: num_keys=0"),
    (lambda: stage(lambda k: [ops.sort(k)], [ShapedArray((3,), dtypes.key_dtype("threefry2x32"))]), DTypeError, "sort: .*have no order"),
    (lambda: ops.top_k(X, 5), ValueError, r"top_k: k must not be larger .*k=5 for f32\[3,4\] along axis 1"),
    (lambda: ops.top_k(X, -1), ValueError, "top_k: k must not be negative, got -1"),
    (lambda: ops.top_k(np.float32(1), 1), ValueError, "top_k: axis -1 is out of bounds"),
    (lambda: ops.top_k(X, 2, axis=2), ValueError, "top_k: axis 2 is out of bounds"),
    (lambda: ops.top_k(X.astype(np.complex64), 2), ValueError, "top_k: complex"),
]


@pytest.mark.parametrize("call, error, message", MALFORMED, ids=[f"{i}-{m[2][:20]}" for i, m in enumerate(MALFORMED)])
def test_malformed_calls_say_what_is_wrong(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_top_k_refuses_axes_whose_indices_int32_cannot_hold():
    with pytest.raises(ValueError, match="top_k returns int32 indices, which will overflow"):
        stage(lambda x: ops.top_k(x, 3), [ShapedArray((2 ** 31,), np.dtype(np.float32))])
