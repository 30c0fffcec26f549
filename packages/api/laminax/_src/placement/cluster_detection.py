"""Which of the known schedulers and launchers has started this process."""

from __future__ import annotations

from laminax._src.placement.cloud_clusters import GceTpu, GkeTpu, Kubernetes
from laminax._src.placement.clusters import Cluster, Mpi4py, OpenMpi, Slurm

KNOWN: tuple[type[Cluster], ...] = (OpenMpi, Slurm, Mpi4py, GkeTpu, GceTpu, Kubernetes)


def detect(name: str | None, timeout: float) -> Cluster | None:
    """The scheduler of a name, or the first that is found; None if none is.

    Args:
      name: one of `KNOWN`, or None.
      timeout: seconds to wait for the host of process 0 to have an address.

    Raises:
      ValueError: if there is no scheduler of the name.
      RuntimeError: if the one of the name has not started this process.
    """
    if name is None:
        found = (kind(timeout) for kind in KNOWN if not kind.must_be_named)
        return next((cluster for cluster in found if cluster.is_present()), None)
    kinds = {kind.name: kind for kind in KNOWN}
    if name not in kinds:
        raise ValueError(f"distributed.initialize: cluster_detection_method must be one of {', '.join(map(repr, kinds))}, 'deactivate' or "
                         f"None, got {name!r}")
    cluster = kinds[name](timeout)
    if not cluster.is_present():
        raise RuntimeError(f"distributed.initialize: cluster_detection_method is {name!r}, but this process was not started so: the "
                           "environment has none of its variables, or its library is not installed.")
    return cluster
