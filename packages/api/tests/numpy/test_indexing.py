"""Indexing, `.at` and the take family against NumPy's semantics, in and out of bounds, eager and traced."""

import numpy as np
import pytest

from laminax_ir.options.config import check_static_indices

import laminax
import laminax.numpy as jnp
from laminax import lax

X = np.arange(60, dtype=np.float32).reshape(3, 4, 5)

INDICES = [
    0, -1, slice(1, 3), slice(None, None, -1), (slice(None, None, 2), slice(1, None), slice(None, None, -2)), (Ellipsis, 0),
    (0, Ellipsis, 1), None, (slice(None), None, 0), (None, 0, None, slice(1, 3), slice(None, None, -1)), (), Ellipsis,
    (slice(2, 1), 0), (0, 1, 2), np.array([0, 2]), np.array([[0], [1]]), (np.array([0, 1]), slice(None), np.array([1, 2])),
    (slice(None), np.array([0, 1]), np.array([1, 2])), (np.array([0, 1]), 1), (0, slice(None), np.array([1, 2])),
    (np.array([[0], [1]]), np.array([1, 2])), (np.array([0, 1]), None, np.array([1, 2])), (np.array([0, 1]), slice(1, 3), None),
    (None, np.array([0, 1]), slice(None, None, -1), slice(1, 3)), (slice(None, None, 2), np.array([0, 1]), slice(None, None, -2)),
    (slice(None, None, 2), np.array([[0, 1]]), slice(3, 0, -1)), np.zeros((0,), int), X > 20,
    np.array([True, False, True]), (slice(None), np.array([True, False, True, False])), (np.array([True, False, True]), 0),
    (X[..., 0] > 20, 1), True, False, np.array([-1, 0]), (Ellipsis, np.array([-1, 1])), np.int64(1)]


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_reading(index):
    x = jnp.asarray(X)
    np.testing.assert_array_equal(x[index], X[index])
    np.testing.assert_array_equal(laminax.jit(lambda x: x[index])(x), X[index])


@pytest.mark.parametrize("index", [i for i in INDICES if i is not None], ids=str)
def test_writing(index):
    values = np.random.default_rng(0).normal(size=X[index].shape).astype(np.float32)
    want, added = X.copy(), X.copy()
    want[index] = values
    np.add.at(added, index, 1.5)
    x = jnp.asarray(X)
    np.testing.assert_array_equal(x.at[index].set(values), want)
    np.testing.assert_array_equal(laminax.jit(lambda x: x.at[index].add(1.5))(x), added)


def test_repeated_positions_are_all_added():
    np.testing.assert_array_equal(jnp.zeros(3).at[np.array([0, 0, 2])].add(1.0), [2, 0, 1])
    np.testing.assert_array_equal(jnp.ones(3).at[np.array([0, 0, 2])].multiply(3.0), [9, 1, 3])


@pytest.mark.parametrize("method, function", [("subtract", np.subtract), ("multiply", np.multiply), ("divide", np.divide),
                                              ("power", np.power), ("min", np.minimum), ("max", np.maximum)])
def test_other_updates(method, function):
    want = X.copy()
    want[1] = function(X[1], np.float32(2.5))
    np.testing.assert_allclose(getattr(jnp.asarray(X).at[1], method)(2.5), want, rtol=1e-6)


def test_apply():
    np.testing.assert_array_equal(jnp.arange(4.0).at[1:3].apply(lambda v: v * 10), [0, 10, 20, 3])


def test_traced_positions():
    x = jnp.asarray(X)
    read = laminax.jit(lambda x, i: x[i, 1:3, ::2])
    for i in (0, 2, -1):
        np.testing.assert_array_equal(read(x, i), X[i, 1:3, ::2])
    np.testing.assert_array_equal(laminax.jit(lambda x, i: x[i, :, i])(x, jnp.array([1, -1])), X[[1, -1], :, [1, -1]])
    write = laminax.jit(lambda x, i: x.at[:, i].set(0))
    want = X.copy()
    want[:, 2] = 0
    np.testing.assert_array_equal(write(x, 2), want)


def test_out_of_bounds():
    x = jnp.arange(5.0)
    np.testing.assert_array_equal(x[jnp.array([7, -9])], [4, 0])  # reading takes the nearest
    assert float(x[7]) == 4
    np.testing.assert_array_equal(x.at[jnp.array([7, 1])].get(mode="fill"), [np.nan, 1])
    np.testing.assert_array_equal(x.at[jnp.array([7, 1])].get(mode="fill", fill_value=-1), [-1, 1])
    np.testing.assert_array_equal(x.at[jnp.array([7, 1])].set(9), [0, 9, 2, 3, 4])  # writing drops
    np.testing.assert_array_equal(x.at[jnp.array([7])].set(9, mode="clip"), [0, 1, 2, 3, 9])
    np.testing.assert_array_equal(jnp.take(x, np.array([7, -1])), [np.nan, 4])
    np.testing.assert_array_equal(jnp.take(x, np.array([7, -1]), mode="clip"), [4, 0])
    np.testing.assert_array_equal(jnp.take(x, np.array([7, -1]), mode="wrap"), [2, 4])


@pytest.mark.parametrize("index, error, text", [
    ((0, 0, 0, 0), IndexError, "Too many indices: array is 3-dimensional, but 4 were indexed"),
    ((Ellipsis, Ellipsis), IndexError, "single ellipsis"), (1.5, TypeError, "Indexer must have integer or boolean type"),
    ([0, 1], TypeError, r"non-tuple sequence.*arr\[array\(seq\)\]"), ([0, [0, 1]], TypeError, r"non-tuple sequence.*arr\[tuple\(seq\)\]"),
    ("rows", TypeError, "does not support string indexing"), ({}, IndexError, "only integers, slices"),
    (np.array([0.5]), TypeError, "integer or boolean type"),
    (np.array([True, False]), IndexError, "boolean index did not match"),
    ((np.array([0, 1]), np.array([0, 1, 2])), ValueError, "Incompatible shapes for broadcasting")])
def test_bad_indices(index, error, text):
    with pytest.raises(error, match=text):
        jnp.asarray(X)[index]


@pytest.mark.parametrize("index", [
    ([0, 2],), ([0, 2], [1, 3]), ((0, 1), [[1], [3]]), (slice(None), [3, 0]), ([True, False, True],), ([np.int64(1)], None), ([],),
    (0, [[False, True, True, False]][0])])
def test_lists_within_an_index_are_arrays(index):
    x = np.arange(12).reshape(3, 4)
    np.testing.assert_array_equal(jnp.asarray(x)[index], x[index])
    np.testing.assert_array_equal(laminax.jit(lambda x: x[index])(x), x[index])
    expected = x.copy()
    expected[index] = 7
    np.testing.assert_array_equal(jnp.asarray(x).at[index].set(7), expected)


def test_a_list_within_an_index_may_hold_traced_numbers():
    x = np.arange(12).reshape(3, 4)
    np.testing.assert_array_equal(laminax.jit(lambda x, i: x[[i, 0], [1, i]])(x, 2), x[[2, 0], [1, 2]])


@pytest.mark.parametrize("shape, mask_shape", [((3,), (0,)), ((3, 4), (0, 4)), ((3, 4), (3, 0)), ((3, 4, 5), (3, 0))])
def test_empty_masks_select_nothing(shape, mask_shape):
    x, mask = np.zeros(shape), np.zeros(mask_shape, bool)
    assert jnp.asarray(x)[mask].shape == x[mask].shape


@pytest.mark.parametrize("index", [
    (slice(None), np.array([0, 1]), Ellipsis, np.array([0, 1])), (np.array([2, 0]), Ellipsis, slice(None), np.array([1, 3])),
    (slice(1), Ellipsis, np.array([0, 1]), np.array([0, 1])), (1, np.array([[0, 1]]), Ellipsis, slice(1, 3))])
def test_an_ellipsis_for_no_axis_keeps_index_arrays_apart(index):
    x = np.arange(60).reshape(3, 4, 5)
    np.testing.assert_array_equal(jnp.asarray(x)[index], x[index])
    expected, values = x.copy(), np.arange(x[index].size).reshape(x[index].shape)
    expected[index] = values
    np.testing.assert_array_equal(laminax.jit(lambda x: x.at[index].set(values))(x), expected)


def test_numbers_that_fit_the_array_need_not_fit_the_default_dtype():
    assert int(jnp.zeros(1, np.uint32).at[0].set(2**32 - 1)[0]) == 2**32 - 1


def test_a_number_is_out_of_bounds_where_an_axis_is_empty():
    x = jnp.ones((2, 0))
    for use in (lambda i: x[0, i], lambda i: x.at[0, i].set(1), lambda i: x.at[0, i].get(mode="fill")):
        for call in (use, laminax.jit(use)):
            with pytest.raises(IndexError, match="index is out of bounds for axis 1 with size 0"):
                call(0)


def test_updates_of_higher_rank_than_their_place_are_refused():
    with pytest.raises(ValueError, match=r"Incompatible shapes for broadcasting: \(1,\) and requested shape \(\)"):
        jnp.ones(4).at[0].set(np.ones(1))


def test_traced_masks_and_slice_bounds_are_refused():
    with pytest.raises(IndexError, match="boolean indices must be concrete"):
        laminax.jit(lambda x: x[x > 0])(X)
    with pytest.raises(IndexError, match=r"static start/stop/step .* try jax\.ds\(start, size\)"):
        laminax.jit(lambda x, i: x[i:])(X, 1)


@pytest.mark.parametrize("index, message", [
    (-4, "index -4 out of bounds for axis 0 with size 3"),
    (np.index_exp[:, 4], "index 4 out of bounds for axis 1 with size 4"),
    (np.index_exp[..., 7], "index 7 out of bounds for axis 2 with size 5"),
    (np.index_exp[:9, None, [0, 1], 6], "index 6 out of bounds for axis 2 with size 5"),
])
def test_known_indices_are_checked_where_the_option_asks(index, message):
    x = jnp.asarray(X)
    jitted = laminax.jit(lambda x: x[index])
    nearest = jitted(x)  # and the program traced without the check is not taken with it
    with check_static_indices(True):
        for read in (lambda x: x[index], jitted, lambda x: x.at[index].get()):
            with pytest.raises(IndexError, match=message):
                read(x)
        np.testing.assert_array_equal(x.at[index].get(mode="clip"), nearest)  # a mode says what they mean
        for inside in INDICES:
            np.testing.assert_array_equal(x[inside], X[inside])


def test_updates_keep_the_dtype():
    with pytest.warns(FutureWarning, match="incompatible types"):
        assert jnp.arange(3).at[0].set(2.5).dtype == np.int32
    with pytest.raises(ValueError, match="must broadcast to the shape of x"):
        jnp.zeros((2, 3)).at[0].set(np.zeros(4))


def test_gradient_of_reading_adds_up():
    # d/dx sum(w * x[i]) puts each w where it was read
    got = laminax.grad(lambda x: jnp.sum(x[jnp.array([0, 0, 2])] * np.array([1.0, 2.0, 4.0])))(jnp.zeros(3))
    np.testing.assert_array_equal(got, [3, 0, 4])


def test_vmap_equals_the_loop():
    x, i = jnp.asarray(X), jnp.array([0, 3, 1])
    np.testing.assert_array_equal(laminax.vmap(lambda a, j: a[j])(x, i), np.stack([X[n, j] for n, j in enumerate([0, 3, 1])]))
    want = X.copy()
    for n, j in enumerate([0, 3, 1]):
        want[n, :, j] = 7
    np.testing.assert_array_equal(laminax.vmap(lambda a, j: a.at[:, j].set(7))(x, i), want)


def test_along_axis_and_iteration():
    order = np.argsort(-X, axis=1)
    np.testing.assert_array_equal(jnp.take_along_axis(X, order, 1), np.take_along_axis(X, order, 1))
    want = X.copy()
    np.put_along_axis(want, order[:, :1], 7, 1)
    np.testing.assert_array_equal(jnp.put_along_axis(X, order[:, :1], 7, 1, inplace=False), want)
    rows = list(jnp.asarray(X))
    assert len(rows) == 3
    np.testing.assert_array_equal(rows[2], X[2])
    assert len(list(jnp.zeros((130, 2)))) == 130


@pytest.mark.parametrize("index", [np.s_[1:-1, 1:-1], np.s_[2], np.s_[:, 3], np.s_[...], np.s_[1:3, ::-1], np.s_[None, 1:2], np.s_[-1, -2]],
                         ids=str)
def test_writes_at_known_places_are_slices_in_derivatives_too(index):
    """A scatter's index became an operand of a gradient's loops, and the compiler wrote the window element by element."""
    x = np.arange(20, dtype=np.float32).reshape(4, 5)
    new = np.random.default_rng(0).normal(size=x[index].shape).astype(np.float32)
    expected, kept = x.copy(), np.ones_like(x)
    expected[index], kept[index] = new, 0

    def written(x, new):
        return lax.fori_loop(0, 3, lambda _, x: x.at[index].set(new), x)

    np.testing.assert_array_equal(written(jnp.asarray(x), jnp.asarray(new)), expected)
    gradient = laminax.grad(lambda x, new: (written(x, new) * expected).sum(), (0, 1))
    by_x, by_new = gradient(jnp.asarray(x), jnp.asarray(new))
    np.testing.assert_array_equal(by_x, expected * kept)
    np.testing.assert_array_equal(by_new, expected[index])
    text = laminax.jit(gradient).lower(x, new).as_text()
    assert "scatter" not in text and "gather" not in text


def test_a_place_that_may_be_outside_stays_a_scatter():
    x = jnp.arange(4.0)
    np.testing.assert_array_equal(x.at[7].set(1.0), x)
    np.testing.assert_array_equal(x.at[np.array([1, 9])].set(1.0), [0, 1, 2, 3])
    np.testing.assert_array_equal(laminax.jit(lambda x, i: x.at[i].set(9.0))(x, 5), x)
