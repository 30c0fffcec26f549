"""Shape operations against NumPy and loops."""

import itertools

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from laminax_ir.key_arrays.keys import PRNGKeyArray
from laminax_ir.ops import shape as ops
from laminax_ir.ops.shape_arguments import broadcast_shapes
from laminax_ir.recording.staging import stage
from laminax_ir.types import dtypes
from laminax_ir.types.avals import ShapedArray
from laminax_ir.types.errors import DTypeError, ShapeError

DTYPES = ["float32", "int8", "uint32", "bool", "complex64", "float16", ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, "int4"]

shapes = st.lists(st.integers(0, 4), max_size=4).map(tuple)


def array(shape, dtype=np.float32):
    """Different values as far as the dtype has them."""
    size = int(np.prod(shape))
    return (np.arange(size) % 7 + 1).astype(np.dtype(dtype)).reshape(shape)


def same(result, expected):
    result, expected = np.asarray(result), np.asarray(expected)
    assert result.dtype == expected.dtype and result.shape == expected.shape
    np.testing.assert_array_equal(result.astype(np.complex64), expected.astype(np.complex64))


def staged_aval(fun, *avals):
    (out,) = stage(lambda *xs: [fun(*xs)], avals).out_avals
    return out


@settings(max_examples=30)
@given(shapes, st.sampled_from(DTYPES), st.data())
def test_reorderings_are_numpys(shape, dtype, data):
    x = array(shape, dtype)
    order = tuple(data.draw(st.permutations(range(len(shape)))))
    same(ops.transpose(x, order), x.transpose(order))
    same(ops.reshape(x, (x.size,)), x.ravel())
    same(ops.reshape(x, (x.size, 1), order), x.transpose(order).reshape(-1, 1) if x.size else x.reshape(0, 1))
    same(ops.rev(x, order[:2]), np.flip(x, order[:2]))
    same(ops.expand_dims(x, (0, -1)), x[None, ..., None])
    same(ops.squeeze(x[None, ..., None], (0, -1)), x)
    same(ops.broadcast(x, (2, 0)), np.broadcast_to(x, (2, 0, *shape)))
    same(ops.tile(x, (2,) * x.ndim), np.tile(x, (2,) * x.ndim))
    for start, stop in itertools.combinations_with_replacement(range(len(shape) + 1), 2):
        same(ops.collapse(x, start, stop), x.reshape(*shape[:start], int(np.prod(shape[start:stop])), *shape[stop:]))


@settings(max_examples=40)
@given(st.lists(st.lists(st.sampled_from([1, 1, 2, 3, 0]), max_size=3).map(tuple), max_size=3))
def test_broadcast_shapes_is_numpys(many):
    try:
        expected = np.broadcast_shapes(*many)
    except ValueError:
        with pytest.raises(ValueError, match="broadcast_shapes: Incompatible shapes for broadcasting"):
            broadcast_shapes(*many)
    else:
        assert broadcast_shapes(*many) == expected


@pytest.mark.parametrize("shapes, message", [
    (((1.5, 2), (2,)), r"integer type, got \(1.5, 2\)"), (("foo",), "1D sequences of concrete values of integer type, got foo"),
    ((3,), "got 3"), (((-1, 2), (2,)), r"non-negative .*got shape \(-1, 2\)"),
])
def test_broadcast_shapes_refuses_what_is_no_shape(shapes, message):
    with pytest.raises(TypeError, match=message):
        broadcast_shapes(*shapes)


@pytest.mark.parametrize("value, dtype, expected", [
    (0, "float32", np.float32(0)), (2.9, "int32", np.int32(2)), (-2.9, "int32", np.int32(-2)), (-1, "uint8", np.uint8(255)),
    (300, "uint8", np.uint8(44)), (2, "bool", np.bool_(True)), (-0.0, "float32", np.float32(-0.0)), (1j, "complex64", np.complex64(1j)),
    (1.5, ml_dtypes.bfloat16, ml_dtypes.bfloat16(1.5)), (np.float32(7), "int8", np.int8(7)), (True, "float32", np.float32(1)),
])
def test_full_converts_its_value(value, dtype, expected):
    result = ops.full((2, 0, 3), value, dtype)
    assert result.shape == (2, 0, 3) and result.dtype == expected.dtype
    same(ops.full(2, value, dtype), np.array([expected, expected]))
    assert np.signbit(np.asarray(ops.full((), value, dtype)).astype(np.complex64).real) == np.signbit(complex(expected).real)


def test_arrays_of_float0_are_those_of_numpy():
    zeros = ops.full((2, 3), 0, dtypes.float0)
    assert type(zeros) is np.ndarray and zeros.shape == (2, 3) and zeros.dtype == dtypes.float0


def test_full_like_takes_shape_dtype_and_weakness():
    strong, weak = ShapedArray((2, 3), np.float32), ShapedArray((2, 3), np.float32, True)
    assert staged_aval(lambda x: ops.full_like(x, 1), strong) == strong
    assert staged_aval(lambda x: ops.full_like(x, 1), weak) == weak
    assert staged_aval(lambda x: ops.full_like(x, 1, np.int32), weak) == ShapedArray((2, 3), np.int32)
    assert staged_aval(lambda x: ops.full_like(x, 1, shape=(4,)), strong) == ShapedArray((4,), np.float32)
    assert staged_aval(lambda x: ops.full((2,), x), ShapedArray((), np.int8)) == ShapedArray((2,), np.int8)


@pytest.mark.parametrize("fun", [
    lambda x: ops.broadcast_in_dim(x, (5, 2, 1, 3), (1, 2, 3)), lambda x: ops.reshape(x, (6,)),
    lambda x: ops.transpose(x, (2, 1, 0)), lambda x: ops.squeeze(x, (1,)), lambda x: ops.concatenate([x, x], 0),
    lambda x: ops.pad(x, 0., ((1, 1, 1),) * 3), lambda x: ops.rev(x, (0,)), lambda x: ops.tile(x, (1, 2, 3)),
    lambda x: ops.split(x, (1, 1), 0)[1],
])
def test_weak_types_and_named_axes_stay(fun):
    for weak in (False, True):
        x = ShapedArray((2, 1, 3), np.float32, weak, named_shape={"i": 4})
        out = staged_aval(fun, x)
        assert out.weak_type == weak and out.named_shape == {"i": 4}


def test_arrays_of_keys_are_arranged():
    keys = PRNGKeyArray("threefry2x32", np.arange(12, dtype=np.uint32).reshape(2, 3, 2))
    order = np.arange(6).reshape(2, 3)
    words = keys.base.reshape(6, 2)
    for fun in (lambda x: ops.transpose(x, (1, 0)), lambda x: ops.reshape(x, (6,)), lambda x: ops.rev(x, (1,)),
                lambda x: ops.broadcast_in_dim(x, (2, 4, 3), (0, 2)), lambda x: ops.concatenate([x, x], 1),
                lambda x: ops.tile(x, (2, 1)), lambda x: ops.split(x, (1, 2), 1)[1], lambda x: ops.expand_dims(x, (0,))):
        result, expected = fun(keys), np.asarray(fun(order.astype(np.int32)))
        assert result.dtype == keys.dtype and result.shape == expected.shape
        np.testing.assert_array_equal(result.base, words[expected])


def test_one_strong_operand_makes_the_result_strong():
    weak, strong = ShapedArray((2,), np.float32, True), ShapedArray((2,), np.float32)
    assert not staged_aval(lambda x, y: ops.concatenate([x, y], 0), weak, strong).weak_type
    assert not staged_aval(lambda x: ops.pad(x, np.float32(0), ((0, 0, 1),)), weak).weak_type


def test_operations_that_change_nothing_record_nothing():
    def fun(x):
        return [ops.reshape(x, (2, 3)), ops.transpose(x, (0, 1)), ops.squeeze(x, ()), ops.expand_dims(x, ()),
                ops.broadcast(x, ()), ops.concatenate([x], 0), ops.reshape(x, (2, 3), (0, 1))]
    assert stage(fun, [ShapedArray((2, 3), np.float32)]).eqns == []


def test_axes_that_do_not_increase_are_transposed():
    x = np.arange(6, dtype=np.int32).reshape(3, 2)
    same(ops.broadcast_in_dim(x, (2, 4, 3), (2, 0)), np.broadcast_to(x.T[:, None], (2, 4, 3)))
    same(ops.broadcast_in_dim(x[:, :1], (2, 3, 4), (1, 0)), np.broadcast_to(x[:, :1].T[..., None], (2, 3, 4)))


def test_programs_print_as_documented():
    def fun(x):
        return [ops.broadcast_in_dim(ops.reshape(x, (6,)), (2, 6), (1,)), ops.full((2,), 1.5), ops.iota("int32", 3)]
    text = str(stage(fun, [ShapedArray((2, 3), np.float32)]))
    for line in ("b:f32[6] = reshape[dimensions=None new_sizes=(6,) sharding=None] a",
                 "c:f32[2,6] = broadcast_in_dim[broadcast_dimensions=(1,)] b",
                 "d:f32[2] = broadcast_in_dim 1.5:f32[]",
                 "e:i32[3] = iota[dimension=0 dtype=int32 shape=(3,) sharding=None]"):
        assert line in text


X = np.ones((3, 4), np.float32)
MALFORMED = [
    (lambda: ops.broadcast_in_dim(X, (2, 3), (0, 1)), ShapeError, r"broadcast_in_dim: .*f32\[3,4\] has size 3 .*\(2, 3\)"),
    (lambda: ops.broadcast_in_dim(X, (2, 3, 4), (1,)), ShapeError, r"broadcast_in_dim: broadcast_dimensions .*\(1,\) for f32\[3,4\]"),
    (lambda: ops.broadcast_in_dim(X[:, :3], (3, 3), (1, 1)), ShapeError, "broadcast_dimensions must not contain duplicates"),
    (lambda: ops.broadcast_in_dim(X, (3, 4), (0, 2)), ShapeError, "broadcast_in_dim .*subset of output dimensions"),
    (lambda: ops.broadcast_in_dim(X, (3, 4), (-2, -1)), ShapeError, "broadcast_in_dim .*subset of output dimensions"),
    (lambda: ops.broadcast_in_dim(X, (-2, 3, 4), (1, 2)), ShapeError, r"broadcast_in_dim: .*negative, got \(-2, 3, 4\)"),
    (lambda: ops.broadcast_in_dim(X, (2.5, 3, 4), (1, 2)), ShapeError, "broadcast_in_dim: Shapes must be 1D .*integer"),
    (lambda: ops.broadcast_in_dim(X, (2, 3, 4), (1., 2)), ShapeError, "broadcast_in_dim: broadcast_dimensions must be"),
    (lambda: ops.broadcast_in_dim(X, (3, 4), (0, 1), out_sharding="s"), TypeError,
     "broadcast_in_dim: out_sharding must be a PartitionSpec"),
    (lambda: ops.broadcast(X, (-1,)), ShapeError, "broadcast_in_dim: .*negative"),
    (lambda: ops.broadcast_to_rank(X, 1), ValueError, r"broadcast_to_rank: .*more than 1 axes: f32\[3,4\]"),
    (lambda: ops.reshape(X, (5,)), ShapeError, r"reshape: the total size .*new_sizes \(5,\) .*f32\[3,4\] \(12 elements\)"),
    (lambda: ops.reshape(X, (-1,)), ShapeError, r"reshape: new_sizes must not be negative.*numpy.reshape"),
    (lambda: ops.reshape(X, (12,), (0, 0)), ShapeError, "reshape: dimensions must be a permutation"),
    (lambda: ops.reshape(X, (12,), (0, 2)), ShapeError, "reshape: dimensions must be a permutation"),
    (lambda: ops.reshape(X, (12,), out_sharding="s"), TypeError, "reshape: out_sharding must be a PartitionSpec"),
    (lambda: ops.transpose(X, (0,)), ShapeError, r"transpose: permutation .*\(0,\) for f32\[3,4\]"),
    (lambda: ops.transpose(X, (0, 0)), ShapeError, "transpose: permutation"),
    (lambda: ops.transpose(X, (-1, 0)), ShapeError, "transpose: permutation"),
    (lambda: ops.squeeze(X, (0,)), ValueError, r"squeeze: cannot select an axis .*f32\[3,4\]"),
    (lambda: ops.squeeze(X, (2,)), ValueError, "squeeze: axis 2 is out of bounds"),
    (lambda: ops.squeeze(X[None], (0, -3)), ValueError, "squeeze: axes must be unique"),
    (lambda: ops.expand_dims(X, (0, 0)), ValueError, "expand_dims: axes must be unique"),
    (lambda: ops.expand_dims(X, (5,)), ValueError, "expand_dims: axis 5 is out of bounds"),
    (lambda: ops.concatenate([], 0), ValueError, "concatenate: at least one operand"),
    (lambda: ops.concatenate([X, X[:, :2]], 0), ShapeError, r"concatenate: .*axis 0 only, got f32\[3,4\], f32\[3,2\]"),
    (lambda: ops.concatenate([X, X[0]], 0), ShapeError, "concatenate: operands must have the same number of axes"),
    (lambda: ops.concatenate([X, X], 2), ShapeError, "concatenate: dimension 2 is out of range"),
    (lambda: ops.concatenate([X, X], -1), ShapeError, "concatenate: dimension -1 is out of range"),
    (lambda: ops.concatenate([X, X.astype(np.int32)], 0), DTypeError, r"concatenate: .*f32\[3,4\], i32\[3,4\]"),
    (lambda: ops.pad(X, 0., ((0, 0, 0),)), ValueError, r"pad: padding_config .*f32\[3,4\]"),
    (lambda: ops.pad(X, 0., ((0, 0), (0, 0))), ValueError, "pad: padding_config .*three integers"),
    (lambda: ops.pad(X, 0., ((0, 0, -1), (0, 0, 0))), ValueError, "pad: interior padding in padding_config must be nonnegative"),
    (lambda: ops.pad(X, 0., ((-2, -2, 0), (0, 0, 0))), ValueError, "pad: Dimension size after padding is not at least 0"),
    (lambda: ops.pad(X, np.zeros(2, np.float32), ((0, 0, 0),) * 2), ValueError, "pad: padding_value must be a scalar"),
    (lambda: ops.pad(X, np.int32(0), ((0, 0, 0),) * 2), DTypeError, "pad: .*same dtype"),
    (lambda: ops.rev(X, (0, 0)), ShapeError, "rev: dimensions must be unique"),
    (lambda: ops.rev(X, (2,)), ShapeError, "rev: dimension 2 is out of range"),
    (lambda: ops.rev(X, (-1,)), ShapeError, "rev: dimension -1 is out of range"),
    (lambda: ops.iota("int32", -1), ShapeError, "iota: .*negative"),
    (lambda: ops.iota("int32", 2.5), ShapeError, "iota: Shapes must be 1D"),
    (lambda: ops.iota("bool", 3), DTypeError, "iota: the dtype must be a number type, got bool"),
    (lambda: ops.broadcasted_iota("int32", (2, 3), 2), ValueError, r"iota: dimension .*dimension=2 for shape=\(2, 3\)"),
    (lambda: ops.broadcasted_iota("int32", (2, 3), -1), ValueError, "iota: dimension"),
    (lambda: ops.split(X, (1, 2), 1), ValueError, r"split: Sum of sizes 3 must be equal to dimension 1 .*4, got .*for f32\[3,4\]"),
    (lambda: ops.split(X, (5, -1), 1), ValueError, "split: Sizes passed to split must be nonnegative"),
    (lambda: ops.split(X, (1, 3), 2), ValueError, "split: axis 2 is out of bounds"),
    (lambda: ops.collapse(X, 1, 0), ValueError, "collapse: the axes 1 up to 0"),
    (lambda: ops.tile(X, (2,)), ShapeError, r"tile: reps .*\(2,\) for f32\[3,4\]"),
    (lambda: ops.tile(X, (-2, 1)), ShapeError, "tile: .*negative"),
    (lambda: ops.full((2,), np.ones(2, np.float32)), ShapeError, r"full: fill_value must be a scalar, got f32\[2\]"),
    (lambda: ops.full((2,), 1j, "float32"), DTypeError, "full: the complex value 1j .*float32|full: the complex value 1j .*f32"),
    (lambda: ops.full((-1,), 1.), ShapeError, "broadcast_in_dim: .*negative"),
    (lambda: ops.full((2,), 1, sharding="s"), TypeError, "full: sharding must be a Sharding"),
    (lambda: ops.full((2,), -1, dtypes.key_dtype("threefry2x32")), DTypeError, "full: .*can be filled with a key, or with a number"),
]


@pytest.mark.parametrize("call, error, message", MALFORMED, ids=[f"{i}-{m[2][:20]}" for i, m in enumerate(MALFORMED)])
def test_malformed_calls_say_what_is_wrong(call, error, message):
    with pytest.raises(error, match=message):
        call()
