"""Collectives: over the mesh axes that a program per device does not run along, results are split as the operands are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from laminax_ir.ops import collectives as op
from laminax_ir.programs.result_types import Sums, sharding_rules, sum_rules
from laminax_ir.sharding_rules import sums
from laminax_ir.sharding_rules.agreement import entries_of, of_parts
from laminax_ir.types.avals import ShapedArray
from laminax_ir.types.type_shardings import TypeSharding


@sharding_rules(op.psum_p, op.pmax_p, op.pmin_p, op.ppermute_p, op.pvary_p, op.psum_shared_p)
def _same(out: ShapedArray, x: ShapedArray, *_others: ShapedArray, **_params: Any) -> tuple:
    return entries_of(x)


@sharding_rules(op.axis_index_p)
def _axis_index(out: ShapedArray, *, axis_name: Any) -> tuple:
    return ()


@sharding_rules(op.all_gather_p)
def _all_gather(out: ShapedArray, x: ShapedArray, *, all_gather_dimension: int, tiled: bool, **_params: Any) -> tuple:
    entries = entries_of(x)
    return entries if tiled else (*entries[:all_gather_dimension], None, *entries[all_gather_dimension:])


@sharding_rules(op.reduce_scatter_p)
def _reduce_scatter(out: ShapedArray, x: ShapedArray, *, scatter_dimension: int, tiled: bool, **_params: Any) -> tuple:
    if tiled:
        return of_parts("psum_scatter", x, out.shape, "scattering")
    entries = entries_of(x)
    return (*entries[:scatter_dimension], *entries[scatter_dimension + 1:])


@sharding_rules(op.all_to_all_p)
def _all_to_all(out: ShapedArray, x: ShapedArray, *, split_axis: int, concat_axis: int, tiled: bool, **_params: Any) -> tuple:
    if tiled:
        return of_parts("all_to_all", x, out.shape, "all_to_all")
    entries = list(entries_of(x))
    entries.pop(split_axis)
    entries.insert(concat_axis, None)
    return tuple(entries)


# Open sums: a collective is over axes along which its operand is none; along the others what is linear is done to the terms


def _sums(primitive: Any, key: str, is_linear: bool) -> None:
    of_operand = sums.kept if is_linear else sums.without_terms_of(primitive.name)

    def rule(avals: Sequence[ShapedArray], given: TypeSharding | None, params: dict[str, Any]) -> Sums | list[Sums]:
        (x, *_) = avals
        found = params[key] if isinstance(params[key], tuple) else (params[key],)
        sums.check_none_open(primitive.name, x, found)
        return of_operand(avals[:1], given, params)
    sum_rules.add(primitive, rule)


for _primitive, _key in ((op.psum_p, "axes"), (op.ppermute_p, "axis_name"), (op.pvary_p, "axes"), (op.all_gather_p, "axis_name"),
                         (op.reduce_scatter_p, "axis_name"), (op.all_to_all_p, "axis_name"), (op.psum_shared_p, "axes")):
    _sums(_primitive, _key, True)
for _primitive in (op.pmax_p, op.pmin_p):
    _sums(_primitive, "axes", False)
