"""Terms of entropies, elementwise, as in `scipy.special`: x log(y), and what is made of it, with its limits at 0.

Where a formula has a removable singularity, the operand is replaced by a harmless one before the formula is computed, so that the
derivative has no NaN there either.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Callable

from laminax_transforms import custom_jvp

from laminax._src.numerics.floor import fused
from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.numpy.arguments import promote_inexact, promote_real_inexact, strong_unless_scalar

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike


@fused
def xlogy(x: ArrayLike, y: ArrayLike) -> Array:
    """x log(y), elementwise, and 0 where x is 0 and y no NaN.

    Args:
      x: an array or scalar, real or complex.
      y: an array or scalar that broadcasts with x.

    Returns:
      A float or complex array of the joint shape.

    Example:
      >>> xlogy(jnp.array([0., 2.]), jnp.array([0., 3.]))
      Array([0.       , 2.1972246], dtype=float32)
    """
    return _xlogy(*promote_inexact("xlogy", x, y))


@custom_jvp
def _xlogy(x: Any, y: Any) -> Any:
    return _zero_times(x, y, jnp.log)


@_xlogy.defjvp
def _xlogy_jvp(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, Array]:
    (x, y), (x_dot, y_dot) = primals, tangents
    return _xlogy(x, y), x_dot * jnp.log(y) + y_dot * (x / y)


@fused
def xlog1py(x: ArrayLike, y: ArrayLike) -> Array:
    """x log(1 + y), elementwise and accurate for small y; 0 where x is 0 and y no NaN.

    Args:
      x: an array or scalar, real or complex.
      y: an array or scalar that broadcasts with x.

    Returns:
      A float or complex array of the joint shape.

    Example:
      >>> xlog1py(jnp.array([0., 2.]), jnp.array([-1., 1e-3]))
      Array([0.      , 0.001999], dtype=float32)
    """
    return _xlog1py(*promote_inexact("xlog1py", x, y))


@custom_jvp
def _xlog1py(x: Any, y: Any) -> Any:
    return _zero_times(x, y, jnp.log1p)


@_xlog1py.defjvp
def _xlog1py_jvp(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, Array]:
    (x, y), (x_dot, y_dot) = primals, tangents
    return _xlog1py(x, y), x_dot * jnp.log1p(y) + y_dot * (x / (1 + y))


def _zero_times(x: Any, y: Any, function: Callable) -> Any:
    is_zero = (x == 0) & (y == y)
    product = x * function(y)
    return jnp.where(is_zero, jnp.zeros_like(product), product)


@fused
def entr(x: ArrayLike) -> Array:
    """A term of an entropy, -x log(x), elementwise.

    Args:
      x: a real array or scalar.

    Returns:
      A float array of x's shape; 0 at 0 and -inf below.

    Raises:
      ValueError: if x is complex.

    Example:
      >>> entr(jnp.array([0., 0.5, 1.]))
      Array([ 0.       ,  0.3465736, -0.       ], dtype=float32)
    """
    return _entr(*promote_real_inexact("entr", x=x))


@custom_jvp
def _entr(x: Any) -> Any:
    return jnp.where(x < 0, jnp.full_like(x, -math.inf), -_xlogy(x, x))


@_entr.defjvp
def _entr_jvp(primals: tuple[Any, ...], tangents: tuple[ArrayLike, ...]) -> tuple[Any, Array]:
    """Its slope is infinite at 0: as a derivative of xlogy in both arguments it would be inf + 0/0."""
    (x,), (x_dot,) = primals, tangents
    return _entr(x), x_dot * (-1 - jnp.log(x))


@fused
def rel_entr(p: ArrayLike, q: ArrayLike) -> Array:
    """A term of a relative entropy, p log(p / q), elementwise.

    Args:
      p: a real array or scalar.
      q: a real array or scalar that broadcasts with p.

    Returns:
      A float array of the joint shape; 0 where p is 0 and q is not negative, inf where the term has no other value.

    Raises:
      ValueError: if an argument is complex.

    Example:
      >>> rel_entr(jnp.array([0., 0.5, 0.5]), jnp.array([0.5, 0.25, 0.]))
      Array([0.       , 0.3465736,       inf], dtype=float32)
    """
    p, q = jnp.broadcast_arrays(*promote_real_inexact("rel_entr", p=p, q=q))
    is_inside = (p > 0) & (q > 0) | jnp.isnan(p) | jnp.isnan(q)
    is_zero = (p == 0) & (q >= 0)
    safe_p, safe_q = jnp.where(is_inside, p, jnp.ones_like(p)), jnp.where(is_inside, q, jnp.ones_like(q))
    outside = jnp.where(is_zero, jnp.zeros_like(p), jnp.full_like(p, math.inf))
    return strong_unless_scalar(jnp.where(is_inside, _times_log_quotient(safe_p, safe_q), outside), p, q)


@custom_jvp
def _times_log_quotient(p: Any, q: Any) -> Any:
    return p * jnp.log(p / q)


@_times_log_quotient.defjvp
def _times_log_quotient_jvp(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, Any]:
    """Without squares and cubes of the numbers, which overflow, and vanish, long before the derivatives do."""
    (p, q), (p_dot, q_dot) = primals, tangents
    return _times_log_quotient(p, q), p_dot * (1 + _log_quotient(p, q)) - q_dot * (p / q)


@custom_jvp
def _log_quotient(p: Any, q: Any) -> Any:
    return jnp.log(p / q)


@_log_quotient.defjvp
def _log_quotient_jvp(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, Any]:
    (p, q), (p_dot, q_dot) = primals, tangents
    return _log_quotient(p, q), p_dot / p - q_dot / q


@fused
def kl_div(p: ArrayLike, q: ArrayLike) -> Array:
    """A term of the divergence of Kullback and Leibler, p log(p / q) - p + q, elementwise.

    Args:
      p: a real array or scalar.
      q: a real array or scalar that broadcasts with p.

    Returns:
      A float array of the joint shape; inf where p or q is negative or q alone is 0.

    Raises:
      ValueError: if an argument is complex.

    Example:
      >>> kl_div(jnp.array([0., 0.5, 0.5]), jnp.array([0.5, 0.25, 0.]))
      Array([0.5       , 0.09657359,        inf], dtype=float32)
    """
    p, q = jnp.broadcast_arrays(*promote_real_inexact("kl_div", p=p, q=q))
    is_inside = (p > 0) & (q > 0) | jnp.isnan(p) | jnp.isnan(q)
    safe_p, safe_q = jnp.where(is_inside, p, jnp.ones_like(p)), jnp.where(is_inside, q, jnp.ones_like(q))
    outside = jnp.where((p == 0) & (q >= 0), q, jnp.full_like(p, math.inf))
    return strong_unless_scalar(jnp.where(is_inside, rel_entr(safe_p, safe_q) - safe_p + safe_q, outside), p, q)
