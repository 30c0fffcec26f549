"""What kernels for TPUs are written with, interpreted. A table of contents: names load on first use.

Names of JAX's module that are not listed can be imported, and refuse to be called.
"""

from typing import Any

from laminax._lazy import contents
from laminax._src.names.refused import names_of_module

__all__, _find, __dir__ = contents(__name__, {
    "pallas.blocks": "PrefetchScalarGridSpec",
    "pallas.interpreting": "InterpretParams",
    "pallas.masked": "load store",
    "pallas.tpu": """
        ARBITRARY CORE_PARALLEL CompilerParams GridDimensionSemantics PARALLEL SUBCORE_PARALLEL async_copy bitcast dma_semaphore
        emit_pipeline force_tpu_interpret_mode make_async_copy
        reciprocal reset_tpu_interpret_mode_state roll set_tpu_interpret_mode sync_copy touch with_memory_space_constraint""",
    "pallas.tpu_memory": "CMEM HBM MemorySpace SEMAPHORE SMEM SemaphoreType VMEM VMEM_SHARED"})

_refused = names_of_module("experimental.pallas.tpu", "kernels are interpreted, and this is for the compiler of kernels for TPUs.")


def __getattr__(name: str) -> Any:
    return _find(name) if name in __all__ else _refused(name)
