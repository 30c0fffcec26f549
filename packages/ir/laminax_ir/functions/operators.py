"""Python's arithmetic operators on traced arrays, with NumPy-style promotion of dtypes and shapes.

The api installs the same functions on the runtime's arrays and adds methods and indexing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable

import numpy as np

from laminax_ir.functions.promoted_operands import as_dtype, promote, promote_shapes
from laminax_ir.key_arrays.extended_arrays import ExtendedArray
from laminax_ir.ops import elementwise as op
from laminax_ir.ops.scalar_operands import scalar_like
from laminax_ir.ops.shape import broadcast_to_shape, full
from laminax_ir.ops.shape_arguments import common_shape
from laminax_ir.programs.primitive import Primitive
from laminax_ir.recording.recordings import recorded
from laminax_ir.tracing.trace import Tracer, state
from laminax_ir.types import dtypes
from laminax_ir.types.avals import get_aval, is_array_like
from laminax_ir.types.errors import DTypeError

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike

_SCALARS = frozenset((bool, int, float, complex))
_BOOL = np.dtype(bool)


def _fast_scalar(x: ArrayLike, dtype: np.dtype) -> float | None:
    """A Python number as a constant beside an array of its own default dtype, or None if promotion has to decide."""
    kind = type(x)
    if kind is float:
        return x if dtypes.scalar_dtype(float) is dtype else None
    if kind is int:
        if dtypes.scalar_dtype(float) is dtype:
            return float(x)
        if dtypes.scalar_dtype(int) is dtype and -2147483648 <= x <= 2147483647:
            return x
    return None


def binary_function(primitive: Primitive, on_bools: Primitive | None = None) -> Callable[[Any, Any], Any]:
    """A NumPy-style function of two operands from a primitive, and from another one for bools if need be.

    Tracers of one dtype, and a tracer beside a Python number, are by far the most common operands; they need no
    promotion and take a short way.
    """
    name = primitive.name

    def apply(x: Any, y: Any) -> Any:
        if isinstance(x, Tracer):
            aval = x.aval
            if isinstance(y, Tracer):
                other = y.aval
                if other is aval and aval.dtype is not _BOOL:
                    return state.trace.process(primitive, (x, y), {})
                if other.dtype is aval.dtype is not _BOOL and (other.ndim == aval.ndim or not other.ndim or not aval.ndim):
                    return state.trace.process(primitive, (x, y), {})
            else:
                scalar = _fast_scalar(y, aval.dtype)
                if scalar is not None:
                    return state.trace.process(primitive, (x, scalar), {})
        elif isinstance(y, Tracer):
            scalar = _fast_scalar(x, y.aval.dtype)
            if scalar is not None:
                return state.trace.process(primitive, (scalar, y), {})
        x, y = promote(name, x, y)
        if on_bools is not None and get_aval(x).dtype is _BOOL:
            return state.trace.process(on_bools, (x, y), {})
        return state.trace.process(primitive, (x, y), {})

    return apply


add = binary_function(op.add_p, on_bools=op.or_p)
subtract = binary_function(op.sub_p)
multiply = binary_function(op.mul_p, on_bools=op.and_p)
_divide = binary_function(op.div_p)
bitwise_and = binary_function(op.and_p)
bitwise_or = binary_function(op.or_p)
bitwise_xor = binary_function(op.xor_p)
equal = binary_function(op.eq_p)
not_equal = binary_function(op.ne_p)


def _ordering(primitive: Primitive) -> Callable[[Any, Any], Any]:
    """A comparison that orders complex numbers too, as NumPy does: by their real parts, ties by the imaginary ones."""
    compare_real = binary_function(primitive)

    def compare(x: Any, y: Any) -> Any:
        try:
            return compare_real(x, y)
        except DTypeError:  # the primitive takes no complex numbers; asking first would cost every other comparison
            x, y = promote(primitive.name, x, y)
            if not dtypes.issubdtype(get_aval(x).dtype, dtypes.complexfloating):
                raise
        return op.select(op.eq(op.real(x), op.real(y)), compare_real(op.imag(x), op.imag(y)), compare_real(op.real(x), op.real(y)))

    return compare


less = _ordering(op.lt_p)
less_equal = _ordering(op.le_p)
greater = _ordering(op.gt_p)
greater_equal = _ordering(op.ge_p)
left_shift = binary_function(op.shift_left_p)


def true_divide(x: Any, y: Any) -> Any:
    """Quotient x / y; integers become floats."""
    if not (isinstance(x, Tracer) and x.aval.dtype.kind == "f"):
        dtype, weak = dtypes.result_type(x, y, return_weak_type_flag=True)
        if not dtypes.issubdtype(dtype, dtypes.inexact):
            inexact = dtypes.to_inexact_dtype(dtype)
            x, y = as_dtype(x, inexact, weak), as_dtype(y, inexact, weak)
    return _divide(x, y)


def right_shift(x: Any, y: Any) -> Any:
    """x >> y: arithmetic for signed integers, logical for unsigned ones."""
    x, y = promote("right_shift", x, y)
    signed = dtypes.issubdtype(get_aval(x).dtype, dtypes.signedinteger)
    return (op.shift_right_arithmetic if signed else op.shift_right_logical)(x, y)


@recorded
def floor_divide(x: Any, y: Any) -> Any:
    """Largest integer not above x / y, as NumPy defines it; an integer over 0 gives some integer."""
    x, y = _promoted_numbers("floor_divide", x, y)
    dtype = _checked_division_dtype("floor_divide", x)
    if dtypes.issubdtype(dtype, dtypes.unsignedinteger):
        return op.div(x, y)
    if dtypes.issubdtype(dtype, dtypes.integer):
        quotient = op.div(x, y)
        inexact = op.bitwise_and(op.ne(op.sign(x), op.sign(y)), op.ne(op.rem(x, y), scalar_like(0, dtype)))
        return op.select(inexact, op.sub(quotient, scalar_like(1, dtype)), quotient)
    return _float_floor_divide(x, y)


@recorded
def remainder(x: Any, y: Any) -> Any:
    """x - floor(x / y) * y, with the sign of y, as NumPy defines it; of integers modulo 0 it is 0."""
    x, y = _promoted_numbers("remainder", x, y)
    dtype = _checked_division_dtype("remainder", x)
    zero = scalar_like(0, dtype)
    if dtypes.issubdtype(dtype, dtypes.integer) and (type(y) is not int or y == 0):
        y = _select(op.eq(y, zero), scalar_like(1, dtype), y)
    truncated = op.rem(x, y)
    opposite = op.bitwise_and(op.ne(op.lt(truncated, zero), op.lt(y, zero)), op.ne(truncated, zero))
    return _select(opposite, op.add(truncated, y), truncated)


def _promoted_numbers(name: str, x: Any, y: Any) -> tuple[ArrayLike, ArrayLike]:
    """Operands of one dtype; two booleans count as the integers 0 and 1."""
    x, y = promote(name, x, y)
    if get_aval(x).dtype == np.bool_:
        integer = dtypes.scalar_dtype(int)
        return as_dtype(x, integer, False), as_dtype(y, integer, False)
    return x, y


def _checked_division_dtype(name: str, x: ArrayLike) -> np.dtype:
    dtype = get_aval(x).dtype
    if not (dtypes.issubdtype(dtype, dtypes.integer) or dtypes.issubdtype(dtype, dtypes.floating)):
        raise TypeError(f"{name} does not accept dtype {dtypes.dtype_name(dtype)}; it needs integers or real floats")
    return dtype


def _select(pred: ArrayLike, on_true: ArrayLike, on_false: ArrayLike) -> Array:
    shape = common_shape(get_aval(pred).shape, get_aval(on_true).shape, get_aval(on_false).shape)
    return op.select(*[broadcast_to_shape(x, shape) for x in (pred, on_true, on_false)])


def _float_floor_divide(x: ArrayLike, y: ArrayLike) -> Array:
    """The quotient without the remainder is nearly an integer: rounding it cannot go wrong, as flooring x / y can.

    The derivative is 0, also of the quotient by 0, which is not rounded.
    """
    x, y = op.stop_gradient_one(x), op.stop_gradient_one(y)
    mod = op.rem(x, y)
    quotient = op.div(op.sub(x, mod), y)
    opposite = op.bitwise_and(op.ne(mod, 0.0), op.ne(op.sign(y), op.sign(mod)))
    quotient = _select(opposite, op.sub(quotient, 1.0), quotient)
    return _select(op.eq(y, 0.0), op.div(x, y), op.round(quotient))


def divmod_(x: Any, y: Any) -> Any:
    """The pair (floor_divide(x, y), remainder(x, y))."""
    return floor_divide(x, y), remainder(x, y)


def power(x: Any, y: Any) -> Any:
    """x ** y. A Python int exponent of an array is a repeated product, exact for integers.

    Raises:
      TypeError: if an integer array is raised to a negative Python int.
    """
    if type(y) is int and type(x) not in _SCALARS:
        if dtypes.issubdtype(get_aval(x).dtype, np.bool_):
            x = as_dtype(x, dtypes.scalar_dtype(int), False)
        return op.integer_pow(x, y)
    x, y = _promoted_numbers("power", x, y) if not _integer_exponent(x, y) else promote_shapes("power", x, y)
    if dtypes.issubdtype(get_aval(x).dtype, dtypes.inexact):
        return op.pow(x, y)
    return _integer_power(x, y)


def _integer_exponent(x: ArrayLike, y: ArrayLike) -> bool:
    """A float base with an integer array exponent keeps the exponent an integer."""
    return (type(y) not in _SCALARS
            and dtypes.issubdtype(get_aval(x).dtype, dtypes.inexact)
            and dtypes.issubdtype(get_aval(y).dtype, dtypes.integer))


def _integer_power(x: ArrayLike, y: ArrayLike) -> Array:
    """Integers to integer powers by repeated squaring over the exponent's bits; a negative exponent gives 0 or +-1."""
    dtype = get_aval(x).dtype
    one, zero = scalar_like(1, dtype), scalar_like(0, dtype)
    shape = common_shape(get_aval(x).shape, get_aval(y).shape)
    x, y = broadcast_to_shape(x, shape), broadcast_to_shape(y, shape)
    result, base = full(shape, 1, dtype), x
    negative = op.lt(y, zero) if dtypes.issubdtype(dtype, dtypes.signedinteger) else None
    for _ in range(dtypes.bit_width(dtype)):
        odd = op.ne(op.bitwise_and(y, one), zero)
        result = op.select(odd, op.mul(result, base), result)
        y = op.shift_right_logical(y, one)
        base = op.mul(base, base)
    if negative is not None:
        minus_one = op.eq(x, scalar_like(-1, dtype))
        small = op.bitwise_or(op.eq(x, one), minus_one)
        result = op.select(op.bitwise_and(negative, op.bitwise_not(small)), full(shape, 0, dtype), result)
    return result


def invert(x: Any) -> Any:
    """~x of integers or bools."""
    return op.bitwise_not(x)


def absolute(x: Any) -> Any:
    """|x|; integers and bools keep their dtype."""
    dtype = get_aval(x).dtype
    if dtypes.issubdtype(dtype, dtypes.unsignedinteger) or dtypes.issubdtype(dtype, np.bool_):
        return x
    return op.abs(x)


def matmul(x: Any, y: Any) -> Any:
    """x @ y, as `numpy.matmul`; see `laminax_ir.ops.contraction`."""
    from laminax_ir.functions import matmul as products
    return products.matmul(x, y)


BINARY_OPERATORS: dict[str, Callable] = {
    "add": add, "sub": subtract, "mul": multiply, "truediv": true_divide, "floordiv": floor_divide, "mod": remainder,
    "divmod": divmod_, "pow": power, "and": bitwise_and, "or": bitwise_or, "xor": bitwise_xor, "lshift": left_shift,
    "rshift": right_shift, "matmul": matmul,
}
COMPARISONS: dict[str, Callable] = {"eq": equal, "ne": not_equal, "lt": less, "le": less_equal, "gt": greater,
                                    "ge": greater_equal}


_SYMBOLS = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "divmod": "divmod()", "pow": "**",
    "and": "&", "or": "|", "xor": "^", "lshift": "<<", "rshift": ">>", "matmul": "@", "eq": "==", "ne": "!=", "lt": "<",
    "le": "<=", "gt": ">", "ge": ">=",
}


def method_table() -> dict[str, Callable]:
    """The special methods of arrays, by name: `__add__`, `__radd__`, ..."""
    table: dict[str, Callable] = {}
    for name, function in BINARY_OPERATORS.items():
        table[f"__{name}__"] = _method(function, name)
        table[f"__r{name}__"] = _reflected(function, name)
    for name, function in COMPARISONS.items():
        table[f"__{name}__"] = _method(function, name)
    table["__neg__"] = lambda self: op.neg(self)
    table["__pos__"] = lambda self: self
    table["__abs__"] = absolute
    table["__invert__"] = invert
    table["__setitem__"] = _refuse_item_assignment
    return table


def _method(function: Callable, name: str) -> Callable:
    def method(self: Any, other: Any) -> Any:
        if isinstance(other, Tracer) or type(other) in _SCALARS:
            return function(self, other)
        other = _operand(other, name)
        return NotImplemented if other is NotImplemented else function(self, other)
    return method


def _reflected(function: Callable, name: str) -> Callable:
    def method(self: Any, other: Any) -> Any:
        if isinstance(other, Tracer) or type(other) in _SCALARS:
            return function(other, self)
        other = _operand(other, name, is_reflected=True)
        return NotImplemented if other is NotImplemented else function(other, self)
    return method


def _operand(x: Any, name: str, is_reflected: bool = False) -> Any:
    """The other operand as an array; NotImplemented for a type that may know better what to do with an array."""
    if is_array_like(x):
        convert = getattr(type(x), "__jax_array__", None)
        return x if convert is None else convert(x)
    if type(x) in (list, tuple, set, dict):  # not their subclasses, such as a named tuple that has the operator
        kinds = "'ArrayImpl'", repr(type(x).__name__)
        raise TypeError(f"unsupported operand type(s) for {_SYMBOLS[name]}: {' and '.join(kinds[::-1] if is_reflected else kinds)}. "
                        f"Make the {type(x).__name__} an array first, with laminax.numpy.array.")
    return NotImplemented


def _refuse_item_assignment(self: Any, index: Any, value: Any) -> Any:
    raise TypeError("arrays are immutable and do not support in-place item assignment. Instead of x[index] = y, use "
                    "x = x.at[index].set(y) or another method of .at[].")


def _install() -> None:
    for name, method in method_table().items():
        setattr(Tracer, name, method)
        setattr(ExtendedArray, name, method)


_install()
