"""Floats by their parts: sign, mantissa, exponent, fraction, and the neighbours of a number."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from laminax_ir.functions import operators
from laminax_ir.ops import elementwise as op
from laminax_ir.ops.calls import CustomJVPCall
from laminax_ir.ops.scalar_operands import scalar_like
from laminax_ir.types import dtypes
from laminax_ir.types.avals import get_aval
from laminax_transforms.base.zeros import ZERO

from laminax._src.numerics.floor import fused
from laminax._src.numerics.numpy.arguments import convert, dtype_of, ensure_arrays, inexact, is_kind, promote_inexact, refuse_out, strong
from laminax._src.numerics.numpy.conditions import _where
from laminax._src.numerics.numpy.logic import signbit
from laminax._src.numerics.numpy.rounding import truncated

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike


@fused
def copysign(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """|x1| with the sign of x2, elementwise; signed zeros count.

    Args:
      x1: an array or scalar of real numbers.
      x2: an array or scalar of real numbers; shapes are broadcast and dtypes promoted.

    Returns:
      A float array of the joint shape.

    Raises:
      TypeError: for complex numbers.

    Example:
      >>> jnp.copysign(jnp.array([1.0, 2.0]), jnp.array([-0.0, 3.0]))
      Array([-1.,  2.], dtype=float32)
    """
    size, sign = promote_inexact("copysign", x1, x2)
    if is_kind(size, dtypes.complexfloating):
        raise TypeError("copysign: complex numbers are not accepted")
    size = op.abs(size)
    result = _where(signbit(sign), op.neg(size), size)
    return result if get_aval(sign).weak_type else strong(result)


def nextafter(x: ArrayLike, y: ArrayLike, /) -> Array:
    """The next representable number after x in the direction of y, elementwise.

    Args:
      x: an array or scalar of real numbers.
      y: an array or scalar of real numbers; shapes are broadcast and dtypes promoted.

    Returns:
      A float array of the joint shape.

    Raises:
      TypeError: if an argument is a list or tuple, or complex; or if the shapes do not broadcast.

    Example:
      >>> (jnp.nextafter(jnp.array([1., 1.]), jnp.array([2., 0.])) - 1) * 2**24  # numbers are denser below 1
      Array([ 2., -1.], dtype=float32)
    """
    return op.nextafter(*promote_inexact("nextafter", x, y))


@fused
def spacing(x: ArrayLike, /) -> Array:
    """The distance between x and the next number of greater magnitude, with x's sign, elementwise; NaN for infinity.

    Of float16, as NumPy has it, the distance to the next greater number, which is always positive, and infinite for -inf.

    Args:
      x: an array or scalar of real numbers.

    Returns:
      A float array of x's shape.

    Raises:
      ValueError: for complex numbers.

    Example:
      >>> jnp.spacing(jnp.array([2.**30, -2.**31]))
      Array([ 128., -256.], dtype=float32)
    """
    x = inexact("spacing", x)
    dtype = dtype_of(x)
    if dtypes.issubdtype(dtype, dtypes.complexfloating):
        raise ValueError("spacing: complex numbers are not accepted")
    x = op.stop_gradient_one(x)  # the same between two powers of two
    if dtype == np.float16:
        return strong(op.sub(op.nextafter(x, scalar_like(math.inf, dtype)), x))
    distance = _spacing_by_bits(x) if 8 * dtype.itemsize == dtypes.finfo(dtype).bits else op.sub(op.nextafter(x, copysign(math.inf, x)), x)
    return strong(_where(op.is_finite(x), distance, scalar_like(math.nan, dtype)))


def _spacing_by_bits(x: Any) -> Any:
    """The spacing of numbers with the exponent of x. In integers: it may be subnormal, which compilers take for 0 in arithmetic."""
    dtype, width = dtype_of(x), dtypes.finfo(dtype_of(x)).nmant
    unsigned = np.dtype(f"u{dtype.itemsize}")
    bits = op.bitcast_convert_type(x, unsigned)
    number = lambda value: scalar_like(value, unsigned)  # noqa: E731
    sign = op.bitwise_and(bits, number(1 << 8 * dtype.itemsize - 1))
    field = op.shift_right_logical(op.bitwise_xor(bits, sign), number(width))
    exponent = op.max(field, number(1))  # subnormal numbers have the spacing of the least normal ones
    normal = op.shift_left(op.sub(exponent, number(width)), number(width))
    subnormal = op.shift_left(number(1), op.min(op.sub(exponent, number(1)), number(width)))
    size = _where(op.gt(exponent, number(width)), normal, subnormal)
    return op.bitcast_convert_type(op.bitwise_or(size, sign), dtype)


@fused
def ldexp(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """x1 * 2**x2, elementwise.

    Args:
      x1: an array or scalar of real numbers.
      x2: an array or scalar of integers.

    Returns:
      A float array of the joint shape.

    Raises:
      ValueError: if x1 is complex, or x2 are no integers.

    Example:
      >>> jnp.ldexp(jnp.array([0.5]), 4)
      Array([8.], dtype=float32)
    """
    x1, x2 = ensure_arrays("ldexp", x1, x2)
    if is_kind(x1, dtypes.complexfloating) or is_kind(x2, dtypes.inexact):
        raise ValueError(f"ldexp: x1 must be real and x2 integers, got {get_aval(x1).str_short()} and {get_aval(x2).str_short()}")
    x1 = inexact("ldexp", x1)
    dtype = dtype_of(x1)
    work = np.dtype(np.float32) if dtype.itemsize < 4 else dtype
    value, exponent = convert(x1, work), convert(x2, np.dtype(np.int32))
    # In steps, because 2**x2 alone can be out of range where the result is not.
    top = dtypes.finfo(work).maxexp - 1
    for _ in range(3):
        step = op.clamp(np.int32(1 - top), exponent, np.int32(top))
        value = operators.multiply(value, _power_of_two(step, work))
        exponent = op.sub(exponent, step)
    return convert(value, dtype)


def _power_of_two(exponent: ArrayLike, dtype: np.dtype) -> Array:
    """2**exponent, exactly, for int32 exponents of normal numbers: written into the exponent's bits."""
    info = dtypes.finfo(dtype)
    integer = np.dtype(f"int{info.bits}")
    biased = op.add(convert(exponent, integer), scalar_like(1 - info.minexp, integer))
    return op.bitcast_convert_type(op.shift_left(biased, scalar_like(info.nmant, integer)), dtype)


@fused
def frexp(x: ArrayLike, /) -> tuple[Array, Array]:
    """Splits x into a mantissa in [0.5, 1) and an exponent: x == mantissa * 2**exponent, elementwise.

    Returns:
      (mantissa, exponent): floating, and int32.

    Raises:
      TypeError: for complex numbers.

    Example:
      >>> jnp.frexp(jnp.array([8.0]))
      (Array([0.5], dtype=float32), Array([4], dtype=int32))
    """
    x = inexact("frexp", x)
    if is_kind(x, dtypes.complexfloating):
        raise TypeError("frexp: complex numbers are not accepted")
    return tuple(CustomJVPCall(_frexp, _frexp_jvp, (x,), "frexp").bind())


def _frexp_jvp(primals: Sequence[ArrayLike], tangents: Sequence[ArrayLike]) -> tuple[list[Array], list[Any]]:
    mantissa, exponent = frexp(*primals)
    (x_dot,) = tangents
    return [mantissa, exponent], [ZERO if x_dot is ZERO else ldexp(x_dot, op.neg(exponent)), ZERO]


def _frexp(x: ArrayLike) -> list[Array]:
    dtype = dtype_of(x)
    info = dtypes.finfo(dtype)
    integer = np.dtype(f"int{info.bits}")
    mask, bias = (1 << (info.bits - info.nmant - 1)) - 1, 1 - info.minexp
    normal = op.mul(x, scalar_like(2.0 ** info.nmant, dtype))  # subnormal numbers become normal by this factor
    subnormal = op.lt(op.abs(x), scalar_like(float(info.tiny), dtype))
    scaled = _where(subnormal, normal, x)
    raw = op.bitcast_convert_type(scaled, integer)
    field = op.bitwise_and(op.shift_right_logical(raw, scalar_like(info.nmant, integer)), scalar_like(mask, integer))
    exponent = op.sub(field, scalar_like(bias - 1, integer))
    exponent = op.sub(exponent, _where(subnormal, scalar_like(info.nmant, integer), scalar_like(0, integer)))
    cleared = op.bitwise_and(raw, scalar_like(~(mask << info.nmant), integer))
    mantissa = op.bitcast_convert_type(op.bitwise_or(cleared, scalar_like((bias - 1) << info.nmant, integer)), dtype)
    special = op.bitwise_or(op.bitwise_not(op.is_finite(x)), op.eq(x, scalar_like(0.0, dtype)))
    return [_where(special, x, mantissa), convert(_where(special, scalar_like(0, integer), exponent), np.dtype(np.int32))]


@fused
def modf(x: ArrayLike, /, out: None = None) -> tuple[Array, Array]:
    """Splits x into its fraction and its whole part, both with x's sign, elementwise; the fraction of an infinity is zero.

    Args:
      x: an array or scalar of real numbers.
      out: must be None.

    Returns:
      (fraction, whole).

    Example:
      >>> jnp.modf(jnp.array([1.5, -2.25]))
      (Array([ 0.5 , -0.25], dtype=float32), Array([ 1., -2.], dtype=float32))
    """
    refuse_out("modf", out)
    x = inexact("modf", x)
    whole = truncated(x)
    fraction = op.sub(x, whole)
    infinite = op.eq(op.abs(x), scalar_like(math.inf, x.dtype))
    return op.select_n(infinite, fraction, copysign(0.0, x)), whole
