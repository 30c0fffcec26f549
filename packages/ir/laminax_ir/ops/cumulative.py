"""Cumulative reductions: element i of the result combines elements 0 to i along one axis (or i to the last, in reverse)."""

from __future__ import annotations

from operator import index

from laminax_ir import dtypes
from laminax_ir.avals import ShapedArray
from laminax_ir.ops.reduction import check_dtype
from laminax_ir.primitive import Primitive, shape_rule


def _cumulative(name: str, kinds: tuple) -> Primitive:
    primitive = Primitive(name, family="cumulative")

    @shape_rule(primitive)
    def rule(x: ShapedArray, *, axis: int, reverse: bool) -> ShapedArray:
        check_dtype(name, x.dtype, kinds)
        if not 0 <= axis < x.ndim:
            raise ValueError(f"{name}: axis {axis} is out of range for {x.str_short()}, which has {x.ndim} axes; "
                             "negative axes are not allowed")
        return x

    return primitive


cumsum_p = _cumulative("cumsum", (dtypes.number,))
cumprod_p = _cumulative("cumprod", (dtypes.number,))
cummax_p = _cumulative("cummax", (dtypes.number,))
cummin_p = _cumulative("cummin", (dtypes.number,))
cumlogsumexp_p = _cumulative("cumlogsumexp", (dtypes.inexact,))


def _cumulative_function(primitive: Primitive, name: str, text: str, accepted: str):
    def fun(operand, axis: int = 0, reverse: bool = False):
        return primitive.bind(operand, axis=index(axis), reverse=bool(reverse))

    fun.__name__ = fun.__qualname__ = name
    fun.__doc__ = f"""Cumulative {text} along an axis.

    Args:
      operand: an array of {accepted}.
      axis: the axis, non-negative.
      reverse: whether to start at the end of the axis.

    Returns:
      An array of the operand's shape and dtype.

    Raises:
      ValueError: if the axis is out of range.
      TypeError: if the operand is not of {accepted}.
    """
    return fun


cumsum = _cumulative_function(cumsum_p, "cumsum", "sum", "numbers")
cumprod = _cumulative_function(cumprod_p, "cumprod", "product", "numbers")
cummax = _cumulative_function(cummax_p, "cummax", "maximum, NaN from the first NaN on,", "numbers")
cummin = _cumulative_function(cummin_p, "cummin", "minimum, NaN from the first NaN on,", "numbers")
cumlogsumexp = _cumulative_function(cumlogsumexp_p, "cumlogsumexp", "log(sum(exp(x)))", "floating or complex numbers")
