"""Programs on values in the host's memory; for the CPU's devices the kinds of memory are names."""

import pickle

import numpy as np
import pytest
from meshes import DEVICES, check_layout, on_mesh, put, value

import laminax
import laminax.export
import laminax.numpy as jnp
from laminax.memory import Space
from laminax.sharding import AxisType, NamedSharding, PartitionSpec, SingleDeviceSharding

A = value(8, 4)


HOST = "pinned_host"


def in_host(x, *spec):
    return laminax.device_put(x, on_mesh(*spec).with_memory_kind(HOST))


@pytest.mark.parametrize("kind", [HOST, "unpinned_host"])
def test_programs_take_and_leave_values_in_other_memory(kind):
    there = on_mesh("x", "y").with_memory_kind(kind)
    stays = kind == HOST  # types know of it: what is computed of such values is there, too
    x = laminax.device_put(A, there)
    double = laminax.jit(lambda x: x * 2)
    leave = laminax.jit(lambda x: x * 2, out_shardings=there)
    assert f'mhlo.memory_kind = "{kind}"' in double.lower(x).as_text() and "memory_kind" not in double.lower(put(A, "x")).as_text()
    assert f'_xla_buffer_placement = "{kind}"' in leave.lower(put(A, "x")).as_text()
    for _ in range(2):  # the second time in C++
        for argument in (x, put(A, "x", "y")):
            found = double(argument)
            check_layout(found, 2 * A, ("x", "y"))
            assert found.sharding == (there if stays and argument is x else on_mesh("x", "y"))
            found = leave(argument)
            check_layout(found, 2 * A, ("x", "y"))
            assert found.sharding == there and {shard.data.sharding.memory_kind for shard in found.addressable_shards} == {kind}
    found = laminax.jit(lambda x: laminax.device_put(x, on_mesh("x", "y")) * 2)(x)
    check_layout(found, 2 * A, ("x", "y"))
    assert found.sharding.memory_kind == "device"
    compiled = leave.lower(x).compile()
    assert compiled.output_shardings == there and compiled.runtime_executable().get_output_memory_kinds() == [[kind]]
    assert (x + 1).sharding.memory_kind == (kind if stays else "device")


def test_types_say_where_values_are():
    x = in_host(A, "x")
    assert x.aval.memory_space is Space.Host and str(x.aval) == "float32<host>[8,4]" and put(A, "x").aval.memory_space is Space.Device
    assert x.aval.update(shape=(3,)).memory_space is Space.Host and x.aval.update(memory_space=Space.Device) is put(A, "x").aval
    assert pickle.loads(pickle.dumps(x.aval)) is x.aval and x.aval.strip_weak_type() is x.aval
    jaxpr = laminax.make_jaxpr(lambda x: laminax.device_put(jnp.sin(x) * 2, Space.Device).sum())(x)
    assert [str(v.aval) for eqn in jaxpr.eqns for v in eqn.outvars] == [
        "float32<host>[8,4]", "float32<host>[8,4]", "float32[8,4]", "float32[]"]
    assert laminax.typeof(laminax.jit(lambda x: laminax.device_put(x, Space.Host))(put(A, "x"))) is x.aval


@pytest.mark.parametrize("target", [Space.Host, SingleDeviceSharding(DEVICES[0], memory_kind=HOST)])
def test_values_are_moved_inside_of_programs(target):
    there = SingleDeviceSharding(DEVICES[0], memory_kind=HOST)
    move = laminax.jit(lambda x: laminax.device_put(x * 2, target))
    back = laminax.jit(lambda x: laminax.device_put(laminax.device_put(x * 2, target), Space.Device) + 1)
    for _ in range(2):
        found = move(A)
        assert found.sharding == there and np.array_equal(found, 2 * A)
        found = back(A)
        assert found.sharding.memory_kind == "device" and np.array_equal(found, 2 * A + 1)


def test_values_are_moved_inside_of_loops():
    def step(total, x):
        return total + laminax.device_put(x, Space.Device).sum(), laminax.device_put(x * 3, Space.Host)

    total, tripled = laminax.jit(lambda xs: laminax.lax.scan(step, 0.0, xs))(in_host(A))
    np.testing.assert_allclose(total, A.sum(), rtol=1e-6)  # another order of summation
    assert np.array_equal(tripled, 3 * A) and tripled.sharding.memory_kind == HOST and total.sharding.memory_kind == "device"
    assert laminax.jit(lambda x: laminax.lax.fori_loop(0, 3, lambda _, c: c * 2, x))(in_host(A)).sharding.memory_kind == HOST


def test_closed_over_values_keep_their_memory():
    x = in_host(A, "x")
    found = laminax.jit(lambda: laminax.device_put(x, on_mesh("x")) * 2)()
    assert found.sharding == on_mesh("x") and np.array_equal(found, 2 * A)
    assert str(laminax.make_jaxpr(lambda s: x * s)(2.0).out_avals[0]) == "float32<host>[8,4]"
    inner = laminax.make_jaxpr(lambda y: laminax.lax.scan(lambda c, _: (c + 1, laminax.device_put(y, Space.Host) * c), 0.0, length=2))(A)
    assert [aval.memory_space for aval in inner.out_avals] == [Space.Device, Space.Host]


def test_gradients_go_back_to_where_values_are():
    there = laminax.grad(lambda x: (laminax.device_put(x, Space.Device) ** 3).sum())
    for grad in (there, laminax.jit(there)):
        found = grad(in_host(A, "x"))
        np.testing.assert_allclose(found, 3 * A ** 2, rtol=1e-6)  # a power, rounded once more
        assert found.sharding.memory_kind == HOST
    by_way = laminax.grad(lambda x: (laminax.device_put(laminax.device_put(x, Space.Host) * x_host, Space.Device) ** 2).sum())
    x_host = in_host(A)
    for grad in (by_way, laminax.jit(by_way)):
        found = grad(put(A))
        np.testing.assert_allclose(found, 2 * A ** 3, rtol=1e-6)
        assert found.sharding.memory_kind == "device"
    mapped = laminax.vmap(lambda x: laminax.device_put(x * 2, Space.Host))(put(A, "x"))
    assert mapped.sharding.memory_kind == HOST and np.array_equal(mapped, 2 * A)


def test_over_explicit_mesh_axes_types_say_both():
    mesh = laminax.make_mesh((4, 2), ("x", "y"), axis_types=(AxisType.Explicit,) * 2)
    here = NamedSharding(mesh, PartitionSpec("x", None))
    there = here.with_memory_kind(HOST)
    x, y = laminax.device_put(A, there), laminax.device_put(A, here)
    assert str(x.aval) == "float32<host>[8@x,4]" and str(y.aval) == "float32[8@x,4]"
    assert (x * 2).sharding == laminax.jit(lambda x: x * 2)(x).sharding == there
    moved = laminax.jit(lambda x: laminax.device_put(x * 2, Space.Host))(y)
    assert moved.sharding == there and moved.aval is x.aval and np.array_equal(moved, 2 * A)
    found = laminax.jit(laminax.grad(lambda x: (laminax.device_put(x, Space.Device) ** 2).sum()))(x)
    assert found.sharding == there and np.array_equal(found, 2 * A)


def test_exported_functions_keep_memories():
    x, f = in_host(A, "x"), laminax.jit(lambda x: (x * 2, laminax.device_put(x, Space.Device) + 1))
    exported = laminax.export.deserialize(laminax.export.export(f)(x).serialize())
    assert [str(aval) for aval in (*exported.in_avals, *exported.out_avals)] == ["float32<host>[8,4]", "float32<host>[8,4]", "float32[8,4]"]
    there, here = laminax.jit(lambda x: exported.call(x))(x)
    assert there.sharding.memory_kind == HOST and here.sharding.memory_kind == "device"
    assert np.array_equal(there, 2 * A) and np.array_equal(here, A + 1)


def test_donated_arrays_are_reused_in_their_memory_only():
    there = on_mesh("x").with_memory_kind(HOST)
    x = put(A, "x")
    with pytest.warns(UserWarning, match="Some donated buffers were not usable"):
        laminax.jit(lambda x: x * 2, out_shardings=there, donate_argnums=0)(x)
    x = in_host(A, "x")
    laminax.jit(lambda x: x * 2, donate_argnums=0)(x)
    assert x.is_deleted()


@pytest.mark.parametrize("compute", [lambda x, y: x + y, lambda x, y: x @ y.T, lambda x, y: jnp.concatenate([y, x]), jnp.arctan2])
def test_operands_in_several_kinds_of_memory_are_refused(compute):
    for function in (compute, laminax.jit(compute)):
        with pytest.raises(ValueError, match=r"memory_space of all inputs passed to `\w+` must be the same. .*float32<host>.*device_put"):
            function(in_host(A, "x"), put(A, "x"))


def test_wrong_memory():
    x = put(A, "x")
    f = laminax.jit(lambda x: x, in_shardings=on_mesh("x").with_memory_kind(HOST))
    with pytest.raises(ValueError, match="Memory kinds passed to jax.jit does not match memory kind on the respective arg. Got jit memory "
                                         "kind: pinned_host, arg memory kind: device for arg type: float32.8,4., argument x"):
        f(x)
    with pytest.raises(TypeError, match="(?s)cond branches must have equal output types.*float32<host>.8,4."):
        laminax.jit(lambda x: laminax.lax.cond(x[0, 0] > 0, lambda: x, lambda: laminax.device_put(x, Space.Host)))(x)
    for move in (laminax.device_put, laminax.jit(laminax.device_put, static_argnums=1)):
        with pytest.raises(ValueError, match="device_put: memory.Space.Any names no memory"):
            move(x, Space.Any)
    with pytest.raises(TypeError, match="memory_space must be a MemorySpace, got 'host'"):
        x.aval.update(memory_space="host")


def test_one_device():
    there = SingleDeviceSharding(DEVICES[1], memory_kind="pinned_host")
    found = laminax.jit(lambda x: x * 2, out_shardings=there)(A)
    assert found.sharding == there and np.array_equal(found, 2 * A)
    again = laminax.jit(lambda x: x * 2)(found)
    assert again.sharding == there and np.array_equal(again, 4 * A)


def test_unpinned_memory_inside_of_programs_is_refused():
    there = on_mesh("x").with_memory_kind("unpinned_host")
    with pytest.raises(NotImplementedError, match="the memory kind 'unpinned_host' is not supported inside of programs.*out_shardings"):
        laminax.jit(lambda x: jnp.sin(laminax.device_put(x * 2, there)))(put(A, "x"))


def test_checkpoint_keeps_values_in_the_hosts_memory():
    policy = laminax.checkpoint_policies.offload_dot_with_no_batch_dims("device", HOST)

    def f(x):
        for _ in range(2):
            x = jnp.sin(x @ x.T)
        return x.sum()

    x = put(A, "x")
    offloaded = laminax.checkpoint(f, policy=policy)
    kept = [aval.str_short() for aval, where in laminax.ad_checkpoint.saved_residuals(offloaded, x) if "argument" not in where]
    assert kept == ["f32<host>[8,8]"] * 2
    for grad in (laminax.grad(offloaded), laminax.jit(laminax.grad(offloaded))):
        found = grad(x)
        np.testing.assert_allclose(found, laminax.jit(laminax.grad(f))(x), rtol=1e-4, atol=1e-4)  # sums of eight products
        assert found.sharding.memory_kind == "device"
