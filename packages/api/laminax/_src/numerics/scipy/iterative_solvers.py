"""Iterative solvers of linear equations A x = b, where A is a matrix or a function, and b a pytree of arrays.

The iterations run until the residual's norm is at most max(tol |b|, atol). Derivatives solve another equation with A.
"""

from __future__ import annotations

import functools
import math
import operator
from typing import TYPE_CHECKING, Any, Callable

import numpy as np

from laminax_ir.ops.elementwise import convert_element_type
from laminax_ir.ops.loops import fori_loop, while_loop
from laminax_ir.pytrees.pytree import tree_flatten, tree_leaves, tree_map, tree_structure
from laminax_ir.types import dtypes
from laminax_ir.types.avals import get_aval, is_array_like
from laminax_transforms.custom.custom_solve import custom_linear_solve

from laminax._src.numerics.flatten_util import ravel_pytree
from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.numpy.linalg import equations
from laminax._src.numerics.scipy.linalg import solve_triangular

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike

_matmul = functools.partial(jnp.matmul, precision="highest")


def _as_function(name: str, A: Any) -> Callable:
    if callable(A):
        return A
    is_array = is_array_like(A) and not isinstance(A, (int, float, complex))
    if not is_array and not hasattr(A, "__matmul__"):
        raise TypeError(f"{name}: linear operator must be either a function or ndarray, or an object with the operator @, got {A!r} of "
                        f"type {type(A).__name__}")
    shape = getattr(A, "shape", None)
    if shape is not None and (len(shape) != 2 or shape[0] != shape[1]):
        raise ValueError(f"{name}: linear operator must be a square matrix, but has shape: {tuple(shape)}")
    return functools.partial(_matmul, A) if is_array else A.__matmul__


def _vdot(x: Any, y: Any) -> Any:
    """The inner product of pytrees."""
    parts = [jnp.vdot(a, b, precision="highest") for a, b in zip(tree_leaves(x), tree_leaves(y))]
    return functools.reduce(operator.add, parts)


def _norm(x: Any) -> Any:
    return jnp.sqrt(_vdot(x, x).real)


def _add_scaled(x: Any, factor: Any, y: Any) -> Any:
    """x + factor y, in x's dtypes."""
    return tree_map(lambda a, b: (a + factor * b).astype(a.dtype), x, y)


def _solved(name: str, solve: Callable, A: Any, b: Any, x0: ArrayLike | None, tol: float, atol: float, maxiter: int | None,
            M: ArrayLike | None, is_hermitian: bool, **options: Any) -> tuple[Any, None]:
    A = _as_function(name, A)
    M = (lambda x: x) if M is None else _as_function(name, M)
    is_weak = [get_aval(x).weak_type for x in tree_leaves(b)]
    b = tree_map(lambda x: jnp.asarray(x).astype(dtypes.to_inexact_dtype(get_aval(x).dtype)), b)
    x0 = tree_map(jnp.zeros_like, b) if x0 is None else x0
    if tree_structure(x0) != tree_structure(b):
        raise ValueError(f"{name}: x0 and b must have matching tree structure: {tree_structure(x0)} vs {tree_structure(b)}")
    shapes = [np.shape(x) for x in tree_leaves(x0)], [np.shape(x) for x in tree_leaves(b)]
    if shapes[0] != shapes[1]:
        raise ValueError(f"{name}: arrays in x0 and b must have matching shapes: {shapes[0]} vs {shapes[1]}")
    x0 = tree_map(lambda x, like: jnp.asarray(x).astype(like.dtype), x0, b)
    size = sum(math.prod(shape) for shape in shapes[1])
    maxiter = 10 * size if maxiter is None else maxiter
    run = functools.partial(solve, x0=x0, tol=tol, atol=atol, maxiter=maxiter, M=M, **options)
    is_real = not any(dtypes.issubdtype(x.dtype, np.complexfloating) for x in tree_leaves(b))  # a Hermitian A is not its own transpose
    leaves, tree = tree_flatten(custom_linear_solve(A, b, run, run, symmetric=is_hermitian and is_real))
    if not is_hermitian:  # a weak b has a weak solution, but for cg, as in JAX
        leaves = [convert_element_type(x, x.dtype, weak_type=True) if weak else x for x, weak in zip(leaves, is_weak)]
    return tree.unflatten(leaves), None


def cg(A: Any, b: Any, x0: Any = None, *, tol: Any = 1e-5, atol: Any = 0.0, maxiter: Any = None, M: Any = None) -> tuple[Any, None]:
    """Conjugate gradients, for a Hermitian positive definite A.

    Args:
      A: a matrix, the function x -> A x, or an object whose operator @ is it.
      b: an array, or a pytree of them.
      x0: where to start, like b; by default zeros.
      tol, atol: the residual's norm is to be at most max(tol |b|, atol).
      maxiter: how many iterations are made at most; by default ten times the number of unknowns.
      M: an approximate inverse of A, a matrix or a function.

    Returns:
      The solution, and None in place of information on the convergence.

    Raises:
      TypeError: if A is none of these.
      ValueError: if a matrix is not square, or x0 and b do not match.

    Example:
      >>> x, _ = cg(jnp.array([[4., 1.], [1., 3.]]), jnp.array([1., 2.]))
      >>> x
      Array([0.09090909, 0.6363636 ], dtype=float32)

    Source: J. Shewchuk, "An Introduction to the Conjugate Gradient Method Without the Agonizing Pain" (1994).
    """
    return _solved("cg", _cg, A, b, x0, tol, atol, maxiter, M, True)


def _cg(A: Callable, b: Any, x0: Any, tol: float, atol: float, maxiter: int, M: Callable) -> Any:
    limit = jnp.maximum(tol ** 2 * _vdot(b, b).real, atol ** 2)

    def is_going(state: tuple[Any, ...]) -> Array:
        _, r, gamma, _, k = state
        return (_vdot(r, r).real > limit) & (k < maxiter)

    def step(state: tuple[Any, ...]) -> tuple[Any, ...]:
        x, r, gamma, p, k = state
        Ap = A(p)
        alpha = gamma / _vdot(p, Ap)
        x, r = _add_scaled(x, alpha, p), _add_scaled(r, -alpha, Ap)
        z = M(r)
        new = _vdot(r, z)
        return x, r, new, _add_scaled(z, new / gamma, p), k + 1

    r = _add_scaled(b, -1, A(x0))
    z = M(r)
    return while_loop(is_going, step, (x0, r, _vdot(r, z), z, 0))[0]


def bicgstab(A: Any, b: Any, x0: ArrayLike | None = None, *, tol: Any = 1e-5, atol: Any = 0.0, maxiter: Any = None,
             M: Any = None) -> tuple[Any, None]:
    """Stabilized biconjugate gradients, for a general A.

    Args:
      A, b, x0, tol, atol, maxiter, M: as for `cg`.

    Returns:
      The solution, and None in place of information on the convergence.

    Raises:
      TypeError: if A is no matrix and no function.
      ValueError: if a matrix is not square, or x0 and b do not match.

    Example:
      >>> x, _ = bicgstab(jnp.array([[4., 1.], [2., 3.]]), jnp.array([1., 2.]))
      >>> x
      Array([0.1, 0.6], dtype=float32)

    Source: H. van der Vorst, "Bi-CGSTAB", SIAM J. Sci. Stat. Comput. 13 (1992).
    """
    return _solved("bicgstab", _bicgstab, A, b, x0, tol, atol, maxiter, M, False)


def _bicgstab(A: Callable, b: Any, x0: Any, tol: float, atol: float, maxiter: int, M: Callable) -> Any:
    limit = jnp.maximum(tol ** 2 * _vdot(b, b).real, atol ** 2)

    def is_going(state: tuple[Any, ...]) -> Array:
        _, r, *_, failed, k = state
        return (_vdot(r, r).real > limit) & (k < maxiter) & ~failed

    def step(state: tuple[Any, ...]) -> tuple[Any, ...]:
        x, r, shadow, alpha, omega, rho, p, q, _, k = state
        new_rho = _vdot(shadow, r)
        beta = new_rho / rho * alpha / omega
        p = _add_scaled(r, beta, _add_scaled(p, -omega, q))
        p_hat = M(p)
        q = A(p_hat)
        alpha = new_rho / _vdot(shadow, q)
        s = _add_scaled(r, -alpha, q)
        is_half = _vdot(s, s).real < limit  # already enough: the second half would divide 0 by 0
        s_hat = M(s)
        t = A(s_hat)
        square = _vdot(t, t)
        omega = jnp.where(square == 0, 0, _vdot(t, s) / jnp.where(square == 0, 1, square))
        half = _add_scaled(x, alpha, p_hat)
        full = _add_scaled(half, omega, s_hat)
        x = tree_map(lambda a, c: jnp.where(is_half, a, c), half, full)
        r = tree_map(lambda a, c: jnp.where(is_half, a, c), s, _add_scaled(s, -omega, t))
        failed = (new_rho == 0) | ((omega == 0) & ~is_half)  # broken down
        return x, r, shadow, alpha, omega, new_rho, p, q, failed, k + 1

    r = _add_scaled(b, -1, A(x0))
    one = jnp.ones((), jnp.result_type(*tree_leaves(b)))
    zeros = tree_map(jnp.zeros_like, r)
    return while_loop(is_going, step, (x0, r, r, one, one, one, zeros, zeros, jnp.zeros((), bool), 0))[0]


def gmres(A: Any, b: Any, x0: ArrayLike | None = None, *, tol: Any = 1e-5, atol: Any = 0.0, restart: int = 20, maxiter: int | None = None,
          M: Any = None, solve_method: str = "batched") -> tuple[Any, Any]:
    """Generalized minimal residuals, for a general A; the arguments are those of `cg`, and these.

    Args:
      restart: after how many products with A the basis is begun anew; it holds as many vectors.
      maxiter: how often it is begun anew at most.
      solve_method: "batched" solves the least-squares problem of a basis when it is whole. "incremental" keeps its matrix
        triangular by rotations, which tell the residual after every product with A: it stops as soon as that is small enough.

    Returns:
      The solution, and 0, or -1 if it has NaN.

    Raises:
      ValueError: for another solve_method.

    Example:
      >>> x, _ = gmres(lambda x: jnp.array([[4., 1.], [2., 3.]]) @ x, jnp.array([1., 2.]))
      >>> x
      Array([0.1, 0.6], dtype=float32)

    Source: Y. Saad and M. Schultz, "GMRES", SIAM J. Sci. Stat. Comput. 7 (1986).
    """
    if solve_method not in ("batched", "incremental"):
        raise ValueError(f"gmres: solve_method must be 'batched' or 'incremental', got {solve_method!r}")
    size = sum(math.prod(np.shape(x)) for x in tree_leaves(b))
    restart = min(operator.index(restart), size)
    solve_basis = _solve_whole_basis if solve_method == "batched" else _solve_growing_basis
    x, _ = _solved("gmres", _gmres, A, b, x0, tol, atol, maxiter, M, False, restart=restart, solve_basis=solve_basis)
    return x, jnp.where(jnp.isnan(_norm(x)), -1, 0)


def _gmres(A: Callable, b: Any, x0: Any, tol: float, atol: float, maxiter: int, M: Callable, restart: int, solve_basis: Callable) -> Any:
    flat_b, unravel = ravel_pytree(b)
    product = lambda v: ravel_pytree(M(A(unravel(v))))[0]  # noqa: E731
    residual = lambda x: ravel_pytree(M(_add_scaled(b, -1, A(unravel(x)))))[0]  # noqa: E731
    scale = _norm(M(b)) / jnp.where(_norm(b) == 0, 1, _norm(b))  # the residuals are those of M A x = M b
    limit = jnp.maximum(tol * _norm(b), atol) * scale

    def is_going(state: tuple[ArrayLike, ...]) -> Array:
        x, norm, k = state
        return (norm > limit) & (k < maxiter)

    def step(state: tuple[ArrayLike, ...]) -> tuple[Array, ...]:
        x, norm, k = state
        length = norm.astype(flat_b.dtype)
        basis = jnp.zeros((len(flat_b), restart + 1), flat_b.dtype).at[:, 0].set(residual(x) / length)
        right = jnp.zeros(restart + 1, flat_b.dtype).at[0].set(length)
        basis, y = solve_basis(product, basis, right, limit)
        x = x + _matmul(basis[:, :-1], y)
        return x, _norm(residual(x)), k + 1

    start = ravel_pytree(x0)[0]
    return unravel(while_loop(is_going, step, (start, _norm(residual(start)), 0))[0])


def _solve_whole_basis(product: Callable, basis: ArrayLike, right: ArrayLike, limit: ArrayLike) -> tuple[Array, Array]:
    """The basis [n, steps + 1] of the Krylov space, and the coefficients of the best solution in it, by least squares at the end."""
    steps = len(right) - 1

    def extend(j: ArrayLike, state: tuple[ArrayLike, ...]) -> tuple[Array, Array]:
        basis, hessenberg = state
        basis, column = _extended(product, basis, j)
        return basis, hessenberg.at[:, j].set(column)

    basis, hessenberg = fori_loop(0, steps, extend, (basis, jnp.zeros((steps + 1, steps), right.dtype)))
    return basis, equations.lstsq(hessenberg, right)[0]


def _solve_growing_basis(product: Callable, basis: ArrayLike, right: ArrayLike, limit: ArrayLike) -> tuple[Array, Array]:
    """The same by Givens rotations, which make each column of the matrix triangular and leave the residual's norm in `right`."""
    steps = len(right) - 1

    def is_going(state: tuple[ArrayLike, ...]) -> Array:
        _, _, _, right, j = state
        return (j < steps) & (abs(right[j]) > limit)

    def extend(state: tuple[ArrayLike, ...]) -> tuple[Array, ...]:
        basis, triangle, rotations, right, j = state
        basis, column = _extended(product, basis, j)
        column = fori_loop(0, j, lambda i, column: _rotated(column, i, *rotations[i]), column)
        length = jnp.sqrt(abs(column[j]) ** 2 + abs(column[j + 1]) ** 2).astype(column.dtype)
        c, s = (jnp.where(length == 0, default, column[i] / jnp.where(length == 0, 1, length)) for i, default in ((j, 1), (j + 1, 0)))
        column = _rotated(column, j, c, s)
        # a direction that A annihilates: nothing can be made of it, so its coefficient is 0
        column, kept = column.at[j].set(jnp.where(length == 0, 1, column[j])), jnp.where(length == 0, 0, right[j])
        right = _rotated(right.at[j].set(kept), j, c, s)
        return basis, triangle.at[:, j].set(column[:-1]), rotations.at[j].set(jnp.stack([c, s])), right, j + 1

    start = basis, jnp.eye(steps, dtype=right.dtype), jnp.zeros((steps, 2), right.dtype), right, 0
    basis, triangle, _, right, count = while_loop(is_going, extend, start)
    made = jnp.where(jnp.arange(steps) < count, right[:-1], 0)
    return basis, solve_triangular(triangle, made)


def _rotated(x: ArrayLike, i: ArrayLike, c: ArrayLike, s: ArrayLike) -> Array:
    """Components i and i + 1 of x, turned so that (c, s) becomes (1, 0)."""
    first, second = x[i], x[i + 1]
    return x.at[i].set(jnp.conj(c) * first + s * second).at[i + 1].set(c * second - s * first)


def _extended(product: Callable, basis: ArrayLike, j: ArrayLike) -> tuple[Array, Array]:
    """The orthonormal basis with the product of its vector j as the next, and that product's coefficients in the basis."""
    v = product(basis[:, j])
    length = _norm(v)
    column = jnp.zeros(basis.shape[1], v.dtype)
    for _ in range(2):  # twice is enough (Kahan and Parlett)
        part = _matmul(jnp.conj(basis.T), v)
        v, column = v - _matmul(basis, part), column + part
    norm = _norm(v)
    is_new = norm > 10 * float(dtypes.finfo(v.dtype).eps) * length  # otherwise the space holds the solution
    v = jnp.where(is_new, v / jnp.where(is_new, norm, 1).astype(v.dtype), 0)
    return basis.at[:, j + 1].set(v), column.at[j + 1].set(jnp.where(is_new, norm, 0).astype(v.dtype))
