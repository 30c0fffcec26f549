"""Clients of platforms, by the names that JAX's extension interface gives them."""

from __future__ import annotations

from typing import Any

import laminax_runtime as runtime
from laminax_runtime import backends as _backends
from laminax_runtime.placement import placement_device


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
    return dict(_backends._clients)


def get_default_device() -> Any:
    """The device that new arrays are put on."""
    return placement_device()
