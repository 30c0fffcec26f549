"""Settings at the top level: `config`, and a context manager for each option that is often set for a block.

Loads neither jaxlib nor NumPy's relatives, so that platforms and device counts can be chosen before anything starts.
"""

from __future__ import annotations

from typing import Any

from laminax_ir.options.config import (
    check,
    check_leaks,
    config,
    debug_infs,
    debug_key_reuse,
    debug_nans,
    default_matmul_precision,
    default_prng_impl,
    enable_custom_prng,
    enable_x64,
    explain_cache_misses,
    legacy_prng_key,
    log_compiles,
    no_tracing,
    numpy_dtype_promotion,
    numpy_rank_promotion,
    softmax_custom_jvp,
    threefry_partitionable,
)
from laminax_ir.options.config_options import find
from laminax_ir.options.user_contexts import make_user_context
from laminax_runtime.base.options import (
    array_garbage_collection_guard,
    default_device,
    no_execution,
    thread_guard,
    transfer_guard,
    transfer_guard_device_to_device,
    transfer_guard_device_to_host,
    transfer_guard_host_to_device,
)

check_tracer_leaks = checking_leaks = check_leaks
enable_checks = check
_ONE_VALUE = ("allow_f16_reductions", "auto_pcast", "remove_size_one_mesh_axis_from_type")


def __getattr__(name: str) -> Any:
    """Options that have one value only, which are loaded when a program names them."""
    if name in _ONE_VALUE:
        return find(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    *_ONE_VALUE, "softmax_custom_jvp",
    "array_garbage_collection_guard", "check_tracer_leaks", "checking_leaks", "config", "debug_infs", "debug_key_reuse", "debug_nans",
    "default_device", "default_matmul_precision", "default_prng_impl", "enable_checks", "enable_custom_prng", "enable_x64",
    "explain_cache_misses", "legacy_prng_key", "log_compiles", "make_user_context", "no_execution", "no_tracing", "numpy_dtype_promotion",
    "numpy_rank_promotion", "thread_guard", "threefry_partitionable", "transfer_guard",
    "transfer_guard_device_to_device", "transfer_guard_device_to_host", "transfer_guard_host_to_device",
]
