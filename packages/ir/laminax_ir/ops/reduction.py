"""Reductions: axes collapsed by an associative operation, and the places of extreme elements.

The named reductions (`reduce_sum`, ...) have a primitive each, because derivatives differ; `reduce` takes any monoid,
of several operands at once, and is one of the named ones when it can be.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Callable, Hashable, Sequence

import numpy as np

from laminax_ir.ops import elementwise
from laminax_ir.ops.contraction import refuse_out_sharding
from laminax_ir.ops.dtype_kinds import INTEGER_BOOL, NUMBER, NUMBER_BOOL, REAL_BOOL, check_dtype
from laminax_ir.ops.elementwise_avals import joined_named_shape
from laminax_ir.ops.monoids import flatten_monoid, is_leaf, stage_monoid, unflatten_results
from laminax_ir.ops.shape_arguments import as_ints, checked_out_sharding
from laminax_ir.ops.sharding import reshard
from laminax_ir.options import config
from laminax_ir.programs.jaxpr import ClosedJaxpr
from laminax_ir.programs.primitive import Primitive, Trait, shape_rule
from laminax_ir.tracing.trace import Tracer
from laminax_ir.types import dtypes
from laminax_ir.types.arguments import as_int
from laminax_ir.types.avals import ShapedArray, get_aval
from laminax_ir.types.errors import DTypeError, ShapeError

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike, DTypeLike


def reduced_shape(name: str, shape: tuple[int, ...], axes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape without the axes.

    Args:
      name: the operation, for the message.
      shape: a shape.
      axes: axes, not negative.

    Returns:
      A tuple of ints.

    Raises:
      ValueError: if an axis is out of range or repeated.
    """
    for axis in axes:
        if not 0 <= axis < len(shape):
            raise ValueError(f"{name}: the axes {axes} contain {axis}, which is out of range for an operand of shape {shape} "
                             f"with {len(shape)} axes; negative axes are not allowed")
    if len(set(axes)) != len(axes):
        raise ValueError(f"{name}: duplicate value in 'axes' {axes} for an operand of shape {shape}")
    return tuple(size for axis, size in enumerate(shape) if axis not in axes)


def _named_reduction(name: str, kinds: tuple, *traits: Trait) -> Primitive:
    primitive = Primitive(name, family="reduction", traits=traits)

    @shape_rule(primitive)
    def rule(x: ShapedArray, *, axes: tuple[int, ...]) -> ShapedArray:
        return _reduced_aval(name, kinds, x, axes)

    return primitive


# Pure in its arguments, and a program's layers repeat them: worth remembering on the staging path.
@functools.lru_cache(maxsize=4096)
def _reduced_aval(name: str, kinds: tuple, x: ShapedArray, axes: tuple[int, ...]) -> ShapedArray:
    check_dtype(name, x.dtype, kinds)
    return x.update(shape=reduced_shape(name, x.shape, axes))


reduce_prod_p = _named_reduction("reduce_prod", NUMBER)
reduce_max_p = _named_reduction("reduce_max", NUMBER_BOOL)
reduce_min_p = _named_reduction("reduce_min", NUMBER_BOOL)
reduce_and_p = _named_reduction("reduce_and", INTEGER_BOOL, Trait.EXACT_WHOLE)
reduce_or_p = _named_reduction("reduce_or", INTEGER_BOOL, Trait.EXACT_WHOLE)
reduce_xor_p = _named_reduction("reduce_xor", INTEGER_BOOL)
reduce_sum_p = Primitive("reduce_sum", family="reduction", traits=(Trait.EXACT_WHOLE,))
argmax_p = Primitive("argmax", family="reduction")
argmin_p = Primitive("argmin", family="reduction")
reduce_p = Primitive("reduce", multiple_results=True, family="reduction")


_HALVES = (np.dtype(np.float16), dtypes.bfloat16)


@shape_rule(reduce_sum_p)
def _reduce_sum_shape(x: ShapedArray, *, axes: tuple[int, ...], out_sharding: Any) -> ShapedArray:
    if out_sharding is not None:
        refuse_out_sharding("reduce_sum", out_sharding)
    if not config.allow_f16_reductions.value and x.dtype in _HALVES and any(x.shape[axis] != 1 for axis in axes):
        raise ValueError(f"reduce_sum on operand {x.str_short()} is not allowed when laminax_allow_f16_reductions=False. Convert it to "
                         "a wider dtype first.")
    return _reduced_aval("reduce_sum", NUMBER, x, axes)


def _arg_shape(name: str) -> Callable:
    def rule(x: ShapedArray, *, axes: tuple[int, ...], index_dtype: Any) -> ShapedArray:
        check_dtype(name, x.dtype, REAL_BOOL)
        if len(axes) != 1:
            raise ValueError(f"{name}: exactly one axis is needed, got axes {axes} for {x.str_short()}")
        if not dtypes.issubdtype(index_dtype, dtypes.integer):
            raise DTypeError(f"{name}: index_dtype must be an integer type, got {dtypes.dtype_name(index_dtype)}")
        if not 0 <= axes[0] < x.ndim:
            raise ValueError(f"{name}: Invalid axis {axes[0]} for operand {x.str_short()}; it must be from 0 to {x.ndim - 1}")
        shape = reduced_shape(name, x.shape, axes)
        if x.shape[axes[0]] == 0:
            raise ValueError(f"{name}: require non-empty reduced dimension, axis {axes[0]} of {x.str_short()} has no element to point at")
        return x.update(shape=shape, dtype=index_dtype, weak_type=False)
    return rule


shape_rule(argmax_p)(_arg_shape("argmax"))
shape_rule(argmin_p)(_arg_shape("argmin"))


@shape_rule(reduce_p)
def _reduce_shape(*avals: ShapedArray, dimensions: tuple[int, ...], jaxpr: ClosedJaxpr) -> list[ShapedArray]:
    operands, inits = split_operands("reduce", avals)
    check_monoid("reduce", operands, inits, jaxpr)
    shape = reduced_shape("reduce", operands[0].shape, dimensions)
    named = joined_named_shape(avals)
    return [ShapedArray(shape, x.dtype, x.weak_type and init.weak_type, named_shape=named)
            for x, init in zip(operands, inits)]


def split_operands(name: str, values: Sequence) -> tuple[Sequence, Sequence]:
    """Operands and initial values, which a variadic reduction takes one after the other.

    Args:
      name: the operation, for the message.
      values: n operands and then n initial values.

    Returns:
      (operands, initial values).

    Raises:
      ShapeError: if the number of values is odd or zero.
    """
    if not values or len(values) % 2:
        raise ShapeError(f"{name}: one initial value per operand is needed, and at least one operand; got {len(values)} "
                         "arguments in all")
    half = len(values) // 2
    return values[:half], values[half:]


def check_monoid(name: str, operands: Sequence[ShapedArray], inits: Sequence[ShapedArray], jaxpr: ClosedJaxpr) -> None:
    """Checks operands of one shape, scalar initial values of their dtypes, and a computation on such scalars.

    Args:
      name: the operation, for messages.
      operands: n avals.
      inits: n scalar avals.
      jaxpr: the computation, from 2 n scalars to n.

    Raises:
      ShapeError, DTypeError: if they do not fit.
      ValueError: if an initial value of a reduction is no scalar; that of a window is a ShapeError, as in JAX.
    """
    shapes = ", ".join(x.str_short() for x in operands)
    if any(x.shape != operands[0].shape for x in operands):
        raise ShapeError(f"{name}: operands must have the same shape, got {shapes}")
    for x, init in zip(operands, inits):
        if init.shape != ():
            if name == "reduce_window":
                raise ShapeError(f"{name} expected init_values to be scalars but init_values have shapes "
                                 f"{[i.shape for i in inits]}. The operands are {shapes}.")
            raise ValueError(f"{name} found non-scalar initial value {init.str_short()} for the operand {x.str_short()}")
        if init.dtype != x.dtype:
            raise DTypeError(f"{name}: operand dtypes must match those of the initial values, got operands {shapes} and "
                             f"initial values {', '.join(i.str_short() for i in inits)}")
    wanted = [(x.shape, x.dtype) for x in inits]
    if [(v.shape, v.dtype) for v in jaxpr.in_avals] != 2 * wanted or [(v.shape, v.dtype) for v in jaxpr.out_avals] != wanted:
        raise ShapeError(
            f"{name}: the computation must take two values of each operand's dtype and return one, "
            f"({', '.join(i.str_short() for i in inits)}); it takes ({', '.join(v.str_short() for v in jaxpr.in_avals)}) and "
            f"returns ({', '.join(v.str_short() for v in jaxpr.out_avals)})")


# The functions


def reduce_sum(operand: ArrayLike, axes: Sequence[int], *, out_sharding: Any = None) -> Array:
    """Sum of numbers over axes.

    Args:
      operand: an array of numbers; integers wrap around.
      axes: the axes to sum over, non-negative and distinct.
      out_sharding: how the result is split over explicit mesh axes, a partition spec or a `NamedSharding`.

    Returns:
      An array of the operand's dtype without those axes; 0 where nothing is summed.

    Raises:
      ValueError: if an axis is out of range or repeated.
      TypeError: if the operand is not of numbers.

    Example:
      >>> reduce_sum(np.float32([[1, 2], [3, 4]]), (0,))
      array([4., 6.], dtype=float32)
    """
    axes = as_ints("reduce_sum", "axes", axes)
    if out_sharding is not None:
        out_sharding = checked_out_sharding("reduce_sum", out_sharding, get_aval(operand).ndim - len(axes))
    return reduce_sum_p.bind(operand, axes=axes, out_sharding=out_sharding)


def reduce_prod(operand: ArrayLike, axes: Sequence[int]) -> Array:
    """Product of numbers over axes; 1 where there is nothing; integers wrap around.

    Args:
      operand: an array of numbers.
      axes: the axes to reduce over, non-negative and distinct.

    Returns:
      An array of the operand's dtype and of its shape without those axes.

    Raises:
      ValueError: if an axis is out of range or repeated.
      TypeError: if the operand is not of numbers.

    Example:
      >>> reduce_prod(np.float32([[1, 2], [3, 4]]), (0,))
      array([3., 8.], dtype=float32)
    """
    return reduce_prod_p.bind(operand, axes=as_ints("reduce_prod", "axes", axes))


def _reduced(name: str, primitive: Primitive, operand: ArrayLike, axes: Sequence[int], out_sharding: Any) -> Array:
    """The reduction, its result split as asked; an extremum cannot be left open over mesh axes."""
    axes = as_ints(name, "axes", axes)
    if out_sharding is None:
        return primitive.bind(operand, axes=axes)
    sharding = checked_out_sharding(name, out_sharding, get_aval(operand).ndim - len(axes))
    if sharding is not None and sharding.spec.unreduced:
        raise NotImplementedError(f"{name}: out_sharding={out_sharding} is unreduced, but an extremum cannot be left open over mesh axes, "
                                  "only a sum can. Leave unreduced out.")
    return reshard(primitive.bind(operand, axes=axes), sharding)


def reduce_max(operand: ArrayLike, axes: Sequence[int], *, out_sharding: Any = None) -> Array:
    """Maximum over axes: NaN if one is there, complex numbers in lexicographic order, the dtype's least value where empty.

    Args:
      operand: an array of numbers or bools.
      axes: the axes to reduce over, non-negative and distinct.
      out_sharding: how the result is split over explicit mesh axes, a partition spec or a `NamedSharding`.

    Returns:
      An array of the operand's dtype and of its shape without those axes.

    Raises:
      ValueError: if an axis is out of range or repeated.
      TypeError: if the operand is not of numbers or bools.

    Example:
      >>> reduce_max(np.float32([[1, 9], [7, 3]]), (1,))
      array([9., 7.], dtype=float32)
    """
    return _reduced("reduce_max", reduce_max_p, operand, axes, out_sharding)


def reduce_min(operand: ArrayLike, axes: Sequence[int], *, out_sharding: Any = None) -> Array:
    """Minimum over axes: NaN if one is there, complex numbers in lexicographic order, the dtype's greatest value where empty.

    Args:
      operand: an array of numbers or bools.
      axes: the axes to reduce over, non-negative and distinct.
      out_sharding: how the result is split over explicit mesh axes, a partition spec or a `NamedSharding`.

    Returns:
      An array of the operand's dtype and of its shape without those axes.

    Raises:
      ValueError: if an axis is out of range or repeated.
      TypeError: if the operand is not of numbers or bools.

    Example:
      >>> reduce_min(np.float32([[1, 9], [7, 3]]), (1,))
      array([1., 3.], dtype=float32)
    """
    return _reduced("reduce_min", reduce_min_p, operand, axes, out_sharding)


def reduce_and(operand: ArrayLike, axes: Sequence[int]) -> Array:
    """And of bools, or bitwise and of integers, over axes; all ones where there is nothing.

    Args:
      operand: an array of integers or bools.
      axes: the axes to reduce over, non-negative and distinct.

    Returns:
      An array of the operand's dtype and of its shape without those axes.

    Raises:
      ValueError: if an axis is out of range or repeated.
      TypeError: if the operand is not of integers or bools.

    Example:
      >>> reduce_and(np.array([[True, False], [True, True]]), (1,))
      array([False,  True])
    """
    return reduce_and_p.bind(operand, axes=as_ints("reduce_and", "axes", axes))


def reduce_or(operand: ArrayLike, axes: Sequence[int]) -> Array:
    """Or of bools, or bitwise or of integers, over axes; zero where there is nothing.

    Args:
      operand: an array of integers or bools.
      axes: the axes to reduce over, non-negative and distinct.

    Returns:
      An array of the operand's dtype and of its shape without those axes.

    Raises:
      ValueError: if an axis is out of range or repeated.
      TypeError: if the operand is not of integers or bools.

    Example:
      >>> reduce_or(np.array([[False, False], [True, False]]), (1,))
      array([False,  True])
    """
    return reduce_or_p.bind(operand, axes=as_ints("reduce_or", "axes", axes))


def reduce_xor(operand: ArrayLike, axes: Sequence[int]) -> Array:
    """Exclusive or of bools, or bitwise of integers, over axes; zero where there is nothing.

    Args:
      operand: an array of integers or bools.
      axes: the axes to reduce over, non-negative and distinct.

    Returns:
      An array of the operand's dtype and of its shape without those axes.

    Raises:
      ValueError: if an axis is out of range or repeated.
      TypeError: if the operand is not of integers or bools.

    Example:
      >>> reduce_xor(np.array([[1, 3], [5, 5]], np.int32), (1,))
      array([2, 0], dtype=int32)
    """
    return reduce_xor_p.bind(operand, axes=as_ints("reduce_xor", "axes", axes))


def argmax(operand: ArrayLike, axis: int, index_dtype: DTypeLike) -> Array:
    """Index of the first greatest element along an axis; the first NaN wins over all numbers.

    Args:
      operand: a real array.
      axis: the axis, non-negative; it must not be empty.
      index_dtype: the integer dtype of the result.

    Returns:
      An array of index_dtype, of the operand's shape without that axis.

    Raises:
      ValueError: if the axis is out of range or empty.
      TypeError: if the operand is complex or index_dtype no integer dtype.

    Example:
      >>> argmax(np.float32([[1, 9, 2], [7, 3, 5]]), 1, np.int32)
      array([1, 0], dtype=int32)
    """
    return argmax_p.bind(operand, axes=(as_int("argmax", "axis", axis),),
                         index_dtype=dtypes.check_user_dtype_supported(index_dtype, "argmax"))


def argmin(operand: ArrayLike, axis: int, index_dtype: DTypeLike) -> Array:
    """Index of the first least element along an axis; the first NaN wins over all numbers.

    Args:
      operand: a real array.
      axis: the axis, non-negative; it must not be empty.
      index_dtype: the integer dtype of the result.

    Returns:
      An array of index_dtype, of the operand's shape without that axis.

    Raises:
      ValueError: if the axis is out of range or empty.
      TypeError: if the operand is complex or index_dtype no integer dtype.

    Example:
      >>> argmin(np.float32([[1, 9, 2], [7, 3, 5]]), 1, np.int32)
      array([0, 1], dtype=int32)
    """
    return argmin_p.bind(operand, axes=(as_int("argmin", "axis", axis),),
                         index_dtype=dtypes.check_user_dtype_supported(index_dtype, "argmin"))


def reduce(operands: Sequence[Any], init_values: Any, computation: Callable, dimensions: Sequence[int], out_sharding: Any = None) -> Any:
    """Reduces one or several arrays over axes by a monoid.

    Args:
      operands: an array or a pytree of arrays of one shape.
      init_values: scalars of the operands' dtypes, the identity of the computation, in the same pytree.
      computation: takes two pytrees of scalars like init_values and returns one; must be associative. The order in
        which elements are combined is not specified.
      dimensions: the axes to reduce over.
      out_sharding: must be None.

    Returns:
      Arrays of the operands' dtypes and of their shape without those axes, in the pytree of the operands.

    Raises:
      TypeError: if shapes or dtypes do not fit, or the computation returns something else than it takes.
      ValueError: if the pytrees differ or an axis is out of range or repeated.

    Example:
      >>> reduce(np.ones((2, 3), np.float32), np.float32(0), lambda a, b: elementwise.add(a, b), (1,))
      array([3., 3.], dtype=float32)
    """
    refuse_out_sharding("reduce", out_sharding)
    dimensions = as_ints("reduce", "dimensions", dimensions)
    if is_leaf(operands) and is_leaf(init_values):
        x = get_aval(operands)
        special = special_monoid(computation, init_values, x.dtype)
        if special is not None:
            if x.weak_type and not get_aval(init_values).weak_type:  # the result is weakly typed only if both are
                operands = elementwise.convert_element_type(operands, x.dtype)
            return _named_functions[special](operands, axes=dimensions)
    flat, inits, treedef = flatten_monoid("reduce", operands, init_values, computation)
    jaxpr = stage_monoid("reduce", computation, [get_aval(x).dtype for x in inits], treedef)
    return unflatten_results(reduce_p.bind(*flat, *inits, dimensions=dimensions, jaxpr=jaxpr), treedef)


def special_monoid(computation: Callable, init_value: Any, dtype: Any) -> str | None:
    """The name ("sum", "max", ...) of the monoid that the computation and its initial value are, if it has one.

    The computation must be the elementwise function itself, and the initial value a concrete scalar, its identity.
    """
    name = _monoid_names.get(computation) if callable(computation) and isinstance(computation, Hashable) else None
    if name is None or isinstance(init_value, Tracer) or get_aval(init_value).shape != ():
        return None
    if name in ("and", "or", "xor") and not any(dtypes.issubdtype(dtype, kind) for kind in INTEGER_BOOL):
        return None
    if dtype == np.bool_ and name in ("sum", "prod"):
        return None
    return name if np.asarray(init_value).item() == identity(name, dtype).item() else None


_monoid_names = {elementwise.add: "sum", elementwise.mul: "prod", elementwise.max: "max", elementwise.min: "min",
                 elementwise.bitwise_and: "and", elementwise.bitwise_or: "or", elementwise.bitwise_xor: "xor"}
_named_functions = {"sum": reduce_sum, "prod": reduce_prod, "max": reduce_max, "min": reduce_min,
                    "and": reduce_and, "or": reduce_or, "xor": reduce_xor}


def identity(monoid: str, dtype: Any) -> np.generic:
    """The identity of a named monoid ("sum", "prod", "max", "min", "and", "or", "xor") as a scalar of the dtype.

    Args:
      monoid: one of these names.
      dtype: a number or bool dtype that the monoid is defined for.

    Returns:
      A NumPy scalar of the dtype.
    """
    make = np.dtype(dtype).type
    if monoid in ("sum", "or", "xor"):
        return make(0)
    if monoid == "prod":
        return make(1)
    if monoid == "and":
        return make(True) if dtype == np.bool_ else make(-1) if dtypes.issubdtype(dtype, dtypes.signedinteger) else \
            make(dtypes.iinfo(dtype).max)
    return make(least(dtype)) if monoid == "max" else make(greatest(dtype))


def least(dtype: Any) -> Any:
    """The least value of a dtype as a Python scalar: -inf where there is one.

    Args:
      dtype: a number or bool dtype.

    Returns:
      A bool, int, float or complex.
    """
    if dtype == np.bool_:
        return False
    if dtypes.issubdtype(dtype, dtypes.integer):
        return dtypes.iinfo(dtype).min
    if dtypes.issubdtype(dtype, dtypes.complexfloating):
        return complex(-np.inf, 0)
    return -np.inf if _has_infinity(dtype) else float(dtypes.finfo(dtype).min)


def greatest(dtype: Any) -> Any:
    """The greatest value of a dtype as a Python scalar: inf where there is one.

    Args:
      dtype: a number or bool dtype.

    Returns:
      A bool, int, float or complex.
    """
    if dtype == np.bool_:
        return True
    if dtypes.issubdtype(dtype, dtypes.integer):
        return dtypes.iinfo(dtype).max
    if dtypes.issubdtype(dtype, dtypes.complexfloating):
        return complex(np.inf, 0)
    return np.inf if _has_infinity(dtype) else float(dtypes.finfo(dtype).max)


@functools.lru_cache(maxsize=None)
def _has_infinity(dtype: np.dtype) -> bool:
    with np.errstate(all="ignore"):
        return float(np.float32(np.inf).astype(dtype)) == np.inf  # the float8 types without infinities give NaN or their maximum
