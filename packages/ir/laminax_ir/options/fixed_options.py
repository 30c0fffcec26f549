"""Options of JAX that have a single value in laminax, each with the reason why it has no other.

A program may read them, and set them to the value that they have. They are looked up when a name is no option of laminax, and
cost nothing until then.
"""

from __future__ import annotations

import os
import warnings
from typing import Any, NamedTuple


class Fixed(NamedTuple):
    """The only value, and the reason, which completes the sentence "since ..."; other values that may be set, since they mean the same."""
    value: Any
    reason: str
    others: tuple[Any, ...] = ()


_NO_PALLAS = "laminax has no Pallas"
_NO_PROFILES = "compilation guided by profiles is not supported"
_ONE_WAY = "laminax has one implementation only"
_NO_CHECKS = "there are no checks inside compiled programs but those of laminax.experimental.checkify"
_EFFORT = "newer versions of jaxlib have no such setting; set optimization_level or memory_fitting_level"
_XLA_CACHES = ("all", "xla_gpu_per_fusion_autotune_cache_dir", "xla_gpu_kernel_cache_file")
_XLA_FLAGS = "it is not passed to XLA; set it in the environment, in XLA_FLAGS or as the variable of the platform"

FIXED: dict[str, Fixed] = {
    "backend_target": Fixed("", "devices are never on another machine"),
    "bcoo_cusparse_lowering": Fixed(False, "sparse matrices are multiplied by gathers and sums on every platform"),
    "captured_constants_report_frames": Fixed(0, "constants do not remember where they were captured"),
    "compilation_cache_check_contents": Fixed(False, "entries of the compilation cache have a checksum of their own"),
    "compilation_cache_expect_pgle": Fixed(False, _NO_PROFILES),
    "compiler_detailed_logging_min_ops": Fixed(10, "the compiler's phases are logged by log_compiles"),
    "cross_host_transfer_socket_address": Fixed("", "transfers between hosts are left to the platform"),
    "cross_host_transport_addresses": Fixed("", "transfers between hosts are left to the platform"),
    "cuda_visible_devices": Fixed("all", "devices are chosen in the environment: CUDA_VISIBLE_DEVICES"),
    "custom_vjp3": Fixed(False, _ONE_WAY),
    "debug_leaked_clients_on_clear_backends": Fixed(False, "backends are never cleared"),
    "disable_vmap_shmap_error": Fixed(False, "the check cannot be switched off"),
    "distributed_debug": Fixed(False, "there is no such log"),
    "dump_ir_modes": Fixed("stablehlo", "programs are dumped as StableHLO; print jaxprs with make_jaxpr"),
    "eager_constant_folding": Fixed(False, "operations on constants are recorded as they are"),
    "embedded_constants_max_bytes": Fixed(32, "which constants are written into programs cannot be chosen"),
    "enable_pgle": Fixed(False, _NO_PROFILES),
    "error_checking_behavior_divide": Fixed("ignore", _NO_CHECKS),
    "error_checking_behavior_nan": Fixed("ignore", f"{_NO_CHECKS}, and debug_nans"),
    "error_checking_behavior_oob": Fixed("ignore", _NO_CHECKS),
    "exec_time_optimization_effort": Fixed(0.0, _EFFORT),
    "experimental_unsafe_xla_runtime_errors": Fixed(False, _NO_CHECKS),
    "export_calling_convention_version": Fixed(3, "programs are exported in the newest convention of laminax.export"),
    "export_ignore_forward_compatibility": Fixed(False, "operations are exported in one form only"),
    "hlo_source_file_canonicalization_regex": Fixed(None, "file names are written as they are, and are no part of the cache's key"),
    "include_debug_info_in_dumps": Fixed(True, "dumped programs have their source positions"),
    "jax2tf_associative_scan_reductions": Fixed(False, "there is no jax2tf"),
    "jax2tf_default_native_serialization": Fixed(True, "there is no jax2tf"),
    "memory_fitting_effort": Fixed(0.0, _EFFORT),
    "mock_gpu_topology": Fixed("", "GPUs are never simulated"),
    "mock_num_gpu_processes": Fixed(0, "GPUs are never simulated"),
    "mosaic_allow_hlo": Fixed(False, _NO_PALLAS),
    "mutable_array_checks": Fixed(True, "references are always checked: none may be given twice, nor returned"),
    "oneapi_visible_devices": Fixed("all", "oneAPI devices are not supported"),
    "pallas_enable_debug_checks": Fixed(False, _NO_PALLAS),
    "pallas_poison_buffers": Fixed(False, _NO_PALLAS),
    "pallas_use_mosaic_gpu": Fixed(True, _NO_PALLAS),
    "pallas_verbose_errors": Fixed(False, _NO_PALLAS),
    "persistent_cache_enable_xla_caches": Fixed("none",
                                                "compiled programs are kept whole, and XLA's own caches for GPUs not beside them; name "
                                                "them in XLA_FLAGS", _XLA_CACHES),
    "pgle_aggregation_percentile": Fixed(90, _NO_PROFILES),
    "pgle_profiling_runs": Fixed(3, _NO_PROFILES),
    "pjrt_client_create_options": Fixed(None, "clients take their options from the environment, or from laminax_runtime.register_plugin"),
    "pprint_use_color": Fixed(False, "printed programs have no colours"),
    "ragged_dot_use_gpu_pallas_triton_lowering": Fixed(False, _NO_PALLAS),
    "ragged_dot_use_ragged_dot_instruction": Fixed(True, _ONE_WAY),
    "refs_to_pins": Fixed(False, "references are discharged before a program is compiled"),
    "remat3": Fixed(False, _ONE_WAY, (True,)),
    "remove_custom_partitioning_ptr_from_cache_key": Fixed(False, "custom partitioning is not supported"),
    "rocm_visible_devices": Fixed("all", "devices are chosen in the environment: ROCR_VISIBLE_DEVICES"),
    "scan3": Fixed(False, _ONE_WAY, (True,)),
    "send_traceback_to_runtime": Fixed("off", "tracebacks stay in Python"),
    "serialization_version": Fixed(0, "exported programs have one format"),
    "share_binary_between_hosts": Fixed(False, "each process compiles for itself, or takes what the compilation cache has"),
    "share_binary_between_hosts_timeout_ms": Fixed(1200000, "each process compiles for itself"),
    "sort_devices_by_process_index": Fixed(True, "devices are always sorted"),
    "source_url_schema": Fixed(None, "programs are not printed as HTML"),
    "threefry_gpu_kernel_lowering": Fixed(False, "random bits are ordinary operations on every platform"),
    "tracer_error_num_traceback_frames": Fixed(1, "errors name the line that made a tracer, not its callers"),
    "use_direct_linearize": Fixed(True, "linearization is always direct"),
    "use_emit_pipeline_primitive": Fixed(False, _NO_PALLAS),
    "use_magma": Fixed("auto", "eigenvalues of general matrices are computed by LAPACK or cuSOLVER"),
    "use_shardy_partitioner": Fixed(True, "programs are partitioned by Shardy only"),
    "use_simplified_jaxpr_constants": Fixed(False, _ONE_WAY),
    "xla_backend": Fixed("", "the default platform is chosen by the option platforms"),
    "xla_profile_version": Fixed(0, _NO_PROFILES),
    **{name: Fixed(value, _XLA_FLAGS) for name, value in (("cross_host_transfer_timeout_seconds", None),
                                                         ("cross_host_transfer_transfer_size", None),
                                                         ("force_dcn_cross_host_transfers", False))},
}


def warn_of_environment() -> None:
    """Warns of variables such as JAX_ENABLE_PGLE=true that ask for what laminax does not have."""
    for variable, text in os.environ.items():
        name = variable.removeprefix("JAX_").lower()
        if variable.startswith("JAX_") and (fixed := FIXED.get(name)) and not any(_means(text, x) for x in (fixed.value, *fixed.others)):
            warnings.warn(f"{variable}={text} has no effect: {name} is always {FIXED[name].value!r}, since {FIXED[name].reason}.",
                          RuntimeWarning, stacklevel=3)


def _means(text: str, value: Any) -> bool:
    text = text.strip().lower()
    if isinstance(value, bool):
        return text in (("1", "true", "yes", "on", "y", "t") if value else ("0", "false", "no", "off", "n", "f", ""))
    return text == ("" if value is None else str(value).lower())
