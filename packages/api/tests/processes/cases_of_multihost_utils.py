"""Values that go from process to process: `multihost_utils`. Run by each process."""

import numpy as np
import pytest
import together

import laminax
import laminax.numpy as jnp
from laminax import distributed
from laminax.experimental import multihost_utils
from laminax.sharding import Mesh, NamedSharding
from laminax.sharding import PartitionSpec as P

index, count = together.begin()
n = laminax.device_count()
mesh = Mesh(np.array(laminax.devices()), ("x",))
grid = Mesh(np.array(laminax.devices()).reshape(count, -1), ("a", "b"))
W = np.arange(4.0 * n, dtype=np.float32).reshape(2 * n, 2)
g = laminax.make_array_from_callback(W.shape, NamedSharding(mesh, P("x")), lambda i: W[i])


def test_gathering():
    mine = np.arange(3) + 10 * index
    all_of_them = np.stack([np.arange(3) + 10 * i for i in range(count)])
    np.testing.assert_array_equal(multihost_utils.process_allgather(mine), all_of_them)
    np.testing.assert_array_equal(multihost_utils.process_allgather(jnp.asarray(mine), tiled=True), all_of_them.reshape(-1))
    tree = multihost_utils.process_allgather(
        {"a": np.float64(index) / 3, "b": [np.array([index == 1]), np.int64(2) ** 60 + index]}, tiled=True)
    np.testing.assert_array_equal(tree["a"], np.arange(count) / 3)
    assert tree["a"].dtype == np.float64 and tree["b"][0].tolist() == [i == 1 for i in range(count)]
    assert tree["b"][1].tolist() == [2 ** 60 + i for i in range(count)]
    np.testing.assert_array_equal(multihost_utils.process_allgather(g, tiled=True), W)
    np.testing.assert_array_equal(multihost_utils.process_allgather(laminax.device_put(W, NamedSharding(mesh, P())), tiled=True), W)
    with pytest.raises(ValueError, match="only supports tiled=True"):
        multihost_utils.process_allgather(g)


def test_processes_that_send_different_shapes_are_told():
    with pytest.raises(ValueError, match=r"other shapes, dtypes or containers in processes .1, 2. "):
        multihost_utils.process_allgather(np.ones(1 + index))
    with pytest.raises(ValueError, match="other shapes"):
        multihost_utils.broadcast_one_to_all({"a": 1} if index == 0 else {"b": 1})
    with pytest.raises(TypeError, match="dtype object cannot go to another process"):
        multihost_utils.process_allgather(np.array([{}], object))


def test_broadcasting():
    tree = multihost_utils.broadcast_one_to_all({"a": np.full(3, index + 0.5), "b": np.array(index == 0)})
    np.testing.assert_array_equal(tree["a"], np.full(3, 0.5))
    assert tree["b"] == True and tree["b"].shape == ()  # noqa: E712
    assert multihost_utils.broadcast_one_to_all(np.array([index]), is_source=index == 1).tolist() == [1]
    with pytest.raises(ValueError, match=f"exactly one process must be the source, and is_source is true in {count}"):
        multihost_utils.broadcast_one_to_all(1, is_source=True)


def test_comparing():
    multihost_utils.assert_equal({"a": W, "b": 2})
    multihost_utils.assert_equal(np.float32(0.0 if index else -0.0))  # which are equal, and not in their bits
    with pytest.raises(AssertionError, match=r"(?s)hello. Expected: .*differs in processes .1, 2.[.]"):
        multihost_utils.assert_equal({"a": W + index}, "hello")
    with pytest.raises(AssertionError, match="different shapes"):
        multihost_utils.assert_equal(W[index:])
    with pytest.raises(AssertionError):
        multihost_utils.assert_equal(np.nan)


def test_meeting_at_points():
    multihost_utils.sync_global_devices("a point")
    with pytest.raises(AssertionError, match=f"name mismatch .'a point of {index}'.*processes .1"):
        multihost_utils.sync_global_devices(f"a point of {index}")


def test_parts_become_wholes_and_back():
    step = 2 * n // count
    mine = W[index * step:(index + 1) * step]
    x = multihost_utils.host_local_array_to_global_array(mine, mesh, P("x"))
    assert x.shape == W.shape
    np.testing.assert_array_equal(multihost_utils.process_allgather(x, tiled=True), W)
    assert multihost_utils.host_local_array_to_global_array(x, mesh, P("x")) is x
    back = multihost_utils.global_array_to_host_local_array(x, mesh, P("x"))
    assert back.is_fully_addressable
    np.testing.assert_array_equal(back, mine)
    pair = multihost_utils.host_local_array_to_global_array((mine, W[:, 0]), grid, (P("a"), P("b")))
    assert [x.shape for x in pair] == [W.shape, W[:, 0].shape]
    np.testing.assert_array_equal(multihost_utils.process_allgather(pair[0], tiled=True), W)
    np.testing.assert_array_equal(multihost_utils.global_array_to_host_local_array(x, grid, P("b", None)), W)
    with pytest.raises(ValueError, match="None. is not a valid input"):
        multihost_utils.host_local_array_to_global_array(mine, mesh, None)


def test_devices_of_processes_that_are_alive():
    with multihost_utils.live_devices(laminax.devices()) as live:
        assert live == laminax.devices()
    with pytest.raises(ValueError, match="No devices provided"), multihost_utils.live_devices([]):
        pass
    with pytest.raises(KeyError, match="mine"), multihost_utils.live_devices(laminax.devices()):
        raise KeyError("mine")
    assert multihost_utils.reached_preemption_sync_point(1) is False


def test_keys_and_barriers():
    client = distributed.global_state.client
    client.key_value_set(f"from/{index}", f"process {index}")
    client.wait_at_barrier("all are here", 120_000)
    assert sorted(client.key_value_dir_get("from")) == [(f"from/{i}", f"process {i}") for i in range(count)]
    assert client.blocking_key_value_get("from/1", 120_000) == "process 1"


together.run_tests(globals())
distributed.shutdown()
