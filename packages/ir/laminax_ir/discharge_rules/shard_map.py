"""Programs per device with references: a reference is split as its array is."""

from __future__ import annotations

from typing import Any, Sequence

from laminax_ir.ops.shard_map import shard_map_p
from laminax_ir.recording.discharge import discharge_rules, discharged
from laminax_ir.refs.refs import check_aliases, values_in, write_back
from laminax_ir.tracing.manual_axes import running_along


@discharge_rules(shard_map_p)
def _shard_map(operands: Sequence[Any], params: dict[str, Any]) -> list[Any]:
    """A reference is split as its array is; afterwards the parts on the devices are put together again."""
    mesh, closed, axes = params["mesh"], params["jaxpr"], params["manual_axes"]
    check_aliases(closed.jaxpr.debug_info or "a function", "shard_map", operands, (), "operand {}".format)
    with running_along([(name, mesh.shape[name]) for name in axes], params["check_vma"], mesh, params.get("unchecked_axes", ())):
        pure = discharged(closed)
    specs = [spec for spec, is_written in zip(params["in_specs"], pure.written) if is_written]
    count = len(pure.results)
    for spec, aval in zip(specs, pure.closed.out_avals[count:]):
        if varying := [name for name in aval.named_shape if name in axes and name not in spec.names()]:
            raise ValueError(f"shard_map: what is written to a reference that is split as {spec}, {aval.str_short()}, "
                             f"varies over the mesh axes {varying}, along which all devices have the same part. "
                             "Name the axes in in_specs, or sum over them with lax.psum.")
    outs = shard_map_p.bind(*values_in(operands), **{**params, "jaxpr": pure.closed, "out_specs": (*params["out_specs"], *specs)})
    write_back(operands, pure.written, outs[count:])
    return outs[:count]
