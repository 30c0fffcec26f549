"""The beginning and end of programs of several processes. laminax programs have one process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from laminax_runtime.backends import backends

_has_begun = False


@dataclass(frozen=True)
class _Processes:
    """JAX's state of a program's processes, as libraries (orbax) read it: one process, without a client or a service."""

    process_id: int = 0
    num_processes: int = 1
    client: None = None
    service: None = None
    coordinator_address: None = None


global_state = _Processes()


def initialize(coordinator_address: str | None = None, num_processes: int | None = None, process_id: int | None = None,
               local_device_ids: int | Sequence[int] | None = None, cluster_detection_method: str | None = None,
               initialization_timeout: int = 300, heartbeat_timeout_seconds: int = 100, shutdown_timeout_seconds: int = 300,
               coordinator_bind_address: str | None = None, slice_index: int | None = None, partition_index: int | None = None,
               mtls_cert_file: str | None = None, mtls_key_file: str | None = None, mtls_ca_file: str | None = None,
               mtls_peer_uri_prefix: str | None = None, verify_secure_credentials: bool | None = None) -> None:
    """Begins a program of one process; comes before the first computation. Those of several are not supported.

    Args:
      coordinator_address, coordinator_bind_address: the address where processes meet; not used by one process.
      num_processes: must be 1.
      process_id: must be 0 or None.
      local_device_ids, cluster_detection_method, slice_index, partition_index: must be None.
      mtls_cert_file, mtls_key_file, mtls_ca_file, mtls_peer_uri_prefix, verify_secure_credentials: must be None (the last one may be
        False): one process makes no connections that certificates could secure.
      initialization_timeout, heartbeat_timeout_seconds, shutdown_timeout_seconds: seconds to wait for other processes; not used.

    Raises:
      RuntimeError: if it was called before, or a platform has started.
      ValueError: if num_processes is not given, or process_id is not one of theirs.
      NotImplementedError: for several processes, and for parameters that choose among devices or find clusters.

    Example:
      >>> distributed.initialize("localhost:1234", num_processes=1, process_id=0)
    """
    global _has_begun
    if _has_begun:
        raise RuntimeError("distributed.initialize should only be called once. Call distributed.shutdown() first.")
    if started := backends.started_clients():
        raise RuntimeError("distributed.initialize() must be called before any computation, and before laminax.devices() and the like: "
                           f"the platforms {sorted(started)} have started already.")
    if num_processes is None:
        raise ValueError("distributed.initialize: num_processes must be given, clusters are not asked for it. Give num_processes=1, or "
                         "leave the call out: programs of one process need none.")
    if num_processes != 1:
        raise NotImplementedError("distributed.initialize: programs of several processes are not supported, got "
                                  f"num_processes={num_processes}. One process can use all devices of its machine: leave the call out.")
    if process_id not in (None, 0):
        raise ValueError(f"distributed.initialize: process_id must be 0 where num_processes is 1, got {process_id}")
    for name, value in (("local_device_ids", local_device_ids), ("cluster_detection_method", cluster_detection_method),
                        ("slice_index", slice_index), ("partition_index", partition_index)):
        if value is not None:
            raise NotImplementedError(f"distributed.initialize: {name} must be None, got {value!r}. A mesh of some of "
                                      "laminax.devices() chooses devices.")
    secured = {"mtls_cert_file": mtls_cert_file, "mtls_key_file": mtls_key_file, "mtls_ca_file": mtls_ca_file,
               "mtls_peer_uri_prefix": mtls_peer_uri_prefix, "verify_secure_credentials": verify_secure_credentials or None}
    for name, value in secured.items():
        if value is not None:
            raise NotImplementedError(f"distributed.initialize: {name} must be None, got {value!r}. A program of one process makes no "
                                      "connections to secure: leave it out.")
    _has_begun = True


def is_initialized() -> bool:
    """Whether `initialize` was called, and `shutdown` not since."""
    return _has_begun


def shutdown() -> None:
    """Ends the program of processes that `initialize` began."""
    global _has_begun
    _has_begun = False
