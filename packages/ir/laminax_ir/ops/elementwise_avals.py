"""The types of elementwise operations: operands broadcast against each other, and primitives whose results have an operand's type."""

from __future__ import annotations

from typing import Any, Iterable, Sequence

from laminax_ir.ops.dtype_kinds import check_dtype
from laminax_ir.programs.primitive import Primitive, Trait, shape_rule
from laminax_ir.types import dtypes
from laminax_ir.types.avals import ShapedArray
from laminax_ir.types.errors import DTypeError, ShapeError
from laminax_ir.types.promotion import float0_error


def broadcast_avals(name: str, avals: Sequence[ShapedArray]) -> tuple[int, ...]:
    """The common shape of elementwise operands.

    Raises:
      ShapeError: if two operands of rank above 0 have different ranks, or two axes different sizes above 1.
    """
    shapes = [aval.shape for aval in avals if aval.shape]
    if not shapes:
        return ()
    first = shapes[0]
    if all(shape == first for shape in shapes):
        return first
    if len({len(shape) for shape in shapes}) != 1:
        raise ShapeError(f"{name}: arrays must have the same number of dimensions, got operands "
                         f"{', '.join(a.str_short() for a in avals)}. Reshape or broadcast one of them first.")
    result = []
    for axis, sizes in enumerate(zip(*shapes)):
        wide = {size for size in sizes if size != 1}
        if len(wide) > 1:
            raise ShapeError(f"{name} got incompatible shapes for broadcasting: {', '.join(map(str, shapes))}. "
                             f"Axis {axis} has sizes {', '.join(map(str, sizes))}, which must be equal or 1.")
        result.append(wide.pop() if wide else 1)
    return tuple(result)


def joined_named_shape(avals: Sequence[ShapedArray]) -> dict | None:
    """The named axes that any of the operands varies over."""
    named: dict = {}
    for aval in avals:
        if aval._named:
            named.update(aval._named)
    return named or None


def check_same_dtype(name: str, avals: Sequence[ShapedArray]) -> None:
    if len({aval.dtype for aval in avals}) != 1:
        if any(aval.dtype == dtypes.float0 for aval in avals):
            raise float0_error(f"lax.{name}: ", [aval.dtype for aval in avals])
        raise DTypeError(f"lax.{name} requires arguments to have the same dtypes, got "
                         f"{', '.join(dtypes.dtype_name(a.dtype) for a in avals)}. (Tip: numpy.{_NUMPY_NAMES.get(name, name)} "
                         "is a similar function that does automatic type promotion on inputs.)")


_NUMPY_NAMES = {"sub": "subtract", "mul": "multiply", "div": "divide", "max": "maximum", "min": "minimum",
                "rem": "remainder", "eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal",
                "gt": "greater", "ge": "greater_equal", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor",
                "pow": "power", "atan2": "arctan2"}


def result_aval(name: str, avals: Sequence[ShapedArray], dtype: Any) -> ShapedArray:
    return ShapedArray(broadcast_avals(name, avals), dtype, all(a.weak_type for a in avals),
                       named_shape=joined_named_shape(avals))


def unary_primitive(name: str, kinds: tuple, result_dtype: Any = None, traits: Iterable[Trait] = ()) -> Primitive:
    primitive = Primitive(name, family="elementwise", traits=(Trait.ELEMENTWISE, *traits))

    accepted: set = set()

    @shape_rule(primitive)
    def rule(x: ShapedArray, **_params: Any) -> ShapedArray:
        if x.dtype not in accepted:
            check_dtype(name, x.dtype, kinds)
            accepted.add(x.dtype)
        return x if result_dtype is None else x.update(dtype=result_dtype(x.dtype), weak_type=x.weak_type)

    return primitive


kinds_of_binary: dict[Primitive, tuple] = {}  # the dtypes that each operation of two operands takes, for the docstrings


def binary_primitive(name: str, kinds: tuple, result_dtype: Any = None, traits: Iterable[Trait] = ()) -> Primitive:
    primitive = Primitive(name, family="elementwise", traits=(Trait.ELEMENTWISE, *traits))
    kinds_of_binary[primitive] = kinds

    accepted: set = set()

    @shape_rule(primitive)
    def rule(x: ShapedArray, y: ShapedArray) -> ShapedArray:
        dtype = x.dtype
        if x is not y and dtype is not y.dtype:
            check_same_dtype(name, (x, y))
        if dtype not in accepted:
            check_dtype(name, dtype, kinds)
            accepted.add(dtype)
        if result_dtype is None:
            if x is y:
                return x
            # a scalar beside an array leaves the array's type as it is, unless it makes a weak type strong
            if not y.shape and not y._named and (y.weak_type or not x.weak_type):
                return x
            if not x.shape and not x._named and (x.weak_type or not y.weak_type):
                return y
            return result_aval(name, (x, y), dtype)
        return result_aval(name, (x, y), result_dtype(dtype))

    return primitive
