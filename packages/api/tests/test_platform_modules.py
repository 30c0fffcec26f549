"""Modules about processes, devices, memories and caches: distributed, memory, topologies, lib, compilation_cache, mesh_utils."""

from __future__ import annotations

import importlib
import os
import socket
from types import SimpleNamespace

import numpy as np
import pytest

import laminax
import laminax.numpy as jnp
from laminax import distributed, memory


@pytest.fixture
def fresh(monkeypatch):
    """As in a process in which nothing has started."""
    from laminax_runtime.backends import backends
    monkeypatch.setattr(backends, "_clients", {})
    for name in [name for name in os.environ if name.startswith(("JAX_", "SLURM_", "OMPI_", "KUBERNETES_"))]:
        monkeypatch.delenv(name)
    yield
    distributed.shutdown()


def test_a_program_of_one_process_begins_and_ends(fresh):
    assert not distributed.is_initialized()
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{found.getsockname()[1]}"
    distributed.initialize(address, num_processes=1, process_id=0)
    assert distributed.is_initialized() and distributed.global_state.coordinator_address == address
    with pytest.raises(RuntimeError, match="initialize should only be called once"):
        distributed.initialize(num_processes=1)
    client = distributed.global_state.client
    client.key_value_set("place", "here")
    client.wait_at_barrier("done", timeout_in_ms=60000)
    assert client.blocking_key_value_get("place", timeout_in_ms=60000) == "here"
    distributed.shutdown()
    assert not distributed.is_initialized()


@pytest.mark.parametrize("kwargs, error, words", [
    ({}, ValueError, "coordinator_address should be defined"), ({"num_processes": None}, ValueError, "Number of processes must be defined"),
    ({"process_id": None}, ValueError, "process id of the current process must be defined"),
    ({"process_id": 3}, ValueError, "process_id < num_processes. Got process_id=3, num_processes=1"),
    ({"process_id": "0"}, TypeError, "process_id must be a nonnegative int. Got process_id='0'"),
    ({"num_processes": 1.0}, TypeError, "num_processes must be a positive int"),
    ({"coordinator_address": "nowhere"}, ValueError, "of the form 'host:port', got 'nowhere'"),
    ({"local_device_ids": ["a"]}, TypeError, r"local_device_ids must be an int, a sequence of ints or None, got \['a'\]"),
    ({"cluster_detection_method": "cow"}, ValueError, "cluster_detection_method must be one of 'ompi', 'slurm'.* got 'cow'"),
    ({"cluster_detection_method": "slurm"}, RuntimeError, "is 'slurm', but this process was not started so"),
    ({"mtls_cert_file": "a"}, (ValueError, NotImplementedError), "belong together, got only mtls_cert_file|connects processes without"),
])
def test_what_cannot_begin_is_refused(fresh, kwargs, error, words):
    given = {"coordinator_address": "127.0.0.1:1", "num_processes": 1, "process_id": 0} if kwargs else {}
    with pytest.raises(error, match=words):
        distributed.initialize(**{**given, **kwargs})
    assert not distributed.is_initialized()


def test_initialize_comes_before_the_first_computation():
    jnp.ones(1)
    with pytest.raises(RuntimeError, match="must be called before any computation.*'cpu'"):
        distributed.initialize(num_processes=1)


def test_live_devices_are_all_of_one_process(monkeypatch):
    from laminax.experimental import multihost_utils
    with pytest.raises(RuntimeError, match=r"distributed.initialize\(\) has not been called"), multihost_utils.live_devices([]):
        pass
    monkeypatch.setattr(distributed.global_state, "client", SimpleNamespace(get_live_nodes=lambda ids: dict.fromkeys(ids, 7)))
    with multihost_utils.live_devices(laminax.devices()) as live:
        assert live == laminax.devices()


def test_arrays_move_between_kinds_of_memory():
    x = laminax.device_put(np.arange(3.0, dtype=np.float32), memory.Space.Host)
    assert x.sharding.memory_kind == "pinned_host"
    tree = laminax.device_put({"x": x, "n": 2}, {"x": memory.Space.Device, "n": None})
    assert tree["x"].sharding.memory_kind == "device"
    np.testing.assert_array_equal(tree["x"], [0, 1, 2])
    with pytest.raises(ValueError, match="Space.Any names no memory"):
        laminax.device_put(x, memory.Space.Any)
    moved = laminax.jit(lambda x: laminax.device_put(x + 1, memory.Space.Host))(tree["x"])
    assert moved.sharding.memory_kind == "pinned_host"
    np.testing.assert_array_equal(moved, [1, 2, 3])


def test_the_attached_topology_has_the_devices():
    from laminax.experimental import topologies
    topology = topologies.get_attached_topology()
    assert topology.devices == laminax.devices()
    mesh = topologies.make_mesh(topology, (len(topology.devices), 1), ("x", "y"))
    assert mesh.axis_names == ("x", "y") and list(mesh.devices.flat) == topology.devices
    with pytest.raises(ValueError, match="places"):
        topologies.make_mesh(topology, (len(topology.devices) + 1,), ("x",))
    with pytest.raises(laminax.errors.PlatformError, match="nowhere"):
        topologies.get_attached_topology("nowhere")


def test_a_topology_is_named_by_text_and_needs_its_plugin():
    from laminax.experimental import topologies
    with pytest.raises(TypeError, match="get_topology_desc: topology_name must be a string, such as 'v5e:2x2', got 4 of type int"):
        topologies.get_topology_desc(4)
    with pytest.raises(NotImplementedError, match="topology not implemented for 'cpu'.*Use get_attached_topology"):
        topologies.get_topology_desc(platform="cpu")
    with pytest.raises(laminax.errors.PlatformError, match="There is no topology of 'nowhere'"):
        topologies.get_topology_desc("2x2", "nowhere")


def _device(number: int, process: int, **extra):
    return SimpleNamespace(id=number, process_index=process, platform="cpu", **extra)


def test_a_hybrid_mesh_joins_the_granules_blocks():
    from laminax.experimental.mesh_utils import create_hybrid_device_mesh
    devices = [_device(i, process=1 - i // 4) for i in range(8)]  # process 1 has the first four
    grid = create_hybrid_device_mesh((2, 2), (1, 2), devices, process_is_granule=True)
    assert [[d.id for d in row] for row in grid] == [[4, 5, 0, 1], [6, 7, 2, 3]]
    grid = create_hybrid_device_mesh((2, 2), (2, 1), devices, process_is_granule=True, should_sort_granules_by_key=False)
    assert [[d.id for d in row] for row in grid] == [[0, 1], [2, 3], [4, 5], [6, 7]]
    sliced = [_device(i, process=0, slice_index=i) for i in range(3)]
    assert [d.id for d in create_hybrid_device_mesh((1,), (3,), sliced)] == [0, 1, 2]


@pytest.mark.parametrize("shape, granules, by_process, words", [
    ((2,), (1,), False, "does not have attribute slice_index.*process_is_granule=True"), ((2,), (2,), True, "number of granules, 1"),
    ((2, 1), (1,), True, "as many axes"), ((3,), (1,), True, "3 places"),
])
def test_a_hybrid_mesh_that_does_not_fit_is_refused(shape, granules, by_process, words):
    from laminax.experimental.mesh_utils import create_hybrid_device_mesh
    with pytest.raises(ValueError, match=words):
        create_hybrid_device_mesh(shape, granules, [_device(0, 0), _device(1, 0)], process_is_granule=by_process)


def test_the_cache_of_compiled_programs_is_where_it_was_set(tmp_path):
    from laminax.experimental.compilation_cache import compilation_cache
    config, names = laminax.config, ("compilation_cache_dir", "persistent_cache_min_compile_time_secs", "enable_compilation_cache")
    before = {name: getattr(config, name) for name in names}
    try:
        config.update("enable_compilation_cache", True)
        config.update("persistent_cache_min_compile_time_secs", 0.0)
        compilation_cache.set_cache_dir(tmp_path / "programs")
        compilation_cache.reset_cache()
        assert not compilation_cache.is_initialized()
        laminax.jit(lambda x: x * 17 + 4)(np.float32(1))
        assert compilation_cache.is_initialized() and list((tmp_path / "programs").iterdir())
        with pytest.raises(TypeError, match="set_cache_dir: path must be a string or a path, got 3 of type int"):
            compilation_cache.set_cache_dir(3)
    finally:
        for name, value in before.items():
            config.update(name, value)
        compilation_cache.reset_cache()


def test_older_names_of_platforms_and_devices():
    from laminax.lib import xla_bridge, xla_client
    assert xla_bridge.get_backend().platform == laminax.devices()[0].platform
    assert xla_bridge.device_count() == len(laminax.devices()) and xla_bridge.devices() == laminax.devices()
    assert isinstance(xla_bridge.get_backend(), xla_client.Client) and isinstance(laminax.devices()[0], xla_client.Device)
    assert xla_client.XlaRuntimeError is laminax.errors.XlaRuntimeError
    assert laminax.lib.__version__ == importlib.import_module("jaxlib").__version__


def test_compiled_programs_are_forgotten_but_not_what_they_compute():
    from laminax.extend import backend
    f = laminax.jit(lambda x: x + 1)
    traces = []
    g = laminax.jit(lambda x: traces.append(x) or f(x))
    assert (g(1), g(1), len(traces)) == (2, 2, 1)
    backend.clear_in_memory_compilation_cache()
    assert (g(1), len(traces)) == (2, 2)
    assert backend.backend_xla_version() is None or isinstance(backend.backend_xla_version(), int)


def test_what_describes_a_program():
    from laminax.extend.core import DebugInfo
    info = DebugInfo("jit", "step at my models/train.py:41", ("x",), None)
    assert (info.func_name, info.func_filename, info.func_lineno) == ("step", "my models/train.py", 41)
    assert DebugInfo("jit", "step", None, None).func_filename is None
    assert laminax.extend.linear_util.wrap_init(abs, debug_info=info).debug_info == info


def test_abstract_devices_are_equal_by_what_they_say():
    from laminax.sharding import AbstractDevice
    device = AbstractDevice("H100", None, "gpu")
    assert repr(device) == "AbstractDevice(device_kind=H100, num_cores=None, platform=gpu)"
    assert {device: 1}[AbstractDevice("H100", None, "gpu")] == 1 and device != AbstractDevice("H100", 2, "gpu")


@pytest.mark.parametrize("dtype", [object, "U3", "M8[s]", np.dtype([("a", "i4")])])
def test_dtypes_that_only_numpy_has_stay_what_they_are(dtype):
    assert laminax.dtypes.canonicalize_dtype(dtype) == np.dtype(dtype)


def test_canonical_dtypes_of_arrays_are_narrow():
    assert laminax.dtypes.canonicalize_dtype(np.float64) == np.float32
    with pytest.raises(TypeError, match="data type 'nonsense' not understood"):
        laminax.dtypes.canonicalize_dtype("nonsense")
    with pytest.raises(ValueError, match="extended"):
        laminax.dtypes.canonicalize_dtype(laminax.random.key(0).dtype)


@pytest.mark.parametrize("make", [lambda: jnp.asarray(1.0), lambda: jnp.array(np.arange(3)), lambda: jnp.array([1, 2]),
                                  lambda: jnp.array([jnp.sin(1.0), 2.0])])
def test_a_constant_of_a_traced_function_is_no_transfer_of_the_users(make):
    expected = np.asarray(make())
    with laminax.transfer_guard("disallow"):
        out = laminax.jit(make)()
        with pytest.raises(laminax.errors.XlaRuntimeError, match="Disallowed host-to-device transfer"):
            make()
    np.testing.assert_array_equal(out, expected)


def test_a_scalar_made_while_tracing_is_a_literal():
    assert str(laminax.make_jaxpr(lambda x: x + jnp.asarray(1.0))(2.0)) == "{ lambda ; a:f32[]. let b:f32[] = add a 1.0:f32[] in (b,) }"


def test_errors_of_libraries_can_be_named():
    from laminax.extend.core import InconclusiveDimensionOperation
    assert laminax.errors.InconclusiveDimensionOperation is InconclusiveDimensionOperation
    assert issubclass(laminax.errors.KeyReuseError, TypeError)  # as JAX documents it
