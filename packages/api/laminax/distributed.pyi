# Written by tools/stubs.py.
"""Programs of several processes: their beginning and end. A table of contents: names load on first use."""

from collections.abc import Sequence
from laminax_runtime.backends.processes import Processes

__all__: list[str]

global_state: Processes
def initialize(
    coordinator_address: str | None = None,
    num_processes: int | None = None,
    process_id: int | None = None,
    local_device_ids: int | Sequence[int] | None = None,
    cluster_detection_method: str | None = None,
    initialization_timeout: int = 300,
    heartbeat_timeout_seconds: int = 100,
    shutdown_timeout_seconds: int = 300,
    coordinator_bind_address: str | None = None,
    slice_index: int | None = None,
    partition_index: int | None = None,
    mtls_cert_file: str | None = None,
    mtls_key_file: str | None = None,
    mtls_ca_file: str | None = None,
    mtls_peer_uri_prefix: str | None = None,
    verify_secure_credentials: bool | None = None,
) -> None:
    """Begins a program of several processes; returns when all of them have come, and comes before the first computation."""
def is_initialized() -> bool:
    """Whether `initialize` was called, and `shutdown` not since."""
def reinitialize(
    coordinator_address: str | None = None,
    num_processes: int | None = None,
    process_id: int | None = None,
    coordinator_bind_address: str | None = None,
) -> None:
    """Leaves the processes that this one is among, and meets those that live, or others, anew. All of them must call it."""
def shutdown() -> None:
    """Ends the program of several processes: waits until all have come here. Nothing, where `initialize` was not called."""
