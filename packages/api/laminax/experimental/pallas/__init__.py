"""Kernels over grids of blocks, which are interpreted. A table of contents: names load on first use.

Names of JAX's module that are not listed can be imported, and refuse to be called.
"""

from typing import Any

from laminax._lazy import contents
from laminax._src.names.refused import names_of_module

__all__, _find, __dir__ = contents(__name__, {
    "pallas.call": "pallas_call",
    "pallas.blocks": """
        ANY BlockDim BlockSpec Blocked BoundedSlice Buffered Element GridSpec Squeezed no_block_spec squeezed""",
    "pallas.control": """
        align_to broadcast_to cdiv debug_check debug_print delay empty empty_like empty_ref_like enable_debug_checks loop multiple_of
        next_power_of_2 run_scoped run_state strides_from_shape when with_scoped""",
    "pallas.costs": "CostEstimate estimate_cost",
    "pallas.memory": "MemoryRef MemorySpace",
    "pallas.positions": "num_programs program_id",
    "pallas.tpu": "semaphore semaphore_read semaphore_signal semaphore_wait",
    "laminax_ir.refs.dynamic_slices": "Slice ds dslice"},
    ("ops", "tpu", "triton"))

_refused = names_of_module("experimental.pallas", "kernels are interpreted, and this is for their compilers. Use "
                                                  "pallas_call(interpret=True), or call a compiled kernel with laminax.ffi.ffi_call.")


def __getattr__(name: str) -> Any:
    return _find(name) if name in __all__ else _refused(name)
