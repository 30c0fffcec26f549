"""Indexing operations against NumPy indexing, and against loops that follow the StableHLO specification."""

import pickle

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from laminax_ir.key_arrays.keys import PRNGKeyArray
from laminax_ir.ops import elementwise, slicing
from laminax_ir.ops import indexing as ops
from laminax_ir.ops.indexing import GatherDimensionNumbers, GatherScatterMode, ScatterDimensionNumbers
from laminax_ir.ops.shape import full, squeeze
from laminax_ir.recording.staging import stage
from laminax_ir.types.avals import ShapedArray
from laminax_ir.types.errors import DTypeError, ShapeError

DTYPES = ["float32", "int8", "uint32", "complex64", ml_dtypes.bfloat16]
shapes = st.lists(st.integers(0, 4), max_size=3).map(tuple)


def array(shape, dtype=np.float32):
    return (np.arange(int(np.prod(shape))) % 100 + 1).astype(np.dtype(dtype)).reshape(shape)


def same(result, expected):
    result, expected = np.asarray(result), np.asarray(expected)
    assert result.dtype == expected.dtype and result.shape == expected.shape
    np.testing.assert_array_equal(result.astype(np.complex64), expected.astype(np.complex64))


# Slices


@settings(max_examples=40)
@given(shapes, st.sampled_from(DTYPES), st.data())
def test_slice_is_numpys(shape, dtype, data):
    x = array(shape, dtype)
    bounds = [sorted([data.draw(st.integers(0, n)), data.draw(st.integers(0, n))]) for n in shape]
    strides = tuple(data.draw(st.integers(1, 3)) for _ in shape)
    starts, limits = tuple(a for a, _ in bounds), tuple(b for _, b in bounds)
    same(slicing.slice(x, starts, limits, strides), x[tuple(map(slice, starts, limits, strides))])
    same(slicing.slice(x, starts, limits), x[tuple(map(slice, starts, limits))])


@settings(max_examples=40)
@given(shapes, st.sampled_from(DTYPES), st.sampled_from(["int32", "int8", "uint8"]), st.data())
def test_dynamic_slices_clamp_and_count_from_the_end(shape, dtype, index_dtype, data):
    x = array(shape, dtype)
    sizes = tuple(data.draw(st.integers(0, n)) for n in shape)
    low = 0 if index_dtype == "uint8" else -6
    starts = [data.draw(st.integers(low, 6)) for _ in shape]
    wrapped = [i + n if i < 0 else i for i, n in zip(starts, shape)]
    places = tuple(slice(p, p + k) for p, k in ((min(max(i, 0), n - k), k) for i, n, k in zip(wrapped, shape, sizes)))
    typed = np.array(starts, index_dtype)
    update = array(sizes, dtype) + np.ones((), dtype)
    written = x.copy()
    written[places] = update
    for given_starts in (starts, typed, list(typed)):
        same(slicing.dynamic_slice(x, given_starts, sizes), x[places])
        same(slicing.dynamic_update_slice(x, update, given_starts), written)
    # The same positions as traced values, where negative ones are resolved by the program itself.
    traced = stage(lambda x, u, *i: [slicing.dynamic_slice(x, i, sizes), slicing.dynamic_update_slice(x, u, i)],
                   [ShapedArray(shape, x.dtype), ShapedArray(sizes, x.dtype), *[ShapedArray((), typed.dtype)] * len(shape)])
    from laminax_ir.reference.evaluate import evaluate
    read, result = evaluate(traced, x, update, *typed)
    same(read, x[places])
    same(result, written)


def test_negative_indices_are_clamped_when_told_that_there_are_none():
    x = array((5,))
    same(slicing.dynamic_slice(x, (-1,), (2,), allow_negative_indices=False), x[:2])
    same(slicing.dynamic_slice(x, (-1,), (2,), allow_negative_indices=(True,)), x[3:])
    jaxpr = stage(lambda i: [slicing.dynamic_slice(x, (i,), (2,), allow_negative_indices=False)], [ShapedArray((), np.int32)])
    assert [eqn.primitive.name for eqn in jaxpr.eqns] == ["dynamic_slice"]


def test_small_index_dtypes_reach_large_axes():
    x = np.arange(1000, dtype=np.float32)
    same(slicing.dynamic_slice(x, (np.int8(-1),), (1,)), x[-1:])
    traced = stage(lambda i: [slicing.dynamic_slice(x, (i,), (1,))], [ShapedArray((), np.int8)])
    from laminax_ir.reference.evaluate import evaluate
    same(evaluate(traced, np.int8(-2))[0], x[-2:-1])


def test_host_indices_beyond_the_default_integer_are_clamped():
    """A NumPy uint32 index of 2**32 - 1 was an OverflowError, since the indices of one call are brought to int32."""
    x = np.arange(5, dtype=np.float32)
    same(slicing.dynamic_slice(x, (np.uint32(2**32 - 1),), (2,)), x[3:])
    same(slicing.dynamic_slice(x, [np.array(-(2**40))], (2,), allow_negative_indices=False), x[:2])


def test_functions_along_one_axis_are_numpys():
    x = array((4, 5))
    same(slicing.slice_in_dim(x, 1, -1, 2, axis=1), x[:, 1:-1:2])
    same(slicing.slice_in_dim(x, None, None, axis=-1), x)
    same(slicing.slice_in_dim(x, -2, None), x[-2:])
    same(slicing.index_in_dim(x, -1, 1), x[:, -1:])
    same(slicing.index_in_dim(x, 2, 0, keepdims=False), x[2])
    same(slicing.dynamic_slice_in_dim(x, -2, 2, axis=1), x[:, 3:])
    same(slicing.dynamic_index_in_dim(x, np.int32(3), keepdims=False), x[3])
    for update in (np.zeros(4, np.float32), np.zeros((4, 1), np.float32)):
        same(slicing.dynamic_update_index_in_dim(x, update, 2, 1), np.where(np.arange(5) == 2, 0, x).astype(np.float32))
    same(slicing.dynamic_update_slice_in_dim(x, np.zeros((2, 5), np.float32), -1, 0),
         np.concatenate([x[:2], np.zeros((2, 5))]).astype("f4"))
    same(ops.index_take(x, (np.array([1, -1, 6]), np.array([0, -5, 2])), (0, 1)), x[[1, 3, 2], [0, 0, 2]])
    same(ops.index_take(x, (np.array([5, -2]),), (1,)), x[:, [0, 3]].T)


# Gather and scatter


def test_scatter_apply_runs_once_for_each_position():
    x = array((4,))
    dims = ScatterDimensionNumbers((), (0,), (0,))
    result = ops.scatter_apply(x, np.array([[1], [3], [1], [9]]), lambda v: elementwise.mul(v, 10.), dims, update_shape=(4,))
    same(result, np.array([1, 200, 3, 40], np.float32))


@pytest.mark.parametrize("dtype, expected", [("float32", np.nan), ("int8", -128), ("uint8", 255), ("bool", True), ("complex64", np.nan)])
def test_default_fill_value(dtype, expected):
    result = ops.gather(array((2,), dtype), np.array([[5]]), GatherDimensionNumbers((), (0,), (0,)), (1,), mode="fill")
    np.testing.assert_array_equal(result.real if dtype == "complex64" else result, np.array([expected], dtype))


def test_unsigned_indices_beyond_int64_are_out_of_bounds():
    from laminax_ir.options import config
    with config.enable_x64(True):
        result = ops.gather(array((3,)), np.array([[2**64 - 1]], np.uint64), GatherDimensionNumbers((), (0,), (0,)), (1,), mode="clip")
    same(result, np.array([3], np.float32))


def test_primitives_with_a_hyphen_can_be_pickled():
    for primitive in (ops.scatter_p, ops.scatter_add_p, ops.scatter_max_p):
        assert pickle.loads(pickle.dumps(primitive)) is primitive


def test_scatter_bodies_do_not_tell_who_made_them_first():
    """They serve all programs; a position in them would make a program's text depend on the programs before it."""
    (body,) = {eqn.params["update_jaxpr"]
               for eqn in stage(lambda x, i: [_scatter(x, i)], [ShapedArray((3, 4), np.float32), ShapedArray((2, 1), np.int32)]).eqns}
    assert all(eqn.source_info.code is None for eqn in body.eqns)


def test_arrays_of_keys_are_indexed():
    keys = PRNGKeyArray("threefry2x32", np.arange(6, dtype=np.uint32).reshape(3, 2))
    one = GatherDimensionNumbers((), (0,), (0,))
    for result, expected in [
            (slicing.slice(keys, (1,), (3,)), [1, 2]), (slicing.dynamic_slice(keys, (np.int32(-1),), (1,)), [2]),
            (ops.gather(keys, np.array([[2], [0]]), one, (1,), mode="clip"), [2, 0]),
            (slicing.dynamic_update_slice(keys, slicing.slice(keys, (0,), (1,)), (2,)), [0, 1, 0]),
            (ops.scatter(keys, np.array([[0]]), slicing.slice(keys, (2,), (3,)), ScatterDimensionNumbers(*one)), [2, 1, 2])]:
        assert result.dtype == keys.dtype
        np.testing.assert_array_equal(result.base, keys.base[expected])
    filled = ops.gather(keys, np.array([[2], [3]]), one, (1,), mode="fill")
    assert filled.base.tolist() == [[4, 5], [2**32 - 1, 2**32 - 1]]
    with pytest.raises(TypeError, match="gather: fill_value must be None for random keys"):
        ops.gather(keys, np.array([[2]]), one, (1,), mode="fill", fill_value=7)


def test_modes_have_names():
    assert GatherScatterMode.from_any("fill") is GatherScatterMode.from_any("drop") is GatherScatterMode.from_any(None)
    assert GatherScatterMode.from_any("clip") is GatherScatterMode.from_any(GatherScatterMode.CLIP)
    assert GatherScatterMode.from_any("promise_in_bounds") is GatherScatterMode.PROMISE_IN_BOUNDS
    with pytest.raises(ValueError, match="unknown gather or scatter mode 'wrap'; expected 'clip', 'fill'"):
        GatherScatterMode.from_any("wrap")


def test_programs_print_as_documented():
    def fun(x, i, k):
        return [ops.gather(x, i, DIMS, (1, 4)), ops.scatter_add(x, i, x, SDIMS), slicing.slice(x, (0, 1), (3, 4)),
                slicing.dynamic_slice(x, (k, 0), (1, 2), allow_negative_indices=False)]
    text = str(stage(fun, [ShapedArray((3, 4), np.float32), ShapedArray((3, 1), np.int32), ShapedArray((), np.int32)]))
    for line in ("dimension_numbers=GatherDimensionNumbers(offset_dims=(1,), collapsed_slice_dims=(0,), start_index_map=(0,), "
                 "operand_batching_dims=(), start_indices_batching_dims=())",
                 "mode=GatherScatterMode.PROMISE_IN_BOUNDS", "scatter-add[", "mode=GatherScatterMode.FILL_OR_DROP", "= add ",
                 "slice[limit_indices=(3, 4) start_indices=(0, 1) strides=None] a", "dynamic_slice[slice_sizes=(1, 2)] a c 0:i32[]"):
        assert line in text


@pytest.mark.parametrize("fun", [
    lambda x, i: slicing.slice(x, (0, 0), (1, 1)),
    lambda x, i: slicing.dynamic_slice_in_dim(x, slicing.index_in_dim(squeeze(i, (1,)), 0, keepdims=False), 1),
    lambda x, i: ops.gather(x, i, DIMS, (1, 4)), lambda x, i: ops.scatter(x, i, x, SDIMS),
])
def test_weak_types_and_named_axes_stay(fun):
    for weak in (False, True):
        x, i = ShapedArray((3, 4), np.float32, weak), ShapedArray((3, 1), np.int32, named_shape={"i": 4})
        (out,) = stage(lambda x, i: [fun(x, i)], [x, i]).out_avals
        assert out.weak_type == weak
        (out,) = stage(lambda x, i: [fun(x, i)], [x.update(named_shape={"i": 4}), i]).out_avals
        assert out.named_shape == {"i": 4}


# Malformed calls

X = np.ones((3, 4), np.float32)
I = np.zeros((2, 1), np.int32)
U = np.ones((2, 4), np.float32)
DIMS = GatherDimensionNumbers((1,), (0,), (0,))
SDIMS = ScatterDimensionNumbers((1,), (0,), (0,))


def _gather(x=X, i=I, sizes=(1, 4), **changes):
    return ops.gather(x, i, DIMS._replace(**changes), sizes)


def _scatter(x=X, i=I, u=U, **changes):
    return ops.scatter_add(x, i, u, SDIMS._replace(**changes))


MALFORMED = [
    (lambda: slicing.slice(X, (0,), (1,)), ShapeError, r"slice: .*one entry for each axis .*f32\[3,4\]"),
    (lambda: slicing.slice(X, (0, 0), (4, 4)), ShapeError, r"slice: along axis 0, .*limit_indices \(4, 4\).*f32\[3,4\]"),
    (lambda: slicing.slice(X, (-1, 0), (3, 4)), ShapeError, "slice: along axis 0"),
    (lambda: slicing.slice(X, (2, 0), (1, 4)), ShapeError, "slice: along axis 0"),
    (lambda: slicing.slice(X, (0, 0), (3, 4), (0, 1)), ShapeError, "slice: strides must be positive"),
    (lambda: slicing.slice(X, (0, 0), (3, 4), (1,)), ShapeError, "slice: .*strides must have one entry"),
    (lambda: slicing.slice(X, (0., 0), (3, 4)), ShapeError, "slice: start_indices must be a sequence of integers"),
    (lambda: slicing.slice_in_dim(X, -20, 30), ShapeError, "slice: along axis 0"),
    (lambda: slicing.slice_in_dim(X, 0, 2, axis=2), ValueError, "slice_in_dim: axis 2 is out of bounds"),
    (lambda: slicing.index_in_dim(X, 3), IndexError, "index_in_dim: index 3 is out of bounds for axis 0 with size 3"),
    (lambda: slicing.index_in_dim(X, -4), IndexError, "index_in_dim: index -4 is out of bounds"),
    (lambda: slicing.dynamic_slice(X, (0,), (1, 1)), ValueError, r"dynamic_slice: .*one start index .*got 1 for f32\[3,4\]"),
    (lambda: slicing.dynamic_slice(X, (0, 0), (1,)), ShapeError, r"dynamic_slice: slice_sizes .*\(1,\) for f32\[3,4\]"),
    (lambda: slicing.dynamic_slice(X, (0, 0), (4, 1)), ShapeError, r"dynamic_slice: slice_sizes .*\(4, 1\) for f32\[3,4\]"),
    (lambda: slicing.dynamic_slice(X, (0, 0), (-1, 1)), ShapeError, "dynamic_slice: slice_sizes"),
    (lambda: slicing.dynamic_slice(X, (0., 0), (1, 1)), TypeError, "dynamic_slice: start indices must be integer scalars, got f32"),
    (lambda: slicing.dynamic_slice(X, (True, 0), (1, 1)), TypeError, "dynamic_slice: start indices must be integer scalars, got bool"),
    (lambda: slicing.dynamic_slice(X, (I, 0), (1, 1)), TypeError, r"dynamic_slice: start indices must be integer scalars, got i32\[2,1\]"),
    (lambda: slicing.dynamic_slice(X, I, (1, 1)), ValueError, "dynamic_slice: start_indices must be a sequence of scalars"),
    (lambda: slicing.dynamic_slice(X, (0, 0), (1, 1), allow_negative_indices=(True,)), ValueError, "dynamic_slice: allow_negative_indices"),
    (lambda: slicing.dynamic_update_slice(X, X[0], (0, 0)), ShapeError, r"dynamic_update_slice: .*as many axes .*f32\[4\] for f32\[3,4\]"),
    (lambda: slicing.dynamic_update_slice(X, np.ones((4, 4), np.float32), (0, 0)), ShapeError, "dynamic_update_slice: .*larger"),
    (lambda: slicing.dynamic_update_slice(X, X.astype(np.int32), (0, 0)), DTypeError, "dynamic_update_slice: .*same dtype"),
    (lambda: slicing.dynamic_update_slice(X, X, (0,)), ValueError, "dynamic_update_slice: .*one start index"),
    (lambda: slicing.dynamic_update_index_in_dim(X, 1., 0, 0), ShapeError, "dynamic_update_index_in_dim: .*one less"),
    (lambda: _gather(i=I.astype(np.float32)), DTypeError, r"gather: the indices must be integers, got f32\[2,1\]"),
    (lambda: _gather(i=np.int32(0)), ShapeError, "gather: the indices need a last axis"),
    (lambda: _gather(i=np.zeros((2, 2), np.int32)), ShapeError, "gather: Gather op has 1 elements in start_index_map .* of indices is 2"),
    (lambda: _gather(sizes=(1,)), ShapeError, "gather: Gather op must have one slice size for every input dimension, got 1"),
    (lambda: _gather(sizes=(1, 5)), ShapeError, "gather: Slice size at index 1 .* out of range.* 4, got 5"),
    (lambda: _gather(sizes=(2, 4)), ShapeError, "gather: .*only collapse slice dims with bound 1, but bound is 2 for index 0"),
    (lambda: _gather(offset_dims=(2,)), ShapeError, "gather: Offset dimension 0 .* out of bounds, got 2"),
    (lambda: _gather(offset_dims=()), ShapeError,
     "gather: .*offset_dims, collapsed_slice_dims and operand_batching_dims must have 2 entries together"),
    (lambda: _gather(collapsed_slice_dims=(2,)), ShapeError, r"gather: Invalid collapsed_slice_dims .* \[0, 2\), got 2"),
    (lambda: _gather(start_index_map=(2,)), ShapeError, r"gather: Invalid start_index_map .* \[0, 2\), got 2"),
    (lambda: _gather(operand_batching_dims=(0,), start_indices_batching_dims=(0,)), ShapeError,
     "gather: collapsed_slice_dims and operand_batching_dims .* must be disjoint"),
    (lambda: _gather(collapsed_slice_dims=(), operand_batching_dims=(0,), start_indices_batching_dims=(0,)), ShapeError,
     "gather: start_index_map and operand_batching_dims .* must be disjoint"),
    (lambda: _gather(operand_batching_dims=(1,)), ShapeError,
     "gather: .*equal numbers of operand_batching_dims and start_indices_batching_dims"),
    (lambda: _gather(operand_batching_dims=(1,), start_indices_batching_dims=(1,)), ShapeError,
     "gather: .*cannot have the index vector dimension as a batching dimension"),
    (lambda: _gather(operand_batching_dims=(1,), start_indices_batching_dims=(0,)), ShapeError, "gather: .*have the same shape, got sizes"),
    (lambda: ops.gather(X, I, DIMS, (1, 4), mode="wrap"), ValueError, "unknown gather or scatter mode 'wrap'"),
    (lambda: _scatter(i=I.astype(bool)), DTypeError, r"scatter-add: the indices must be integers, got bool\[2,1\]"),
    (lambda: _scatter(u=U.astype(np.int32)), DTypeError, r"scatter-add: .*same dtype, got f32\[3,4\] and i32\[2,4\]"),
    (lambda: _scatter(u=U[0]), ShapeError, "scatter-add: Updates tensor must be of rank 2; got 1"),
    (lambda: _scatter(u=np.ones((2, 5), np.float32)), ShapeError,
     "scatter-add: Bounds of the window dimensions .* got 5 for axis 1 of the updates"),
    (lambda: _scatter(u=np.ones((3, 4), np.float32)), ShapeError, r"scatter-add: Bounds of the scatter dimensions .*\(2,\), got \(3,\)"),
    (lambda: _scatter(update_window_dims=()), ShapeError, "scatter-add: Updates tensor must be of rank 1; got 2"),
    (lambda: _scatter(inserted_window_dims=()), ShapeError, "scatter-add: .*window of size 1; doesn't match operand of rank 2"),
    (lambda: _gather(offset_dims=(1, 0)), ShapeError, r"gather: offset_dims .*must be sorted, got \(1, 0\)"),
    (lambda: _gather(offset_dims=(1, 1)), ShapeError, r"gather: offset_dims .*must not repeat, got \(1, 1\)"),
    (lambda: _scatter(update_window_dims=(2,)), ShapeError, r"scatter-add: Invalid update_window_dims .* \[0, 2\), got 2"),
    (lambda: _scatter(inserted_window_dims=(-1,)), ShapeError, r"scatter-add: Invalid inserted_window_dims .* \[0, 2\), got -1"),
    (lambda: _scatter(scatter_dims_to_operand_dims=(0, 1)), ShapeError,
     "scatter-add: .*has 2 elements in scatter_dims_to_operand_dims .* of indices is 1"),
    (lambda: ops.scatter_apply(X, I, lambda x: elementwise.lt(x, 0.), SDIMS, update_shape=(2, 4)), ShapeError, "scatter_apply: .*got bool"),
    (lambda: ops.scatter_apply(X, I, lambda x: full((2,), x), SDIMS, update_shape=(2, 4)), ShapeError, r"scatter_apply: .*got f32\[2\]"),
    (lambda: ops.scatter_apply(X, I, lambda x: slicing.index_in_dim(X, 0), SDIMS, update_shape=(2, 4)), NotImplementedError,
     "scatter_apply: .*closes over 1 arrays"),
]


@pytest.mark.parametrize("call, error, message", MALFORMED, ids=[f"{i}-{m[2][:20]}" for i, m in enumerate(MALFORMED)])
def test_malformed_calls_say_what_is_wrong(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_a_gather_without_windows_is_empty_and_asks_nothing_of_the_operand():
    indices = np.zeros((0, 1), np.int32)
    result = ops.gather(np.zeros((0, 3), np.float32), indices, DIMS, (1, 3))
    assert result.shape == (0, 3) and result.dtype == np.float32
    with pytest.raises(ShapeError, match="Slice size at index 0"):
        ops.gather(np.zeros((0, 3), np.float32), np.zeros((1, 1), np.int32), DIMS, (1, 3))
    with pytest.raises(ShapeError, match="only collapse"):
        ops.gather(np.zeros((0, 3), np.float32), indices, DIMS, (2, 3))


@pytest.mark.parametrize("starts", [(np.int32(1), np.int16(2)), (np.int16(1), np.array(2, np.int32))])
def test_start_indices_of_different_dtypes_are_refused(starts):
    with pytest.raises(DTypeError, match="index arguments to dynamic_slice must be integers of the same type, got i"):
        slicing.dynamic_slice(X, starts, (1, 1))
    with pytest.raises(DTypeError, match="index arguments to dynamic_update_slice must be integers of the same type, got i"):
        slicing.dynamic_update_slice(X, X[:1, :1], starts)
