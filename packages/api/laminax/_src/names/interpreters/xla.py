"""Running one primitive, and what a device's client is, by JAX's names."""

from __future__ import annotations

from typing import Any

from laminax_ir.programs.primitive import Primitive
from laminax_ir.tracing.trace import current_trace, eval_trace
from laminax_runtime.backends.backends import Client as Backend

__all__ = ["Backend"]


def apply_primitive(prim: Primitive, *args: Any, **params: Any) -> Any:
    """Computes one operation on values: compiles it on the first call for their types, and runs it.

    Args:
      prim: the operation.
      *args: arrays; no traced values.
      **params: its parameters.
    """
    with current_trace(eval_trace):
        return prim.bind(*args, **params)
