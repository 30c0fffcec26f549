"""Elementwise operations: results are split as the operands are, which must agree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Sequence

from laminax_ir.ops import elementwise as op
from laminax_ir.programs.primitive import Primitive
from laminax_ir.programs.result_types import sharding_rules, sum_rules
from laminax_ir.sharding_rules import sums
from laminax_ir.sharding_rules.agreement import elementwise_rule, entries_of, joined, listed
from laminax_ir.types.avals import ShapedArray
from laminax_ir.types.partition_specs import PartitionSpec

if TYPE_CHECKING:
    import numpy as np

_OTHERS = (op.select_n_p, op.bitcast_convert_type_p, op.optimization_barrier_p)

elementwise_rule(*(p for p in vars(op).values() if isinstance(p, Primitive) and p not in _OTHERS))


@sharding_rules(op.select_n_p)
def _select_n(out: ShapedArray, which: ShapedArray, *cases: ShapedArray) -> tuple:
    entries = joined(cases, out.shape,
                     lambda: f"select cases must have the same shardings, got {listed(cases)}. Use reshard on one of them.")
    return joined((out.update(sharding=_spec(entries, (which, *cases))), which), out.shape,
                  lambda: f"select `which` must be scalar or have the same sharding as cases, got {listed((which, *cases))}")


def _spec(entries: tuple, avals: Sequence[ShapedArray]) -> Any:
    return next(a._split for a in avals if a._split is not None)._replace(spec=PartitionSpec(*entries))


@sharding_rules(op.bitcast_convert_type_p)
def _bitcast(out: ShapedArray, x: ShapedArray, *, new_dtype: np.dtype) -> tuple:
    entries = entries_of(x)
    return entries + (None,) * (out.ndim - x.ndim) if out.ndim >= x.ndim else entries[:out.ndim]


@sharding_rules(op.optimization_barrier_p)
def _optimization_barrier(outs: Sequence[ShapedArray], *avals: ShapedArray) -> list[tuple]:
    return [entries_of(aval) for aval in avals]


# Sums over mesh axes that have not been made

_SUMS = {
    **dict.fromkeys((op.add_p, op.sub_p), sums.added),
    **dict.fromkeys((op.neg_p, op.copy_p, op.stop_gradient_p, op.conj_p, op.real_p, op.imag_p, op.reduce_precision_p), sums.kept),
    op.convert_element_type_p: sums.kept_or_given, op.complex_p: sums.all_alike("complex"), op.mul_p: sums.multiplied,
    op.div_p: sums.divided, op.select_n_p: sums.selected, op.optimization_barrier_p: sums.each_kept,
}
for _primitive, _rule in _SUMS.items():
    sum_rules.add(_primitive, _rule)
sums.elementwise_sums(*(p for p in vars(op).values() if isinstance(p, Primitive) and p.family == "elementwise" and p not in _SUMS))
