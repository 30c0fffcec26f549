"""Operations on symbolic sizes that have a form of their own for them: a loop, a call of a library with the sizes, a further operand.

Each is lowered once and run at several sizes; what comes out is NumPy's, or SciPy's. What has no form says so, and names the operation.
"""

import numpy as np
import pytest
import scipy.linalg
import scipy.special

from laminax_ir.symbolic.symbolic_dims import InconclusiveDimensionOperation

import laminax
import laminax.numpy as jnp
import laminax.scipy as jsp
from laminax import ShapeDtypeStruct, export, grad, jit, lax, random, vmap
from laminax.export import SymbolicScope, symbolic_shape


def array(*shape):
    return np.random.default_rng(shape).normal(size=shape).astype(np.float32)


def positive(x):
    """A positive definite matrix."""
    return x @ x.swapaxes(-1, -2) + 3 * np.eye(x.shape[-1], dtype=x.dtype)


def checked(fun, spec, shapes, oracle, rtol=2e-3):
    """The function, exported for all sizes, has the oracle's values at each of the shapes."""
    e = export.export(jit(fun))(ShapeDtypeStruct(symbolic_shape(spec, scope=SymbolicScope()), np.float32))
    for shape in shapes:
        x = array(*shape)
        got, expected = laminax.tree.leaves(e.call(x)), laminax.tree.leaves(oracle(x))
        assert len(got) == len(expected)
        for a, b in zip(got, expected):
            assert a.shape == np.shape(b)
            np.testing.assert_allclose(a, b, rtol=rtol, atol=2e-3)


SQUARE = {
    "cholesky": (lambda x: jnp.linalg.cholesky(x @ x.mT + 3 * jnp.eye(x.shape[-1])), lambda x: np.linalg.cholesky(positive(x))),
    "inv": (jnp.linalg.inv, np.linalg.inv),
    "solve": (lambda x: jnp.linalg.solve(x, x[..., :1]), lambda x: np.linalg.solve(x, x[..., :1])),
    "det": (jnp.linalg.det, np.linalg.det),
    "slogdet": (lambda x: tuple(jnp.linalg.slogdet(x)), lambda x: tuple(np.linalg.slogdet(x))),
    "eigvalsh": (lambda x: jnp.linalg.eigvalsh(x + x.mT), lambda x: np.linalg.eigvalsh(x + x.swapaxes(-1, -2))),
    "eigh": (lambda x: (lambda w, v: (v * w[..., None, :]) @ v.mT)(*jnp.linalg.eigh(x + x.mT)), lambda x: x + x.swapaxes(-1, -2)),
    "eigvals": (lambda x: jnp.sort(jnp.abs(jnp.linalg.eigvals(x))), lambda x: np.sort(np.abs(np.linalg.eigvals(x)))),
    "matrix_rank": (lambda x: jnp.linalg.matrix_rank(x), np.linalg.matrix_rank),
    "diagonal": (lambda x: jnp.diagonal(x, axis1=-2, axis2=-1), lambda x: np.diagonal(x, axis1=-2, axis2=-1)),
    "gradient of slogdet": (lambda x: grad(lambda x: jnp.linalg.slogdet(x)[1].sum())(x), lambda x: np.linalg.inv(x).swapaxes(-1, -2)),
}
MATRIX = {
    "lu": (lambda x: (lambda p, low, up: p @ low @ up)(*jsp.linalg.lu(x)), lambda x: x),
    "triangular solve": (lambda x: jsp.linalg.solve_triangular(jnp.tril(x) + 9 * jnp.eye(x.shape[0]), x, lower=True),
                         lambda x: scipy.linalg.solve_triangular(np.tril(x) + 9 * np.eye(len(x)), x, lower=True)),
    "expm": (jsp.linalg.expm, scipy.linalg.expm),
    "schur": (lambda x: (lambda t, z: z @ t @ z.T)(*jsp.linalg.schur(x)), lambda x: x),
    "sqrtm": (lambda x: (lambda r: (r @ r).real)(jsp.linalg.sqrtm(x @ x.T + 3 * jnp.eye(x.shape[0]))), positive),
    "toeplitz": (lambda x: jsp.linalg.toeplitz(x[:, 0]), lambda x: scipy.linalg.toeplitz(x[:, 0])),
}
TALL_OR_WIDE = {
    "qr": (lambda x: (lambda q, r: (q @ r, q.T @ q))(*jnp.linalg.qr(x)), lambda x: (x, np.eye(min(x.shape)))),
    "complete qr": (lambda x: (lambda q, r: (q @ r, q.T @ q))(*jnp.linalg.qr(x, "complete")), lambda x: (x, np.eye(len(x)))),
    "pivoted qr": (lambda x: jnp.abs(jnp.diagonal(jsp.linalg.qr(x, pivoting=True)[1])),
                   lambda x: np.abs(np.diagonal(scipy.linalg.qr(x, pivoting=True)[1]))),
    "svd": (lambda x: (lambda u, s, v: (u * s) @ v)(*jnp.linalg.svd(x, full_matrices=False)), lambda x: x),
    "singular values": (lambda x: jnp.linalg.svd(x, compute_uv=False), lambda x: np.linalg.svd(x, compute_uv=False)),
    "pinv": (jnp.linalg.pinv, np.linalg.pinv),
    "factors of lu": (lambda x: lax.linalg.lu(x)[0], lambda x: scipy.linalg.lu_factor(x)[0]),
}
VECTOR = {
    "associative_scan": (lambda x: lax.associative_scan(jnp.add, x), np.cumsum),
    "associative_scan, reverse": (lambda x: lax.associative_scan(jnp.multiply, x, reverse=True), lambda x: np.cumprod(x[::-1])[::-1]),
    "gradient of associative_scan": (lambda x: grad(lambda x: lax.associative_scan(jnp.add, x).sum())(x),
                                     lambda x: np.arange(len(x), 0, -1)),
    "scan, unroll": (lambda x: lax.scan(lambda c, y: (c + y, c), 0.0, x, unroll=3), lambda x: (x.sum(), np.cumsum(x) - x)),
    "scan, unroll, reverse": (lambda x: lax.scan(lambda c, y: (c + y, c), 0.0, x, unroll=2, reverse=True)[0], lambda x: x.sum()),
    "fori_loop to a size": (lambda x: lax.fori_loop(0, x.shape[0], lambda i, a: a + i * x[i], 0.0), lambda x: np.arange(len(x)) @ x),
    "gradient of fori_loop": (lambda x: grad(lambda x: lax.fori_loop(0, x.shape[0], lambda i, a: a + x[i] ** 2, 0.0))(x), lambda x: 2 * x),
    "map in batches": (lambda x: lax.map(jnp.sin, x, batch_size=2), np.sin),
    "quantiles": (lambda x: jnp.percentile(x, jnp.array([10.0, 50.0])), lambda x: np.percentile(x, [10, 50])),
    "unique": (lambda x: jnp.unique(jnp.round(x), size=20, fill_value=9.0),
               lambda x: np.pad(np.unique(np.round(x)), (0, 20 - len(np.unique(np.round(x)))), constant_values=9)),
    "convolve": (lambda x: jnp.convolve(x, jnp.array([1.0, 2.0, 3.0])), lambda x: np.convolve(x, [1, 2, 3])),
    "convolve with itself": (lambda x: jnp.convolve(x, x), lambda x: np.convolve(x, x)),
    "interp": (lambda x: jnp.interp(0.3, jnp.sort(x), x), lambda x: np.interp(0.3, np.sort(x), x)),
    "linspace": (lambda x: jnp.linspace(1.0, 2.0, x.shape[0]), lambda x: np.linspace(1, 2, len(x))),
    "linspace without end": (lambda x: jnp.linspace(1.0, 2.0, x.shape[0], endpoint=False), lambda x: np.linspace(1, 2, len(x), False)),
    "roll by a value": (lambda x: jnp.roll(x, jnp.argmax(x)), lambda x: np.roll(x, np.argmax(x))),
    "repeat": (lambda x: jnp.repeat(x, jnp.ones(x.shape, int) * 2, total_repeat_length=2 * x.shape[0]), lambda x: np.repeat(x, 2)),
    "segments": (lambda x: laminax.ops.segment_sum(x, jnp.arange(x.shape[0]) // 2, x.shape[0]),
                 lambda x: np.bincount(np.arange(len(x)) // 2, x, len(x))),
    "covariance": (lambda x: jnp.cov(x, x[::-1], ddof=0), lambda x: np.cov(x, x[::-1], ddof=0)),
    "polynomial": (lambda x: jnp.polyval(x, 0.5), lambda x: np.polyval(x, 0.5)),
    "isin": (lambda x: jnp.isin(x, x[:1]), lambda x: np.isin(x, x[:1])),
    "bits": (lambda x: jnp.packbits(x > 0), lambda x: np.packbits(x > 0)),
    "updated slice": (lambda x: x.at[1:].set(0.0), lambda x: np.where(np.arange(len(x)) < 1, x, 0)),
    "size in arithmetic": (lambda x: (x * (x.shape[0] / 2), x + 1.5 * x.shape[0], 1 / x.shape[0] - x, x.shape[0] - 0.5),
                           lambda x: (x * len(x) / 2, x + 1.5 * len(x), 1 / len(x) - x, len(x) - 0.5)),
    **{f"pad, {mode}": (lambda x, mode=mode: jnp.pad(x, (2, 1), mode=mode), lambda x, mode=mode: np.pad(x, (2, 1), mode=mode))
       for mode in ("reflect", "edge", "wrap", "symmetric")},
}


@pytest.mark.parametrize("name", SQUARE)
def test_square_matrices(name):
    fun, oracle = SQUARE[name]
    checked(fun, "n, n", [(1, 1), (3, 3), (6, 6)], oracle)
    checked(fun, "b, 3, 3", [(2, 3, 3)], oracle)


@pytest.mark.parametrize("name", MATRIX)
def test_matrices(name):
    checked(MATRIX[name][0], "n, n", [(2, 2), (5, 5)], MATRIX[name][1])


@pytest.mark.parametrize("name", TALL_OR_WIDE)
def test_matrices_tall_or_wide(name):
    checked(TALL_OR_WIDE[name][0], "m, n", [(3, 5), (5, 3), (4, 4)], TALL_OR_WIDE[name][1])


@pytest.mark.parametrize("name", VECTOR)
def test_vectors(name):
    checked(VECTOR[name][0], "n", [(1,), (4,), (9,)], VECTOR[name][1])


def test_a_scan_by_an_operation_on_pairs():
    """A linear recurrence, by an operation that is associative and not commutative, along the second axis."""
    def combine(left, right):
        return left[0] * right[0], right[0] * left[1] + right[1]

    def recurrence(x):
        a = x.copy()
        for i in range(1, x.shape[1]):
            a[:, i] = x[:, i] * a[:, i - 1] + x[:, i]
        return a

    checked(lambda x: lax.associative_scan(combine, (x, x), axis=1)[1], "b, n", [(2, 1), (3, 6)], recurrence)


def test_permutations_are_those_of_sizes_that_are_numbers():
    """More than 1625 elements are shuffled twice."""
    key = random.key(3)
    e = export.export(jit(lambda x: random.permutation(random.key(3), x)))(ShapeDtypeStruct(symbolic_shape("n"), np.float32))
    for size in (1, 9, 2000):
        np.testing.assert_array_equal(e.call(array(size)), random.permutation(key, array(size)))


@pytest.mark.parametrize("fun", [
    lambda x: lax.rng_bit_generator(jnp.arange(4, dtype=np.uint32), x.shape),
    lambda x: random.choice(random.key(0), x, (5,)),
    lambda x: random.orthogonal(random.key(0), x.shape[0]),
    lambda x: vmap(random.uniform)(random.split(random.key(1), x.shape[0])),
])
def test_random_numbers_are_those_of_sizes_that_are_numbers(fun):
    e = export.export(jit(fun))(ShapeDtypeStruct(symbolic_shape("n"), np.float32))
    for size in (1, 6):
        for got, expected in zip(laminax.tree.leaves(e.call(array(size))), laminax.tree.leaves(fun(jnp.asarray(array(size))))):
            np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("fun, error, message", [
    (jnp.fft.fft, NotImplementedError, "fft: stablehlo.fft with symbolic dimensions is not supported.*Export for sizes that are numbers"),
    (lambda x: jsp.linalg.hessenberg(jnp.outer(x, x)), NotImplementedError, "hessenberg: LAPACK takes the size as a constant"),
    (lambda x: lax.bitcast_convert_type(x, np.int8), NotImplementedError, "bitcast_convert_type: a bitcast of f32.n. to i8.n,4. has no "),
    (lambda x: lax.scan(lambda c, y: (c, y), 0.0, x, unroll=True), NotImplementedError, "scan: unroll=True unrolls all steps.*unroll=8"),
    (lambda x: jnp.hamming(x.shape[0]), InconclusiveDimensionOperation, "hamming computes numbers from the size 'n'"),
    (lambda x: jnp.delete(x, 0), InconclusiveDimensionOperation, "delete computes numbers from the size 'n'"),
    (jsp.fft.dct, InconclusiveDimensionOperation, "dct computes numbers from the size 'n'"),
])
def test_what_has_no_form_names_the_operation_and_the_way_round(fun, error, message):
    with pytest.raises(error, match=f"(?s){message}"):
        export.export(jit(fun))(ShapeDtypeStruct(symbolic_shape("n"), np.float32))
