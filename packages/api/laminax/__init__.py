"""laminax: function transformations for numerical Python, compiled by XLA.

This module is a table of contents; a name's module is imported when the name is first used. Importing laminax
creates no client and starts no threads.
"""

from __future__ import annotations

import importlib
from typing import Any

import laminax_runtime as _runtime  # noqa: F401  (refuses to live beside jax, before anything is loaded)

from laminax._version import __version__, __version_info__

_SUBMODULES = frozenset((
    "ad", "ad_checkpoint", "api_util", "core", "custom_batching", "custom_derivatives", "custom_transpose", "debug", "distributed",
    "dlpack", "dtypes", "errors", "example_libraries", "experimental", "export", "extend", "ffi", "flatten_util", "image", "interpreters",
    "lax", "lib", "linen", "memory", "monitoring", "nn", "numpy", "ops", "profiler", "random", "ref", "scipy", "sharding", "stages",
    "test_util", "testing", "tree", "tree_util", "typing", "version",
))

_NAMES = {
    # transformations
    "laminax._src.autojit.autojit": "autojit",
    "laminax._src.compiling.jit": "clear_caches jit",
    "laminax._src.parallel.pmap": "pmap",
    "laminax._src.parallel.shard_map": "shard_map smap",
    "laminax._src.parallel.sharding_constraints": "reshard",
    "laminax._src.compiling.passes": "fwd_and_bwd",
    "laminax_transforms": """
        checkpoint checkpoint_policies closure_convert custom_gradient custom_jvp custom_vjp grad hessian jacfwd jacobian jacrev jvp
        linear_transpose linearize remat value_and_grad vjp vmap""",
    # programs, shapes, names
    "laminax_ir.types.shape_dtype_structs": "ShapeDtypeStruct",
    "laminax_ir.types.dtypes": "float0",
    "laminax_ir.types.partition_specs": "P",
    "laminax_ir.ops.callbacks": "pure_callback",
    "laminax_ir.ops.calls": "Inline",
    "laminax_ir.ops.state": "empty_ref free_ref",
    "laminax_ir.refs.refs": "Ref freeze new_ref",
    "laminax._src.compiling.effects": "effects_barrier",
    "laminax_ir.refs.dynamic_slices": "ds",
    "laminax._src.compiling.abstract_calls": "eval_shape make_jaxpr typeof",
    "laminax._src.compiling.scopes": "disable_jit ensure_compile_time_eval named_call named_scope",
    "laminax._src.parallel.transfers": """
        block_until_ready copy_to_host_async device_get device_put device_put_replicated device_put_sharded live_arrays
        local_devices""",
    "laminax._src.exporting.xla_computation": "xla_computation",
    # arrays and devices
    "laminax_runtime": """
        Array CompilerEffortLevel Device default_backend device_count devices get_abstract_mesh get_mesh host_count host_id host_ids
        local_device_count make_array_from_callback make_array_from_process_local_data make_array_from_single_device_arrays
        make_mesh NamedSharding Shard process_count
        process_index process_indices set_mesh use_abstract_mesh""",
    "laminax._src.debugging.environment": "print_environment_info",
    "laminax._src.explaining.explain": "explain",
    "laminax._src.explaining.notebooks": "load_ipython_extension unload_ipython_extension",
    # settings
    "laminax._settings": """
        allow_f16_reductions array_garbage_collection_guard auto_pcast check_tracer_leaks checking_leaks config debug_infs
        debug_key_reuse debug_nans default_device default_matmul_precision default_prng_impl enable_checks enable_custom_prng
        enable_x64 explain_cache_misses
        legacy_prng_key log_compiles make_user_context no_execution no_tracing numpy_dtype_promotion numpy_rank_promotion
        remove_size_one_mesh_axis_from_type softmax_custom_jvp thread_guard
        threefry_partitionable transfer_guard
        transfer_guard_device_to_device transfer_guard_device_to_host transfer_guard_host_to_device""",
}
_MODULE_OF = {name: module for module, names in _NAMES.items() for name in names.split()}

__all__ = ["__version__", "__version_info__", *sorted(_SUBMODULES), *_MODULE_OF]


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES or name == "_src":  # libraries reach modules of `jax._src` without importing them
        return importlib.import_module(f"{__name__}.{name}")
    if (module := _MODULE_OF.get(name)) is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if module != "laminax._settings":  # settings are wanted before anything is loaded
        importlib.import_module("laminax._src")  # puts the layers together
    value = getattr(importlib.import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
