"""Gathers and scatters: axes that windows take whole, and those of the indices, are split as they were."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from laminax_ir.ops import indexing as op
from laminax_ir.programs.result_types import sharding_rules, sum_rules
from laminax_ir.sharding_rules import sums
from laminax_ir.sharding_rules.agreement import entries_of, listed, refuse
from laminax_ir.types.avals import ShapedArray

if TYPE_CHECKING:
    from laminax_ir.ops.indexing import GatherDimensionNumbers, ScatterDimensionNumbers


@sharding_rules(op.gather_p)
def _gather(out: ShapedArray, operand: ShapedArray, indices: ShapedArray, *, dimension_numbers: GatherDimensionNumbers,
            slice_sizes: tuple[int, ...], **_params: Any) -> tuple:
    dims, entries = dimension_numbers, entries_of(operand)
    gone = {*dims.collapsed_slice_dims, *dims.operand_batching_dims}
    of_indices = list(entries_of(indices))
    for axis, other in zip(dims.operand_batching_dims, dims.start_indices_batching_dims):
        if entries[axis] != of_indices[other]:
            if entries[axis] is not None and of_indices[other] is not None:
                _refuse_gather(operand, indices)
            of_indices[other] = of_indices[other] or entries[axis]
    windows = []
    for axis, entry in enumerate(entries):
        is_cut = entry is not None and axis not in dims.operand_batching_dims and (axis in gone or slice_sizes[axis] != operand.shape[axis])
        if is_cut:
            _refuse_gather(operand, indices)
        if axis not in gone:
            windows.append(None if is_cut else entry)
    if any(entry is not None for axis, entry in enumerate(entries_of(indices)) if axis not in dims.start_indices_batching_dims):
        _refuse_gather(operand, indices)  # its derivative would add over these mesh axes
    found, batch = iter(windows), iter(of_indices[:-1])
    return tuple(next(found) if axis in dims.offset_dims else next(batch) for axis in range(out.ndim))


def _refuse_gather(operand: Any, indices: Any) -> None:
    refuse("gather: Use `.at[...].get(out_sharding=)` to provide output PartitionSpec for the gather indexing, "
           f"since it cannot be told from the operands how the result is split; got {listed((operand, indices))}.")


@sharding_rules(op.scatter_p, op.scatter_add_p, op.scatter_sub_p, op.scatter_mul_p, op.scatter_min_p, op.scatter_max_p)
def _scatter(out: ShapedArray, operand: ShapedArray, indices: ShapedArray, updates: ShapedArray, *,
             dimension_numbers: ScatterDimensionNumbers, **_params: Any) -> tuple:
    return entries_of(operand)


sum_rules(op.gather_p)(sums.gathered)
for _primitive in (op.scatter_p, op.scatter_add_p, op.scatter_sub_p):
    sum_rules.add(_primitive, sums.scattered(_primitive.name))
