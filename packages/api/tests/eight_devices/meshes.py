"""The mesh of these tests, arrays on it, and what is to be said of a layout."""

import numpy as np

import laminax
from laminax.sharding import Mesh, NamedSharding
from laminax.sharding import PartitionSpec as P

DEVICES = laminax.devices()
MESH = Mesh(np.array(DEVICES).reshape(4, 2), ("x", "y"))


def on_mesh(*spec):
    return NamedSharding(MESH, P(*spec))


def value(*shape):
    return np.random.default_rng(len(shape)).normal(size=shape).astype(np.float32)


def put(array, *spec):
    return laminax.device_put(array, on_mesh(*spec))


def blocks(array, spec):
    """What each device of the mesh holds of an array that is split as `spec` says, by NumPy's splitting."""
    sizes = {"x": 4, "y": 2}
    result = []
    for position in np.ndindex(4, 2):
        at = dict(zip("xy", position))
        block = array
        for axis, entry in enumerate(spec):
            names = entry if isinstance(entry, tuple) else () if entry is None else (entry,)
            index, count = 0, 1
            for name in names:
                index, count = index * sizes[name] + at[name], count * sizes[name]
            block = np.split(block, count, axis)[index]
        result.append(block)
    return result


def check_layout(x, expected, spec, rtol=0.0):
    """The array's value, and the value of each part on its device."""
    np.testing.assert_allclose(np.asarray(x), expected, rtol=rtol, atol=rtol)
    assert [shard.device for shard in x.addressable_shards] == DEVICES
    for shard, block in zip(x.addressable_shards, blocks(np.asarray(x), spec), strict=True):
        np.testing.assert_array_equal(np.asarray(shard.data), block)
        np.testing.assert_array_equal(np.asarray(x)[shard.index], block)
