"""The beginning and end of programs of several processes: which they are, and where they meet.

What the caller does not say is taken from the environment: from variables for this purpose, or from the scheduler or launcher that started
the processes (`clusters`).
"""

from __future__ import annotations

import logging
import operator
import os
from collections.abc import Sequence
from typing import Any

from laminax_ir.tracing.user_warnings import warn_at_user
from laminax_runtime.backends import backends, processes
from laminax_runtime.base import process_options

from laminax._src.placement.cluster_detection import detect

global_state = processes.state


def initialize(coordinator_address: str | None = None, num_processes: int | None = None, process_id: int | None = None,
               local_device_ids: int | Sequence[int] | None = None, cluster_detection_method: str | None = None,
               initialization_timeout: int = 300, heartbeat_timeout_seconds: int = 100, shutdown_timeout_seconds: int = 300,
               coordinator_bind_address: str | None = None, slice_index: int | None = None, partition_index: int | None = None,
               mtls_cert_file: str | None = None, mtls_key_file: str | None = None, mtls_ca_file: str | None = None,
               mtls_peer_uri_prefix: str | None = None, verify_secure_credentials: bool | None = None) -> None:
    """Begins a program of several processes; returns when all of them have come, and comes before the first computation.

    Each process runs the same program. Afterwards `devices()` are those of all processes, and `local_devices()` those of this one. Under
    Slurm, Open MPI, Kubernetes and on Cloud TPU no argument is needed.

    Args:
      coordinator_address: host and port where the processes meet; process 0 is there. By default the environment's
        JAX_COORDINATOR_ADDRESS, or what the scheduler says.
      num_processes: how many processes there are.
      process_id: which of them this one is, from 0.
      local_device_ids: the GPUs of its machine that this process uses, by number; by default JAX_LOCAL_DEVICE_IDS, or where a scheduler
        starts several processes per machine the one of the process's number there, or all.
      cluster_detection_method: how to find out what is not given: "ompi", "slurm", "mpi4py", "gketpu", "gcetpu" or "k8s"; "deactivate" does
        not. By default the first that is found; mpi4py must be asked for.
      initialization_timeout: seconds to wait for all processes to come.
      heartbeat_timeout_seconds: seconds without a sign of life after which a process counts as failed.
      shutdown_timeout_seconds: seconds to wait, at the end, for all others to end.
      coordinator_bind_address: where process 0 listens; by default JAX_COORDINATOR_BIND_ADDRESS, or the port of coordinator_address on
        all of its machine's addresses, or on the loopback address if it is that.
      slice_index: the older name of partition_index.
      partition_index: which partition of a larger machine this process's devices are; by default JAX_PARTITION_INDEX.
      mtls_cert_file, mtls_key_file, mtls_ca_file, mtls_peer_uri_prefix: certificates with which the processes prove who they are; by
        default the options of these names.
      verify_secure_credentials: whether to refuse connections without certificates; by default the option
        `distributed_verify_secure_credentials`.

    Raises:
      RuntimeError: if it was called before, or a platform has started.
      TypeError: if process_id or num_processes is no int.
      ValueError: if an argument is missing and cannot be found out, or process_id is not one of theirs.
      NotImplementedError: for certificates with a jaxlib that has none.
      XlaRuntimeError: if the processes do not meet in time.

    Example:
      >>> distributed.initialize("10.0.0.1:1234", num_processes=2, process_id=0)  # doctest: +SKIP
    """
    _check_is_first()
    if slice_index is not None:
        warn_at_user("distributed.initialize: slice_index is the older name of partition_index; give that.", DeprecationWarning)
        partition_index = slice_index if partition_index is None else partition_index
    coordinator_address = coordinator_address or os.environ.get("JAX_COORDINATOR_ADDRESS")
    ids = _device_ids(local_device_ids)
    if cluster_detection_method != "deactivate" and None in (coordinator_address, num_processes, process_id, ids):
        found = detect(cluster_detection_method, initialization_timeout)
        if found is not None:
            coordinator_address = found.coordinator_address() if coordinator_address is None else coordinator_address
            num_processes = found.process_count() if num_processes is None else num_processes
            process_id = found.process_id() if process_id is None else process_id
            local_id = found.local_process_id() if ids is None else None
            ids = (local_id,) if local_id is not None else ids
    address, count, index = checked_processes(coordinator_address, num_processes, process_id)
    _warn_of_proxies()
    processes.connect(
        address, bind_address(address, coordinator_bind_address), count, index, initialization_timeout=initialization_timeout,
        heartbeat_timeout=heartbeat_timeout_seconds, shutdown_timeout=shutdown_timeout_seconds,
        partition_index=_partition_index(partition_index), local_device_ids=ids,
        credentials=_credentials(mtls_cert_file, mtls_key_file, mtls_ca_file, mtls_peer_uri_prefix, verify_secure_credentials))


def _check_is_first() -> None:
    if is_initialized():
        raise RuntimeError("distributed.initialize should only be called once. Call distributed.shutdown() first.")
    if started := backends.started_clients():
        raise RuntimeError("distributed.initialize() must be called before any computation, and before laminax.devices() and the like: "
                           f"the platforms {sorted(started)} have started already.")


def _device_ids(given: int | Sequence[int] | None) -> tuple[int, ...] | None:
    if given is None:
        text = os.environ.get("JAX_LOCAL_DEVICE_IDS")
        return tuple(map(int, text.split(","))) if text else None
    try:
        return tuple(map(operator.index, given)) if isinstance(given, Sequence) else (operator.index(given),)
    except TypeError:
        raise TypeError(f"distributed.initialize: local_device_ids must be an int, a sequence of ints or None, got {given!r}") from None


def checked_processes(address: str | None, count: int | None, index: int | None) -> tuple[str, int, int]:
    """Where processes meet, how many they are and which this one is, as the caller has said it; errors, where that cannot be."""
    what = "Give it to distributed.initialize: no scheduler was found that says it."
    if address is None:
        raise ValueError(f"coordinator_address should be defined: the host and port where processes meet. {what}")
    if count is None:
        raise ValueError(f"Number of processes must be defined: num_processes is None. {what}")
    if index is None:
        raise ValueError(f"The process id of the current process must be defined: process_id is None. {what}")
    for name, value, kind in (("process_id", index, "nonnegative"), ("num_processes", count, "positive")):
        if not isinstance(value, int) or isinstance(value, bool):
            raise TypeError(f"distributed.initialize: {name} must be a {kind} int. Got {name}={value!r} of type {type(value)}.")
    if not 0 <= index < count:
        raise ValueError("process_id and num_processes must be nonnegative, with process_id < num_processes. "
                         f"Got process_id={index}, num_processes={count}.")
    host, colon, port = address.rpartition(":")
    if not (host and colon and port.isdigit()):
        raise ValueError(f"distributed.initialize: coordinator_address must be of the form 'host:port', got {address!r}")
    return address, count, index


def bind_address(address: str, given: str | None) -> str:
    """Where process 0 listens for an address where processes meet."""
    if chosen := given or os.environ.get("JAX_COORDINATOR_BIND_ADDRESS"):
        return chosen
    host, _, port = address.rpartition(":")
    return address if host == "localhost" or host.startswith("127.") or host == "[::1]" else f"[::]:{port}"


def _partition_index(given: int | None) -> int | None:
    if given is not None:
        return given
    text = os.environ.get("JAX_PARTITION_INDEX") or os.environ.get("JAX_SLICE_INDEX")
    return int(text) if text else None


def _credentials(cert_file: str | None, key_file: str | None, ca_file: str | None, peer_uri_prefix: str | None,
                 verify: bool | None) -> dict[str, Any]:
    """Certificates by jaxlib's names for the parameters; what is not given is the option's."""
    given = {"mtls_cert_file": cert_file, "mtls_key_file": key_file, "mtls_ca_file": ca_file, "mtls_peer_uri_prefix": peer_uri_prefix,
             "verify_secure_credentials": verify}
    chosen = {name: process_options.credential_options[name].value if value is None else value for name, value in given.items()}
    chosen = {name: value for name, value in chosen.items() if value}
    if chosen and not processes.has_credentials:
        raise NotImplementedError(f"distributed.initialize: {', '.join(chosen)} cannot be given: the installed jaxlib connects processes "
                                  "without certificates. Install jaxlib 0.12 or newer.")
    files = [name for name in ("mtls_cert_file", "mtls_key_file", "mtls_ca_file") if name in chosen]
    if len(files) in (1, 2):
        raise ValueError("distributed.initialize: mtls_cert_file, mtls_key_file and mtls_ca_file belong together, got only "
                         f"{' and '.join(files)}")
    return chosen


def _warn_of_proxies() -> None:
    found = [name for name in os.environ if name.lower().endswith("_proxy") and name.lower() != "no_proxy"]
    if found and process_options.check_proxy_envs.value:
        logging.getLogger("laminax").warning(
            "distributed.initialize: the environment has %s. If the processes do not find each other, it may be because they look for each "
            "other through the proxy: unset it, or list their hosts in no_proxy.", ", ".join(sorted(found)))


def is_initialized() -> bool:
    """Whether `initialize` was called, and `shutdown` not since."""
    return processes.state.client is not None


def shutdown() -> None:
    """Ends the program of several processes: waits until all have come here. Nothing, where `initialize` was not called."""
    processes.disconnect()
