"""Cumulative reductions against NumPy's accumulations and the logarithm of a sum."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from laminax_ir.ops import cumulative
from laminax_ir.ops.elementwise import add, mul
from laminax_ir.recording.staging import stage
from laminax_ir.types.avals import ShapedArray
from laminax_ir.types.errors import DTypeError

f32 = np.float32
oracles = {"cumsum": np.add, "cumprod": np.multiply, "cummax": np.maximum, "cummin": np.minimum}


@settings(max_examples=60)
@given(st.sampled_from(sorted(oracles)), st.lists(st.integers(0, 4), min_size=1, max_size=3), st.data(),
       st.sampled_from(["float32", "bfloat16", "int32", "int8", "uint8", "complex64"]), st.booleans())
def test_is_the_accumulation(name, shape, data, dtype, reverse):
    axis = data.draw(st.integers(0, len(shape) - 1))
    x = np.random.default_rng(0).integers(-3 if dtype != "uint8" else 0, 4, size=shape).astype(dtype)
    result = np.asarray(getattr(cumulative, name)(x, axis, reverse))
    exact = x.astype(np.complex128 if dtype == "complex64" else np.int64)  # at most 3**4: exact in every dtype
    flip = (lambda a: np.flip(a, axis)) if reverse else (lambda a: a)
    expected = flip(oracles[name].accumulate(flip(exact), axis=axis))
    assert result.dtype == np.dtype(dtype) and result.shape == tuple(shape)
    np.testing.assert_array_equal(result, expected.astype(dtype))


@pytest.mark.parametrize("dtype, rtol", [("float32", 1e-5), ("complex64", 1e-5), ("float16", 1e-2)])
@pytest.mark.parametrize("reverse", [False, True])
def test_cumlogsumexp_is_the_logarithm_of_a_sum(dtype, rtol, reverse):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3, 4)) + (1j * rng.normal(size=(3, 4)) if dtype == "complex64" else 0)
    x = x.astype(dtype)
    flip = (lambda a: np.flip(a, 1)) if reverse else (lambda a: a)
    expected = flip(np.log(np.cumsum(np.exp(flip(x.astype(complex))), axis=1)))
    np.testing.assert_allclose(np.asarray(cumulative.cumlogsumexp(x, 1, reverse)).astype(complex), expected, rtol=rtol)


def test_cumlogsumexp_does_not_overflow():
    x = np.array([1000.0, 1000.0, -np.inf], f32)
    expected = [1000, 1000 + np.log(2), 1000 + np.log(2)]
    np.testing.assert_allclose(cumulative.cumlogsumexp(x), expected, rtol=1e-6)
    np.testing.assert_allclose(np.asarray(cumulative.cumlogsumexp(x.astype(np.complex64))).real, expected, rtol=1e-6)
    np.testing.assert_array_equal(cumulative.cumlogsumexp(np.full(3, -np.inf, f32)), np.full(3, -np.inf))


def test_nan_stays():
    x = np.array([1, np.nan, 3], f32)
    np.testing.assert_array_equal(cumulative.cummax(x), [1, np.nan, np.nan])
    np.testing.assert_array_equal(cumulative.cummin(x, reverse=True), [np.nan, np.nan, 3])


def test_printed_form_and_kept_aval():
    x = ShapedArray((2, 3), f32, True, named_shape={"i": 2})
    jaxpr = stage(lambda x: [cumulative.cumsum(x, 1, reverse=True)], [x])
    assert jaxpr.out_avals == [x]
    assert "cumsum[axis=1 reverse=True] a" in str(jaxpr)


@settings(max_examples=20)
@given(st.integers(0, 9), st.booleans(), st.sampled_from([0, 1, -1]))
def test_associative_scan_of_affine_maps(size, reverse, axis):
    # x -> a x + b composes to (a1 a2, a2 b1 + b2): associative, and not commutative.
    rng = np.random.default_rng(0)
    shape = (size, 2) if axis == 0 else (2, size)
    a, b = (rng.normal(size=shape).astype(f32) for _ in range(2))
    compose = lambda p, q: (mul(q[0], p[0]), add(mul(q[0], p[1]), q[1]))
    result = cumulative.associative_scan(compose, (a, b), reverse=reverse, axis=axis)
    rows = [np.moveaxis(x, axis, 0) for x in (a, b)]
    expected = [np.empty_like(x) for x in rows]
    for i in range(size):
        scale, shift = np.ones(2), np.zeros(2)
        for j in (range(size - 1, i - 1, -1) if reverse else range(i + 1)):
            scale, shift = rows[0][j] * scale, rows[0][j] * shift + rows[1][j]
        expected[0][i], expected[1][i] = scale, shift
    for got, want in zip(result, expected):
        np.testing.assert_allclose(np.moveaxis(np.asarray(got), axis, 0), want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("call, error, words", [
    (lambda: cumulative.associative_scan(3, np.ones(3, f32)), TypeError, "fn argument should be callable, got 3"),
    (lambda: cumulative.associative_scan(add, ()), ValueError, "no array"),
    (lambda: cumulative.associative_scan(add, np.ones(3, f32), axis=1), ValueError, "axis 1 is out of bounds for array of dimension 1"),
    (lambda: cumulative.associative_scan(add, (np.ones(3, f32), np.ones(2, f32))), ValueError, "f32[3], f32[2]"),
    (lambda: cumulative.cumsum(np.ones((2, 3), f32), 2), ValueError, "cumsum: axis 2 is out of range for f32[2,3]"),
    (lambda: cumulative.cumsum(np.ones((2, 3), f32), -1), ValueError, "negative"),
    (lambda: cumulative.cumprod(f32(1)), ValueError, "f32[]"),
    (lambda: cumulative.cumsum(np.ones(3, bool)), DTypeError, "cumsum does not accept dtype bool"),
    (lambda: cumulative.cummax(np.ones(3, bool)), DTypeError, "bool"),
    (lambda: cumulative.cumlogsumexp(np.ones(3, np.int32)), DTypeError, "int32"),
    (lambda: cumulative.cumsum(np.ones(3, f32), 0.5), TypeError, "integer"),
])
def test_malformed_calls(call, error, words):
    with pytest.raises(error) as info:
        call()
    assert words in str(info.value)
