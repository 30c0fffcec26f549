"""The runtime layer: devices, arrays, transfers, compilation and dispatch on XLA through jaxlib.

This module is a table of contents. Importing it loads neither NumPy's relatives nor jaxlib; the first use of a name
loads its module, and the first use of a device makes the client.
"""

from __future__ import annotations

import importlib

from laminax_runtime import _one_process

__version__ = "0.1.0"

_MODULE_OF = {
    # options
    "compile_regions": "options",
    "default_device": "options",
    "no_execution": "options",
    "num_cpu_devices": "options",
    "platforms": "options",
    "array_garbage_collection_guard": "options",
    "thread_guard": "options",
    "transfer_guard": "options",
    "transfer_guard_device_to_device": "options",
    "transfer_guard_device_to_host": "options",
    "transfer_guard_host_to_device": "options",
    # backends and devices
    "Client": "backends",
    "client": "backends",
    "PlatformError": "errors",
    "register_plugin": "backends",
    "Device": "placement",
    "default_backend": "placement",
    "device_count": "placement",
    "devices": "placement",
    "host_count": "placement",
    "host_id": "placement",
    "host_ids": "placement",
    "local_device_count": "placement",
    "local_devices": "placement",
    "placement_device": "placement",
    "process_count": "placement",
    "process_index": "placement",
    "process_indices": "placement",
    "jaxlib_version": "placement",
    # arrays
    "Array": "arrays",
    "ArrayImpl": "arrays",
    "Shard": "arrays",
    "check_alive": "arrays",
    "from_dlpack": "dlpack",
    "install_array_methods": "arrays",
    "make_array_from_callback": "assembly",
    "make_array_from_process_local_data": "assembly",
    "make_array_from_single_device_arrays": "arrays",
    "register_array_type": "arrays",
    # shardings
    "GSPMDSharding": "shardings",
    "Mesh": "meshes",
    "current_mesh": "meshes",
    "entered_mesh": "meshes",
    "get_abstract_mesh": "meshes",
    "get_mesh": "meshes",
    "make_mesh": "meshes",
    "on_devices": "meshes",
    "only_mesh_of": "meshes",
    "set_mesh": "meshes",
    "use_abstract_mesh": "meshes",
    "NamedSharding": "shardings",
    "Sharding": "shardings",
    "SingleDeviceSharding": "shardings",
    "as_named": "shardings",
    "has_terms": "shardings",
    "named_from_hlo": "shardings",
    "as_sharding": "shardings",
    "misfit": "shardings",
    "on_device": "shardings",
    # transfers
    "as_uncommitted": "transfer",
    "block_until_ready": "transfer",
    "copy_for_callback": "transfer",
    "device_get": "transfer",
    "device_put": "transfer",
    "put_constant": "transfer",
    "put_exactly": "transfer",
    "set_resharder": "transfer",
    "explicit_transfer": "guards",
    "unguarded_transfers": "guards",
    # layouts
    "in_default_layout": "layouts",
    "layout_of": "layouts",
    "layout_text": "layouts",
    "layout_from_jaxlib": "layouts",
    "relayout": "layouts",
    "set_relayouter": "layouts",
    # compiling and running
    "Executable": "compile",
    "ExecutableSequence": "sequences",
    "Step": "sequences",
    "compile_module": "compile",
    "place_constant": "compile",
    "without_locations": "compilation_cache",
    "hlo_computation": "modules",
    "hlo_cost_analysis": "modules",
    "mlir_module": "modules",
    "printed_hlo": "modules",
    "printed_module": "modules",
    "deserialize_module": "modules",
    "serialize_module": "modules",
    "Buffer": "ffi",
    "ExecutionContext": "ffi",
    "ExecutionStage": "ffi",
    "ensure_lapack": "ffi",
    "register_ffi_target": "ffi",
    # dispatch
    "FastpathData": "dispatch",
    "clear_dispatch_caches": "dispatch",
    "execution_device": "dispatch",
    "fastpath_data": "dispatch",
    "install_jit_methods": "dispatch",
    "is_tracing": "context",
    "make_eager_function": "dispatch",
    "make_jit_function": "dispatch",
    "set_tracing": "context",
    # errors
    "DeletedArrayError": "errors",
    "UnsupportedValueError": "errors",
    "XlaRuntimeError": "errors",
}

__all__ = ["__version__", *_MODULE_OF]

_one_process.prepare()


def __getattr__(name: str):
    if (module := _MODULE_OF.get(name)) is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{module}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
