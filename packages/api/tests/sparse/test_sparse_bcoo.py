"""BCOO arrays: what they hold, conversions, the order of entries, and transformations of functions of them."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from sparse_cases import layouts, random_bcoo

import laminax as lx
import laminax.numpy as jnp
from laminax.experimental import sparse


@pytest.fixture
def rng():
    return np.random.default_rng(7)


@pytest.mark.parametrize("n_batch, n_dense", layouts(3))
def test_to_and_from_dense(rng, n_batch, n_dense):
    x = rng.integers(-1, 2, (2, 3, 2)).astype(np.float32)
    mat = sparse.BCOO.fromdense(x, n_batch=n_batch, n_dense=n_dense)
    assert (mat.n_batch, mat.n_dense, mat.n_sparse, mat.shape) == (n_batch, n_dense, 3 - n_batch - n_dense, x.shape)
    stored = (x != 0).any(axis=tuple(range(3 - n_dense, 3))).sum(axis=tuple(range(n_batch, 3 - n_dense)))
    assert mat.nse == stored.max()
    np.testing.assert_array_equal(mat.todense(), x)
    padded = lx.jit(lambda x: sparse.BCOO.fromdense(x, nse=12, n_batch=n_batch, n_dense=n_dense))(x)
    assert padded.nse == 12
    np.testing.assert_array_equal(padded.todense(), x)


@pytest.mark.parametrize("n_batch, n_dense", layouts(2))
def test_entries_add_up_and_padding_does_not_count(rng, n_batch, n_dense):
    mat, expected = random_bcoo(rng, (3, 4), n_batch, n_dense)
    np.testing.assert_array_equal(mat.todense(), expected)
    for other in (mat.sum_duplicates(), mat.sum_duplicates(nse=12, remove_zeros=False), mat.sort_indices()):
        np.testing.assert_array_equal(other.todense(), expected)
    summed = mat.sum_duplicates()
    assert summed.unique_indices and summed.indices_sorted
    if not n_dense and mat.n_sparse:
        inner = (expected != 0).sum(axis=tuple(range(n_batch, 2)))
        assert summed.nse >= inner.max()  # entries may cancel


def test_indices_are_sorted_within_each_batch(rng):
    indices = rng.integers(0, 4, (2, 6, 2))
    data = rng.normal(size=(2, 6)).astype(np.float32)
    mat = sparse.bcoo_sort_indices(sparse.BCOO((data, indices), shape=(2, 4, 4)))
    for k in range(2):
        order = np.lexsort(indices[k].T[::-1])
        np.testing.assert_array_equal(mat.indices[k], indices[k][order])
        np.testing.assert_array_equal(mat.data[k], data[k][order])


def test_zeros_are_left_out_if_asked():
    mat = sparse.BCOO((jnp.array([0.0, 2.0, 0.0]), jnp.array([[3], [1], [0]])), shape=(4,))
    assert mat.sum_duplicates().nse == 1 and mat.sum_duplicates(remove_zeros=False).nse == 3


def test_bools():
    x = np.array([[True, False, True], [False, False, True]])
    for n_batch, n_dense in layouts(2):
        mat = sparse.BCOO.fromdense(x, n_batch=n_batch, n_dense=n_dense)
        assert mat.todense().dtype == np.bool_
        np.testing.assert_array_equal(mat.todense(), x)
    twice = sparse.BCOO((jnp.array([True, True, False]), jnp.array([[1], [1], [0]])), shape=(3,))
    np.testing.assert_array_equal(twice.todense(), [False, True, False])
    np.testing.assert_array_equal(twice.sum_duplicates().todense(), [False, True, False])


def test_values_at_given_places():
    x = np.array([10.0, 20.0, 30.0], np.float32)
    mat = sparse.BCOO((jnp.zeros(4), jnp.array([[2], [0], [2], [3]])), shape=(3,))
    np.testing.assert_array_equal(sparse.bcoo_extract(mat, x, assume_unique=True).data, [30, 10, 30, 0])
    np.testing.assert_array_equal(sparse.bcoo_extract(mat, x).data, [30, 10, 0, 0])
    np.testing.assert_array_equal(sparse.bcoo_extract(mat, x).todense(), [10, 0, 30])


def test_batches_may_share_buffers(rng):
    mat = sparse.BCOO((jnp.ones((1, 2)), jnp.array([[[0], [2]], [[1], [2]]])), shape=(2, 3))
    np.testing.assert_array_equal(mat.todense(), [[1, 0, 1], [0, 1, 1]])
    np.testing.assert_array_equal(lx.vmap(lambda m: m.todense())(mat), mat.todense())


def test_mapped_over_a_batch_axis(rng):
    mat, expected = random_bcoo(rng, (2, 3, 4), n_batch=1)
    v = rng.integers(-3, 4, 3).astype(np.float32)

    def f(m):
        assert m.shape == (3, 4) and m.n_batch == 0
        return 2 * m, m.T @ v

    doubled, product = lx.vmap(f)(mat)
    assert doubled.shape == (2, 3, 4) and doubled.n_batch == 1
    np.testing.assert_array_equal(doubled.todense(), 2 * expected)
    np.testing.assert_array_equal(product, np.einsum("bij,i->bj", expected, v))
    both = lx.vmap(lambda m, s: m * s, in_axes=(0, None))(mat, 3.0)
    np.testing.assert_array_equal(both.todense(), 3 * expected)


@pytest.mark.parametrize("call, message", [
    (lambda m: lx.vmap(lambda x: x, in_axes=1)(m), "in_axes for batched BCOO operations must correspond to a batch dimension"),
    (lambda m: lx.vmap(lambda x: x, out_axes=1)(m), "BCOO batch axes must be a contiguous block of leading dimensions"),
    (lambda m: lx.vmap(lambda x, y: x)(m, jnp.ones(5)), "(?s)inconsistent sizes.*5"),
])
def test_only_batch_axes_are_mapped(call, message):
    with pytest.raises(ValueError, match=message):
        call(sparse.BCOO.fromdense(jnp.ones((2, 3)), n_batch=1))


def test_a_pytree_of_its_buffers():
    mat = sparse.BCOO.fromdense(jnp.eye(3))
    leaves, tree = lx.tree_util.tree_flatten(mat)
    assert leaves[0] is mat.data and leaves[1] is mat.indices
    assert lx.tree_util.tree_unflatten(tree, [None, "anything"]).indices == "anything"
    again = lx.jit(lambda m: m)(mat)
    assert (again.shape, again.indices_sorted, again.unique_indices) == ((3, 3), True, True)


def test_how_it_prints():
    assert repr(sparse.BCOO.fromdense(jnp.eye(3), n_batch=1)) == "BCOO(float32[3, 3], nse=1, n_batch=1)"
    assert repr(sparse.BCOO.fromdense(jnp.eye(3), n_dense=1)) == "BCOO(float32[3, 3], nse=3, n_dense=1)"
    seen = []
    lx.jit(lambda m: seen.append(repr(m)))(sparse.BCOO.fromdense(jnp.eye(3)))
    assert seen[0].endswith("Tracer[BCOO(float32[3, 3], nse=3)]")


def test_from_scipy():
    matrix = scipy.sparse.random(4, 5, density=0.5, random_state=3, dtype=np.float32)
    np.testing.assert_array_equal(sparse.BCOO.from_scipy_sparse(matrix).todense(), matrix.toarray())
    with pytest.raises(NotImplementedError, match="n_batch and n_dense must be 0"):
        sparse.BCOO.from_scipy_sparse(matrix, n_batch=1)


@pytest.mark.parametrize("N, M, k", [(3, None, 0), (3, 4, 1), (4, 3, -2), (2, 3, 5)])
@pytest.mark.parametrize("sparse_format", ["bcoo", "bcsr", "coo", "csr", "csc"])
def test_diagonals(N, M, k, sparse_format):  # noqa: N803
    mat = sparse.eye(N, M, k, sparse_format=sparse_format)
    np.testing.assert_array_equal(sparse.todense(mat), np.eye(N, M, k))
    assert sparse.empty((2, 3), sparse_format=sparse_format).nse == 0


def test_random_arrays():
    mat = sparse.random_bcoo(lx.random.key(1), (3, 4, 2), dtype=np.float32, nse=0.5, n_batch=1, n_dense=1, sorted_indices=True)
    assert (mat.n_batch, mat.n_dense, mat.nse) == (1, 1, 2)
    columns = np.asarray(mat.indices)[..., 0]
    assert (columns[:, 0] < columns[:, 1]).all() and columns.min() >= 0 and columns.max() < 4
    with pytest.raises(ValueError, match="got nse=50, expected to be between 0 and 20"):
        sparse.random_bcoo(lx.random.key(1), (4, 5), dtype=np.float32, nse=50)


@pytest.mark.parametrize("args, shape, message", [
    ((np.ones(3), np.ones((4, 1), int)), (5,), r"Invalid data.shape=\(3,\) for nse=4"),
    ((np.ones(3), np.ones((3, 2), int)), (5,), "makes an array of 2 axes"),
    ((np.ones(3), np.ones((3, 1))), (5,), "indices must be integers"),
    ((np.ones((2, 3)), np.ones((4, 3, 1), int)), (4, 5), "data batch dimensions not compatible"),
    ((np.ones(3), np.ones(3, int)), (5,), r"indices must have the shape"),
])
def test_buffers_that_do_not_fit(args, shape, message):
    with pytest.raises(ValueError, match=message):
        sparse.BCOO(args, shape=shape)


def test_the_number_of_entries_cannot_be_found_in_a_trace():
    with pytest.raises(lx.errors.ConcretizationTypeError, match="nse argument of bcoo_fromdense"):
        lx.jit(sparse.BCOO.fromdense)(jnp.ones(3))
    with pytest.raises(ValueError, match="nse must be specified"):
        lx.jit(lambda m: m.sum_duplicates())(sparse.BCOO.fromdense(jnp.ones(3)))
