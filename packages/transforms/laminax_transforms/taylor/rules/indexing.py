"""Taylor series of reading and writing at indices: linear in the arrays; the indices do not vary."""


from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from laminax_ir.ops import indexing as op
from laminax_transforms.base.zeros import ZERO
from laminax_transforms.taylor.series import define_linear, taylor_rule

if TYPE_CHECKING:
    from laminax_ir.types.annotations import ArrayLike


@taylor_rule(op.gather_p)
def _gather(x: Sequence[ArrayLike], indices: Sequence[Any], *, fill_value: float, **params: Any) -> list[Any]:
    """An element read outside of the array is a constant: its coefficients are 0."""
    fill = None if fill_value is None else 0
    return [op.gather_p.bind(x[0], indices[0], fill_value=fill_value, **params),
            *[c if c is ZERO else op.gather_p.bind(c, indices[0], fill_value=fill, **params) for c in x[1:]]]


for _primitive in (op.scatter_p, op.scatter_add_p, op.scatter_sub_p):
    define_linear(_primitive, (0, 2))
