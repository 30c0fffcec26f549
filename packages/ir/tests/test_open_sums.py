"""Types of values along the axes of a program per device: varying, unreduced, reduced, or the same on all devices."""

import numpy as np
import pytest

from laminax_ir.ops import collectives as op
from laminax_ir.ops import elementwise as el
from laminax_ir.ops import open_sums as sums
from laminax_ir.ops.contraction import dot_general
from laminax_ir.ops.indexing import GatherDimensionNumbers, gather
from laminax_ir.ops.reduction import reduce_max, reduce_sum
from laminax_ir.ops.shape import full_like, reshape, transpose
from laminax_ir.ops.sharding import reshard
from laminax_ir.programs.check import check_jaxpr
from laminax_ir.recording.staging import stage
from laminax_ir.tracing.manual_axes import manual_mesh, running_along
from laminax_ir.types.abstract_meshes import AbstractMesh, AxisType
from laminax_ir.types.avals import ShapedArray
from laminax_ir.types.errors import ShardingTypeError
from laminax_ir.types.manual_axis_types import ManualAxisType
from laminax_ir.types.shape_dtype_structs import ShapeDtypeStruct

MESH = AbstractMesh((4, 2), ("x", "y"), axis_types=AxisType.Explicit)
SAME = ShapedArray((8, 4), np.float32)
VARYING = ShapedArray((8, 4), np.float32, named_shape={"x": 4})


@pytest.fixture(autouse=True)
def _per_device():
    with running_along(MESH.shape_tuple, True, MESH):
        yield


def reduced(x, names="x"):
    return op.pcast(x, names, to="reduced")


def unreduced(x, names="x"):
    return op.pcast(x, names, to="unreduced")


def result_types(fun, *avals):
    program = stage(lambda *args: [fun(*args)], avals)
    check_jaxpr(program)
    return [aval.str_short() for aval in program.out_avals]


@pytest.mark.parametrize("fun, aval, expected", [
    (unreduced, VARYING, "f32[8,4]{U:x}"), (reduced, SAME, "f32[8,4]{R:x}"),
    (lambda x: reduced(x, "y"), VARYING, "f32[8,4]{V:x, R:y}"),
    (lambda x: op.pcast(reduced(x, ("x", "y")), "y", to="varying"), SAME, "f32[8,4]{V:y, R:x}"),
    (lambda x: op.psum(unreduced(x), "x"), VARYING, "f32[8,4]"),
    (lambda x: op.psum_scatter(unreduced(x), "x", tiled=True), VARYING, "f32[2,4]{V:x}"),
    (lambda x: op.psum_scatter(unreduced(reshape(x, (2, 4, 4))), "x", scatter_dimension=1), VARYING, "f32[2,4]{V:x}"),
    (lambda x: op.all_gather(x, "x", tiled=True, to="reduced"), VARYING, "f32[32,4]{R:x}"),
    (lambda x: op.all_gather(x, "x", axis=2, to="reduced"), VARYING, "f32[8,4,4]{R:x}"),
    (lambda x: op.psum(reduced(x, "y"), "x"), VARYING, "f32[8,4]{R:y}"),
    (lambda x: el.neg(unreduced(x)), VARYING, "f32[8,4]{U:x}"),
    (lambda x: transpose(unreduced(x), (1, 0)), VARYING, "f32[4,8]{U:x}"),
    (lambda x: reduce_sum(unreduced(x), (0,)), VARYING, "f32[4]{U:x}"),
    (lambda x: reduce_max(reduced(x), (0,)), SAME, "f32[4]{R:x}"),
    (lambda x: el.sin(reduced(x)), SAME, "f32[8,4]{R:x}"),
    (lambda x: el.mul(reduced(x), op.pcast(x, "x", to="varying")), SAME, "f32[8,4]{V:x}"),
    (lambda x: el.mul(unreduced(op.pcast(x, "x", to="varying")), reduced(x)), SAME, "f32[8,4]{U:x}"),
    (lambda x: el.add(reduced(x), 2.0), SAME, "f32[8,4]{R:x}"),
    (lambda x: dot_general(reduced(x), op.pcast(x, "x", to="varying"), (((0,), (0,)), ((), ()))), SAME, "f32[4,4]{V:x}"),
    (lambda x: full_like(reduced(x), 1), SAME, "f32[8,4]{R:x}"),
    (lambda x: gather(reduced(x), np.zeros((3, 1), np.int32), GatherDimensionNumbers((1,), (0,), (0,)), (1, 4)), SAME, "f32[3,4]{R:x}")])
def test_types(fun, aval, expected):
    assert result_types(fun, aval) == [expected]


def test_what_a_type_says_of_devices():
    seen = []
    stage(lambda x: [seen.append(reduced(unreduced(x), "y")) or x], [VARYING])
    (x,) = seen
    assert x.mat == ManualAxisType(unreduced={"x"}, reduced={"y"}) and x.aval.vma == frozenset()
    assert ShapeDtypeStruct.like(x).manual_axis_type == x.mat
    assert not x.aval.sharding.spec.unreduced, "over explicit axes the value is whole"
    assert x.aval.to_ct_aval().mat == ManualAxisType(unreduced={"y"}, reduced={"x"})
    assert x.aval.update(named_shape={}).mat == x.mat and reshard(x, x.aval._split) is x


CAST_ERRORS = {
    "preduced": sums.preduced, "vary_unreduced_cast": sums.vary_unreduced_cast, "reduced_vary_cast": sums.reduced_vary_cast,
    "unreduced_psum": sums.unreduced_psum,
    "unreduced_psum_scatter": lambda x, names: sums.unreduced_psum_scatter(x, names, 0, 4, True),
    "all_gather_reduced": lambda x, names: sums.all_gather_reduced(x, names, 0, 4, True),
}


@pytest.mark.parametrize("name", CAST_ERRORS)
def test_casts_refuse_values_in_another_state(name):
    wrong = VARYING if name in ("preduced", "reduced_vary_cast", "unreduced_psum", "unreduced_psum_scatter") else SAME
    with pytest.raises(ValueError, match=f"{name} only accepts inputs that are .* Got f32.8,4"):
        stage(lambda x: [CAST_ERRORS[name](x, ("x",))], [wrong])
    with pytest.raises(NameError, match="unbound axis name: z"):
        stage(lambda x: [CAST_ERRORS[name](x, ("z",))], [wrong])
    with running_along([("w", 4)], False):  # where types say nothing of it
        (aval,) = stage(lambda x: [CAST_ERRORS[name](x, ("w",))], [SAME]).out_avals
    assert aval.mat == SAME.mat


@pytest.mark.parametrize("fun, error, message", [
    (lambda u, v: el.add(u, v), ShardingTypeError, "lhs is unreduced while rhs is not"),
    (lambda u, v: el.mul(u, v), ShardingTypeError, "RHS should be reduced along the same axes LHS is unreduced on"),
    (lambda u, v: el.exp(u), NotImplementedError, "unreduced rule for exp"),
    (lambda u, v: reduce_max(u, (0,)), NotImplementedError, "unreduced rule for reduce_max"),
    (lambda u, v: op.pmax(u, "x"), ValueError, "pmax cannot accept args which are unreduced"),
    (lambda u, v: op.pmax(u, "y"), NotImplementedError, "unreduced rule for pmax"),
    (lambda u, v: op.psum_scatter(u, "x"), ValueError, "must match shard count 4"),
    (lambda u, v: op.pcast(v, "x", to="reduced"), ValueError, "Unsupported pcast from=varying, to='reduced'")])
def test_what_cannot_be_done_to_terms_is_refused(fun, error, message):
    with pytest.raises(error, match=message):
        stage(lambda v: [fun(unreduced(v), v)], [VARYING])


@pytest.mark.parametrize("start", ["varying", "unreduced", "reduced", "invarying"])
@pytest.mark.parametrize("end", ["varying", "unreduced", "reduced", "invarying"])
def test_casts_between_all_states(start, end):
    makes = {"varying": lambda x: op.pcast(x, "x", to="varying"), "unreduced": lambda x: unreduced(op.pcast(x, "x", to="varying")),
             "reduced": reduced, "invarying": lambda x: x}
    expected = {"varying": "f32[8,4]{V:x}", "unreduced": "f32[8,4]{U:x}", "reduced": "f32[8,4]{R:x}", "invarying": "f32[8,4]"}
    assert result_types(lambda x: sums.cast_to(makes[start](x), ("x",), end), SAME) == [expected[end]]


def test_outside_of_programs_per_device_there_are_no_such_values():
    with manual_mesh(None), pytest.raises(ValueError, match="f32.8,4. cannot be reduced over .'x'. here: no shard_map is being traced"):
        sums.in_state(SAME, ("x",), "reduced")
