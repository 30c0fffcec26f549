"""The runtime's options: which platforms and how many devices, and where arrays go that name no device.

They live apart from the code that reads them so that they can be set before jaxlib is loaded.
"""

from __future__ import annotations

import os
from typing import Any

from laminax_ir import config


def _check_count(value: Any) -> int | None:
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and value > 0):
        return value
    raise ValueError


def _check_platforms(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value or None
    raise ValueError


def _check_device(value: Any) -> Any:
    if value is None or isinstance(value, str) or hasattr(value, "platform"):
        return value
    raise ValueError


def _parse_none(text: str) -> str | None:
    return None if text.strip().lower() in ("", "none") else text.strip()


platforms = config.define(
    "platforms",
    os.environ.get("JAX_PLATFORMS") or None,
    config.ValueType("None or a comma-separated list such as 'cpu' or 'cuda,cpu'", _check_platforms, _parse_none),
    "The platforms to start, the default one first; None takes an accelerator that works, else the CPU.",
)
num_cpu_devices = config.define(
    "num_cpu_devices",
    _check_count(int(os.environ["JAX_NUM_CPU_DEVICES"])) if os.environ.get("JAX_NUM_CPU_DEVICES") else None,
    config.ValueType(
        "None or a positive int", _check_count, lambda text: _check_count(int(text) if _parse_none(text) else None)
    ),
    "How many devices the CPU platform has; None leaves it to XLA_FLAGS, whose default is one.",
)
default_device = config.define(
    "default_device",
    None,
    config.ValueType("None, a device or a platform's name", _check_device, _parse_none),
    "Where uncommitted arrays and computations go; None is the default platform's first device.",
)
