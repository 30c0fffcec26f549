"""Exported programs give their results split as they were when the program was exported, over mesh axes of the same names."""

from __future__ import annotations

from typing import Any, Sequence

from laminax_ir.ops.exported import StableHLOProgram, call_exported_p
from laminax_ir.programs.result_types import Sums, sharding_rules, sum_rules
from laminax_ir.tracing.explicit_axes import context_mesh
from laminax_ir.types.avals import ShapedArray
from laminax_ir.types.errors import ShardingTypeError
from laminax_ir.types.partition_specs import PartitionSpec
from laminax_ir.types.type_shardings import TypeSharding


@sharding_rules(call_exported_p)
def _call_exported(outs: Sequence[ShapedArray], *avals: ShapedArray, program: StableHLOProgram) -> list[tuple]:
    names = _mesh_axes(avals)
    return [_entries(out, sharding, names) for out, sharding in zip(outs, program.out_shardings, strict=True)]


@sum_rules(call_exported_p)
def _open_sums(avals: Sequence[ShapedArray], given: TypeSharding | None, params: dict[str, Any]) -> list[Sums]:
    """Arguments must be the sums that they were when the program was exported; the results are."""
    program = params["program"]
    for i, (aval, sharding) in enumerate(zip(avals, program.in_shardings, strict=True)):
        if _sums(None if aval._split is None else aval._split.spec) != _sums(None if sharding is None else sharding.spec):
            raise ShardingTypeError(f"The exported function {program.name!r} takes an argument number {i} that is split as {sharding}, and "
                                    f"was called with {aval.str_short()}. Use reshard, so that the same sums are left open.")
    names = _mesh_axes(avals)
    found = [_sums(None if sharding is None else sharding.spec) for sharding in program.out_shardings]
    if unknown := set().union(*(unreduced | reduced for unreduced, reduced in found)) - names:
        raise ShardingTypeError(f"The exported function {program.name!r} leaves sums open over the mesh axes {sorted(map(str, unknown))}, "
                                "which the mesh of the call does not have. Call it on a mesh whose axes have these names.")
    return found


def _sums(spec: PartitionSpec | None) -> Sums:
    return (frozenset(), frozenset()) if spec is None else (spec.unreduced, spec.reduced)


def _mesh_axes(avals: Sequence[ShapedArray]) -> set[Any]:
    meshes: list[Any] = [aval._split.mesh for aval in avals if aval._split is not None] or [context_mesh()]
    return {name for mesh in meshes if mesh is not None for name in mesh.axis_names}


def _entries(out: ShapedArray, sharding: Any, names: set[Any]) -> tuple:
    """The entries of the spec that a result was exported with; the whole where axes of it are not in the mesh of the call."""
    spec = PartitionSpec() if sharding is None else sharding.spec
    return (*spec.partitions, *(None,) * (out.ndim - len(spec.partitions))) if set(spec.names()) <= names else (None,) * out.ndim
