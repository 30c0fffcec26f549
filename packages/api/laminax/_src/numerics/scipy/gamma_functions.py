"""The gamma and beta functions, their logarithms and incomplete forms, elementwise, as in `scipy.special`.

Operands are promoted and broadcast; integers are taken as floats.
"""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from laminax_ir.ops import special
from laminax_ir.types import dtypes
from laminax_ir.types.avals import get_aval

from laminax._src.numerics.floor import fused
from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.numpy.arguments import dtype_of, ensure_array, inexact, promote_inexact, promote_real_inexact, strong
from laminax._src.numerics.scipy.complex_gamma import complex_loggamma

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike


@fused
def gammasgn(x: ArrayLike) -> Array:
    """Sign of the gamma function, elementwise.

    Args:
      x: a real array or scalar.

    Returns:
      A float array of x's shape: 1 or -1; NaN at negative integers, at zeros the sign of the zero.

    Raises:
      ValueError: if x is complex.

    Example:
      >>> gammasgn(jnp.array([2.5, -0.5, -1.5]))
      Array([ 1., -1.,  1.], dtype=float32)
    """
    x = strong(*promote_real_inexact("gammasgn", x=x))
    floor = jnp.floor(x)
    negative = jnp.where(floor % 2 == 0, jnp.ones_like(x), -jnp.ones_like(x))
    negative = jnp.where(x == floor, jnp.full_like(x, math.nan), negative)
    positive = jnp.where(jnp.isnan(x), jnp.full_like(x, math.nan), jnp.ones_like(x))
    return jnp.where(x == 0, jnp.copysign(jnp.ones_like(x), x), jnp.where(x < 0, negative, positive))


@fused
def gamma(x: ArrayLike) -> Array:
    """Gamma function, elementwise: the integral of t**(x - 1) exp(-t) over positive t, continued to the complex plane.

    Args:
      x: an array or scalar, real or complex.

    Returns:
      An array of x's shape, float or complex. Of a real x it is NaN at negative integers, infinite at 0 and where the dtype does not
      hold the value; of a complex x it is NaN at 0 and the negative integers, and where x is not finite.

    Example:
      >>> gamma(jnp.array([0.5, 5., -1.5]))
      Array([ 1.7724539, 24.       ,  2.3632717], dtype=float32)
    """
    x = strong(inexact("gamma", x))
    if _is_complex(x):
        return jnp.exp(complex_loggamma(x))
    return gammasgn(x) * jnp.exp(special.lgamma(x))


@fused
def loggamma(x: ArrayLike) -> Array:
    """Logarithm of the gamma function, elementwise: the branch that is real on the positive axis and cut along the negative one.

    Args:
      x: an array or scalar, real or complex.

    Returns:
      An array of x's shape, float or complex. Of a real x it is NaN where x is negative, for gamma has either sign there:
      `gammaln` is the logarithm of its size. Of a complex x it is NaN at 0 and the negative integers, and where x is not finite.

    Example:
      >>> loggamma(jnp.array([0.5, 5., -1.5]))
      Array([0.5723649, 3.1780539,       nan], dtype=float32)
    """
    x = inexact("loggamma", x)
    if _is_complex(x):
        return complex_loggamma(x)
    return jnp.where(x < 0, jnp.full_like(x, math.nan), special.lgamma(x))


def _is_complex(x: ArrayLike) -> bool:
    return dtypes.issubdtype(dtype_of(x), dtypes.complexfloating)


def factorial(n: ArrayLike, exact: bool = False) -> Array:
    """Factorial, the gamma function of n + 1, elementwise and in floating point; 0 for negative n.

    Args:
      n: an array or scalar.
      exact: must be False.

    Returns:
      A float array of n's shape.

    Raises:
      NotImplementedError: if exact is True.

    Example:
      >>> factorial(jnp.array([0, 3, 5]))
      Array([  1.,   6., 120.], dtype=float32)
    """
    if exact:
        raise NotImplementedError("factorial: exact=True is not supported, arrays hold no integers of any size; use math.factorial")
    return _factorial(n)


@fused
def _factorial(n: ArrayLike) -> Array:
    n = inexact("factorial", n)
    return jnp.where(n < 0, jnp.zeros_like(n), jnp.exp(special.lgamma(n + 1)))


@fused
def betaln(a: ArrayLike, b: ArrayLike) -> Array:
    """Logarithm of the absolute value of the beta function, elementwise, with little cancellation for large arguments.

    Args:
      a: a real array or scalar.
      b: a real array or scalar that broadcasts with a.

    Returns:
      A float array of the joint shape.

    Example:
      >>> betaln(jnp.array([2., 100.]), jnp.array([3., 200.]))
      Array([  -2.4849067, -192.13419  ], dtype=float32)
    """
    a, b = promote_inexact("betaln", a, b)
    a, b = jnp.minimum(a, b), jnp.maximum(a, b)
    # Far out the gammaln of b and of a + b agree in most digits; Stirling's series gives their difference directly.
    is_far = (b > 8) & (a + b > 8)
    safe = jnp.where(is_far, b, jnp.full_like(b, 9.0))
    total = jnp.where(is_far, a + b, jnp.full_like(b, 9.0))
    ratio = jnp.where(is_far, a / safe, jnp.zeros_like(a))
    far = _stirling_rest(safe) - _stirling_rest(total) + a * (1 - jnp.log(total)) - (safe - 0.5) * jnp.log1p(ratio)
    return special.lgamma(a) + jnp.where(is_far, far, special.lgamma(b) - special.lgamma(a + b))


def _stirling_rest(x: Any) -> Any:
    """gammaln(x) - ((x - 1/2) log x - x + log(2 pi) / 2), by its asymptotic series; for x >= 8 to double precision."""
    z = 1 / x
    w = z * z
    return z * (1 / 12 - w * (1 / 360 - w * (1 / 1260 - w * (1 / 1680 - w * (1 / 1188 - w * (691 / 360360 - w / 156))))))


@fused
def beta(a: ArrayLike, b: ArrayLike) -> Array:
    """Beta function, gamma(a) gamma(b) / gamma(a + b), elementwise.

    Args:
      a: a real array or scalar.
      b: a real array or scalar that broadcasts with a.

    Returns:
      A float array of the joint shape.

    Raises:
      ValueError: if an argument is complex.

    Example:
      >>> beta(jnp.array([2., 0.5]), jnp.array([3., 0.5]))  # 1/12 and pi
      Array([0.08333334, 3.1415927 ], dtype=float32)
    """
    a, b = promote_real_inexact("beta", a=a, b=b)
    return gammasgn(a) * gammasgn(b) * gammasgn(a + b) * jnp.exp(betaln(a, b))


@fused
def betainc(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Array:
    """Regularised incomplete beta function, elementwise: the integral of t**(a - 1) (1 - t)**(b - 1) from 0 to x, over that to 1.

    It can be differentiated in x, not in a and b.

    Args:
      a: positive.
      b: positive.
      x: from 0 to 1; the arguments broadcast.

    Returns:
      A float array of the joint shape, from 0 to 1; NaN where an argument is out of its range.

    Raises:
      ValueError: if an argument is complex.

    Example:
      >>> betainc(2., 3., jnp.array([0., 0.25, 1.]))
      Array([0.        , 0.26171875, 1.        ], dtype=float32)
    """
    a, b, x = promote_real_inexact("betainc", a=a, b=b, x=x)
    return special.betainc(a, b, x)


@fused
def gammainc(a: ArrayLike, x: ArrayLike) -> Array:
    """Regularised lower incomplete gamma function, elementwise: the integral of t**(a - 1) exp(-t) from 0 to x, over gamma(a).

    Args:
      a: positive.
      x: not negative; the arguments broadcast.

    Returns:
      A float array of the joint shape, from 0 to 1; NaN where an argument is out of its range.

    Example:
      >>> gammainc(2., jnp.array([0., 1., 5.]))
      Array([0.        , 0.26424113, 0.9595723 ], dtype=float32)
    """
    return special.igamma(*promote_inexact("gammainc", a, x))


@fused
def gammaincc(a: ArrayLike, x: ArrayLike) -> Array:
    """Regularised upper incomplete gamma function, 1 - gammainc(a, x), elementwise and accurate where that is small.

    Args:
      a: positive.
      x: not negative; the arguments broadcast.

    Returns:
      A float array of the joint shape, from 0 to 1; NaN where an argument is out of its range.

    Example:
      >>> gammaincc(2., jnp.array([0., 1., 5.]))
      Array([1.        , 0.7357589 , 0.04042768], dtype=float32)
    """
    return special.igammac(*promote_inexact("gammaincc", a, x))


def multigammaln(a: ArrayLike, d: int) -> Array:
    """Logarithm of the multivariate gamma function of dimension d, elementwise.

    It is log(pi) d (d - 1) / 4 plus the sum of gammaln(a - j / 2) for j from 0 to d - 1.

    Args:
      a: a real array or scalar, above (d - 1) / 2.
      d: the dimension, a static positive integer.

    Returns:
      A float array of a's shape.

    Raises:
      TypeError: if d is no integer.

    Example:
      >>> multigammaln(jnp.array([2., 3.]), 2)
      Array([0.4515827, 1.550195 ], dtype=float32)
    """
    try:
        d = operator.index(d)
    except TypeError:
        raise TypeError(f"multigammaln: d must be a static integer, got {d!r}") from None
    return _multigammaln(a, d=d)


@fused(static_argnames=("d",))
def _multigammaln(a: ArrayLike, d: int) -> Array:
    a = jnp.asarray(inexact("multigammaln", a))
    halves = np.arange(d).astype(dtype_of(a)) / 2
    terms = special.lgamma(a[..., None] - halves.reshape((1,) * a.ndim + (d,)))
    return jnp.sum(terms, axis=-1) + d * (d - 1) / 4 * math.log(math.pi)


@fused
def polygamma(n: ArrayLike, x: ArrayLike) -> Array:
    """The n-th derivative of `digamma`, elementwise.

    Args:
      n: the order, integers not negative.
      x: a real array; it broadcasts with n.

    Returns:
      A float array of the joint shape.

    Raises:
      ValueError: if n is not of integer dtype.
      ValueError: if x is complex.

    Example:
      >>> polygamma(1, jnp.array([1., 2.]))  # pi**2 / 6, and that - 1
      Array([1.644934  , 0.64493406], dtype=float32)
    """
    n = ensure_array("polygamma", n)
    if not dtypes.issubdtype(dtype_of(n), dtypes.integer):
        raise ValueError(f"polygamma: n must be of integer dtype, got {get_aval(n).str_short()}")
    return special.polygamma(*promote_real_inexact("polygamma", n=n, x=x))
