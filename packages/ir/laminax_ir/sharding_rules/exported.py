"""Exported programs give their results split as they were when the program was exported, over mesh axes of the same names."""

from __future__ import annotations

from typing import Any, Sequence

from laminax_ir.ops.exported import StableHLOProgram, call_exported_p
from laminax_ir.programs.result_types import sharding_rules
from laminax_ir.tracing.explicit_axes import context_mesh
from laminax_ir.types.avals import ShapedArray
from laminax_ir.types.partition_specs import PartitionSpec


@sharding_rules(call_exported_p)
def _call_exported(outs: Sequence[ShapedArray], *avals: ShapedArray, program: StableHLOProgram) -> list[tuple]:
    meshes: list[Any] = [aval._split.mesh for aval in avals if aval._split is not None] or [context_mesh()]
    names = {name for mesh in meshes if mesh is not None for name in mesh.axis_names}
    return [_entries(out, sharding, names) for out, sharding in zip(outs, program.out_shardings, strict=True)]


def _entries(out: ShapedArray, sharding: Any, names: set[Any]) -> tuple:
    """The entries of the spec that a result was exported with; the whole where axes of it are not in the mesh of the call."""
    spec = PartitionSpec() if sharding is None else sharding.spec
    return (*spec.partitions, *(None,) * (out.ndim - len(spec.partitions))) if set(spec.names()) <= names else (None,) * out.ndim
