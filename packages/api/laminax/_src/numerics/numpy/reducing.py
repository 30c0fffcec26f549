"""The form that reductions have in common: their parameters, the dtype of their results, and their documentation.

Integers narrower than the default are summed in the default width, 16-bit floats in 32 bits with the result rounded back.
"""

from __future__ import annotations

from typing import Any, Callable

import numpy as np

from laminax_ir.ops import elementwise as op
from laminax_ir.ops import reduction
from laminax_ir.ops import shape as shape_ops
from laminax_ir.ops.scalar_operands import scalar_like
from laminax_ir.tracing.trace import Tracer
from laminax_ir.types import dtypes
from laminax_ir.types.avals import get_aval
from laminax_ir.types.errors import ConcretizationTypeError

from laminax._src.numerics.numpy.arguments import axis_tuple, convert, dtype_of, ensure_array, shape_of
from laminax._src.numerics.numpy.conditions import _where

BOOL = np.dtype(bool)


def static_axis(name: str, axis: Any) -> Any:
    """The axis parameter in a hashable form."""
    if axis is None or type(axis) is int:
        return axis
    if isinstance(axis, Tracer):
        raise ConcretizationTypeError(f"{name}: axis must be known while the function is traced, got {axis.aval.str_short()}. "
                                      f"{axis.why_unknown()} Mark it as static (static_argnums).")
    if isinstance(axis, (list, tuple, np.ndarray)):
        return tuple(int(a) for a in np.atleast_1d(axis)) if len(axis) else ()
    return axis.__index__() if hasattr(axis, "__index__") else axis


def with_kept_axes(x: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    """A reduced array with the axes of size 1 put back, if wanted."""
    if not keepdims or not axes:
        return x
    return shape_ops.expand_dims(x, axes)


def sum_dtype(dtype: Any) -> Any:
    """The dtype of a sum where none is asked for: bools and narrow integers take the default width."""
    if dtype == BOOL:
        return dtypes.scalar_dtype(int)
    if dtypes.issubdtype(dtype, dtypes.unsignedinteger):
        default = dtypes.canonicalize_dtype(np.uint64)
        return default if dtypes.bit_width(dtype) < dtypes.bit_width(default) else dtype
    if dtypes.issubdtype(dtype, dtypes.integer):
        default = dtypes.scalar_dtype(int)
        return default if dtypes.bit_width(dtype) < dtypes.bit_width(default) else dtype
    return dtype


def accumulation_dtype(dtype: Any) -> Any:
    """Sums of floats narrower than 32 bits are computed in float32."""
    return np.dtype(np.float32) if dtypes.issubdtype(dtype, dtypes.floating) and dtype.itemsize < 4 else dtype


def reduce_over_axes(name: str, a: Any, axis: Any, dtype: Any, keepdims: bool, initial: Any, where: Any, reduce: Callable,
            combine: Callable, identity: str, promote_integers: bool) -> Any:
    """A reduction of an array, as NumPy's parameters say.

    Args:
      name: the function's name, for messages.
      a, axis, dtype, keepdims, initial, where, promote_integers: the parameters, `axis` from `static_axis`.
      reduce: the operation on an array and its axes.
      combine: the operation on two elements, which joins the result and `initial`.
      identity: which reduction it is, "sum" or "prod": its neutral value stands where `where` is false.
    """
    a = ensure_array(name, a)
    aval = get_aval(a)
    axes = axis_tuple(name, axis, aval.ndim)
    result = dtype if dtype is not None else sum_dtype(aval.dtype) if promote_integers or aval.dtype == BOOL else aval.dtype
    computed = accumulation_dtype(result) if dtype is None else result
    if aval.dtype != computed or aval.dtype == BOOL:
        a = op.convert_element_type(a, computed, weak_type=aval.weak_type and dtype is None)
    if where is not None:
        a = masked(name, a, where, reduction.identity(identity, computed).item())
    x = (_OF_TRUTH_VALUES[identity] if computed == BOOL else reduce)(a, axes)
    if initial is not None:
        x = combine(x, initial_value(name, initial, computed))
    if computed != result:
        x = op.convert_element_type(x, result)
    elif dtype is not None and get_aval(x).weak_type:
        x = convert(x, result)
    return with_kept_axes(x, axes, keepdims)


_OF_TRUTH_VALUES = {"sum": reduction.reduce_or, "prod": reduction.reduce_and}


def masked(name: str, a: Any, where: Any, neutral: Any) -> Any:
    """The array with the neutral value where the mask is false."""
    return _where(checked_mask(name, where, shape_of(a)), a, neutral_scalar(neutral, dtype_of(a)))


def checked_mask(name: str, where: Any, shape: tuple[int, ...]) -> Any:
    """The `where` parameter, checked and in the shape of the array."""
    where = ensure_array(name, where)
    if dtype_of(where) != BOOL:
        raise ValueError(f"jnp.{name}: where must be None or a boolean array, got {get_aval(where).str_short()}")
    return shape_ops.broadcast_to_shape(where, shape)


def neutral_scalar(value: Any, dtype: Any) -> Any:
    """A number as a NumPy scalar of a dtype."""
    return np.asarray(value).astype(dtype)[()]


def initial_value(name: str, initial: Any, dtype: Any) -> Any:
    """The parameter `initial` in the dtype of the reduction.

    Raises:
      ValueError: if it is not a scalar.
    """
    if shape_of(ensure_array(name, initial)) != ():
        raise ValueError(f"{name}: initial value must be a scalar. Got array of shape {shape_of(initial)}")
    return scalar_like(initial, dtype) if type(initial) in dtypes.python_scalar_types \
        and dtypes.scalar_dtype(type(initial)) == dtype else convert(initial, dtype)


DOC = """{text}.

    Args:
      a: an array or scalar.
      axis: the axis or axes to reduce; None is all.{dtype}
      out: must be None.
      keepdims: whether the reduced axes stay, with size 1.{more}

    Returns:
      An array without those axes.

    Raises:
      ValueError: if an axis is out of range{raises}.
      TypeError: if a is a list or tuple.

    Example:
      >>> jnp.{example}
      {result}
    """
DTYPE_DOC = "\n      dtype: the dtype of the result, in which it is computed; by default a's, integers widened to the default."
INITIAL_DOC = "\n      initial: a scalar, the value to start with.\n      where: a bool array; elements where it is false are left out."
PROMOTE_DOC = "\n      promote_integers: whether integers are widened."

WHERE_DOC = "\n      where: a bool array; elements where it is false are left out."
