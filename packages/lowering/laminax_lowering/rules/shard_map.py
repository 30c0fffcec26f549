"""Programs per device: Shardy's manual computation, inside of which collectives are between partitions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from laminax_ir.ops.shard_map import shard_map_p
from laminax_lowering.registry import lowering_rule
from laminax_lowering.shardings import sharding_on_mesh
from laminax_lowering.types import string_text


@lowering_rule(shard_map_p)
def _lower_shard_map(ctx, *operands, jaxpr, mesh, in_specs, out_specs, manual_axes, check_vma):
    """An abstract mesh stands for that of the program around this one."""
    module = ctx.module
    mesh = mesh if module.manual_mesh is None else module.manual_mesh
    with _inside(module, mesh, manual_axes):
        body = ctx.region([v.aval for v in jaxpr.jaxpr.invars], lambda *args: ctx.run(jaxpr, args), terminator="sdy.return",
                          isolated=True)
    result = ctx.emit("sdy.manual_computation", operands, regions=[body], attributes={
        "in_shardings": _per_value(module, mesh, in_specs, [x.aval for x in operands]),
        "out_shardings": _per_value(module, mesh, out_specs, ctx.avals_out),
        "manual_axes": f"#sdy<manual_axes{{{', '.join(string_text(str(name)) for name in manual_axes)}}}>"})
    return [result] if len(ctx.avals_out) == 1 else result


@contextmanager
def _inside(module: Any, mesh: Any, manual_axes: tuple) -> Iterator[None]:
    """While it lasts, named axes are those of the mesh. Functions called there are written for there."""
    outer = module.manual_mesh, module.manual_axes, module.axis_env, module._private
    module.manual_mesh, module.manual_axes = mesh, module.manual_axes | set(manual_axes)
    module.axis_env, module._private = dict(mesh.shape), {}
    try:
        yield
    finally:
        module.manual_mesh, module.manual_axes, module.axis_env, module._private = outer


def _per_value(module: Any, mesh: Any, specs, avals) -> str:
    listed = ", ".join(sharding_on_mesh(module.meshes, mesh, spec, aval) for spec, aval in zip(specs, avals))
    return f"#sdy.sharding_per_value<[{listed}]>"
