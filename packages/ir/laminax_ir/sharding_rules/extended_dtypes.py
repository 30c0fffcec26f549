"""Conversions to and from extended dtypes: an array is split as what stores it, and its elements are whole."""

from __future__ import annotations

from typing import Any

from laminax_ir.ops.extended_dtypes import from_edtype_p, to_edtype_p
from laminax_ir.programs.result_types import sharding_rules
from laminax_ir.sharding_rules.agreement import entries_of
from laminax_ir.types.avals import ShapedArray


@sharding_rules(to_edtype_p, from_edtype_p)
def _by_elements(out: ShapedArray, x: ShapedArray, **_params: Any) -> tuple:
    entries = entries_of(x)[:out.ndim]
    return entries + (None,) * (out.ndim - len(entries))
