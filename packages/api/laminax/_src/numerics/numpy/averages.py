"""Means, variances and standard deviations over axes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from laminax_ir.functions import operators
from laminax_ir.ops import elementwise as op
from laminax_ir.ops import reduction
from laminax_ir.ops import shape as shape_ops
from laminax_ir.ops.scalar_operands import scalar_like
from laminax_ir.options import config
from laminax_ir.types import dtypes
from laminax_ir.types.avals import get_aval

from laminax._src.numerics.floor import fused
from laminax._src.numerics.numpy.arguments import axis_tuple, convert, dtype_of, ensure_array, refuse_out, shape_of, user_dtype
from laminax._src.numerics.numpy.conditions import _where
from laminax._src.numerics.numpy.reducing import (
    DOC,
    WHERE_DOC,
    accumulation_dtype,
    checked_mask,
    neutral_scalar,
    static_axis,
    with_kept_axes,
)
from laminax._src.numerics.numpy.reductions import _sum

if TYPE_CHECKING:
    import numpy as np

    from laminax_ir.types.annotations import Array, ArrayLike, DTypeLike


def mean(a: ArrayLike, axis: Any = None, dtype: DTypeLike | None = None, out: None = None, keepdims: bool = False, *,
         where: ArrayLike | None = None) -> Array:
    refuse_out("mean", out)
    return _mean(a, axis=static_axis("mean", axis), dtype=user_dtype("mean", dtype), keepdims=keepdims, where=where)


mean.__doc__ = DOC.format(text="Mean over axes; NaN where there is nothing", dtype="\n      dtype: the dtype of the result; "
                          "by default a's, or a float for integers.", more=WHERE_DOC, raises="",
                          example="mean(jnp.array([[1, 2], [3, 5]]), axis=1)", result="Array([1.5, 4. ], dtype=float32)")


@fused(static_argnames=("axis", "dtype", "keepdims"))
def _mean(a: ArrayLike, axis: Any, dtype: Any, keepdims: bool, where: ArrayLike | None) -> Array:
    a = ensure_array("mean", a)
    aval = get_aval(a)
    axes = axis_tuple("mean", axis, aval.ndim)
    result = dtypes.to_inexact_dtype(aval.dtype) if dtype is None else dtype
    computed = accumulation_dtype(result) if dtype is None else result
    if aval.dtype != computed or aval.weak_type:
        a = op.convert_element_type(a, computed)
    if where is not None:
        where = checked_mask("mean", where, aval.shape)
        a = _where(where, a, neutral_scalar(0, computed))
    total = with_kept_axes(reduction.reduce_sum(a, axes), axes, keepdims)
    if where is not None:
        count = with_kept_axes(reduction.reduce_sum(op.convert_element_type(where, computed), axes), axes, keepdims)
    else:
        size = math.prod(aval.shape[i] for i in axes)
        count = scalar_like(float(size) if type(size) is int and dtypes.issubdtype(computed, dtypes.inexact) else size, computed)
    value = op.div(total, count)
    return value if computed == result else op.convert_element_type(value, result)


def average(a: ArrayLike, axis: int | tuple[int, ...] | None = None, weights: ArrayLike | None = None, returned: bool = False,
            keepdims: bool = False) -> Array | tuple[Array, Array]:
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

    Example:
      >>> jnp.average(jnp.array([1.0, 5.0]), weights=jnp.array([3.0, 1.0]))
      Array(2., dtype=float32)
    """
    return _average(a, axis=static_axis("average", axis), weights=weights, returned=returned, keepdims=keepdims)


@fused(static_argnames=("axis", "returned", "keepdims"))
def _average(a: ArrayLike, axis: int, weights: ArrayLike, returned: bool, keepdims: bool) -> Any:
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


def var(a: ArrayLike, axis: Any = None, dtype: DTypeLike | None = None, out: None = None, ddof: int = 0, keepdims: bool = False, *,
        where: ArrayLike | None = None, mean: ArrayLike | None = None, correction: Any = None) -> Array:
    refuse_out("var", out)
    return _var(a, axis=static_axis("var", axis), dtype=user_dtype("var", dtype), ddof=_divisor("var", ddof, correction),
                keepdims=keepdims, where=where, mean=mean)


def _divisor(name: str, ddof: int, correction: Any) -> int:
    if correction is None:
        return ddof
    if not isinstance(ddof, int) or ddof != 0:
        raise ValueError(f"{name}: ddof and correction are two names for one number; give one of them, got {ddof} and {correction}")
    return correction


VAR_MORE = ("\n      ddof: what is subtracted from the number of elements in the divisor.\n      where: a bool array; elements "
             "where it is false are left out.\n      mean: the mean, with the axes kept, if it is known already.\n      "
             "correction: another name for ddof.")
VAR_DTYPE = "\n      dtype: the dtype of the result; by default a's, or a float for integers."
var.__doc__ = DOC.format(text="Variance over axes: the mean of |a - mean(a)|**2", dtype=VAR_DTYPE, more=VAR_MORE, raises="",
                         example="var(jnp.array([1., 2., 6.]))", result="Array(4.6666665, dtype=float32)")


@fused(static_argnames=("axis", "dtype", "keepdims", "name"))
def _var(a: ArrayLike, axis: Any, dtype: np.dtype | None, ddof: ArrayLike, keepdims: bool, where: Any, mean: Any,
         name: str = "var") -> Array:
    a = ensure_array(name, a)
    aval = get_aval(a)
    axes = axis_tuple(name, axis, aval.ndim)
    if where is not None:
        where = checked_mask(name, where, aval.shape)
    if dtype is not None and not dtypes.issubdtype(dtype, dtypes.inexact):
        raise ValueError(f"{name}: dtype must be floating or complex, got {dtypes.dtype_name(dtype)}")
    if dtype is not None and not dtypes.issubdtype(dtype, dtypes.complexfloating) \
            and dtypes.issubdtype(aval.dtype, dtypes.complexfloating):
        raise ValueError(f"{name}: the variance of complex numbers is computed in a complex dtype, got {dtypes.dtype_name(dtype)} "
                         f"for {aval.str_short()}; leave dtype None and convert the result")
    own = dtypes.to_inexact_dtype(aval.dtype)
    result = dtypes.to_floating_dtype(own) if dtype is None else dtype
    with config.numpy_dtype_promotion("standard"):  # what the caller asks for is not implicit
        computed = accumulation_dtype(own if dtype is None else dtypes.promote_types(own, dtype))
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
        size = math.prod(aval.shape[i] for i in axes)
        count = float(size) if type(size) is int else size  # a symbolic dimension is known when the program runs
        known = type(size) is int and isinstance(ddof, (int, float))
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


def std(a: ArrayLike, axis: Any = None, dtype: DTypeLike | None = None, out: None = None, ddof: int = 0, keepdims: bool = False, *,
        where: ArrayLike | None = None, mean: ArrayLike | None = None, correction: Any = None) -> Array:
    refuse_out("std", out)
    return _std(a, axis=static_axis("std", axis), dtype=user_dtype("std", dtype), ddof=_divisor("std", ddof, correction),
                keepdims=keepdims, where=where, mean=mean)


std.__doc__ = DOC.format(text="Standard deviation over axes, sqrt(var(a))", dtype=VAR_DTYPE, more=VAR_MORE, raises="",
                         example="std(jnp.array([1., 2., 6.]), ddof=1)", result="Array(2.6457512, dtype=float32)")


@fused(static_argnames=("axis", "dtype", "keepdims"))
def _std(a: ArrayLike, axis: Any, dtype: Any, ddof: ArrayLike, keepdims: bool, where: ArrayLike | None, mean: Any) -> Array:
    return op.sqrt(_var(a, axis, dtype, ddof, keepdims, where, mean, "std"))
