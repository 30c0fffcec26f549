"""Placement: Shardy's constraint, for the partitioner; on one device nothing is to be done.

Values that are moved to other memory are marked for the compiler, but for CPUs, where all memory is the host's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from laminax_ir.ops import sharding as op
from laminax_ir.symbolic.symbolic_dims import is_constant_shape
from laminax_ir.types.memory_spaces import MemorySpace, kind_of_space
from laminax_lowering.writing.context import FunctionWriter
from laminax_lowering.writing.explicit_axes import constrain, laid_out_as_typed
from laminax_lowering.writing.registry import lowering_rule
from laminax_lowering.writing.shardings import sharding_text
from laminax_lowering.writing.ssa_values import Value
from laminax_lowering.writing.types import type_text

if TYPE_CHECKING:
    from laminax_ir.types.array_layouts import Layout


@lowering_rule(op.reshard_p)
def _lower_reshard(ctx: FunctionWriter, x: Value, *, dst: Any) -> Value:
    source = x.aval._split
    if dst is not None and dst.spec.unreduced and (source is None or not source.spec.unreduced):
        x = laid_out_as_typed(ctx, x, dst.mesh, dst.spec.unreduced)
    elif dst is not None and dst.spec.unreduced and source is not None and source.spec.unreduced != dst.spec.unreduced:
        # XLA does not go from the terms of one sum to those of another at once
        made = source.update(source.spec.update(unreduced=frozenset()))
        x = constrain(ctx, x, x.aval.update(sharding=made))
    return Value(x.name, ctx.avals_out[0])  # its type constrains it


@lowering_rule(op.sharding_constraint_p)
def _lower_constraint(ctx: FunctionWriter, x: Value, *, sharding: Any) -> Value:
    if getattr(sharding, "mesh", None) is None and getattr(sharding, "num_devices", 1) == 1:
        return x
    split, spec = x.aval._split, getattr(sharding, "spec", None)
    if spec is not None and spec.unreduced and (split is None or not split.spec.unreduced):
        x = laid_out_as_typed(ctx, x, sharding.mesh, spec.unreduced)
    return constrained(ctx, x, sharding)


@lowering_rule(op.layout_constraint_p)
def _lower_layout_constraint(ctx: FunctionWriter, x: Value, *, layout: Layout) -> Value:
    order = f"[dense<{list(reversed(layout.major_to_minor))}> : tensor<{len(layout.major_to_minor)}xindex>]"  # from minor to major
    return ctx.custom_call("LayoutConstraint", [x], attributes={
        "backend_config": '""', "operand_layouts": order, "result_layouts": order})


@lowering_rule(op.device_put_p)
def _lower_device_put(ctx: FunctionWriter, x: Value, *, sharding: Any, source: Any = None) -> Value:
    placed = x if isinstance(sharding, MemorySpace) else _lower_constraint(ctx, x, sharding=sharding)
    space = ctx.avals_out[0].memory_space
    if space is ctx.eqn.invars[0].aval.memory_space or ctx.platforms == ("cpu",):
        return placed
    return ctx.put_in_memory(placed, kind_of_space(space))


def constrained(ctx: FunctionWriter, x: Value, sharding: Any) -> Value:
    """The value, split over a mesh as a sharding says.

    Shape refinement does not know Shardy's operation: where sizes are symbolic it is the custom call that Shardy makes of it and reads.
    """
    text = sharding_text(ctx.module.meshes, sharding, x.aval)
    if not is_constant_shape(x.aval.shape):
        return ctx.custom_call("Sharding", [x], results=[x.aval], attributes={
            "backend_config": '""', "sdy.sharding": f"#sdy.sharding_per_value<[{text}]>"})
    name = ctx.new_name()
    ctx.lines.append(f"{name} = sdy.sharding_constraint {x.name} {text} : {type_text(x.aval)}{ctx.loc}")
    return Value(name, x.aval)
