"""Programs over several processes, and of each, with a compilation cache that they share."""

import numpy as np
import together

from laminax_runtime.compiling import compilation_cache

import laminax
import laminax.numpy as jnp
from laminax import distributed
from laminax.experimental import multihost_utils
from laminax.sharding import Mesh, NamedSharding
from laminax.sharding import PartitionSpec as P

index, count = together.begin()
mesh = Mesh(np.array(laminax.devices()), ("x",))
W = np.arange(4.0 * laminax.device_count(), dtype=np.float32)
x = laminax.make_array_from_callback(W.shape, NamedSharding(mesh, P("x")), lambda i: W[i])
laminax.config.update("persistent_cache_min_compile_time_secs", 0.0)
before = vars(compilation_cache.statistics).copy()
total, part = laminax.jit(lambda x: (jnp.sum(jnp.sin(x)), jnp.cos(x)))(x)
np.testing.assert_allclose(float(total), np.sin(W).sum(), rtol=1e-4)
for shard in part.addressable_shards:
    np.testing.assert_allclose(shard.data, np.cos(W)[shard.index], rtol=1e-5)
print({name: value - before[name] for name, value in vars(compilation_cache.statistics).items()})
multihost_utils.sync_global_devices("all have looked")
distributed.shutdown()
