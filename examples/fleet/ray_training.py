"""Trains with the actors of a Ray cluster, and begins again from the checkpoint when one has died, with as many as there is room for.

    python examples/fleet/ray_training.py --checkpoint=/tmp/training.npz --workers=4
"""

import os
import socket
import sys

import ray
from absl import app, flags

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import training  # noqa: E402

flags.DEFINE_integer("workers", 4, "Actors, each a process; fewer, while the cluster has no room for them.", lower_bound=1)
flags.DEFINE_float("cpus_per_worker", 1, "The room that an actor takes.", lower_bound=0.01)
flags.DEFINE_integer("starts", 10, "How often to start at most.", lower_bound=1)
FLAGS = flags.FLAGS


@ray.remote
class Worker:
    """A process of the training. It is used once: processes meet once."""

    def address(self):
        """An address on this worker's host where the others can meet it."""
        with socket.socket() as found:
            found.bind(("", 0))
            return f"{ray.util.get_node_ip_address()}:{found.getsockname()[1]}"

    def process_id(self):
        return os.getpid()

    def train(self, address, count, index, *options):
        training.distributed.initialize(address, count, index, cluster_detection_method="deactivate")
        last = training.train(*options)
        training.distributed.shutdown()
        return last


def main(argv):
    ray.init(ignore_reinit_error=True, runtime_env={"env_vars": {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}})
    for start in range(FLAGS.starts):
        count = max(1, min(FLAGS.workers, int(ray.cluster_resources().get("CPU", 0) / FLAGS.cpus_per_worker)))
        workers = [Worker.options(num_cpus=FLAGS.cpus_per_worker).remote() for _ in range(count)]
        try:
            for index, process in enumerate(ray.get([worker.process_id.remote() for worker in workers])):
                print(f"process {index} of {count} is {process}", flush=True)
            address = ray.get(workers[0].address.remote())
            found = ray.get([worker.train.remote(address, count, index, FLAGS.checkpoint, FLAGS.steps, FLAGS.every)
                             for index, worker in enumerate(workers)])
            print(f"loss: {found[0]:.9f}", flush=True)
            return
        except ray.exceptions.RayError as error:
            print(f"start {start + 1} of {FLAGS.starts} has failed: {str(error).splitlines()[0]}", file=sys.stderr, flush=True)
            for worker in workers:
                ray.kill(worker)
    raise SystemExit(1)


if __name__ == "__main__":
    app.run(main)
