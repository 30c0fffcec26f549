"""Programs lowered over meshes without devices, and compiled for devices that are given then."""

from __future__ import annotations

import numpy as np
import pytest
from meshes import DEVICES

import laminax
import laminax.numpy as jnp
from laminax.sharding import AbstractDevice, AbstractMesh, AxisType, NamedSharding, SingleDeviceSharding, use_abstract_mesh
from laminax.sharding import PartitionSpec as P

AUTO = AbstractMesh((4, 2), ("x", "y"), axis_types=(AxisType.Auto,) * 2)
EXPLICIT = AbstractMesh((4, 2), ("x", "y"), axis_types=(AxisType.Explicit,) * 2)
A = np.arange(64, dtype=np.float32).reshape(8, 8) / 8


def struct(spec=None, mesh=AUTO):
    return laminax.ShapeDtypeStruct((8, 8), np.float32, sharding=None if spec is None else NamedSharding(mesh, spec))


def lower(f, *args):
    return laminax.jit(f).trace(*args).lower(lowering_platforms=("cpu",))


def test_a_program_lowered_without_devices_runs_on_those_given_to_compile():
    lowered = lower(lambda x, y: jnp.sin(x) @ y, struct(P("x", "y")), struct())
    assert "mhlo.num_partitions = 8" in lowered.as_text() and '["x"=4, "y"=2]' in lowered.as_text()
    assert lowered.cost_analysis()["transcendentals"] == 64
    for devices in (DEVICES, DEVICES[::-1]):
        compiled = lowered.compile(device_assignment=tuple(devices))
        (x, _), _ = compiled.input_shardings
        assert x.spec == P("x", "y") and list(x.mesh.devices.flat) == list(devices) and x.mesh.shape_tuple == AUTO.shape_tuple
        out = compiled(A, A)
        np.testing.assert_allclose(out, np.sin(A) @ A, rtol=1e-4, atol=1e-4)
        assert set(out.sharding.device_set) == set(devices)


def test_shardings_may_come_from_jit_types_and_inside():
    f = laminax.jit(lambda x: x + 1, in_shardings=NamedSharding(AUTO, P("x")), out_shardings=NamedSharding(AUTO, P(None, "y")))
    compiled = f.trace(struct()).lower(lowering_platforms=("cpu",)).compile(device_assignment=DEVICES)
    out = compiled(A)
    assert out.sharding.spec == P(None, "y")
    np.testing.assert_array_equal(out, A + 1)
    explicit = lower(lambda x: x * 2, struct(P("x"), EXPLICIT)).compile(device_assignment=DEVICES)
    assert explicit.output_shardings.spec in (P("x"), P("x", None)) and list(explicit.output_shardings.mesh.devices.flat) == list(DEVICES)
    np.testing.assert_array_equal(explicit(A), A * 2)
    summed = lower(laminax.shard_map(lambda x: laminax.lax.psum(x, "x"), mesh=AUTO, in_specs=P("x"), out_specs=P()), struct())
    out = summed.compile(device_assignment=DEVICES)(A)
    np.testing.assert_allclose(out, A.reshape(4, 2, 8).sum(axis=0), rtol=1e-6)
    constrained = lower(lambda x: laminax.lax.with_sharding_constraint(x, NamedSharding(AUTO, P("x"))) + 1, struct(P("x")))
    np.testing.assert_array_equal(constrained.compile(device_assignment=DEVICES)(A), A + 1)


def test_another_platform_can_be_lowered_for():
    lowered = laminax.jit(jnp.sin).trace(struct(P("x"))).lower(lowering_platforms=("tpu",))
    assert "stablehlo.sine" in lowered.as_text()
    with pytest.raises(ValueError, match="compile: the module was lowered for tpu, and the device is cpu:0; lower for that platform"):
        lowered.compile(device_assignment=DEVICES)


def test_the_mesh_in_use_may_name_the_platform():
    tpu = AbstractMesh((4, 2), ("x", "y"), axis_types=(AxisType.Auto,) * 2, abstract_device=AbstractDevice("TPU v5e", 1, "tpu"))
    with use_abstract_mesh(tpu):
        lowered = laminax.jit(jnp.sin).trace(struct(P("x"), tpu)).lower()
    assert lowered._module.platforms == ("tpu",) and "mhlo.num_partitions = 8" in lowered.as_text()


def test_devices_that_do_not_fit_are_refused():
    lowered = lower(jnp.sin, struct(P("x")))
    with pytest.raises(RuntimeError, match="device_assignment cannot be `None` during compilation.*lowered for 8 devices"):
        lowered.compile()
    with pytest.raises(RuntimeError, match=r"Length of device_assignment \(2\) passed to `.compile\(\)` must be equal to .* with \(8\)"):
        lowered.compile(device_assignment=DEVICES[:2])
    with pytest.raises(TypeError, match="device_assignment must be devices, got 3 of type int"):
        lowered.compile(device_assignment=(3,))
    placed = laminax.jit(jnp.sin).lower(A)
    placed.compile(device_assignment=DEVICES[:1])
    with pytest.raises(ValueError, match=r"must match the device_assignment calculated .*compile \[1\] on platform CPU .*\[0\] on"):
        placed.compile(device_assignment=DEVICES[1:2])


def test_lowering_without_devices_has_to_be_asked_for():
    with pytest.raises(ValueError, match="Passing lowering_platforms via .* is required when only AbstractMesh exists"):
        laminax.jit(jnp.sin).lower(struct(P("x")))
    other = AbstractMesh((4,), ("x",), AxisType.Auto)
    with pytest.raises(ValueError, match="meshes of different sizes.*one number of devices"):
        lower(lambda x, y: x + y, struct(P("x")), laminax.ShapeDtypeStruct((8, 8), np.float32, sharding=NamedSharding(other, P("x"))))
    on_one = laminax.ShapeDtypeStruct((8, 8), np.float32, sharding=SingleDeviceSharding(DEVICES[0]))
    with pytest.raises(ValueError, match="no mesh of 8 devices is known"):
        lower(lambda x, y: x + y, struct(P("x")), on_one)
    with pytest.raises(ValueError, match="in_shardings says .* and its type says"):
        laminax.jit(jnp.sin, in_shardings=NamedSharding(AUTO, P("y"))).trace(struct(P("x"))).lower(lowering_platforms=("cpu",))
    with pytest.raises(ValueError, match="axis 0"):
        lower(jnp.sin, laminax.ShapeDtypeStruct((7,), np.float32, sharding=NamedSharding(AUTO, P("x"))))
