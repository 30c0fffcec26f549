"""Kinds of memory that arrays lie in, as `device_put` takes them."""

from __future__ import annotations

import enum
from typing import Any

import laminax_runtime as runtime
from laminax_ir.keys import PRNGKeyArray
from laminax_ir.trace import Tracer


class Space(enum.Enum):
    """A kind of memory: the device's own, or the host's that the device can reach. `Any` stands for a kind that is not known."""

    Device = enum.auto()
    Host = enum.auto()
    Any = enum.auto()


_KIND = {Space.Device: "device", Space.Host: "pinned_host"}


def sharding_in(x: Any, space: Space) -> runtime.Sharding:
    """Where x is, or will be, but in this kind of memory.

    Raises:
      ValueError: for `Space.Any`.
      NotImplementedError: for a traced value.
    """
    if space is Space.Any:
        raise ValueError("device_put: memory.Space.Any names no memory to put values in. Give Space.Device or Space.Host.")
    if isinstance(x, Tracer):
        raise NotImplementedError(f"device_put: a traced value, {x.aval.str_short()}, cannot be moved to memory.{space}. Move the array "
                                  "outside of the function.")
    is_array = isinstance(x, (runtime.ArrayImpl, PRNGKeyArray))
    return (x.sharding if is_array else runtime.on_device(runtime.placement_device())).with_memory_kind(_KIND[space])
