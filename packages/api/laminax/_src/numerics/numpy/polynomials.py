"""Polynomials as vectors of coefficients, the highest power first."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Sequence

import numpy as np

from laminax_ir.functions import operators
from laminax_ir.ops import elementwise as op
from laminax_ir.ops import shape as shape_ops
from laminax_ir.ops.shape_arguments import broadcast_shapes
from laminax_ir.ops.slicing import slice_in_dim
from laminax_ir.types import dtypes
from laminax_ir.types.avals import get_aval

from laminax._src.numerics.floor import fused
from laminax._src.numerics.numpy import reductions
from laminax._src.numerics.numpy.arguments import (
    as_array,
    concrete_numpy,
    convert,
    dtype_of,
    ensure_array,
    ensure_arrays,
    promote_dtypes,
    promote_inexact,
    shape_of,
)
from laminax._src.numerics.numpy.conversion import asarray
from laminax._src.numerics.numpy.creation import zeros
from laminax._src.numerics.numpy.diagonals import diag, vander
from laminax._src.numerics.numpy.joining import concatenate
from laminax._src.numerics.numpy.linalg import equations
from laminax._src.numerics.numpy.matrix_products import dot
from laminax._src.numerics.numpy.reductions import argmax
from laminax._src.numerics.numpy.repeating import roll, trim_zeros
from laminax._src.numerics.numpy.reshaping import atleast_1d, broadcast_to
from laminax._src.numerics.numpy.selection import where
from laminax._src.numerics.numpy.signals import convolve
from laminax._src.numerics.numpy.sorting import argsort

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike


def polyval(p: ArrayLike, x: ArrayLike, *, unroll: int = 16) -> Array:
    """The value of a polynomial at points, by Horner's rule.

    Args:
      p: the coefficients, highest power first; further axes are broadcast against x.
      x: the points.
      unroll: without effect; the rule is a loop for more coefficients than this.

    Example:
      >>> jnp.polyval(jnp.array([1.0, 0.0, -1.0]), 3.0)
      Array(8., dtype=float32)
    """
    return _polyval(p, x, unroll=operator.index(unroll))


def _check_coefficients(name: str, p: Any) -> None:
    if not shape_of(ensure_array(name, p)):
        raise ValueError(f"{name}: p must be an array of coefficients, of at least one axis, got the scalar {p!r}. Give numpy.array([p]) "
                         "for a constant polynomial.")


@fused(static_argnames=("unroll",))
def _polyval(p: ArrayLike, x: ArrayLike, unroll: int) -> Array:
    _check_coefficients("polyval", p)
    p, x = promote_dtypes("polyval", p, x)
    p = as_array(p)
    shape = broadcast_shapes(p.shape[1:], shape_of(x))
    x = shape_ops.broadcast_to_shape(as_array(x), shape)
    y = shape_ops.full(shape, 0, dtype_of(p))
    if type(p.shape[0]) is not int or p.shape[0] > unroll:
        from laminax_ir.ops.loops import scan
        return scan(lambda acc, c: (operators.add(operators.multiply(acc, x), _of_rank(c, shape)), None), y, p)[0]
    for i in range(p.shape[0]):
        y = operators.add(operators.multiply(y, x), _of_rank(p[i], shape))
    return y


def _of_rank(coefficient: Any, shape: tuple) -> Any:
    """A coefficient with leading axes of size 1, so that adding it promotes no rank."""
    missing = len(shape) - len(shape_of(coefficient))
    return shape_ops.expand_dims(coefficient, tuple(range(missing)))


def polyadd(a1: ArrayLike, a2: ArrayLike) -> Array:
    """The sum of two polynomials.

    Args:
      a1: coefficients, of the highest power first.
      a2: likewise.

    Returns:
      The coefficients, as many as the longer argument has.

    Example:
      >>> jnp.polyadd(jnp.array([1, 2]), jnp.array([1, 0, 0]))
      Array([1, 1, 2], dtype=int32)
    """
    return _combine("polyadd", a1, a2, operators.add)


def polysub(a1: ArrayLike, a2: ArrayLike) -> Array:
    """The difference of two polynomials.

    Args:
      a1: coefficients, of the highest power first.
      a2: likewise.

    Returns:
      The coefficients, as many as the longer argument has.

    Example:
      >>> jnp.polysub(jnp.array([1, 2]), jnp.array([1, 0, 0]))
      Array([-1,  1,  2], dtype=int32)
    """
    return _combine("polysub", a1, a2, operators.subtract)


def _combine(name: str, a1: Any, a2: Any, function: Callable) -> Array:
    a1, a2 = atleast_1d(*promote_dtypes(name, a1, a2))
    if a1.shape[0] < a2.shape[0]:
        return function(_with_zeros_in_front(a1, a2.shape), a2)
    return function(a1, _with_zeros_in_front(a2, a1.shape))


def _with_zeros_in_front(x: Array, shape: Sequence[int]) -> Array:
    """Coefficients of lower powers as ones of that shape; they may be one for many polynomials."""
    x = broadcast_to(x, (x.shape[0], *shape[1:]))
    return shape_ops.pad(x, np.zeros((), x.dtype)[()], [(shape[0] - x.shape[0], 0, 0), *[(0, 0, 0)] * (len(shape) - 1)])


def polymul(a1: ArrayLike, a2: ArrayLike, *, trim_leading_zeros: bool = False) -> Array:
    """The product of two polynomials.

    Args:
      a1, a2: the coefficients.
      trim_leading_zeros: whether zeros in front are removed first, which needs known values.

    Example:
      >>> jnp.polymul(jnp.array([1, 1]), jnp.array([1, 2]))
      Array([1., 3., 2.], dtype=float32)
    """
    a1, a2 = map(atleast_1d, promote_inexact("polymul", a1, a2))
    if trim_leading_zeros and (a1.shape[0] > 1 or a2.shape[0] > 1):
        a1, a2 = trim_zeros(a1, "f"), trim_zeros(a2, "f")
    a1 = a1 if a1.shape[0] else zeros(1, a1.dtype)
    a2 = a2 if a2.shape[0] else zeros(1, a2.dtype)
    return convolve(a1, a2, "full")


def polydiv(u: ArrayLike, v: ArrayLike, *, trim_leading_zeros: bool = False) -> tuple[Array, Array]:
    """Quotient and remainder of two polynomials.

    Args:
      u, v: the coefficients.
      trim_leading_zeros: whether zeros in front of the remainder are removed, which needs known values.

    Returns:
      (quotient, remainder).

    Raises:
      ValueError: if v has no coefficients.

    Example:
      >>> jnp.polydiv(jnp.array([1.0, 3.0, 2.0]), jnp.array([1.0, 1.0]))
      (Array([1., 2.], dtype=float32), Array([0., 0., 0.], dtype=float32))
    """
    u, v = atleast_1d(*promote_inexact("polydiv", u, v))
    if not v.shape[0]:
        raise ValueError("polydiv: v has no coefficients, and there is no division by the polynomial 0")
    m, n = u.shape[0] - 1, v.shape[0] - 1
    quotient = []
    scale = operators.true_divide(1.0, v[0])
    for k in range(m - n + 1):
        q = operators.multiply(scale, u[k])
        quotient.append(shape_ops.reshape(q, (1,)))
        u = u.at[k:k + n + 1].add(operators.multiply(op.neg(q), v))
    q = concatenate(quotient) if quotient else zeros(1, u.dtype)
    return q, trim_zeros(u, "f") if trim_leading_zeros else u


def polyder(p: ArrayLike, m: int = 1) -> Array:
    """The m-th derivative of a polynomial.

    Args:
      p: the coefficients, of the highest power first.
      m: how often, 0 or more.

    Returns:
      The coefficients of the derivative, floats or complex numbers.

    Raises:
      ValueError: if m is negative, or p is a scalar.

    Example:
      >>> jnp.polyder(jnp.array([1, 2, 3]))
      Array([2., 2.], dtype=float32)
    """
    p = ensure_array("polyder", p)
    _check_coefficients("polyder", p)
    m = operator.index(m)
    if m < 0:
        raise ValueError(f"polyder: the order of the derivative must be positive, got {m}")
    p = convert(p, dtypes.to_inexact_dtype(dtype_of(p)))
    size = shape_of(p)[0]
    if m == 0:
        return as_array(p)
    if m >= size:
        return zeros(0, dtype_of(p))
    powers = np.arange(size - 1, m - 1, -1, dtype=np.float64)
    factors = np.prod([powers - i for i in range(m)], axis=0)
    return operators.multiply(slice_in_dim(p, 0, size - m), factors.astype(dtype_of(p)))


def polyint(p: ArrayLike, m: int = 1, k: Any = None) -> Array:
    """The m-th integral of a polynomial.

    Args:
      p: the coefficients.
      m: how often.
      k: the constants of integration, one for each time, by default 0.

    Returns:
      The coefficients of the integral, floats or complex numbers.

    Raises:
      ValueError: if m is negative, p is a scalar, or k has another number of entries.

    Example:
      >>> jnp.polyint(jnp.array([2.0, 1.0]))
      Array([1., 1., 0.], dtype=float32)
    """
    m = operator.index(m)
    if m < 0:
        raise ValueError(f"polyint: the order of the integral must be positive, got {m}")
    constants = 0 if k is None else k
    _check_coefficients("polyint", p)
    p, constants = promote_inexact("polyint", p, asarray(constants) if isinstance(constants, (list, tuple)) else constants)
    p, constants = as_array(p), atleast_1d(as_array(constants))
    if m == 0:
        return p
    if constants.shape[0] == 1:
        constants = shape_ops.broadcast_to_shape(constants, (m,))
    if constants.shape != (m,):
        raise ValueError(f"polyint: k must be a scalar or have {m} entries, got {constants.shape}")
    for i in range(m):
        size = p.shape[0]
        divisors = np.arange(size, 0, -1).astype(p.dtype)
        p = concatenate([operators.true_divide(p, divisors), constants[i:i + 1]])
    return p


def poly(seq_of_zeros: ArrayLike) -> Array:
    """The polynomial with given roots, or the characteristic polynomial of a square matrix.

    Args:
      seq_of_zeros: the roots, a vector; or a square matrix.

    Returns:
      The coefficients, of the highest power first, floats or complex numbers.

    Raises:
      ValueError: if it is neither a vector nor a square matrix.

    Example:
      >>> jnp.poly(jnp.array([1.0, 2.0]))
      Array([ 1., -3.,  2.], dtype=float32)
    """
    roots_ = atleast_1d(as_array(ensure_array("poly", seq_of_zeros)))
    if len(roots_.shape) == 2 and roots_.shape[0] == roots_.shape[1] and roots_.shape[0]:
        from laminax_ir.ops.linalg import eig
        roots_ = convert(roots_, dtypes.to_inexact_dtype(roots_.dtype))
        roots_ = eig(roots_, compute_left_eigenvectors=False, compute_right_eigenvectors=False)[0]
    if len(roots_.shape) != 1:
        raise ValueError(f"poly: input must be 1d or non-empty square 2d array, got {get_aval(roots_).str_short()}")
    roots_ = convert(roots_, dtypes.to_inexact_dtype(roots_.dtype))
    if not roots_.shape[0]:
        return shape_ops.full((), 1, roots_.dtype)  # a number, as NumPy has it
    result = shape_ops.full((1,), 1, roots_.dtype)
    for i in range(roots_.shape[0]):
        shifted = shape_ops.pad(result, np.zeros((), result.dtype)[()], [(1, 0, 0)])
        result = operators.subtract(shape_ops.pad(result, np.zeros((), result.dtype)[()], [(0, 1, 0)]),
                                    operators.multiply(roots_[i], shifted))
    return result


def roots(p: ArrayLike, *, strip_zeros: bool = True) -> Array:
    """The roots of a polynomial: the eigenvalues of its companion matrix.

    Args:
      p: the coefficients.
      strip_zeros: whether zeros in front are removed first, which needs known values. Without it each of them stands for a root
        that is NaN, after the others.

    Returns:
      A complex vector.

    Raises:
      ValueError: if p is not of rank 1.
      ConcretizationTypeError: if p is traced and strip_zeros is True.

    Example:
      >>> jnp.sort(jnp.roots(jnp.array([1.0, -3.0, 2.0])).real).round(3)
      Array([1., 2.], dtype=float32)
    """
    p = ensure_array("roots", p)
    p = atleast_1d(convert(p, dtypes.to_inexact_dtype(dtype_of(p))))
    if len(p.shape) != 1:
        raise ValueError(f"roots: p must be a vector, got {get_aval(p).str_short()}")
    trailing = 0
    if strip_zeros:
        values = concrete_numpy("roots(strip_zeros=True)", "the coefficients", p)
        nonzero = np.flatnonzero(values)
        if not nonzero.size:
            return zeros(0, dtypes.to_complex_dtype(p.dtype))
        trailing = values.size - 1 - int(nonzero[-1])
        p = slice_in_dim(p, int(nonzero[0]), int(nonzero[-1]) + 1)
    n = p.shape[0] - 1
    if n >= 1 and not strip_zeros:
        return _roots_behind_zeros(p)
    found = zeros(0, dtypes.to_complex_dtype(p.dtype)) if n < 1 else _companion_eigenvalues(p)
    return concatenate([found, zeros(trailing, found.dtype)]) if trailing else found


@fused
def _roots_behind_zeros(p: ArrayLike) -> Array:
    """The roots, with NaN at the end for each of the zeros in front, whose number may be unknown.

    With those zeros moved to the end instead the polynomial has as many roots 0 more.
    """
    n = p.shape[0] - 1
    missing = argmax(op.ne(p, shape_ops.full((n + 1,), 0, p.dtype)))
    found = _companion_eigenvalues(roll(p, op.neg(missing)))
    found = found[argsort(op.eq(found, shape_ops.full((n,), 0, found.dtype)))]
    return where(operators.less(np.arange(n), operators.subtract(n, missing)), found, complex(np.nan, np.nan))


def _companion_eigenvalues(p: ArrayLike) -> Array:
    from laminax_ir.ops.linalg import eig

    n = p.shape[0] - 1
    below = diag(shape_ops.full((n - 1,), 1, p.dtype), -1) if n > 1 else shape_ops.full((1, 1), 0, p.dtype)
    first = op.neg(op.div(p[1:], shape_ops.broadcast_to_shape(p[0], (n,))))
    return eig(below.at[0].set(first), compute_left_eigenvectors=False, compute_right_eigenvectors=False)[0]


@fused(static_argnames=("deg", "rcond", "full", "cov"))
def polyfit(x: ArrayLike, y: ArrayLike, deg: int, rcond: float | None = None, full: bool = False, w: ArrayLike | None = None,
            cov: bool | str = False) -> Array | tuple[Array, ...]:
    """The polynomial of a degree that fits points best, by least squares.

    Args:
      x: the points, [n].
      y: the values, [n] or [n, k].
      deg: the degree.
      rcond: singular values below rcond times the greatest are left out, by default n times the dtype's epsilon.
      full: whether to return residuals, rank, singular values and rcond too.
      w: weights of the values, [n].
      cov: whether to return the covariance matrix of the coefficients too; "unscaled" leaves out the scale of the errors.

    Raises:
      ValueError, TypeError: if the shapes do not fit.

    Example:
      >>> jnp.polyfit(jnp.array([0.0, 1.0, 2.0]), jnp.array([1.0, 3.0, 5.0]), 1).round(3)
      Array([2., 1.], dtype=float32)
    """
    deg = operator.index(deg)
    if deg < 0:
        raise ValueError(f"polyfit: expected deg >= 0, got {deg}")
    x, y = ensure_arrays("polyfit", x, y)
    if len(shape_of(x)) != 1 or not shape_of(x)[0]:
        raise TypeError(f"polyfit: expected a non-empty 1D vector for x, got {get_aval(x).str_short()}")
    if len(shape_of(y)) not in (1, 2) or shape_of(y)[0] != shape_of(x)[0]:
        raise TypeError(f"polyfit: expected x and y to have the same length, y of 1 or 2 axes, got {get_aval(x).str_short()} and "
                        f"{get_aval(y).str_short()}")
    dtype = dtypes.to_inexact_dtype(dtypes.result_type(x, y))
    x, y = as_array(convert(x, dtype)), as_array(convert(y, dtype))
    order = deg + 1
    rcond = x.shape[0] * float(dtypes.finfo(dtype).eps) if rcond is None else rcond
    lhs, rhs = vander(x, order), y
    if w is not None:
        w = as_array(convert(ensure_array("polyfit", w), dtype))
        if w.shape != (y.shape[0],):
            raise TypeError(f"polyfit: expected w of shape ({y.shape[0]},), got {w.shape}")
        lhs = operators.multiply(lhs, shape_ops.expand_dims(w, (1,)))
        rhs = operators.multiply(rhs, shape_ops.expand_dims(w, (1,)) if len(rhs.shape) == 2 else w)
    scale = op.sqrt(reductions.sum(operators.multiply(lhs, lhs), axis=0))
    c, residuals, rank, s = equations.lstsq(operators.true_divide(lhs, shape_ops.expand_dims(scale, (0,))), rhs, rcond)
    c = operators.true_divide(c, shape_ops.expand_dims(scale, (1,)) if len(c.shape) == 2 else scale)
    if full:
        return c, residuals, rank, s, asarray(rcond)
    if not cov:
        return c
    base = equations.inv(dot(shape_ops.transpose(lhs, (1, 0)), lhs))
    if cov == "unscaled":
        factor = 1.0
    else:
        if x.shape[0] <= order:
            raise ValueError("polyfit: the number of data points must exceed order to scale the covariance matrix")
        factor = operators.true_divide(residuals, x.shape[0] - order)
    if len(y.shape) == 1:
        return c, operators.multiply(base, factor if cov == "unscaled" else shape_ops.expand_dims(factor, (0,)))
    if cov != "unscaled":
        factor = shape_ops.expand_dims(factor, (0, 1))
    return c, operators.multiply(shape_ops.expand_dims(base, (2,)), factor)
