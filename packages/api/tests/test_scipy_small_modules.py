"""laminax.scipy's integrate, cluster.vq, fft, ndimage, interpolate and sparse.linalg against SciPy in float64."""

import functools

import numpy as np
import pytest
import scipy.cluster.vq
import scipy.fft
import scipy.integrate
import scipy.interpolate
import scipy.ndimage
import scipy.sparse.linalg

import laminax
import laminax.numpy as jnp
from laminax.scipy import cluster, fft, integrate, interpolate, ndimage, sparse

RNG = np.random.default_rng(0)
TABLE = RNG.normal(size=(5, 4))


@pytest.fixture(autouse=True)
def double_precision():
    with laminax.enable_x64(True):
        yield


def close(got, expected):
    np.testing.assert_allclose(got, expected, rtol=1e-10, atol=1e-10)


def test_trapezoid():
    x = np.sort(RNG.normal(size=4))
    close(integrate.trapezoid(TABLE, x), scipy.integrate.trapezoid(TABLE, x))
    close(integrate.trapezoid(TABLE, dx=0.1, axis=0), scipy.integrate.trapezoid(TABLE, dx=0.1, axis=0))


def test_vector_quantization():
    codes = RNG.normal(size=(3, 4))
    for obs, book in ((TABLE, codes), (TABLE[:, 0], codes[:, 0])):
        got, expected = cluster.vq.vq(obs, book), scipy.cluster.vq.vq(obs, book)
        np.testing.assert_array_equal(got[0], expected[0])
        close(got[1], expected[1])
    with pytest.raises(ValueError, match=r"\[m, d\] and \[n, d\]"):
        cluster.vq.vq(TABLE, codes[:, :2])


@pytest.mark.parametrize("norm", [None, "ortho"])
def test_cosine_transforms(norm):
    for n in (None, 3, 7):
        for axis in (0, 1):
            close(fft.dct(TABLE, n=n, axis=axis, norm=norm), scipy.fft.dct(TABLE, n=n, axis=axis, norm=norm))
            close(fft.idct(TABLE, n=n, axis=axis, norm=norm), scipy.fft.idct(TABLE, n=n, axis=axis, norm=norm))
    with laminax.numpy_dtype_promotion("strict"), laminax.numpy_rank_promotion("raise"):
        single = fft.idct(fft.dct(TABLE.astype(np.float32), norm=norm), norm=norm)
    np.testing.assert_allclose(single, TABLE, rtol=1e-5, atol=1e-6)
    close(fft.dctn(TABLE, norm=norm), scipy.fft.dctn(TABLE, norm=norm))
    whirled = TABLE * np.exp(1j * TABLE)
    close(fft.dct(whirled, norm=norm), scipy.fft.dct(whirled, norm=norm))
    close(fft.idctn(whirled, norm=norm), scipy.fft.idctn(whirled, norm=norm))
    close(fft.idctn(TABLE, s=(3, 6), norm=norm), scipy.fft.idctn(TABLE, s=(3, 6), norm=norm))
    close(fft.dctn(TABLE, axes=(1,), norm=norm), scipy.fft.dctn(TABLE, axes=(1,), norm=norm))


@pytest.mark.parametrize("mode", ["constant", "nearest", "mirror", "reflect"])
@pytest.mark.parametrize("order", [0, 1])
def test_map_coordinates(mode, order):
    where = RNG.uniform(-6, 10, size=(2, 40)) if mode != "constant" else RNG.uniform(0, 3, size=(2, 40))
    expected = scipy.ndimage.map_coordinates(TABLE, where, order=order, mode=mode, cval=2.5)
    close(ndimage.map_coordinates(TABLE, list(where), order, mode, 2.5), expected)
    whole = np.arange(20).reshape(5, 4)
    got = ndimage.map_coordinates(whole, list(where), order, mode)
    assert got.dtype == whole.dtype


def test_map_coordinates_rounds_halves_away_from_zero():
    row, where = np.arange(10, 15), np.array([0.5, 1.5, 2.5, 3.5])
    close(ndimage.map_coordinates(row, [where], 0), scipy.ndimage.map_coordinates(row, [where], order=0))
    close(ndimage.map_coordinates(row, [where], 1), [11, 12, 13, 14])  # as SciPy rounds what it interpolates: 10.5, 11.5 ...


def test_map_coordinates_beyond_the_borders():
    row = np.array([1.0, 2.0, 4.0])
    close(ndimage.map_coordinates(row, [np.array([-2.0, 3.0, 2.5])], 1, cval=9.0), [9, 9, (4 + 9) / 2])
    close(ndimage.map_coordinates(row, [np.array([-1.0, 3.0, 4.5])], 1, mode="wrap"), [4, 1, 3])  # period 3
    slope = laminax.grad(lambda x: ndimage.map_coordinates(row, [x], 1))(1.25)
    close(slope, 2)


@pytest.mark.parametrize("method", ["linear", "nearest"])
def test_grids(method):
    grid = np.array([0.0, 1, 3, 4, 7]), np.array([2.0, 1, -1, -4])
    points = RNG.uniform((-1, -5), (8, 3), size=(30, 2))
    for values in (TABLE, RNG.normal(size=(5, 4, 2))):
        for fill in (np.nan, 5.0, None):
            mine = interpolate.RegularGridInterpolator(grid, values, method, fill_value=fill)
            theirs = scipy.interpolate.RegularGridInterpolator(grid, values, method, bounds_error=False, fill_value=fill)
            close(mine(points), theirs(points))
            close(mine((points[:, 0], 1.5)), theirs((points[:, 0], 1.5)))


def test_traced_grids():
    grid, values = (np.array([0.0, 1, 3]), np.array([2.0, 5, 6, 8])), RNG.normal(size=(3, 4))
    points = RNG.uniform((0, 2), (3, 8), size=(10, 2))

    def interpolated(grid, values):
        return interpolate.RegularGridInterpolator(grid, values)(points)
    close(laminax.jit(interpolated)(grid, values), scipy.interpolate.RegularGridInterpolator(grid, values)(points))
    slope = laminax.grad(lambda s: interpolated((s * grid[0], grid[1]), values).sum())(1.1)
    ahead, behind = (interpolated((s * grid[0], grid[1]), values).sum() for s in (1.1 + 1e-6, 1.1 - 1e-6))
    np.testing.assert_allclose(slope, (ahead - behind) / 2e-6, rtol=1e-5)
    with pytest.raises(ValueError, match=r"axis 1 must be a vector of 4 elements.*got shape \(3,\)"):
        laminax.jit(interpolated)((grid[0], grid[0]), values)


# --- iterative solvers ---

A = RNG.normal(size=(12, 12)) + 12 * np.eye(12)
POSITIVE = A @ A.T / 12
B = RNG.normal(size=12)


@pytest.mark.parametrize("name, matrix",
                         [("cg", POSITIVE), ("bicgstab", A), ("gmres", A), ("cg", POSITIVE + 1j * (A - A.T)), ("gmres", A * 1j)])
def test_solvers(name, matrix):
    solve = getattr(sparse.linalg, name)
    exact = np.linalg.solve(matrix, B)
    x, info = solve(matrix, B.astype(matrix.dtype), tol=1e-12)
    assert info == 0 if name == "gmres" else info is None  # as in JAX, which documents None for the others
    np.testing.assert_allclose(x, exact, rtol=1e-8, atol=1e-10)
    loose = np.asarray(solve(lambda v: jnp.asarray(matrix) @ v, B.astype(matrix.dtype), tol=1e-3)[0])
    assert np.linalg.norm(matrix @ loose - B) <= 1.001e-3 * np.linalg.norm(B)
    inverse = np.diag(1 / np.diag(matrix))
    np.testing.assert_allclose(solve(matrix, B.astype(matrix.dtype), x0=exact + 0.1, tol=1e-12, M=inverse)[0], exact, rtol=1e-8, atol=1e-10)
    assert np.linalg.norm(np.asarray(solve(matrix, B.astype(matrix.dtype), maxiter=0)[0])) == 0


def test_solvers_of_trees_and_their_derivatives():
    tree = {"a": B[:3], "b": B[3:4]}

    def apply(t):
        return {"a": 3 * t["a"] + t["b"], "b": 5 * t["b"] + jnp.sum(t["a"], keepdims=True)}
    dense = np.block([[3 * np.eye(3), np.ones((3, 1))], [np.ones((1, 3)), 5 * np.eye(1)]])
    for name in ("cg", "bicgstab", "gmres"):
        x, _ = getattr(sparse.linalg, name)(apply, tree, tol=1e-12)
        close(np.concatenate([x["a"], x["b"]]), np.linalg.solve(dense, B[:4]))
    for name, matrix in (("cg", POSITIVE), ("gmres", A)):
        solve = getattr(sparse.linalg, name)
        gradient = laminax.jit(laminax.grad(lambda b: jnp.sum(solve(jnp.asarray(matrix), b, tol=1e-12)[0])))(B)
        np.testing.assert_allclose(gradient, np.linalg.solve(matrix.T, np.ones(12)), rtol=1e-8)
        by_factor = laminax.grad(lambda s: jnp.sum(solve(s * jnp.asarray(matrix), jnp.asarray(B), tol=1e-12)[0]))(1.0)
        np.testing.assert_allclose(by_factor, -np.sum(np.linalg.solve(matrix, B)), rtol=1e-8)


def test_gradients_of_hermitian_systems():
    """The transpose of a Hermitian matrix is its conjugate; cg took it for the matrix itself."""
    matrix, weights = POSITIVE + 1j * (A - A.T), B + 2j * np.arange(12.0)
    for solve in (lambda m, b: sparse.linalg.cg(m, b, tol=1e-13)[0], jnp.linalg.solve):
        by_b, by_matrix = laminax.vjp(lambda b, m: solve(m, b), B * (1 + 1j), matrix)[1](weights)
        np.testing.assert_allclose(by_b, np.linalg.solve(matrix.T, weights), rtol=1e-8)
        np.testing.assert_allclose(by_matrix, -np.outer(by_b, np.linalg.solve(matrix, B * (1 + 1j))), rtol=1e-7, atol=1e-10)


class Doubling:
    def __matmul__(self, x):
        return 2 * x


@pytest.mark.parametrize("name", ["cg", "bicgstab", "gmres"])
def test_an_operator_is_what_multiplies(name):
    solve = getattr(sparse.linalg, name)
    close(solve(Doubling(), TABLE)[0], TABLE / 2)
    close(solve(np.eye(12) / 2, B, M=Doubling())[0], 2 * B)
    weak, _ = solve(lambda x: x, 1.0)
    assert weak == 1 and weak.dtype == np.float64 and weak.weak_type == (name != "cg")


def test_gmres_starts_anew():
    x, _ = sparse.linalg.gmres(A, B, tol=1e-10, restart=3)
    np.testing.assert_allclose(A @ x, B, atol=1e-8)


@pytest.mark.parametrize("matrix, start",
                         [(A, None), (A * 1j + POSITIVE, None), (A, np.ones(12)), (np.diag(np.arange(1.0, 13)), np.ones(12))])
def test_gmres_incremental(matrix, start):
    gmres = functools.partial(sparse.linalg.gmres, x0=start, solve_method="incremental")
    b, exact = B.astype(matrix.dtype), np.linalg.solve(matrix, B)
    for restart in (20, 5):
        np.testing.assert_allclose(gmres(matrix, b, tol=1e-12, restart=restart, maxiter=300)[0], exact, rtol=1e-7)
    # each product with the matrix lowers the residual; one basis of k vectors is what SciPy has after k steps
    for k in (1, 4):
        theirs, _ = scipy.sparse.linalg.gmres(matrix, b, x0=start, restart=k, maxiter=1, rtol=1e-14)
        np.testing.assert_allclose(gmres(matrix, b, tol=1e-14, restart=k, maxiter=1)[0], theirs, rtol=1e-7, atol=1e-9)
    loose = gmres(matrix, b, tol=0.3, maxiter=1)[0]  # a basis of 12 vectors would give the solution itself
    assert 1e-6 < np.linalg.norm(matrix @ loose - b) / np.linalg.norm(b) <= 0.3


def test_gmres_incremental_of_what_is_solved_already():
    for b, expected in ((np.zeros(12), np.zeros(12)), (A[:, 3], np.eye(12)[3])):
        x, _ = sparse.linalg.gmres(A, b, x0=expected, solve_method="incremental")
        np.testing.assert_array_equal(x, expected)
    x, _ = sparse.linalg.gmres(np.eye(12) * 3, B, solve_method="incremental", tol=1e-13)  # one vector is the whole space
    np.testing.assert_allclose(x, B / 3, rtol=1e-12)


@pytest.mark.parametrize("call, error, message", [
    (lambda: fft.dct(TABLE, type=3), NotImplementedError, "dct: only type=2 is supported, got 3"),
    (lambda: fft.dct(TABLE, norm="forward"), NotImplementedError, "norm must be None"),
    (lambda: fft.dctn(TABLE, s=(2,), axes=(0, 1)), ValueError, "one size for each of the axes"),
    (lambda: fft.dctn(TABLE, s=(2, 3, 4)), ValueError, r"dctn: s must have at most x.ndim \(2\) elements, got 3: \(2, 3, 4\)"),
    (lambda: ndimage.map_coordinates(TABLE, [B], 1), ValueError, "length input.ndim, but 1 != 2"),
    (lambda: ndimage.map_coordinates(B, [B], 3), NotImplementedError, "requires order<=1: it must be 0 or 1, got 3"),
    (lambda: ndimage.map_coordinates(B, [B], 1, "mirrored"), NotImplementedError,
     "does not yet support mode 'mirrored': it must be one of"),
    (lambda: interpolate.RegularGridInterpolator((B,), TABLE), ValueError, "the points in axis 0 must be a vector of 5"),
    (lambda: interpolate.RegularGridInterpolator((np.arange(5.0),), TABLE, "cubic"), ValueError, "got 'cubic'"),
    (lambda: interpolate.RegularGridInterpolator((np.arange(5.0),), TABLE, bounds_error=True), NotImplementedError, "bounds_error=True"),
    (lambda: sparse.linalg.cg(3, B), TypeError, "cg: linear operator must be either a function or ndarray.*, got 3 of type int"),
    (lambda: sparse.linalg.cg(B, B), ValueError, r"cg: linear operator must be a square matrix, but has shape: \(12,\)"),
    (lambda: sparse.linalg.gmres([[1.0]], B), TypeError, "gmres: linear operator must be either a function or ndarray.*of type list"),
    (lambda: sparse.linalg.cg(A, B, x0=(B,)), ValueError, "matching tree structure"),
    (lambda: sparse.linalg.gmres(A, B, x0=B[:3]), ValueError, "matching shapes"),
    (lambda: sparse.linalg.gmres(A, B, solve_method="fast"), ValueError, "got 'fast'"),
])
def test_refusals(call, error, message):
    with pytest.raises(error, match=message):
        call()
