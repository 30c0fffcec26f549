"""Programs per device with values of users' types inside; parameters and results are arrays: nobody says how such values are split."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from laminax_ir.ops.shard_map import shard_map_p
from laminax_ir.recording.type_lowering import lowered, type_lowering_rules
from laminax_ir.tracing.manual_axes import running_along
from laminax_ir.types.hi_types import HiType


@type_lowering_rules(shard_map_p)
def _shard_map(operands: Sequence[Any], params: dict[str, Any]) -> list[Any]:
    mesh, closed, axes = params["mesh"], params["jaxpr"], params["manual_axes"]
    for aval in (*closed.in_avals, *closed.out_avals):
        if isinstance(aval, HiType):
            raise NotImplementedError(f"shard_map: an argument or result of the type {aval.str_short()} is not supported. Pass the arrays "
                                      "that it consists of, and make the value inside.")
    with running_along([(name, mesh.shape[name]) for name in axes], params["check_vma"], mesh, params.get("unchecked_axes", ())):
        program = lowered(closed)
    return shard_map_p.bind(*operands, **{**params, "jaxpr": program})
