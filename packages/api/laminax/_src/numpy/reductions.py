"""Reductions: sums, products, extremes, truth, means and variances over axes; and the cumulative ones.

Integers narrower than the default are summed in the default width, 16-bit floats in 32 bits with the result rounded
back. NaN counts like any value, except in the functions whose name says otherwise.
"""

from __future__ import annotations

import math
from typing import Any, Callable

import numpy as np

from laminax_ir import config, dtypes, operators
from laminax_ir.avals import get_aval
from laminax_ir.ops import cumulative, reduction
from laminax_ir.ops import elementwise as op
from laminax_ir.ops import shape as shape_ops
from laminax_ir.ops.elementwise import scalar_like
from laminax_ir.trace import Tracer

from laminax._src.fusion import fused
from laminax._src.numpy.arguments import (
    axis_tuple,
    convert,
    dtype_of,
    ensure_array,
    is_kind,
    one_axis,
    refuse_out,
    shape_of,
    strong,
    user_dtype,
)
from laminax._src.numpy.logic import _truth
from laminax._src.numpy.selection import _where

_BOOL = np.dtype(bool)

# --- the common form ---


def _static_axis(name: str, axis: Any) -> Any:
    """The axis parameter in a hashable form."""
    if axis is None or type(axis) is int:
        return axis
    if isinstance(axis, Tracer):
        raise TypeError(f"{name}: axis must be known while the function is traced, got {axis.aval.str_short()}; "
                        "mark it as static (static_argnums)")
    if isinstance(axis, (list, tuple, np.ndarray)):
        return tuple(int(a) for a in np.atleast_1d(axis)) if len(axis) else ()
    return axis.__index__() if hasattr(axis, "__index__") else axis


def _kept(x: Any, shape: tuple[int, ...], axes: tuple[int, ...], keepdims: bool) -> Any:
    """A reduced array with the axes of size 1 put back, if wanted."""
    if not keepdims or not axes:
        return x
    return shape_ops.expand_dims(x, axes)


def _sum_dtype(dtype: Any) -> Any:
    """The dtype of a sum where none is asked for: bools and narrow integers take the default width."""
    if dtype == _BOOL:
        return dtypes.scalar_dtype(int)
    if dtypes.issubdtype(dtype, dtypes.unsignedinteger):
        default = dtypes.canonicalize_dtype(np.uint64)
        return default if dtypes.bit_width(dtype) < dtypes.bit_width(default) else dtype
    if dtypes.issubdtype(dtype, dtypes.integer):
        default = dtypes.scalar_dtype(int)
        return default if dtypes.bit_width(dtype) < dtypes.bit_width(default) else dtype
    return dtype


def _computed_in(dtype: Any) -> Any:
    """Sums of floats narrower than 32 bits are computed in float32."""
    return np.dtype(np.float32) if dtypes.issubdtype(dtype, dtypes.floating) and dtype.itemsize < 4 else dtype


def _reduce(name: str, a: Any, axis: Any, dtype: Any, keepdims: bool, initial: Any, where: Any, reduce: Callable,
            combine: Callable, identity: str, promote_integers: bool) -> Any:
    a = ensure_array(name, a)
    aval = get_aval(a)
    axes = axis_tuple(name, axis, aval.ndim)
    result = dtype if dtype is not None else _sum_dtype(aval.dtype) if promote_integers else aval.dtype
    computed = _computed_in(result) if dtype is None else result
    if aval.dtype != computed or aval.dtype == _BOOL:
        a = op.convert_element_type(a, computed, weak_type=aval.weak_type and dtype is None)
    if where is not None:
        a = _masked(name, a, where, reduction.identity(identity, computed).item())
    x = reduce(a, axes)
    if initial is not None:
        x = combine(x, _initial(name, initial, computed))
    if computed != result:
        x = op.convert_element_type(x, result)
    elif dtype is not None and get_aval(x).weak_type:
        x = convert(x, result)
    return _kept(x, aval.shape, axes, keepdims)


def _masked(name: str, a: Any, where: Any, neutral: Any) -> Any:
    return _where(_mask(name, where, shape_of(a)), a, _neutral_scalar(neutral, dtype_of(a)))


def _mask(name: str, where: Any, shape: tuple[int, ...]) -> Any:
    """The `where` parameter, checked and in the shape of the array."""
    where = ensure_array(name, where)
    if dtype_of(where) != _BOOL:
        raise ValueError(f"jnp.{name}: where must be None or a boolean array, got {get_aval(where).str_short()}")
    return shape_ops.broadcast_to_shape(where, shape)


def _neutral_scalar(value: Any, dtype: Any) -> Any:
    return np.asarray(value).astype(dtype)[()]


def _initial(name: str, initial: Any, dtype: Any) -> Any:
    if shape_of(ensure_array(name, initial)) != ():
        raise ValueError(f"{name}: initial value must be a scalar. Got array of shape {shape_of(initial)}")
    return scalar_like(initial, dtype) if type(initial) in dtypes.python_scalar_types \
        and dtypes.scalar_dtype(type(initial)) == dtype else convert(initial, dtype)


_DOC = """{text}.

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
    """
_DTYPE_DOC = "\n      dtype: the dtype of the result, in which it is computed; by default a's, integers widened to the default."
_INITIAL_DOC = "\n      initial: a scalar, the value to start with.\n      where: a bool array; elements where it is false are left out."
_PROMOTE_DOC = "\n      promote_integers: whether integers are widened."


def sum(a, axis=None, dtype=None, out: None = None, keepdims: bool = False, initial=None, where=None,
        promote_integers: bool = True):
    refuse_out("sum", out)
    return _sum(a, axis=_static_axis("sum", axis), dtype=user_dtype("sum", dtype), keepdims=keepdims, initial=initial,
                where=where, promote_integers=promote_integers)


@fused(static_argnames=("axis", "dtype", "keepdims", "promote_integers", "name"))
def _sum(a, axis, dtype, keepdims, initial, where, promote_integers, name="sum"):
    return strong(_reduce(name, a, axis, dtype, keepdims, initial, where, reduction.reduce_sum, operators.add, "sum",
                          promote_integers))


def prod(a, axis=None, dtype=None, out: None = None, keepdims: bool = False, initial=None, where=None,
         promote_integers: bool = True):
    refuse_out("prod", out)
    return _prod(a, axis=_static_axis("prod", axis), dtype=user_dtype("prod", dtype), keepdims=keepdims, initial=initial,
                 where=where, promote_integers=promote_integers)


@fused(static_argnames=("axis", "dtype", "keepdims", "promote_integers", "name"))
def _prod(a, axis, dtype, keepdims, initial, where, promote_integers, name="prod"):
    return strong(_reduce(name, a, axis, dtype, keepdims, initial, where, reduction.reduce_prod, operators.multiply, "prod",
                          promote_integers))


sum.__doc__ = _DOC.format(text="Sum over axes", dtype=_DTYPE_DOC, more=_INITIAL_DOC + _PROMOTE_DOC, raises="")
prod.__doc__ = _DOC.format(text="Product over axes", dtype=_DTYPE_DOC, more=_INITIAL_DOC + _PROMOTE_DOC, raises="")

# --- extremes and truth ---


def max(a, axis=None, out: None = None, keepdims: bool = False, initial=None, where=None):
    refuse_out("max", out)
    return _max(a, axis=_static_axis("max", axis), keepdims=keepdims, initial=initial, where=where)


@fused(static_argnames=("axis", "keepdims", "name"))
def _max(a, axis, keepdims, initial, where, name="max"):
    return _extreme(name, a, axis, keepdims, initial, where, reduction.reduce_max, op.max)


def min(a, axis=None, out: None = None, keepdims: bool = False, initial=None, where=None):
    refuse_out("min", out)
    return _min(a, axis=_static_axis("min", axis), keepdims=keepdims, initial=initial, where=where)


@fused(static_argnames=("axis", "keepdims", "name"))
def _min(a, axis, keepdims, initial, where, name="min"):
    return _extreme(name, a, axis, keepdims, initial, where, reduction.reduce_min, op.min)


_EXTREME_RAISES = "; if the array is empty along an axis, or where is given, and initial is not"
max.__doc__ = _DOC.format(text="Maximum over axes; NaN if one is there", dtype="", more=_INITIAL_DOC, raises=_EXTREME_RAISES)
min.__doc__ = _DOC.format(text="Minimum over axes; NaN if one is there", dtype="", more=_INITIAL_DOC, raises=_EXTREME_RAISES)
amax, amin = max, min


def _extreme(name, a, axis, keepdims, initial, where, reduce, combine):
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
        a = _masked(name, a, where, reduction.identity(name.removeprefix("nan"), aval.dtype).item())
    x = reduce(a, axes)
    if initial is not None:
        x = combine(x, _initial(name, initial, aval.dtype))
    return _kept(strong(x), aval.shape, axes, keepdims)


def all(a, axis=None, out: None = None, keepdims: bool = False, *, where=None):
    refuse_out("all", out)
    return _all(a, axis=_static_axis("all", axis), keepdims=keepdims, where=where)


@fused(static_argnames=("axis", "keepdims"))
def _all(a, axis, keepdims, where):
    return _truth_reduction("all", a, axis, keepdims, where, reduction.reduce_and, True)


def any(a, axis=None, out: None = None, keepdims: bool = False, *, where=None):
    refuse_out("any", out)
    return _any(a, axis=_static_axis("any", axis), keepdims=keepdims, where=where)


@fused(static_argnames=("axis", "keepdims"))
def _any(a, axis, keepdims, where):
    return _truth_reduction("any", a, axis, keepdims, where, reduction.reduce_or, False)


_WHERE_DOC = "\n      where: a bool array; elements where it is false are left out."
all.__doc__ = _DOC.format(text="Whether all elements over axes are true (not 0)", dtype="", more=_WHERE_DOC, raises="")
any.__doc__ = _DOC.format(text="Whether any element over axes is true (not 0)", dtype="", more=_WHERE_DOC, raises="")


def _truth_reduction(name, a, axis, keepdims, where, reduce, neutral):
    a = ensure_array(name, a)
    shape = shape_of(a)
    axes = axis_tuple(name, axis, len(shape))
    truth = _truth(a)
    if where is not None:
        truth = _masked(name, truth, where, neutral)
    return _kept(strong(reduce(truth, axes)), shape, axes, keepdims)


def count_nonzero(a, axis=None, keepdims: bool = False):
    """How many elements over axes are not 0.

    Args:
      a: an array or scalar.
      axis: the axis or axes; None is all.
      keepdims: whether the reduced axes stay, with size 1.
    """
    return _count_nonzero(a, axis=_static_axis("count_nonzero", axis), keepdims=keepdims)


@fused(static_argnames=("axis", "keepdims"))
def _count_nonzero(a, axis, keepdims):
    a = ensure_array("count_nonzero", a)
    return _sum(op.ne(a, scalar_like(0, dtype_of(a))), axis, dtypes.scalar_dtype(int), keepdims, None, None, True)


def argmax(a, axis: int | None = None, out: None = None, keepdims: bool | None = None):
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
    """
    refuse_out("argmax", out)
    return _argmax(a, axis=_static_axis("argmax", axis), keepdims=bool(keepdims))


@fused(static_argnames=("axis", "keepdims"))
def _argmax(a, axis, keepdims):
    return _position("argmax", a, axis, keepdims, reduction.argmax)


def argmin(a, axis: int | None = None, out: None = None, keepdims: bool | None = None):
    """Index of the least element along an axis; parameters as for `argmax`; NaN counts as the least."""
    refuse_out("argmin", out)
    return _argmin(a, axis=_static_axis("argmin", axis), keepdims=bool(keepdims))


@fused(static_argnames=("axis", "keepdims"))
def _argmin(a, axis, keepdims):
    return _position("argmin", a, axis, keepdims, reduction.argmin)


def _position(name, a, axis, keepdims, function):
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


def ptp(a, axis=None, out: None = None, keepdims: bool = False):
    """Peak to peak: the maximum over axes less the minimum; parameters as for `max`."""
    refuse_out("ptp", out)
    return _ptp(a, axis=_static_axis("ptp", axis), keepdims=keepdims)


@fused(static_argnames=("axis", "keepdims"))
def _ptp(a, axis, keepdims):
    a = ensure_array("ptp", a)
    return op.sub(_max(a, axis, keepdims, None, None), _min(a, axis, keepdims, None, None))


# --- means and variances ---


def mean(a, axis=None, dtype=None, out: None = None, keepdims: bool = False, *, where=None):
    refuse_out("mean", out)
    return _mean(a, axis=_static_axis("mean", axis), dtype=user_dtype("mean", dtype), keepdims=keepdims, where=where)


mean.__doc__ = _DOC.format(text="Mean over axes; NaN where there is nothing", dtype="\n      dtype: the dtype of the result; "
                           "by default a's, or a float for integers.", more=_WHERE_DOC, raises="")


@fused(static_argnames=("axis", "dtype", "keepdims"))
def _mean(a, axis, dtype, keepdims, where):
    a = ensure_array("mean", a)
    aval = get_aval(a)
    axes = axis_tuple("mean", axis, aval.ndim)
    result = dtypes.to_inexact_dtype(aval.dtype) if dtype is None else dtype
    computed = _computed_in(result) if dtype is None else result
    total = _reduce("mean", a, axes, computed, keepdims, None, where, reduction.reduce_sum, operators.add, "sum", False)
    if where is None:
        size = math.prod(aval.shape[i] for i in axes)
        count = scalar_like(float(size) if dtypes.issubdtype(computed, dtypes.inexact) else size, computed)
    else:
        count = _reduce("mean", _mask("mean", where, aval.shape), axes, computed, keepdims, None, None, reduction.reduce_sum,
                        operators.add, "sum", False)
    value = op.div(total, count)
    return value if computed == result else op.convert_element_type(value, result)


def average(a, axis=None, weights=None, returned: bool = False, keepdims: bool = False):
    """Weighted mean over axes.

    Args:
      a: an array or scalar.
      axis: the axis or axes; None is all.
      weights: an array of a's shape, or of the shape of the reduced axes; None is equal weights.
      returned: whether the sum of the weights is returned too.
      keepdims: whether the reduced axes stay, with size 1.

    Returns:
      The mean, or with returned a pair of it and the sum of the weights.

    Raises:
      ValueError: if the weights do not fit.
    """
    return _average(a, axis=_static_axis("average", axis), weights=weights, returned=returned, keepdims=keepdims)


@fused(static_argnames=("axis", "returned", "keepdims"))
def _average(a, axis, weights, returned, keepdims):
    a = ensure_array("average", a)
    shape = shape_of(a)
    axes = axis_tuple("average", axis, len(shape))
    if weights is None:
        result = _mean(a, axes, None, keepdims, None)
        total = shape_ops.full(shape_of(result), math.prod(shape[i] for i in axes), dtype_of(result))
        return (result, total) if returned else result
    weights = ensure_array("average", weights)
    dtype = dtypes.to_inexact_dtype(dtypes.result_type(a, weights))
    a, weights = convert(a, dtype), convert(weights, dtype)
    if weights.shape != shape:
        reduced = tuple(shape[i] for i in axes)
        if weights.shape != reduced:
            raise ValueError(f"average: weights must have the shape {shape} of a, or {reduced} of its reduced axes, got "
                             f"{weights.shape}")
        order = sorted(range(len(axes)), key=axes.__getitem__)
        weights = shape_ops.broadcast_in_dim(shape_ops.transpose(weights, order), shape, tuple(sorted(axes)))
    total = _sum(weights, axes, None, keepdims, None, None, False)
    result = op.div(_sum(op.mul(a, weights), axes, None, keepdims, None, None, False), total)
    return (result, total) if returned else result


def var(a, axis=None, dtype=None, out: None = None, ddof: int = 0, keepdims: bool = False, *, where=None, mean=None,
        correction=None):
    refuse_out("var", out)
    return _var(a, axis=_static_axis("var", axis), dtype=user_dtype("var", dtype), ddof=_divisor("var", ddof, correction),
                keepdims=keepdims, where=where, mean=mean)


def _divisor(name: str, ddof, correction):
    if correction is None:
        return ddof
    if not isinstance(ddof, int) or ddof != 0:
        raise ValueError(f"{name}: ddof and correction are two names for one number; give one of them, got {ddof} and {correction}")
    return correction


_VAR_MORE = ("\n      ddof: what is subtracted from the number of elements in the divisor.\n      where: a bool array; elements "
             "where it is false are left out.\n      mean: the mean, with the axes kept, if it is known already.\n      "
             "correction: another name for ddof.")
_VAR_DTYPE = "\n      dtype: the dtype of the result; by default a's, or a float for integers."
var.__doc__ = _DOC.format(text="Variance over axes: the mean of |a - mean(a)|**2", dtype=_VAR_DTYPE, more=_VAR_MORE, raises="")


@fused(static_argnames=("axis", "dtype", "keepdims", "name"))
def _var(a, axis, dtype, ddof, keepdims, where, mean, name="var"):
    a = ensure_array(name, a)
    aval = get_aval(a)
    axes = axis_tuple(name, axis, aval.ndim)
    if where is not None:
        where = _mask(name, where, aval.shape)
    if dtype is not None and not dtypes.issubdtype(dtype, dtypes.inexact):
        raise ValueError(f"{name}: dtype must be floating or complex, got {dtypes.dtype_name(dtype)}")
    if dtype is not None and not dtypes.issubdtype(dtype, dtypes.complexfloating) \
            and dtypes.issubdtype(aval.dtype, dtypes.complexfloating):
        raise ValueError(f"{name}: the variance of complex numbers is computed in a complex dtype, got {dtypes.dtype_name(dtype)} "
                         f"for {aval.str_short()}; leave dtype None and convert the result")
    own = dtypes.to_inexact_dtype(aval.dtype)
    result = dtypes.to_floating_dtype(own) if dtype is None else dtype
    with config.numpy_dtype_promotion("standard"):  # what the caller asks for is not implicit
        computed = _computed_in(own if dtype is None else dtypes.promote_types(own, dtype))
    if aval.dtype != computed:
        a = op.convert_element_type(a, computed, weak_type=aval.weak_type and dtype is None)
    center = _mean(a, axes, None, True, where) if mean is None else convert(ensure_array(name, mean), computed)
    centered = operators.subtract(a, center)
    if dtypes.issubdtype(computed, dtypes.complexfloating):
        squares = op.real(op.mul(centered, op.conj(centered)))
    else:
        squares = op.square(centered)
    real = dtype_of(squares)
    if where is None:
        count = float(math.prod(aval.shape[i] for i in axes))
        known = isinstance(ddof, (int, float))
        divisor = scalar_like(count - ddof, real) if known else op.sub(scalar_like(count, real), convert(ddof, real))
    else:
        known = False
        count = _sum(convert(where, real), axes, None, keepdims, None, None, False)
        divisor = op.sub(count, convert(ddof, real))
    value = op.div(_sum(squares, axes, None, keepdims, None, where, False), divisor)
    if not known or count - ddof <= 0:
        positive = op.gt(divisor, scalar_like(0.0, real)) if not known else False
        value = _where(positive, value, scalar_like(math.nan, real))
    return value if real == result else op.convert_element_type(value, result)


def std(a, axis=None, dtype=None, out: None = None, ddof: int = 0, keepdims: bool = False, *, where=None, mean=None,
        correction=None):
    refuse_out("std", out)
    return _std(a, axis=_static_axis("std", axis), dtype=user_dtype("std", dtype), ddof=_divisor("std", ddof, correction),
                keepdims=keepdims, where=where, mean=mean)


std.__doc__ = _DOC.format(text="Standard deviation over axes, sqrt(var(a))", dtype=_VAR_DTYPE, more=_VAR_MORE, raises="")


@fused(static_argnames=("axis", "dtype", "keepdims"))
def _std(a, axis, dtype, ddof, keepdims, where, mean):
    return op.sqrt(_var(a, axis, dtype, ddof, keepdims, where, mean, "std"))


# --- reductions that leave NaN out ---


def _without_nan(name: str, a: Any, value: Any) -> tuple[Any, Any]:
    """The array with a value in place of NaN, and the mask of NaN, or None where there can be none."""
    a = ensure_array(name, a)
    if not is_kind(a, dtypes.inexact):
        return a, None
    mask = op.ne(a, a)
    return _where(mask, _neutral_scalar(value, dtype_of(a)), a), mask


_NAN_DOC = _DOC.replace("{text}.", "{text}, NaN left out.")


def nansum(a, axis=None, dtype=None, out: None = None, keepdims: bool = False, initial=None, where=None):
    refuse_out("nansum", out)
    return _nansum(a, axis=_static_axis("nansum", axis), dtype=user_dtype("nansum", dtype), keepdims=keepdims, initial=initial,
                   where=where)


@fused(static_argnames=("axis", "dtype", "keepdims"))
def _nansum(a, axis, dtype, keepdims, initial, where):
    return _sum(_without_nan("nansum", a, 0)[0], axis, dtype, keepdims, initial, where, True, "nansum")


def nanprod(a, axis=None, dtype=None, out: None = None, keepdims: bool = False, initial=None, where=None):
    refuse_out("nanprod", out)
    return _nanprod(a, axis=_static_axis("nanprod", axis), dtype=user_dtype("nanprod", dtype), keepdims=keepdims,
                    initial=initial, where=where)


@fused(static_argnames=("axis", "dtype", "keepdims"))
def _nanprod(a, axis, dtype, keepdims, initial, where):
    return _prod(_without_nan("nanprod", a, 1)[0], axis, dtype, keepdims, initial, where, True, "nanprod")


def nanmax(a, axis=None, out: None = None, keepdims: bool = False, initial=None, where=None):
    refuse_out("nanmax", out)
    return _nanmax(a, axis=_static_axis("nanmax", axis), keepdims=keepdims, initial=initial, where=where)


@fused(static_argnames=("axis", "keepdims"))
def _nanmax(a, axis, keepdims, initial, where):
    return _nan_extreme("nanmax", a, axis, keepdims, initial, where, _max, "max")


def nanmin(a, axis=None, out: None = None, keepdims: bool = False, initial=None, where=None):
    refuse_out("nanmin", out)
    return _nanmin(a, axis=_static_axis("nanmin", axis), keepdims=keepdims, initial=initial, where=where)


@fused(static_argnames=("axis", "keepdims"))
def _nanmin(a, axis, keepdims, initial, where):
    return _nan_extreme("nanmin", a, axis, keepdims, initial, where, _min, "min")


def _nan_extreme(name, a, axis, keepdims, initial, where, function, monoid):
    filled, mask = _without_nan(name, a, reduction.identity(monoid, dtype_of(ensure_array(name, a))).item())
    result = function(filled, axis, keepdims, initial, where, name)
    if mask is None or initial is not None:
        return result
    return _where(_all(mask, axis, keepdims, where), _neutral_scalar(math.nan, dtype_of(result)), result)


def nanargmax(a, axis: int | None = None, out: None = None, keepdims: bool | None = None):
    """Index of the greatest element along an axis, NaN left out; -1 where there is nothing else. As `argmax` otherwise."""
    refuse_out("nanargmax", out)
    return _nanargmax(a, axis=_static_axis("nanargmax", axis), keepdims=bool(keepdims))


@fused(static_argnames=("axis", "keepdims"))
def _nanargmax(a, axis, keepdims):
    return _nan_position("nanargmax", a, axis, keepdims, _argmax, "max")


def nanargmin(a, axis: int | None = None, out: None = None, keepdims: bool | None = None):
    """Index of the least element along an axis, NaN left out; -1 where there is nothing else. As `argmin` otherwise."""
    refuse_out("nanargmin", out)
    return _nanargmin(a, axis=_static_axis("nanargmin", axis), keepdims=bool(keepdims))


@fused(static_argnames=("axis", "keepdims"))
def _nanargmin(a, axis, keepdims):
    return _nan_position("nanargmin", a, axis, keepdims, _argmin, "min")


def _nan_position(name, a, axis, keepdims, function, monoid):
    a = ensure_array(name, a)
    if not is_kind(a, dtypes.inexact):
        return function(a, axis, keepdims)
    filled, mask = _without_nan(name, a, reduction.identity(monoid, dtype_of(a)).item())
    result = function(filled, axis, keepdims)
    return _where(_all(mask, axis, keepdims, None), _neutral_scalar(-1, dtype_of(result)), result)


def nanmean(a, axis=None, dtype=None, out: None = None, keepdims: bool = False, where=None):
    refuse_out("nanmean", out)
    return _nanmean(a, axis=_static_axis("nanmean", axis), dtype=user_dtype("nanmean", dtype), keepdims=keepdims, where=where)


@fused(static_argnames=("axis", "dtype", "keepdims"))
def _nanmean(a, axis, dtype, keepdims, where):
    a = ensure_array("nanmean", a)
    if not is_kind(a, dtypes.inexact):
        return _mean(a, axis, dtype, keepdims, where)
    present = op.eq(a, a)
    if where is not None:
        present = op.bitwise_and(present, _mask("nanmean", where, shape_of(a)))
    dtype = dtype_of(a) if dtype is None else dtype
    count = _sum(present, axis, dtype, keepdims, None, None, False)
    return op.div(_nansum(a, axis, dtype, keepdims, None, where), count)


def nanvar(a, axis=None, dtype=None, out: None = None, ddof: int = 0, keepdims: bool = False, where=None, mean=None):
    refuse_out("nanvar", out)
    return _nanvar(a, axis=_static_axis("nanvar", axis), dtype=user_dtype("nanvar", dtype), ddof=ddof, keepdims=keepdims,
                   where=where, mean=mean)


@fused(static_argnames=("axis", "dtype", "keepdims", "name"))
def _nanvar(a, axis, dtype, ddof, keepdims, where, mean, name="nanvar"):
    a, missing = _without_nan(name, a, 0)  # masked alone it would come back in derivatives, as 0 * NaN
    if missing is None:
        return _var(a, axis, dtype, ddof, keepdims, where, mean, name)
    present = op.bitwise_not(missing)
    if where is not None:
        present = op.bitwise_and(present, _mask(name, where, shape_of(a)))
    return _var(a, axis, dtype, ddof, keepdims, present, mean, name)


def nanstd(a, axis=None, dtype=None, out: None = None, ddof: int = 0, keepdims: bool = False, where=None, mean=None):
    refuse_out("nanstd", out)
    return _nanstd(a, axis=_static_axis("nanstd", axis), dtype=user_dtype("nanstd", dtype), ddof=ddof, keepdims=keepdims,
                   where=where, mean=mean)


@fused(static_argnames=("axis", "dtype", "keepdims"))
def _nanstd(a, axis, dtype, ddof, keepdims, where, mean):
    return op.sqrt(_nanvar(a, axis, dtype, ddof, keepdims, where, mean, "nanstd"))


for _function, _text, _dtype, _more in (
        (nansum, "Sum over axes", _DTYPE_DOC, _INITIAL_DOC), (nanprod, "Product over axes", _DTYPE_DOC, _INITIAL_DOC),
        (nanmax, "Maximum over axes; NaN where there is nothing else", "", _INITIAL_DOC),
        (nanmin, "Minimum over axes; NaN where there is nothing else", "", _INITIAL_DOC),
        (nanmean, "Mean over axes; NaN where there is nothing else", _VAR_DTYPE, _WHERE_DOC),
        (nanvar, "Variance over axes", _VAR_DTYPE, _VAR_MORE), (nanstd, "Standard deviation over axes", _VAR_DTYPE, _VAR_MORE)):
    _function.__doc__ = _NAN_DOC.format(text=_text, dtype=_dtype, more=_more, raises="")

# --- cumulative ---


def cumsum(a, axis: int | None = None, dtype=None, out: None = None):
    """Sums of the elements up to each one along an axis.

    Args:
      a: an array or scalar.
      axis: the axis; None takes the array as flat.
      dtype: the dtype of the result; by default a's, bools as the default integer.
      out: must be None.

    Returns:
      An array of a's shape, or flat.
    """
    refuse_out("cumsum", out)
    return _cumulative_reduction(a, name="cumsum", axis=_static_axis("cumsum", axis), dtype=user_dtype("cumsum", dtype),
                                 promote_integers=False, fill=None)


def cumprod(a, axis: int | None = None, dtype=None, out: None = None):
    """Products of the elements up to each one along an axis; parameters as for `cumsum`."""
    refuse_out("cumprod", out)
    return _cumulative_reduction(a, name="cumprod", axis=_static_axis("cumprod", axis), dtype=user_dtype("cumprod", dtype),
                                 promote_integers=False, fill=None)


def nancumsum(a, axis: int | None = None, dtype=None, out: None = None):
    """Sums of the elements up to each one along an axis, NaN counted as 0; parameters as for `cumsum`."""
    refuse_out("nancumsum", out)
    return _cumulative_reduction(a, name="cumsum", axis=_static_axis("nancumsum", axis), dtype=user_dtype("nancumsum", dtype),
                                 promote_integers=False, fill=0)


def nancumprod(a, axis: int | None = None, dtype=None, out: None = None):
    """Products of the elements up to each one along an axis, NaN counted as 1; parameters as for `cumsum`."""
    refuse_out("nancumprod", out)
    return _cumulative_reduction(a, name="cumprod", axis=_static_axis("nancumprod", axis),
                                 dtype=user_dtype("nancumprod", dtype), promote_integers=False, fill=1)


@fused(static_argnames=("name", "axis", "dtype", "promote_integers", "fill"))
def _cumulative_reduction(a, name, axis, dtype, promote_integers, fill):
    a = ensure_array(name, a)
    if axis is None:
        a = shape_ops.reshape(a, (math.prod(shape_of(a)),))
        axis = 0
    axis = one_axis(name, axis, len(shape_of(a)))
    if fill is not None:
        a, _ = _without_nan(name, a, fill)
    source = dtype_of(a)
    if dtype == _BOOL:  # any number of trues is true
        return convert(_cumulative_reduction(op.ne(a, scalar_like(0, source)), name, axis, np.dtype(np.int32), False, None), _BOOL)
    if dtype is None:
        dtype = _sum_dtype(source) if promote_integers or source == _BOOL else source
    if source != dtype:
        a = op.convert_element_type(a, dtype, weak_type=get_aval(a).weak_type)
    return strong(getattr(cumulative, name)(a, axis))


def cumulative_sum(x, /, *, axis: int | None = None, dtype=None, include_initial: bool = False):
    """Sums of the elements up to each one along an axis, as the array API standard has it.

    Args:
      x: an array of rank at least 1.
      axis: the axis; may be left out if there is one.
      dtype: the dtype of the result; by default x's, integers widened to the default.
      include_initial: whether a 0 comes first.

    Raises:
      ValueError: for a scalar, or without an axis where there are several.
    """
    return _standard_cumulative("cumulative_sum", "cumsum", x, axis, dtype, 0 if include_initial else None)


def cumulative_prod(x, /, *, axis: int | None = None, dtype=None, include_initial: bool = False):
    """Products of the elements up to each one along an axis; parameters as for `cumulative_sum`; the first may be a 1."""
    return _standard_cumulative("cumulative_prod", "cumprod", x, axis, dtype, 1 if include_initial else None)


def _standard_cumulative(public: str, name: str, x, axis, dtype, initial):
    x = ensure_array(public, x)
    rank = len(shape_of(x))
    if rank == 0:
        raise ValueError(f"{public}: The input must be non-scalar to take a cumulative reduction, got {get_aval(x).str_short()}")
    if axis is None:
        if rank > 1:
            raise ValueError(f"{public}: The input array has rank {rank}, however axis was not given; it may be left out for vectors only")
        axis = 0
    axis = one_axis(public, axis, rank)
    result = _cumulative_reduction(x, name=name, axis=axis, dtype=user_dtype(public, dtype), promote_integers=True, fill=None)
    if initial is None:
        return result
    shape = tuple(1 if i == axis else n for i, n in enumerate(result.shape))
    return shape_ops.concatenate([shape_ops.full(shape, initial, dtype_of(result)), result], axis)
