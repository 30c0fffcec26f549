"""Functions of matrices, as in `scipy.linalg`: exponential, square root, polar factors, Sylvester's equation."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any, Callable

import numpy as np

from laminax_ir.ops import linalg as la
from laminax_ir.ops import slicing
from laminax_ir.ops.control_flow import cond
from laminax_ir.ops.linalg_primitives import real_dtype
from laminax_ir.ops.loops import fori_loop, while_loop
from laminax_ir.types import dtypes
from laminax_ir.types.avals import get_aval
from laminax_transforms import jvp

from laminax._src.numerics.floor import fused
from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.numpy.apply import vectorize
from laminax._src.numerics.numpy.arguments import convert, dtype_of, inexact, shape_of
from laminax._src.numerics.numpy.linalg import equations, factorizations, norms
from laminax._src.numerics.scipy.linalg import _promoted

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike

# The [m/m] Padé approximant of exp is q(x) / q(-x); it is exact to rounding where the 1-norm is below theta.
_PADE_7 = (17297280.0, 8648640.0, 1995840.0, 277200.0, 25200.0, 1512.0, 56.0, 1.0)
_PADE_13 = (64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0, 129060195264000.0, 10559470521600.0,
            670442572800.0, 33522128640.0, 1323241920.0, 40840800.0, 960960.0, 16380.0, 182.0, 1.0)
_THETA_7, _THETA_13 = 3.925724783138660, 5.371920351148152


def _product(*factors: Any) -> Any:
    result = factors[0]
    for x in factors[1:]:
        result = jnp.matmul(result, x, precision="highest")
    return result


def _square(name: str, a: Any) -> Any:
    a = inexact(name, a)
    if len(shape_of(a)) < 2 or shape_of(a)[-1] != shape_of(a)[-2]:
        raise ValueError(f"{name}: the argument must be a square matrix or a batch of them, [..., n, n], got {get_aval(a).str_short()}")
    return jnp.asarray(a)


def _square_matrix(name: str, a: Any) -> Any:
    a = _square(name, a)
    if a.ndim != 2:
        raise ValueError(f"{name}: the argument must be one square matrix, got {get_aval(a).str_short()}. Use vmap for batches.")
    return a


def expm(A: ArrayLike, *, upper_triangular: bool = False, max_squarings: int = 16) -> Array:
    """Exponential of square matrices, by scaling, a Padé approximant, and squaring.

    Args:
      A: [..., n, n].
      upper_triangular: whether A is known to be upper triangular, which makes the equations cheaper.
      max_squarings: how many squarings are made at most.

    Returns:
      [..., n, n]; NaN where more squarings are needed.

    Raises:
      ValueError: if A is not square.

    Example:
      >>> expm(jnp.array([[0., 1.], [-1., 0.]]))  # cos(1) and sin(1)
      Array([[ 0.5403023 ,  0.84147096],
             [-0.84147096,  0.5403023 ]], dtype=float32)

    Source: N. Higham, "The Scaling and Squaring Method for the Matrix Exponential Revisited", SIAM J. Matrix Anal. Appl. 26
    (2005).
    """
    return _expm(A, upper_triangular=bool(upper_triangular), max_squarings=operator.index(max_squarings))


@fused(static_argnames=("upper_triangular", "max_squarings"))
def _expm(A: ArrayLike, upper_triangular: bool, max_squarings: int) -> Array:
    A = _square("expm", A)
    one = lambda a: _expm_of_matrix(a, upper_triangular, max_squarings)  # noqa: E731
    return jnp.vectorize(one, signature="(n,n)->(n,n)")(A) if A.ndim > 2 else one(A)


def _expm_of_matrix(a: ArrayLike, upper_triangular: bool, max_squarings: int) -> Array:
    is_double = real_dtype(a.dtype) == np.float64
    coefficients, theta = (_PADE_13, _THETA_13) if is_double else (_PADE_7, _THETA_7)
    norm = jnp.max(jnp.sum(jnp.abs(a), axis=0), initial=0)
    squarings = jnp.maximum(0, jnp.ceil(jnp.log2(jnp.maximum(norm, theta) / theta)))
    a = a / jnp.asarray(2 ** squarings, a.dtype)
    even, odd = _split_polynomial(a, coefficients)
    odd = _product(a, odd)
    if upper_triangular:
        result = la.triangular_solve(even - odd, even + odd, left_side=True)
    else:
        result = equations.solve(even - odd, even + odd)

    def square(i: ArrayLike, r: ArrayLike) -> Array:
        return cond(i < squarings, lambda r: _product(r, r), lambda r: r, r)
    result = fori_loop(0, max_squarings, square, result)
    return jnp.where(squarings > max_squarings, jnp.full_like(result, math.nan), result)


def _split_polynomial(a: ArrayLike, coefficients: tuple[float, ...]) -> tuple[Array, Array]:
    """The even part of q at a, and the odd one divided by a."""
    square, power = _product(a, a), jnp.eye(a.shape[0], dtype=a.dtype)
    even, odd = coefficients[0] * power, coefficients[1] * power
    for k in range(2, len(coefficients), 2):
        power = _product(power, square)
        even, odd = even + coefficients[k] * power, odd + coefficients[k + 1] * power
    return even, odd


def expm_frechet(A: ArrayLike, E: ArrayLike, *, method: str | None = None, compute_expm: bool = True) -> Array | tuple[Array, Array]:
    """Derivative of the matrix exponential at A in the direction E.

    Args:
      A: [..., n, n].
      E: [..., n, n].
      method: "SPS", as None: the derivative of the algorithm of `expm`; "blockEnlarge": a block of expm([[A, E], [0, A]]).
      compute_expm: whether the exponential is returned too.

    Returns:
      The exponential and its derivative, or the latter alone.

    Raises:
      ValueError: if the shapes differ, or the method is unknown.

    Example:
      >>> a, e = jnp.array([[0., 1.], [0., 0.]]), jnp.eye(2)
      >>> expm_frechet(a, e, compute_expm=False)
      Array([[1., 1.],
             [0., 1.]], dtype=float32)
    """
    if method not in (None, "SPS", "blockEnlarge"):
        raise ValueError(f"expm_frechet: method must be None, 'SPS' or 'blockEnlarge', got {method!r}")
    A, E = _promoted("expm_frechet", A, E)
    A, E = _square("expm_frechet", A), _square("expm_frechet", E)
    if A.shape != E.shape:
        raise ValueError(f"expm_frechet: A and E must have one shape, got {get_aval(A).str_short()} and {get_aval(E).str_short()}")
    if method == "blockEnlarge":
        n = A.shape[-1]
        both = expm(jnp.concatenate([jnp.concatenate([A, E], -1), jnp.concatenate([jnp.zeros_like(A), A], -1)], -2))
        result = both[..., :n, :n], both[..., :n, n:]
    else:
        result = jvp(expm, (A,), (E,))
    return result if compute_expm else result[1]


# --- by the Schur decomposition ---


def _complex_schur(a: Any) -> tuple[Any, Any]:
    return tuple(la.schur(convert(a, dtypes.to_complex_dtype(dtype_of(a)))))


def rsf2csf(T: ArrayLike, Z: ArrayLike, check_finite: bool = True) -> tuple[Any, Any]:
    """A complex Schur decomposition from a real one.

    Args:
      T: [..., n, n], quasi-triangular.
      Z: [..., n, n], unitary; its batch axes are broadcast with those of T.
      check_finite: has no effect.

    Returns:
      T, complex and upper triangular, and Z, such that Z T Z^H is what it was.

    Raises:
      ValueError: if T and Z are not square or their shapes differ.

    Example:
      >>> t, z = rsf2csf(jnp.array([[0., 1.], [-1., 0.]]), jnp.eye(2))
      >>> jnp.abs(t[1, 0])
      Array(0., dtype=float32)
      >>> z @ t @ z.conj().T
      Array([[ 0.+0.j,  1.+0.j],
             [-1.+0.j,  0.+0.j]], dtype=complex64)

    Source: G. H. Golub and C. F. Van Loan, "Matrix Computations", section 7.4: each block of two rows is made triangular by a
      rotation that brings an eigenvalue of the block to its first row.
    """
    return _rsf2csf(T, Z)


@fused
def _rsf2csf(T: ArrayLike, Z: ArrayLike) -> tuple[Array, Array]:
    T, Z = (_square("rsf2csf", x) for x in _promoted("rsf2csf", T, Z))
    if T.shape[-1] != Z.shape[-1]:
        raise ValueError(f"rsf2csf: T and Z must have one shape, got {get_aval(T).str_short()} and {get_aval(Z).str_short()}")
    dtype = dtypes.to_complex_dtype(T.dtype)
    return vectorize(_rsf2csf_matrix, signature="(n,n),(n,n)->(n,n),(n,n)")(T.astype(dtype), Z.astype(dtype))


def _rsf2csf_matrix(T: Array, Z: Array) -> tuple[Array, Array]:
    """Of the two eigenvalues of a block, the first row gets that which is farther from the block's last element, as LAPACK orders them;
    SciPy, whose result this is, takes them from there. Rows are changed from the block on and columns up to it, also if T is not
    quasi-triangular."""
    n, eps = T.shape[0], float(np.finfo(T.dtype).eps)
    places = np.arange(n)

    def step(i: ArrayLike, matrices: tuple[ArrayLike, ...]) -> tuple[Array, Array]:
        """The block of rows m - 1 and m, from the last one up."""
        T, Z = matrices
        m = n - 1 - i
        block = slicing.dynamic_slice(T, (m - 1, m - 1), (2, 2))
        (a, b), (c, d) = block
        half = (a - d) / 2
        root = jnp.sqrt(half * half + b * c)
        mu = half + jnp.where(jnp.real(half.conj() * root) < 0, -root, root)
        r = jnp.hypot(abs(mu), abs(c)).astype(T.dtype)
        is_block = abs(c) > eps * (abs(a) + abs(d))
        cosine, sine = jnp.where(is_block, mu / r, 1), jnp.where(is_block, c / r, 0)
        rotation = jnp.stack([jnp.stack([cosine.conj(), sine]), jnp.stack([-sine, cosine])])
        back = rotation.conj().T
        rows = slicing.dynamic_slice(T, (m - 1, 0), (2, n))
        T = slicing.dynamic_update_slice(T, jnp.where(places[None] >= m - 1, _product(rotation, rows), rows), (m - 1, 0))
        columns = slicing.dynamic_slice(T, (0, m - 1), (n, 2))
        T = slicing.dynamic_update_slice(T, jnp.where(places[:, None] <= m, _product(columns, back), columns), (0, m - 1))
        Z = slicing.dynamic_update_slice(Z, _product(slicing.dynamic_slice(Z, (0, m - 1), (n, 2)), back), (0, m - 1))
        return T.at[m, m - 1].set(0), Z

    return fori_loop(0, n - 1, step, (T, Z)) if n > 1 else (T, Z)


def sqrtm(A: ArrayLike, blocksize: int = 1) -> Array:
    """Principal square root of a matrix; on CPU only.

    Args:
      A: [n, n].
      blocksize: must be 1.

    Returns:
      [n, n], complex.

    Raises:
      NotImplementedError: for another blocksize.

    Example:
      >>> sqrtm(jnp.array([[5., 4.], [4., 5.]]))
      Array([[2.+0.j, 1.+0.j],
             [1.+0.j, 2.+0.j]], dtype=complex64)

    Source: Å. Björck and S. Hammarling, "A Schur Method for the Square Root of a Matrix", Linear Algebra and its
    Applications 52 (1983).
    """
    if blocksize != 1:
        raise NotImplementedError(f"sqrtm: blocksize must be 1, got {blocksize!r}")
    return _sqrtm(A)


@fused
def _sqrtm(A: ArrayLike) -> Array:
    triangular, vectors = _complex_schur(_square_matrix("sqrtm", A))
    root = jnp.diag(jnp.sqrt(jnp.diagonal(triangular)))

    def element(i: ArrayLike, j: ArrayLike, root: ArrayLike) -> Array:
        """Row i of the products below the diagonals is known: what is not computed yet is still 0."""
        rest = triangular[i, j] - _product(root[i, :], root[:, j])
        total = root[i, i] + root[j, j]
        return root.at[i, j].set(jnp.where(total == 0, 0, rest / jnp.where(total == 0, 1, total)))

    def column(j: ArrayLike, root: ArrayLike) -> Array:
        return fori_loop(0, j, lambda k, root: element(j - 1 - k, j, root), root)
    root = fori_loop(0, root.shape[0], column, root)
    return _product(vectors, root, la.adjoint(vectors))


def funm(A: ArrayLike, func: Callable, disp: bool = True) -> Any:
    """A function of a matrix, by Parlett's recurrence on its Schur decomposition; on CPU only.

    Args:
      A: [n, n]; the recurrence is inaccurate where eigenvalues nearly coincide.
      func: an elementwise function of complex arrays.
      disp: whether the result alone is returned.

    Returns:
      The matrix [n, n], complex, and without `disp` an estimate of its relative error.

    Raises:
      TypeError: if func is not callable.

    Example:
      >>> funm(jnp.array([[1., 1.], [0., 2.]]), jnp.exp)
      Array([[2.7182817+0.j, 4.6707745+0.j],
             [0.       +0.j, 7.389056 +0.j]], dtype=complex64)

    Source: G. Golub and C. Van Loan, "Matrix Computations", section 9.1 (Algorithm 9.1.1 in the fourth edition).
    """
    if not callable(func):
        raise TypeError(f"funm: func must be a function, got {func!r}")
    result = _funm(A, func=func)
    return result[0] if disp else result


@fused(static_argnames=("func",))
def _funm(A: ArrayLike, func: Callable) -> tuple[Array, Array]:
    triangular, vectors = _complex_schur(_square_matrix("funm", A))
    n = triangular.shape[0]
    values = jnp.diag(func(jnp.diagonal(triangular)))
    indices, real = jnp.arange(n), real_dtype(triangular.dtype)

    def element(i: ArrayLike, j: ArrayLike, state: tuple[ArrayLike, ...]) -> tuple[Array, Array]:
        values, least = state
        between = (indices > i) & (indices < j)
        s = triangular[i, j] * (values[j, j] - values[i, i])
        s = s + jnp.sum(jnp.where(between, triangular[i, :] * values[:, j] - values[i, :] * triangular[:, j], 0))
        distance = triangular[j, j] - triangular[i, i]
        value = jnp.where(distance == 0, s, s / jnp.where(distance == 0, 1, distance))
        return values.at[i, j].set(value), jnp.minimum(least, jnp.abs(distance))

    def diagonal(p: ArrayLike, state: tuple[ArrayLike, ...]) -> tuple[Array, Array]:
        return fori_loop(0, n - p, lambda i, state: element(i, i + p, state), state)
    values, least = fori_loop(1, n, diagonal, (values, jnp.max(jnp.abs(triangular), initial=0)))
    result = _product(vectors, values, la.adjoint(vectors))
    eps = float(dtypes.finfo(real).eps)
    above = jnp.max(jnp.sum(jnp.abs(jnp.triu(triangular, 1)), axis=0), initial=0)
    error = jnp.minimum(1, jnp.maximum(eps, eps / jnp.where(least == 0, eps, least) * above))
    return result, jnp.where(jnp.all(jnp.isfinite(values)), error, math.inf).astype(real)


def solve_sylvester(A: ArrayLike, B: ArrayLike, C: ArrayLike, *, method: str = "schur", tol: float = 1e-8) -> Array:
    """Solution X of Sylvester's equation A X + X B = C; on CPU only.

    Args:
      A: [..., m, m].
      B: [..., n, n].
      C: [..., m, n]; the batch axes of the three are broadcast.
      method: "schur", by Bartels and Stewart's algorithm, or "eigen", by the eigenvectors, which must be independent.
      tol: where the sum of an eigenvalue of A and one of B is smaller, there is no solution.

    Returns:
      [..., m, n], real if all arguments are; NaN where there is no solution.

    Raises:
      ValueError: if the method is unknown or the shapes do not fit.

    Example:
      >>> a, b = jnp.array([[1., 0.], [0., 2.]]), jnp.array([[3.]])
      >>> solve_sylvester(a, b, jnp.array([[4.], [10.]]))
      Array([[1.],
             [2.]], dtype=float32)
    """
    if method not in ("schur", "eigen"):
        raise ValueError(f"solve_sylvester: method must be 'schur' or 'eigen', got {method!r}")
    return _solve_sylvester(A, B, C, method=method, tol=float(tol))


@fused(static_argnames=("method", "tol"))
def _solve_sylvester(A: ArrayLike, B: ArrayLike, C: ArrayLike, method: str, tol: float) -> Array:
    A, B, C = _promoted("solve_sylvester", A, B, C)
    A, B = _square("solve_sylvester", A), _square("solve_sylvester", B)
    if shape_of(C)[-2:] != (A.shape[-1], B.shape[-1]):
        raise ValueError(f"solve_sylvester: C must be [m, n] for A [m, m] and B [n, n], got {get_aval(A).str_short()}, "
                         f"{get_aval(B).str_short()} and {get_aval(C).str_short()}")
    solve = _sylvester_by_schur if method == "schur" else _sylvester_by_eigenvectors

    def solve_matrix(A: Array, B: Array, C: Array) -> Array:
        result, sums = solve(A, B, C)
        if not dtypes.issubdtype(dtype_of(A), dtypes.complexfloating):
            result = jnp.real(result)
        return jnp.where(jnp.any(jnp.abs(sums) < tol), jnp.full_like(result, math.nan), result)

    return vectorize(solve_matrix, signature="(m,m),(n,n),(m,n)->(m,n)")(A, B, C)


def _sylvester_by_schur(A: ArrayLike, B: ArrayLike, C: ArrayLike) -> tuple[Array, Array]:
    (R, U), (S, V) = _complex_schur(A), _complex_schur(B)
    F = _product(la.adjoint(U), convert(C, R.dtype), V)

    def column(k: ArrayLike, Y: ArrayLike) -> Array:
        right = F[:, k] - _product(Y, S[:, k])  # the columns of Y from k on are 0
        return Y.at[:, k].set(la.triangular_solve(R + S[k, k] * jnp.eye(R.shape[0], dtype=R.dtype), right, left_side=True))
    Y = fori_loop(0, S.shape[0], column, jnp.zeros_like(F))
    return _product(U, Y, la.adjoint(V)), jnp.diagonal(R)[:, None] + jnp.diagonal(S)[None]


def _sylvester_by_eigenvectors(A: ArrayLike, B: ArrayLike, C: ArrayLike) -> tuple[Array, Array]:
    (a, U), (b, V) = factorizations.eig(A), factorizations.eig(B)
    sums = a[:, None] + b[None]
    return _product(U, equations.solve(U, _product(convert(C, U.dtype), V)) / sums, equations.inv(V)), sums


# --- polar decomposition ---


def polar(a: ArrayLike, side: str = "right", *, method: str = "qdwh", eps: float | None = None, max_iterations: int | None = None) \
        -> tuple[Any, Any]:
    """Polar decomposition, a = U P or a = P U, with orthonormal U and positive semidefinite P.

    Args:
      a: [..., m, n]; with "qdwh", m >= n for the right side and m <= n for the left one.
      side: where P stands.
      method: "qdwh", an iteration of matrix products, or "svd".
      eps: for "qdwh", the relative change at which the iteration ends; by default ten times the rounding error.
      max_iterations: for "qdwh"; by default 10.

    Returns:
      U [..., m, n], and P [..., n, n], or [..., m, m] for the left side.

    Raises:
      ValueError: if the side or the method is unknown, or a is no matrix.
      NotImplementedError: if "qdwh" is asked for the other shapes.

    Example:
      >>> u, p = polar(jnp.array([[0., -2.], [3., 0.]]))
      >>> u
      Array([[ 0., -1.],
             [ 1.,  0.]], dtype=float32)
      >>> p
      Array([[3., 0.],
             [0., 2.]], dtype=float32)

    Source: Y. Nakatsukasa, Z. Bai and F. Gygi, "Optimizing Halley's Iteration for Computing the Matrix Polar Decomposition",
    SIAM J. Matrix Anal. Appl. 31 (2010).
    """
    if side not in ("right", "left"):
        raise ValueError(f"polar: side must be 'right' or 'left', got {side!r}")
    if method not in ("qdwh", "svd"):
        raise ValueError(f"polar: method must be 'qdwh' or 'svd', got {method!r}")
    if method == "svd" and (eps is not None or max_iterations is not None):
        raise ValueError(f"polar: eps and max_iterations are for method='qdwh', got {eps=} and {max_iterations=}")
    return _polar(a, side=side, method=method, eps=eps, max_iterations=10 if max_iterations is None else operator.index(max_iterations))


@fused(static_argnames=("side", "method", "eps", "max_iterations"))
def _polar(a: ArrayLike, side: str, method: str, eps: Any, max_iterations: int) -> tuple[Array, Array]:
    a = jnp.asarray(inexact("polar", a))
    if a.ndim < 2:
        raise ValueError(f"polar: a must be a matrix or a batch of them, [..., m, n], got {get_aval(a).str_short()}")

    def decompose(a: Array) -> tuple[Array, Array]:
        return _polar_matrix(a, side, method, eps, max_iterations)

    return vectorize(decompose, signature="(m,n)->(m,n),(k,k)")(a)


def _polar_matrix(a: Array, side: str, method: str, eps: Any, max_iterations: int) -> tuple[Array, Array]:
    m, n = a.shape
    if method == "svd":
        u, s, vh = factorizations.svd(a, full_matrices=False)
        s = convert(s, a.dtype)
        return _product(u, vh), _product(la.adjoint(vh) * s[None], vh) if side == "right" else _product(u * s[None], la.adjoint(u))
    if m < n if side == "right" else m > n:
        raise NotImplementedError(f"polar: method='qdwh' is for m >= n with side='right' and for m <= n with side='left', got {a.shape} "
                                  f"with {side=}. Use method='svd'.")
    u = _orthonormal_factor(a if side == "right" else la.adjoint(a), eps, max_iterations)
    if side == "left":
        u = la.adjoint(u)
    return u, la.symmetrize(_product(la.adjoint(u), a) if side == "right" else _product(a, la.adjoint(u)))


def _orthonormal_factor(a: ArrayLike, eps: Any, max_iterations: int) -> Array:
    """Halley's iteration with weights chosen by a lower bound of the singular values, which tends to 1 with them."""
    n, real = a.shape[1], real_dtype(a.dtype)
    if not a.size:
        return a
    rounding = float(dtypes.finfo(real).eps)
    tolerance = 10 * rounding / 2 if eps is None else float(eps)
    norm = norms.norm(a, "fro")
    x = a / jnp.where(norm == 0, 1, norm).astype(a.dtype)
    eye = jnp.eye(n, dtype=a.dtype)

    def is_going(state: tuple[ArrayLike, ...]) -> Array:
        _, bound, change, count = state
        return (count < max_iterations) & ((jnp.abs(1 - bound) > tolerance) | (change > tolerance ** (1 / 3)))

    def step(state: tuple[ArrayLike, ...]) -> tuple[Array, ...]:
        x, bound, _, count = state
        square = bound * bound
        d = jnp.cbrt(4 * (1 - square) / (square * square))
        root = jnp.sqrt(1 + d)
        p = root + 0.5 * jnp.sqrt(8 - 4 * d + 8 * (2 - square) / (square * root))
        q = 0.25 * (p - 1) ** 2
        r = p + q - 1
        new = _halley_step(x, p, q, r, eye)
        change = norms.norm(new - x, "fro")
        return new, jnp.minimum(bound * (p + q * square) / (1 + r * square), 1), change, count + 1

    start = jnp.full((), rounding, real)  # smaller singular values cannot be told from 0
    result, *_ = while_loop(is_going, step, (x, start, jnp.full((), math.inf, real), 0))
    return result


def _halley_step(x: ArrayLike, p: ArrayLike, q: ArrayLike, r: ArrayLike, eye: ArrayLike) -> Array:
    """q/r x + (p - q/r) x (I + r x^H x)^-1, by QR of [sqrt(r) x; I], which stays accurate for large r."""
    p, q, r = (jnp.asarray(v, x.dtype) for v in (p, q, r))
    factor, _ = la.qr(jnp.concatenate([jnp.sqrt(r) * x, eye]), full_matrices=False)
    top, bottom = factor[:x.shape[0]], factor[x.shape[0]:]
    return (q / r) * x + (p - q / r) / jnp.sqrt(r) * _product(top, la.adjoint(bottom))
