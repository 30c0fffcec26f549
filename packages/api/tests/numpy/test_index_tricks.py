"""Ranges and grids, arrays from what stands in brackets, and places in the flat array, beside NumPy's."""

import numpy as np
import pytest

import laminax
import laminax.numpy as jnp


@pytest.mark.parametrize("arguments, dtype", [
    ((1, 5), None), ((2, 11, 3), None), ((5, -5, -4), None), ((1.5, 5.0, 0.5), None), ((1.2, 4.8, 0.24), np.float32),
    ((1, 7, 2.0), np.int32), ((3, 1), None), ((250, 260), np.uint8), ((1, 4), np.complex64)])
def test_arange_is_numpys_eagerly_and_staged(arguments, dtype):
    with np.errstate(over="ignore"):
        expected = np.arange(*arguments).astype(np.uint8) if dtype is np.uint8 else np.arange(*arguments, dtype=dtype)
    for found in (jnp.arange(*arguments, dtype=dtype), laminax.jit(lambda: jnp.arange(*arguments, dtype=dtype))()):
        assert found.dtype == (dtype or jnp.result_type(*arguments))
        np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_a_staged_range_is_no_constant_of_its_length():
    closed = laminax.make_jaxpr(lambda: jnp.arange(7, 10_007, 2))()
    assert not closed.consts
    assert [eqn.primitive.name for eqn in closed.jaxpr.eqns] == ["iota", "mul", "add"]


@pytest.mark.parametrize("call, error, words", [
    (lambda: jnp.arange(1j, 3), ValueError, "Passing complex start/stop/step to jnp.arange is no longer supported, got 1j"),
    (lambda: laminax.jit(lambda a: jnp.choose(a, [1, 2]))(0), TypeError, "jnp.choose was jit-compiled with mode='raise'. Use mode='wrap'"),
    (lambda: jnp.arange(0, 3, 0), ZeroDivisionError, "step must not be zero"),
    (lambda: jnp.arange(np.ones(2)), ValueError, r"arguments must be scalars, got stop of shape \(2,\)"),
    (lambda: laminax.jit(lambda n: jnp.arange(1, n))(3), TypeError, "It arose in the jnp.arange argument 'stop'"),
    (lambda: laminax.jit(lambda n: jnp.mgrid[n:5])(3), TypeError, "slice start of jnp.mgrid"),
    (lambda: laminax.jit(lambda n: jnp.r_[:n])(3), TypeError, "slice stop of jnp.r_"),
    (lambda: jnp.r_["two", 1], ValueError, "could not understand directive 'two'"),
    (lambda: jnp.c_[np.ones(3), "r"], ValueError, "a string directive must be placed at the beginning"),
])
def test_what_ranges_and_brackets_refuse(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_grids_of_no_slices_are_empty():
    assert jnp.mgrid[()].shape == (0,) and jnp.ogrid[()] == []


def test_grids_promote_also_where_promotion_is_strict():
    with laminax.numpy_dtype_promotion("strict"):
        found = jnp.mgrid[:2, :1.5:0.5]
    np.testing.assert_array_equal(found, np.mgrid[:2, :1.5:0.5])


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
@pytest.mark.parametrize("directive", ["r", "c"])
def test_matrix_directives(directive):
    np.testing.assert_array_equal(jnp.r_[directive, [1, 2], 3:5], np.asarray(np.r_[directive, [1, 2], 3:5]))
    assert jnp.r_[directive, np.ones((2, 3))].shape == (2, 3)


@pytest.mark.parametrize("index", [5, -1, 11, 40, -40])
def test_unravel_index_takes_traced_sizes(index):
    expected = np.unravel_index(np.clip(index, -12, 11) % 12, (3, 4))
    assert [int(i) for i in laminax.jit(jnp.unravel_index)(index, (3, 4))] == list(expected)
    assert [int(i) for i in jnp.unravel_index(index, np.array([3, 4]))] == list(expected)


def test_the_dtype_of_unraveled_places_follows_sizes_that_are_arrays():
    small = np.arange(3, dtype=np.int8)
    assert jnp.unravel_index(small, (3, 4))[0].dtype == np.int8
    assert jnp.unravel_index(small, np.array([3, 4], np.int32))[0].dtype == np.int32


def test_ravel_multi_index_without_a_check_stages_and_keeps_its_dtype():
    indices = jnp.array([0, 1, 2], np.int8), jnp.array([3, 2, 1], np.int8)
    found = laminax.jit(lambda i: jnp.ravel_multi_index(i, (3, 4), mode="ignore"))(indices)
    assert found.dtype == np.int8
    np.testing.assert_array_equal(found, np.ravel_multi_index(tuple(map(np.asarray, indices)), (3, 4)))
    with pytest.raises(TypeError, match="ravel_multi_index was jit-compiled with mode='raise'"):
        laminax.jit(lambda i: jnp.ravel_multi_index(i, (3, 4)))(indices)
    with pytest.raises(ValueError, match="int8 is not large enough to hold the flat index"):
        jnp.ravel_multi_index(indices, (30, 40))


def test_the_step_of_too_few_samples_is_one_nan():
    """NumPy's, too, however many axes the ends have."""
    found = jnp.linspace(np.zeros((2, 2)), 1.0, 1, retstep=True)[1]
    assert found.shape == np.shape(np.linspace(np.zeros((2, 2)), 1.0, 1, retstep=True)[1]) == () and np.isnan(found)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32, np.int8, np.int16])
@pytest.mark.parametrize("shape", [(3, 4), (2, 2, 3), (12,), (300, 4)])
def test_unravel_index_of_narrow_and_unsigned_integers(dtype, shape):
    """Of unsigned ones all was zero: they have no -1, which is what is left of a place that counts from the end."""
    index = np.array([7, 8, 0, 11], dtype)
    for found, expected in zip(jnp.unravel_index(index, shape), np.unravel_index(index, shape), strict=True):
        np.testing.assert_array_equal(found, expected)
        assert found.dtype == dtype
    beyond = jnp.unravel_index(np.array([100], dtype), (3, 4))
    assert [int(i[0]) for i in beyond] == [2, 3]


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.uint32, np.int32])
@pytest.mark.parametrize("mode", ["clip", "wrap"])
def test_modes_of_narrow_and_unsigned_indices(dtype, mode):
    """Sizes that the indices' dtype does not hold, and indices that int32 does not."""
    index = np.array([3, 100, -2 if np.iinfo(dtype).min else 120], dtype)
    for size in (5, 300):
        np.testing.assert_array_equal(jnp.take(np.arange(size), index, mode=mode), np.take(np.arange(size), index, mode=mode))
        expected = np.zeros(size)
        np.put(expected, index, np.arange(1, 4), mode=mode)
        np.testing.assert_array_equal(jnp.put(jnp.zeros(size), index, np.arange(1, 4), mode=mode, inplace=False), expected)
        np.testing.assert_array_equal(jnp.ravel_multi_index((index, index), (size, 7), mode=mode, dtype=np.int32),
                                      np.ravel_multi_index((index, index), (size, 7), mode))
        np.testing.assert_array_equal(jnp.choose(index, np.arange(3), mode=mode), np.choose(index, np.arange(3), mode=mode))
    if dtype is np.uint32:
        large = np.array([3_000_000_007, 7], dtype)
        np.testing.assert_array_equal(jnp.take(np.arange(10), large, mode=mode), np.take(np.arange(10), large.astype(np.int64), mode=mode))


def test_put_without_a_mode_counts_negative_places_from_the_end():
    found = jnp.put(jnp.zeros(5), np.array([-1, -7, 9]), np.array([1, 2, 3]), inplace=False)
    np.testing.assert_array_equal(found, [2, 0, 0, 0, 3])
