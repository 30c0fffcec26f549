"""Functions with their own partitioner: a call that the compiler asks the partitioner about; on one device, the program itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from laminax_ir.ops.custom_partitioning import Partitioner, custom_partitioning_p
from laminax_ir.programs.calling_conventions import PartitionedCall, partitioner_key
from laminax_lowering.rules.shard_map import left_to_compiler
from laminax_lowering.writing.context import FunctionWriter
from laminax_lowering.writing.registry import lowering_rule
from laminax_lowering.writing.ssa_values import Value
from laminax_lowering.writing.types import string_text

if TYPE_CHECKING:
    from laminax_ir.programs.jaxpr import ClosedJaxpr

_TARGET = "CustomSPMDPartitioning"  # the name that XLA knows such calls by


@lowering_rule(custom_partitioning_p)
def _custom_partitioning(ctx: FunctionWriter, *operands: Value, jaxpr: ClosedJaxpr, partitioner: Partitioner, sharding_rule: str,
                         name: str) -> list[Value]:
    module = ctx.module
    is_split = module.num_partitions > 1 and (module.manual_mesh is None or bool(left_to_compiler(module)))
    if not is_split:
        return ctx.run(jaxpr, operands)
    module.partitioned_calls.append(PartitionedCall(partitioner, tuple(x.aval for x in operands), tuple(ctx.avals_out)))
    out = ctx.custom_call(_TARGET, operands, attributes={
        "api_version": "2 : i32", "backend_config": string_text(partitioner_key(len(module.partitioned_calls) - 1)),
        "has_side_effect": "false", "sdy.sharding_rule": sharding_rule}, results=ctx.avals_out)
    return out if isinstance(out, list) else [out]
