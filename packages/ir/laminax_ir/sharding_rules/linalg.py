"""Linear algebra: batches of matrices may be split, matrices not."""

from __future__ import annotations

from typing import Any, Callable, Sequence

from laminax_ir.ops import linalg_primitives as op
from laminax_ir.programs.primitive import Primitive
from laminax_ir.programs.result_types import sharding_rules
from laminax_ir.sharding_rules.agreement import joined, listed, only_batch, refuse
from laminax_ir.types.avals import ShapedArray


def _batch_rule(primitive: Primitive) -> Callable:
    core = 1 if primitive in (op.lu_pivots_to_permutation_p,) else 2

    def batch_of(avals: Sequence[ShapedArray]) -> Any:
        arrays = [x for x in avals if x.ndim >= core]
        rank = max(x.ndim for x in arrays)
        of_matrices = [x for x in arrays if x.ndim == rank]
        for x in arrays:
            if x.ndim != rank:
                only = x._split is not None and any(x._split.spec.partitions)
                if only:
                    refuse(f"{primitive}: operands of fewer axes must not be split, got {listed(avals)}. Use reshard on them.")
        batches = [only_batch(str(primitive), x, core) for x in of_matrices]
        entries = joined([x.update(shape=(*x.shape[:-core], *[0] * core)) for x in of_matrices],
                         (*of_matrices[0].shape[:-core], *[0] * core),
                         lambda: f"{primitive}: operands must have the same shardings, got {listed(avals)}. Use reshard on some of them.")
        return entries[:len(batches[0])]

    def entries_of_one(out: ShapedArray, *avals: ShapedArray, **_params: Any) -> tuple:
        batch = batch_of(avals)
        return (*batch, *[None] * (out.ndim - len(batch)))

    def entries_of_several(outs: Sequence[ShapedArray], *avals: ShapedArray, **_params: Any) -> list[tuple]:
        return [entries_of_one(out, *avals) for out in outs]

    return entries_of_several if primitive.multiple_results else entries_of_one


for _primitive in {p for p in vars(op).values() if isinstance(p, Primitive) and p.family == "linalg"}:
    sharding_rules.add(_primitive, _batch_rule(_primitive))
