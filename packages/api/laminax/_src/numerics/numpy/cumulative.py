"""Sums and products of the elements up to each one along an axis."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from laminax_ir.ops import cumulative
from laminax_ir.ops import elementwise as op
from laminax_ir.ops import shape as shape_ops
from laminax_ir.ops.scalar_operands import scalar_like
from laminax_ir.types.avals import get_aval

from laminax._src.numerics.floor import fused
from laminax._src.numerics.numpy.arguments import convert, dtype_of, ensure_array, one_axis, refuse_out, shape_of, strong, user_dtype
from laminax._src.numerics.numpy.nan_reductions import without_nan
from laminax._src.numerics.numpy.reducing import BOOL, static_axis, sum_dtype
from laminax._src.numerics.splits import check_not_split

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike, DTypeLike


def cumsum(a: ArrayLike, axis: int | None = None, dtype: DTypeLike | None = None, out: None = None) -> Array:
    """Sums of the elements up to each one along an axis.

    Args:
      a: an array or scalar.
      axis: the axis; None takes the array as flat.
      dtype: the dtype of the result; by default a's, bools as the default integer.
      out: must be None.

    Returns:
      An array of a's shape, or flat.

    Example:
      >>> jnp.cumsum(jnp.array([1, 2, 3]))
      Array([1, 3, 6], dtype=int32)
    """
    refuse_out("cumsum", out)
    return _cumulative_reduction(a, name="cumsum", axis=static_axis("cumsum", axis), dtype=user_dtype("cumsum", dtype),
                                 promote_integers=False, fill=None)


def cumprod(a: ArrayLike, axis: int | None = None, dtype: DTypeLike | None = None, out: None = None) -> Array:
    """Products of the elements up to each one along an axis; parameters as for `cumsum`.

    Example:
      >>> jnp.cumprod(jnp.array([1, 2, 3]))
      Array([1, 2, 6], dtype=int32)
    """
    refuse_out("cumprod", out)
    return _cumulative_reduction(a, name="cumprod", axis=static_axis("cumprod", axis), dtype=user_dtype("cumprod", dtype),
                                 promote_integers=False, fill=None)


def nancumsum(a: ArrayLike, axis: int | None = None, dtype: DTypeLike | None = None, out: None = None) -> Array:
    """Sums of the elements up to each one along an axis, NaN counted as 0; parameters as for `cumsum`.

    Example:
      >>> jnp.nancumsum(jnp.array([2.0, jnp.nan, 3.0]))
      Array([2., 2., 5.], dtype=float32)
    """
    refuse_out("nancumsum", out)
    return _cumulative_reduction(a, name="cumsum", axis=static_axis("nancumsum", axis), dtype=user_dtype("nancumsum", dtype),
                                 promote_integers=False, fill=0)


def nancumprod(a: ArrayLike, axis: int | None = None, dtype: DTypeLike | None = None, out: None = None) -> Array:
    """Products of the elements up to each one along an axis, NaN counted as 1; parameters as for `cumsum`.

    Example:
      >>> jnp.nancumprod(jnp.array([2.0, jnp.nan, 3.0]))
      Array([2., 2., 6.], dtype=float32)
    """
    refuse_out("nancumprod", out)
    return _cumulative_reduction(a, name="cumprod", axis=static_axis("nancumprod", axis),
                                 dtype=user_dtype("nancumprod", dtype), promote_integers=False, fill=1)


@fused(static_argnames=("name", "axis", "dtype", "promote_integers", "fill"))
def _cumulative_reduction(a: ArrayLike, name: str, axis: int | None, dtype: np.dtype | None, promote_integers: bool,
                          fill: int | None) -> Array:
    a = ensure_array(name, a)
    if axis is None:
        check_not_split(a, range(len(shape_of(a))), f"The input should be fully replicated when axis is not specified to {name}.")
        a = shape_ops.reshape(a, (math.prod(shape_of(a)),))
        axis = 0
    axis = one_axis(name, axis, len(shape_of(a)))
    if fill is not None:
        a, _ = without_nan(name, a, fill)
    source = dtype_of(a)
    if dtype == BOOL:  # any number of trues is true
        return convert(_cumulative_reduction(op.ne(a, scalar_like(0, source)), name, axis, np.dtype(np.int32), False, None), BOOL)
    if dtype is None:
        dtype = sum_dtype(source) if promote_integers or source == BOOL else source
    if source != dtype:
        a = op.convert_element_type(a, dtype, weak_type=get_aval(a).weak_type)
    return strong(getattr(cumulative, name)(a, axis))


def cumulative_sum(x: ArrayLike, /, *, axis: int | None = None, dtype: DTypeLike | None = None, include_initial: bool = False) -> Array:
    """Sums of the elements up to each one along an axis, as the array API standard has it.

    Args:
      x: an array of rank at least 1.
      axis: the axis; may be left out if there is one.
      dtype: the dtype of the result; by default x's, integers widened to the default.
      include_initial: whether a 0 comes first.

    Raises:
      ValueError: for a scalar, or without an axis where there are several.

    Example:
      >>> jnp.cumulative_sum(jnp.array([1, 2, 3]), include_initial=True)
      Array([0, 1, 3, 6], dtype=int32)
    """
    return _standard_cumulative("cumulative_sum", "cumsum", x, axis, dtype, 0 if include_initial else None)


def cumulative_prod(x: ArrayLike, /, *, axis: int | None = None, dtype: DTypeLike | None = None, include_initial: bool = False) -> Array:
    """Products of the elements up to each one along an axis; parameters as for `cumulative_sum`; `include_initial` puts a 1 first.

    Integers keep their dtype by default.

    Example:
      >>> jnp.cumulative_prod(jnp.array([1, 2, 3]))
      Array([1, 2, 6], dtype=int32)
    """
    return _standard_cumulative("cumulative_prod", "cumprod", x, axis, dtype, 1 if include_initial else None, widens=False)


def _standard_cumulative(public: str, name: str, x: ArrayLike, axis: Any, dtype: Any, initial: Any, widens: bool = True) -> Array:
    x = ensure_array(public, x)
    rank = len(shape_of(x))
    if rank == 0:
        raise ValueError(f"{public}: The input must be non-scalar to take a cumulative reduction, got {get_aval(x).str_short()}")
    if axis is None:
        if rank > 1:
            raise ValueError(f"{public}: The input array has rank {rank}, however axis was not given; it may be left out for vectors only")
        axis = 0
    axis = one_axis(public, axis, rank)
    result = _cumulative_reduction(x, name=name, axis=axis, dtype=user_dtype(public, dtype), promote_integers=widens, fill=None)
    if initial is None:
        return result
    shape = tuple(1 if i == axis else n for i, n in enumerate(result.shape))
    return shape_ops.concatenate([shape_ops.full(shape, initial, dtype_of(result)), result], axis)
