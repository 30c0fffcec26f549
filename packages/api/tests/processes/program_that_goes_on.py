"""Training with a checkpoint after each step. A process is killed; the others, with a new one in its place if there is one, begin anew from
the checkpoint, and end with the parameters of a training without a fault: each batch is split over the processes that there are.

The process VICTIM kills itself in step 11; without one, the first step says READY, and somebody outside is to kill a process."""

import os
import pathlib
import signal
import time

import numpy as np
import together

import laminax
import laminax.numpy as jnp
from laminax import distributed
from laminax.experimental import multihost_utils
from laminax.sharding import Mesh, NamedSharding
from laminax.sharding import PartitionSpec as P

STEPS, BATCH, RATE = int(os.environ.get("STEPS", 30)), 12, 0.1
victim, has_replacement = int(os.environ.get("VICTIM", -1)), "REPLACEMENT_PORT" in os.environ
checkpoint = pathlib.Path(os.environ["CHECKPOINT"])


def data(step):
    rng = np.random.default_rng(step)
    x = rng.normal(size=(BATCH, 3)).astype(np.float32)
    return x, x @ np.array([1.0, -2.0, 3.0], np.float32) + 0.5


def loss(w, x, y):
    return jnp.mean((x @ w[:3] + w[3] - y) ** 2)


def train():
    """From the checkpoint to the end, over all devices that there are."""
    mesh = Mesh(np.array(laminax.devices()), ("x",))
    step_of_all = laminax.jit(lambda w, x, y: w - RATE * laminax.grad(loss)(w, x, y), out_shardings=NamedSharding(mesh, P()))
    step, w = 0, np.zeros(4, np.float32)
    if checkpoint.exists():
        saved = np.load(checkpoint)
        step, w = int(saved[0]), saved[1:].astype(np.float32)
    while step < STEPS:
        if step == 11 and laminax.process_index() == victim and "NEW" not in os.environ and laminax.process_count() == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        batch = [laminax.make_array_from_callback(a.shape, NamedSharding(mesh, P("x")), lambda i, a=a: a[i]) for a in data(step)]
        w, step = np.asarray(step_of_all(w, *batch)), step + 1
        if laminax.process_index() == 0:
            np.save(f"{checkpoint}.new.npy", np.concatenate([[step], w]))
            os.replace(f"{checkpoint}.new.npy", checkpoint)
        if step == 1:
            print("READY", flush=True)
    return w


def expected():
    w = np.zeros(4)
    for step in range(STEPS):
        x, y = (a.astype(np.float64) for a in data(step))
        error = x @ w[:3] + w[3] - y
        w = w - RATE * 2 * np.concatenate([x.T @ error, [error.sum()]]) / BATCH
    return w


address = f"127.0.0.1:{os.environ.get('REPLACEMENT_PORT')}"
if "NEW" in os.environ:
    distributed.initialize(address, 3, victim, cluster_detection_method="deactivate", heartbeat_timeout_seconds=10)
    w = train()
else:
    index, count = together.begin()
    try:
        w = train()
        raise AssertionError("nobody has failed")
    except multihost_utils.ProcessFailureError as error:
        print("FAILED", error.failed_processes, "at", time.time(), flush=True)
    kept = laminax.numpy.ones(3) * index  # an array of before can still be read
    if has_replacement:
        distributed.reinitialize(address, count, index)
    else:
        distributed.reinitialize()
    np.testing.assert_array_equal(kept, np.ones(3) * index)
    assert laminax.process_count() == (count if has_replacement else count - 1)
    w = train()
np.testing.assert_allclose(w, expected(), rtol=1e-4, atol=1e-5)
print("WENT ON", flush=True)
distributed.shutdown()
