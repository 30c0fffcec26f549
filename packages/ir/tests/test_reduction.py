"""Reductions against NumPy's."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from laminax_ir.ops import elementwise, reduction
from laminax_ir.recording.staging import stage
from laminax_ir.types.avals import ShapedArray
from laminax_ir.types.errors import DTypeError, ShapeError

f32 = np.float32
inf, nan = np.inf, np.nan


@st.composite
def shape_and_axes(draw, min_size=0):
    shape = tuple(draw(st.lists(st.integers(min_size, 3), max_size=4)))
    axes = tuple(i for i in draw(st.permutations(range(len(shape)))) if draw(st.booleans()))
    return shape, axes


numbers = {"reduce_sum": np.add, "reduce_prod": np.multiply}
orders = {"reduce_max": np.maximum, "reduce_min": np.minimum}
bits = {"reduce_and": np.bitwise_and, "reduce_or": np.bitwise_or, "reduce_xor": np.bitwise_xor}


@settings(max_examples=60)
@given(shape_and_axes(), st.sampled_from(sorted(numbers)), st.integers(0, 99),
       st.sampled_from(["float32", "bfloat16", "float16", "int32", "int8", "uint8", "int4", "complex64"]))
def test_sum_and_product(case, name, seed, dtype):
    shape, axes = case
    # -1, 0, 1: all sums and products are exact in every dtype, once wrapped around.
    x = np.random.default_rng(seed).integers(0 if dtype == "uint8" else -1, 2, size=shape).astype(dtype)
    exact = x.astype(np.complex128 if dtype == "complex64" else np.int64)
    expected = np.asarray(numbers[name].reduce(exact, axis=axes)).astype(dtype)
    result = np.asarray(getattr(reduction, name)(x, axes))
    assert result.dtype == np.dtype(dtype) and result.shape == expected.shape
    np.testing.assert_array_equal(result.astype(complex), expected.astype(complex))


@settings(max_examples=40)
@given(shape_and_axes(min_size=1), st.sampled_from(sorted(orders)), st.integers(0, 99),
       st.sampled_from(["float32", "bfloat16", "int32", "uint8", "int4", "bool", "complex64"]))
def test_max_and_min(case, name, seed, dtype):
    shape, axes = case
    x = np.random.default_rng(seed).integers(0, 5, size=shape).astype(dtype)
    exact = x.astype(np.complex128 if dtype == "complex64" else np.float64)
    result = np.asarray(getattr(reduction, name)(x, axes))
    assert result.dtype == np.dtype(dtype)
    np.testing.assert_array_equal(result.astype(exact.dtype), orders[name].reduce(exact, axis=axes))


@settings(max_examples=30)
@given(shape_and_axes(), st.sampled_from(sorted(bits)), st.integers(0, 99), st.sampled_from(["bool", "int32", "uint8"]))
def test_logical_reductions(case, name, seed, dtype):
    shape, axes = case
    x = np.random.default_rng(seed).integers(0, 2 if dtype == "bool" else 100, size=shape).astype(dtype)
    result = np.asarray(getattr(reduction, name)(x, axes))
    np.testing.assert_array_equal(result, bits[name].reduce(x, axis=axes))
    assert result.dtype == np.dtype(dtype)


@pytest.mark.parametrize("dtype, least, greatest", [
    ("float32", -inf, inf), ("bfloat16", -inf, inf), ("int8", -128, 127), ("uint16", 0, 65535), ("bool", False, True),
    ("int4", -8, 7), ("float8_e4m3fn", -448, 448), ("float8_e5m2", -inf, inf),
])
def test_extremes_of_nothing_are_the_identity(dtype, least, greatest):
    empty = np.zeros((0, 2), dtype)
    assert (np.asarray(reduction.reduce_max(empty, (0,))).astype(float) == least).all()
    assert (np.asarray(reduction.reduce_min(empty, (0,))).astype(float) == greatest).all()


def test_nan_is_every_extreme():
    x = np.array([[1, nan], [3, -inf]], f32)
    np.testing.assert_array_equal(reduction.reduce_max(x, (1,)), [nan, 3])
    np.testing.assert_array_equal(reduction.reduce_min(x, (1,)), [nan, -inf])


def test_integer_sum_wraps_around():
    assert np.asarray(reduction.reduce_sum(np.full(3, 100, np.int8), (0,))) == np.array(300).astype(np.int8)
    assert np.asarray(reduction.reduce_prod(np.full(3, 2**15, np.int32), (0,))) == 0


def test_narrow_floats_are_summed_in_float32():
    # In bfloat16 itself the sum would stop growing at 256.
    assert float(np.asarray(reduction.reduce_sum(np.ones(1000, ml_dtypes.bfloat16), (0,)))) == 1000


@settings(max_examples=40)
@given(shape_and_axes(min_size=1), st.sampled_from(["float32", "bfloat16", "int8", "bool"]), st.data())
def test_argmax_and_argmin(case, dtype, data):
    shape, _ = case
    if not shape:
        shape = (3,)
    axis = data.draw(st.integers(0, len(shape) - 1))
    x = np.random.default_rng(0).integers(0, 3, size=shape).astype(dtype)
    for name in ("argmax", "argmin"):
        result = np.asarray(getattr(reduction, name)(x, axis, np.int32))
        assert result.dtype == np.int32
        np.testing.assert_array_equal(result, getattr(np, name)(x.astype(float), axis=axis))


def test_first_nan_wins():
    x = np.array([3, nan, inf, nan], f32)
    assert np.asarray(reduction.argmax(x, 0, np.int32)) == 1 == np.asarray(reduction.argmin(x, 0, np.int32))


# The general reduction


def welford(a, b):
    """Count, mean and sum of squared deviations of two samples together (Chan et al. 1979)."""
    (n1, m1, s1), (n2, m2, s2) = a, b
    add, sub, mul, div = elementwise.add, elementwise.sub, elementwise.mul, elementwise.div
    n = add(n1, n2)
    safe = elementwise.max(n, 1.0)
    delta = sub(m2, m1)
    return n, add(m1, div(mul(delta, n2), safe)), add(add(s1, s2), div(mul(mul(delta, delta), mul(n1, n2)), safe))


def test_variadic_reduce_computes_variances():
    x = np.random.default_rng(0).normal(size=(3, 4, 5)).astype(f32)
    zero = f32(0)
    n, mean, deviations = reduction.reduce((np.ones_like(x), x, np.zeros_like(x)), (zero,) * 3, welford, (0, 2))
    np.testing.assert_array_equal(n, np.full(4, 15))
    np.testing.assert_allclose(mean, x.mean((0, 2)), rtol=1e-5)
    np.testing.assert_allclose(np.asarray(deviations) / 15, x.var((0, 2)), rtol=1e-5)


def test_reduce_finds_a_maximum_with_its_index():
    x = np.random.default_rng(0).normal(size=(3, 7)).astype(f32)
    where = np.broadcast_to(np.arange(7, dtype=np.int32), x.shape)

    def later(a, b):
        keep = elementwise.ge(a["x"], b["x"])
        return {k: elementwise.select(keep, a[k], b[k]) for k in a}

    result = reduction.reduce({"x": x, "i": where}, {"x": f32(-inf), "i": np.int32(-1)}, later, (1,))
    np.testing.assert_array_equal(result["x"], x.max(1))
    np.testing.assert_array_equal(result["i"], x.argmax(1))


def test_reduce_over_nothing_gives_the_initial_value():
    result = reduction.reduce(np.zeros((2, 0), f32), f32(5), lambda a, b: elementwise.min(a, b), (1,))
    np.testing.assert_array_equal(result, [5, 5])


@pytest.mark.parametrize("computation, init, dtype, name", [
    (elementwise.add, 0.0, f32, "reduce_sum"), (elementwise.add, 0, f32, "reduce_sum"), (elementwise.mul, 1.0, f32, "reduce_prod"),
    (elementwise.max, -inf, f32, "reduce_max"), (elementwise.min, np.iinfo(np.int32).max, np.int32, "reduce_min"),
    (elementwise.bitwise_or, False, bool, "reduce_or"), (elementwise.bitwise_and, -1, np.int32, "reduce_and"),
    (elementwise.bitwise_xor, 0, np.int32, "reduce_xor"), (elementwise.max, False, bool, "reduce_max"),
    (elementwise.add, f32(1), f32, "reduce"), (lambda a, b: elementwise.add(a, b), f32(0), f32, "reduce"),
])
def test_known_monoids_become_named_reductions(computation, init, dtype, name):
    jaxpr = stage(lambda x: [reduction.reduce(x, init, computation, (0,))], [ShapedArray((2, 3), dtype)])
    assert [eqn.primitive.name for eqn in jaxpr.eqns] == [name]


def test_printed_forms():
    x = ShapedArray((2, 3, 4), f32)
    jaxpr = stage(lambda x: [reduction.reduce_sum(x, (0, 1)), reduction.reduce_prod(x, [2]),
                             reduction.argmax(x, 1, np.int32)], [x])
    text = str(jaxpr)
    for line in ("b:f32[4] = reduce_sum[axes=(0, 1) out_sharding=None] a", "c:f32[2,3] = reduce_prod[axes=(2,)] a",
                 "d:i32[2,4] = argmax[axes=(1,) index_dtype=int32] a"):
        assert line in text


def test_weak_types_and_named_axes():
    x = ShapedArray((2, 3), f32, True, named_shape={"i": 4})
    jaxpr = stage(lambda x: [reduction.reduce_sum(x, (0,)), reduction.reduce_max(x, (0,)), reduction.argmax(x, 0, np.int32)], [x])
    assert jaxpr.out_avals[:2] == [x.update(shape=(3,))] * 2
    assert jaxpr.out_avals[2] == ShapedArray((3,), np.int32, named_shape={"i": 4})


x234 = np.ones((2, 3, 4), f32)
pick_first = lambda a, b: a
named = ["reduce_sum", "reduce_prod", "reduce_max", "reduce_min", "reduce_and", "reduce_or", "reduce_xor"]


@pytest.mark.parametrize("name", named)
@pytest.mark.parametrize("axes, error, words", [
    ((3,), ValueError, "contain 3"), ((-1,), ValueError, "negative axes"), ((1, 1), ValueError, "duplicate value"),
    (1, TypeError, "sequence of integers"), ((0.5,), TypeError, "integer"),
])
def test_malformed_axes(name, axes, error, words):
    with pytest.raises(error) as info:
        getattr(reduction, name)(x234.astype(np.int32), axes)
    assert words in str(info.value)
    if error is ValueError:
        assert name in str(info.value) and "(2, 3, 4)" in str(info.value)


@pytest.mark.parametrize("call, error, words", [
    (lambda: reduction.reduce_sum(x234 > 0, (0,)), DTypeError, "reduce_sum does not accept dtype bool"),
    (lambda: reduction.reduce_prod(x234 > 0, (0,)), DTypeError, "reduce_prod does not accept dtype bool"),
    (lambda: reduction.reduce_and(x234, (0,)), DTypeError, "reduce_and does not accept dtype float32"),
    (lambda: reduction.reduce_sum(x234, (0,), out_sharding="x"), TypeError, "out_sharding must be a PartitionSpec"),
    (lambda: reduction.argmax(x234, 3, np.int32), ValueError, "Invalid axis 3 for operand f32[2,3,4]"),
    (lambda: reduction.argmax(x234, -1, np.int32), ValueError, "Invalid axis -1 for operand f32[2,3,4]"),
    (lambda: reduction.argmax(x234, 1, f32), DTypeError, "index_dtype must be an integer type, got float32"),
    (lambda: reduction.argmin(x234.astype(np.complex64), 1, np.int32), DTypeError, "argmin does not accept dtype complex64"),
    (lambda: reduction.argmax(x234[:, :0], 1, np.int32), ValueError, "require non-empty reduced dimension, axis 1 of f32[2,0,4]"),
    (lambda: reduction.argmax_p.bind(x234, axes=(0, 1), index_dtype=np.dtype(np.int32)), ValueError, "exactly one axis"),
    (lambda: reduction.reduce(x234, np.zeros(3, f32), pick_first, (0,)), ValueError, "found non-scalar initial value f32[3]"),
    (lambda: reduction.reduce(x234, np.int32(0), pick_first, (0,)), DTypeError, "initial values i32[]"),
    (lambda: reduction.reduce(x234, f32(0), lambda a, b: (a, b), (0,)), ValueError, "one array; the computation returns ("),
    (lambda: reduction.reduce(x234, f32(0), lambda a, b: elementwise.lt(a, b), (0,)), ShapeError, "returns (bool[])"),
    (lambda: reduction.reduce((x234, x234), (f32(0),), pick_first, (0,)), ValueError, "same tree structure"),
    (lambda: reduction.reduce((x234, x234), (f32(0), f32(0)), lambda a, b: [a[0], a[1]], (0,)), ValueError,
     "output must have the same tree structure as the operands"),
    (lambda: reduction.reduce((x234, x234[0]), (f32(0), f32(0)), pick_first, (0,)), ShapeError, "f32[2,3,4], f32[3,4]"),
    (lambda: reduction.reduce(x234, f32(0), pick_first, (5,)), ValueError, "contain 5"),
    (lambda: reduction.reduce(x234, f32(0), pick_first, (1, 1)), ValueError, "duplicate"),
    (lambda: reduction.reduce((), (), pick_first, (0,)), ValueError, "at least one operand"),
    (lambda: reduction.reduce(x234, f32(0), pick_first, (0,), out_sharding="x"), NotImplementedError, "out_sharding"),
    (lambda: stage(lambda y: [reduction.reduce(x234, f32(0), lambda a, b: elementwise.add(a, y), (0,))], [ShapedArray((), f32)]),
     NotImplementedError, "closes over a traced value"),
])
def test_malformed_calls(call, error, words):
    with pytest.raises(error) as info:
        call()
    assert words in str(info.value)
