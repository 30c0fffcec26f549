"""Arithmetic, extremes and other functions of two operands, broadcast and promoted as NumPy does, by the promotion lattice."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any, Callable, Sequence

from laminax_ir.functions import operators
from laminax_ir.ops import elementwise as op
from laminax_ir.ops import shape as shape_ops
from laminax_ir.ops.calls import CustomJVPCall
from laminax_ir.ops.reduction import reduce_or
from laminax_ir.ops.scalar_operands import scalar_like
from laminax_ir.pytrees.wrapping import alias
from laminax_ir.tracing.trace import Tracer
from laminax_ir.types import dtypes
from laminax_ir.types.avals import get_aval
from laminax_transforms import stop_gradient
from laminax_transforms.base.zeros import ZERO

from laminax._src.numerics.floor import fused
from laminax._src.numerics.numpy import ufunc_methods as methods
from laminax._src.numerics.numpy.arguments import (
    convert,
    dtype_of,
    ensure_arrays,
    is_kind,
    promote_arrays,
    promote_inexact,
    promote_numeric,
    shape_of,
    strong,
    strong_unless_scalar,
    weak_like,
)
from laminax._src.numerics.numpy.conditions import _where
from laminax._src.numerics.numpy.elementary import named
from laminax._src.numerics.numpy.reshaping import broadcast_arrays
from laminax._src.numerics.numpy.ufunc import builtin_ufunc

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike


def _binary(name: str, function: Callable, text: str, args: str, result: str, raises: str = "") -> Callable:
    def fun(x: ArrayLike, y: ArrayLike, /) -> Array:
        x, y = ensure_arrays(name, x, y)
        return function(x, y)

    fun.__module__ = __name__
    return named(fun, name, f"""{text}, elementwise.

    Args:
      x: an array or scalar.
      y: an array or scalar; shapes are broadcast and dtypes promoted.

    Returns:
      An array of the joint shape and of the promoted dtype.

    Raises:
      TypeError: if an argument is a list or tuple, or not of numbers{raises}; or if the shapes do not broadcast.

    Example:
      >>> jnp.{name}({args})
      {result}
    """)


add = builtin_ufunc(0, on_tracers=operators.add, reduce=methods.sum_, accumulate=methods.cumsum, at=methods.update("add"))(
    _binary("add", operators.add, "x + y; of bools, or", "jnp.array([1, 2]), 0.5",
            "Array([1.5, 2.5], dtype=float32)"))
subtract = builtin_ufunc(on_tracers=operators.subtract, at=methods.update("subtract"))(
    _binary("subtract", operators.subtract, "x - y", "jnp.array([5, 3]), jnp.array([1, 4])",
            "Array([ 4, -1], dtype=int32)", ", or of bools"))
multiply = builtin_ufunc(1, on_tracers=operators.multiply, reduce=methods.prod, accumulate=methods.cumprod, at=methods.update("multiply"))(
    _binary("multiply", operators.multiply, "x * y; of bools, and", "jnp.array([2., 3.]), jnp.array([[1.], [10.]])",
            "Array([[ 2.,  3.],\n             [20., 30.]], dtype=float32)"))
true_divide = fused(_binary("true_divide", operators.true_divide, "x / y; integers are taken as floats", "jnp.array([1, 3]), 2",
            "Array([0.5, 1.5], dtype=float32)"))
divide = alias(true_divide, "divide")


@fused
def floor_divide(x: ArrayLike, y: ArrayLike, /) -> Array:
    """The largest whole number not above x / y, elementwise; bools are taken as integers.

    Args:
      x1: an array or scalar.
      x2: an array or scalar; shapes are broadcast and dtypes promoted.

    Returns:
      An array of the joint shape and of the promoted dtype.

    Example:
      >>> jnp.floor_divide(jnp.array([7, -7]), 2)
      Array([ 3, -4], dtype=int32)
    """
    return operators.floor_divide(*promote_numeric("floor_divide", x, y))


@fused
def remainder(x: ArrayLike, y: ArrayLike, /) -> Array:
    """x - floor(x / y) * y, with the sign of y, elementwise; bools are taken as integers.

    Args:
      x1: an array or scalar.
      x2: an array or scalar; shapes are broadcast and dtypes promoted.

    Returns:
      An array of the joint shape and of the promoted dtype.

    Example:
      >>> jnp.mod(jnp.array([7, -7]), 3)
      Array([1, 2], dtype=int32)
    """
    return operators.remainder(*promote_numeric("remainder", x, y))


mod = alias(remainder, "mod")


@fused
def divmod(x: ArrayLike, y: ArrayLike, /) -> tuple[Array, Array]:
    """The pair (floor_divide(x, y), remainder(x, y)).

    Args:
      x1: an array or scalar.
      x2: an array or scalar; shapes are broadcast and dtypes promoted.

    Example:
      >>> jnp.divmod(jnp.array([7, -7]), 3)
      (Array([ 2, -3], dtype=int32), Array([1, 2], dtype=int32))
    """
    return operators.divmod_(*promote_numeric("divmod", x, y))


@fused
def fmod(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Remainder of x / y with the sign of x, elementwise; of integers and 0 it is 0.

    Args:
      x1: an array or scalar.
      x2: an array or scalar; shapes are broadcast and dtypes promoted.

    Returns:
      An array of the joint shape and of the promoted dtype.

    Example:
      >>> jnp.fmod(jnp.array([7, -7]), 3)
      Array([ 1, -1], dtype=int32)
    """
    x, y = promote_arrays("fmod", *promote_numeric("fmod", x, y))
    dtype = dtype_of(x)
    if dtypes.issubdtype(dtype, dtypes.integer):
        y = _where(op.eq(y, scalar_like(0, dtype)), scalar_like(1, dtype), y)
    return op.rem(x, y)


_NOT_CONCRETE = (Tracer, int, float, complex)


def power(x: ArrayLike, y: ArrayLike, /) -> Array:
    """x ** y, elementwise.

    Args:
      x: an array or scalar.
      y: an array or scalar; shapes are broadcast and dtypes promoted.

    Raises:
      TypeError: for integers and a negative Python int as the exponent.

    Example:
      >>> jnp.power(jnp.array([2.0, 3.0]), 2)
      Array([4., 9.], dtype=float32)
    """
    x, y = promote_numeric("power", x, y)
    if type(y) is bool or not isinstance(y, _NOT_CONCRETE) and not shape_of(y) and is_kind(y, dtypes.integer):
        y = operator.index(y)  # a number known now is a repeated product, in x's dtype
    if type(y) is int:
        if y < 0 and type(x) is not float and is_kind(x, dtypes.integer):
            raise TypeError(f"power: Integers cannot be raised to negative powers, got {get_aval(x).str_short()} and {y}. "
                            "Make the base a float.")
        if type(x) is bool:
            x = convert(x, dtypes.scalar_dtype(int))
        if type(x) is int:
            return op.integer_pow(x, y)
        return operators.power(x, y)
    return operators.power(x, y) if isinstance(x, (float, complex)) else _power(x, y)  # a number is not an array of one


@fused
def _power(x: ArrayLike, y: ArrayLike) -> Array:
    return operators.power(x, y)


pow = alias(power, "pow")


@fused
def float_power(x: ArrayLike, y: ArrayLike, /) -> Array:
    """x ** y computed in floats, elementwise.

    Args:
      x: an array or scalar.
      y: the exponent; shapes are broadcast and dtypes promoted.

    Returns:
      A float or complex array of the joint shape.

    Example:
      >>> jnp.float_power(2, 3)
      Array(8., dtype=float32, weak_type=True)
    """
    return op.pow(*promote_inexact("float_power", x, y))


@builtin_ufunc(reduce=methods.extreme("max"), at=methods.update("max"))
def maximum(x: ArrayLike, y: ArrayLike, /) -> Array:
    """The greater of x and y, elementwise; NaN if either is NaN; complex numbers in lexicographic order.

    Args:
      x: an array or scalar.
      y: an array or scalar; shapes are broadcast and dtypes promoted.

    Returns:
      An array of the joint shape and of the promoted dtype.

    Raises:
      TypeError: if an argument is a list or tuple; or if the shapes do not broadcast.

    Example:
      >>> jnp.maximum(jnp.array([1., jnp.nan, 3.]), 2.)
      Array([ 2., nan,  3.], dtype=float32)
    """
    return op.max(*promote_arrays("maximum", x, y))


@builtin_ufunc(reduce=methods.extreme("min"), at=methods.update("min"))
def minimum(x: ArrayLike, y: ArrayLike, /) -> Array:
    """The lesser of x and y, elementwise; NaN if either is NaN; complex numbers in lexicographic order.

    Args:
      x: an array or scalar.
      y: an array or scalar; shapes are broadcast and dtypes promoted.

    Returns:
      An array of the joint shape and of the promoted dtype.

    Raises:
      TypeError: if an argument is a list or tuple; or if the shapes do not broadcast.

    Example:
      >>> jnp.minimum(jnp.array([1., jnp.nan, 3.]), 2.)
      Array([ 1., nan,  2.], dtype=float32)
    """
    return op.min(*promote_arrays("minimum", x, y))


@fused
def fmax(x1: ArrayLike, x2: ArrayLike) -> Array:
    """The greater of x1 and x2, elementwise; of a number and NaN the number.

    Args:
      x1: an array or scalar.
      x2: an array or scalar; shapes are broadcast and dtypes promoted.

    Returns:
      An array of the joint shape and of the promoted dtype.

    Example:
      >>> jnp.fmax(jnp.array([1.0, jnp.nan]), 0.5)
      Array([1. , 0.5], dtype=float32)
    """
    return _ignoring_nan("fmax", operators.greater, x1, x2)


@fused
def fmin(x1: ArrayLike, x2: ArrayLike) -> Array:
    """The lesser of x1 and x2, elementwise; of a number and NaN the number.

    Args:
      x1: an array or scalar.
      x2: an array or scalar; shapes are broadcast and dtypes promoted.

    Returns:
      An array of the joint shape and of the promoted dtype.

    Example:
      >>> jnp.fmin(jnp.array([1.0, jnp.nan]), 0.5)
      Array([0.5, 0.5], dtype=float32)
    """
    return _ignoring_nan("fmin", operators.less, x1, x2)


def _ignoring_nan(name: str, better: Callable, x1: ArrayLike, x2: ArrayLike) -> Array:
    x1, x2 = promote_arrays(name, x1, x2)
    return _where(op.bitwise_or(better(x1, x2), op.ne(x2, x2)), x1, x2)


@fused
def arctan2(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """The angle of the point (x2, x1) in radians, from -pi to pi, elementwise.

    Args:
      x1: the second coordinate, an array or scalar.
      x2: the first coordinate; shapes are broadcast and dtypes promoted.

    Returns:
      A float array of the joint shape.

    Raises:
      TypeError: if an argument is a list or tuple; or if the shapes do not broadcast.

    Example:
      >>> jnp.arctan2(jnp.array([1., 1., -1.]), jnp.array([1., -1., 0.]))
      Array([ 0.7853982,  2.3561945, -1.5707964], dtype=float32)
    """
    return op.atan2(*promote_inexact("arctan2", x1, x2))


atan2 = alias(arctan2, "atan2")


@fused
def hypot(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """sqrt(x1**2 + x2**2), elementwise, without overflow on the way; inf if either is infinite.

    Args:
      x1: an array or scalar of real numbers.
      x2: an array or scalar of real numbers; shapes are broadcast and dtypes promoted.

    Returns:
      A float array of the joint shape.

    Raises:
      ValueError: for complex numbers.

    Example:
      >>> jnp.hypot(3.0, 4.0)
      Array(5., dtype=float32, weak_type=True)
    """
    x1, x2 = promote_inexact("hypot", x1, x2)
    dtype = dtype_of(x1)
    if dtypes.issubdtype(dtype, dtypes.complexfloating):
        raise ValueError("jnp.hypot is not well defined for complex-valued inputs; numpy.abs gives the magnitude of a complex number")
    return CustomJVPCall(_hypot, _hypot_jvp, (x1, x2), "hypot").bind()[0]


def _hypot(x1: Any, x2: Any) -> list[Any]:
    dtype = dtype_of(x1)
    x1, x2 = op.abs(x1), op.abs(x2)
    large, small = op.max(x1, x2), op.min(x1, x2)
    zero = op.eq(large, scalar_like(0.0, dtype))
    one = scalar_like(1.0, dtype)
    ratio = op.div(small, _where(zero, one, large))
    length = op.mul(large, op.sqrt(op.add(one, op.square(ratio))))
    return [weak_like(_where(_is_infinite(x1, x2), scalar_like(math.inf, dtype), _where(zero, large, length)), x1, x2)]


def _is_infinite(x1: Any, x2: Any) -> Any:
    infinity = scalar_like(math.inf, dtype_of(x1))
    return op.bitwise_or(op.eq(x1, infinity), op.eq(x2, infinity))


def _hypot_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """The derivative is the direction of the point, which does not change when both numbers are divided by the greater one's size."""
    size = stop_gradient(op.max(*map(op.abs, primals)))
    x1, x2 = (op.div(x, size) for x in primals)
    length = _where(_is_infinite(*map(op.abs, primals)), size, op.sqrt(op.add(op.square(x1), op.square(x2))))
    total = ZERO
    for x, x_dot in zip((x1, x2), tangents):
        if x_dot is not ZERO:
            term = op.mul(x_dot, op.div(x, length))
            total = term if total is ZERO else op.add(total, term)
    return [hypot(*primals)], [total]


@fused
def heaviside(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """The step function: 0 below 0, x2 at 0, 1 above, elementwise.

    Args:
      x1: an array or scalar of real numbers.
      x2: the value at 0; shapes are broadcast and dtypes promoted.

    Returns:
      A float array of the joint shape.

    Raises:
      TypeError: for complex numbers.

    Example:
      >>> jnp.heaviside(jnp.array([-1.0, 0.0, 1.0]), 0.5)
      Array([0. , 0.5, 1. ], dtype=float32)
    """
    x1, x2 = promote_inexact("heaviside", x1, x2)
    dtype = dtype_of(x1)
    if dtypes.issubdtype(dtype, dtypes.complexfloating):
        raise TypeError("heaviside: complex numbers have no order")
    zero = scalar_like(0.0, dtype)
    step = _where(op.gt(x1, zero), scalar_like(1.0, dtype), _where(op.lt(x1, zero), zero, x1))
    result = _where(op.eq(x1, zero), x2, step)
    return strong(result) if shape_of(x1) else result


@fused
def gcd(x1: ArrayLike, x2: ArrayLike) -> Array:
    """Greatest common divisor of integers, elementwise, by Euclid's algorithm; gcd(0, 0) is 0.

    Args:
      x1: an array or scalar of integers.
      x2: an array or scalar of integers; shapes are broadcast and dtypes promoted.

    Returns:
      An integer array of the joint shape.

    Raises:
      ValueError: if an argument is not of integers.

    Example:
      >>> jnp.gcd(12, 18)
      Array(6, dtype=int32, weak_type=True)
    """
    x1, x2 = _integers("gcd", x1, x2)
    x1, x2 = broadcast_arrays(operators.absolute(x1), operators.absolute(x2))
    dtype = dtype_of(x1)
    zero = scalar_like(0, dtype)

    def step(pair: tuple[ArrayLike, ...]) -> tuple[Array, Array]:
        a, b = pair
        nonzero = op.ne(b, zero)
        safe = op.select(nonzero, b, shape_ops.full(b.shape, 1, dtype))
        return op.select(nonzero, b, a), op.select(nonzero, op.rem(a, safe), b)

    from laminax_ir.ops.loops import while_loop
    result = while_loop(lambda pair: reduce_or(op.ne(pair[1], zero), tuple(range(len(pair[1].shape)))), step, (x1, x2))[0]
    return strong_unless_scalar(result, x1, x2)


@fused
def lcm(x1: ArrayLike, x2: ArrayLike) -> Array:
    """Least common multiple of integers, elementwise; 0 if either is 0.

    Args:
      x1: an array or scalar of integers.
      x2: an array or scalar of integers; shapes are broadcast and dtypes promoted.

    Returns:
      An integer array of the joint shape.

    Raises:
      ValueError: if an argument is not of integers.

    Example:
      >>> jnp.lcm(4, 6)
      Array(12, dtype=int32, weak_type=True)
    """
    x1, x2 = _integers("lcm", x1, x2)
    x1, x2 = operators.absolute(x1), operators.absolute(x2)
    zero = scalar_like(0, dtype_of(x1))
    divisor = gcd(x1, x2)
    empty = op.eq(divisor, zero)
    one = scalar_like(1, dtype_of(x1))
    return strong_unless_scalar(_where(empty, zero, op.mul(x1, op.div(x2, _where(empty, one, divisor)))), x1, x2)


def _integers(name: str, *args: Any) -> Any:
    arrays = promote_arrays(name, *args)
    if not is_kind(arrays[0], dtypes.integer):
        raise ValueError(f"{name}: arguments must be integers, got {', '.join(get_aval(x).str_short() for x in arrays)}")
    return arrays
