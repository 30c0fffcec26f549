"""A checkpoint of orbax, written and restored by all processes, split as it was and otherwise."""

import laminax.experimental.as_jax  # isort: skip  # noqa: F401  (before orbax, which imports jax)

import os
import pathlib

import numpy as np
import orbax.checkpoint
import together

import laminax
from laminax import distributed
from laminax.sharding import Mesh, NamedSharding
from laminax.sharding import PartitionSpec as P

index, count = together.begin()
mesh = Mesh(np.array(laminax.devices()), ("x",))
W = np.arange(16.0, dtype=np.float32).reshape(8, 2)
split, whole = NamedSharding(mesh, P("x")), NamedSharding(mesh, P())
folder = pathlib.Path(os.environ["CHECKPOINT"])
with orbax.checkpoint.StandardCheckpointer() as checkpointer:
    checkpointer.save(folder, {"w": laminax.device_put(W, split), "step": 3})
    checkpointer.wait_until_finished()
    for sharding in (split, whole):
        restored = checkpointer.restore(folder, {"w": laminax.ShapeDtypeStruct(W.shape, W.dtype, sharding=sharding), "step": 0})
        assert restored["w"].sharding == sharding and restored["step"] == 3
        for shard in restored["w"].addressable_shards:
            np.testing.assert_array_equal(shard.data, W[shard.index])
distributed.shutdown()
