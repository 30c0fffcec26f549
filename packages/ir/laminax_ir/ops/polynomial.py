"""Polynomials, elementwise, by Horner's rule: one operation, whose derivative is a polynomial of lower degree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Sequence

import numpy as np

from laminax_ir.ops.dtype_kinds import NUMBER, check_dtype
from laminax_ir.ops.elementwise import convert_element_type
from laminax_ir.ops.elementwise_avals import broadcast_avals, check_same_dtype, result_aval
from laminax_ir.ops.scalar_operands import PYTHON_SCALARS, scalar_like
from laminax_ir.ops.shape import broadcast_in_dim, full_like
from laminax_ir.programs.primitive import Primitive, shape_rule
from laminax_ir.types import dtypes
from laminax_ir.types.arguments import as_int
from laminax_ir.types.avals import ShapedArray, get_aval

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike

UNROLLED = 8  # as many terms are written out where no number is given

polynomial_p = Primitive("polynomial", family="polynomial")


@shape_rule(polynomial_p)
def _polynomial_shape(x: ShapedArray, *coeffs: ShapedArray, unroll: int | None = None) -> ShapedArray:
    check_same_dtype("polynomial", (x, *coeffs))
    check_dtype("polynomial", x.dtype, NUMBER)
    return result_aval("polynomial", (x, *coeffs), x.dtype)


def polynomial(x: ArrayLike, coeffs: Sequence[Any], *, unroll: int | None = None) -> Array:
    """Elementwise polynomial coeffs[0] + coeffs[1] x + coeffs[2] x**2 + ..., by Horner's rule.

    Its derivative by x is one polynomial of a degree less, and not that of each step.

    Args:
      x: an array: integer, floating or complex.
      coeffs: the coefficients, from the constant term to that of the highest power: scalars, or arrays of shapes compatible with x's
        (equal sizes, size 1, or rank 0), converted to x's dtype. Without any the result is 0.
      unroll: up to how many coefficients the steps are written out; more are a loop, whose body has as many steps. By default 8.

    Returns:
      An array of the joint shape and of x's dtype.

    Raises:
      TypeError: if shapes do not fit, x is boolean, coeffs is no sequence, or a coefficient is complex and x is not.
      ValueError: if unroll is not positive.

    Example:
      >>> polynomial(np.float32([1, 2]), (1.0, 0.0, -1.0))
      array([ 0., -3.], dtype=float32)
    """
    aval = get_aval(x)
    if unroll is not None and (unroll := as_int("polynomial", "unroll", unroll)) < 1:
        raise ValueError(f"polynomial: unroll must be at least 1, got {unroll}")
    terms = [_coefficient(c, aval) for c in _sequence(coeffs)]
    if not terms:
        return full_like(x, 0)
    if len(terms) == 1:
        shape = broadcast_avals("polynomial", (aval, get_aval(terms[0])))
        return _broadcast(terms[0], shape)
    return polynomial_p.bind(x, *terms, **({} if unroll is None else {"unroll": unroll}))


def _sequence(coeffs: Any) -> list[Any]:
    try:
        return list(coeffs)
    except TypeError:
        raise TypeError(f"polynomial: coeffs must be a sequence of coefficients, from the constant term on, got {coeffs!r} of type "
                        f"{type(coeffs).__name__}. For a constant polynomial give [c].") from None


def _coefficient(c: Any, aval: ShapedArray) -> Any:
    """A number beside an array takes its type, weak or not; other values their dtype only."""
    if dtypes.issubdtype(get_aval(c).dtype, np.complexfloating) and not dtypes.issubdtype(aval.dtype, np.complexfloating):
        raise TypeError(f"polynomial: a coefficient is complex, {get_aval(c).str_short()}, and x is {aval.str_short()}, whose dtype "
                        "coefficients are converted to. Convert x to a complex dtype first.")
    if type(c) in PYTHON_SCALARS:
        return c if aval.weak_type else scalar_like(c, aval.dtype)
    if isinstance(c, np.ndarray | np.generic) and not c.shape:
        return c.astype(aval.dtype)[()]
    return convert_element_type(c, aval.dtype)


def _broadcast(x: Any, shape: Sequence[int]) -> Any:
    rank = len(get_aval(x).shape)
    return broadcast_in_dim(x, shape, tuple(range(len(shape) - rank, len(shape))))
