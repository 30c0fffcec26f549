"""Covariances and correlations."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from laminax_ir.ops import elementwise as op
from laminax_ir.ops import shape as shape_ops
from laminax_ir.ops.reduction import reduce_sum
from laminax_ir.ops.scalar_operands import scalar_like
from laminax_ir.symbolic.symbolic_dims import max_dim
from laminax_ir.types import dtypes
from laminax_ir.types.avals import get_aval

from laminax._src.numerics.floor import fused
from laminax._src.numerics.numpy.arguments import (
    convert,
    ensure_array,
    ensure_arrays,
    is_kind,
    promote_inexact,
    shape_of,
    size_scalar,
    user_dtype,
)
from laminax._src.numerics.numpy.diagonals import _diagonal
from laminax._src.numerics.numpy.joining import concatenate
from laminax._src.numerics.numpy.matrix_products import _dot

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike, DTypeLike


def cov(m: ArrayLike, y: ArrayLike | None = None, rowvar: bool = True, bias: bool = False, ddof: int | None = None,
        fweights: ArrayLike | None = None,
        aweights: ArrayLike | None = None, dtype: DTypeLike | None = None) -> Array:
    """The covariance matrix of variables.

    Args:
      m: the variables, of rank at most 2.
      y: further variables.
      rowvar: whether each row is a variable; otherwise each column is.
      bias: whether to divide by the number of observations instead of one less.
      ddof: what to subtract from the number of observations, instead.
      fweights: integers, how often each observation is repeated.
      aweights: the weight of each observation.
      dtype: the dtype of the result.

    Returns:
      A matrix; a scalar for one variable.

    Raises:
      ValueError: if ranks or sizes do not fit.

    Example:
      >>> jnp.cov(jnp.array([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]))
      Array([[ 1., -1.],
             [-1.,  1.]], dtype=float32)
    """
    if ddof is not None and int(ddof) != ddof:
        raise ValueError(f"cov: ddof must be an integer, got {ddof!r}")
    if dtype is not None and not dtypes.issubdtype(dtype, dtypes.inexact):
        raise ValueError(f"cov: dtype must be a subclass of float or complex; got {dtype!r}")
    return _cov(m, y, fweights, aweights, rowvar=bool(rowvar), ddof=int(ddof) if ddof is not None else 0 if bias else 1,
                dtype=user_dtype("cov", dtype))


@fused(static_argnames=("rowvar", "ddof", "dtype"))
def _cov(m: ArrayLike, y: Any, fweights: Any, aweights: ArrayLike | None, rowvar: bool, ddof: int, dtype: Any) -> Array:
    given = ensure_arrays("cov", m) if y is None else ensure_arrays("cov", m, y)
    given = promote_inexact("cov", *given) if dtype is None else [convert(x, dtype) for x in given]
    common = dtypes.to_inexact_dtype(dtypes.result_type(*given))
    rows = []
    for x in given:
        if len(shape_of(x)) > 2:
            raise ValueError(f"cov: m and y must have at most 2 dimensions, got {get_aval(x).str_short()}")
        x = convert(x, common)
        is_matrix = len(shape_of(x)) == 2
        x = x if is_matrix else shape_ops.reshape(x, (1, math.prod(shape_of(x))))
        rows.append(shape_ops.transpose(x, (1, 0)) if not rowvar and is_matrix else x)
    data = rows[0] if len(rows) == 1 else concatenate(rows, 0)
    observations = data.shape[1]
    real = dtypes.to_floating_dtype(common)
    weights = None
    for name, w in (("fweights", fweights), ("aweights", aweights)):
        if w is None:
            continue
        w = ensure_array("cov", w)
        if shape_of(w) != (observations,):
            raise ValueError(f"cov: {name} must have shape ({observations},), got {shape_of(w)}")
        if name == "fweights" and not is_kind(w, dtypes.integer):
            raise TypeError(f"cov: fweights must be integers, got {get_aval(w).str_short()}")
        w = convert(w, real)
        weights = w if weights is None else op.mul(weights, w)
    if weights is None:
        mean = op.div(reduce_sum(data, (1,)), _count(observations, common))
        factor: Any = _count(max_dim(observations - ddof, 0), real)
    else:
        total = reduce_sum(weights, (0,))
        mean = op.div(reduce_sum(op.mul(data, shape_ops.expand_dims(convert(weights, common), (0,))), (1,)), convert(total, common))
        if ddof == 0:
            factor = total
        elif aweights is None:
            factor = op.sub(total, scalar_like(float(ddof), real))
        else:
            squares = reduce_sum(op.mul(weights, convert(aweights, real)), (0,))
            factor = op.sub(total, op.div(op.mul(scalar_like(float(ddof), real), squares), total))
    centered = op.sub(data, shape_ops.expand_dims(mean, (1,)))
    weighted = centered if weights is None else op.mul(centered, shape_ops.expand_dims(convert(weights, common), (0,)))
    other = op.conj(weighted) if is_kind(data, dtypes.complexfloating) else weighted
    result = op.div(_dot(centered, shape_ops.transpose(other, (1, 0)), None, None), convert(factor, common))
    return shape_ops.squeeze(result, tuple(i for i, n in enumerate(result.shape) if n == 1))


def corrcoef(x: ArrayLike, y: ArrayLike | None = None, rowvar: bool = True, dtype: DTypeLike | None = None) -> Array:
    """The matrix of correlation coefficients of variables; parameters as for `cov`.

    Args:
      x: the variables, [variables, observations], or one variable.
      y: further variables.
      rowvar: whether rows are the variables, or columns.
      dtype: the dtype of the result, floating or complex.

    Returns:
      The matrix [variables, variables] of coefficients, from -1 to 1.

    Raises:
      ValueError: if the dtype is neither floating nor complex.

    Example:
      >>> jnp.corrcoef(jnp.array([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]))
      Array([[ 1., -1.],
             [-1.,  1.]], dtype=float32)
    """
    if dtype is not None and not dtypes.issubdtype(dtype, dtypes.inexact):
        raise ValueError(f"corrcoef: dtype must be a subclass of float or complex; got {dtype!r}")
    return _corrcoef(x, y, rowvar=bool(rowvar), dtype=user_dtype("corrcoef", dtype))


@fused(static_argnames=("rowvar", "dtype"))
def _corrcoef(x: ArrayLike, y: Any, rowvar: bool, dtype: Any) -> Array:
    c = _cov(x, y, None, None, rowvar, 1, dtype)
    if len(c.shape) == 0:
        return op.div(c, c)
    scale = op.sqrt(_diagonal(op.real(c) if is_kind(c, dtypes.complexfloating) else c, 0, 0, 1))
    scale = convert(scale, c.dtype)
    c = op.div(op.div(c, shape_ops.expand_dims(scale, (1,))), shape_ops.expand_dims(scale, (0,)))
    if is_kind(c, dtypes.complexfloating):
        return op.complex(op.clamp(-1.0, op.real(c), 1.0), op.clamp(-1.0, op.imag(c), 1.0))
    return op.clamp(scalar_like(-1.0, c.dtype), c, scalar_like(1.0, c.dtype))


def _count(size: Any, dtype: Any) -> Any:
    """A number of observations as a scalar."""
    return scalar_like(float(size), dtype) if type(size) is int else size_scalar(size, dtype)
