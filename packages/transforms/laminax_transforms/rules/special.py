"""Derivatives and batching of the special functions.

Sources: Abramowitz and Stegun, chapters 6, 7, 9 and 26; NIST DLMF, chapters 5, 7, 8, 10 and 25. Derivatives that have
no closed form are refused with an error.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Callable

import numpy as np

from laminax_ir.ops import special as op
from laminax_ir.ops.elementwise import abs, add, div, exp, gt, log, log1p, lt, mul, neg, select, sign, square, sub
from laminax_ir.ops.shape import full_like
from laminax_ir.ops.special import bessel_i0e, bessel_i1e, digamma, igamma_grad_a, lgamma, polygamma, zeta
from laminax_ir.types.avals import get_aval
from laminax_ir.types.dtypes import finfo
from laminax_transforms.base.registry import define_jvp
from laminax_transforms.batching.batch_axes import define_elementwise_batching

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike



def _bell(x: Any) -> Array:
    """exp(-x**2). Beyond the bound it is 0, and so is every derivative of it there: at infinity they would be products of 0 and inf."""
    bound = 32.0 if x.dtype == np.float64 else 16.0  # exp(-bound**2) is less than the smallest number of the dtype
    return exp(neg(square(select(gt(abs(x), bound), full_like(x, bound), x))))  # NaN is no such place and stays


define_jvp(op.erf_p, lambda t, y, x: mul(t, mul(2 / math.sqrt(math.pi), _bell(x))))
define_jvp(op.erfc_p, lambda t, y, x: mul(t, mul(-2 / math.sqrt(math.pi), _bell(x))))
define_jvp(op.erf_inv_p, lambda t, y, x: mul(t, mul(math.sqrt(math.pi) / 2, exp(square(y)))))
define_jvp(op.lgamma_p, lambda t, y, x: mul(t, digamma(x)))
define_jvp(op.digamma_p, lambda t, y, x: mul(t, polygamma(1.0, x)))
# (exp(-|x|) I0)' = exp(-|x|) (I1 - sign(x) I0), since I0' = I1.
define_jvp(op.bessel_i0e_p, lambda t, y, x: mul(t, sub(bessel_i1e(x), mul(sign(x), y))))


def _bessel_i1e_partial(t: ArrayLike, y: ArrayLike, x: ArrayLike) -> Array:
    """I1' = I0 - I1/x; the quotient goes to 1/2 at 0, and its derivative close to 0 would be a difference of infinite numbers."""
    at_zero = lt(abs(x), full_like(x, float(finfo(get_aval(x).dtype).eps)))
    safe = select(at_zero, full_like(x, 1.0), x)
    slope = sub(bessel_i0e(safe), mul(y, add(sign(safe), div(1.0, safe))))
    return mul(t, select(at_zero, full_like(x, 0.5), slope))


define_jvp(op.bessel_i1e_p, _bessel_i1e_partial)


def _refuse(function: str, argument: str, error: type[Exception] = NotImplementedError) -> Callable:
    def partial(*_: Any) -> None:
        raise error(f"the derivative of {function} with respect to {argument} is not implemented: it has no "
                    f"closed form. Apply stop_gradient to {argument} if it is not wanted.")
    return partial


define_jvp(op.polygamma_p, _refuse("polygamma", "m", ValueError), lambda t, y, m, x: mul(t, polygamma(add(m, 1.0), x)))
define_jvp(op.zeta_p, _refuse("zeta", "x"), lambda t, y, x, q: mul(t, mul(neg(x), zeta(add(x, 1.0), q))))


def _gamma_density(a: ArrayLike, x: ArrayLike) -> Array:
    """dP/dx = x**(a-1) exp(-x) / Γ(a)."""
    return exp(sub(sub(mul(sub(a, 1.0), log(x)), x), lgamma(a)))


define_jvp(op.igamma_p, lambda t, y, a, x: mul(t, igamma_grad_a(a, x)), lambda t, y, a, x: mul(t, _gamma_density(a, x)))
define_jvp(op.igammac_p, lambda t, y, a, x: neg(mul(t, igamma_grad_a(a, x))),
           lambda t, y, a, x: neg(mul(t, _gamma_density(a, x))))
define_jvp(op.igamma_grad_a_p, _refuse("igamma_grad_a", "a"), _refuse("igamma_grad_a", "x"))
define_jvp(op.random_gamma_grad_p, _refuse("random_gamma_grad", "a"), _refuse("random_gamma_grad", "x"))


def _betainc_partial_x(t: ArrayLike, y: ArrayLike, a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Array:
    """x**(a-1) (1-x)**(b-1) / B(a, b)."""
    log_beta = sub(add(lgamma(a), lgamma(b)), lgamma(add(a, b)))
    return mul(t, exp(sub(add(mul(sub(b, 1.0), log1p(neg(x))), mul(sub(a, 1.0), log(x))), log_beta)))


define_jvp(op.regularized_incomplete_beta_p, _refuse("betainc", "a", ValueError), _refuse("betainc", "b", ValueError), _betainc_partial_x)

define_elementwise_batching(
    op.erf_p, op.erfc_p, op.erf_inv_p, op.lgamma_p, op.digamma_p, op.bessel_i0e_p, op.bessel_i1e_p, op.polygamma_p,
    op.zeta_p, op.igamma_p, op.igammac_p, op.igamma_grad_a_p, op.random_gamma_grad_p,
    op.regularized_incomplete_beta_p)
