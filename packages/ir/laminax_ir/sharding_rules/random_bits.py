"""Random bits: the bits of each key are whole, an array of keys may be split."""

from __future__ import annotations

from typing import Any

from laminax_ir.ops import random_bits as op
from laminax_ir.programs.result_types import sharding_rules
from laminax_ir.sharding_rules.agreement import elementwise_rule, entries_of
from laminax_ir.types.avals import ShapedArray

elementwise_rule(op.threefry2x32_p, op.random_seed_p, op.random_clone_p)


@sharding_rules(op.random_wrap_p, op.random_unwrap_p, op.random_split_p, op.random_bits_p)
def _per_key(out: ShapedArray, x: ShapedArray, **_params: Any) -> tuple:
    entries = entries_of(x)[:out.ndim]
    return entries + (None,) * (out.ndim - len(entries))


@sharding_rules(op.random_fold_in_p)
def _fold_in(out: ShapedArray, keys: ShapedArray, data: ShapedArray, **_params: Any) -> tuple:
    return entries_of(keys)
