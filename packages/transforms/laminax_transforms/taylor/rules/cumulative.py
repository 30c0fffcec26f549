"""Taylor series of cumulative reductions: associative scans of series, as their derivatives are scans of pairs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from laminax_ir.ops import cumulative as op
from laminax_ir.ops.elementwise import max, min
from laminax_ir.programs.primitive import Primitive
from laminax_transforms.taylor.rules.elementwise import chosen
from laminax_transforms.taylor.series import coefficient, define_linear, product, taylor_rule

define_linear(op.cumsum_p)


def _define_scan(primitive: Primitive, combine: Callable) -> None:
    @taylor_rule(primitive)
    def rule(x: Any, *, axis: int, reverse: bool) -> list[Any]:
        terms = [coefficient(x, k) for k in range(len(x))]
        return [primitive.bind(x[0], axis=axis, reverse=reverse), *op.scan_associatively(combine, terms, axis, reverse)[1:]]


_define_scan(op.cumprod_p, product)
_define_scan(op.cummax_p, lambda a, b: chosen(max, a, b))
_define_scan(op.cummin_p, lambda a, b: chosen(min, a, b))
