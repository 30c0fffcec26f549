"""Interpolation, differences and integrals along an axis."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any, Sequence

import numpy as np

from laminax_ir.functions import operators
from laminax_ir.ops import elementwise as op
from laminax_ir.ops import shape as shape_ops
from laminax_ir.ops import slicing as slicing_ops
from laminax_ir.ops import sorting as sorting_ops
from laminax_ir.ops.indexing import GatherScatterMode
from laminax_ir.ops.reduction import reduce_sum
from laminax_ir.ops.scalar_operands import scalar_like
from laminax_ir.ops.slicing import slice_in_dim
from laminax_ir.symbolic.symbolic_dims import max_dim
from laminax_ir.types import dtypes
from laminax_ir.types.avals import get_aval

from laminax._src.numerics.floor import fused
from laminax._src.numerics.numpy.arguments import (
    as_array,
    axis_tuple,
    convert,
    dtype_of,
    ensure_array,
    ensure_arrays,
    is_host_value,
    is_kind,
    one_axis,
    promote_inexact,
    shape_of,
    size_scalar,
    weak_like,
)
from laminax._src.numerics.numpy.conditions import _where
from laminax._src.numerics.numpy.conversion import asarray
from laminax._src.numerics.numpy.cumulative import cumsum
from laminax._src.numerics.numpy.joining import concatenate
from laminax._src.numerics.numpy.reshaping import moveaxis, ravel
from laminax._src.numerics.numpy.searching import searchsorted
from laminax._src.numerics.numpy.taking import _take

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike

_INT32 = np.dtype(np.int32)


def interp(x: ArrayLike, xp: ArrayLike, fp: ArrayLike, left: ArrayLike | None = None, right: ArrayLike | None = None,
           period: ArrayLike | None = None) -> Array:
    """Linear interpolation of a function given at points.

    Args:
      x: where to evaluate.
      xp: the points, increasing, rank 1.
      fp: the values there.
      left: the value before the first point, by default the first value; "extrapolate" continues the line.
      right: the value after the last point, by default the last value; "extrapolate" continues the line.
      period: the period of the function, for which left and right are not used.

    Returns:
      An array of x's shape.

    Raises:
      ValueError: if xp and fp are not vectors of one length, or period is 0.

    Example:
      >>> jnp.interp(1.5, jnp.array([1.0, 2.0]), jnp.array([10.0, 20.0]))
      Array(15., dtype=float32)
    """
    x, xp, fp = ensure_arrays("interp", x, xp, fp)
    ensure_arrays("interp", *[v for v in (left, right, period) if v is not None and not isinstance(v, str)])
    for side, value in (("left", left), ("right", right)):
        if isinstance(value, str) and value != "extrapolate":
            raise ValueError(f"the only valid string value of `{side}` is 'extrapolate', but got: {value!r}")
    if is_kind(x, dtypes.complexfloating) or is_kind(xp, dtypes.complexfloating):
        raise ValueError("jnp.interp: complex x values not supported.")
    if len(shape_of(xp)) != 1 or shape_of(xp) != shape_of(fp):
        raise ValueError("xp and fp must be one-dimensional arrays of equal size")
    if period is not None and shape_of(period):
        raise ValueError(f"period must be a scalar; got {get_aval(period).str_short()}")
    if period is not None and is_host_value(period) and period == 0:
        raise ValueError("interp: period must be a non-zero value; got 0")
    extrapolates = left == "extrapolate" if isinstance(left, str) else False, \
        right == "extrapolate" if isinstance(right, str) else False
    return _interp(x, xp, fp, None if isinstance(left, str) else left, None if isinstance(right, str) else right, period,
                   extrapolates=extrapolates)


@fused(static_argnames=("extrapolates",))
def _interp(x: ArrayLike, xp: ArrayLike, fp: ArrayLike, left: Any, right: Any, period: Any, extrapolates: tuple[bool, ...]) -> Array:
    operands = [v for v in (x, xp, fp, left, right, period) if v is not None]
    x, xp = [as_array(convert(v, d)) for v, d in zip((x, xp), [dtypes.to_inexact_dtype(dtypes.result_type(x, xp))] * 2)]
    fp = as_array(convert(fp, dtypes.to_inexact_dtype(dtypes.result_type(fp))))
    if period is not None:
        period = op.abs(convert(period, x.dtype))
        x, xp = operators.remainder(x, period), operators.remainder(xp, period)
        xp, fp = sorting_ops.sort((xp, fp), 0, True, num_keys=1)
        ends = [slicing_ops.slice_in_dim(xp, xp.shape[0] - 1, xp.shape[0]), slicing_ops.slice_in_dim(xp, 0, 1)]
        xp = shape_ops.concatenate([operators.subtract(ends[0], period), xp, operators.add(ends[1], period)], 0)
        fp = shape_ops.concatenate([slice_in_dim(fp, fp.shape[0] - 1, fp.shape[0]), fp, slice_in_dim(fp, 0, 1)], 0)
    count = xp.shape[0]
    place = op.clamp(np.int32(1), searchsorted(xp, x, side="right"), size_scalar(max_dim(count - 1, 1)))
    before = op.sub(place, np.int32(1))

    def at(values: ArrayLike, where: ArrayLike) -> Array:
        return _take(values, op.min(where, size_scalar(count - 1)), 0, GatherScatterMode.PROMISE_IN_BOUNDS, None, False, False)

    rise = operators.subtract(at(fp, place), at(fp, before))
    width = op.sub(at(xp, place), at(xp, before))
    offset = op.sub(x, at(xp, before))
    tiny = scalar_like(float(np.spacing(np.finfo(np.float32).eps)), width.dtype)
    is_flat = op.le(op.abs(width), tiny)
    slope = operators.true_divide(offset, _where(is_flat, scalar_like(1.0, width.dtype), width))
    result = _where(is_flat, at(fp, before), operators.add(at(fp, before), operators.multiply(slope, rise)))
    if period is None:
        first, last = at(xp, np.int32(0)), at(xp, size_scalar(count - 1))
        if not extrapolates[0]:
            edge = at(fp, np.int32(0)) if left is None else left
            result = _where(operators.less(x, first), edge, result)
        if not extrapolates[1]:
            edge = at(fp, size_scalar(count - 1)) if right is None else right
            result = _where(operators.greater(x, last), edge, result)
    return weak_like(result, *operands)


def diff(a: ArrayLike, n: int = 1, axis: int = -1, prepend: ArrayLike | None = None, append: ArrayLike | None = None) -> Array:
    """Differences of neighbours along an axis, n times over.

    Args:
      a: an array of rank at least 1.
      n: how often.
      axis: the axis.
      prepend, append: values put before and after the elements first; a scalar, or an array.

    Raises:
      ValueError: for a scalar, or a negative n.

    Example:
      >>> jnp.diff(jnp.array([1, 4, 9]))
      Array([3, 5], dtype=int32)
    """
    return _diff(a, prepend, append, n=operator.index(n), axis=axis)


@fused(static_argnames=("n", "axis"))
def _diff(a: ArrayLike, prepend: Any, append: Any, n: int, axis: int) -> Array:
    a = ensure_array("diff", a)
    if not shape_of(a):
        raise ValueError(f"diff requires input that is at least one dimensional; got {get_aval(a).str_short()}")
    if n < 0:
        raise ValueError(f"diff: order must be non-negative but got {n}")
    if n == 0:
        return as_array(a)
    axis = one_axis("diff", axis, len(shape_of(a)))
    parts = []
    for value in (prepend, a, append):
        if value is None:
            continue
        if value is not a and not shape_of(ensure_array("diff", value)):
            value = shape_ops.broadcast_to_shape(as_array(value), tuple(1 if i == axis else m for i, m in enumerate(shape_of(a))))
        parts.append(value)
    x = concatenate(parts, axis) if len(parts) > 1 else as_array(a)
    subtract = op.ne if x.dtype == np.bool_ else op.sub
    for _ in range(min(n, x.shape[axis])):  # then none is left
        size = x.shape[axis]
        x = subtract(slice_in_dim(x, min(1, size), size, 1, axis), slice_in_dim(x, 0, max(size - 1, 0), 1, axis))
    return x


def ediff1d(ary: ArrayLike, to_end: ArrayLike | None = None, to_begin: ArrayLike | None = None) -> Array:
    """Differences of neighbours in the flat array, with values put before and after them.

    Args:
      ary: an array.
      to_end: values put behind the differences; None for none.
      to_begin: values put in front of them; None for none.

    Returns:
      A vector of ary's dtype.

    Example:
      >>> jnp.ediff1d(jnp.array([1, 4, 9]))
      Array([3, 5], dtype=int32)
    """
    ary = ravel(ensure_array("ediff1d", ary))
    parts = [diff(ary)]
    if to_begin is not None:
        parts.insert(0, convert(ravel(asarray(to_begin)), ary.dtype))
    if to_end is not None:
        parts.append(convert(ravel(asarray(to_end)), ary.dtype))
    return concatenate(parts) if len(parts) > 1 else parts[0]


@fused(static_argnames=("axis", "edge_order"))
def gradient(f: ArrayLike, *varargs: Any, axis: int | Sequence[int] | None = None, edge_order: int | None = None) -> Array | list[Array]:
    """Differences in the middle of neighbours, one-sided at the ends: the slope of sampled values.

    Args:
      f: the values.
      *varargs: the distance of the samples, one for all axes or one for each: a scalar, or the coordinates along the axis.
      axis: the axis or axes; None is all.
      edge_order: must be None or 1.

    Returns:
      An array, or a list of one for each axis if there are several.

    Raises:
      ValueError: if an axis is shorter than 2, or the distances do not fit.
      NotImplementedError: for another edge_order.

    Example:
      >>> jnp.gradient(jnp.array([1.0, 4.0, 9.0]))
      Array([3., 4., 5.], dtype=float32)
    """
    if edge_order is not None and edge_order != 1:
        raise NotImplementedError("gradient: the edge_order argument is not supported but for 1")
    f, *spacings = ensure_arrays("gradient", f, *varargs)
    shape = shape_of(f)
    axes = axis_tuple("gradient", axis, len(shape))
    if len(spacings) == 0:
        spacings = [1.0] * len(axes)
    elif len(spacings) == 1:
        spacings = spacings * len(axes)
    elif len(spacings) != len(axes):
        raise TypeError(f"gradient: there must be one distance for all axes, or one for each of {axes}, got {len(spacings)}")
    for i, h in zip(axes, spacings):
        if shape[i] < 2:
            raise ValueError(f"Shape of array too small to calculate a numerical gradient, at least 2 elements are required along "
                             f"axis {i}, got {shape}")
        if len(shape_of(h)) > 1 or len(shape_of(h)) == 1 and shape_of(h)[0] != shape[i]:
            raise ValueError(f"gradient: distances must be scalars or vectors as long as their axis, got shape {shape_of(h)} for axis "
                             f"{i} of {shape}")
    results = _gradient(f, list(spacings), axes=axes)
    return results[0] if len(axes) == 1 else list(results)


def _gradient(f: ArrayLike, spacings: Sequence[float], axes: tuple[int, ...]) -> list[Array]:
    if not get_aval(f).weak_type:
        f = convert(f, dtypes.to_inexact_dtype(dtype_of(f)))
    spacings = [h if get_aval(h).weak_type or is_kind(h, dtypes.inexact) else convert(h, dtypes.to_inexact_dtype(dtype_of(h)))
                for h in spacings]
    dtype, is_weak = dtypes.result_type(f, *spacings, return_weak_type_flag=True)
    dtype = dtypes.to_inexact_dtype(dtype)
    f = as_array(convert(f, dtype))
    results = []
    for axis, h in zip(axes, spacings):
        size = f.shape[axis]

        def part(start: Any, stop: Any, values: Any = f, axis: Any = axis) -> Array:
            return slice_in_dim(values, start, stop, 1, axis)

        h = convert(h, dtype)
        if not shape_of(h):
            inner = op.div(op.sub(part(2, size), part(0, size - 2)), op.mul(scalar_like(2.0, dtype), h))
            ends = h, h
        else:
            steps = _diff(h, None, None, 1, 0)
            column = tuple(steps.shape[0] if i == axis else 1 for i in range(len(f.shape)))
            steps = shape_ops.reshape(steps, column)
            left, right = part(0, size - 2, steps), part(1, size - 1, steps)
            both = op.add(left, right)
            inner = op.sub(op.add(op.mul(op.div(op.neg(right), op.mul(left, both)), part(0, size - 2)),
                                  op.mul(op.div(op.sub(right, left), op.mul(left, right)), part(1, size - 1))),
                           op.neg(op.mul(op.div(left, op.mul(right, both)), part(2, size))))
            ends = part(0, 1, steps), part(size - 2, size - 1, steps)
        first = op.div(op.sub(part(1, 2), part(0, 1)), ends[0])
        last = op.div(op.sub(part(size - 1, size), part(size - 2, size - 1)), ends[1])
        result = shape_ops.concatenate([first, inner, last], axis)
        results.append(op.convert_element_type(result, dtype, weak_type=True) if is_weak else result)
    return results


@fused(static_argnames=("axis",))
def trapezoid(y: ArrayLike, x: ArrayLike | None = None, dx: ArrayLike = 1.0, axis: int = -1) -> Array:
    """Integral along an axis by the trapezoidal rule.

    Args:
      y: the values.
      x: where they are; by default they are dx apart.
      dx: the distance, a scalar; or an array of distances, of y's shape but for the axis, which has one element less, or one.
      axis: the axis.

    Example:
      >>> jnp.trapezoid(jnp.array([1.0, 2.0, 3.0]))
      Array(4., dtype=float32)
    """
    if x is None:
        (y,) = promote_inexact("trapezoid", y)
        y, dx = as_array(y), as_array(ensure_array("trapezoid", dx))
        if dx.shape:
            rank = len(y.shape) - len(dx.shape)
            dx = moveaxis(shape_ops.expand_dims(dx, tuple(range(rank))) if rank > 0 else dx, axis, -1)
    else:
        y, x = map(as_array, promote_inexact("trapezoid", y, x))
        dx = _diff(x if len(x.shape) == 1 else moveaxis(x, axis, -1), None, None, 1, -1)
    y = moveaxis(y, axis, -1)
    last, size = len(y.shape) - 1, y.shape[-1]
    if size < 2:  # no interval
        y, size = shape_ops.broadcast_to_shape(scalar_like(0, y.dtype), (*y.shape[:-1], 2)), 2
    if not dx.shape or dx.shape[-1] == 1:  # one distance: all values count once, but the ends half
        ends = [shape_ops.squeeze(slice_in_dim(y, i, i + 1, 1, last), (last,)) for i in (0, size - 1)]
        total = op.add(reduce_sum(slice_in_dim(y, 1, size - 1, 1, last), (last,)), op.mul(scalar_like(0.5, y.dtype), op.add(*ends)))
        return operators.multiply(shape_ops.squeeze(dx, (-1,)) if dx.shape else dx, total)
    pairs = op.add(slice_in_dim(y, 1, size, 1, last), slice_in_dim(y, 0, size - 1, 1, last))
    areas = operators.multiply(dx, pairs)
    return operators.multiply(0.5, reduce_sum(areas, (len(areas.shape) - 1,)))


@fused(static_argnames=("axis",))
def unwrap(p: ArrayLike, discont: Any = None, axis: int = -1, period: ArrayLike = 2 * math.pi) -> Array:
    """Adds multiples of a period so that neighbours along an axis are never further apart than half of it.

    Args:
      p: the values.
      discont: jumps smaller than this are left, by default half the period.
      axis: the axis.
      period: the period.

    Example:
      >>> jnp.unwrap(jnp.array([0.0, 6.2])).round(3)
      Array([ 0.   , -0.083], dtype=float32)
    """
    p = ensure_array("unwrap", p)
    is_integer = is_kind(p, dtypes.integer) and dtypes.issubdtype(dtypes.result_type(period), dtypes.integer)
    dtype = dtypes.result_type(p, period) if is_integer else dtypes.to_inexact_dtype(dtypes.result_type(p, period))
    p, period = as_array(convert(p, dtype)), convert(period, dtype)
    axis = one_axis("unwrap", axis, len(p.shape))
    half = op.div(period, scalar_like(2, dtype) if is_integer else scalar_like(2.0, dtype))
    limit = half if discont is None else op.max(convert(discont, dtype), half)
    low = op.neg(half)
    step = _diff(p, None, None, 1, axis)
    moved = operators.add(operators.remainder(operators.subtract(step, low), period), low)
    at_border = op.bitwise_and(op.eq(moved, low), op.gt(step, scalar_like(0, dtype) if is_integer else scalar_like(0.0, dtype)))
    moved = _where(at_border, half, moved)
    correction = _where(op.lt(op.abs(step), limit), np.zeros((), dtype)[()], op.sub(moved, step))
    size = p.shape[axis]
    first, rest = slice_in_dim(p, 0, min(1, size), 1, axis), slice_in_dim(p, min(1, size), size, 1, axis)
    return shape_ops.concatenate([first, op.add(rest, cumsum(correction, axis))], axis)
