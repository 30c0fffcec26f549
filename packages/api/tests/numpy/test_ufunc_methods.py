"""The methods of ufuncs against NumPy's: reduce, accumulate, at, outer, reduceat; of built-in ones and of one made by hand."""

import copy
import pickle

import numpy as np
import pytest

import laminax
import laminax.numpy as jnp

FLOATS = np.array([[0.5, -1.25, 3.0, 2.0], [1.5, 0.0, -0.5, 4.0], [2.5, 1.0, -3.0, 0.25]], np.float32)
INTS = np.array([[5, -3, 12, 7], [0, 6, -1, 3], [9, 2, 4, -8]], np.int32)
MASK = np.array([[True, False, True, True], [False, False, True, False], [True, False, False, True]])
ON_FLOATS = ["add", "subtract", "minimum", "logaddexp", "logaddexp2", "logical_and", "logical_xor"]
ON_INTS = ["multiply", "maximum", "bitwise_and", "bitwise_xor", "logical_or"]
CASES = [(name, FLOATS) for name in ON_FLOATS] + [(name, INTS) for name in ON_INTS]


def affine(x, y):
    """Associative: the composition of maps; not commutative, and no ufunc of NumPy's."""
    return 2 * x + y


def numpy_affine():
    return np.frompyfunc(affine, 2, 1)


@pytest.mark.parametrize("name, x", CASES)
def test_reduce_and_accumulate(name, x):
    axis = -1 if x is INTS else 0
    mine, theirs = getattr(jnp, name), getattr(np, name)
    # float32 sums and products of at most four numbers, logarithms to a few units in the last place
    np.testing.assert_allclose(mine.reduce(x, axis=axis), theirs.reduce(x, axis=axis), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(mine.accumulate(x, axis=axis), theirs.accumulate(x, axis=axis), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name, x", [case for case in CASES if case[0] != "subtract"])
def test_reduce_with_a_mask_and_an_initial_value(name, x):
    options = {"axis": 1, "where": MASK, "initial": x[0, 0]}
    np.testing.assert_allclose(getattr(jnp, name).reduce(x, **options), getattr(np, name).reduce(x, **options), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name, x", CASES)
def test_outer_and_reduceat(name, x):
    mine, theirs = getattr(jnp, name), getattr(np, name)
    np.testing.assert_allclose(mine.outer(x, x[0]), theirs.outer(x, x[0]), rtol=1e-6, atol=1e-6)
    indices = np.array([0, 2, 1, 1, 3])
    np.testing.assert_allclose(mine.reduceat(x, indices, axis=1), theirs.reduceat(x, indices, axis=1), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name, x", [case for case in CASES if case[0] not in ("logaddexp2", "logical_or", "bitwise_xor")])
@pytest.mark.parametrize("index", [np.array([0, 2, 0]), (slice(None), np.array([1, -1, 1])), (slice(0, 2), None)])
def test_at_applies_once_for_each_time_an_element_is_named(name, x, index):
    if name.startswith("logical"):
        x = x != 0  # NumPy does not put truth values into floats
    values = np.resize(x, x[index].shape)[::-1].copy()
    want = x.copy()
    getattr(np, name).at(want, index, values)
    np.testing.assert_allclose(getattr(jnp, name).at(x, index, values, inplace=False), want, rtol=1e-6, atol=1e-6)


def test_negative_at():
    np.testing.assert_array_equal(jnp.negative.at(INTS, (0, np.array([1, 2, 1])), inplace=False),
                                  INTS * np.array([[1, 1, -1, 1]] + [[1] * 4] * 2))


def test_a_function_of_scalars_is_a_ufunc():
    mine, theirs = jnp.frompyfunc(affine, 2, 1), numpy_affine()
    assert (mine.nin, mine.nout, mine.nargs, mine.identity) == (2, 1, 2, None)
    for axis in (0, 1):
        np.testing.assert_allclose(mine.reduce(FLOATS, axis=axis), theirs.reduce(FLOATS, axis=axis).astype(np.float32))
        np.testing.assert_allclose(mine.accumulate(FLOATS, axis=axis), theirs.accumulate(FLOATS, axis=axis).astype(np.float32))
    np.testing.assert_allclose(mine.reduce(FLOATS, axis=None), theirs.reduce(FLOATS.ravel()), rtol=1e-6)
    np.testing.assert_allclose(mine.reduceat(FLOATS, np.array([1, 0])), theirs.reduceat(FLOATS, np.array([1, 0])).astype(np.float32))
    np.testing.assert_array_equal(mine(INTS, INTS[0]), 2 * INTS + INTS[0])
    assert mine == jnp.frompyfunc(affine, 2, 1) and hash(mine) == hash(jnp.frompyfunc(affine, 2, 1))
    assert mine != jnp.frompyfunc(affine, 2, 1, identity=0) and mine != jnp.add


def test_ufuncs_do_not_change_and_are_named():
    assert isinstance(jnp.add, jnp.ufunc) and jnp.add.__name__ == "add" and "x + y" in jnp.add.__doc__
    assert pickle.loads(pickle.dumps(jnp.logical_and)) is jnp.logical_and and copy.deepcopy(jnp.add) is jnp.add
    for ufunc in (jnp.add, jnp.frompyfunc(affine, 2, 1)):
        with pytest.raises(AttributeError, match="'nin' cannot be set"):
            ufunc.nin = 3
    assert laminax.jit(lambda f, x: f(x, x), static_argnums=0)(jnp.multiply, 3.0) == 9.0


def test_methods_under_transformations():
    np.testing.assert_allclose(laminax.grad(lambda x: jnp.multiply.reduce(x))(FLOATS[0]), [-7.5, 3.0, -1.25, -1.875])
    got = laminax.grad(lambda x: jnp.frompyfunc(affine, 2, 1).reduce(x))(FLOATS[0])
    np.testing.assert_allclose(got, [8, 4, 2, 1])  # 2 * (2 * (2 * a + b) + c) + d
    np.testing.assert_allclose(laminax.vmap(jnp.logaddexp.reduce)(FLOATS), np.logaddexp.reduce(FLOATS, axis=1), rtol=1e-6)


def test_dtypes_of_reductions():
    small = np.arange(3, dtype=np.int8)
    assert jnp.add.reduce(small).dtype == np.int32 and jnp.subtract.reduce(small).dtype == np.int8
    assert jnp.add.reduceat(small, np.array([0]), dtype=np.int32).dtype == np.int32
    assert jnp.maximum.reduce(small, dtype=np.float32).dtype == np.float32
    assert jnp.logical_or.reduce(small).dtype == np.bool_


@pytest.mark.parametrize("call, error, words", [
    (lambda: jnp.add.at(FLOATS, 0, 1.0), NotImplementedError, "inplace=False"),
    (lambda: jnp.add(1, 2, out=FLOATS), NotImplementedError, "out argument of add"),
    (lambda: jnp.add(1, 2, where=MASK), NotImplementedError, "where argument of add"),
    (lambda: jnp.negative.reduce(FLOATS), ValueError, "reduce only supported for binary ufuncs"),
    (lambda: jnp.frompyfunc(lambda x, y: (x, y), 2, 2).outer(1, 2), ValueError, "single value"),
    (lambda: jnp.maximum.reduce(FLOATS, where=MASK), ValueError, "does not have an identity, so to use a where mask"),
    (lambda: jnp.subtract.reduce(FLOATS[:0]), ValueError, "zero-size array to reduction operation subtract which has no identity"),
    (lambda: jnp.subtract.reduce(FLOATS, axis=(0, 1)), NotImplementedError, "tuple of axes"),
    (lambda: jnp.subtract.reduce(1.0), ValueError, "axis 0 is out of bounds for array of dimension 0"),
    (lambda: jnp.add.accumulate(FLOATS, axis=None), ValueError, "accumulate does not allow multiple axes"),
    (lambda: jnp.add.reduceat(FLOATS, FLOATS[0]), ValueError, "indices must be a vector and have an integer type"),
    (lambda: jnp.add.reduceat(FLOATS, np.array([0]), axis=None), ValueError, "requires a single integer axis"),
    (lambda: jnp.add.reduce([1, 2]), TypeError, "add.reduce requires ndarray or scalar arguments"),
    (lambda: jnp.frompyfunc(3, 1, 1), TypeError, "func must be callable"),
    (lambda: jnp.frompyfunc(affine, -1, 1), ValueError, "nin must be at least 0"),
])
def test_what_is_refused(call, error, words):
    with pytest.raises(error, match=words):
        call()
