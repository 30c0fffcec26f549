"""Clients of platforms, by the names that JAX's extension interface gives them."""

from __future__ import annotations

from typing import Any

import laminax_runtime as runtime
from laminax_runtime.backends import backends as _backends
from laminax_runtime.backends.placement import placement_device

from laminax._src.compiling.jit import clear_caches


def get_backend(platform: Any = None) -> Any:
    """The client of a platform, started on the first call.

    Args:
      platform: "cpu", "gpu", "tpu", ..., a client, or None for the default platform.

    Raises:
      PlatformError: if it does not start.
    """
    return platform if isinstance(platform, _backends.Client) else _backends.client(platform)


def backends() -> dict[str, Any]:
    """The clients that have been started, by platform; the default one is started."""
    runtime.default_backend()
    return _backends.started_clients()


def backend_xla_version(platform: Any = None) -> int | None:
    """The version of XLA that a platform's plugin names; None where it names none.

    Args:
      platform: as for `get_backend`.
    """
    return getattr(get_backend(platform), "xla_version", None)


def clear_in_memory_compilation_cache() -> None:
    """Forgets compiled programs, with the traced functions they came from; those on disk stay."""
    clear_caches()


def get_default_device() -> Any:
    """The device that new arrays are put on."""
    return placement_device()
