"""Derivatives and batching of indexing operations, against differences, inner products and loops."""

import itertools

import ml_dtypes
import numpy as np
import pytest
from numeric_checks import check_derivatives, check_vmap

from laminax_ir.ops import elementwise, slicing
from laminax_ir.ops import indexing as ops
from laminax_ir.ops.indexing import GatherDimensionNumbers, ScatterDimensionNumbers
from laminax_ir.recording.staging import stage
from laminax_ir.types.avals import ShapedArray
from laminax_transforms import jvp, vjp, vmap

ROWS = GatherDimensionNumbers((1,), (0,), (0,))
BLOCKS = GatherDimensionNumbers((1, 2), (), (1, 0))
POINTS = GatherDimensionNumbers((), (0, 1), (0, 1))
PAIRED = GatherDimensionNumbers((1,), (), (1,), (0,), (0,))  # one window of each row
CASES = {  # dimension numbers, window, indices: in bounds, repeated, out of bounds on both sides
    "rows": (ROWS, (1, 4), np.array([[2], [0], [2], [5], [-1]])),
    "blocks": (BLOCKS, (2, 3), np.array([[0, 1], [1, 0], [0, 1], [3, 0], [-1, 1]])),
    "points": (POINTS, (1, 1), np.array([[[0, 1], [2, 3]], [[0, 1], [4, 0]]])),
    "paired": (PAIRED, (1, 2), np.array([[0], [1], [9]])),
    "no windows": (ROWS, (1, 4), np.zeros((0, 1), np.int32)),
}
UNIQUE = {"rows": np.array([[2], [0], [7]]), "blocks": np.array([[0, 0], [3, 3]]), "points": np.array([[[0, 1], [2, 3]]]),
          "paired": np.array([[0], [1], [2]])}
KINDS = ["scatter", "scatter_add", "scatter_sub", "scatter_mul", "scatter_min", "scatter_max"]
X = np.random.default_rng(0).normal(size=(3, 4))


def updates_for(name, indices, seed=1):
    dims, window, _ = CASES[name]
    shape = np.asarray(ops.gather(X, indices, dims, window)).shape
    return np.random.default_rng(seed).normal(size=shape)


# Derivatives

SLICES = {
    "slice": lambda x: slicing.slice(x, (0, 1), (3, 3)),
    "slice with strides": lambda x: slicing.slice(x, (1, 0), (3, 4), (1, 2)),
    "empty slice": lambda x: slicing.slice(x, (2, 1), (2, 4), (1, 3)),
    "dynamic_slice": lambda x: slicing.dynamic_slice(x, (np.int32(-1), np.int32(9)), (2, 2)),
    "index_take": lambda x: ops.index_take(x, (np.array([1, 1]), np.array([-1, 0])), (0, 1)),
}


@pytest.mark.parametrize("name", SLICES)
def test_derivatives_of_slices(name):
    check_derivatives(lambda x: elementwise.sin(SLICES[name](x)), X)


@pytest.mark.parametrize("start", [(0, 0), (1, 2), (9, -1)])
def test_derivatives_of_dynamic_update_slice(start):
    update = np.random.default_rng(1).normal(size=(2, 1))
    check_derivatives(lambda x, u: elementwise.sin(slicing.dynamic_update_slice(x, u, [np.int32(i) for i in start])), X, update)


@pytest.mark.parametrize("mode", ["clip", "fill"])
@pytest.mark.parametrize("name", CASES)
def test_derivatives_of_gather(name, mode):
    dims, window, indices = CASES[name]
    check_derivatives(lambda x: elementwise.sin(ops.gather(x, indices, dims, window, mode=mode, fill_value=0)), X)


@pytest.mark.parametrize("mode", ["clip", "drop"])
@pytest.mark.parametrize("kind", ["scatter", "scatter_add", "scatter_sub", "scatter_min", "scatter_max"])
@pytest.mark.parametrize("name", CASES)
def test_derivatives_of_scatter(name, kind, mode):
    dims, _, indices = CASES[name]
    if kind == "scatter" and mode == "clip" and name in ("rows", "blocks", "points"):
        indices = indices[:3]  # central differences must not see which of two clipped updates wins
    scatter = getattr(ops, kind)
    check_derivatives(lambda x, u: elementwise.sin(scatter(x, indices, u, ScatterDimensionNumbers(*dims), mode=mode)),
                      X, updates_for(name, indices))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", UNIQUE)
def test_derivatives_of_scatter_with_unique_indices(name, kind):
    dims, indices, scatter = ScatterDimensionNumbers(*CASES[name][0]), UNIQUE[name], getattr(ops, kind)
    check_derivatives(lambda x, u: elementwise.sin(scatter(x, indices, u, dims, unique_indices=True)), X, updates_for(name, indices))


def test_derivatives_of_complex_arrays():
    dims, window, indices = CASES["rows"]
    x, u = X + 1j * X[::-1], updates_for("rows", indices) * (1 + 2j)
    check_derivatives(lambda x: elementwise.sin(ops.gather(x, indices, dims, window, mode="fill", fill_value=0)), x)
    check_derivatives(lambda x, u: elementwise.sin(ops.scatter_add(x, indices, u, ScatterDimensionNumbers(*dims))), x, u)


@pytest.mark.parametrize("dtype", ["float16", ml_dtypes.bfloat16, "float32"])
def test_cotangents_have_the_dtype_of_their_operand(dtype):
    x, dims = np.ones((3, 4), dtype), ScatterDimensionNumbers(*ROWS)
    for fun in (lambda x: ops.gather(x, np.array([[1], [1]]), ROWS, (1, 4), mode="fill"), lambda x: slicing.slice(x, (1, 1), (3, 4)),
                lambda x: slicing.dynamic_slice(x, (1, 2), (2, 1)),
                lambda x: ops.scatter_max(x, np.array([[1]]), np.full((1, 4), 0.5, dtype), dims)):
        y, pullback = vjp(fun, x)
        (ct,) = pullback(np.ones(np.shape(y), dtype))
        assert ct.dtype == x.dtype and ct.shape == x.shape
        # Ones in, and every element is read at most twice: the cotangent counts how often, exactly in any dtype.
        assert set(np.unique(ct.astype(np.float32))) <= {0.0, 1.0, 2.0}


def test_scatter_mul_is_linear_in_the_operand_for_any_indices():
    dims, _, indices = CASES["rows"]
    updates = updates_for("rows", indices)
    check_derivatives(lambda x: elementwise.sin(ops.scatter_mul(x, indices, updates, ScatterDimensionNumbers(*dims))), X)


def test_derivative_of_scatter_follows_the_update_that_wins():
    x, updates, indices = np.float32([1, 2, 3]), np.float32([10, 20, 30]), np.array([[1], [1], [7]])
    dims = ScatterDimensionNumbers((), (0,), (0,))
    y, pullback = vjp(lambda x, u: ops.scatter(x, indices, u, dims), x, updates)
    x_ct, updates_ct = pullback(np.float32([1, 1, 1]))
    winner = list(updates).index(y[1])
    np.testing.assert_array_equal(x_ct, [1, 0, 1])
    np.testing.assert_array_equal(updates_ct, np.arange(3) == winner)


def test_ties_of_scatter_max_share_the_derivative():
    """As JAX documents for max: each of n equal candidates has the derivative 1/n."""
    x, updates, indices = np.float32([2, 0]), np.float32([2, 2, 1]), np.array([[0], [0], [1]])
    dims = ScatterDimensionNumbers((), (0,), (0,))
    _, pullback = vjp(lambda x, u: ops.scatter_max(x, indices, u, dims), x, updates)
    x_ct, updates_ct = pullback(np.float32([3, 5]))
    np.testing.assert_allclose(x_ct, [1, 0])
    np.testing.assert_allclose(updates_ct, [1, 1, 5])


def test_gather_out_of_bounds_has_no_derivative_and_its_tangent_is_zero():
    x = np.float32([1, 2])
    y, y_dot = jvp(lambda x: ops.gather(x, np.array([[1], [5]]), GatherDimensionNumbers((), (0,), (0,)), (1,), mode="fill"), (x,), (x,))
    np.testing.assert_array_equal(y, [2, np.nan])
    np.testing.assert_array_equal(y_dot, [2, 0])


def test_scatter_into_an_empty_axis():
    empty = np.zeros((0, 4))
    check_derivatives(lambda x, u: ops.scatter_add(x, np.array([[0], [1]]), u, ScatterDimensionNumbers(*ROWS)), empty, np.ones((2, 4)))


def test_unsupported_derivatives_say_so():
    dims = ScatterDimensionNumbers(*ROWS)
    updates = np.ones((1, 4))
    with pytest.raises(NotImplementedError, match="scatter_mul gradients are only implemented if `unique_indices=True`"):
        vjp(lambda u: ops.scatter_mul(np.ones((3, 4)), np.array([[0]]), u, dims), updates)
    with pytest.raises(NotImplementedError, match="scatter_apply cannot be differentiated"):
        jvp(lambda x: ops.scatter_apply(x, np.array([[0]]), elementwise.sin, dims, update_shape=(1, 4)), (X,), (X,))


# Batching


def batch(x, axis, seed=0):
    """Three variants of x along a new axis."""
    return x if axis is None else np.stack([x, x + 1, x - 1], axis)


def check_all_batchings(fun, *args):
    for axes in itertools.product(*[[None, 0, np.ndim(x)] for x in args]):
        if any(a is not None for a in axes):
            check_vmap(fun, [batch(x, a) for x, a in zip(args, axes)], axes)


F32 = X.astype(np.float32)


@pytest.mark.parametrize("name", SLICES)
def test_vmap_of_slices_is_the_loop(name):
    check_all_batchings(SLICES[name], F32)


@pytest.mark.parametrize("sizes", [(2, 2), (3, 1), (3, 4), (0, 2)])
def test_vmap_of_dynamic_slice_is_the_loop(sizes):
    check_all_batchings(lambda x, i, j: slicing.dynamic_slice(x, (i, j), sizes), F32, np.int32(0), np.int32(2))


@pytest.mark.parametrize("shape", [(2, 2), (3, 1), (3, 4), (0, 2)])
def test_vmap_of_dynamic_update_slice_is_the_loop(shape):
    update = np.full(shape, 7, np.float32)
    check_all_batchings(lambda x, u, i, j: slicing.dynamic_update_slice(x, u, (i, j)), F32, update, np.int32(0), np.int32(2))


@pytest.mark.parametrize("mode", ["clip", "fill"])
@pytest.mark.parametrize("name", CASES)
def test_vmap_of_gather_is_the_loop(name, mode):
    dims, window, indices = CASES[name]
    check_all_batchings(lambda x, i: ops.gather(x, i, dims, window, mode=mode, fill_value=-5), F32, indices.astype(np.int32))


@pytest.mark.parametrize("mode", ["clip", "drop"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", CASES)
def test_vmap_of_scatter_is_the_loop(name, kind, mode):
    dims, _, indices = CASES[name]
    updates = updates_for(name, indices).astype(np.float32)
    if kind == "scatter":
        updates = np.full_like(updates, 3)  # which of several updates wins is not defined
    scatter = getattr(ops, kind)
    check_all_batchings(lambda x, i, u: scatter(x, i, u, ScatterDimensionNumbers(*dims), mode=mode), F32, indices.astype(np.int32), updates)


def test_vmap_of_scatter_apply_is_the_loop():
    dims = ScatterDimensionNumbers(*ROWS)
    check_all_batchings(lambda x, i: ops.scatter_apply(x, i, elementwise.exp, dims, update_shape=(2, 4)), F32, np.int32([[1], [2]]))


@pytest.mark.parametrize("size", [0, 1])
def test_small_batches(size):
    x, i = np.zeros((size, 3, 4), np.float32), np.zeros((size, 2, 1), np.int32)
    assert vmap(lambda x, i: ops.gather(x, i, ROWS, (1, 4)))(x, i).shape == (size, 2, 4)
    assert vmap(lambda x, i: ops.scatter_add(x, i, np.ones((2, 4), np.float32), ScatterDimensionNumbers(*ROWS)))(x, i).shape == (size, 3, 4)


def test_nested_vmap_and_pullback():
    indices = np.array([[[0], [2]], [[1], [1]]], np.int32)

    def loss(x, i):
        return elementwise.sin(ops.gather(x, i, ROWS, (1, 4)))

    def gradient(x, i):
        y, pullback = vjp(lambda x: loss(x, i), x)
        return pullback(y)[0]

    batched = vmap(vmap(gradient, in_axes=(None, 0)), in_axes=(0, None))(np.stack([F32, F32 + 1]), indices)
    for a, b in itertools.product(range(2), range(2)):
        np.testing.assert_allclose(batched[a, b], gradient((F32, F32 + 1)[a], indices[b]), rtol=1e-6)


def test_batched_rows_stay_one_gather_with_one_index_each():
    """vmap of x[i] positions the axis that moves, and no others."""
    jaxpr = stage(lambda x, i: [vmap(lambda i: slicing.dynamic_index_in_dim(x, i, allow_negative_indices=False))(i)],
                  [ShapedArray((3, 4), np.float32), ShapedArray((5,), np.int32)])
    assert [eqn.primitive.name for eqn in jaxpr.eqns] == ["broadcast_in_dim", "gather"]
    assert jaxpr.eqns[-1].invars[1].aval.shape == (5, 1)


def test_shared_indices_of_a_batch_are_not_promised_unique():
    jaxpr = stage(lambda x, i: [vmap(lambda i: ops.gather(x, i, ROWS, (1, 4), unique_indices=True, indices_are_sorted=True))(i)],
                  [ShapedArray((3, 4), np.float32), ShapedArray((5, 2, 1), np.int32)])
    assert not jaxpr.eqns[-1].params["unique_indices"] and not jaxpr.eqns[-1].params["indices_are_sorted"]
