# Written by tools/stubs.py.
"""Values that the processes of a program share, and what they do together. A table of contents: names load on first use."""

from collections.abc import Iterator, Sequence
from laminax_runtime.backends.meshes import Mesh
from typing import Any
from laminax_runtime.backends.processes import ProcessFailureError as ProcessFailureError

__all__: list[str]

def assert_equal(in_tree: Any, fail_message: str = '') -> None:
    """Raises AssertionError, in all processes, unless all have the same values. All processes must call it."""
def broadcast_one_to_all(in_tree: Any, is_source: bool | None = None) -> Any:
    """The values of the process that is the source, in every process. All processes must call it."""
def global_array_to_host_local_array(global_inputs: Any, global_mesh: Mesh, pspecs: Any) -> Any:
    """The parts of whole arrays that this process has; with one process, the arrays as they are."""
def host_local_array_to_global_array(local_inputs: Any, global_mesh: Mesh, pspecs: Any) -> Any:
    """Whole arrays of the parts that each process has; with one process, these are the whole arrays already."""
def live_devices(devices: Sequence[Any]) -> Iterator[list[Any]]:
    """Context manager: gives those of the devices whose processes are alive, the same ones to all of these processes."""
def process_allgather(in_tree: Any, tiled: bool = False) -> Any:
    """The values of all processes, put together in each of them. All processes must call it."""
def reached_preemption_sync_point(step_id: int) -> bool:
    """Whether a machine will be taken away, and this is the step after which all processes should save."""
def sync_global_devices(name: str) -> None:
    """Waits until all processes have come to the point of this name, and their devices have done what they were given before."""
