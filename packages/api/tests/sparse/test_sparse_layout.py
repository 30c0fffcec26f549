"""BCOO arrays of other shapes and layouts, and parts of them, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from sparse_cases import layouts, random_bcoo

import laminax as lx
import laminax.numpy as jnp
from laminax.experimental import sparse

SHAPE = (2, 3, 4)
LAYOUTS = [(0, 0), (1, 0), (0, 1), (1, 1), (2, 0), (0, 3), (3, 0)]


@pytest.fixture
def rng():
    return np.random.default_rng(11)


def same(mat, expected):
    assert mat.shape == expected.shape
    np.testing.assert_array_equal(mat.todense(), expected)


@pytest.mark.parametrize("n_batch, n_dense", layouts(2))
@pytest.mark.parametrize("to_batch, to_dense", layouts(2))
def test_update_layout(rng, n_batch, n_dense, to_batch, to_dense):
    mat, expected = random_bcoo(rng, (3, 4), n_batch, n_dense)
    kwargs = dict(n_batch=to_batch, n_dense=to_dense)
    if to_batch > n_batch or to_dense > n_dense:
        with pytest.raises(sparse.SparseEfficiencyError, match="results in inefficient storage"):
            mat.update_layout(**kwargs)
        with pytest.warns(sparse.SparseEfficiencyWarning):
            mat.update_layout(**kwargs, on_inefficient="warn")
    new = mat.update_layout(**kwargs, on_inefficient=None)
    assert (new.n_batch, new.n_dense) == (to_batch, to_dense)
    same(new, expected)


@pytest.mark.parametrize("n_batch, n_dense", LAYOUTS)
def test_axes_reversed_summed_and_cut(rng, n_batch, n_dense):
    mat, x = random_bcoo(rng, SHAPE, n_batch, n_dense)
    for axes in ((0,), (1, 2), (0, 2)):
        same(sparse.bcoo_rev(mat, axes), np.flip(x, axes))
        same(sparse.bcoo_reduce_sum(mat, axes=axes), x.sum(axes))
    cut = sparse.bcoo_slice(mat, start_indices=(0, 1, 0), limit_indices=(2, 3, 3), strides=(1, 1, 2))
    same(cut, x[:, 1:3, 0:3:2])
    assert cut.nse <= max(1, np.prod(cut.shape[n_batch:3 - n_dense], dtype=int))
    assert (cut.n_batch, cut.n_dense) == (n_batch, n_dense)
    same(lx.jit(lambda m, i: sparse.bcoo_dynamic_slice(m, (i, -2, 3), (1, 2, 2)))(mat, 1), x[1:2, 1:3, 2:4])


@pytest.mark.parametrize("n_batch, n_dense, permutation", [(0, 0, (2, 0, 1)), (2, 0, (1, 0, 2)), (1, 0, (0, 2, 1)), (0, 2, (0, 2, 1))])
def test_transpose(rng, n_batch, n_dense, permutation):
    mat, x = random_bcoo(rng, SHAPE, n_batch, n_dense)
    same(sparse.bcoo_transpose(mat, permutation=permutation), x.transpose(permutation))


@pytest.mark.parametrize("n_batch, n_dense, shape, axes", [
    (0, 0, (3, 4, 2), (0, 1)), (0, 0, (5, 3, 4), (1, 2)), (1, 0, (3, 2, 4), (0, 2)), (1, 1, (3, 2, 4), (0, 2)), (0, 1, (3, 2, 4), (0, 2)),
    (0, 2, (2, 3, 4), (1, 2)), (2, 0, (3, 4, 2), (0, 1))])
def test_broadcast_in_dim(rng, n_batch, n_dense, shape, axes):
    mat, x = random_bcoo(rng, (3, 4), n_batch, n_dense)
    expected = np.broadcast_to(x.reshape([x.shape[axes.index(k)] if k in axes else 1 for k in range(len(shape))]), shape)
    same(sparse.bcoo_broadcast_in_dim(mat, shape=shape, broadcast_dimensions=axes), expected)


def test_axes_of_size_1_are_repeated(rng):
    mat, x = random_bcoo(rng, (1, 4))
    same(sparse.bcoo_broadcast_in_dim(mat, shape=(3, 4), broadcast_dimensions=(0, 1)), np.repeat(x, 3, 0))


@pytest.mark.parametrize("n_batch, n_dense, sizes", [
    (0, 0, (4, 6)), (0, 0, (24,)), (1, 0, (1, 2, 12)), (2, 0, (6, 4)), (2, 0, (3, 2, 2, 2)), (0, 1, (6, 2, 2)), (3, 0, (8, 3))])
def test_reshape(rng, n_batch, n_dense, sizes):
    mat, x = random_bcoo(rng, SHAPE, n_batch, n_dense)
    same(sparse.bcoo_reshape(mat, new_sizes=sizes), x.reshape(sizes))
    same(mat.reshape(sizes), x.reshape(sizes))


@pytest.mark.parametrize("n_batch, n_dense", [(0, 0), (1, 0), (1, 1), (2, 0)])
@pytest.mark.parametrize("dimension", [0, 1])
def test_concatenate(rng, n_batch, n_dense, dimension):
    shapes = [(2, 3, 2), (1, 3, 2)] if dimension == 0 else [(2, 3, 2), (2, 4, 2)]
    parts = [random_bcoo(rng, shape, n_batch, n_dense, nse=nse) for shape, nse in zip(shapes, (3, 5))]
    same(sparse.bcoo_concatenate([mat for mat, _ in parts], dimension=dimension), np.concatenate([x for _, x in parts], dimension))


@pytest.mark.parametrize("index",
                         [1, np.s_[::2], np.s_[:, 1], np.s_[1, 2], np.s_[None, :, 1:], np.array([1, 0, 1]), np.s_[:, np.array([3, 0])],
                          np.s_[np.array([1, 2]), np.array([3, 0])], np.s_[:, ::-1], np.array([True, False, True])], ids=str)
@pytest.mark.parametrize("n_batch", [0, 1])
def test_indexing(rng, index, n_batch):
    mat, x = random_bcoo(rng, (3, 4), n_batch)
    same(mat[index], x[index])


def test_iteration(rng):
    mat, x = random_bcoo(rng, (3, 4))
    assert len(mat) == 3
    for row, expected in zip(mat, x, strict=True):
        same(row, expected)


def test_squeeze_of_each_kind_of_axis(rng):
    mat, x = random_bcoo(rng, (1, 1, 1), 1, 1)
    same(sparse.bcoo_squeeze(mat, dimensions=(0, 1, -1)), x.reshape(()))


@pytest.mark.parametrize("call, error, message", [
    (lambda m: sparse.bcoo_transpose(m, permutation=(1, 0, 2)), NotImplementedError, "cannot permute batch axes with non-batch axes"),
    (lambda m: sparse.bcoo_transpose(m, permutation=(1, 1, 2)), TypeError, "isn't a permutation"),
    (lambda m: m.reshape(3, 2, 4), ValueError, "cannot mix batch and sparse dimensions"),
    (lambda m: m.reshape(5, 5), (TypeError, ValueError), "25|24"),
    (lambda m: sparse.bcoo_concatenate([m, m.update_layout(n_batch=0)], dimension=0), ValueError, "matching batch dimensions"),
    (lambda m: m.update_layout(n_batch=4), ValueError, "cannot be larger than mat.ndim=3"),
    (lambda m: m.update_layout(on_inefficient="maybe"), ValueError, "'error', 'warn' or None, got 'maybe'"),
    (lambda m: sparse.bcoo_squeeze(m, dimensions=(0,)), ValueError, "axes of size 1"),
    (lambda m: sparse.bcoo_slice(m, start_indices=(0, 0, 0), limit_indices=(9, 1, 1)), ValueError, "start <= limit <= size"),
])
def test_refusals(call, error, message):
    with pytest.raises(error, match=message):
        call(sparse.BCOO.fromdense(jnp.ones(SHAPE), n_batch=1))
