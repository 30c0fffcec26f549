"""Reductions: sums, products, extremes and truth over axes. NaN counts like any value."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from laminax_ir.functions import operators
from laminax_ir.ops import elementwise as op
from laminax_ir.ops import reduction
from laminax_ir.ops import shape as shape_ops
from laminax_ir.pytrees.wrapping import alias
from laminax_ir.types import dtypes
from laminax_ir.types.avals import get_aval

from laminax._src.numerics.floor import fused
from laminax._src.numerics.numpy.arguments import axis_tuple, ensure_array, one_axis, refuse_out, shape_of, strong, user_dtype
from laminax._src.numerics.numpy.conditions import truth_of
from laminax._src.numerics.numpy.reducing import (
    DOC,
    DTYPE_DOC,
    INITIAL_DOC,
    PROMOTE_DOC,
    WHERE_DOC,
    initial_value,
    masked,
    reduce_over_axes,
    static_axis,
    with_kept_axes,
)

if TYPE_CHECKING:
    import numpy as np

    from laminax_ir.types.annotations import Array, ArrayLike, DTypeLike


def sum(a: ArrayLike, axis: Any = None, dtype: DTypeLike | None = None, out: None = None, keepdims: bool = False,
        initial: ArrayLike | None = None,
        where: ArrayLike | None = None, promote_integers: bool = True) -> Array:
    refuse_out("sum", out)
    return _sum(a, axis=static_axis("sum", axis), dtype=user_dtype("sum", dtype), keepdims=keepdims, initial=initial,
                where=where, promote_integers=promote_integers)


@fused(static_argnames=("axis", "dtype", "keepdims", "promote_integers", "name"))
def _sum(a: Any, axis: Any, dtype: np.dtype | None, keepdims: bool, initial: Any, where: Any, promote_integers: bool,
         name: str = "sum") -> Any:
    return strong(reduce_over_axes(name, a, axis, dtype, keepdims, initial, where, reduction.reduce_sum, operators.add, "sum",
                          promote_integers))


def prod(a: ArrayLike, axis: int | tuple[int, ...] | None = None, dtype: DTypeLike | None = None, out: None = None,
         keepdims: bool = False, initial: ArrayLike | None = None, where: ArrayLike | None = None, promote_integers: bool = True) -> Array:
    refuse_out("prod", out)
    return _prod(a, axis=static_axis("prod", axis), dtype=user_dtype("prod", dtype), keepdims=keepdims, initial=initial,
                 where=where, promote_integers=promote_integers)


@fused(static_argnames=("axis", "dtype", "keepdims", "promote_integers", "name"))
def _prod(a: ArrayLike, axis: Any, dtype: np.dtype | None, keepdims: bool, initial: ArrayLike | None, where: ArrayLike | None,
          promote_integers: bool, name: str = "prod") -> Array:
    return strong(reduce_over_axes(name, a, axis, dtype, keepdims, initial, where, reduction.reduce_prod, operators.multiply, "prod",
                          promote_integers))


sum.__doc__ = DOC.format(text="Sum over axes", dtype=DTYPE_DOC, more=INITIAL_DOC + PROMOTE_DOC, raises="",
                         example="sum(jnp.array([[1, 2], [3, 4]]), axis=0)", result="Array([4, 6], dtype=int32)")
prod.__doc__ = DOC.format(text="Product over axes", dtype=DTYPE_DOC, more=INITIAL_DOC + PROMOTE_DOC, raises="",
                          example="prod(jnp.array([[1, 2], [3, 4]]), axis=1)", result="Array([ 2, 12], dtype=int32)")


def max(a: ArrayLike, axis: Any = None, out: None = None, keepdims: bool = False, initial: ArrayLike | None = None,
        where: ArrayLike | None = None) -> Array:
    refuse_out("max", out)
    return _max(a, axis=static_axis("max", axis), keepdims=keepdims, initial=initial, where=where)


@fused(static_argnames=("axis", "keepdims", "name"))
def _max(a: Any, axis: Any, keepdims: bool, initial: float | None, where: Any, name: str = "max") -> Any:
    return _extreme(name, a, axis, keepdims, initial, where, reduction.reduce_max, op.max)


def min(a: ArrayLike, axis: Any = None, out: None = None, keepdims: bool = False, initial: ArrayLike | None = None,
        where: ArrayLike | None = None) -> Array:
    refuse_out("min", out)
    return _min(a, axis=static_axis("min", axis), keepdims=keepdims, initial=initial, where=where)


@fused(static_argnames=("axis", "keepdims", "name"))
def _min(a: ArrayLike, axis: Any, keepdims: bool, initial: ArrayLike | None, where: ArrayLike | None, name: str = "min") -> Array:
    return _extreme(name, a, axis, keepdims, initial, where, reduction.reduce_min, op.min)


_EXTREME_RAISES = "; if the array is empty along an axis, or where is given, and initial is not"
max.__doc__ = DOC.format(text="Maximum over axes; NaN if one is there", dtype="", more=INITIAL_DOC, raises=_EXTREME_RAISES,
                         example="max(jnp.array([[1, 7], [5, 2]]), axis=1)", result="Array([7, 5], dtype=int32)")
min.__doc__ = DOC.format(text="Minimum over axes; NaN if one is there", dtype="", more=INITIAL_DOC, raises=_EXTREME_RAISES,
                         example="min(jnp.array([[1, 7], [5, 2]]), axis=0, keepdims=True)", result="Array([[1, 2]], dtype=int32)")
amax = alias(max, "amax")
amin = alias(min, "amin")


def minmax(a: ArrayLike, axis: Any = None, out: None = None, keepdims: bool = False, initial: ArrayLike | None = None,
           where: ArrayLike | None = None) -> tuple[Any, Any]:
    """Minimum and maximum over axes; NaN if one is there.

    Args:
      a: an array or scalar.
      axis: the axis or axes; None is all.
      out: must be None.
      keepdims: whether the reduced axes stay, with size 1.
      initial: the value for an empty reduction, which counts as one more element, or a pair of those of the minimum and of the maximum.
      where: a bool array that broadcasts to a: the elements that count; initial must be given with it.

    Returns:
      (minimum, maximum), of a's dtype.

    Raises:
      ValueError: if the array is empty along an axis, or where is given, and initial is not; or initial is a tuple of another length.

    Example:
      >>> minmax(numpy.array([[2, 5], [3, -7]]), axis=0)
      (Array([ 2, -7], dtype=int32), Array([3, 5], dtype=int32))
    """
    refuse_out("minmax", out)
    if isinstance(initial, tuple) and len(initial) != 2:
        raise ValueError(f"minmax: initial must be a scalar or a pair of them, for the minimum and the maximum; got {initial!r}")
    lowest, greatest = initial if isinstance(initial, tuple) else (initial, initial)
    return min(a, axis, None, keepdims, lowest, where), max(a, axis, None, keepdims, greatest, where)


def _extreme(name: str, a: Any, axis: Any, keepdims: bool, initial: float | None, where: Any, reduce: Callable, combine: Callable) -> Any:
    a = ensure_array(name, a)
    aval = get_aval(a)
    axes = axis_tuple(name, axis, aval.ndim)
    if initial is None:
        if where is not None:
            raise ValueError(f"{name}: the reduction has no identity, so with a where mask initial must be given too")
        if 0 in [aval.shape[i] for i in axes]:
            raise ValueError(f"zero-size array to reduction operation {name} which has no identity: {aval.str_short()} over "
                             f"axes {axes}. Give initial, the value for an empty reduction.")
    if where is not None:
        a = masked(name, a, where, reduction.identity(name.removeprefix("nan"), aval.dtype).item())
    x = reduce(a, axes)
    if initial is not None:
        x = combine(x, initial_value(name, initial, aval.dtype))
    return with_kept_axes(strong(x), axes, keepdims)


def all(a: ArrayLike, axis: int | tuple[int, ...] | None = None, out: None = None, keepdims: bool = False, *,
        where: ArrayLike | None = None) -> Array:
    refuse_out("all", out)
    return _all(a, axis=static_axis("all", axis), keepdims=keepdims, where=where)


@fused(static_argnames=("axis", "keepdims"))
def _all(a: ArrayLike, axis: int | None, keepdims: bool, where: Any) -> Array:
    return _truth_reduction("all", a, axis, keepdims, where, reduction.reduce_and, True)


def any(a: ArrayLike, axis: Any = None, out: None = None, keepdims: bool = False, *, where: ArrayLike | None = None) -> Array:
    refuse_out("any", out)
    return _any(a, axis=static_axis("any", axis), keepdims=keepdims, where=where)


@fused(static_argnames=("axis", "keepdims"))
def _any(a: Any, axis: Any, keepdims: bool, where: ArrayLike | None) -> Any:
    return _truth_reduction("any", a, axis, keepdims, where, reduction.reduce_or, False)


all.__doc__ = DOC.format(text="Whether all elements over axes are true (not 0)", dtype="", more=WHERE_DOC, raises="",
                         example="all(jnp.array([[True, False], [True, True]]), axis=0)", result="Array([ True, False], dtype=bool)")
any.__doc__ = DOC.format(text="Whether any element over axes is true (not 0)", dtype="", more=WHERE_DOC, raises="",
                         example="any(jnp.array([[0, 2], [0, 0]]), axis=1)", result="Array([ True, False], dtype=bool)")


def _truth_reduction(name: str, a: Any, axis: Any, keepdims: bool, where: ArrayLike | None, reduce: Callable, neutral: bool) -> Any:
    a = ensure_array(name, a)
    shape = shape_of(a)
    axes = axis_tuple(name, axis, len(shape))
    truth = truth_of(a, name)
    if where is not None:
        truth = masked(name, truth, where, neutral)
    return with_kept_axes(strong(reduce(truth, axes)), axes, keepdims)


def count_nonzero(a: ArrayLike, axis: int | tuple[int, ...] | None = None, keepdims: bool = False) -> Array:
    """How many elements over axes are not 0.

    Args:
      a: an array or scalar.
      axis: the axis or axes; None is all.
      keepdims: whether the reduced axes stay, with size 1.

    Example:
      >>> jnp.count_nonzero(jnp.array([0, 4, 5]))
      Array(2, dtype=int32)
    """
    return _count_nonzero(a, axis=static_axis("count_nonzero", axis), keepdims=keepdims)


@fused(static_argnames=("axis", "keepdims"))
def _count_nonzero(a: ArrayLike, axis: int | None, keepdims: bool) -> Array:
    a = ensure_array("count_nonzero", a)
    return _sum(truth_of(a, "count_nonzero"), axis, dtypes.scalar_dtype(int), keepdims, None, None, True)


def argmax(a: ArrayLike, axis: int | None = None, out: None = None, keepdims: bool | None = None) -> Array:
    """Index of the greatest element along an axis, the first if there are several; NaN counts as the greatest.

    Args:
      a: an array or scalar of real numbers.
      axis: the axis; None takes the array as flat.
      out: must be None.
      keepdims: whether the axis stays, with size 1.

    Returns:
      An array of the default integer dtype without that axis.

    Raises:
      ValueError: if the axis is out of range or empty.

    Example:
      >>> jnp.argmax(jnp.array([[1, 9], [7, 3]]), axis=1)
      Array([1, 0], dtype=int32)
    """
    refuse_out("argmax", out)
    return _argmax(a, axis=static_axis("argmax", axis), keepdims=bool(keepdims))


@fused(static_argnames=("axis", "keepdims"))
def _argmax(a: ArrayLike, axis: int | None, keepdims: bool) -> Array:
    return _position("argmax", a, axis, keepdims, reduction.argmax)


def argmin(a: ArrayLike, axis: int | None = None, out: None = None, keepdims: bool | None = None) -> Array:
    """Index of the least element along an axis; parameters as for `argmax`; NaN counts as the least.

    Example:
      >>> jnp.argmin(jnp.array([[1, 9], [7, 3]]), axis=1)
      Array([0, 1], dtype=int32)
    """
    refuse_out("argmin", out)
    return _argmin(a, axis=static_axis("argmin", axis), keepdims=bool(keepdims))


@fused(static_argnames=("axis", "keepdims"))
def _argmin(a: ArrayLike, axis: int | None, keepdims: bool) -> Array:
    return _position("argmin", a, axis, keepdims, reduction.argmin)


def _position(name: str, a: ArrayLike, axis: int | None, keepdims: bool, function: Callable) -> Array:
    a = ensure_array(name, a)
    shape = shape_of(a)
    if axis is None:
        flat = shape_ops.reshape(a, (math.prod(shape),))
        if flat.shape[0] == 0:
            raise ValueError(f"attempt to get {name} of an empty sequence: {get_aval(a).str_short()}")
        result = function(flat, 0, dtypes.scalar_dtype(int))
        return shape_ops.expand_dims(result, tuple(range(len(shape)))) if keepdims else result
    axis = one_axis(name, axis, len(shape))
    if shape[axis] == 0:
        raise ValueError(f"attempt to get {name} of an empty sequence: axis {axis} of {get_aval(a).str_short()}")
    result = function(a, axis, dtypes.scalar_dtype(int))
    return shape_ops.expand_dims(result, (axis,)) if keepdims else result


def ptp(a: ArrayLike, axis: Any = None, out: None = None, keepdims: bool = False) -> Array:
    """Peak to peak: the maximum over axes less the minimum; parameters as for `max`.

    Example:
      >>> jnp.ptp(jnp.array([1, 9, 4]))
      Array(8, dtype=int32)
    """
    refuse_out("ptp", out)
    return _ptp(a, axis=static_axis("ptp", axis), keepdims=keepdims)


@fused(static_argnames=("axis", "keepdims"))
def _ptp(a: ArrayLike, axis: Any, keepdims: bool) -> Array:
    a = ensure_array("ptp", a)
    return op.sub(_max(a, axis, keepdims, None, None), _min(a, axis, keepdims, None, None))
