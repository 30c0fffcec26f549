"""Reductions that leave NaN out."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from laminax_ir.ops import elementwise as op
from laminax_ir.ops import reduction
from laminax_ir.types import dtypes

from laminax._src.numerics.floor import fused
from laminax._src.numerics.numpy.arguments import dtype_of, ensure_array, is_kind, refuse_out, shape_of, user_dtype
from laminax._src.numerics.numpy.averages import VAR_DTYPE, VAR_MORE, _mean, _var
from laminax._src.numerics.numpy.conditions import _where
from laminax._src.numerics.numpy.reducing import DOC, DTYPE_DOC, INITIAL_DOC, WHERE_DOC, checked_mask, neutral_scalar, static_axis
from laminax._src.numerics.numpy.reductions import _all, _argmax, _argmin, _max, _min, _prod, _sum

if TYPE_CHECKING:
    import numpy as np

    from laminax_ir.types.annotations import Array, ArrayLike, DTypeLike


def without_nan(name: str, a: Any, value: Any) -> tuple[Any, Any]:
    """The array with a value in place of NaN, and the mask of NaN, or None where there can be none."""
    a = ensure_array(name, a)
    if not is_kind(a, dtypes.inexact):
        return a, None
    mask = op.ne(a, a)
    return _where(mask, neutral_scalar(value, dtype_of(a)), a), mask


_NAN_DOC = DOC.replace("{text}.", "{text}, NaN left out.")


def nansum(a: ArrayLike, axis: int | tuple[int, ...] | None = None, dtype: DTypeLike | None = None, out: None = None,
           keepdims: bool = False, initial: ArrayLike | None = None, where: ArrayLike | None = None) -> Array:
    refuse_out("nansum", out)
    return _nansum(a, axis=static_axis("nansum", axis), dtype=user_dtype("nansum", dtype), keepdims=keepdims, initial=initial,
                   where=where)


@fused(static_argnames=("axis", "dtype", "keepdims"))
def _nansum(a: ArrayLike, axis: int | None, dtype: np.dtype | None, keepdims: bool, initial: Any, where: ArrayLike | None) -> Array:
    return _sum(without_nan("nansum", a, 0)[0], axis, dtype, keepdims, initial, where, True, "nansum")


def nanprod(a: ArrayLike, axis: int | tuple[int, ...] | None = None, dtype: DTypeLike | None = None, out: None = None,
            keepdims: bool = False, initial: ArrayLike | None = None, where: ArrayLike | None = None) -> Array:
    refuse_out("nanprod", out)
    return _nanprod(a, axis=static_axis("nanprod", axis), dtype=user_dtype("nanprod", dtype), keepdims=keepdims,
                    initial=initial, where=where)


@fused(static_argnames=("axis", "dtype", "keepdims"))
def _nanprod(a: ArrayLike, axis: int, dtype: Any, keepdims: bool, initial: Any, where: Any) -> Array:
    return _prod(without_nan("nanprod", a, 1)[0], axis, dtype, keepdims, initial, where, True, "nanprod")


def nanmax(a: ArrayLike, axis: int | tuple[int, ...] | None = None, out: None = None,
           keepdims: bool = False, initial: ArrayLike | None = None, where: ArrayLike | None = None) -> Array:
    refuse_out("nanmax", out)
    return _nanmax(a, axis=static_axis("nanmax", axis), keepdims=keepdims, initial=initial, where=where)


@fused(static_argnames=("axis", "keepdims"))
def _nanmax(a: ArrayLike, axis: int | None, keepdims: bool, initial: ArrayLike | None, where: ArrayLike | None) -> Array:
    return _nan_extreme("nanmax", a, axis, keepdims, initial, where, _max, "max")


def nanmin(a: ArrayLike, axis: int | tuple[int, ...] | None = None, out: None = None, keepdims: bool = False,
           initial: ArrayLike | None = None,
           where: ArrayLike | None = None) -> Array:
    refuse_out("nanmin", out)
    return _nanmin(a, axis=static_axis("nanmin", axis), keepdims=keepdims, initial=initial, where=where)


@fused(static_argnames=("axis", "keepdims"))
def _nanmin(a: ArrayLike, axis: int, keepdims: bool, initial: Any, where: Any) -> Array:
    return _nan_extreme("nanmin", a, axis, keepdims, initial, where, _min, "min")


def _nan_extreme(name: str, a: ArrayLike, axis: int | None, keepdims: bool, initial: ArrayLike | None, where: ArrayLike | None,
                 function: Callable, monoid: str) -> Array:
    filled, mask = without_nan(name, a, reduction.identity(monoid, dtype_of(ensure_array(name, a))).item())
    result = function(filled, axis, keepdims, initial, where, name)
    if mask is None or initial is not None:
        return result
    return _where(_all(mask, axis, keepdims, where), neutral_scalar(math.nan, dtype_of(result)), result)


def nanargmax(a: ArrayLike, axis: int | None = None, out: None = None, keepdims: bool | None = None) -> Array:
    """Index of the greatest element along an axis, NaN left out; -1 where there is nothing else. As `argmax` otherwise.

    Example:
      >>> jnp.nanargmax(jnp.array([1.0, jnp.nan, 3.0]))
      Array(2, dtype=int32)
    """
    refuse_out("nanargmax", out)
    return _nanargmax(a, axis=static_axis("nanargmax", axis), keepdims=bool(keepdims))


@fused(static_argnames=("axis", "keepdims"))
def _nanargmax(a: ArrayLike, axis: int, keepdims: bool) -> Array:
    return _nan_position("nanargmax", a, axis, keepdims, _argmax, "max")


def nanargmin(a: ArrayLike, axis: int | None = None, out: None = None, keepdims: bool | None = None) -> Array:
    """Index of the least element along an axis, NaN left out; -1 where there is nothing else. As `argmin` otherwise.

    Example:
      >>> jnp.nanargmin(jnp.array([jnp.nan, 2.0, 3.0]))
      Array(1, dtype=int32)
    """
    refuse_out("nanargmin", out)
    return _nanargmin(a, axis=static_axis("nanargmin", axis), keepdims=bool(keepdims))


@fused(static_argnames=("axis", "keepdims"))
def _nanargmin(a: ArrayLike, axis: int, keepdims: bool) -> Array:
    return _nan_position("nanargmin", a, axis, keepdims, _argmin, "min")


def _nan_position(name: str, a: ArrayLike, axis: int, keepdims: bool, function: Callable, monoid: str) -> Array:
    a = ensure_array(name, a)
    if not is_kind(a, dtypes.inexact):
        return function(a, axis, keepdims)
    filled, mask = without_nan(name, a, reduction.identity(monoid, dtype_of(a)).item())
    result = function(filled, axis, keepdims)
    return _where(_all(mask, axis, keepdims, None), neutral_scalar(-1, dtype_of(result)), result)


def nanmean(a: ArrayLike, axis: int | tuple[int, ...] | None = None, dtype: DTypeLike | None = None, out: None = None,
            keepdims: bool = False,
            where: ArrayLike | None = None) -> Array:
    refuse_out("nanmean", out)
    return _nanmean(a, axis=static_axis("nanmean", axis), dtype=user_dtype("nanmean", dtype), keepdims=keepdims, where=where)


@fused(static_argnames=("axis", "dtype", "keepdims"))
def _nanmean(a: ArrayLike, axis: int | None, dtype: Any, keepdims: bool, where: ArrayLike | None) -> Array:
    a = ensure_array("nanmean", a)
    if not is_kind(a, dtypes.inexact):
        return _mean(a, axis, dtype, keepdims, where)
    present = op.eq(a, a)
    if where is not None:
        present = op.bitwise_and(present, checked_mask("nanmean", where, shape_of(a)))
    dtype = dtype_of(a) if dtype is None else dtype
    count = _sum(present, axis, dtype, keepdims, None, None, False)
    return op.div(_nansum(a, axis, dtype, keepdims, None, where), count)


def nanvar(a: ArrayLike, axis: int | tuple[int, ...] | None = None, dtype: DTypeLike | None = None, out: None = None, ddof: int = 0,
           keepdims: bool = False, where: ArrayLike | None = None, mean: ArrayLike | None = None) -> Array:
    refuse_out("nanvar", out)
    return _nanvar(a, axis=static_axis("nanvar", axis), dtype=user_dtype("nanvar", dtype), ddof=ddof, keepdims=keepdims,
                   where=where, mean=mean)


@fused(static_argnames=("axis", "dtype", "keepdims", "name"))
def _nanvar(a: ArrayLike, axis: int | None, dtype: Any, ddof: ArrayLike, keepdims: bool, where: ArrayLike | None, mean: Any,
            name: str = "nanvar") -> Array:
    a, missing = without_nan(name, a, 0)  # masked alone it would come back in derivatives, as 0 * NaN
    if missing is None:
        return _var(a, axis, dtype, ddof, keepdims, where, mean, name)
    present = op.bitwise_not(missing)
    if where is not None:
        present = op.bitwise_and(present, checked_mask(name, where, shape_of(a)))
    return _var(a, axis, dtype, ddof, keepdims, present, mean, name)


def nanstd(a: ArrayLike, axis: int | tuple[int, ...] | None = None, dtype: DTypeLike | None = None, out: None = None, ddof: int = 0,
           keepdims: bool = False, where: ArrayLike | None = None, mean: ArrayLike | None = None) -> Array:
    refuse_out("nanstd", out)
    return _nanstd(a, axis=static_axis("nanstd", axis), dtype=user_dtype("nanstd", dtype), ddof=ddof, keepdims=keepdims,
                   where=where, mean=mean)


@fused(static_argnames=("axis", "dtype", "keepdims"))
def _nanstd(a: ArrayLike, axis: int | None, dtype: Any, ddof: ArrayLike, keepdims: bool, where: Any, mean: Any) -> Array:
    return op.sqrt(_nanvar(a, axis, dtype, ddof, keepdims, where, mean, "nanstd"))


for _function, _text, _dtype, _more, _example, _result in (
        (nansum, "Sum over axes", DTYPE_DOC, INITIAL_DOC,
         "nansum(jnp.array([[1., jnp.nan], [3., 5.]]))", "Array(9., dtype=float32)"),
        (nanprod, "Product over axes", DTYPE_DOC, INITIAL_DOC,
         "nanprod(jnp.array([[1., jnp.nan], [3., 5.]]), axis=0)", "Array([3., 5.], dtype=float32)"),
        (nanmax, "Maximum over axes; NaN where there is nothing else", "", INITIAL_DOC,
         "nanmax(jnp.array([[1., jnp.nan], [3., 5.]]), axis=0)", "Array([3., 5.], dtype=float32)"),
        (nanmin, "Minimum over axes; NaN where there is nothing else", "", INITIAL_DOC,
         "nanmin(jnp.array([[1., jnp.nan], [3., 5.]]), axis=1)", "Array([1., 3.], dtype=float32)"),
        (nanmean, "Mean over axes; NaN where there is nothing else", VAR_DTYPE, WHERE_DOC,
         "nanmean(jnp.array([[1., jnp.nan], [3., 5.]]), axis=1)", "Array([1., 4.], dtype=float32)"),
        (nanvar, "Variance over axes", VAR_DTYPE, VAR_MORE,
         "nanvar(jnp.array([[1., jnp.nan], [3., 5.]]), axis=1)", "Array([0., 1.], dtype=float32)"),
        (nanstd, "Standard deviation over axes", VAR_DTYPE, VAR_MORE,
         "nanstd(jnp.array([[1., jnp.nan], [3., 5.]]))", "Array(1.6329932, dtype=float32)")):
    _function.__doc__ = _NAN_DOC.format(text=_text, dtype=_dtype, more=_more, raises="", example=_example, result=_result)
