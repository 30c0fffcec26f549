"""Sizes as names on eight devices: the function is traced once, and the program lowered for each size."""

import numpy as np
from meshes import DEVICES

import laminax
import laminax.numpy as jnp
from laminax import export, jit, lax, pmap, shard_map
from laminax.sharding import Mesh, NamedSharding, PartitionSpec

MESH = Mesh(np.array(DEVICES), ("x",))
SPLIT = NamedSharding(MESH, PartitionSpec("x"))


def array(*shape):
    return np.random.default_rng(shape).uniform(size=shape).astype(np.float32)


def test_arguments_that_are_split():
    traces = []
    f = jit(lambda x: traces.append(1) or (jnp.sin(x).sum(0) * x.shape[0], x * 2), abstracted_axes={0: "n"})
    for n in (8, 16):
        x = array(n, 3)
        for given in (laminax.device_put(x, SPLIT), x):
            total, doubled = f(given)
            np.testing.assert_allclose(total, np.sin(x).sum(0) * n, rtol=1e-5)
            np.testing.assert_array_equal(doubled, 2 * x)
        assert f(laminax.device_put(x, SPLIT))[1].sharding.is_equivalent_to(SPLIT, 2)
    assert len(traces) == 1


def test_shardings_that_are_given():
    traces = []
    f = jit(lambda x: traces.append(1) or x + 1, abstracted_axes={0: "n"}, in_shardings=SPLIT, out_shardings=SPLIT)
    for n in (8, 24):
        assert f(array(n, 3)).sharding.is_equivalent_to(SPLIT, 2)
    assert len(traces) == 1


def test_shard_map_over_an_axis_of_a_size_that_the_devices_divide():
    traces = []

    def shifted(x):
        traces.append(1)
        return lax.ppermute(x, "x", [(i, (i + 1) % 8) for i in range(8)]) + lax.psum(x.sum(), "x")

    (n,) = export.symbolic_shape("n")
    mapped = shard_map(shifted, mesh=MESH, in_specs=PartitionSpec("x"), out_specs=PartitionSpec("x"))
    f = jit(lambda x: mapped(x), abstracted_axes={0: 8 * n})
    for size in (8, 16):
        x = array(size)
        np.testing.assert_allclose(f(laminax.device_put(x, SPLIT)), np.roll(x, size // 8) + x.sum(), rtol=1e-5)
    assert len(traces) == 1


def test_pmap_of_a_function_of_named_sizes():
    traces = []
    f = pmap(jit(lambda x: traces.append(1) or x.sum() / x.shape[0], abstracted_axes={0: "n"}))
    for n in (2, 5):
        np.testing.assert_allclose(f(array(8, n)), array(8, n).mean(1), rtol=1e-6)
    assert len(traces) == 1
