"""laminax.flatten_util: trees as vectors, against NumPy's concatenation, and the way back."""

import numpy as np
import pytest

import laminax
import laminax.numpy as jnp
from laminax.flatten_util import ravel_pytree


@pytest.mark.parametrize("tree", [
    {"a": np.arange(6.0, dtype=np.float32).reshape(2, 3), "b": [np.float32(7), np.zeros((0, 2), np.float32)]},
    (np.arange(3, dtype=np.int32), np.full((2, 2), 1.5, np.float32)), (np.ones(2, np.float32), np.ones(2, np.complex64) * 1j),
    (np.array([True]), np.int32(2)), np.float32(3)])
def test_there_and_back(tree):
    flat, unravel = ravel_pytree(tree)
    leaves = laminax.tree.leaves(tree)
    np.testing.assert_array_equal(flat, np.concatenate([np.ravel(x) for x in leaves]))
    assert flat.dtype == jnp.result_type(*leaves)
    back = unravel(flat)
    assert laminax.tree.structure(back) == laminax.tree.structure(tree)
    for x, y in zip(laminax.tree.leaves(back), leaves):
        np.testing.assert_array_equal(x, y)
        assert x.dtype == y.dtype and x.shape == y.shape


def test_an_empty_tree_is_an_empty_vector():
    flat, unravel = ravel_pytree({"a": [], "b": None})
    assert flat.shape == (0,) and flat.dtype == np.float32
    assert unravel(flat) == {"a": [], "b": None}


def test_transformations():
    tree = {"w": jnp.arange(4.0).reshape(2, 2), "b": jnp.ones(2)}
    flat, unravel = ravel_pytree(tree)
    gradient = laminax.jit(laminax.grad(lambda v: jnp.sum(unravel(v)["w"] ** 2)))(flat)
    np.testing.assert_array_equal(gradient, np.concatenate([np.zeros(2), 2 * np.arange(4.0)]))
    rows = laminax.vmap(lambda x: ravel_pytree((x, 2 * x))[0])(jnp.arange(3.0))
    np.testing.assert_array_equal(rows, [[0, 0], [1, 2], [2, 4]])
    assert unravel == ravel_pytree(tree)[1] and hash(unravel) == hash(ravel_pytree(tree)[1])


def test_refusals():
    mixed = ravel_pytree((np.ones(2, np.float32), np.ones(1, np.int32)))[1]
    with pytest.raises(TypeError, match="given array of dtype int32, but expected dtype float32"):
        mixed(np.ones(3, np.int32))
    with pytest.raises(ValueError, match=r"must have shape \(3,\), .*, got \(4,\)"):
        mixed(np.ones(4, np.float32))
    with pytest.raises(TypeError, match="ravel_pytree requires ndarray or scalar arguments, got <class 'str'>"):
        ravel_pytree(["x"])
