"""Programs per device: types of parts and wholes, what is refused, and evaluation where there is one device."""

import numpy as np
import pytest

from laminax_ir.ops.collectives import axis_index, psum
from laminax_ir.ops.shard_map import bind_shard_map, global_aval, local_aval, shard_map_p, unmentioned_axes
from laminax_ir.programs.check import check_jaxpr
from laminax_ir.programs.dce import dce_jaxpr
from laminax_ir.recording.staging import stage
from laminax_ir.tracing.trace import extend_axis_env
from laminax_ir.types.abstract_meshes import AbstractMesh, AxisType
from laminax_ir.types.avals import ShapedArray
from laminax_ir.types.partition_specs import P

MESH = AbstractMesh((4, 2), ("x", "y"), AxisType.Auto)


@pytest.mark.parametrize("shape, spec, part", [
    ((8, 6), P("x", "y"), (2, 3)), ((8, 6), P(None, "y"), (8, 3)), ((8, 6), P(("x", "y")), (1, 6)), ((), P(), ()), ((0, 4), P("x"), (0, 4)),
])
def test_parts_and_wholes(shape, spec, part):
    whole = ShapedArray(shape, np.float32)
    assert local_aval(whole, spec, MESH).shape == part
    assert global_aval(ShapedArray(part, np.float32, named_shape={"x": 4, "z": 3}), spec, MESH, ("x", "y")) is \
        whole.update(named_shape={"z": 3})


def test_axes_that_a_spec_does_not_mention():
    assert unmentioned_axes(P(None, "y"), ("x", "y")) == ("x",) and unmentioned_axes(P(("x", "y")), ("x", "y")) == ()
    assert unmentioned_axes(P("x"), ("y",)) == ("y",)


@pytest.mark.parametrize("shape, spec, message", [
    ((6, 4), P("x"), r"f32\[6,4\] cannot be split as P\('x',\): axis 0 has size 6, and 'x' 4 devices.*\nPad axis 0 to 8"),
    ((8,), P("x", "y"), r"f32\[8\], which has rank 1, cannot be split as P\('x', 'y'\), which has length 2"),
])
def test_what_does_not_fit(shape, spec, message):
    with pytest.raises(ValueError, match=message):
        local_aval(ShapedArray(shape, np.float32), spec, MESH)


def example(mesh):
    """Sums its first operand over x and adds the second to it."""
    with extend_axis_env(*mesh.shape_tuple):
        part = stage(lambda a, b: [psum(a, "x"), b * 2, axis_index("y") + np.int32(1)],
                     [local_aval(ShapedArray((8, 4), np.float32), P("x"), mesh), ShapedArray((2,), np.float32)])
    specs = {"in_specs": [P("x"), P()], "out_specs": [P(None, "y"), P("x"), P()], "mesh": mesh, "manual_axes": ("x", "y")}
    return lambda a, b: bind_shard_map(part, a, b, **specs)


def test_types_of_the_whole():
    program = stage(example(MESH), [ShapedArray((8, 4), np.float32), ShapedArray((2,), np.float32)])
    assert [aval.str_short() for aval in program.out_avals] == ["f32[2,8]", "f32[8]", "i32[]"]
    check_jaxpr(program)
    part, used = dce_jaxpr(program.jaxpr, [False, True, False])
    (eqn,) = part.eqns
    assert used == [False, True] and eqn.params["in_specs"] == (P(),) and eqn.params["out_specs"] == (P("x"),)
    check_jaxpr(program.replace(jaxpr=part))


def test_one_device_has_everything():
    a, b = np.arange(32, dtype=np.float32).reshape(8, 4), np.ones(2, np.float32)
    total, doubled, index = example(AbstractMesh((1, 1), ("x", "y"), AxisType.Auto))(a, b)
    np.testing.assert_array_equal(total, a)
    assert doubled.tolist() == [2, 2] and index == 1
    with pytest.raises(NotImplementedError, match="Compile it for as many devices"):
        example(MESH)(a, b)


def test_the_primitive_prints():
    program = stage(example(MESH), [ShapedArray((8, 4), np.float32), ShapedArray((2,), np.float32)])
    assert "shard_map[" in str(program) and program.eqns[0].primitive is shard_map_p
