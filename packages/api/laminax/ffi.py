"""Native functions in programs: registering them, and calling them through XLA's foreign function interface."""

from __future__ import annotations

from laminax_ir.ops.ffi import ffi_call
from laminax_lowering.rules.ffi import build_ffi_lowering_function, ffi_lowering
from laminax_runtime.backends.ffi import (
    include_dir,
    pycapsule,
    register_ffi_target,
    register_ffi_target_as_batch_partitionable,
    register_ffi_type,
    register_ffi_type_id,
)

import laminax._src  # noqa: F401  (puts the layers together)

__all__ = [
    "build_ffi_lowering_function", "ffi_call", "ffi_lowering", "include_dir", "pycapsule", "register_ffi_target",
    "register_ffi_target_as_batch_partitionable", "register_ffi_type", "register_ffi_type_id",
]
