"""Taylor series of reductions: maxima share the coefficients among the elements that attain them; a product is a tree of products."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from laminax_ir.ops import reduction as op
from laminax_ir.ops.elementwise import convert_element_type, div, eq, mul
from laminax_ir.ops.shape import broadcast_in_dim
from laminax_ir.programs.primitive import Primitive
from laminax_ir.types.avals import get_aval
from laminax_transforms.base.zeros import ZERO
from laminax_transforms.rules.reduction import fold_halves, kept_axes, reduced_axes_first
from laminax_transforms.taylor.series import coefficient, define_linear, product, taylor_rule

if TYPE_CHECKING:
    from laminax_ir.types.annotations import ArrayLike

define_linear(op.reduce_sum_p)


def _define_extremum(primitive: Primitive) -> None:
    @taylor_rule(primitive)
    def rule(x: Sequence[ArrayLike], *, axes: tuple[int, ...], **params: Any) -> list[Any]:
        result = primitive.bind(x[0], axes=axes, **params)
        shape = get_aval(x[0]).shape
        attained = convert_element_type(eq(x[0], broadcast_in_dim(result, shape, kept_axes(len(shape), axes))), result.dtype)
        count = op.reduce_sum(attained, axes)
        return [result, *[c if c is ZERO else div(op.reduce_sum(mul(c, attained), axes), count) for c in x[1:]]]


_define_extremum(op.reduce_max_p)
_define_extremum(op.reduce_min_p)


@taylor_rule(op.reduce_prod_p)
def _reduce_prod(x: Any, *, axes: tuple[int, ...], **params: Any) -> list[Any]:
    terms = [reduced_axes_first(coefficient(x, k), axes) for k in range(len(x))]
    folded = fold_halves(terms, [1] + [0] * (len(x) - 1), product)
    return [op.reduce_prod_p.bind(x[0], axes=axes, **params), *folded[1:]]
