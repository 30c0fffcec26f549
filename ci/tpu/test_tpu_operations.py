"""Every operation of the IR, in the programs of the lowering's tests, compiled for eight TPUs."""

from __future__ import annotations

import numpy as np
import pytest
from operation_cases import AXES, CASES, program

import laminax_runtime as runtime
from laminax_lowering import lower

import laminax
from laminax.sharding import Mesh, NamedSharding
from laminax.sharding import PartitionSpec as P

# What is lowered for no TPU, and says so.
NOT_LOWERED = {"buffer_callback": "not supported on tpu", "eig": "not supported on tpu", "hessenberg": "not supported on tpu",
               "schur": "not supported on tpu", "tridiagonal": "not supported on tpu", "custom_vjp_tangent": "custom_vjp",
               "psum_shared": "cannot be lowered"}
# Programs that say something which holds in no program of eight copies, or names what is not there; most are compiled below in another way.
NOT_COMPILED = {"device_put": "over a mesh, in copies", "sharding_constraint": "over a mesh, in copies",
                "shard_map": "over a mesh, in copies",
                "dim_as_value": "a size without a number", "ffi_call": "a function that nobody registered",
                "select_and_scatter": "windows in the minor axes", "select_and_scatter_add": "windows in the minor axes"}

# Sums whose terms stay where they are, over the mesh of four devices that the programs bring.
OVER_A_MESH = {"all_gather_reduced", "preduced", "reduced_vary_cast", "unreduced_psum", "unreduced_reduce_scatter", "vary_unreduced_cast"}


@pytest.mark.parametrize("name", sorted(OVER_A_MESH))
def test_an_operation_over_a_mesh_of_its_own_compiles(name, devices):
    module = lower(program(CASES[name], name), platform="tpu", num_partitions=4)
    compiled = runtime.compile_module(module.text, module.convention, name=name, devices=devices("v5e:2x2"))
    assert compiled.as_text().startswith("HloModule") and compiled.memory_analysis().generated_code_size_in_bytes > 0


@pytest.mark.parametrize("name", sorted(set(CASES) - set(NOT_COMPILED) - OVER_A_MESH))
def test_an_operation_compiles(name, devices):
    if name in NOT_LOWERED:
        with pytest.raises((NotImplementedError, TypeError), match=NOT_LOWERED[name]):
            lower(program(CASES[name], name), platform="tpu", axis_env=dict(AXES), num_replicas=8)
        return
    module = lower(program(CASES[name], name), platform="tpu", axis_env=dict(AXES), num_replicas=8)
    compiled = runtime.compile_module(module.text, module.convention, name=name, devices=devices("v5e:2x4"), num_replicas=8)
    assert compiled.as_text().startswith("HloModule") and compiled.memory_analysis().generated_code_size_in_bytes > 0


def compiled_over_a_mesh(fun, devices):
    mesh = Mesh(np.array(devices).reshape(4, 2), ("x", "y"))
    return laminax.jit(fun(mesh)).lower(laminax.ShapeDtypeStruct((8, 128), np.float32, sharding=NamedSharding(mesh, P("x")))).compile()


@pytest.mark.parametrize("fun", [
    lambda mesh: lambda x: laminax.device_put(x + 1, NamedSharding(mesh, P("y"))),
    lambda mesh: lambda x: laminax.lax.with_sharding_constraint(x + 1, NamedSharding(mesh, P(None, "x"))),
    lambda mesh: laminax.shard_map(lambda x: laminax.lax.psum(x, "x"), mesh=mesh, in_specs=P("x"), out_specs=P()),
], ids=["device_put", "sharding_constraint", "shard_map"])
def test_an_operation_on_a_mesh_compiles(fun, devices):
    assert compiled_over_a_mesh(fun, devices("v5e:2x4")).cost_analysis()["bytes accessed"] > 0


def test_windows_scatter_where_minor_axes_are_whole(devices):
    """Max pooling of images with channels last, whose gradient is select_and_scatter_add."""
    struct = laminax.ShapeDtypeStruct((8, 16, 16, 128), np.float32, sharding=runtime.SingleDeviceSharding(devices("v5e:2x4")[0]))
    pool = laminax.grad(lambda x: laminax.lax.reduce_window(x, -np.inf, laminax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID").sum())
    assert "select-and-scatter" in laminax.jit(pool).lower(struct).as_text("hlo")
    laminax.jit(pool).lower(struct).compile()


def test_sizes_get_their_numbers(devices):
    struct = laminax.ShapeDtypeStruct((8, 128), np.float32, sharding=runtime.SingleDeviceSharding(devices("v5e:2x4")[0]))
    mean = laminax.jit(lambda x: x.sum() / x.shape[0], abstracted_axes={0: "n"})
    assert mean.lower(struct).compile().output_shardings is not None
