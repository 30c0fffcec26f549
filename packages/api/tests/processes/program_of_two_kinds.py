"""A program whose processes trace different programs; all get an error, in place of a collective that would never end."""

import numpy as np
import pytest
import together

import laminax
import laminax.numpy as jnp
from laminax import distributed
from laminax.sharding import NamedSharding
from laminax.sharding import PartitionSpec as P

index, count = together.begin()
mesh = laminax.sharding.Mesh(np.array(laminax.devices()), ("x",))
x = laminax.make_array_from_callback((4 * count,), NamedSharding(mesh, P("x")), lambda i: np.ones(4 * count, np.float32)[i])
assert float(laminax.jit(jnp.sum)(x)) == 4 * count


def scaled(x):
    return jnp.sum(x * (3.0 + index))


words = r"(?s)scaled in process 0, .*scaled in process 1.*first difference is in line \d+.*process 0: .*3\.0.*process 1: .*4\.0"
with pytest.raises(RuntimeError, match=words) as raised:
    laminax.jit(scaled)(x)
print(raised.value)
with pytest.raises(RuntimeError, match="about to run different programs"):
    laminax.jit(jnp.sin if index else jnp.cos)(x)
assert float(laminax.jit(jnp.max)(x)) == 1
own = laminax.jit(lambda x: x * index)(np.ones(2))  # a program of one process may be another one
np.testing.assert_array_equal(own, np.ones(2) * index)
distributed.shutdown()
