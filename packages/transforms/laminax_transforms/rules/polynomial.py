"""Derivatives and batching of polynomials: by x a polynomial of a degree less; linear in the coefficients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Sequence

from laminax_ir.ops.elementwise import add, mul
from laminax_ir.ops.polynomial import polynomial, polynomial_p
from laminax_ir.ops.shape import full_like
from laminax_ir.types.avals import get_aval
from laminax_transforms.base.registry import broadcast_like, is_linear, jvp_rule, transpose_rule
from laminax_transforms.base.zeros import ZERO
from laminax_transforms.batching.batch_axes import define_elementwise_batching
from laminax_transforms.rules.elementwise import unbroadcast

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array


@jvp_rule(polynomial_p, symbolic_zeros=True)
def _polynomial_jvp(primals: Sequence[Any], tangents: Sequence[Any], *, unroll: int | None = None) -> tuple[Array, Any]:
    (x, *coeffs), (x_dot, *coeffs_dot) = primals, tangents
    value = polynomial(x, coeffs, unroll=unroll)
    parts = []
    if x_dot is not ZERO:
        slope = polynomial(x, [mul(c, float(k)) for k, c in enumerate(coeffs)][1:], unroll=unroll)
        parts.append(mul(x_dot, slope))
    if any(c_dot is not ZERO for c_dot in coeffs_dot):
        parts.append(polynomial(x, [full_like(c, 0) if c_dot is ZERO else c_dot for c, c_dot in zip(coeffs, coeffs_dot)], unroll=unroll))
    if not parts:
        return value, ZERO
    return value, broadcast_like(parts[0] if len(parts) == 1 else add(*parts), get_aval(value).shape)


@transpose_rule(polynomial_p)
def _polynomial_transpose(ct: Any, x: Any, *coeffs: Any, unroll: int | None = None) -> list[Any]:
    """The coefficient of x**k gets x**k times the cotangent."""
    cts: list[Any] = [None]
    for c in coeffs:
        cts.append(unbroadcast(ct, c) if is_linear(c) else None)
        ct = mul(ct, x)
    return cts


define_elementwise_batching(polynomial_p)
