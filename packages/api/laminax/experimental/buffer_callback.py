"""Callbacks that write into the buffers of a program. A table of contents: names load on first use."""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {
    "laminax_ir.ops.buffer_callbacks": "buffer_callback",
    "laminax_runtime": "Buffer ExecutionContext ExecutionStage",
})
