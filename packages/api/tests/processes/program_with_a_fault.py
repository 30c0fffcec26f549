"""A program one process of which fails in a way that the environment names; the others say who it was, and go on among themselves."""

import os
import signal

import numpy as np
import together

import laminax
import laminax.numpy as jnp
from laminax import distributed
from laminax.experimental import multihost_utils
from laminax.sharding import Mesh, NamedSharding
from laminax.sharding import PartitionSpec as P


def sum_over(devices):
    """The sum of ones over devices, once per element."""
    split = NamedSharding(Mesh(np.array(devices), ("x",)), P("x"))
    x = laminax.make_array_from_callback((10 * len(devices),), split, lambda i: np.ones(10, np.float32))
    return laminax.jit(jnp.sum)(x)


index, count = together.begin()
assert float(sum_over(laminax.devices())) == 10 * laminax.device_count()
print("READY", flush=True)
try:
    for step in range(1_000_000):
        if step == 20 and index == int(os.environ["VICTIM"]):
            if os.environ["FAULT"] == "exception":
                raise KeyError("a mistake of this process")
            os.kill(os.getpid(), getattr(signal, os.environ["FAULT"]))
        total = sum_over(laminax.devices())
        total.block_until_ready() if step % 2 else float(total)
except multihost_utils.ProcessFailureError as error:
    assert isinstance(error, laminax.errors.JaxRuntimeError)
    assert {d.process_index for d in error.failed_devices} == set(error.failed_processes)
    print("FAILED", error.failed_processes, error, flush=True)
    live = [d for d in laminax.devices() if d.process_index not in error.failed_processes]
    assert float(sum_over(live)) == 10 * len(live)
    print("WENT ON", flush=True)
distributed.shutdown()
