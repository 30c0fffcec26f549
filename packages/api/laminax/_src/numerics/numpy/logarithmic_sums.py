"""Sums of numbers given by their logarithms, `logaddexp`, `logaddexp2` and `logsumexp`, which neither overflow nor lose digits."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from laminax_ir.functions import operators
from laminax_ir.ops import elementwise as op
from laminax_ir.ops import shape as shape_ops
from laminax_ir.ops.calls import CustomJVPCall
from laminax_ir.ops.scalar_operands import scalar_like
from laminax_ir.types import dtypes
from laminax_ir.types.avals import get_aval
from laminax_transforms import stop_gradient
from laminax_transforms.base.zeros import ZERO

from laminax._src.numerics.floor import fused
from laminax._src.numerics.numpy.arguments import as_array, convert, dtype_of, inexact, is_kind, promote_inexact, strong_unless_scalar
from laminax._src.numerics.numpy.conditions import _where
from laminax._src.numerics.numpy.creation import zeros_like
from laminax._src.numerics.numpy.elementary import exp, log
from laminax._src.numerics.numpy.logic import iscomplexobj, isfinite
from laminax._src.numerics.numpy.reductions import max, sum
from laminax._src.numerics.numpy.reshaping import broadcast_arrays, squeeze
from laminax._src.numerics.numpy.rounding import abs, sign
from laminax._src.numerics.numpy.ufunc import builtin_ufunc

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike


def logsumexp(a: ArrayLike, axis: Any = None, b: ArrayLike | None = None, keepdims: bool = False, return_sign: bool = False,
              where: ArrayLike | None = None) -> Any:
    """log(sum(b * exp(a))), without overflow.

    Args:
      a: an array, floating or complex (integers are taken as floats).
      axis: int, tuple of ints, or None for all axes.
      b: factors, broadcast against `a`.
      keepdims: whether summed axes stay with size 1.
      return_sign: whether to return also the sign of the sum; the logarithm is then that of its absolute value. Without
        it, a negative sum gives NaN.
      where: bool mask of the elements to include.

    Returns:
      The array, or a pair (logarithm, sign) with `return_sign`.

    Example:
      >>> nn.logsumexp(jnp.array([100.0, 100.0]))
      Array(100.693146, dtype=float32)
    """
    axis = tuple(axis) if isinstance(axis, list) else axis
    return _logsumexp(a, b, where, axis=axis, keepdims=keepdims, return_sign=return_sign)


@fused(static_argnames=("axis", "keepdims", "return_sign"))
def _logsumexp(a: ArrayLike, b: ArrayLike | None, where: ArrayLike | None, *, axis: Any, keepdims: bool, return_sign: bool) -> Any:
    if b is None:
        a = as_array(inexact("logsumexp", a))
    else:
        a, b = broadcast_arrays(*promote_inexact("logsumexp", a, b))
        a = _where(b != 0, a, -math.inf)
    if where is not None:  # so that the exponential of what is left out cannot overflow, and have an infinite derivative times 0
        a, where = broadcast_arrays(a, where)
        a = _where(where, a, -math.inf)
    is_complex = iscomplexobj(a)
    largest = max(a.real if is_complex else a, axis=axis, keepdims=True, initial=-math.inf)
    shift = stop_gradient(_where(isfinite(largest), largest, zeros_like(largest)))
    terms = exp(a - shift.astype(a.dtype))
    if b is not None:
        terms = terms * b
    total = sum(terms, axis=axis, keepdims=keepdims)
    signs = sign(total)
    magnitude = abs(total) if return_sign or (b is not None and not is_complex) else total
    if not keepdims:
        shift = squeeze(shift, axis=axis)
    result = log(magnitude) + shift.astype(magnitude.dtype)
    if return_sign:
        return result, signs
    if b is not None and not is_complex:
        result = _where(signs < 0, math.nan, result)
    return result


def _reduce(a: ArrayLike, *, axis: int | None, dtype: Any, keepdims: bool, initial: Any, where: Any) -> Array:
    """`logaddexp.reduce`: log(sum(exp(a))), without overflow."""
    if dtype is not None:
        a = convert(a, dtypes.to_inexact_dtype(dtype))
    result = logsumexp(a, axis=axis, keepdims=keepdims, where=where)
    return result if initial is None else convert(logaddexp(initial, result), dtype_of(result))


@builtin_ufunc(-math.inf, is_composite=True, reduce=_reduce)
def logaddexp(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """log(exp(x1) + exp(x2)), elementwise, without overflow; the derivative at (-inf, -inf) is NaN, as JAX has it.

    Args:
      x1: an array or scalar of numbers.
      x2: an array or scalar of numbers; shapes are broadcast and dtypes promoted.

    Returns:
      A float or complex array of the joint shape.

    Raises:
      TypeError: if an argument is a list or tuple; or if the shapes do not broadcast.

    Example:
      >>> jnp.logaddexp(jnp.array([0., 1000.]), jnp.array([0., 1000.]))
      Array([6.9314718e-01, 1.0006932e+03], dtype=float32)
    """
    x1, x2 = promote_inexact("logaddexp", x1, x2)
    return CustomJVPCall(_logaddexp, _logaddexp_jvp, (x1, x2), "logaddexp").bind()[0]


def _logaddexp(x1: Any, x2: Any) -> list[Any]:
    if is_kind(x1, dtypes.complexfloating):
        return [_complex_logaddexp(x1, x2)]
    larger, difference = op.max(x1, x2), op.sub(x1, x2)
    # inf - inf is NaN; the sum is right where both are the same infinity, and NaN where an operand is.
    return [op.select(op.ne(difference, difference), op.add(x1, x2),
                      op.add(larger, op.log1p(op.exp(op.neg(op.abs(difference))))))]


def _complex_logaddexp(x1: Any, x2: Any) -> Any:
    larger, difference = op.max(x1, x2), op.sub(x1, x2)
    down = op.select(op.eq(larger, x1), op.neg(difference), difference) if larger.shape == get_aval(x1).shape \
        else op.sub(op.min(x1, x2), larger)
    result = op.select(op.ne(difference, difference), op.add(x1, x2), op.add(larger, op.log1p(op.exp(down))))
    # The imaginary part in (-pi, pi], where the principal logarithm has it.
    angle = op.imag(result)
    turn = scalar_like(2 * math.pi, dtype_of(angle))
    half = scalar_like(math.pi, dtype_of(angle))
    result = op.complex(op.real(result), op.sub(half, operators.remainder(op.sub(half, angle), turn)))
    is_nan = op.bitwise_or(op.ne(x1, x1), op.ne(x2, x2))  # of an unknown part of an operand nothing of the sum is known
    return op.select(is_nan, shape_ops.full_like(result, complex(math.nan, math.nan)), result)


def _logaddexp_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    return _weighted_tangents(logaddexp, op.exp, primals, tangents)


def _weighted_tangents(function: Any, power: Callable, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """The derivative of log(sum of powers): the weight of each operand is its power over the sum."""
    out = function(*primals)
    total = ZERO
    for x, x_dot in zip(primals, tangents):
        if x_dot is ZERO:
            continue
        difference = op.sub(_without_infinity(x), _without_infinity(out))
        term = op.mul(x_dot, power(difference))
        total = term if total is ZERO else op.add(total, term)
    return [out], [total]


def _without_infinity(x: Any) -> Any:
    """x with 0 in place of inf, so that a difference is no NaN; a -inf that stays gives exp its 0."""
    dtype = dtype_of(x)
    if dtypes.issubdtype(dtype, dtypes.complexfloating):
        return x
    return op.select(op.eq(x, scalar_like(math.inf, dtype)), shape_ops.full(get_aval(x).shape, 0, dtype), x)


def _reduce2(a: Any, *, axis: Any, dtype: Any, keepdims: bool, initial: Any, where: Any) -> Any:
    """`logaddexp2.reduce`: log2(sum(2**a)), which is that of the natural logarithm for a * log(2), over log(2)."""
    a = convert(a, dtypes.to_inexact_dtype(dtype_of(a) if dtype is None else dtype))
    scaled = None if initial is None else initial * math.log(2)
    return _reduce(a * math.log(2), axis=axis, dtype=dtype, keepdims=keepdims, initial=scaled, where=where) / math.log(2)


@builtin_ufunc(-math.inf, is_composite=True, reduce=_reduce2)
def logaddexp2(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """log2(2**x1 + 2**x2), elementwise, without overflow; the derivative at (-inf, -inf) is NaN, as JAX has it.

    Args:
      x1: an array or scalar of numbers.
      x2: an array or scalar of numbers; shapes are broadcast and dtypes promoted.

    Returns:
      A float or complex array of the joint shape.

    Raises:
      TypeError: if an argument is a list or tuple; or if the shapes do not broadcast.

    Example:
      >>> jnp.logaddexp2(jnp.array([0., 1000.]), jnp.array([1., 1000.]))
      Array([   1.5849625, 1001.       ], dtype=float32)
    """
    x1, x2 = promote_inexact("logaddexp2", x1, x2)
    if is_kind(x1, dtypes.complexfloating):
        log_2 = scalar_like(math.log(2), dtype_of(x1))
        return op.div(logaddexp(op.mul(x1, log_2), op.mul(x2, log_2)), log_2)
    return strong_unless_scalar(CustomJVPCall(_logaddexp2, _logaddexp2_jvp, (x1, x2), "logaddexp2").bind()[0], x1, x2)


def _logaddexp2(x1: Any, x2: Any) -> list[Any]:
    larger, difference = op.max(x1, x2), op.sub(x1, x2)
    logarithm = op.mul(scalar_like(math.log2(math.e), dtype_of(x1)), op.log1p(op.exp2(op.neg(op.abs(difference)))))
    return [op.select(op.ne(difference, difference), op.add(x1, x2), op.add(larger, logarithm))]


def _logaddexp2_jvp(primals: Sequence[Array | float], tangents: Sequence[Any]) -> tuple[list[Array], list[Array]]:
    return _weighted_tangents(logaddexp2, op.exp2, primals, tangents)
