"""Shardings in the text: what Shardy's documentation says of meshes, dimensions and constraints."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from laminax_ir.ops.collectives import axis_index, psum
from laminax_ir.ops.elementwise import sin
from laminax_ir.ops.shard_map import bind_shard_map
from laminax_ir.ops.sharding import device_put_p, in_memory, layout_constraint_p, sharding_constraint_p
from laminax_ir.recording.staging import stage
from laminax_ir.tracing.trace import extend_axis_env
from laminax_ir.types.abstract_meshes import AbstractMesh, AxisType
from laminax_ir.types.array_layouts import Layout
from laminax_ir.types.avals import ShapedArray
from laminax_ir.types.extended_dtypes import key_dtype
from laminax_ir.types.memory_spaces import MemorySpace
from laminax_ir.types.partition_specs import P
from laminax_lowering import lower


@dataclass(frozen=True)
class Split:
    mesh: AbstractMesh
    spec: P


MESH, OTHER = AbstractMesh((4, 2), ("x", "y"), AxisType.Auto), AbstractMesh((8,), ("all",), AxisType.Auto)
A = ShapedArray((8, 4), np.float32)


def test_arguments_and_results():
    program = stage(lambda x, y, z: [x + y + z, y], [A, A, A])
    text = lower(program, num_partitions=8, arg_shardings=[Split(MESH, P("x")), Split(OTHER, P(None, "all")), None],
                 result_shardings=[Split(AbstractMesh((4, 2), ("x", "y"), AxisType.Auto), P(("y", "x"), None)), None]).text
    assert 'sdy.mesh @mesh = <["x"=4, "y"=2]>\nsdy.mesh @mesh_0 = <["all"=8]>\nfunc.func public @main' in text
    assert '%arg0: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, ' in text
    assert '%arg1: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh_0, [{}, {"all"}]>}, %arg2: tensor<8x4xf32>)' in text
    assert '-> (tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y", "x"}, {}]>}, tensor<8x4xf32>)' in text
    assert "mhlo.num_partitions = 8 : i32" in text


@pytest.mark.parametrize("platform, marks", [("cpu", 0), ("cuda", 2), ("tpu", 2), (("cpu", "cuda"), 2)])
def test_memories(platform, marks):
    """Arguments and results say where they are; values inside are marked where they are moved, but for CPUs."""
    program = stage(lambda x: [in_memory(in_memory(sin(x), MemorySpace.Device), MemorySpace.Host)],
                    [A.update(memory_space=MemorySpace.Host)])
    text = lower(program, platform=platform).text
    assert text.count('{mhlo.memory_kind = "pinned_host"}') == 2
    assert text.count('"annotate_device_placement"') == marks == text.count('_xla_buffer_placement = "pinned_host"') + text.count(
        '_xla_buffer_placement = "device"')
    moved = lower(program, platform=platform, result_memories=[None]).text  # to the device after all
    assert moved.count('{mhlo.memory_kind = "pinned_host"}') == 1 and moved.count("annotate_device_placement") == marks + 1


def test_layouts():
    program = stage(lambda x, y: [layout_constraint_p.bind(x, layout=Layout((1, 0))), y], [A, A])
    text = lower(program, arg_layouts=["{0,1}", "auto"], result_layouts=[None, "{1,0}"]).text
    assert '%arg0: tensor<8x4xf32> {mhlo.layout_mode = "{0,1}"}' in text and '%arg1: tensor<8x4xf32> {mhlo.layout_mode = "auto"}' in text
    assert '"stablehlo.custom_call"(%arg0) <{' in text or '"stablehlo.custom_call"(%arg0) {' in text
    # as the constraint says
    assert '-> (tensor<8x4xf32> {mhlo.layout_mode = "{0,1}"}, tensor<8x4xf32> {mhlo.layout_mode = "{1,0}"})' in text
    # of operand and result, from minor to major
    assert text.count("[dense<[0, 1]> : tensor<2xindex>]") == 2 and '"LayoutConstraint"' in text


@pytest.mark.parametrize("primitive", [sharding_constraint_p, device_put_p])
def test_constraints(primitive):
    program = stage(lambda x: [primitive.bind(x, sharding=Split(MESH, P(P.UNCONSTRAINED, "y")))], [A])
    text = lower(program, num_partitions=8).text
    assert 'sdy.mesh @mesh = <["x"=4, "y"=2]>' in text
    assert '= sdy.sharding_constraint %arg0 <@mesh, [{?}, {"y"}]> : tensor<8x4xf32>' in text


def test_a_program_without_shardings_names_no_mesh():
    assert "sdy" not in lower(stage(lambda x: [x + x], [A])).text


def test_keys_have_an_axis_of_words():
    keys = ShapedArray((8,), key_dtype("threefry2x32"))
    text = lower(stage(lambda k: [k], [keys]), num_partitions=8, arg_shardings=[Split(MESH, P("x"))]).text
    assert '%arg0: tensor<8x2xui32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}' in text


@pytest.mark.parametrize("in_spec, out_spec, expected", [
    (P("x"), P("x"), "tf.aliasing_output = 0 : i32"),
    (P("x"), P("y"), "jax.buffer_donor = true"),
    (P("x"), None, "jax.buffer_donor = true"),
])
def test_donated_buffers_go_to_results_that_are_split_alike(in_spec, out_spec, expected):
    module = lower(stage(lambda x: [x + x], [A]), num_partitions=8, donated=[True], arg_shardings=[Split(MESH, in_spec)],
                   result_shardings=[out_spec and Split(MESH, out_spec)])
    assert f"%arg0: tensor<8x4xf32> {{{expected}, sdy.sharding" in module.text and not module.unusable_donations


def test_what_is_no_mesh_and_spec_is_refused():
    class Tiles:
        num_devices = 8

    program = stage(lambda x: [sharding_constraint_p.bind(x, sharding=Tiles())], [A])
    with pytest.raises(NotImplementedError, match="cannot be written into a program. Use a NamedSharding"):
        lower(program, num_partitions=8)


def test_programs_per_device():
    """Shardy's manual computation; collectives inside name partitions, and take a channel."""
    with extend_axis_env(("x", 4), ("y", 2)):
        part = stage(lambda a: [psum(a, "x"), axis_index("y")], [ShapedArray((2, 2), np.float32)])
    program = stage(lambda a: bind_shard_map(part, a, mesh=MESH, in_specs=[P("x", "y")], out_specs=[P(None, "y"), P()],
                                             manual_axes=("x", "y")), [A])
    text = lower(program, num_partitions=8).text
    assert 'sdy.mesh @mesh = <["x"=4, "y"=2]>' in text
    assert '"sdy.manual_computation"(%arg0) ({' in text and '"sdy.return"(' in text and '"stablehlo.partition_id"() : ()' in text
    assert ('{in_shardings = #sdy.sharding_per_value<[<@mesh, [{"x"}, {"y"}]>]>, out_shardings = #sdy.sharding_per_value<['
            '<@mesh, [{}, {"y"}]>, <@mesh, []>]>, manual_axes = #sdy<manual_axes{"x", "y"}>} : (tensor<8x4xf32>) -> '
            '(tensor<2x4xf32>, tensor<i32>)') in text
    assert ("replica_groups = dense<[[0, 2, 4, 6], [1, 3, 5, 7]]> : tensor<2x4xi64>, "
            "channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids = unit") in text


def test_positions_are_operands_where_the_compiler_splits_too():
    """There it has no partition_id."""
    with extend_axis_env(("x", 4)):
        part = stage(lambda: [axis_index("x")], [])
    program = stage(lambda: bind_shard_map(part, mesh=MESH, in_specs=[], out_specs=[P()], manual_axes=("x",)), [])
    text = lower(program, num_partitions=8).text
    assert '"stablehlo.iota"() {iota_dimension = 0 : i64} : () -> tensor<4xi32>' in text and "partition_id" not in text
    assert 'in_shardings = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>' in text and "(tensor<4xi32>) -> tensor<i32>" in text
