"""Process 0 is killed before a step. Process 1 fails in that step at once; process 2, which was stopped in the middle of the step, sends
its part to process 1 afterwards. Neither may wait for ever, also where a program sums two values, or a second program is begun."""

import os
import pathlib
import time

import numpy as np
import together

import laminax
import laminax.numpy as jnp
from laminax import distributed
from laminax.experimental import multihost_utils
from laminax.sharding import Mesh, NamedSharding
from laminax.sharding import PartitionSpec as P

index, count = together.begin()
split = NamedSharding(Mesh(np.array(laminax.devices()), ("x",)), P("x"))


@laminax.jit
def sums(x):
    return jnp.sum(x, axis=0), jnp.sum(x * x)


x = laminax.make_array_from_callback((12, 3), split, lambda i: np.ones((12, 3), np.float32)[i])
np.testing.assert_array_equal(sums(x)[0], [12, 12, 12])
print("READY", flush=True)
if index == 0:
    time.sleep(300)  # until it is killed
while index == 1 and not pathlib.Path(os.environ["GO"]).exists():
    time.sleep(0.01)
try:
    print("ENTERING", flush=True)
    first, second = sums(x), sums(x + 1)
    print(np.asarray(first[0]), np.asarray(second[1]))
    raise AssertionError("nobody has failed")
except multihost_utils.ProcessFailureError as error:
    print("FAILED", error.failed_processes, flush=True)
distributed.reinitialize()
assert laminax.process_count() == 2
distributed.shutdown()
print("WENT ON", flush=True)
