"""Arguments and results of programs in the host's memory; for the CPU's devices the kinds of memory are names."""

import numpy as np
import pytest
from meshes import DEVICES, check_layout, on_mesh, put, value

import laminax
import laminax.numpy as jnp
from laminax.sharding import SingleDeviceSharding

A = value(8, 4)


@pytest.mark.parametrize("kind", ["pinned_host", "unpinned_host"])
def test_programs_take_and_leave_values_in_other_memory(kind):
    there = on_mesh("x", "y").with_memory_kind(kind)
    x = laminax.device_put(A, there)
    double = laminax.jit(lambda x: x * 2)
    leave = laminax.jit(lambda x: x * 2, out_shardings=there)
    assert f'mhlo.memory_kind = "{kind}"' in double.lower(x).as_text() and "memory_kind" not in double.lower(put(A, "x")).as_text()
    assert f'_xla_buffer_placement = "{kind}"' in leave.lower(x).as_text()
    for _ in range(2):  # the second time in C++
        for argument in (x, put(A, "x", "y")):
            found = double(argument)
            check_layout(found, 2 * A, ("x", "y"))
            assert found.sharding == on_mesh("x", "y") and found.sharding.memory_kind == "device"
            found = leave(argument)
            check_layout(found, 2 * A, ("x", "y"))
            assert found.sharding == there and {shard.data.sharding.memory_kind for shard in found.addressable_shards} == {kind}
    check_layout(laminax.jit(lambda x: laminax.device_put(x, on_mesh("x", "y")) * 2)(x), 2 * A, ("x", "y"))
    compiled = leave.lower(x).compile()
    assert compiled.output_shardings == there and compiled.runtime_executable().get_output_memory_kinds() == [[kind]]
    assert (x + 1).sharding.memory_kind == "device"


def test_one_device():
    there = SingleDeviceSharding(DEVICES[1], memory_kind="pinned_host")
    found = laminax.jit(lambda x: x * 2, out_shardings=there)(A)
    assert found.sharding == there and np.array_equal(found, 2 * A)
    back = laminax.jit(lambda x: x * 2)(found)
    assert back.sharding == there.with_memory_kind("device") and np.array_equal(back, 4 * A)


def test_memory_inside_of_programs_is_refused():
    there = on_mesh("x").with_memory_kind("pinned_host")
    with pytest.raises(NotImplementedError, match="the memory kind 'pinned_host' is not supported inside of programs.*out_shardings"):
        laminax.jit(lambda x: jnp.sin(laminax.device_put(x * 2, there)))(put(A, "x"))
