"""Taylor series of special functions: those whose derivatives are known to every order.

Sources: Abramowitz and Stegun, chapters 6 and 7.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from laminax_ir.ops import special as op
from laminax_ir.ops.elementwise import add, exp, neg, square
from laminax_transforms.taylor.rules.elementwise import exponential
from laminax_transforms.taylor.series import (
    Series,
    antiderivative,
    composed,
    convolved,
    integrated,
    is_constant,
    product,
    scaled,
    taylor_rule,
    times,
    times_number,
    total,
)

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array


def _gaussian(x: Series, factor: float) -> Series:
    """factor exp(-x**2)."""
    bell = exponential(times_number(product(x, x), -1), exp(neg(square(x[0]))))
    return times_number(bell, factor)


@taylor_rule(op.erf_p)
def _erf(x: Any) -> list[Array]:
    return antiderivative(x, op.erf(x[0]), _gaussian(x, 2 / math.sqrt(math.pi)))


@taylor_rule(op.erfc_p)
def _erfc(x: Any) -> list[Array]:
    return antiderivative(x, op.erfc(x[0]), _gaussian(x, -2 / math.sqrt(math.pi)))


@taylor_rule(op.erf_inv_p)
def _erf_inv(x: Any) -> list[Array]:
    """y' = d x' with d = sqrt(pi)/2 exp(y**2), for which d' = d (y**2)'."""
    d: Series = []

    def slope(k: int, y: Any) -> Any:
        if k == 0:
            d.append(scaled(math.sqrt(math.pi) / 2, exp(square(y[0]))))
        else:
            d.append(scaled(1 / k, total(times(scaled(j, convolved(y, y, j)), d[k - j]) for j in range(1, k + 1))))
        return d[k]
    return integrated(x, op.erf_inv(x[0]), slope)


@taylor_rule(op.lgamma_p)
def _lgamma(x: Any) -> list[Array]:
    value = x[0]
    derivatives = [op.lgamma(value), op.digamma(value), *[op.polygamma(float(m), value) for m in range(1, len(x) - 1)]]
    return composed([scaled(1 / math.factorial(m), c) for m, c in enumerate(derivatives[:len(x)])], x)


@taylor_rule(op.digamma_p)
def _digamma(x: Any) -> list[Array]:
    derivatives = [op.digamma(x[0]), *[op.polygamma(float(m), x[0]) for m in range(1, len(x))]]
    return composed([scaled(1 / math.factorial(m), c) for m, c in enumerate(derivatives)], x)


@taylor_rule(op.polygamma_p)
def _polygamma(m: Any, x: Any) -> Any:
    if not is_constant(m):
        raise NotImplementedError("jet: the derivative of polygamma with respect to m is not implemented: it has no closed form. Apply "
                                  "stop_gradient to m if it is not wanted.")
    return composed([scaled(1 / math.factorial(n), op.polygamma(add(m[0], float(n)), x[0])) for n in range(len(x))], x)
