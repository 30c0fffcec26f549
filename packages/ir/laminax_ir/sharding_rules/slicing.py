"""Slices: axes that are read as a whole are split as they were, others where the window divides into as many parts.

One element cannot be split, so that it is read from any array.
"""

from __future__ import annotations

from typing import Any

from laminax_ir.ops import slicing as op
from laminax_ir.programs.result_types import sharding_rules, sum_rules
from laminax_ir.sharding_rules import sums
from laminax_ir.sharding_rules.agreement import Entries, entries_of, listed, of_parts, refuse
from laminax_ir.types.avals import ShapedArray


@sharding_rules(op.slice_p)
def _slice(out: ShapedArray, x: ShapedArray, **_params: Any) -> tuple:
    return _window("slice", x, out, "slicing")


def _window(name: str, x: ShapedArray, out: ShapedArray, action: str) -> Entries:
    return (None,) * out.ndim if out.size == 1 else of_parts(name, x, out.shape, action)


@sharding_rules(op.dynamic_slice_p)
def _dynamic_slice(out: ShapedArray, x: ShapedArray, *_start_indices: ShapedArray, slice_sizes: tuple[int, ...]) -> tuple:
    return _window("dynamic_slice", x, out, "dynamic_slice")


@sharding_rules(op.dynamic_update_slice_p)
def _dynamic_update_slice(out: ShapedArray, x: ShapedArray, update: ShapedArray, *_start_indices: ShapedArray) -> tuple:
    if entries_of(x) != entries_of(update):
        refuse(f"dynamic_update_slice operand sharding must be equal to update sharding, got {listed((x, update))}. "
               "Use reshard on the update.")
    return entries_of(x)


# Sums over mesh axes that have not been made

sum_rules(op.slice_p)(sums.kept)
sum_rules(op.dynamic_slice_p)(sums.without_terms_of("dynamic_slice"))
sum_rules(op.dynamic_update_slice_p)(sums.updated)
