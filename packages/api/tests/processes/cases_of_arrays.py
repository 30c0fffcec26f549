"""Arrays whose parts are in several processes: making them, moving them, computing with them, what cannot be read. Run by each process."""

import copy
import pickle

import numpy as np
import pytest
import together

import laminax
import laminax.numpy as jnp
from laminax import distributed
from laminax.sharding import AxisType, Mesh, NamedSharding, SingleDeviceSharding
from laminax.sharding import PartitionSpec as P

index, count = together.begin()
n = laminax.device_count()
mesh = laminax.make_mesh((n,), ("x",), axis_types=(AxisType.Auto,))
grid = laminax.make_mesh((count, n // count), ("a", "b"), axis_types=(AxisType.Auto,) * 2)
split, whole = NamedSharding(mesh, P("x")), NamedSharding(mesh, P())
local = NamedSharding(Mesh(np.array(laminax.local_devices()), ("l",)), P("l"))
W = np.arange(4.0 * n, dtype=np.float32).reshape(2 * n, 2)


def spread(value, sharding):
    return laminax.make_array_from_callback(value.shape, sharding, lambda i: value[i])


def check(x, expected):
    """Every part that this process has is that of the expected array, and there is one on each of its devices."""
    assert x.shape == expected.shape
    assert [s.device for s in x.addressable_shards] == [d for d in x.sharding._device_assignment if d.process_index == index]
    for shard in x.addressable_shards:
        np.testing.assert_allclose(shard.data, expected[shard.index], rtol=1e-6)


g = spread(W, split)


def test_what_an_array_says_of_itself():
    check(g, W)
    assert not g.is_fully_addressable and not g.is_fully_replicated and g.committed and g.devices() == set(laminax.devices())
    assert [s.data is not None for s in g.global_shards] == [d.process_index == index for d in laminax.devices()]
    assert repr(g) == str(g) == f"{g}" == f"Array(shape={W.shape}, dtype=float32)"
    np.testing.assert_array_equal(g.addressable_data(1), W[g.addressable_shards[1].index])
    assert repr(spread(W[0], whole)) == "Array([0., 1.], dtype=float32)"
    g.copy_to_host_async()
    assert laminax.block_until_ready(g) is g


def test_what_another_process_has_cannot_be_read():
    words = r"parts of it are on devices of other processes.*process_allgather.*addressable_shards"
    for read in (np.asarray, laminax.device_get, pickle.dumps, lambda x: x.tolist()):
        with pytest.raises(RuntimeError, match=words):
            read(g)
    with pytest.raises(RuntimeError, match=words):
        float(laminax.device_put(1.0, laminax.local_devices(process_index=(index + 1) % count)[0]))


def test_an_array_on_a_device_of_another_process_has_no_parts_here():
    x = laminax.device_put(W, laminax.devices()[0])
    assert len(x.addressable_shards) == (index == 0) and x.shape == W.shape
    other = SingleDeviceSharding(laminax.local_devices(process_index=(index + 1) % count)[0])
    assert not laminax.make_array_from_callback((2,), other, lambda i: W[0][i], dtype=np.float32).addressable_shards
    with pytest.raises(ValueError, match="has no part of the array, so dtype must be given"):
        laminax.make_array_from_callback((2,), other, lambda i: W[0][i])


def test_values_that_all_have_go_to_devices_of_all():
    check(laminax.device_put(W, split), W)
    check(laminax.device_put(jnp.asarray(W), NamedSharding(grid, P("b", "a"))), W)
    assert float(laminax.device_put(3.5, whole)) == 3.5
    with pytest.raises(AssertionError, match=r"not the same on each process.* in processes \[1"):
        laminax.device_put(W + index, split)


def test_arrays_are_laid_out_anew():
    np.testing.assert_array_equal(laminax.device_put(g, whole), W)
    moved = laminax.device_put(g, NamedSharding(grid, P("b", "a")))
    check(moved, W)
    check(laminax.device_put(moved, split), W)
    back = NamedSharding(Mesh(np.array(laminax.devices())[::-1], ("r",)), P(None, "r"))
    value = np.arange(6.0 * n, dtype=np.float32).reshape(3, 2 * n)
    check(laminax.device_put(spread(value, NamedSharding(mesh, P(None, "x"))), back), value)
    shuffled = Mesh(np.random.default_rng(0).permutation(np.array(laminax.devices())).reshape(grid.devices.shape), ("a", "b"))
    check(laminax.device_put(g, NamedSharding(shuffled, P("a", "b"))), W)
    check(laminax.device_put(g, NamedSharding(shuffled, P("b"))), W)
    np.testing.assert_array_equal(laminax.device_put(laminax.device_put(W, whole), local), W)
    with pytest.raises(NotImplementedError, match="on devices of several processes.*process_allgather"):
        laminax.device_put(g, local)


def test_each_process_gives_its_part():
    here = W[2 * index * (n // count):2 * (index + 1) * (n // count)]
    check(laminax.make_array_from_process_local_data(split, here), W)
    check(laminax.make_array_from_process_local_data(split, here, W.shape), W)
    check(laminax.make_array_from_process_local_data(split, W, W.shape), W)
    check(laminax.make_array_from_process_local_data(whole, W), W)
    tree = laminax.make_array_from_process_local_data(split, {"a": here, "b": here[:, 0]})
    check(tree["b"], W[:, 0])
    by_columns = NamedSharding(grid, P("b", "a"))  # a process has all rows of some columns
    table = np.arange(n * 3.0 * count).reshape(n, 3 * count).astype(np.float32)
    check(laminax.make_array_from_process_local_data(by_columns, table[:, 3 * index:3 * index + 3]), table)
    check(laminax.make_array_from_process_local_data(by_columns, table[:, 3 * index:3 * index + 3], (n, None)), table)
    with pytest.raises(ValueError, match=f"the process data has 3 elements. Process addresses {2 * n // count} elements"):
        laminax.make_array_from_process_local_data(split, W[:3], W.shape)
    with pytest.raises(ValueError, match="has another rank"):
        laminax.make_array_from_process_local_data(split, here, (8,))


def test_shares_that_overlap_need_the_whole_shape():
    order = [laminax.local_devices(process_index=p)[i] for p, i in ((0, 0), (1, 0), (1, 1), (0, 1))]
    square = Mesh(np.array(order).reshape(2, 2), ("a", "b"))  # processes 0 1 / 1 0: each has a part of every row and column
    sharding = NamedSharding(square, P("a", "b"))
    x = np.arange(16.0).reshape(4, 4).astype(np.float32)
    check(laminax.make_array_from_process_local_data(sharding, x, (4, 4)), x)
    odd = Mesh(np.array([laminax.local_devices(process_index=0)[0], *laminax.local_devices(process_index=1)[:2]]), ("a",))
    with pytest.raises(ValueError, match="Unable to compute global_shape due to non-uniform sharding"):
        laminax.make_array_from_process_local_data(NamedSharding(odd, P("a")), x)


def test_parts_on_single_devices():
    parts = [laminax.device_put(np.full((1, 2), d.id, np.float32), d) for d in laminax.local_devices()]
    x = laminax.make_array_from_single_device_arrays((n, 2), split, parts[::-1])
    check(x, np.array([[d.id] * 2 for d in laminax.devices()], np.float32))
    with pytest.raises(ValueError, match=f"Expected {n // count} per-device arrays .*addressable by the sharding"):
        laminax.make_array_from_single_device_arrays((n, 2), split, parts[:1])


def test_computing_with_them():
    check(g + 1, W + 1)
    check(g * jnp.ones(2), W)
    check(laminax.jit(lambda x, y: x * 2 + y)(g, np.ones(2, np.float32)), W * 2 + 1)
    np.testing.assert_allclose(float(g.mean()), W.mean())
    assert bool((g >= 0).all()) and g[0, 1].item() == 1
    check(g.at[0].set(7), np.concatenate([[[7, 7]], W[1:]]))
    check(laminax.jit(laminax.grad(lambda x: jnp.sum(x ** 3)))(g), 3 * W ** 2)
    check(laminax.grad(lambda x: jnp.sum(jnp.sin(x)))(g), np.cos(W))
    np.testing.assert_allclose(np.stack([np.asarray(row) for row in g]), W)
    given = g + 0
    check(laminax.jit(lambda x: x + 1, donate_argnums=0)(given), W + 1)
    assert given.is_deleted()
    check(g.copy(), W)
    check(copy.copy(g), W)
    check(jnp.zeros((n, 2), device=split), np.zeros((n, 2)))
    np.testing.assert_array_equal(laminax.jit(lambda x: x, out_shardings=whole)(g), W)
    with pytest.raises(ValueError, match="incompatible devices"):
        g + laminax.device_put(W, laminax.local_devices()[0])


def test_closing_over_them_needs_their_mesh():
    with pytest.raises(RuntimeError, match="Closing over jax.Array that spans non-addressable.*as arguments"):
        laminax.jit(lambda x: g * x)(2.0)
    with laminax.set_mesh(mesh):
        check(laminax.jit(lambda x: g * x)(2.0), W * 2)


def test_types_that_say_how_arrays_are_split():
    explicit = laminax.make_mesh((n,), ("x",))
    with laminax.set_mesh(explicit):
        x = laminax.device_put(W, P("x"))
        y = x * 2
        assert laminax.typeof(y).sharding.spec == P("x", None)
        check(y, W * 2)


def test_programs_with_host_callbacks():
    seen = []
    x = laminax.jit(lambda x: (laminax.debug.callback(lambda s: seen.append(float(s)), jnp.sum(x)), x + 1)[1])(g)
    laminax.effects_barrier()
    check(x, W + 1)
    assert set(seen) <= {float(W.sum())}


def test_a_program_of_one_process_by_regions():
    """Many equal blocks on one device are compiled as a few executables, and over several devices as one."""
    def blocks(x, weights):
        for w in weights:
            x = jnp.tanh(x @ w) + x
            x = x / (1 + jnp.abs(x).max())
        return x
    rng = np.random.default_rng(0)
    weights = [rng.normal(size=(2, 2)).astype(np.float32) for _ in range(12)]
    x, expected = W, W
    for w in weights:
        expected = np.tanh(expected @ w) + expected
        expected = expected / (1 + np.abs(expected).max())
    np.testing.assert_allclose(laminax.jit(blocks)(x, weights), expected, rtol=1e-4, atol=1e-6)
    check_close = laminax.jit(blocks, out_shardings=split)(g, weights)
    for shard in check_close.addressable_shards:
        np.testing.assert_allclose(shard.data, expected[shard.index], rtol=1e-4, atol=1e-6)


def test_the_mesh_of_this_process():
    assert mesh.is_multi_process and list(mesh.local_mesh.devices) == laminax.local_devices() == mesh.local_devices
    assert grid.local_mesh.devices.shape == (1, n // count) and not grid.local_mesh.is_multi_process
    striped = Mesh(np.array(laminax.devices()).reshape(count, -1).T.reshape(-1), ("x",))
    with pytest.raises(ValueError, match="the mesh must be continuous"):
        striped.local_mesh


together.run_tests(globals())
distributed.shutdown()
