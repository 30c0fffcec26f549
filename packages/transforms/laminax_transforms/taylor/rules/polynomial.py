"""Taylor series of polynomials: Horner's rule on series."""

from __future__ import annotations

from typing import Any

from laminax_ir.ops.polynomial import polynomial_p
from laminax_transforms.taylor.series import added, product, taylor_rule


@taylor_rule(polynomial_p)
def _polynomial(x: Any, *coeffs: Any, unroll: int | None = None) -> list[Any]:
    result = coeffs[-1]
    for c in coeffs[-2::-1]:
        result = added(product(result, x), c)
    return [polynomial_p.bind(x[0], *(c[0] for c in coeffs), **({} if unroll is None else {"unroll": unroll})), *result[1:]]
