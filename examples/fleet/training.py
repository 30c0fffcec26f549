"""Training by several processes that any launcher starts, which goes on from its checkpoint when it is started again.

    mpirun -np 4 python examples/fleet/training.py --checkpoint=/tmp/training.npz

`mpirun.sh`, `slurm.sbatch`, `kubernetes.yaml` and `ray_training.py` beside this file start it, and again after a failure.
Each process has a part of each batch; process 0 writes the checkpoint, which all must be able to read.
"""

import os
import pathlib

import numpy as np
from absl import app, flags

import laminax
import laminax.numpy as jnp
from laminax import distributed
from laminax.experimental import multihost_utils
from laminax.sharding import NamedSharding
from laminax.sharding import PartitionSpec as P

flags.DEFINE_integer("steps", 500, "Training steps in all, those of earlier starts included.", lower_bound=1)
flags.DEFINE_integer("every", 20, "Steps from one checkpoint to the next.", lower_bound=1)
flags.DEFINE_string("checkpoint", None, "The checkpoint, an .npz file.", required=True)
FLAGS = flags.FLAGS

BATCH, HIDDEN, RATE = 240, 32, 0.05


def batch_of(step):
    """The same batch for all, known by its step: the sine of a sum."""
    x = np.random.default_rng(step).uniform(-1, 1, (BATCH, 4)).astype(np.float32)
    return x, np.sin(3 * x.sum(axis=1))


def loss(params, x, y):
    return jnp.mean((jnp.tanh(x @ params["in"] + params["shift"]) @ params["out"] - y) ** 2)


def begin(checkpoint):
    """The step and the parameters to begin with: the checkpoint's, as process 0 reads it, or new ones."""
    rng = np.random.default_rng(0)
    params = {"in": rng.normal(size=(4, HIDDEN)), "shift": np.zeros(HIDDEN), "out": rng.normal(size=HIDDEN) / HIDDEN**0.5}
    step = 0
    if laminax.process_index() == 0 and checkpoint.exists():
        saved = dict(np.load(checkpoint))
        step, params = int(saved.pop("step")), saved
    return multihost_utils.broadcast_one_to_all((np.int32(step), {name: np.float32(value) for name, value in params.items()}))


def save(checkpoint, step, params):
    """Writes the checkpoint in one step: whoever reads it finds the old one or the new one."""
    if laminax.process_index() == 0:
        new = checkpoint.with_suffix(".new.npz")
        np.savez(new, step=step, **{name: np.asarray(value) for name, value in params.items()})
        os.replace(new, checkpoint)


def train(checkpoint, steps, every):
    """Trains from the checkpoint to the last step with all processes that there are; returns the last loss.

    Args:
      checkpoint: the file's path.
      steps: how many steps in all.
      every: after how many of them the checkpoint is written.
    """
    checkpoint = pathlib.Path(checkpoint)
    mesh = laminax.make_mesh((laminax.device_count(),), ("data",))
    whole, split = NamedSharding(mesh, P()), NamedSharding(mesh, P("data"))

    @laminax.jit(out_shardings=whole)
    def update(params, x, y):
        value, gradient = laminax.value_and_grad(loss)(params, x, y)
        return laminax.tree.map(lambda p, g: p - RATE * g, params, gradient), value

    start, params = begin(checkpoint)
    value = np.float32(np.nan)
    for step in range(int(start), steps):
        x, y = (laminax.make_array_from_callback(a.shape, split, lambda i, a=a: a[i]) for a in batch_of(step))
        params, value = update(params, x, y)
        if (step + 1) % every == 0 or step + 1 == steps:
            save(checkpoint, step + 1, params)
    return float(value)


def main(argv):
    distributed.initialize()  # where the processes meet, and which of them this one is, is the launcher's to say
    print(f"process {laminax.process_index()} of {laminax.process_count()} is {os.getpid()}", flush=True)
    last = train(FLAGS.checkpoint, FLAGS.steps, FLAGS.every)
    if laminax.process_index() == 0:
        print(f"loss: {last:.9f}", flush=True)


if __name__ == "__main__":
    app.run(main)
