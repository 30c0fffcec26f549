"""Settings at the top level: `config`, and a context manager for each option that is often set for a block.

Loads neither jaxlib nor NumPy's relatives, so that platforms and device counts can be chosen before anything starts.
"""

from __future__ import annotations

from typing import Any

from laminax_ir.options.config import config
from laminax_ir.options.config_options import find
from laminax_ir.options.user_contexts import make_user_context
from laminax_runtime.base.options import transfer_guard  # that module defines the options of the runtime

# The options that are attributes of `laminax`; all others are attributes of `config` only.
_OPTIONS = """
    allow_f16_reductions array_garbage_collection_guard auto_pcast check_tracer_leaks checking_leaks debug_infs debug_key_reuse debug_nans
    default_device default_matmul_precision default_prng_impl enable_checks enable_custom_prng enable_x64 explain_cache_misses
    legacy_prng_key log_compiles no_execution no_tracing numpy_dtype_promotion numpy_rank_promotion remove_size_one_mesh_axis_from_type
    softmax_custom_jvp thread_guard threefry_partitionable transfer_guard_device_to_device transfer_guard_device_to_host
    transfer_guard_host_to_device""".split()

__all__ = ["config", "make_user_context", "transfer_guard", *_OPTIONS]


def __getattr__(name: str) -> Any:
    if name in _OPTIONS:
        return find(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
