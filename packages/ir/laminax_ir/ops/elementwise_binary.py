"""Elementwise operations of two operands: arithmetic, bits, comparisons. Their functions differ in the primitive and the docstring only."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from laminax_ir.ops.elementwise_avals import kinds_of_binary
from laminax_ir.ops.elementwise_primitives import (
    add_p,
    and_p,
    atan2_p,
    div_p,
    eq_p,
    eq_to_p,
    ge_p,
    gt_p,
    le_p,
    le_to_p,
    lt_p,
    lt_to_p,
    max_p,
    min_p,
    mulhi_p,
    ne_p,
    nextafter_p,
    or_p,
    rem_p,
    shift_left_p,
    shift_right_arithmetic_p,
    shift_right_logical_p,
    sub_p,
    xor_p,
)
from laminax_ir.ops.scalar_operands import PYTHON_SCALARS, scalar_like, typed
from laminax_ir.programs.primitive import Primitive
from laminax_ir.tracing.trace import state
from laminax_ir.types import dtypes
from laminax_ir.types.arguments import with_name
from laminax_ir.types.avals import get_aval

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike

_KIND_WORDS = {dtypes.number: "integer, floating or complex", dtypes.integer: "integer", dtypes.floating: "floating",
               dtypes.complexfloating: "complex", np.bool_: "bool", dtypes.extended: "random keys"}


def _binary_docstring(primitive: Primitive, text: str, example: str, shown: str) -> str:
    result = "bool" if text.endswith("a bool array") else "the operands' dtype"
    return f"""Elementwise {text}.

    Args:
      x: an array: {" or ".join([_KIND_WORDS[kind] for kind in kinds_of_binary[primitive]])}.
      y: an array of the same dtype and a compatible shape (equal sizes, size 1, or rank 0), or a scalar.

    Returns:
      An array of the joint shape and of {result}.

    Raises:
      TypeError: if dtypes differ or are others, or shapes do not fit.

    Example:
      >>> {example}
      {shown}
    """


def _binary_function(primitive: Primitive, name: str, text: str, args: str, shown: str) -> Callable:
    """The function that binds a primitive of two operands; its docstring shows what the arguments `args` give."""
    def fun(x: Any, y: Any) -> Any:
        if type(y) in PYTHON_SCALARS:
            if type(x) not in PYTHON_SCALARS:
                y = scalar_like(y, get_aval(x).dtype)
        elif type(x) in PYTHON_SCALARS:
            x = scalar_like(x, get_aval(y).dtype)
        return state.trace.process(primitive, (x, y), {})

    fun.__doc__ = _binary_docstring(primitive, text, f"{name}({args})", shown)
    return with_name(fun, name)


add = _binary_function(add_p, "add", "sum, x + y",
                       "np.float32([1, 2]), np.float32([3, 5])", "array([4., 7.], dtype=float32)")
sub = _binary_function(sub_p, "sub", "difference, x - y",
                       "np.float32([1, 2]), np.float32([3, 5])", "array([-2., -3.], dtype=float32)")


_mulhi = _binary_function(mulhi_p, "mulhi", "high half of the product x * y: what the dtype does not hold of its bits",
                          "np.int32([2**20, -2**20]), np.int32([2**20, 2**20])", "array([ 256, -256], dtype=int32)")


def mulhi(x: ArrayLike, y: ArrayLike, /) -> Array:
    return _mulhi(x, y)


mulhi.__doc__ = _mulhi.__doc__
div = _binary_function(div_p, "div", "quotient, x / y; of integers rounded towards zero",
                       "np.int32([7, -7]), np.int32([2, 2])", "array([ 3, -3], dtype=int32)")
rem = _binary_function(rem_p, "rem", "remainder of x / y with the sign of x",
                       "np.int32([7, -7]), np.int32([4, 4])", "array([ 3, -3], dtype=int32)")
max = _binary_function(max_p, "max", "maximum; NaN if either is NaN; complex numbers in lexicographic order",
                       "np.float32([1, np.nan]), np.float32([3, 5])", "array([ 3., nan], dtype=float32)")
min = _binary_function(min_p, "min", "minimum; NaN if either is NaN; complex numbers in lexicographic order",
                       "np.float32([1, np.nan]), np.float32([3, 5])", "array([ 1., nan], dtype=float32)")
atan2 = _binary_function(atan2_p, "atan2", "angle of the point (y, x) in radians: arc tangent of x / y with quadrant",
                         "np.float32([1, 1]), np.float32([1, -1])", "array([0.7853981, 2.3561945], dtype=float32)")


def nextafter(x1: ArrayLike, x2: ArrayLike) -> Array:
    """Elementwise next representable value after x1 in the direction of x2.

    Args:
      x1: a floating array.
      x2: an array of the same dtype and a compatible shape (equal sizes, size 1, or rank 0), or a scalar.

    Returns:
      An array of the joint shape and of the operands' dtype.

    Raises:
      TypeError: if dtypes differ or are others, or shapes do not fit.

    Example:
      >>> nextafter(np.float32([1]), np.float32([2]))
      array([1.0000001], dtype=float32)
    """
    return nextafter_p.bind(*typed(x1, x2))


bitwise_and = _binary_function(and_p, "bitwise_and", "and of integers or bools",
                               "np.int32([0b1100, -1]), np.int32([0b1010, 5])", "array([8, 5], dtype=int32)")
bitwise_or = _binary_function(or_p, "bitwise_or", "or of integers or bools",
                              "np.int32([0b1100, -1]), np.int32([0b1010, 5])", "array([14, -1], dtype=int32)")
bitwise_xor = _binary_function(xor_p, "bitwise_xor", "exclusive or of integers or bools",
                               "np.int32([0b1100, -1]), np.int32([0b1010, 5])", "array([ 6, -6], dtype=int32)")
shift_left = _binary_function(shift_left_p, "shift_left", "x * 2**y in integers of fixed width",
                              "np.int32([1, -3]), np.int32([4, 1])", "array([16, -6], dtype=int32)")
shift_right_arithmetic = _binary_function(shift_right_arithmetic_p, "shift_right_arithmetic",
                                          "right shift of integers that repeats the sign bit",
                                          "np.int32([20, -8]), np.int32([2, 1])", "array([ 5, -4], dtype=int32)")
shift_right_logical = _binary_function(shift_right_logical_p, "shift_right_logical",
                                       "right shift of integers that fills with zeros",
                                       "np.int32([20, -8]), np.int32([2, 1])", "array([         5, 2147483644], dtype=int32)")
eq = _binary_function(eq_p, "eq", "comparison x == y, a bool array",
                      "np.float32([1, 2, 3]), np.float32([2, 2, 2])", "array([False,  True, False])")
ne = _binary_function(ne_p, "ne", "comparison x != y, a bool array",
                      "np.float32([1, 2, 3]), np.float32([2, 2, 2])", "array([ True, False,  True])")
lt = _binary_function(lt_p, "lt", "comparison x < y, a bool array",
                      "np.float32([1, 2, 3]), np.float32([2, 2, 2])", "array([ True, False, False])")
le = _binary_function(le_p, "le", "comparison x <= y, a bool array",
                      "np.float32([1, 2, 3]), np.float32([2, 2, 2])", "array([ True,  True, False])")
gt = _binary_function(gt_p, "gt", "comparison x > y, a bool array",
                      "np.float32([1, 2, 3]), np.float32([2, 2, 2])", "array([False, False,  True])")
ge = _binary_function(ge_p, "ge", "comparison x >= y, a bool array",
                      "np.float32([1, 2, 3]), np.float32([2, 2, 2])", "array([False,  True,  True])")

# IEEE 754 totalOrder: -NaN < -inf < ... < -0.0 < 0.0 < ... < inf < NaN; integers and bools as usual
_TOTAL_ORDER = "in the total order of IEEE 754, where -0.0 < 0.0 and NaN equals itself and comes last, a bool array"
eq_to = _binary_function(eq_to_p, "eq_to", f"comparison x == y {_TOTAL_ORDER}",
                         "np.float32([-0.0, np.nan]), np.float32([0.0, np.nan])", "array([False,  True])")
lt_to = _binary_function(lt_to_p, "lt_to", f"comparison x < y {_TOTAL_ORDER}",
                         "np.float32([-0.0, np.nan]), np.float32([0.0, np.nan])", "array([ True, False])")
le_to = _binary_function(le_to_p, "le_to", f"comparison x <= y {_TOTAL_ORDER}",
                         "np.float32([-0.0, np.nan]), np.float32([0.0, np.nan])", "array([ True,  True])")
