"""The interface of JAX's writers of arrays, which libraries ask for. Its own writer, to TensorStore, is not supported and says so."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Callable, Sequence

from laminax._src.names.refused import names_of_module

__all__ = ["AsyncManager", "GlobalAsyncCheckpointManager", "GlobalAsyncCheckpointManagerBase", "async_deserialize", "async_serialize",
           "get_tensorstore_spec", "run_deserialization", "run_serialization"]

__getattr__ = names_of_module("experimental.array_serialization.serialization",
                              "arrays are not written to TensorStore here. Use the library orbax, or numpy.savez.")


class GlobalAsyncCheckpointManagerBase(ABC):
    """The base class of managers that write arrays in the background."""

    @abstractmethod
    def check_for_errors(self) -> None:
        """Raises what went wrong in writing since it was last asked."""

    @abstractmethod
    def wait_until_finished(self) -> None:
        """Waits until all arrays are written."""

    @abstractmethod
    def serialize(self, arrays: Sequence[Any], tensorstore_specs: Sequence[dict[str, Any]], *,
                  on_commit_callback: Callable[[], Any]) -> None:
        """Begins to write arrays, and calls `on_commit_callback` when it is done."""

    @abstractmethod
    def deserialize(self, shardings: Sequence[Any], tensorstore_specs: Sequence[dict[str, Any]],
                    global_shapes: Sequence[Any] | None = None, dtypes: Sequence[Any] | None = None) -> list[Any]:
        """The arrays that were written, on devices as the shardings say."""
