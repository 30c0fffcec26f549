"""Contractions against NumPy: einsum, matmul and loops."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from laminax_ir.ops import contraction
from laminax_ir.ops.contraction import Precision, RaggedDotDimensionNumbers
from laminax_ir.ops.convolution import conv
from laminax_ir.options import config
from laminax_ir.recording.staging import stage
from laminax_ir.types.avals import ShapedArray
from laminax_ir.types.dot_algorithms import DotAlgorithm, DotAlgorithmPreset
from laminax_ir.types.errors import DTypeError, ShapeError

f32 = np.float32


def staged(fun, *avals):
    return stage(lambda *xs: [fun(*xs)], avals)


def aval(shape, dtype=f32, weak=False):
    return ShapedArray(shape, dtype, weak)


def test_integer_products_wrap_around():
    x = np.array([100, 100], np.int8)
    expected = np.array(100 * 100 * 2).astype(np.int8)
    assert np.asarray(contraction.dot(x, x)) == expected
    assert np.asarray(contraction.dot(x, x, preferred_element_type=np.int32)) == 20000


def test_bool_product_is_reachability():
    step = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]], bool)
    np.testing.assert_array_equal(contraction.dot(step, step), [[0, 0, 1], [0, 0, 0], [0, 0, 0]])


@pytest.mark.parametrize("lhs, rhs, expected", [
    ("bfloat16", "float32", "float32"), ("int8", "int32", "int32"), ("int8", "uint8", "int8"), ("int8", "uint32", "uint32"),
    ("float16", "bfloat16", "bfloat16"), ("complex64", "float32", "complex64"), ("bool", "int8", "int8"),
    ("int32", "float16", "float16"), ("float8_e4m3fn", "float8_e5m2", "float8_e5m2"),
])
def test_mixed_operands_give_the_dtype_of_higher_precision(lhs, rhs, expected):
    # XLA's HigherPrecisionType: complex, then range, then mantissa, then width, then sign.
    for a, b in ((lhs, rhs), (rhs, lhs)):
        x, y = np.array([1, 1]).astype(a), np.array([1, 1]).astype(b)
        result = np.asarray(contraction.dot(x, y))
        assert result.dtype == np.dtype(expected)
        assert result.astype(complex) == (1 if expected == "bool" else 2)


def test_preferred_element_type():
    x = np.array([1.5, 1.5], f32)
    assert np.asarray(contraction.dot(x, x, preferred_element_type=ml_dtypes.bfloat16)).dtype == ml_dtypes.bfloat16
    assert np.asarray(contraction.dot(x, x, preferred_element_type=np.int32)) == 4  # converted after the sum, 4.5
    with config.enable_x64(True):
        fine = np.asarray(contraction.dot(np.array([1e-3, 1], f32), np.array([1e-3, 1], f32), preferred_element_type=np.float64))
        assert fine.dtype == np.float64
        np.testing.assert_allclose(fine, float(f32(1e-3)) ** 2 + 1, rtol=1e-15)


@pytest.mark.parametrize("lhs, rhs", [((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 4)), ((2, 3), (3, 4)), ((0, 3), (3, 4))])
def test_dot_is_numpy_dot(lhs, rhs):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=lhs).astype(f32), rng.normal(size=rhs).astype(f32)
    np.testing.assert_allclose(contraction.dot(x, y), np.dot(x, y), rtol=1e-6)


def test_batch_matmul_is_numpy_matmul():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 5, 3, 4)).astype(f32), rng.normal(size=(2, 5, 4, 6)).astype(f32)
    np.testing.assert_allclose(contraction.batch_matmul(x, y), x @ y, rtol=1e-5)


def test_weak_type_only_if_both_are_weak():
    one = ((), ()), ((), ())
    dot = lambda x, y: contraction.dot_general(x, y, one)
    assert staged(dot, aval((), weak=True), aval((), weak=True)).out_avals[0].weak_type
    assert not staged(dot, aval((), weak=True), aval(())).out_avals[0].weak_type
    assert float(contraction.dot_general(2.0, 3.0, one)) == 6


def test_named_axes_are_joined():
    x = ShapedArray((2, 3), f32, named_shape={"i": 4})
    y = ShapedArray((3, 5), f32, named_shape={"j": 7})
    assert staged(contraction.dot, x, y).out_avals[0].named_shape == {"i": 4, "j": 7}


@pytest.mark.parametrize("given_precision, expected", [
    (None, None), ("high", (Precision.HIGH,) * 2), ("bfloat16", (Precision.DEFAULT,) * 2),
    ("tensorfloat32", (Precision.HIGH,) * 2), (Precision.HIGHEST, (Precision.HIGHEST,) * 2),
    (("high", "default"), (Precision.HIGH, Precision.DEFAULT)), (("float32", None), (Precision.HIGHEST, Precision.DEFAULT)),
])
def test_precision_is_one_pair(given_precision, expected):
    jaxpr = staged(lambda x: contraction.dot(x, x, precision=given_precision), aval((2, 2)))
    assert jaxpr.eqns[0].params["precision"] == expected


def test_default_precision_comes_from_the_configuration():
    with config.default_matmul_precision("high"):
        jaxpr = staged(lambda x: contraction.dot(x, x), aval((2, 2)))
    assert jaxpr.eqns[0].params["precision"] == (Precision.HIGH, Precision.HIGH)
    with config.default_matmul_precision("BF16_BF16_F32"):
        jaxpr = staged(lambda x: contraction.dot(x, x), aval((2, 2)))
        convolved = staged(lambda x: conv(x, x, (1, 1), "SAME"), aval((1, 1, 2, 2)))
    assert jaxpr.eqns[0].params["precision"] is DotAlgorithmPreset.BF16_BF16_F32
    assert convolved.eqns[0].params["precision"] is None  # a dot algorithm says nothing of convolutions


def by_algorithm(x, y, algorithm, **options):
    return contraction.dot(x, y, precision=algorithm, **options)


def tf32(x):
    """Ten mantissa bits, by arithmetic on significands."""
    significand, exponent = np.frexp(x.astype(np.float64))
    return np.ldexp(np.round(significand * 2**11) / 2**11, exponent)


@pytest.mark.parametrize("algorithm, rounded", [
    ("BF16_BF16_F32", lambda x: x.astype(ml_dtypes.bfloat16)), ("F16_F16_F32", lambda x: x.astype(np.float16)),
    ("TF32_TF32_F32", tf32), ("F32_F32_F32", lambda x: x), ("DEFAULT", lambda x: x),
    (DotAlgorithm(np.float16, ml_dtypes.bfloat16, f32), None)])
def test_an_algorithm_rounds_the_operands(algorithm, rounded):
    rng = np.random.default_rng(0)
    x, y = (rng.normal(size=(5, 5)).astype(f32) for _ in range(2))
    left, right = (rounded(x), rounded(y)) if rounded else (x.astype(np.float16), y.astype(ml_dtypes.bfloat16))
    result = by_algorithm(x, y, algorithm)
    assert result.dtype == f32
    # sums of five products in float32
    np.testing.assert_allclose(result, left.astype(np.float64) @ right.astype(np.float64), rtol=0, atol=1e-6)


@pytest.mark.parametrize("algorithm, bits", [
    ("BF16_BF16_F32", 8), ("BF16_BF16_F32_X3", 16), ("BF16_BF16_F32_X6", 22), ("BF16_BF16_F32_X9", 22), ("TF32_TF32_F32", 11),
    ("TF32_TF32_F32_X3", 21)])
def test_more_products_of_components_are_more_accurate(algorithm, bits):
    x, y = np.random.default_rng(0).uniform(1, 2, size=(2, 200)).astype(f32)
    exact = x.astype(np.float64) * y.astype(np.float64)
    result = contraction.dot_general(x, y, (((), ()), ((0,), (0,))), algorithm)
    error = np.max(np.abs(result - exact) / exact)
    assert error < 2.0 ** (1 - bits)  # each of two operands off by half a unit of the last of `bits` bits
    assert bits > 20 or error > 2.0 ** (-2 - bits)


def test_the_accumulation_type_is_where_sums_are_rounded():
    x = np.full((1, 3), 256, f32)
    y = np.array([[1], [2**-8], [2**-8]], f32)
    assert by_algorithm(x, y, "F16_F16_F16") == 258 and by_algorithm(x, y, "BF16_BF16_BF16") == 258
    assert by_algorithm(x, y + f32(2**-10), "BF16_BF16_BF16") == 258  # 258.75 has no bfloat16
    assert by_algorithm(x, y, "BF16_BF16_BF16").dtype == f32
    assert by_algorithm(x, y, "F16_F16_F32", preferred_element_type=np.float64 if config.enable_x64.value else np.int32) == 258
    eight = np.ones((2, 2), ml_dtypes.float8_e4m3fn)
    assert by_algorithm(eight, eight, "ANY_F8_ANY_F8_F32", preferred_element_type=f32).tolist() == [[2, 2], [2, 2]]
    assert by_algorithm(eight, eight, DotAlgorithmPreset.ANY_F8_ANY_F8_ANY).dtype == ml_dtypes.float8_e4m3fn


def test_print_leaves_out_what_is_not_set():
    text = str(staged(lambda x, y: contraction.dot(x, y), aval((2, 3)), aval((3, 4))))
    assert "precision" not in text and "preferred" not in text and "out_sharding" not in text
    assert "precision=(Precision.HIGH, Precision.HIGH)" in str(
        staged(lambda x, y: contraction.dot(x, y, precision="high"), aval((2, 3)), aval((3, 4))))


x234, y245 = np.ones((2, 3, 4), f32), np.ones((2, 4, 5), f32)
dot_general = contraction.dot_general


def ragged(lhs, rhs, group_sizes, ragged_axes, group_axes):
    numbers = RaggedDotDimensionNumbers((((2,), (1,)), ((0,), (0,))), ragged_axes, group_axes)
    return contraction.ragged_dot_general(lhs, rhs, group_sizes, numbers)


@pytest.mark.parametrize("call, error, words", [
    (lambda: dot_general(x234, y245, (((2, 1), (1,)), ((), ()))), ShapeError, "contracting dimensions to have the same shape, got (4, 3)"),
    (lambda: dot_general(x234, y245, (((3,), (1,)), ((), ()))), ShapeError, "lhs contracting dimensions (3,)"),
    (lambda: dot_general(x234, y245, (((-1,), (1,)), ((), ()))), ShapeError, "at least 0"),
    (lambda: dot_general(x234, y245, (((2,), (1,)), ((0,), (9,)))), ShapeError, "rhs batch dimensions (9,)"),
    (lambda: dot_general(x234, y245, (((2, 2), (1, 1)), ((), ()))), ShapeError, "distinct, got (2, 2)"),
    (lambda: dot_general(x234, y245, (((2,), (1,)), ((2,), (0,)))), ShapeError, "disjoint"),
    (lambda: dot_general(x234, y245, (((2,), (2,)), ((), ()))), ShapeError, "(4,) and (5,): axes (2,) of lhs (2, 3, 4)"),
    (lambda: dot_general(x234, y245, (((2,), (1,)), ((0,), (2,)))), ShapeError, "batch dimensions to have the same shape"),
    (lambda: dot_general(x234, y245, ((2,), (1,))), ValueError, "dimension_numbers must be"),
    (lambda: dot_general(x234, y245, (((2.5,), (1,)), ((), ()))), ValueError, "dimension_numbers must be"),
    (lambda: dot_general(x234, y245, (((2,), (1,)), ((0,), (0,))), "exact"), ValueError, "'exact'"),
    (lambda: dot_general(x234, y245, (((2,), (1,)), ((0,), (0,))), ("high",) * 3), ValueError, "a pair"),
    (lambda: dot_general(x234, y245, (((2,), (1,)), ((0,), (0,))), 3), ValueError, "precision must be"),
    (lambda: dot_general(x234, y245, (((2,), (1,)), ((0,), (0,))), "F32_F32"), ValueError, "DotAlgorithmPreset; got 'F32_F32'"),
    (lambda: dot_general(x234, y245, (((2,), (1,)), ((0,), (0,))), ("F32_F32_F32", "high")), ValueError, "a pair"),
    (lambda: dot_general(x234, y245, (((2,), (1,)), ((0,), (0,))), "ANY_F8_ANY_F8_F32"), DTypeError, "lhs has the dtype float32"),
    (lambda: dot_general(x234, y245 * 1j, (((2,), (1,)), ((0,), (0,))), "F32_F32_F32"), DTypeError, "rhs has the dtype complex64"),
    (lambda: conv(x234, x234, (1,), "SAME", "F32_F32_F32"), ValueError, "for products of matrices"),
    (lambda: dot_general(x234, y245, (((2,), (1,)), ((0,), (0,))), out_sharding="x"), TypeError, "out_sharding must be a PartitionSpec"),
    (lambda: dot_general(x234.astype(np.int32), y245.astype(np.int32), (((2,), (1,)), ((0,), (0,))),
                         preferred_element_type=np.int8), DTypeError, "int8 for a result of type int32"),
    (lambda: contraction.dot(x234, y245), ValueError, "f32[2,3,4]"),
    (lambda: contraction.dot(x234[0], y245[0].T), ValueError, "f32[5,4]"),
    (lambda: contraction.dot(f32(1), x234[0, 0]), ValueError, "f32[]"),
    (lambda: contraction.batch_matmul(x234[0, 0], y245[0]), ValueError, "at least two axes"),
    (lambda: contraction.batch_matmul(x234[0], y245), ValueError, "same number of axes"),
    (lambda: contraction.batch_matmul(x234, y245[:1]), ShapeError, "(2,) and (1,)"),
    (lambda: contraction.ragged_dot(x234[0], y245, np.ones(2, f32)), DTypeError, "integer"),
    (lambda: contraction.ragged_dot(x234[0], y245, np.ones(3, np.int32)), ShapeError,
     "expected rhs group dimension size to be 3, got 2, for rhs f32[2,4,5]"),
    (lambda: contraction.ragged_dot(x234[0], y245, np.ones((3, 2), np.int32)), ShapeError,
     "expected group_sizes to have shape (2,), got (3, 2)"),
    (lambda: contraction.ragged_dot(x234[0], y245[:, 1:], np.ones(2, np.int32)), ShapeError, "contracting"),
    (lambda: contraction.ragged_dot(x234[0], y245, np.ones(2, np.int32), group_offset=np.zeros(1, np.int32)),
     NotImplementedError, "group_offset"),
    (lambda: ragged(x234, y245, np.ones(2, np.int32), (0, 1), ()), ShapeError, "expects exactly one lhs ragged dimension, got (0, 1)"),
    (lambda: ragged(x234, y245, np.ones(2, np.int32), (3,), ()), ShapeError, "less than the number of axes of the lhs, got (3,)"),
    (lambda: ragged(x234, y245, np.ones(2, np.int32), (1,), ()), ShapeError, "exactly one rhs group dimension"),
    (lambda: ragged(x234, y245, np.ones(2, np.int32), (1,), (0,)), ShapeError, "distinct from contracting and batch dimensions"),
    (lambda: ragged(x234, y245, np.ones(5, np.int32), (2,), (2,)), ShapeError, "zero group dimensions in the rhs"),
    (lambda: ragged(x234, y245, np.ones(5, np.int32), (0,), (2,)), ShapeError, "zero group dimensions in the rhs"),
    (lambda: ragged(x234, y245, np.ones((2, 2), np.int32), (0,), ()), ShapeError, "expected group_sizes to have shape (2,), got (2, 2)"),
])
def test_malformed_calls(call, error, words):
    with pytest.raises(error) as info:
        call()
    assert words in str(info.value)


# Ragged products


def test_a_ragged_batch_axis_makes_no_difference():
    np.testing.assert_allclose(ragged(x234, y245, np.array([1, 1], np.int32), (0,), ()), x234 @ y245, rtol=1e-6)


sizes_of_groups = st.lists(st.integers(0, 3), min_size=1, max_size=4)


@settings(max_examples=25)
@given(sizes_of_groups, st.integers(0, 2))
def test_ragged_dot_is_a_loop_over_rows(sizes, beyond):
    rng = np.random.default_rng(0)
    m, k, n = sum(sizes) + beyond, 3, 2
    lhs, rhs = rng.normal(size=(m, k)).astype(f32), rng.normal(size=(len(sizes), k, n)).astype(f32)
    group_of_row = np.repeat(np.arange(len(sizes)), sizes)
    expected = np.zeros((m, n), f32)
    for row, group in enumerate(group_of_row):
        expected[row] = lhs[row] @ rhs[group]
    np.testing.assert_allclose(contraction.ragged_dot(lhs, rhs, np.array(sizes, np.int32)), expected, rtol=1e-5)


@settings(max_examples=25)
@given(sizes_of_groups, st.integers(0, 2))
def test_ragged_contraction_is_one_product_per_group(sizes, beyond):
    rng = np.random.default_rng(0)
    k = sum(sizes) + beyond
    lhs, rhs = rng.normal(size=(2, k)).astype(f32), rng.normal(size=(k, 3)).astype(f32)
    numbers = RaggedDotDimensionNumbers((((1,), (0,)), ((), ())), (1,), ())
    result = contraction.ragged_dot_general(lhs, rhs, np.array(sizes, np.int32), numbers)
    ends = np.cumsum(sizes)
    expected = np.stack([lhs[:, end - size:end] @ rhs[end - size:end] for size, end in zip(sizes, ends)])
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6)


def test_ragged_dot_with_batch_axes_and_their_own_groups():
    rng = np.random.default_rng(0)
    lhs, rhs = rng.normal(size=(4, 2, 3)).astype(f32), rng.normal(size=(3, 2, 5, 2)).astype(f32)  # [m, b, k], [k, b, n, g]
    sizes = np.array([[1, 3], [2, 1]], np.int32)  # [b, g]
    numbers = RaggedDotDimensionNumbers((((2,), (0,)), ((1,), (1,))), (0,), (3,))
    result = contraction.ragged_dot_general(lhs, rhs, sizes, numbers)
    expected = np.stack([np.asarray(contraction.ragged_dot(lhs[:, b], np.moveaxis(rhs[:, b], 2, 0), sizes[b])) for b in (0, 1)])
    np.testing.assert_allclose(result, expected, rtol=1e-5)
