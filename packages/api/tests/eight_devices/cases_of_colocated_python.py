"""Python on the hosts of devices: what it means in one process. Oracle: the function itself, called directly."""

from __future__ import annotations

import threading
from typing import ClassVar

import numpy as np
import pytest

import laminax
import laminax.numpy as jnp
from laminax import random
from laminax.experimental.colocated_python import colocated_cpu_devices, colocated_python, colocated_python_class
from laminax.sharding import Mesh, NamedSharding, SingleDeviceSharding
from laminax.sharding import PartitionSpec as P

DEVICES = colocated_cpu_devices(laminax.devices())


def test_cpu_devices_are_beside_themselves():
    assert DEVICES == laminax.devices() and colocated_cpu_devices(DEVICES[3:1:-1]) == [DEVICES[3], DEVICES[2]]
    mesh = laminax.make_mesh((2, 4), ("x", "y"), axis_types=(laminax.sharding.AxisType.Explicit, laminax.sharding.AxisType.Auto))
    assert colocated_cpu_devices(mesh) == mesh and colocated_cpu_devices(mesh).axis_types == mesh.axis_types


def test_a_function_of_trees_runs_in_python():
    seen = []

    @colocated_python
    def f(tree, *, scale):
        seen.append(threading.get_ident())
        return {name: x * scale.item() for name, x in tree.items()}

    tree = laminax.device_put({"a": np.arange(3), "k": np.ones((2, 2))}, DEVICES[2])
    scale = laminax.device_put(np.int32(3), DEVICES[2])
    for argument in (tree, {"b": tree["a"]}):
        result = f(argument, scale=scale)
        laminax.tree.map(lambda x, y: np.testing.assert_array_equal(x, 3 * np.asarray(y)), result, argument)
        assert all(x.devices() == {DEVICES[2]} for x in result.values())
    assert f.__name__ == "f" and seen == [threading.get_ident()] * 2


def test_parts_on_several_devices():
    sharding, other = (NamedSharding(Mesh(np.array(order), "x"), P("x")) for order in (DEVICES[:2], DEVICES[1::-1]))

    @colocated_python
    def swapped(x, y):
        parts = [x.addressable_shards[1 - i].data + y.addressable_shards[i].data for i in range(2)]
        return laminax.make_array_from_single_device_arrays(y.shape, y.sharding, parts)

    x, y = laminax.device_put(np.array([0, 2]), sharding), laminax.device_put(np.array([4, 8]), other)
    with pytest.raises(ValueError, match=r"same device list.*specialize\(devices=\.\.\.\)"):
        swapped(x, y)
    result = swapped.specialize(devices=DEVICES[:2])(x, y)
    assert result.tolist() == [6, 8] and result.sharding == other


def test_random_keys():
    key = laminax.device_put(random.key(7), DEVICES[1])
    assert (random.key_data(colocated_python(random.split)(key)) == random.key_data(random.split(random.key(7)))).all()
    made = colocated_python(lambda: random.key(3)).specialize(devices=DEVICES[:1])()
    assert (random.key_data(made) == random.key_data(random.key(3))).all()


def test_calls_in_threads_run_beside_one_another():
    barrier = threading.Barrier(3)

    @colocated_python
    def meet(x):
        barrier.wait(timeout=30)
        return x
    results = []
    threads = [threading.Thread(target=lambda: results.append(meet(jnp.ones(2)))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 3


def test_what_was_announced_is_held():
    spec = laminax.ShapeDtypeStruct((2,), jnp.float32, sharding=SingleDeviceSharding(DEVICES[0]))
    f = colocated_python(lambda x: {"sum": x.sum()}).specialize(in_specs=((spec,), {}))
    assert f(jnp.ones(2))["sum"] == 2
    with pytest.raises(ValueError, match=r"one of the arguments is .*\(3,\).*was announced as .*\(2,\)"):
        f(jnp.ones(3))
    with pytest.raises(ValueError, match="one of the arguments is .*announced as"):
        f(laminax.device_put(jnp.ones(2), DEVICES[1]))
    with pytest.raises(ValueError, match="the arguments have the structure"):
        f((jnp.ones(2),))
    with pytest.raises(ValueError, match="in_specs already specified"):
        f.specialize(in_specs=((spec,), {}))
    scalar = laminax.ShapeDtypeStruct((), jnp.float32)
    assert f.specialize(out_specs_fn=lambda x: {"sum": scalar})(jnp.ones(2))["sum"] == 2
    with pytest.raises(ValueError, match="the results have the structure"):
        f.specialize(out_specs_fn=lambda x: scalar)(jnp.ones(2))
    with pytest.raises(ValueError, match=r"one of the results is .*was announced as .*\(2,\)"):
        f.specialize(out_specs_fn=lambda x: {"sum": x})(jnp.ones(2))


def test_bad_calls_are_explained():
    with pytest.raises(ValueError, match="No devices found. colocated_python function without input arguments must be first specialized"):
        colocated_python(lambda: jnp.zeros(()))()
    with pytest.raises(ValueError, match="only supports jax.Array as input and output, but got <class 'int'>.*device_put"):
        colocated_python(lambda x: x)(3)
    with pytest.raises(ValueError, match="only supports jax.Array as input and output, but got <class 'float'>"):
        colocated_python(lambda x: 1.5)(jnp.ones(2))
    with pytest.raises(TypeError, match="Python cannot run on .*which is traced.*pure_callback"):
        laminax.jit(colocated_python(lambda x: x))(1.0)
    with pytest.raises(TypeError, match="colocated_python"):
        colocated_python(3)
    with pytest.raises(TypeError, match="expected a class, got 3"):
        colocated_python_class(3)
    with pytest.raises(ZeroDivisionError):
        colocated_python(lambda x: 1 / 0)(jnp.ones(2))


def test_objects_live_from_the_first_call_to_the_last_reference():
    class Value:
        """A value."""
        alive: ClassVar[list[str]] = []

        def __init__(self, start, name="value"):
            self.value, self.name = start, name
            self.alive.append(name)

        def __del__(self):
            self.alive.remove(self.name)

        def add(self, x):
            self.value = self.value + x
            return self.value

        def like(self):
            return jnp.asarray(self.value)

    there = colocated_python_class(Value)
    assert (there.__name__, there.__doc__) == ("Value", "A value.")
    unused, value = there(1, name="unused"), there(5)
    assert Value.alive == []
    assert value.add(jnp.int32(1)) == 6 and value.add(jnp.int32(1)) == 7 and Value.alive == ["value"]
    with pytest.raises(ValueError, match="No devices found"):
        value.like()
    value.like = value.like.specialize(devices=DEVICES[:1])
    assert value.like() == 7
    del unused, value
    assert Value.alive == []


def test_strings_are_refused_with_a_reason():
    if hasattr(np.dtypes, "StringDType"):
        with pytest.raises(TypeError, match="StringDType"):
            laminax.device_put(np.array(["a"], dtype=np.dtypes.StringDType()), NamedSharding(Mesh(np.array(DEVICES[:1]), "x"), P()))
