"""Values that the processes of a program share, and what they do together. A table of contents: names load on first use."""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {
    "parallel.live_devices": "live_devices reached_preemption_sync_point",
    "parallel.process_parts": "global_array_to_host_local_array host_local_array_to_global_array",
    "parallel.process_values": "assert_equal broadcast_one_to_all process_allgather sync_global_devices",
    "laminax_runtime.backends.processes": "ProcessFailureError",
})
