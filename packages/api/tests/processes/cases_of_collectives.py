"""Collectives over the devices of all processes: jit, shard_map, psum. Run by each of the processes."""

import numpy as np
import together

import laminax
import laminax.numpy as jnp
from laminax import distributed, lax
from laminax.sharding import NamedSharding
from laminax.sharding import PartitionSpec as P

index, count = together.begin()
assert distributed.is_initialized()
mesh = laminax.make_mesh((laminax.device_count(),), ("x",))
split = NamedSharding(mesh, P("x"))
whole = np.arange(4 * laminax.device_count(), dtype=np.float32)


def test_the_processes_know_each_other():
    assert laminax.process_index() == index and laminax.process_count() == count
    assert laminax.device_count() == count * laminax.local_device_count()
    assert [d.process_index for d in laminax.devices()] == sorted(d.process_index for d in laminax.devices())
    assert laminax.local_devices() == [d for d in laminax.devices() if d.process_index == index]
    assert laminax.local_devices(process_index=1) == [d for d in laminax.devices() if d.process_index == 1]
    assert laminax.process_indices() == list(range(count))


def test_a_sum_over_the_devices_of_all():
    x = laminax.make_array_from_callback(whole.shape, split, lambda i: whole[i])
    total = laminax.jit(jnp.sum)(x)
    assert total.is_fully_replicated and not total.is_fully_addressable
    np.testing.assert_allclose(float(total), whole.sum())


def test_psum_and_ppermute():
    x = laminax.make_array_from_callback(whole.shape, split, lambda i: whole[i])
    n = laminax.device_count()

    @laminax.jit
    @laminax.shard_map(mesh=mesh, in_specs=P("x"), out_specs=(P(), P("x")))
    def f(x):
        return lax.psum(x, "x"), lax.ppermute(x, "x", [(i, (i + 1) % n) for i in range(n)])

    total, turned = f(x)
    np.testing.assert_allclose(np.asarray(total), whole.reshape(n, -1).sum(0))
    for shard in turned.addressable_shards:
        np.testing.assert_array_equal(shard.data, np.roll(whole, 4)[shard.index])


def test_what_one_process_computes_for_itself():
    x = jnp.arange(3.0) + index
    np.testing.assert_array_equal(laminax.jit(lambda x: x * 2)(x), (np.arange(3.0) + index) * 2)
    assert x.is_fully_addressable


together.run_tests(globals())
distributed.shutdown()
assert not distributed.is_initialized()
