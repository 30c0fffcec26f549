"""Truth and bits: comparisons, logical and bitwise operations, classification of floats, approximate equality."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Callable

import numpy as np

from laminax_ir.functions import operators, promoted_operands
from laminax_ir.ops import elementwise as op
from laminax_ir.ops import shape as shape_ops
from laminax_ir.ops.reduction import reduce_and
from laminax_ir.ops.scalar_operands import scalar_like
from laminax_ir.pytrees.wrapping import alias
from laminax_ir.tracing.trace import Tracer
from laminax_ir.types import dtypes
from laminax_ir.types.avals import get_aval

from laminax._src.numerics.floor import fused
from laminax._src.numerics.numpy import ufunc_methods as methods
from laminax._src.numerics.numpy.arguments import (
    as_array,
    convert,
    dtype_of,
    ensure_array,
    ensure_arrays,
    is_kind,
    promote_arrays,
    promote_inexact,
    promote_numeric,
    refuse_out,
    shape_of,
    strong,
)
from laminax._src.numerics.numpy.conditions import truth_of
from laminax._src.numerics.numpy.conversion import asarray
from laminax._src.numerics.numpy.ufunc import builtin_ufunc

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike

_BOOL = np.dtype(bool)

# --- comparisons ---


def _comparison(name: str, function: Callable, text: str, result: str) -> Callable:
    def fun(x: ArrayLike, y: ArrayLike, /) -> Array:
        x, y = ensure_arrays(name, x, y)
        return function(x, y)

    fun.__name__ = fun.__qualname__ = name
    fun.__doc__ = f"""Whether {text}, elementwise.

    Args:
      x: an array or scalar.
      y: an array or scalar; shapes are broadcast and dtypes promoted.

    Returns:
      A bool array of the joint shape.

    Raises:
      TypeError: if an argument is a list or tuple; or if the shapes do not broadcast.

    Example:
      >>> jnp.{name}(jnp.array([1, 2, 3]), 2)
      Array([{result}], dtype=bool)
    """
    return fused(fun)


equal = _comparison("equal", operators.equal, "x == y", "False,  True, False")
not_equal = _comparison("not_equal", operators.not_equal, "x != y", " True, False,  True")
less = _comparison("less", operators.less, "x < y", " True, False, False")
less_equal = _comparison("less_equal", operators.less_equal, "x <= y", " True,  True, False")
greater = _comparison("greater", operators.greater, "x > y", "False, False,  True")
greater_equal = _comparison("greater_equal", operators.greater_equal, "x >= y", "False,  True,  True")

# --- logic ---


def _logical(name: str, function: Callable, text: str, result: str) -> Callable:
    def fun(x: ArrayLike, y: ArrayLike, /) -> Array:
        x, y = ensure_arrays(name, x, y)
        result = function(*promoted_operands.promote_shapes(name, truth_of(x, name), truth_of(y, name)))
        return _as_weak_as(result, x, y)

    fun.__module__ = __name__

    fun.__name__ = fun.__qualname__ = name
    fun.__doc__ = f"""{text}, elementwise; numbers are true where they are not 0.

    Args:
      x: an array or scalar.
      y: an array or scalar; shapes are broadcast.

    Returns:
      A bool array of the joint shape.

    Raises:
      TypeError: if an argument is a list or tuple; or if the shapes do not broadcast.

    Example:
      >>> jnp.{name}(jnp.array([0, 0, 1, 1]), jnp.array([0, 1, 0, 1]))
      Array([{result}], dtype=bool)
    """
    return fun


def _as_weak_as(result: Any, *operands: Any) -> Any:
    """A truth value that is weakly typed if it is a scalar and all the operands are weakly typed numbers, as JAX's is."""
    if get_aval(result).shape or not all(get_aval(x).weak_type for x in operands):
        return result
    return op.convert_element_type(result, _BOOL, weak_type=True)


logical_and = builtin_ufunc(True, reduce=methods.logical("and"))(
    _logical("logical_and", op.bitwise_and, "Whether x and y are true", "False, False, False,  True"))
logical_or = builtin_ufunc(False, reduce=methods.logical("or"))(
    _logical("logical_or", op.bitwise_or, "Whether x or y is true", "False,  True,  True,  True"))
logical_xor = builtin_ufunc(False, reduce=methods.logical("xor"))(
    _logical("logical_xor", op.bitwise_xor, "Whether exactly one of x and y is true", "False,  True,  True, False"))


@fused
def logical_not(x: ArrayLike, /) -> Array:
    """Whether x is not true, elementwise; numbers are true where they are not 0.

    Example:
      >>> jnp.logical_not(jnp.array([True, False]))
      Array([False,  True], dtype=bool)
    """
    x = ensure_array("logical_not", x)
    return _as_weak_as(op.bitwise_not(truth_of(x, "logical_not")), x)


# --- bits ---


def _bitwise(name: str, function: Callable, text: str, args: str, result: str) -> Callable:
    def fun(x: ArrayLike, y: ArrayLike, /) -> Array:
        x, y = ensure_arrays(name, x, y)
        return function(x, y)

    fun.__module__ = __name__
    fun.__name__ = fun.__qualname__ = name
    fun.__doc__ = f"""{text}, elementwise.

    Args:
      x: an array or scalar of integers (or, for and, or and xor, bools).
      y: the same; shapes are broadcast and dtypes promoted.

    Returns:
      An array of the joint shape and of the promoted dtype.

    Raises:
      TypeError: for floats, lists and tuples; or if the shapes do not broadcast.

    Example:
      >>> jnp.{name}({args})
      Array([{result}], dtype=int32)
    """
    return fun


bitwise_and = builtin_ufunc(-1, reduce=methods.bitwise("and"))(
    _bitwise("bitwise_and", operators.bitwise_and, "And of the bits", "jnp.array([0b1100, -1]), 0b1010", " 8, 10"))
bitwise_or = builtin_ufunc(0, reduce=methods.bitwise("or"))(
    _bitwise("bitwise_or", operators.bitwise_or, "Or of the bits", "jnp.array([0b1100, -1]), 0b1010", "14, -1"))
bitwise_xor = builtin_ufunc(0, reduce=methods.bitwise("xor"))(
    _bitwise("bitwise_xor", operators.bitwise_xor, "Exclusive or of the bits", "jnp.array([0b1100, -1]), 0b1010", "  6, -11"))
left_shift = fused(_bitwise("left_shift", lambda x, y: operators.left_shift(*promote_numeric("left_shift", x, y)),
                            "x * 2**y in integers of fixed width, x << y", "jnp.array([1, -3]), 4", " 16, -48"))
right_shift = fused(_bitwise("right_shift", lambda x, y: operators.right_shift(*promote_numeric("right_shift", x, y)),
                             "x / 2**y rounded down, x >> y", "jnp.array([20, -3]), 1", "10, -2"))
bitwise_left_shift = alias(left_shift, "bitwise_left_shift")
bitwise_right_shift = alias(right_shift, "bitwise_right_shift")


def bitwise_not(x: ArrayLike, /) -> Array:
    """The complement of the bits of integers or bools, elementwise.

    Example:
      >>> jnp.invert(jnp.array([0, 5]))
      Array([-1, -6], dtype=int32)
    """
    return op.bitwise_not(ensure_array("bitwise_not", x))


bitwise_invert = alias(bitwise_not, "bitwise_invert")
invert = alias(bitwise_not, "invert")


@fused
def bitwise_count(x: ArrayLike, /) -> Array:
    """The number of set bits of |x|, elementwise.

    Args:
      x: an array or scalar of integers.

    Returns:
      A uint8 array of x's shape.

    Raises:
      TypeError: if x is not of integers.

    Example:
      >>> jnp.bitwise_count(jnp.array([0, 7, -8]))
      Array([0, 3, 1], dtype=uint8)
    """
    (x,) = promote_numeric("bitwise_count", x)
    return convert(op.population_count(operators.absolute(x)), np.dtype(np.uint8))


# --- classes of numbers ---


@fused
def isnan(x: ArrayLike, /) -> Array:
    """Whether x is NaN, elementwise.

    Example:
      >>> jnp.isnan(jnp.array([1.0, jnp.nan]))
      Array([False,  True], dtype=bool)
    """
    x = ensure_array("isnan", x)
    if not is_kind(x, dtypes.inexact):
        return _as_weak_as(shape_ops.full(shape_of(x), False), x)
    return op.ne(x, x)


@fused
def isfinite(x: ArrayLike, /) -> Array:
    """Whether x is neither infinite nor NaN, elementwise.

    Example:
      >>> jnp.isfinite(jnp.array([1.0, jnp.inf, jnp.nan]))
      Array([ True, False, False], dtype=bool)
    """
    x = ensure_array("isfinite", x)
    if is_kind(x, dtypes.complexfloating):
        return op.bitwise_and(op.is_finite(op.real(x)), op.is_finite(op.imag(x)))
    return op.is_finite(x) if is_kind(x, dtypes.floating) else shape_ops.full(shape_of(x), True)


@fused
def isinf(x: ArrayLike, /) -> Array:
    """Whether x is infinite, elementwise.

    Example:
      >>> jnp.isinf(jnp.array([1.0, jnp.inf]))
      Array([False,  True], dtype=bool)
    """
    x = ensure_array("isinf", x)
    if is_kind(x, dtypes.complexfloating):
        return op.bitwise_or(isinf(op.real(x)), isinf(op.imag(x)))
    if not is_kind(x, dtypes.floating):
        return shape_ops.full(shape_of(x), False)
    return op.eq(op.abs(strong(x)), scalar_like(math.inf, dtype_of(x)))


def isposinf(x: ArrayLike, /, out: None = None) -> Array:
    """Whether x is +inf, elementwise.

    Args:
      x: an array or scalar of real numbers.
      out: must be None.

    Returns:
      A bool array of x's shape.

    Raises:
      ValueError: for complex numbers.

    Example:
      >>> jnp.isposinf(jnp.array([jnp.inf, 1.0]))
      Array([ True, False], dtype=bool)
    """
    return _is_infinity("isposinf", math.inf, x, out)


def isneginf(x: ArrayLike, /, out: None = None) -> Array:
    """Whether x is -inf, elementwise.

    Args:
      x: an array or scalar of real numbers.
      out: must be None.

    Returns:
      A bool array of x's shape.

    Raises:
      ValueError: for complex numbers.

    Example:
      >>> jnp.isneginf(jnp.array([-jnp.inf, 1.0]))
      Array([ True, False], dtype=bool)
    """
    return _is_infinity("isneginf", -math.inf, x, out)


def _is_infinity(name: str, infinity: float, x: Any, out: Any) -> Array:
    refuse_out(name, out)
    x = ensure_array(name, x)
    if is_kind(x, dtypes.complexfloating):
        raise ValueError(f"{name}: complex numbers have no signed infinities, got {get_aval(x).str_short()}")
    if not is_kind(x, dtypes.floating):
        return shape_ops.full(shape_of(x), False)
    return op.eq(strong(x), scalar_like(infinity, dtype_of(x)))


@fused
def signbit(x: ArrayLike, /) -> Array:
    """Whether the sign bit of x is set, elementwise; so it is for -0.0.

    Args:
      x: an array or scalar of real numbers.

    Returns:
      A bool array of x's shape.

    Raises:
      ValueError: for complex numbers.

    Example:
      >>> jnp.signbit(jnp.array([-0.0, 1.0]))
      Array([ True, False], dtype=bool)
    """
    x = ensure_array("signbit", x)
    dtype = dtype_of(x)
    if dtypes.issubdtype(dtype, dtypes.unsignedinteger) or dtype == _BOOL:
        return shape_ops.full(shape_of(x), False)
    if dtypes.issubdtype(dtype, dtypes.integer):
        return op.lt(strong(x), scalar_like(0, dtype))
    if dtypes.issubdtype(dtype, dtypes.complexfloating):
        raise ValueError(f"signbit: complex numbers have no sign, got {get_aval(x).str_short()}")
    integer = np.dtype(f"int{dtypes.bit_width(dtype)}")
    return op.lt(op.bitcast_convert_type(x, integer), scalar_like(0, integer))


def isreal(x: ArrayLike) -> Array:
    """Whether the imaginary part is 0, elementwise.

    Example:
      >>> jnp.isreal(jnp.array([1 + 0j, 1j]))
      Array([ True, False], dtype=bool)
    """
    x = ensure_array("isreal", x)
    if not is_kind(x, dtypes.complexfloating):
        return _as_weak_as(shape_ops.full(shape_of(x), True), x)
    return operators.equal(op.imag(x), 0)


def iscomplex(x: ArrayLike) -> Array:
    """Whether the imaginary part is not 0, elementwise.

    Example:
      >>> jnp.iscomplex(jnp.array([1 + 0j, 1j]))
      Array([False,  True], dtype=bool)
    """
    x = ensure_array("iscomplex", x)
    if not is_kind(x, dtypes.complexfloating):
        return _as_weak_as(shape_ops.full(shape_of(x), False), x)
    return operators.not_equal(op.imag(x), 0)


def iscomplexobj(x: Any) -> bool:
    """Whether x has a complex dtype; lists and the like are converted first.

    Example:
      >>> jnp.iscomplexobj(jnp.array([1j]))
      True
    """
    if x is None:
        return False
    dtype = getattr(x, "dtype", None)
    if dtype is None:
        is_scalar = type(x) in (bool, int, float, complex)  # the question is no reason to make an array of them
        dtype = dtypes.dtype(x) if is_scalar else asarray(x).dtype
    return bool(dtypes.issubdtype(dtype, dtypes.complexfloating))


def isrealobj(x: Any) -> bool:
    """Whether x has no complex dtype.

    Example:
      >>> jnp.isrealobj(jnp.array([1.0]))
      True
    """
    return not iscomplexobj(x)


def isscalar(element: Any) -> bool:
    """Whether x is a scalar: a Python scalar, or an array of rank 0.

    Example:
      >>> jnp.isscalar(3.0)
      True
    """
    if hasattr(element, "__jax_array__"):
        element = element.__jax_array__()
    if type(element) in dtypes.python_scalar_types or isinstance(element, (np.generic, np.ndarray, Tracer)) or hasattr(element, "aval"):
        return np.ndim(element) == 0
    return bool(np.isscalar(element))


# --- approximate and whole equality ---


@fused
def isclose(a: ArrayLike, b: ArrayLike, rtol: ArrayLike = 1e-05, atol: ArrayLike = 1e-08, equal_nan: ArrayLike = False) -> Array:
    """Whether |a - b| <= atol + rtol * |b|, elementwise; of random keys, whether they are equal.

    Args:
      a, b: arrays or scalars; shapes are broadcast.
      rtol: the relative tolerance.
      atol: the absolute tolerance.
      equal_nan: whether NaN is close to NaN.

    Returns:
      A bool array. Infinities are close to themselves alone; numbers that are not inexact must be equal up to the
      tolerances too.

    Example:
      >>> jnp.isclose(jnp.array([1.0, 2.0]), jnp.array([1.0, 2.1]))
      Array([ True, False], dtype=bool)
    """
    a, b = promote_arrays("isclose", *ensure_arrays("isclose", a, b))
    dtype = dtype_of(a)
    if dtypes.issubdtype(dtype, dtypes.extended):
        return op.eq(a, b)
    if not dtypes.issubdtype(dtype, dtypes.inexact):
        a, b = promote_inexact("isclose", a, b)
        dtype = dtype_of(a)
    real = dtypes.to_floating_dtype(dtype)
    rtol, atol = convert(rtol, real), convert(atol, real)
    bound = operators.add(atol, operators.multiply(rtol, op.abs(b)))
    close = op.le(op.abs(op.sub(a, b)), bound)
    close = op.bitwise_and(close, op.bitwise_and(isfinite(a), isfinite(b)))
    result = op.bitwise_or(close, op.eq(a, b))
    both_nan = op.bitwise_and(isnan(a), isnan(b))
    if isinstance(equal_nan, (bool, np.bool_)):
        return op.bitwise_or(result, both_nan) if equal_nan else result
    return op.bitwise_or(result, op.bitwise_and(both_nan, truth_of(equal_nan)))


@fused
def allclose(a: ArrayLike, b: ArrayLike, rtol: ArrayLike = 1e-05, atol: ArrayLike = 1e-08, equal_nan: bool = False) -> Array:
    """Whether all elements are close; see `isclose`.

    Returns:
      A bool scalar.

    Example:
      >>> jnp.allclose(jnp.array([1.0, 2.0]), jnp.array([1.0, 2.0 + 1e-7]))
      Array(True, dtype=bool)
    """
    close = isclose(a, b, rtol, atol, equal_nan)
    return reduce_and(close, tuple(range(len(close.shape))))


@fused
def _all_equal(a1: ArrayLike, a2: ArrayLike, equal_nan: ArrayLike) -> Array:
    a1, a2 = promote_arrays("array_equal", a1, a2)
    same = op.eq(a1, a2)
    if is_kind(a1, dtypes.inexact):
        both_nan = op.bitwise_and(op.ne(a1, a1), op.ne(a2, a2))
        same = op.bitwise_or(same, op.bitwise_and(both_nan, truth_of(equal_nan)))
    return strong(reduce_and(same, tuple(range(len(same.shape)))))


def array_equal(a1: ArrayLike, a2: ArrayLike, equal_nan: bool = False) -> Array:
    """Whether two arrays have the same shape and elements.

    Args:
      a1, a2: arrays, scalars, or what `array` accepts.
      equal_nan: whether NaN equals NaN.

    Returns:
      A bool scalar.

    Example:
      >>> jnp.array_equal(jnp.array([1, 2]), jnp.array([1, 2]))
      Array(True, dtype=bool)
    """
    return _whole_equality("array_equal", a1, a2, equal_nan, lambda s, t: s == t)


def array_equiv(a1: ArrayLike, a2: ArrayLike) -> Array:
    """Whether two arrays broadcast to one shape and are equal there.

    Args:
      a1: an array.
      a2: an array.

    Returns:
      A bool scalar.

    Example:
      >>> jnp.array_equiv(jnp.array([1, 1]), jnp.array([[1, 1], [1, 1]]))
      Array(True, dtype=bool)
    """
    def compatible(s: Any, t: Any) -> Any:
        try:
            np.broadcast_shapes(s, t)
        except ValueError:
            return False
        return True
    return _whole_equality("array_equiv", a1, a2, False, compatible)


def _whole_equality(name: str, a1: ArrayLike, a2: ArrayLike, equal_nan: bool, compatible: Callable) -> Array:
    try:
        a1, a2 = asarray(a1), asarray(a2)
    except (TypeError, ValueError):
        return as_array(False)
    if not compatible(shape_of(a1), shape_of(a2)):
        return as_array(False)
    rank = max(len(shape_of(a1)), len(shape_of(a2)))
    return _all_equal(*[shape_ops.expand_dims(x, tuple(range(rank - len(shape_of(x))))) for x in (a1, a2)], equal_nan)
