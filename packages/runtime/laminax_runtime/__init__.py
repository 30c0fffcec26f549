"""The runtime layer: devices, arrays, transfers, compilation and dispatch on XLA through jaxlib.

This module is a table of contents. Importing it loads neither NumPy's relatives nor jaxlib; the first use of a name
loads its module, and the first use of a device makes the client.
"""

from __future__ import annotations

import importlib
from typing import Any

from laminax_runtime import _one_process

__version__ = "0.2.0"

_MODULE_OF = {
    # options
    "CompilerEffortLevel": "base.options",
    "compile_regions": "base.options",
    "default_device": "base.options",
    "no_execution": "base.options",
    "num_cpu_devices": "base.options",
    "platforms": "base.options",
    "array_garbage_collection_guard": "base.options",
    "thread_guard": "base.options",
    "transfer_guard": "base.options",
    "transfer_guard_device_to_device": "base.options",
    "transfer_guard_device_to_host": "base.options",
    "transfer_guard_host_to_device": "base.options",
    # backends and devices
    "Client": "backends.backends",
    "client": "backends.backends",
    "PlatformError": "base.errors",
    "is_out_of_memory": "base.errors",
    "register_plugin": "backends.backends",
    "Device": "backends.placement",
    "default_backend": "backends.placement",
    "device_count": "backends.placement",
    "devices": "backends.placement",
    "host_count": "backends.placement",
    "host_id": "backends.placement",
    "host_ids": "backends.placement",
    "local_device_count": "backends.placement",
    "local_devices": "backends.placement",
    "placement_device": "backends.placement",
    "process_count": "backends.placement",
    "process_index": "backends.placement",
    "process_indices": "backends.placement",
    "default_memory_kind": "backends.placement",
    "has_new_cpu_compiler": "backends.placement",
    "jaxlib_version": "backends.placement",
    "deserialize_topology": "backends.topologies",
    "is_compile_only": "backends.topologies",
    "serialize_topology": "backends.topologies",
    "topology_devices": "backends.topologies",
    # arrays
    "Array": "arrays.arrays",
    "ArrayImpl": "arrays.arrays",
    "Shard": "arrays.arrays",
    "check_alive": "arrays.arrays",
    "from_dlpack": "arrays.dlpack",
    "install_array_methods": "arrays.arrays",
    "make_array_from_callback": "arrays.assembly",
    "make_array_from_process_local_data": "arrays.assembly",
    "make_array_from_single_device_arrays": "arrays.arrays",
    "register_array_type": "arrays.arrays",
    # shardings
    "GSPMDSharding": "arrays.shardings",
    "Mesh": "backends.meshes",
    "current_mesh": "backends.meshes",
    "entered_mesh": "backends.meshes",
    "get_abstract_mesh": "backends.meshes",
    "get_mesh": "backends.meshes",
    "make_mesh": "backends.meshes",
    "on_devices": "backends.meshes",
    "only_mesh_of": "backends.meshes",
    "set_mesh": "backends.meshes",
    "use_abstract_mesh": "backends.meshes",
    "NamedSharding": "arrays.shardings",
    "Sharding": "arrays.shardings",
    "SingleDeviceSharding": "arrays.shardings",
    "as_named": "arrays.named_shardings",
    "has_terms": "arrays.shardings",
    "named_from_hlo": "arrays.named_shardings",
    "as_sharding": "arrays.shardings",
    "devices_of": "arrays.shardings",
    "have_same_devices": "arrays.shardings",
    "hlo_sharding": "arrays.shardings",
    "is_manual": "arrays.shardings",
    "misfit": "arrays.shardings",
    "on_device": "arrays.shardings",
    # transfers
    "as_uncommitted": "arrays.transfer",
    "block_until_ready": "arrays.transfer",
    "copy_for_callback": "arrays.transfer",
    "device_get": "arrays.transfer",
    "device_put": "arrays.transfer",
    "put_constant": "arrays.transfer",
    "put_exactly": "arrays.transfer",
    "put_result": "arrays.transfer",
    "set_resharder": "arrays.transfer",
    "explicit_transfer": "base.guards",
    "guards_transfers": "base.guards",
    "unguarded_transfers": "base.guards",
    # layouts
    "in_default_layout": "arrays.layouts",
    "layout_of": "arrays.layouts",
    "layout_text": "arrays.layouts",
    "layout_from_jaxlib": "arrays.layouts",
    "relayout": "arrays.layouts",
    "set_relayouter": "arrays.layouts",
    # compiling and running
    "Executable": "compiling.compile",
    "ExecutableSequence": "running.sequences",
    "Step": "running.sequences",
    "compile_module": "compiling.compile",
    "place_constant": "compiling.compile",
    "without_locations": "compiling.compilation_cache",
    "PipelineStage": "compiling.transformations",
    "clear_hlo_module_transformation": "compiling.transformations",
    "register_hlo_module_transformation": "compiling.transformations",
    "propagated_shardings": "compiling.propagation",
    "hlo_computation": "compiling.modules",
    "hlo_cost_analysis": "compiling.modules",
    "mlir_bindings": "_jaxlib",
    "mlir_functions": "_jaxlib",
    "mlir_module": "compiling.modules",
    "new_mlir_context": "_jaxlib",
    "printed_hlo": "compiling.modules",
    "printed_module": "compiling.modules",
    "refined_text": "compiling.modules",
    "deserialize_module": "compiling.modules",
    "serialize_module": "compiling.modules",
    "Buffer": "backends.ffi",
    "ExecutionContext": "backends.ffi",
    "ExecutionStage": "backends.ffi",
    "ensure_lapack": "backends.ffi",
    "is_rocm": "backends.ffi",
    "register_ffi_target": "backends.ffi",
    # dispatch
    "FastpathData": "running.dispatch",
    "clear_dispatch_caches": "running.dispatch",
    "execution_device": "running.dispatch",
    "fastpath_data": "running.dispatch",
    "install_jit_methods": "running.dispatch",
    "is_tracing": "base.context",
    "make_eager_function": "running.dispatch",
    "make_jit_function": "running.dispatch",
    "set_tracing": "base.context",
    # errors
    "DeletedArrayError": "base.errors",
    "UnsupportedValueError": "base.errors",
    "XlaRuntimeError": "base.errors",
}

__all__ = ["__version__", *_MODULE_OF]

_one_process.prepare()


def __getattr__(name: str) -> Any:
    if (module := _MODULE_OF.get(name)) is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{module}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
