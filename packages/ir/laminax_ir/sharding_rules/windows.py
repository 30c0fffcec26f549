"""Windows: axes stay split where the number of windows divides into as many parts."""

from __future__ import annotations

from typing import Any, Sequence

from laminax_ir.ops import windows as op
from laminax_ir.programs.result_types import sharding_rules
from laminax_ir.sharding_rules.agreement import joined, listed, of_parts
from laminax_ir.types.avals import ShapedArray


@sharding_rules(op.reduce_window_sum_p, op.reduce_window_max_p, op.reduce_window_min_p)
def _reduce_window(out: ShapedArray, x: ShapedArray, **_params: Any) -> tuple:
    return of_parts("reduce_window", x, out.shape, "windows")


@sharding_rules(op.reduce_window_p)
def _reduce_window_general(outs: Sequence[ShapedArray], *avals: ShapedArray, **_params: Any) -> list[tuple]:
    return [of_parts("reduce_window", x, out.shape, "windows") for x, out in zip(avals, outs)]


@sharding_rules(op.select_and_scatter_add_p)
def _select_and_scatter_add(out: ShapedArray, source: ShapedArray, operand: ShapedArray, **_params: Any) -> tuple:
    return of_parts("select_and_scatter_add", operand, out.shape, "windows")


@sharding_rules(op.select_and_scatter_p)
def _select_and_scatter(out: ShapedArray, operand: ShapedArray, source: ShapedArray, init: ShapedArray, **_params: Any) -> tuple:
    return of_parts("select_and_scatter", operand, out.shape, "windows")


@sharding_rules(op.select_and_gather_add_p)
def _select_and_gather_add(out: ShapedArray, tangents: ShapedArray, operand: ShapedArray, **_params: Any) -> tuple:
    joined((tangents, operand), operand.shape,
           lambda: f"select_and_gather_add: operands must have the same shardings, got {listed((tangents, operand))}")
    return of_parts("select_and_gather_add", operand, out.shape, "windows")
