"""The largest eigenvalues of a symmetric matrix, by products with it: the locally optimal block preconditioned conjugate gradient method.

Each step finds the best approximation in the space of the present one, its residuals, and the last change.
Source: Knyazev, "Toward the optimal preconditioned eigensolver", SIAM J. Sci. Comput. 23 (2001), without a preconditioner; the
basis is made orthonormal in each step, as Duersch et al., SIAM J. Sci. Comput. 40 (2018), recommend.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Callable

from laminax_ir.ops import contraction, loops

from laminax._src.numerics.floor import eval_shape, jit
from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.numpy.linalg import factorizations, norms

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike

_EXACT = contraction.Precision.HIGHEST


def lobpcg_standard(A: Any, X: Any, m: int = 100, tol: Any = None) -> tuple[Array, ...]:  # noqa: N803
    """The largest eigenvalues of a symmetric positive semidefinite matrix, and their eigenvectors.

    Args:
      A: the matrix, [n, n], or a function that multiplies it with a matrix [n, k] of the dtype of X.
      X: [n, k], a first guess of the eigenvectors, such as random numbers; of full rank, with 5 k < n.
      m: the largest number of steps.
      tol: when to stop: when |A u - theta u| < 10 n tol (theta + |A u|) for each eigenvector u; the dtype's epsilon if None.

    Returns:
      The eigenvalues, [k], in decreasing order, the eigenvectors, [n, k], orthonormal, and the number of steps made.

    Raises:
      ValueError: if shapes or dtypes do not fit.

    Example:
      >>> theta, _, _ = lobpcg_standard(jnp.diag(jnp.arange(1.0, 13.0)), jnp.ones((12, 1)))
    """
    X = jnp.asarray(X)  # noqa: N806
    if X.ndim != 2:
        raise ValueError(f"lobpcg_standard: X must be a matrix [n, k], got shape {X.shape}")
    n, k = X.shape
    if not k:
        raise ValueError(f"lobpcg_standard: must have search dim > 0, got X of shape {X.shape}")
    if 5 * k >= n:
        raise ValueError(f"lobpcg_standard: expected search dim * 5 < matrix dim, got {k} * 5 and {n}. Use laminax.numpy.linalg.eigh.")
    if not callable(A):
        A = jnp.asarray(A)  # noqa: N806
        if A.shape != (n, n):
            raise ValueError(f"lobpcg_standard: A must be {(n, n)} for X of shape {X.shape}, got {A.shape}")
    out = eval_shape(A, X) if callable(A) else A
    if out.dtype != X.dtype:
        raise ValueError(f"lobpcg_standard: A, X must have same dtypes, got {out.dtype} and {X.dtype}")
    if callable(A) and out.shape != X.shape:
        raise ValueError(f"lobpcg_standard: A must be {(n, n)}: a function that returns a matrix of X's shape {X.shape}, got {out.shape}")
    tol = jnp.asarray(jnp.finfo(X.dtype).eps if tol is None else tol, X.dtype)
    steps = operator.index(m)
    if callable(A):
        return _compiled_with(A)(X, tol, m=steps)
    return _of_matrix(A, X, tol, m=steps)


def _compiled_with(product: Callable) -> Callable:
    return jit(lambda X, tol, m: _search(product, X, m, tol), static_argnames="m")  # noqa: N803


@jit(static_argnames="m")
def _of_matrix(A: ArrayLike, X: ArrayLike, tol: ArrayLike, *, m: int) -> tuple[Array, ...]:  # noqa: N803
    return _search(lambda x: _product(A, x), X, m, tol)


def _product(a: ArrayLike, b: ArrayLike) -> Array:
    return jnp.matmul(a, b, precision=_EXACT)


def _search(product: Callable, X: ArrayLike, m: int, tol: ArrayLike) -> tuple[Array, ...]:  # noqa: N803
    n, k = X.shape

    def best(basis: ArrayLike) -> tuple[Array, Array]:
        """The eigenvalues of the matrix on a space with this orthonormal basis, decreasing, and its eigenvectors."""
        projected = _product(basis.T, product(basis))
        values, vectors = factorizations.eigh((projected + projected.T) / 2)
        return values[::-1][:k], _product(basis, vectors[:, ::-1][:, :k])

    def residuals(theta: ArrayLike, X: ArrayLike) -> tuple[Array, Array]:  # noqa: N803
        AX = product(X)  # noqa: N806
        R = AX - X * theta[None, :]  # noqa: N806
        size = norms.norm(R, axis=0)
        is_done = size < 10 * n * tol * (theta + norms.norm(AX, axis=0))
        return R, jnp.all(is_done)

    def step(state: tuple[ArrayLike, ...]) -> tuple[Array, ...]:
        i, _, X, P, R, _ = state  # noqa: N806
        basis = factorizations.qr(jnp.concatenate([X, _unit(_without(X, R)), _unit(P)], axis=1))[0]
        theta, new = best(basis)
        change = _without(X, new)
        R, is_done = residuals(theta, new)  # noqa: N806
        return i + 1, theta, new, change, R, is_done

    def goes_on(state: tuple[ArrayLike, ...]) -> Array:
        return (state[0] < m) & ~state[-1]

    theta, X = best(factorizations.qr(X)[0])  # noqa: N806
    R, is_done = residuals(theta, X)  # noqa: N806
    i, theta, X, *_ = loops.while_loop(goes_on, step, (jnp.asarray(0), theta, X, jnp.zeros_like(X), R, is_done))  # noqa: N806
    return theta, X, i


def _without(X: ArrayLike, Y: ArrayLike) -> Array:  # noqa: N803
    """Y without its part in the space of the orthonormal X, taken away twice since the first time leaves rounding errors."""
    for _ in range(2):
        Y = Y - _product(X, _product(X.T, Y))  # noqa: N806
    return Y


def _unit(X: ArrayLike) -> Array:  # noqa: N803
    """Columns of length 1, or 0."""
    size = norms.norm(X, axis=0, keepdims=True)
    return X / jnp.where(size > 0, size, 1)
