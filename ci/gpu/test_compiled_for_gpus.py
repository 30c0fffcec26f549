"""Without a GPU: every operation lowered for CUDA and ROCm, and compiled for eight H100s where the plugin can."""

from __future__ import annotations

import numpy as np
import pytest
import training_programs
from operation_cases import AXES, CASES, program
from stablehlo_runner import verify_text

import laminax_runtime as runtime
from laminax_lowering import lower

import laminax
from laminax.sharding import Mesh, NamedSharding, SingleDeviceSharding
from laminax.sharding import PartitionSpec as P

H100 = "NVIDIA H100 80GB HBM3"
NOT_LOWERED = {"schur": "not supported on", "hessenberg": "not supported on", "custom_vjp_tangent": "custom_vjp",
               "psum_shared": "cannot be lowered"}
# Programs that say something which holds in no program of eight copies, or name what is not there.
NOT_COMPILED = {"device_put": "over a mesh, in copies", "sharding_constraint": "over a mesh, in copies",
                "shard_map": "over a mesh, in copies",
                "dim_as_value": "a size without a number", "ffi_call": "a function that nobody registered",
                "scaled_dot": "a call of cuDNN, without whose library the compiler ends the process"}
# Sums whose terms stay where they are, over the mesh of four devices that the programs bring.
OVER_A_MESH = {"all_gather_reduced", "preduced", "reduced_vary_cast", "unreduced_psum", "unreduced_reduce_scatter", "vary_unreduced_cast"}


def lowered(name, platform):
    return lower(program(CASES[name], name), platform=platform, axis_env=dict(AXES), num_replicas=8)


@pytest.mark.parametrize("platform", ["cuda", "rocm"])
@pytest.mark.parametrize("name", sorted(CASES))
def test_an_operation_is_lowered(name, platform):
    if name in NOT_LOWERED:
        with pytest.raises((NotImplementedError, TypeError), match=NOT_LOWERED[name]):
            lowered(name, platform)
    else:
        verify_text(lowered(name, platform).text)


@pytest.mark.parametrize("name", sorted(OVER_A_MESH))
def test_an_operation_over_a_mesh_of_its_own_compiles_for_h100s(name, devices):
    module = lower(program(CASES[name], name), platform="cuda", num_partitions=4)
    compiled = runtime.compile_module(module.text, module.convention, name=name, devices=devices("cuda", H100)[:4])
    assert compiled.as_text().startswith("HloModule")


@pytest.mark.parametrize("name", sorted(set(CASES) - set(NOT_LOWERED) - set(NOT_COMPILED) - OVER_A_MESH))
def test_an_operation_compiles_for_an_h100(name, devices):
    module = lowered(name, "cuda")
    compiled = runtime.compile_module(module.text, module.convention, name=name, devices=devices("cuda", H100), num_replicas=8)
    assert compiled.as_text().startswith("HloModule")


@pytest.mark.parametrize("name", ["gru8", "mixer12"])
def test_a_training_program_compiles_for_an_h100(name, devices):
    training = training_programs.PROGRAMS[name]
    sharding = SingleDeviceSharding(devices("cuda", H100)[0])
    arguments = laminax.tree.map(lambda x: laminax.ShapeDtypeStruct(np.shape(x), laminax.dtypes.canonicalize_dtype(np.asarray(x).dtype),
                                                                    sharding=sharding), training.arguments())
    memory = training.step(laminax).lower(*arguments).compile().memory_analysis()
    assert memory.argument_size_in_bytes >= sum(x.size * x.dtype.itemsize for x in laminax.tree.leaves(arguments))


def test_a_program_is_split_over_gpus(devices):
    mesh = Mesh(np.array(devices("cuda", H100)).reshape(4, 2), ("x", "y"))
    x = laminax.ShapeDtypeStruct((64, 64), np.float32, sharding=NamedSharding(mesh, P("x", "y")))
    compiled = laminax.jit(lambda x: (x @ x.T).sum()).lower(x).compile()
    assert "all-reduce" in compiled.as_text() and compiled.cost_analysis()["flops"] > 0
    with pytest.raises(RuntimeError, match="not attached to this process"):
        compiled(np.zeros((64, 64), np.float32))
