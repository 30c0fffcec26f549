"""Programs per device, on one device."""

from __future__ import annotations

from laminax_ir.ops.collectives import psum
from laminax_ir.ops.elementwise import mul
from laminax_ir.ops.shard_map import bind_shard_map
from laminax_ir.recording.staging import stage
from laminax_ir.tracing.trace import extend_axis_env
from laminax_ir.types.abstract_meshes import AbstractMesh, AxisType
from laminax_ir.types.avals import get_aval
from laminax_ir.types.partition_specs import P

from .case import Case

MESH = AbstractMesh((1,), ("i",), AxisType.Auto)


def per_device(x, y):
    """The first argument is split, where it has an axis; the second is on all devices."""
    specs = [P("i") if x.shape else P(), P()]
    with extend_axis_env(*MESH.shape_tuple):
        program = stage(lambda a, b: [mul(mul(a, a), psum(mul(a, b), "i"))], [get_aval(x), get_aval(y)])
    return bind_shard_map(program, x, y, mesh=MESH, in_specs=specs, out_specs=specs[:1], manual_axes=("i",))[0]


CASES = {"shard_map": Case(per_device)}
