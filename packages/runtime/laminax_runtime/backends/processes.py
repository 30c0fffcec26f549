"""The processes of a program: the service where they meet, and this process's connection to it.

Process 0 runs jaxlib's coordination service, and every process is a client of it. Through the client they tell each other what devices
they have when a platform starts, keep values under keys, wait for each other at barriers, and are known to be alive.
"""

from __future__ import annotations

import atexit
import ctypes
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from laminax_runtime import _jaxlib
from laminax_runtime.base import process_options

if TYPE_CHECKING:
    from laminax_runtime.backends.process_watch import Watch


class ProcessFailureError(_jaxlib.XlaRuntimeError):
    """Processes of this program have failed while others worked with their devices.

    Attributes:
        failed_devices: the devices of these processes.
        failed_processes: their numbers.
    """

    def __init__(self, failed_devices: Iterable[_jaxlib.Device], message: str = "") -> None:
        self.failed_devices = set(failed_devices)
        self.failed_processes = sorted({device.process_index for device in self.failed_devices})
        super().__init__(f"Devices failed: {self.failed_devices}, of the processes {self.failed_processes}. {message}".rstrip())


@dataclass
class Processes:
    """The processes of this program; one, without a client or a service, until `connect`. Libraries (orbax) read it by these names."""

    process_id: int = 0
    num_processes: int = 1
    client: Any = None
    service: Any = None
    preemption_sync_manager: Any = None
    coordinator_address: str | None = None
    partition_index: int | None = None
    local_device_ids: tuple[int, ...] | None = None
    watch: Watch | None = None
    timeouts: dict[str, int] = field(default_factory=dict)
    credentials: dict[str, Any] = field(default_factory=dict)


state = Processes()
has_credentials: bool = _jaxlib.has_credentials


def connect(address: str, bind_address: str, num_processes: int, process_id: int, *, initialization_timeout: int, heartbeat_timeout: int,
            shutdown_timeout: int, partition_index: int | None, local_device_ids: tuple[int, ...] | None,
            credentials: Mapping[str, Any]) -> None:
    """Joins the processes that meet at an address; returns when all have come.

    Args:
        address: host and port of the service.
        bind_address: where process 0 opens the service.
        num_processes, process_id: how many there are, and which this one is.
        initialization_timeout, heartbeat_timeout, shutdown_timeout: the seconds to wait for all to come, for a sign of life, and for all
            to end.
        partition_index: of which partition this process's devices are, where the platform does not know.
        local_device_ids: the devices of its machine that this process uses; all, if None.
        credentials: certificates, by jaxlib's names for the parameters.

    Raises:
        XlaRuntimeError: the service cannot be opened, or not all have come in time.
    """
    limits = {"heartbeat_timeout": heartbeat_timeout, "shutdown_timeout": shutdown_timeout, **credentials}
    is_recoverable = process_options.enable_recoverability.value
    service: Any = None
    if process_id == 0:
        from laminax_runtime.backends.coordinator import Coordinator

        of_service = {**limits, "cluster_register_timeout": initialization_timeout, "recoverable": is_recoverable}
        service = (Coordinator(bind_address, num_processes, of_service) if is_recoverable
                   else _jaxlib.make_distributed_service(bind_address, num_processes, **of_service))
    try:
        client = _jaxlib.make_distributed_client(address, process_id, init_timeout=initialization_timeout, use_compression=True, **limits)
        client.connect()
    except BaseException:
        if service is not None:
            service.shutdown()
        raise
    state.process_id, state.num_processes, state.coordinator_address = process_id, num_processes, address
    state.client, state.service = client, service
    state.partition_index, state.local_device_ids = partition_index, local_device_ids
    if process_options.enable_preemption_service.value:
        state.preemption_sync_manager = _jaxlib.make_preemption_sync_manager()
        state.preemption_sync_manager.initialize(client)
    if is_recoverable:
        from laminax_runtime.backends.process_watch import Watch

        state.watch = Watch(client, process_id, num_processes, heartbeat_timeout)
    state.timeouts = {"initialization_timeout": initialization_timeout, "heartbeat_timeout": heartbeat_timeout,
                      "shutdown_timeout": shutdown_timeout}
    state.credentials = dict(credentials)
    atexit.register(_disconnect_at_exit)


def _disconnect_at_exit() -> None:
    """Leaves the others at the end of the program. Where an exception has ended it, they are not waited for: they may wait for this one."""
    if getattr(sys, "last_value", None) is None:
        disconnect()
        return
    for kept in (state.client, state.service):  # a client that is destroyed waits for all to leave, and without a service it aborts
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(kept))


def disconnect() -> None:
    """Leaves the other processes, when all of them have come here; nothing, where there are none."""
    atexit.unregister(_disconnect_at_exit)
    manager, client, service, watch = state.preemption_sync_manager, state.client, state.service, state.watch
    state.preemption_sync_manager = state.client = state.service = state.watch = None
    if watch is not None:
        _wait_for_all(watch, client)
    if manager is not None:
        manager.shutdown()  # before the client, which it uses
    if client is not None:
        client.shutdown()
    if service is not None:
        service.shutdown()


def _wait_for_all(watch: Watch, client: Any) -> None:
    """Waits until all have come to their end, where the client's own shutdown does not; not after a failure."""
    if not watch.failed:
        try:
            client.wait_at_barrier("laminax/end", 1000 * state.timeouts["shutdown_timeout"])
        except _jaxlib.XlaRuntimeError:
            pass  # somebody has failed, or takes too long: nothing is lost by not waiting
    watch.end()


@contextmanager
def naming_failures() -> Iterator[None]:
    """Context manager: if a computation fails inside because other processes have failed, the error names them.

    Raises:
        ProcessFailureError: that error.
    """
    try:
        yield
    except _jaxlib.XlaRuntimeError as error:
        watch = state.watch
        if watch is None or isinstance(error, ProcessFailureError) or not (failed := watch.verdict()):
            raise
        devices = [device for client in _clients_of_processes for device in client.devices() if device.process_index in failed]
        raise ProcessFailureError(devices, f"They gave no sign of life for {watch.heartbeat_timeout} s, or have ended. The processes "
                                           f"{watch.live} are alive. What was being computed with the failed ones is lost.") from error


def note_started(client: _jaxlib.Client) -> None:
    """Takes note of a platform's client, whose devices are those of all processes."""
    if state.client is not None:
        _clients_of_processes.append(client)


def forget_started() -> None:
    """Forgets the platforms' clients, where others are about to start."""
    _clients_of_processes.clear()


_clients_of_processes: list[_jaxlib.Client] = []


def cpu_client_options() -> dict[str, Any]:
    """What the CPU's client takes to be one of several processes."""
    if state.client is None:
        return {}
    return {
        "distributed_client": state.client,
        "node_id": state.process_id,
        "num_nodes": state.num_processes,
        "collectives": _cpu_collectives(),
        "get_local_topology_timeout_minutes": process_options.cpu_get_local_topology_timeout_minutes.value,
        "get_global_topology_timeout_minutes": process_options.cpu_get_global_topology_timeout_minutes.value,
    }


def _cpu_collectives() -> Any:
    kind = process_options.cpu_collectives_implementation.value
    if kind == "gloo":
        return _jaxlib.make_gloo_collectives(distributed_client=state.client)
    if kind == "mpi":
        collectives = _jaxlib.make_mpi_collectives()
        collectives.Init()
        atexit.register(collectives.Finalize)
        return collectives
    return None


def plugin_client_options(platform: str) -> dict[str, Any]:
    """What a plugin's client is told about the processes; a TPU's finds it out by itself."""
    if state.client is None or platform == "tpu":
        return {}
    found: dict[str, Any] = {"node_id": state.process_id, "num_nodes": state.num_processes}
    if state.partition_index is not None:
        found["partition_index"] = state.partition_index
    if state.local_device_ids is not None and platform in ("cuda", "rocm"):
        found["visible_devices"] = list(state.local_device_ids)
    return found
