"""Special functions, elementwise: error functions, the gamma family, Bessel functions, the incomplete beta function.

Operands follow the rules of `laminax_ir.ops.elementwise`: one floating dtype, shapes equal or of rank 0, Python
scalars allowed beside an array.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from laminax_ir.ops.dtype_kinds import FLOATING, accepted_dtypes, check_dtype
from laminax_ir.ops.elementwise_avals import check_same_dtype, result_aval
from laminax_ir.ops.scalar_operands import PYTHON_SCALARS, typed
from laminax_ir.programs.primitive import Primitive, Trait, shape_rule
from laminax_ir.tracing.trace import state
from laminax_ir.types.avals import ShapedArray, get_aval

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike, DTypeLike


def _floating(name: str, *traits: Trait) -> Primitive:
    primitive = Primitive(name, family="special", traits=(Trait.ELEMENTWISE, *traits))

    @shape_rule(primitive)
    def rule(first: ShapedArray, *rest: ShapedArray) -> ShapedArray:
        if not accepted_dtypes.get((first.dtype, FLOATING)):
            check_dtype(name, first.dtype, FLOATING)
        if not rest or all(aval is first for aval in rest):
            return first
        avals = (first, *rest)
        check_same_dtype(name, avals)
        return result_aval(name, avals, first.dtype)

    return primitive


erf_p = _floating("erf", Trait.ZERO_AT_ZERO, Trait.FOLLOWS_HASHES)
erfc_p = _floating("erfc")
erf_inv_p = _floating("erf_inv", Trait.ZERO_AT_ZERO, Trait.FOLLOWS_HASHES)
lgamma_p = _floating("lgamma")
digamma_p = _floating("digamma")
bessel_i0e_p = _floating("bessel_i0e")
bessel_i1e_p = _floating("bessel_i1e", Trait.ZERO_AT_ZERO)
polygamma_p = _floating("polygamma")
zeta_p = _floating("zeta")
igamma_p = _floating("igamma")
igammac_p = _floating("igammac")
igamma_grad_a_p = _floating("igamma_grad_a")
random_gamma_grad_p = _floating("random_gamma_grad")
regularized_incomplete_beta_p = _floating("regularized_incomplete_beta")


def _bind(primitive: Primitive, *operands: Any) -> Array:
    for x in operands:
        if type(x) in PYTHON_SCALARS:
            operands = typed(*operands)
            break
    return state.trace.process(primitive, operands, {})


def erf(x: ArrayLike) -> Array:
    r"""Elementwise error function, :math:`\frac{2}{\sqrt\pi} \int_0^x e^{-t^2} dt`.

    Args:
      x: floating, of any shape.

    Returns:
      An array of x's shape and dtype.

    Raises:
      TypeError: if x is not floating.

    Example:
      >>> erf(np.float32([0, 1]))
      array([0.       , 0.8427008], dtype=float32)
    """
    return state.trace.process(erf_p, (x,), {})


def erfc(x: ArrayLike, *, accuracy: Any = None) -> Array:
    """Elementwise complementary error function, 1 - erf(x), accurate where that is small.

    Args:
      x: floating, of any shape.
      accuracy: only None: the compiler has one implementation.

    Returns:
      An array of x's shape and dtype.

    Raises:
      TypeError: if x is not floating.

    Example:
      >>> erfc(np.float32([0, 1]))
      array([1.       , 0.1572992], dtype=float32)
    """
    if accuracy is not None:
        raise NotImplementedError(f"erfc: accuracy={accuracy!r} is not supported: the compiler has one implementation. Leave it out.")
    return state.trace.process(erfc_p, (x,), {})


def erf_inv(x: ArrayLike) -> Array:
    """Elementwise inverse of `erf`: infinite at -1 and 1, NaN outside them.

    Args:
      x: floating, of any shape.

    Returns:
      An array of x's shape and dtype.

    Raises:
      TypeError: if x is not floating.

    Example:
      >>> erf_inv(np.float32([0, 0.5]))
      array([0.        , 0.47693628], dtype=float32)
    """
    return state.trace.process(erf_inv_p, (x,), {})


def lgamma(x: ArrayLike) -> Array:
    """Elementwise logarithm of |Γ(x)|; infinite at 0, -1, -2, ...

    Args:
      x: floating, of any shape.

    Returns:
      An array of x's shape and dtype.

    Raises:
      TypeError: if x is not floating.

    Example:
      >>> lgamma(np.float32([1, 5]))
      array([0.       , 3.1780539], dtype=float32)
    """
    return state.trace.process(lgamma_p, (x,), {})


def digamma(x: ArrayLike) -> Array:
    """Elementwise derivative of the logarithm of Γ; NaN at its poles 0, -1, -2, ...

    Args:
      x: floating, of any shape.

    Returns:
      An array of x's shape and dtype.

    Raises:
      TypeError: if x is not floating.

    Example:
      >>> digamma(np.float32([1, 2]))
      array([-0.5772157 ,  0.42278433], dtype=float32)
    """
    return state.trace.process(digamma_p, (x,), {})


def bessel_i0e(x: ArrayLike) -> Array:
    """Elementwise modified Bessel function of order 0, scaled: exp(-|x|) I0(x).

    Args:
      x: floating, of any shape.

    Returns:
      An array of x's shape and dtype.

    Raises:
      TypeError: if x is not floating.

    Example:
      >>> bessel_i0e(np.float32([0, 1]))
      array([1.       , 0.4657596], dtype=float32)
    """
    return state.trace.process(bessel_i0e_p, (x,), {})


def bessel_i1e(x: ArrayLike) -> Array:
    """Elementwise modified Bessel function of order 1, scaled: exp(-|x|) I1(x).

    Args:
      x: floating, of any shape.

    Returns:
      An array of x's shape and dtype.

    Raises:
      TypeError: if x is not floating.

    Example:
      >>> bessel_i1e(np.float32([0, 1]))
      array([0.        , 0.20791042], dtype=float32)
    """
    return state.trace.process(bessel_i1e_p, (x,), {})


def polygamma(m: ArrayLike, x: ArrayLike) -> Array:
    """Elementwise m-th derivative of `digamma` at x.

    Args:
      m: the order, whole numbers from 0 in a floating dtype, of any shape; elsewhere the result is NaN.
      x: of the same dtype, and of the same shape or one of them a scalar.

    Returns:
      An array of the operands' dtype and common shape.

    Raises:
      TypeError: if an operand is not floating, or dtypes or shapes differ.

    Example:
      >>> polygamma(np.float32(1), np.float32([1, 2]))
      array([1.644934  , 0.64493406], dtype=float32)
    """
    return _bind(polygamma_p, m, x)


def zeta(x: ArrayLike, q: ArrayLike) -> Array:
    r"""Elementwise Hurwitz zeta function, :math:`\sum_{n \ge 0} (n + q)^{-x}`.

    Args:
      x: the exponent, floating, of any shape; infinite at 1, NaN below.
      q: the shift, of the same dtype, and of the same shape or one of them a scalar; infinite at 0, -1, -2, ...

    Returns:
      An array of the operands' dtype and common shape.

    Raises:
      TypeError: if an operand is not floating, or dtypes or shapes differ.

    Example:
      >>> zeta(np.float32([2, 4]), np.float32(1))
      array([1.644934 , 1.0823232], dtype=float32)
    """
    return _bind(zeta_p, x, q)


def igamma(a: ArrayLike, x: ArrayLike) -> Array:
    r"""Elementwise regularised lower incomplete gamma function, :math:`P(a, x) = \int_0^x t^{a-1} e^{-t} dt / \Gamma(a)`.

    Args:
      a: positive, floating, of any shape; NaN elsewhere, and at 0 where x is 0.
      x: not negative, of the same dtype, and of the same shape or one of them a scalar; NaN elsewhere.

    Returns:
      An array of the operands' dtype and common shape.

    Raises:
      TypeError: if an operand is not floating, or dtypes or shapes differ.

    Example:
      >>> igamma(np.float32(2), np.float32([1, 4]))
      array([0.26424113, 0.9084218 ], dtype=float32)
    """
    return _bind(igamma_p, a, x)


def igammac(a: ArrayLike, x: ArrayLike) -> Array:
    """Elementwise regularised upper incomplete gamma function, Q(a, x) = 1 - P(a, x).

    Args:
      a: positive, floating, of any shape, as for `igamma`.
      x: not negative, of the same dtype, and of the same shape or one of them a scalar.

    Returns:
      An array of the operands' dtype and common shape.

    Raises:
      TypeError: if an operand is not floating, or dtypes or shapes differ.

    Example:
      >>> igammac(np.float32(2), np.float32([1, 4]))
      array([0.7357589 , 0.09157819], dtype=float32)
    """
    return _bind(igammac_p, a, x)


def igamma_grad_a(a: ArrayLike, x: ArrayLike) -> Array:
    """Elementwise derivative of `igamma(a, x)` with respect to a.

    Args:
      a: positive, floating, of any shape.
      x: not negative, of the same dtype, and of the same shape or one of them a scalar.

    Returns:
      An array of the operands' dtype and common shape.

    Raises:
      TypeError: if an operand is not floating, or dtypes or shapes differ.

    Example:
      >>> igamma_grad_a(np.float32(2), np.float32([1, 4]))
      array([-0.27619603, -0.1103315 ], dtype=float32)
    """
    return _bind(igamma_grad_a_p, a, x)


def random_gamma_grad(a: ArrayLike, x: ArrayLike, *, dtype: DTypeLike | None = None) -> Array:
    """Elementwise derivative of a sample from the gamma distribution with respect to its shape parameter.

    Args:
      a: the shape parameter, floating, of any shape.
      x: the sample, of the same dtype, and of the same shape or one of them a scalar.
      dtype: the dtype of the operands; only to be checked.

    Returns:
      An array of the operands' dtype and common shape.

    Raises:
      TypeError: if an operand is not floating, dtypes or shapes differ, or the dtype is not the one given.

    Example:
      >>> random_gamma_grad(np.float32(2), np.float32([1, 4]))
      array([0.7507787, 1.5059739], dtype=float32)

    Source: implicit differentiation of the distribution function, dx/da = -(∂P/∂a) / (∂P/∂x); Figurnov et al.,
      "Implicit reparameterization gradients", 2018.
    """
    result = _bind(random_gamma_grad_p, a, x)
    if dtype is not None and get_aval(result).dtype != dtype:
        raise TypeError(f"random_gamma_grad: dtype is {dtype}, but the operands are "
                        f"{get_aval(a).str_short()} and {get_aval(x).str_short()}")
    return result


def betainc(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Array:
    r"""Elementwise regularised incomplete beta function, :math:`I_x(a, b)`.

    Args:
      a: positive, floating, of any shape.
      b: positive, of the same dtype, and of the same shape or one of them a scalar.
      x: in [0, 1], of the same dtype, and of the same shape or one of them a scalar. The result is NaN where an
        argument is out of range.

    Returns:
      An array of the operands' dtype and common shape.

    Raises:
      TypeError: if an operand is not floating, or dtypes or shapes differ.

    Example:
      >>> betainc(np.float32(2), np.float32(3), np.float32([0.1, 0.5]))
      array([0.0523, 0.6875], dtype=float32)
    """
    return _bind(regularized_incomplete_beta_p, a, b, x)
