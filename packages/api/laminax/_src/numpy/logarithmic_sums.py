"""Sums of numbers given by their logarithms, `logaddexp` and `logaddexp2`, which neither overflow nor lose digits."""

from __future__ import annotations

import math

from laminax_ir import dtypes, operators
from laminax_ir.avals import get_aval
from laminax_ir.ops import elementwise as op
from laminax_ir.ops import shape as shape_ops
from laminax_ir.ops.calls import CustomJVPCall
from laminax_ir.ops.scalar_operands import scalar_like

from laminax._src.numpy import ufunc_methods as methods
from laminax._src.numpy.arguments import dtype_of, is_kind, promote_inexact
from laminax._src.numpy.ufunc import builtin_ufunc


@builtin_ufunc(-math.inf, is_composite=True, reduce=methods.logsumexp)
def logaddexp(x1, x2, /):
    """log(exp(x1) + exp(x2)), elementwise, without overflow; the derivative at (-inf, -inf) is NaN, as JAX has it."""
    x1, x2 = promote_inexact("logaddexp", x1, x2)
    return CustomJVPCall(_logaddexp, _logaddexp_jvp, (x1, x2), "logaddexp").bind()[0]


def _logaddexp(x1, x2):
    if is_kind(x1, dtypes.complexfloating):
        return [_complex_logaddexp(x1, x2)]
    larger, difference = op.max(x1, x2), op.sub(x1, x2)
    # inf - inf is NaN; the sum is right where both are the same infinity, and NaN where an operand is.
    return [op.select(op.ne(difference, difference), op.add(x1, x2),
                      op.add(larger, op.log1p(op.exp(op.neg(op.abs(difference))))))]


def _complex_logaddexp(x1, x2):
    larger, difference = op.max(x1, x2), op.sub(x1, x2)
    down = op.select(op.eq(larger, x1), op.neg(difference), difference) if larger.shape == get_aval(x1).shape \
        else op.sub(op.min(x1, x2), larger)
    result = op.select(op.ne(difference, difference), op.add(x1, x2), op.add(larger, op.log1p(op.exp(down))))
    # The imaginary part in (-pi, pi], where the principal logarithm has it.
    angle = op.imag(result)
    turn = scalar_like(2 * math.pi, dtype_of(angle))
    half = scalar_like(math.pi, dtype_of(angle))
    return op.complex(op.real(result), op.sub(half, operators.remainder(op.sub(half, angle), turn)))


def _logaddexp_jvp(primals, tangents):
    return _weighted_tangents(logaddexp, op.exp, primals, tangents)


def _weighted_tangents(function, power, primals, tangents):
    """The derivative of log(sum of powers): the weight of each operand is its power over the sum."""
    from laminax_transforms.zeros import ZERO
    out = function(*primals)
    total = ZERO
    for x, x_dot in zip(primals, tangents):
        if x_dot is ZERO:
            continue
        difference = op.sub(_without_infinity(x), _without_infinity(out))
        term = op.mul(x_dot, power(difference))
        total = term if total is ZERO else op.add(total, term)
    return [out], [total]


def _without_infinity(x):
    """x with 0 in place of inf, so that a difference is no NaN; a -inf that stays gives exp its 0."""
    dtype = dtype_of(x)
    if dtypes.issubdtype(dtype, dtypes.complexfloating):
        return x
    return op.select(op.eq(x, scalar_like(math.inf, dtype)), shape_ops.full(get_aval(x).shape, 0, dtype), x)


@builtin_ufunc(-math.inf, is_composite=True, reduce=methods.logsumexp2)
def logaddexp2(x1, x2, /):
    """log2(2**x1 + 2**x2), elementwise, without overflow; the derivative at (-inf, -inf) is NaN, as JAX has it."""
    x1, x2 = promote_inexact("logaddexp2", x1, x2)
    if is_kind(x1, dtypes.complexfloating):
        log_2 = scalar_like(math.log(2), dtype_of(x1))
        return op.div(logaddexp(op.mul(x1, log_2), op.mul(x2, log_2)), log_2)
    return CustomJVPCall(_logaddexp2, _logaddexp2_jvp, (x1, x2), "logaddexp2").bind()[0]


def _logaddexp2(x1, x2):
    larger, difference = op.max(x1, x2), op.sub(x1, x2)
    logarithm = op.mul(scalar_like(math.log2(math.e), dtype_of(x1)), op.log1p(op.exp2(op.neg(op.abs(difference)))))
    return [op.select(op.ne(difference, difference), op.add(x1, x2), op.add(larger, logarithm))]


def _logaddexp2_jvp(primals, tangents):
    return _weighted_tangents(logaddexp2, op.exp2, primals, tangents)
