"""Open sums of a program per device, on one device, whose terms are the sums."""

from __future__ import annotations

from laminax_ir.ops.collectives import all_gather, pcast, psum, psum_scatter
from laminax_ir.ops.elementwise import mul, square
from laminax_ir.ops.shape import expand_dims
from laminax_ir.ops.shard_map import bind_shard_map
from laminax_ir.recording.staging import stage
from laminax_ir.tracing.manual_axes import running_along
from laminax_ir.types.abstract_meshes import AbstractMesh, AxisType
from laminax_ir.types.avals import get_aval
from laminax_ir.types.partition_specs import P

from .case import Case

MESH = AbstractMesh((1,), ("i",), axis_types=AxisType.Explicit)


def per_device(fun):
    """`fun` of what the one device has, along a checked axis; its result is the same on all devices."""
    def program(x, y):
        with running_along(MESH.shape_tuple, True, MESH):
            closed = stage(lambda a, b: [square(fun(mul(a, b)))], [get_aval(x), get_aval(y)])
        return bind_shard_map(closed, x, y, mesh=MESH, in_specs=[P(), P()], out_specs=[P()], manual_axes=("i",), check_vma=True)[0]
    return program


def opened(x):
    return pcast(pcast(x, "i", to="varying"), "i", to="unreduced")


def closed_again(x):
    return psum(pcast(x, "i", to="unreduced"), "i")


CASES = {
    "unreduced_psum": Case(per_device(lambda x: psum(opened(x), "i"))),
    "preduced": Case(per_device(lambda x: closed_again(pcast(square(pcast(x, "i", to="reduced")), "i", to="varying")))),
    "all_gather_reduced": Case(per_device(lambda x: closed_again(pcast(square(
        all_gather(pcast(x, "i", to="varying"), "i", to="reduced")), "i", to="varying")))),
    "unreduced_reduce_scatter": Case(per_device(lambda x: closed_again(square(psum_scatter(opened(expand_dims(x, (0,))), "i"))))),
}
