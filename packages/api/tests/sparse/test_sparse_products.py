"""Sums, elementwise products and contractions of BCOO arrays, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from sparse_cases import random_bcoo

import laminax as lx
import laminax.numpy as jnp
from laminax.experimental import sparse


@pytest.fixture
def rng():
    return np.random.default_rng(5)


def contraction(x, y, numbers) -> np.ndarray:
    """`lax.dot_general` by einsum: batch axes, what is left of x, what is left of y."""
    (cx, cy), (bx, by) = numbers
    names = "abcdefgh"
    of_x = list(names[:x.ndim])
    of_y = [None] * y.ndim
    for i, j in (*zip(cx, cy), *zip(bx, by)):
        of_y[j] = of_x[i]
    fresh = iter("stuvw")
    of_y = [n or next(fresh) for n in of_y]
    out = ([of_x[i] for i in bx] + [n for i, n in enumerate(of_x) if i not in (*cx, *bx)]
           + [n for j, n in enumerate(of_y) if j not in (*cy, *by)])
    return np.einsum(f"{''.join(of_x)},{''.join(of_y)}->{''.join(out)}", x, y)


@pytest.mark.parametrize("n_batch, n_dense, other, numbers", [
    (0, 0, (3, 5), (((1,), (0,)), ((), ()))),
    (0, 0, (4, 2), (((0, 2), (1, 0)), ((), ()))),
    (0, 0, (5,), (((), ()), ((), ()))),
    (0, 1, (3, 2), (((1, 0), (0, 1)), ((), ()))),
    (1, 0, (5, 2, 3), (((1,), (2,)), ((0,), (1,)))),
    (1, 0, (2, 5), (((0,), (0,)), ((), ()))),
    (1, 1, (2, 3), (((0, 1), (0, 1)), ((), ()))),
    (1, 0, (2, 4, 3), (((2, 1), (1, 2)), ((0,), (0,)))),
    (3, 0, (4, 2, 3), (((2,), (0,)), ((0, 1), (1, 2)))),
    (2, 0, (3, 4), (((1,), (0,)), ((), ()))),
])
def test_contractions_with_a_dense_array(rng, n_batch, n_dense, other, numbers):
    mat, x = random_bcoo(rng, (2, 3, 4), n_batch, n_dense)
    y = rng.integers(-3, 4, other).astype(np.float32)
    product = sparse.bcoo_dot_general(mat, y, dimension_numbers=numbers)
    np.testing.assert_array_equal(product, contraction(x, y, numbers))
    reflected = tuple(pair[::-1] for pair in numbers)
    product = sparse.bcoo_dot_general(y, mat, dimension_numbers=reflected)
    np.testing.assert_array_equal(product, contraction(y, x, reflected))


@pytest.mark.parametrize("shape, n_batch, other, other_batch, numbers", [
    ((3,), 0, (3,), 0, (((0,), (0,)), ((), ()))),
    ((3, 4), 0, (4, 5), 0, (((1,), (0,)), ((), ()))),
    ((2, 3, 4), 1, (2, 4), 1, (((2,), (1,)), ((0,), (0,)))),
    ((2, 3, 4), 1, (4, 3), 0, (((2,), (0,)), ((), ()))),
    ((2, 4), 1, (3, 4), 1, (((1,), (1,)), ((), ()))),
])
def test_contractions_of_two_sparse_arrays(rng, shape, n_batch, other, other_batch, numbers):
    (lhs, x), (rhs, y) = random_bcoo(rng, shape, n_batch), random_bcoo(rng, other, other_batch)
    out = sparse.bcoo_dot_general(lhs, rhs, dimension_numbers=numbers)
    assert isinstance(out, sparse.BCOO)
    np.testing.assert_array_equal(out.todense(), contraction(x, y, numbers))
    assert out.nse <= np.prod(out.shape[out.n_batch:], dtype=int)


def test_elements_of_a_contraction(rng):
    x, y = rng.normal(size=(2, 3, 4)), rng.normal(size=(2, 4, 5))
    numbers = (((2,), (1,)), ((0,), (0,)))
    places = np.array([[[0, 1], [2, 4], [3, 0]], [[1, 1], [9, 9], [0, 0]]], np.int32)
    full = np.einsum("bij,bjk->bik", x, y)
    expected = [[full[0, 0, 1], full[0, 2, 4], 0], [full[1, 1, 1], 0, full[1, 0, 0]]]
    found = sparse.bcoo_dot_general_sampled(jnp.asarray(x, np.float32), jnp.asarray(y, np.float32), places, dimension_numbers=numbers)
    np.testing.assert_allclose(found, expected, rtol=1e-5)  # sums of four products in float32
    rows = sparse.bcoo_dot_general_sampled(jnp.asarray(x, np.float32), jnp.asarray(y, np.float32), places[..., :1],
                                           dimension_numbers=numbers)
    np.testing.assert_allclose(rows[0, 0], full[0, 0], rtol=1e-5)


@pytest.mark.parametrize("n_batch, n_dense", [(0, 0), (1, 0), (0, 1), (1, 1)])
def test_elementwise(rng, n_batch, n_dense):
    mat, x = random_bcoo(rng, (3, 4), n_batch, n_dense)
    for v in (rng.integers(1, 4, shape).astype(np.float32) for shape in [(3, 4), (1, 4), (3, 1), ()]):
        np.testing.assert_array_equal((mat * v).todense(), x * v)
        np.testing.assert_allclose((mat / v).todense(), x / v, rtol=1e-6)
    for shape in ((3, 4), (1, 4), (3, 1)):
        if n_dense and shape[1] == 1:
            continue
        other, y = random_bcoo(rng, shape, n_batch, n_dense)
        np.testing.assert_array_equal((mat * other).todense(), x * y)
        np.testing.assert_array_equal((other * mat).todense(), x * y)
        np.testing.assert_array_equal((mat + other).todense(), x + y)
        np.testing.assert_array_equal((mat - other).todense(), x - y)
    assert (mat + mat).nse == mat.nse  # at the same places


def test_operators(rng):
    mat, x = random_bcoo(rng, (3, 4))
    y, v = rng.integers(-3, 4, (3, 4)).astype(np.float32), rng.integers(-3, 4, 4).astype(np.float32)
    np.testing.assert_array_equal(mat @ v, x @ v)
    np.testing.assert_array_equal(y.T @ mat, y.T @ x)  # of NumPy, too
    np.testing.assert_array_equal(jnp.asarray(y).T @ mat, y.T @ x)
    np.testing.assert_array_equal(mat + y, x + y)
    np.testing.assert_array_equal(y + mat, x + y)
    np.testing.assert_array_equal((2 * mat - 3 * mat).todense(), -x)
    np.testing.assert_array_equal((-mat).todense(), -x)
    np.testing.assert_array_equal((mat ** 2).todense(), x ** 2)
    np.testing.assert_array_equal(abs(mat).todense(), abs(x))
    np.testing.assert_array_equal(mat.sum(axis=1).todense(), x.sum(1))
    np.testing.assert_array_equal(mat.sum(), x.sum())
    np.testing.assert_array_equal(mat.astype("int32").todense(), x.astype("int32"))
    assert (mat * 2).dtype == np.float32 and (mat.astype("int32") * 2.5).dtype == np.float32


@pytest.mark.parametrize("call, error, message", [
    (lambda m: m + 1.0, NotImplementedError, "silent densification"),
    (lambda m: m - jnp.ones((3, 4)), NotImplementedError, "Subtraction between sparse and dense array"),
    (lambda m: 1.0 / m, NotImplementedError, "Division by a sparse array"),
    (lambda m: m ** 0, NotImplementedError, "non-positive exponent 0"),
    (lambda m: m == m, NotImplementedError, "sparse rule for eq is not implemented because it would result in dense output"),
    (lambda m: m @ jnp.ones(3), TypeError, "contracting"),
    (lambda m: sparse.bcoo_dot_general(m, jnp.ones((3, 4)), dimension_numbers=(((1,), (1,)), ((0,), (0,)))), NotImplementedError,
     "batch dimensions must be among the batch dimensions"),
    (lambda m: sparse.bcoo_dot_general(sparse.BCOO.fromdense(jnp.ones((3, 4)), n_dense=1), jnp.ones(4),
                                       dimension_numbers=(((1,), (0,)), ((), ()))), NotImplementedError,
     "contracting over dense dimensions"),
    (lambda m: sparse.bcoo_multiply_dense(m, jnp.ones(3)), ValueError, "must broadcast"),
    (lambda m: sparse.bcoo_multiply_sparse(m, sparse.BCOO.fromdense(jnp.ones(4))), NotImplementedError, "different rank"),
])
def test_refusals(call, error, message):
    with pytest.raises(error, match=message):
        call(sparse.BCOO.fromdense(jnp.ones((3, 4))))


@pytest.mark.parametrize("padding", ["SAME", "VALID", [(2, 1)]])
def test_convolution(rng, padding):
    (lhs, x), (rhs, y) = random_bcoo(rng, (1, 1, 6), 2), random_bcoo(rng, (1, 1, 3), 2)
    before, after = {"SAME": (1, 1), "VALID": (0, 0)}.get(padding) if isinstance(padding, str) else padding[0]
    padded = np.pad(x[0, 0], (before, after))
    expected = [sum(padded[o + k] * y[0, 0, k] for k in range(3)) for o in range(len(padded) - 2)]
    for a, b in ((lhs, rhs), (lhs, y), (x, rhs)):
        out = sparse.bcoo_conv_general_dilated(a, b, window_strides=(1,), padding=padding)
        np.testing.assert_array_equal(out.todense()[0, 0], expected)
    with pytest.raises(NotImplementedError, match="window_strides must be"):
        sparse.bcoo_conv_general_dilated(lhs, rhs, window_strides=(2,), padding=padding)


def test_derivatives_are_those_of_the_dense_product(rng):
    mat, _ = random_bcoo(rng, (3, 4))
    y = jnp.asarray(rng.normal(size=(4, 2)), np.float32)

    def of_sparse(data, y):
        return sparse.BCOO((data, mat.indices), shape=(3, 4)) @ y

    def of_dense(data, y):
        return jnp.zeros((3, 4)).at[mat.indices[:, 0], mat.indices[:, 1]].add(data, mode="drop") @ y

    for jac in (lx.jacfwd, lx.jacrev):
        for found, wanted in zip(jac(of_sparse, (0, 1))(mat.data, y), jac(of_dense, (0, 1))(mat.data, y), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-6)
