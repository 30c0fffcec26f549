"""Programs of several processes that begin anew in processes that live: among the survivors of a failure, or with others in their place."""

from __future__ import annotations

import socket

from laminax_runtime.backends import processes
from laminax_runtime.backends.placement import forget_devices

from laminax._src.compiling.jit import clear_caches
from laminax._src.placement.distributed import bind_address, checked_processes

_meetings = 0  # how often this process has met others again


def reinitialize(coordinator_address: str | None = None, num_processes: int | None = None, process_id: int | None = None,
                 coordinator_bind_address: str | None = None) -> None:
    """Leaves the processes that this one is among, and meets those that live, or others, anew. All of them must call it.

    It is for programs with the option `enable_recoverability`, after a `ProcessFailureError`. Without arguments those that live meet,
    numbered in their order. To have a new process in the place of one that has failed, all give the arguments, and the new one gives the
    same to `initialize`. Platforms start anew: meshes and arrays must be made again, and compiled programs are forgotten. What an array
    on this process's own devices holds can still be read.

    Args:
      coordinator_address: host and port where the processes meet; another one than before. By default a free port of the host of the first
        of them.
      num_processes: how many there are; by default those that live.
      process_id: which of them this one is; by default its place among those that live.
      coordinator_bind_address: where process 0 listens, as for `initialize`.

    Raises:
      RuntimeError: if `initialize` was not called.
      ValueError: if some of coordinator_address, num_processes and process_id are given, and not all.

    Example:
      >>> distributed.reinitialize()  # doctest: +SKIP
    """
    global _meetings
    state = processes.state
    if state.client is None:
        raise RuntimeError("distributed.reinitialize: distributed.initialize() has not been called. Call that.")
    given = (coordinator_address, num_processes, process_id)
    if None in given and any(x is not None for x in given):
        raise ValueError("distributed.reinitialize: coordinator_address, num_processes and process_id must be given together, or none of "
                         f"them; got coordinator_address={coordinator_address!r}, num_processes={num_processes!r}, "
                         f"process_id={process_id!r}")
    _meetings += 1
    if coordinator_address is None:
        live = state.watch.live if state.watch is not None else list(range(state.num_processes))
        num_processes, process_id = len(live), live.index(state.process_id)
        coordinator_address = _agreed_address(process_id == 0)
    address, count, index = checked_processes(coordinator_address, num_processes, process_id)
    timeouts, credentials, partition, ids = state.timeouts, state.credentials, state.partition_index, state.local_device_ids
    processes.disconnect()
    clear_caches()
    forget_devices()
    processes.connect(address, bind_address(address, coordinator_bind_address), count, index, partition_index=partition,
                      local_device_ids=ids, credentials=credentials, **timeouts)


def _agreed_address(is_first: bool) -> str:
    """A free port of the first process's host, which it tells the others in the place where they still meet."""
    client, key = processes.state.client, f"laminax/meeting/{_meetings}"
    if is_first:
        host = _own_host(processes.state.coordinator_address or "")
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as found:
            found.bind((host, 0))
            port = found.getsockname()[1]
        client.key_value_set(key, f"[{host}]:{port}" if ":" in host else f"{host}:{port}")
    return client.blocking_key_value_get(key, 1000 * processes.state.timeouts["initialization_timeout"])


def _own_host(coordinator: str) -> str:
    """The address of this host as the one where processes have met sees it."""
    host, _, port = coordinator.rpartition(":")
    family, kind, _, _, address = socket.getaddrinfo(host.strip("[]"), int(port), type=socket.SOCK_DGRAM)[0]
    with socket.socket(family, kind) as probe:
        probe.connect(address)  # which sends nothing
        return probe.getsockname()[0]
