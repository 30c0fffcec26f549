"""Callbacks on buffers, with the classes of what they are given."""

from __future__ import annotations

from laminax_ir.ops.buffer_callbacks import buffer_callback
from laminax_runtime import Buffer, ExecutionContext, ExecutionStage

__all__ = ["Buffer", "ExecutionContext", "ExecutionStage", "buffer_callback"]
