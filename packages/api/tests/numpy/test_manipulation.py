"""Creation, arrangement, sorting, sets and products against NumPy."""

import numpy as np
import pytest

import laminax
import laminax.numpy as jnp

RNG = np.random.default_rng(0)
X = RNG.normal(size=(3, 4, 5)).astype(np.float32)
V = RNG.normal(size=7).astype(np.float32)
M = RNG.normal(size=(4, 4)).astype(np.float32)
I = RNG.integers(-4, 5, size=(3, 4)).astype(np.int32)


def check(name, *args, **kwargs):
    got, want = getattr(jnp, name)(*args, **kwargs), getattr(np, name)(*args, **kwargs)
    if not isinstance(want, (list, tuple)):
        got, want = [got], [want]
    assert len(got) == len(want)
    for g, w in zip(got, want):
        assert g.shape == w.shape
        np.testing.assert_allclose(g, w, rtol=1e-4, atol=1e-5)  # float32 products and sums


@pytest.mark.parametrize("call", [
    ("reshape", X, (5, -1)), ("ravel", X), ("transpose", X, (2, 0, 1)), ("swapaxes", X, 0, 2), ("moveaxis", X, (0, 1), (2, 0)),
    ("rollaxis", X, 2), ("squeeze", X[:1]), ("expand_dims", V, (0, 2)), ("broadcast_to", V, (2, 7)), ("flip", X, (0, 2)),
    ("rot90", M, 3), ("concatenate", [X, X], 1), ("concatenate", [X, X], None), ("stack", [V, V], 1), ("vstack", [V, V]),
    ("hstack", [M, M]), ("dstack", [M, M]), ("column_stack", [V, V]), ("block", [[M, M], [M, M]]), ("append", M, M, 1),
    ("split", V, [2, 5]), ("array_split", V, 3), ("tile", M, (2, 1, 2)), ("repeat", M, 2, 1), ("repeat", M, np.array([1, 0, 2, 3]), 0),
    ("roll", X, (1, 2), (0, 2)), ("roll", X, 7), ("resize", V, (3, 4)), ("atleast_3d", M), ("sort", X, 1), ("argsort", V),
    ("lexsort", (I[0], I[1])),
    ("tril", M, -1), ("triu", X, 1), ("diag", V, -2), ("diag", M, 1), ("diagonal", X, 1, 1, 2), ("trace", X, 1, 0, 2),
    ("vander", V, 3), ("kron", M, M[:2]), ("cross", X[..., :3], X[::-1, :, :3]), ("outer", V, V), ("inner", X, X[0]), ("dot", X, X[0].T),
    ("matmul", X, M[:1].repeat(5, 0)), ("tensordot", X, X, ((0, 1), (0, 1))), ("vdot", M, M), ("linspace", 0, 1, 7),
    ("linspace", 0, 1, 7, False),
    ("geomspace", 1, 1000, 4), ("meshgrid", V, V[:3]), ("eye", 3, 4, 1), ("tri", 3), ("indices", (2, 3)), ("unique", I),
    ("nonzero", I), ("argwhere", I), ("searchsorted", np.sort(V), V), ("digitize", V, np.array([-1.0, 0, 1])), ("cov", M),
    ("corrcoef", M), ("histogram", V, 4), ("bincount", np.array([1, 1, 4])), ("interp", V, np.arange(3.0), np.arange(3.0) ** 2),
    ("diff", X, 2, 0), ("gradient", M), ("trapezoid", M), ("unwrap", np.array([0.0, 3, 6, 9.5])), ("convolve", V, V[:4], "same"),
    ("correlate", V[:4], V, "same"), ("polyval", V, 2.0), ("polymul", V, V[:3]), ("polyder", V), ("polyint", V), ("kaiser", 6, 2.0),
    ("packbits", I > 0), ("unravel_index", np.array([5, 7]), (3, 4)), ("delete", X, 1, 0), ("insert", M, 1, 5.0, 1),
    ("insert", M, 1, np.arange(4.0), 1), ("setdiff1d", I, I[0]), ("union1d", I[0], I[1]), ("intersect1d", I[0], I[1]),
    ("setxor1d", I[0], I[1]),
    ("isin", I, I[0, :2]), ("fliplr", M)], ids=lambda c: c[0])
def test_as_numpy(call):
    check(*call)


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "symmetric", "wrap", "linear_ramp", "maximum", "mean", "median"])
@pytest.mark.parametrize("width", [2, ((1, 2), (3, 0)), ((9, 9), (0, 5))], ids=str)
def test_pad(mode, width):
    check("pad", M, width, mode)


@pytest.mark.parametrize("subscripts, shapes", [
    ("ij,jk->ik", [(3, 4), (4, 5)]), ("ii", [(4, 4)]), ("ii->i", [(4, 4)]), ("ijk->kji", [(2, 3, 4)]), ("ijk->j", [(2, 3, 4)]),
    ("i,j", [(3,), (4,)]), ("bij,bjk->bik", [(2, 3, 4), (2, 4, 5)]), ("...ij,...jk", [(2, 3, 4), (4, 5)]),
    ("bhqd,bhkd->bhqk", [(2, 3, 4, 5), (2, 3, 6, 5)]), ("ij,jk,kl,i->l", [(2, 3), (3, 4), (4, 5), (2,)]), ("ij,ij->ij", [(4, 1), (4, 3)]),
    ("iij->ij", [(3, 3, 2)]), (",ij", [(), (2, 3)])])
@pytest.mark.parametrize("optimize", [True, False])
def test_einsum(subscripts, shapes, optimize):
    arrays = [RNG.normal(size=s).astype(np.float32) for s in shapes]
    np.testing.assert_allclose(jnp.einsum(subscripts, *arrays, optimize=optimize), np.einsum(subscripts, *arrays), rtol=1e-4, atol=1e-5)


def test_the_optimal_order_and_its_cost():
    arrays = [np.ones(shape) for shape in ((2, 3), (3, 100), (100, 5))]
    path, text = jnp.einsum_path("ij,jk,kl", *arrays, optimize="optimal")
    assert path == np.einsum_path("ij,jk,kl", *arrays, optimize="optimal")[0][1:] == [(1, 2), (0, 1)]
    assert "Complete contraction:  ij,jk,kl->il" in text and "Optimized scaling:  3" in text
    np.testing.assert_allclose(jnp.einsum("ij,jk,kl", *arrays, optimize=path), np.full((2, 5), 300.0))


def test_einsum_errors():
    with pytest.raises(ValueError, match="for 2 operands, got 1"):
        jnp.einsum("ab,bc", M)
    with pytest.raises(ValueError, match="'b' in 'ab,bc' has sizes 4 and 3"):
        jnp.einsum("ab,bc", M, np.ones((3, 2)))


def test_array_takes_what_numpy_takes():
    for value in (1, 2.5, True, [1, 2.5], [[1, 2], [3, 4]], [], (1, 2), range(3), [True, 2], [1 + 2j, 1]):
        got, want = jnp.array(value), np.array(value)
        assert got.shape == want.shape
        np.testing.assert_allclose(got, want)
    assert jnp.array([1, 2]).dtype == np.int32 and jnp.array([1.0]).dtype == np.float32 and jnp.array([]).dtype == np.float32
    assert jnp.array(1.0).weak_type and not jnp.array([1.0]).weak_type
    np.testing.assert_array_equal(laminax.jit(lambda x: jnp.array([x, 2 * x, 3]))(1.0), [1, 2, 3])
    with pytest.raises(ValueError, match="equal shapes"):
        jnp.array([[1, 2], [3]])
    with pytest.raises(OverflowError, match="too large"):
        jnp.array(300, dtype="int8")


def test_scalar_types():
    assert jnp.float32(3).dtype == np.float32 and jnp.bfloat16([1, 2]).shape == (2,)
    assert jnp.float32 == np.float32 and np.dtype(jnp.int8) == np.int8
    assert jnp.issubdtype(jnp.bfloat16, jnp.floating) and jnp.result_type(jnp.float16, int) == np.float16
    assert jnp.zeros(2, jnp.int8).dtype == np.int8


def test_traced_shapes_are_refused():
    with pytest.raises(TypeError, match="arange: a size depends on the value"):
        laminax.jit(jnp.arange)(3)
    with pytest.raises(TypeError, match="concrete"):
        laminax.jit(lambda n: jnp.reshape(X, (n, -1)))(3)
    with pytest.raises(TypeError, match="unique: the array decides the shape"):
        laminax.jit(jnp.unique)(I)


@pytest.mark.parametrize("size", [2, 20])
def test_size_stands_in_for_the_values(size):
    flat = laminax.jit(lambda x: jnp.nonzero(x, size=size, fill_value=-1))(I)
    for got, want in zip(flat, np.nonzero(I)):
        padded = np.concatenate([want, np.full(size, -1)])[:size]
        np.testing.assert_array_equal(got, padded)
    unique = laminax.jit(lambda x: jnp.unique(x, size=size, fill_value=99))(I)
    np.testing.assert_array_equal(unique, np.concatenate([np.unique(I), np.full(size, 99)])[:size])


def test_complex_nans_are_one_element_whatever_their_other_part():
    parts = [-0.0, 1.0, np.nan]
    x = np.array([complex(a, b) for a in parts for b in parts], np.complex64)
    for found in (jnp.unique(x, return_counts=True), laminax.jit(lambda x: jnp.unique(x, return_counts=True, size=5))(x)):
        np.testing.assert_array_equal(found[1], np.unique(x, return_counts=True)[1])
    assert jnp.unique(x, equal_nan=False).shape == np.unique(x, equal_nan=False).shape


def test_the_difference_of_an_empty_set_is_all_filling():
    np.testing.assert_array_equal(jnp.setdiff1d(jnp.zeros(0), jnp.ones(2), size=3, fill_value=7), [7, 7, 7])
    assert jnp.setdiff1d(jnp.zeros(0), jnp.ones(2), size=0).shape == (0,)


def test_unique_with_everything():
    got = jnp.unique(I, return_index=True, return_inverse=True, return_counts=True)
    for g, w in zip(got, np.unique(I, return_index=True, return_inverse=True, return_counts=True)):
        np.testing.assert_array_equal(g, w)
    rows = np.array([[1, 2], [0, 5], [1, 2]])
    np.testing.assert_array_equal(jnp.unique(rows, axis=0), np.unique(rows, axis=0))


@pytest.mark.parametrize("method", ["scan", "sort", "compare_all"])
@pytest.mark.parametrize("side", ["left", "right"])
def test_searchsorted_with_ties_and_nan(method, side):
    a, v = np.array([1, 2, 2, 3, np.nan]), np.array([0, 1, 2, 2.5, 9, np.nan])
    np.testing.assert_array_equal(jnp.searchsorted(a, v, side, method=method), np.searchsorted(a, v, side))


def test_descending_argsort_is_stable():
    np.testing.assert_array_equal(jnp.argsort(np.array([1, 1, 0, 0]), descending=True), [0, 1, 2, 3])


def test_methods_of_arrays_and_tracers():
    def use(x):
        return (x.T, x.mT, x.sum(0), x.mean(), x.reshape(5, 12), x.reshape((5, -1)), x.astype(int), x.transpose(1, 0, 2), x.argmax(1),
                x.clip(0, 1), x.round(1), x.squeeze(), x.flatten(), x.std(), x.sort(0), x.max(), x.take(np.array([1]), axis=0), x.real)
    want = (X.T, X.swapaxes(1, 2), X.sum(0), X.mean(), X.reshape(5, 12), X.reshape(5, -1), X.astype(int), X.transpose(1, 0, 2), X.argmax(1),
            X.clip(0, 1), X.round(1), X, X.ravel(), X.std(), np.sort(X, 0), X.max(), X[[1]], X)
    for results in (use(jnp.asarray(X)), laminax.jit(use)(X)):
        for g, w in zip(results, want):
            np.testing.assert_allclose(g, w, rtol=1e-4, atol=1e-6)


def test_view_reinterprets_bytes():
    for dtype in ("int32", "uint8", "float16"):
        np.testing.assert_array_equal(np.asarray(jnp.asarray(M).view(dtype)), M.view(dtype))


def test_vectorize_and_frompyfunc():
    product = jnp.vectorize(lambda a, b: a @ b, signature="(m,n),(n)->(m)")
    a, b = RNG.normal(size=(2, 1, 3, 4)).astype(np.float32), RNG.normal(size=(5, 4)).astype(np.float32)
    np.testing.assert_allclose(product(a, b), np.einsum("abmn,bn->abm", np.broadcast_to(a, (2, 5, 3, 4)), b), rtol=1e-4, atol=1e-5)
    add = jnp.frompyfunc(lambda x, y: x + y, 2, 1, identity=0)
    np.testing.assert_array_equal(add.reduce(I), I.sum(0))
    np.testing.assert_array_equal(add.accumulate(I, axis=1), I.cumsum(1))
    np.testing.assert_allclose(add.outer(V, V), np.add.outer(V, V))
    with pytest.raises(ValueError, match="not a valid gufunc signature"):
        jnp.vectorize(lambda a: a, signature="bad")


def test_index_tricks():
    np.testing.assert_array_equal(jnp.mgrid[0:3, 1:4], np.mgrid[0:3, 1:4])
    np.testing.assert_array_equal(jnp.r_[1, 2:5, np.array([7.0])], np.r_[1, 2:5, np.array([7.0])])
    np.testing.assert_array_equal(jnp.c_[V, V], np.c_[V, V])
    np.testing.assert_array_equal(jnp.apply_along_axis(lambda v: v.sum(), 0, X).shape, (4, 5))
    np.testing.assert_allclose(jnp.apply_along_axis(lambda v: v[::-1], 0, X), X[::-1])


def test_every_name_is_there():
    import warnings
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        missing = [name for name in jnp.__all__ if name not in ("fft", "linalg", "int1", "uint1") and not hasattr(jnp, name)
                   and not name.startswith(("float4", "float6", "float8", "int2", "uint2"))]
    assert not missing


@pytest.mark.parametrize("mode", ["constant", "edge", "linear_ramp", "maximum", "mean", "median", "reflect", "wrap", "empty"])
def test_padding_keeps_a_weak_type(mode):
    assert jnp.pad(jnp.array(1.0)[None], 1, mode=mode).weak_type and not jnp.pad(jnp.ones(1), 1, mode=mode).weak_type


@pytest.mark.parametrize("shape", [(6,), (6, 2)])
def test_polyfit_without_implicit_rank_promotion(shape):
    x, y = np.arange(6.0, dtype=np.float32), RNG.normal(size=shape).astype(np.float32)
    with laminax.numpy_rank_promotion("raise"):
        got, covariance = jnp.polyfit(x, y, 2, cov=True)
    want, want_covariance = np.polyfit(x, y, 2, cov=True)
    np.testing.assert_allclose(got, want, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(covariance, want_covariance, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("axes, words", [
    (3, "Number of tensordot axes.*exceeds input ranks"), (([0], [0, 1]), "requires axes lists to have equal length"),
    (("bad", "axes"), "requires both axes lists to be either ints, tuples or lists"), ("badaxes", "axes argument must be an int")])
def test_errors_of_tensordot(axes, words):
    with pytest.raises(TypeError, match=words):
        jnp.tensordot(M, M, axes)


def test_unknown_padding():
    with pytest.raises(NotImplementedError, match="Unimplemented padding mode 'foo' for np.pad"):
        jnp.pad(M, 1, "foo")


@pytest.mark.parametrize("place", [-3, 0, 2, 4])
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_insert_before_a_traced_place(place, axis):
    got = laminax.jit(lambda x, i, v: jnp.insert(x, i, v, axis=axis))(M, place % 3, 7.0)
    np.testing.assert_array_equal(got, np.insert(M, place % 3, 7.0, axis=axis))


def test_split_at_a_differentiated_number():
    pieces, _ = laminax.jvp(lambda i: jnp.split(V, (1, i)), (2.0,), (1.0,))
    assert [len(piece) for piece in pieces] == [1, 1, len(V) - 2]


def test_a_mask_is_dropped_and_a_diagonal_may_be_far_off():
    masked = np.ma.array([1.0, 2.0], mask=[True, False])
    np.testing.assert_array_equal(jnp.array(masked), [1, 2])
    with pytest.raises(ValueError, match="numpy masked arrays are not supported"):
        laminax.jit(jnp.asarray)(masked)
    np.testing.assert_array_equal(jnp.eye(2, 3, k=2**100), np.eye(2, 3, k=2**100))
    np.testing.assert_array_equal(jnp.asarray(np.arange(3.0), copy=False), [0, 1, 2])


@pytest.mark.parametrize("call, error, words", [
    (lambda: jnp.expand_dims(M, (1, 1)), ValueError, "repeated axis"),
    (lambda: jnp.trace(M, axis1=1, axis2=-1), ValueError, "can not be same"),
    (lambda: laminax.jit(jnp.tri)(3), TypeError, "Shapes must be 1D sequences of concrete values of integer type"),
    (lambda: laminax.jit(lambda i: jnp.split(V, [2, i]))(3), TypeError,
     "Abstract tracer value encountered where concrete value is expected"),
    (lambda: jnp.interp(1j, V * 1j, V), ValueError, "complex x values not supported")])
def test_errors_in_the_words_of_jax(call, error, words):
    with pytest.raises(error, match=words):
        call()


@pytest.mark.parametrize("dtype", [np.float32, np.int8, bool])
@pytest.mark.parametrize("axis", [0, 1, None])
def test_take_along_an_axis_by_comparison(dtype, axis):
    x = I.astype(dtype)
    index = np.argsort(I, axis) if axis is not None else np.array([2, -1, 0])
    got = jnp.take_along_axis(x, index, axis, mode="one_hot")
    np.testing.assert_array_equal(got, np.take_along_axis(x, index, axis))
    assert got.dtype == x.dtype


@pytest.mark.parametrize("call, error, words", [
    (lambda: jnp.vectorize(lambda x: x, excluded={-1}), ValueError, r"excluded=\{-1\} contains negative numbers"),
    (lambda: jnp.vectorize(jnp.dot, signature="(n,m),(m)->(n)")(V, V), ValueError, "does not have enough dimensions"),
    (lambda: jnp.vectorize(jnp.sum, signature="(n)->(),()")(V), TypeError, "output must be a tuple"),
    (lambda: jnp.vectorize(lambda x: (x, x), signature="()->(),(),()")(1.0), TypeError, "wrong number of output arguments")])
def test_what_vectorize_refuses(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_vectorize_promotes_ranks_where_that_is_allowed():
    add = jnp.vectorize(lambda x, y: x + y)
    np.testing.assert_array_equal(add(M, M[0]), M + M[0])
    with laminax.numpy_rank_promotion("raise"), pytest.raises(ValueError, match="operands with shapes .* require rank promotion"):
        add(M, M[0])
    with laminax.numpy_rank_promotion("raise"):
        np.testing.assert_array_equal(add(M, 1.0), M + 1)



def test_the_shape_of_a_list_is_deprecated():
    for function, expected in ((jnp.shape, (1, 2)), (jnp.ndim, 2), (jnp.size, 2)):
        with pytest.warns(DeprecationWarning, match=f"{function.__name__} requires ndarray or scalar arguments, got <class 'list'>"):
            assert function([[1, 2]]) == expected


def test_what_broadcast_to_refuses_says_whether_axes_are_missing():
    with pytest.raises(ValueError, match="Cannot broadcast to shape with fewer dimensions"):
        jnp.broadcast_to(np.zeros((3, 4)), (4,))
    with pytest.raises(ValueError, match="Incompatible shapes for broadcasting"):
        jnp.broadcast_to(np.zeros((3, 4)), (2, 4))


def test_a_traced_shape_advises_static_arguments():
    with pytest.raises(TypeError, match="1D sequences of concrete values of integer type.*\nIf using `jit`, try using `static_argnums`"):
        laminax.jit(jnp.zeros)(2)


@pytest.mark.parametrize("name", ["ones", "zeros", "empty"])
def test_sizes_that_are_no_tuple_are_refused_with_advice(name):
    with pytest.raises(TypeError, match=rf"Cannot interpret '3' as a data type.*`jax.numpy.{name}\(\(2, 3\)\)`".replace(".*", r"[\s\S]*")):
        getattr(jnp, name)(2, 3)
