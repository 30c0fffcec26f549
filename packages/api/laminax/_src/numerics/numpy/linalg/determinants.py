"""Determinants, their signs and logarithms, with derivatives of their own: those of the factorizations cost more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from laminax_ir.ops import linalg as la
from laminax_transforms import custom_jvp

from laminax._src.numerics.floor import fused
from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.numpy.arguments import dtype_of, positions, shape_of
from laminax._src.numerics.numpy.linalg.equations import solve_matrices
from laminax._src.numerics.numpy.linalg.matrices import as_square, permuted_rows, product

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike


class SlogdetResult(NamedTuple):
    """The sign of a determinant, or its phase, and the logarithm of its absolute value."""
    sign: Any
    logabsdet: Any


@fused
def det(a: ArrayLike) -> Array:
    """Determinant.

    Args:
      a: [..., n, n].

    Returns:
      [...], floating or complex. Its derivative is right for singular matrices of rank n - 1 too, up to 3 by 3 for all.

    Raises:
      ValueError: if a is not square.

    Example:
      >>> jnp.linalg.det(jnp.array([[1.0, 2.0], [3.0, 4.0]])).round(3)
      Array(-2., dtype=float32)
    """
    a = as_square("det", a)
    n = shape_of(a)[-1]
    if n == 0:
        return jnp.ones(shape_of(a)[:-2], dtype_of(a))
    if type(n) is int and n <= 3:
        return _small_det(a, n)
    return _det(a)


def _small_det(a: Any, n: int) -> Any:
    """By the definition, a polynomial."""
    x = [[a[..., i, j] for j in range(n)] for i in range(n)]
    if n == 1:
        return x[0][0]
    if n == 2:
        return x[0][0] * x[1][1] - x[0][1] * x[1][0]
    return (x[0][0] * (x[1][1] * x[2][2] - x[1][2] * x[2][1]) - x[0][1] * (x[1][0] * x[2][2] - x[1][2] * x[2][0])
            + x[0][2] * (x[1][0] * x[2][1] - x[1][1] * x[2][0]))


@custom_jvp
def _det(a: ArrayLike) -> Array:
    factors, pivots, _ = la.lu(a)
    return jnp.prod(jnp.diagonal(factors, axis1=-2, axis2=-1), axis=-1) * _parity(pivots, dtype_of(a))


@_det.defjvp
def _det_jvp(primals: tuple[ArrayLike, ...], tangents: tuple[ArrayLike, ...]) -> tuple[Array, Array]:
    """d det = tr(adj(A) dA), adj(A) = det(A) A^-1 the cofactors."""
    (a,), (a_dot,) = primals, tangents
    result, solved = _cofactor_solve(a, a_dot)
    return result, jnp.trace(solved, axis1=-2, axis2=-1)


def _cofactor_solve(a: ArrayLike, b: ArrayLike) -> tuple[Array, Array]:
    """det(a), and det(a) a^-1 b, without a division by the last pivot, the only one that is 0 at rank n - 1."""
    factors, pivots, permutation = la.lu(a)
    sign = _parity(pivots, dtype_of(a))
    diagonal = jnp.diagonal(factors, axis1=-2, axis2=-1)
    others = (jnp.prod(diagonal[..., :-1], axis=-1) * sign)[..., None, None]
    whole = others * diagonal[..., -1:, None]
    y = la.triangular_solve(factors, permuted_rows(b, permutation), left_side=True, lower=True, unit_diagonal=True)
    last = others * y[..., -1:, :]
    first = whole * y[..., :-1, :] - product(factors[..., :-1, -1:], last)
    first = la.triangular_solve(factors[..., :-1, :-1], first, left_side=True)
    return whole[..., 0, 0], jnp.concatenate([first, last], axis=-2)


def _parity(pivots: Any, dtype: Any) -> Any:
    """1 for an even number of row exchanges, -1 for an odd one."""
    *batch, count = shape_of(pivots)
    places = positions(count).reshape((1,) * len(batch) + (count,))
    exchanges = jnp.sum(pivots != places, axis=-1, dtype=np.int32)
    return (1 - 2 * (exchanges % 2)).astype(dtype)


def slogdet(a: ArrayLike, *, method: str | None = None) -> SlogdetResult:
    """Sign of the determinant and logarithm of its absolute value.

    Args:
      a: [..., n, n].
      method: "lu" (None is the same) or "qr", the factorization to use.

    Returns:
      The sign [...], a complex number of magnitude 1 for complex matrices and 0 for singular ones; and the logarithm
      [...], real, -inf for singular ones.

    Raises:
      ValueError: if a is not square, or for another method.

    Example:
      >>> jnp.linalg.slogdet(jnp.diag(jnp.array([-1.0, 1.0])))
      SlogdetResult(sign=Array(-1., dtype=float32), logabsdet=Array(0., dtype=float32))
    """
    if method not in (None, "lu", "qr"):
        raise ValueError(f"slogdet: method must be None, 'lu' or 'qr', got {method!r}")
    return SlogdetResult(*_slogdet(a, method=method or "lu"))


@fused(static_argnames=("method",))
def _slogdet(a: ArrayLike, method: str) -> tuple[Array, Array]:
    a = as_square("slogdet", a)
    return (_slogdet_by_lu if method == "lu" else _slogdet_by_qr)(a)


@custom_jvp
def _slogdet_by_lu(a: ArrayLike) -> tuple[Array, Array]:
    factors, pivots, _ = la.lu(a)
    return _sign_and_logarithm(jnp.diagonal(factors, axis1=-2, axis2=-1), _parity(pivots, dtype_of(a)))


@custom_jvp
def _slogdet_by_qr(a: ArrayLike) -> tuple[Array, Array]:
    factors, taus = la.geqrf(a)
    # A reflection I - tau v v^H has the determinant -tau / conj(tau), and is the identity for tau = 0.
    is_identity = taus == 0
    reflections = jnp.where(is_identity, jnp.ones_like(taus), -taus / jnp.where(is_identity, jnp.ones_like(taus), jnp.conj(taus)))
    return _sign_and_logarithm(jnp.diagonal(factors, axis1=-2, axis2=-1), jnp.prod(reflections, axis=-1))


def _sign_and_logarithm(diagonal: ArrayLike, sign: ArrayLike) -> tuple[Array, Array]:
    return sign * jnp.prod(jnp.sign(diagonal), axis=-1), jnp.sum(jnp.log(jnp.abs(diagonal)), axis=-1)


def _slogdet_jvp(primals: tuple[ArrayLike, ...], tangents: tuple[ArrayLike, ...]) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """d log det = tr(A^-1 dA): the real part belongs to the logarithm, the imaginary one to the phase."""
    (a,), (a_dot,) = primals, tangents
    sign, logarithm = _slogdet_by_lu(a)
    change = jnp.trace(solve_matrices(a, a_dot), axis1=-2, axis2=-1)
    if not jnp.iscomplexobj(a):
        return (sign, logarithm), (jnp.zeros_like(sign), change)
    return (sign, logarithm), (sign * (change - change.real), change.real)


_slogdet_by_lu.defjvp(_slogdet_jvp)
_slogdet_by_qr.defjvp(_slogdet_jvp)
