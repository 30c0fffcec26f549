"""What a user does with a topology: descriptions as bytes, callbacks, layouts, errors."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import laminax
import laminax.numpy as jnp
from laminax.experimental import io_callback, topologies
from laminax.sharding import NamedSharding, SingleDeviceSharding
from laminax.sharding import PartitionSpec as P


def on(device, *shape):
    return laminax.ShapeDtypeStruct(shape, np.float32, sharding=SingleDeviceSharding(device))


def test_devices_have_places(devices):
    assert [tuple(device.coords) for device in devices("v5p:2x2x2")] == [(x, y, z) for z in (0, 1) for y in (0, 1) for x in (0, 1)]
    assert {device.device_kind for device in devices("v5e:2x4")} == {"TPU v5 lite"}


def test_a_description_is_written_and_read(devices):
    if tuple(map(int, laminax.lib.__version__.split(".")[:2])) < (0, 12):
        pytest.skip("needs jaxlib 0.12")
    written = topologies.TopologyDescription(devices("v5e:2x2")).serialize()
    assert [d.coords for d in topologies.TopologyDescription.deserialize(written).devices] == [d.coords for d in devices("v5e:2x2")]


def test_a_topology_that_there_is_not():
    with pytest.raises(laminax.errors.XlaRuntimeError) as caught:
        topologies.get_topology_desc("v99:2x2", "tpu")
    assert "a TPU topology is a generation and its chips" in "".join(caught.value.__notes__)


def test_what_is_compiled_is_looked_at_and_not_run(devices):
    mesh = topologies.make_mesh(topologies.TopologyDescription(devices("v5e:2x2")), (2, 2), ("x", "y"))
    x = laminax.ShapeDtypeStruct((64, 128), np.float32, sharding=NamedSharding(mesh, P("x", "y")))
    lowered = laminax.jit(laminax.grad(lambda w, x: jnp.sin(x @ w.T).sum())).lower(x, x)
    compiled = lowered.compile()
    assert lowered.cost_analysis()["transcendentals"] == 64 * 64 and compiled.cost_analysis()["flops"] > 0
    assert compiled.memory_analysis().argument_size_in_bytes == 2 * 32 * 128 * 4  # padded to a tile's 128 columns
    assert compiled.input_shardings[0][0].spec == P("x", "y") and "all-" in compiled.as_text()
    with pytest.raises(RuntimeError, match="compiled for devices of the kind 'TPU v5 lite'.* not attached to this process"):
        compiled(np.zeros((64, 128), np.float32), np.zeros((64, 128), np.float32))
    with pytest.raises(laminax.errors.PlatformError, match="'tpu'"):  # where there are TPUs it is read, and runs
        pickle.loads(pickle.dumps(compiled))


def test_the_compiler_chooses_layouts(devices):
    from laminax.experimental.layout import Format, Layout
    f = laminax.jit(lambda x, y: x @ y, in_shardings=Format(Layout.AUTO), out_shardings=Format(Layout.AUTO))
    x = on(devices("v5e:2x2")[0], 256, 512)
    compiled = f.lower(x, on(devices("v5e:2x2")[0], 512, 128)).compile()
    (first, _), _ = compiled.input_formats
    assert first.layout.tiling == ((8, 128),)


def test_programs_with_callbacks_compile(devices):
    def f(x):
        laminax.debug.print("x is {}", x)
        y = laminax.pure_callback(np.sin, laminax.ShapeDtypeStruct((8,), np.float32), x)
        io_callback(lambda: None, None, ordered=True)
        empty = io_callback(lambda: np.zeros(0, np.float32), laminax.ShapeDtypeStruct((0,), np.float32), ordered=True)
        struct = laminax.ShapeDtypeStruct((8,), np.float32)
        return laminax.lax.fori_loop(0, 3, lambda i, c: io_callback(lambda v: v, struct, c, ordered=True), y), empty

    compiled = laminax.jit(f).lower(on(devices("v5e:2x2")[0], 8)).compile()
    assert compiled.as_text().count("is_host_transfer=true") >= 8
    mesh = topologies.make_mesh(topologies.TopologyDescription(devices("v5e:2x2")), (4,), ("x",))
    x = laminax.ShapeDtypeStruct((8,), np.float32, sharding=NamedSharding(mesh, P("x")))
    split = laminax.jit(lambda x: laminax.pure_callback(np.sin, laminax.ShapeDtypeStruct((8,), np.float32), x)).lower(x).compile()
    assert "all-gather" in split.as_text() or "all-reduce" in split.as_text()


def test_a_program_for_any_devices_is_compiled_for_these(devices):
    from laminax.sharding import AbstractMesh, AxisType
    mesh = AbstractMesh((2, 2), ("x", "y"), axis_types=(AxisType.Auto,) * 2)
    x = laminax.ShapeDtypeStruct((64, 128), np.float32, sharding=NamedSharding(mesh, P("x", "y")))
    lowered = laminax.jit(lambda x: jnp.sin(x) @ x.T).trace(x).lower(lowering_platforms=("tpu",))
    compiled = lowered.compile(device_assignment=devices("v5e:2x2"))
    (found,), _ = compiled.input_shardings
    assert list(found.mesh.devices.flat) == list(devices("v5e:2x2"))
