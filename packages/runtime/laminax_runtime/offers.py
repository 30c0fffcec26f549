"""The names that other packages may import of this layer, by module: they keep their meaning through 0.2.x, all others may change.

`tools/offers.py` prints this in the README; `tools/tests/test_offers.py` holds other packages to it.
"""

from __future__ import annotations

# For each module below this package: the names, or `*` for every public name of a family of operations.
OFFERS: dict[str, str] = {
    "": """
        Array ArrayImpl Buffer Client CompilerEffortLevel DeletedArrayError Device Executable ExecutableSequence
        ExecutionContext ExecutionStage FastpathData GSPMDSharding Mesh NamedSharding Shard Sharding
        SingleDeviceSharding Step XlaRuntimeError as_named as_sharding as_uncommitted block_until_ready check_alive
        clear_dispatch_caches client compile_module compile_regions copy_for_callback current_mesh default_backend
        default_device default_memory_kind deserialize_module deserialize_topology device_count
        device_get device_put devices devices_of entered_mesh execution_device explicit_transfer fastpath_data from_dlpack
        get_abstract_mesh get_mesh guards_transfers has_new_cpu_compiler has_terms
        have_same_devices hlo_computation hlo_cost_analysis hlo_sharding host_count host_id host_ids
        in_default_layout is_manual is_out_of_memory
        install_array_methods install_jit_methods is_compile_only is_rocm jaxlib_version layout_from_jaxlib layout_of layout_text
        local_device_count local_devices make_array_from_callback make_array_from_process_local_data
        make_array_from_single_device_arrays make_eager_function make_jit_function make_mesh misfit mlir_bindings mlir_functions mlir_module
        named_from_hlo new_mlir_context no_execution on_device on_devices only_mesh_of place_constant
        placement_device printed_hlo printed_module
        process_count process_index process_indices propagated_shardings put_constant put_exactly put_result refined_text
        register_array_type relayout serialize_module serialize_topology set_mesh set_relayouter set_resharder set_tracing topology_devices
        unguarded_transfers use_abstract_mesh""",
    "arrays.dlpack": "is_supported_dtype",
    "backends.backends": "Client _clients client started_clients",
    "arrays.transfer_servers": "TransferConnection TransferServer make_error_array start_transfer_server",
    "backends.ffi": """
        include_dir pycapsule register_ffi_target register_ffi_target_as_batch_partitionable register_ffi_type
        register_ffi_type_id""",
    "backends.placement": "forget_devices placement_device",
    "base.errors": "DeletedArrayError JaxRuntimeError PlatformError UnsupportedValueError XlaRuntimeError",
    "base.monitoring": """
        clear_event_listeners record_event record_event_duration_secs record_event_time_span record_scalar
        register_event_duration_secs_listener register_event_listener register_event_time_span_listener
        register_scalar_listener unregister_event_duration_listener unregister_event_listener
        unregister_event_time_span_listener unregister_scalar_listener""",
    "arrays.hlo_shardings": "hlo_sharding_of_bytes op_sharding_of_bytes",
    "backends.processes": "ProcessFailureError connect disconnect has_credentials state",
    "base.options": "transfer_guard",
    "base.process_options": "check_proxy_envs credential_options",
    "compiling.transformations": "PipelineStage clear_hlo_module_transformation register_hlo_module_transformation",
    "compiling.compilation_cache": "_cache_in",
    "running.profiler": """
        ProfileData ProfileEvent ProfileLine ProfileOptions ProfilePlane ProfileSession StepTraceAnnotation
        TraceAnnotation annotate_function device_memory_profile export_profile_data get_profiled_instructions_proto register_subprocess
        save_device_memory_profile start_server start_trace stop_server stop_trace trace""",
}
