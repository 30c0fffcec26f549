"""Signs, squares and rounding: functions of one operand that keep integers."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, Any, Callable

import numpy as np

from laminax_ir.functions import operators
from laminax_ir.ops import elementwise as op
from laminax_ir.ops.scalar_operands import scalar_like
from laminax_ir.pytrees.wrapping import alias
from laminax_ir.types import dtypes
from laminax_ir.types.avals import get_aval

from laminax._src.numerics.floor import fused
from laminax._src.numerics.numpy.arguments import (
    as_array,
    convert,
    dtype_of,
    ensure_array,
    inexact,
    is_kind,
    promote_numeric,
    refuse_out,
    strong,
)
from laminax._src.numerics.numpy.conversion import astype
from laminax._src.numerics.numpy.ufunc import builtin_ufunc

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike


@builtin_ufunc()
def negative(x: ArrayLike, /) -> Array:
    """-x, elementwise.

    Args:
      x: an array or scalar of numbers.

    Returns:
      An array of x's shape and dtype.

    Raises:
      TypeError: for bools; `logical_not` or `~` inverts those.

    Example:
      >>> jnp.negative(jnp.array([1, -2]))
      Array([-1,  2], dtype=int32)
    """
    return op.neg(ensure_array("negative", x))


def positive(x: ArrayLike, /) -> Array:
    """x itself, as an array.

    Example:
      >>> jnp.positive(jnp.array([-1, 2]))
      Array([-1,  2], dtype=int32)
    """
    return as_array(ensure_array("positive", x))


@fused
def absolute(x: ArrayLike, /) -> Array:
    """|x|, elementwise; of complex numbers the real magnitude.

    Example:
      >>> jnp.abs(jnp.array([-1.5, 2.0]))
      Array([1.5, 2. ], dtype=float32)
    """
    return as_array(operators.absolute(ensure_array("absolute", x)))


abs = alias(absolute, "abs")


@fused
def fabs(x: ArrayLike, /) -> Array:
    """|x| of real numbers, elementwise; integers are taken as floats.

    Args:
      x: an array or scalar of real numbers.

    Returns:
      A float array of x's shape.

    Raises:
      TypeError: for complex numbers.

    Example:
      >>> jnp.fabs(jnp.array([-1.5, 2.0]))
      Array([1.5, 2. ], dtype=float32)
    """
    x = ensure_array("fabs", x)
    if is_kind(x, dtypes.complexfloating):
        raise TypeError(f"fabs: complex numbers are not accepted, got {get_aval(x).str_short()}; numpy.abs gives the magnitude")
    return op.abs(inexact("fabs", x))


@fused
def sign(x: ArrayLike, /) -> Array:
    """-1, 0 or 1 by the sign of x, elementwise; x/|x| for complex numbers, NaN for NaN.

    Example:
      >>> jnp.sign(jnp.array([-3.0, 0.0, 2.0]))
      Array([-1.,  0.,  1.], dtype=float32)
    """
    return op.sign(ensure_array("sign", x))


@fused
def square(x: ArrayLike, /) -> Array:
    """x * x, elementwise.

    Example:
      >>> jnp.square(jnp.array([3, -2]))
      Array([9, 4], dtype=int32)
    """
    return op.square(*promote_numeric("square", x))


@fused
def floor(x: ArrayLike, /) -> Array:
    """The largest whole number not above x, elementwise; integers stay.

    Example:
      >>> jnp.floor(jnp.array([1.8, -1.2]))
      Array([ 1., -2.], dtype=float32)
    """
    return _rounded("floor", op.floor, x)


@fused
def ceil(x: ArrayLike, /) -> Array:
    """The smallest whole number not below x, elementwise; integers stay.

    Example:
      >>> jnp.ceil(jnp.array([1.2, -1.2]))
      Array([ 2., -1.], dtype=float32)
    """
    return _rounded("ceil", op.ceil, x)


def _rounded(name: str, function: Callable, x: Any) -> Any:
    x = ensure_array(name, x)
    if is_kind(x, dtypes.integer) or is_kind(x, np.bool_):
        return as_array(x)
    return function(x)


@fused
def trunc(x: ArrayLike) -> Array:
    """The whole number next to x on the way to 0, elementwise; integers stay.

    Example:
      >>> jnp.fix(jnp.array([1.7, -1.7]))
      Array([ 1., -1.], dtype=float32)
    """
    x = ensure_array("trunc", x)
    if is_kind(x, dtypes.integer) or is_kind(x, np.bool_):
        return as_array(x)
    return truncated(x)


def truncated(x: ArrayLike) -> Array:
    """x without its fraction, rounded towards 0."""
    return op.select(op.lt(x, scalar_like(0.0, dtype_of(x))), op.ceil(x), op.floor(x))


fix = trunc


@fused
def rint(x: ArrayLike, /) -> Array:
    """The nearest whole number, elementwise; halves go to the even neighbour. Integers become the default float.

    Example:
      >>> jnp.rint(jnp.array([0.5, 1.5, 2.6]))
      Array([0., 2., 3.], dtype=float32)
    """
    x = ensure_array("rint", x)
    if is_kind(x, dtypes.complexfloating):
        return op.complex(rint(op.real(x)), rint(op.imag(x)))
    if not is_kind(x, dtypes.floating):
        return strong(convert(x, dtypes.scalar_dtype(float)))
    return op.round(x, op.RoundingMethod.TO_NEAREST_EVEN)


def round(a: ArrayLike, decimals: int = 0, out: None = None) -> Array:
    """Rounds to a number of decimals, elementwise; halves go to the even neighbour.

    Args:
      a: an array or scalar of numbers.
      decimals: how many digits after the point are kept; negative ones round to tens, hundreds, ...
      out: must be None.

    Raises:
      NotImplementedError: for integers and negative decimals.

    Example:
      >>> jnp.around(jnp.array([1.25, 2.75]), 1)
      Array([1.2, 2.8], dtype=float32)
    """
    refuse_out("round", out)
    return _round(a, decimals=int(decimals))


around = alias(round, "around")


@fused(static_argnames=("decimals",))
def _round(a: Any, decimals: int) -> Any:
    a = ensure_array("round", a)
    dtype = dtype_of(a)
    if dtypes.issubdtype(dtype, dtypes.integer) or dtype == np.bool_:
        if decimals < 0:
            raise NotImplementedError(f"round: integers cannot be rounded to negative decimals, got {get_aval(a).str_short()} "
                                      f"and decimals={decimals}; convert them to floats first")
        return as_array(a)
    if dtypes.issubdtype(dtype, dtypes.complexfloating):
        return op.complex(_round_float(op.real(a), decimals), _round_float(op.imag(a), decimals))
    return _round_float(a, decimals)


def _round_float(x: Any, decimals: int) -> Any:
    if decimals == 0:
        return op.round(x, op.RoundingMethod.TO_NEAREST_EVEN)
    dtype = dtype_of(x)
    work = np.dtype(np.float32) if dtype.itemsize < 4 else dtype  # 10**5 is no float16
    wide = convert(x, work) if work != dtype else x
    factor = scalar_like(10.0 ** builtins.abs(decimals), work)
    scaled = op.mul(wide, factor) if decimals > 0 else op.div(wide, factor)
    rounded = op.round(scaled, op.RoundingMethod.TO_NEAREST_EVEN)
    result = op.div(rounded, factor) if decimals > 0 else op.mul(rounded, factor)
    return convert(result, dtype) if work != dtype else result


def round_method(self: Any, ndigits: int | None = None) -> Any:
    """What Python's `round` calls: of an array as of a float, an int without `ndigits`."""
    rounded = round(self, ndigits or 0)
    return astype(rounded, int) if ndigits is None else rounded  # as Python's floats: round(2.5) is an int
