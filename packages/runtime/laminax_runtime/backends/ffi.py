"""Custom calls: native functions that compiled programs call by name, among them the kernels for linear algebra.

A plugin has a table of its own, apart from jaxlib's: its functions are registered through its extension module, once the plugin
is there, and those that users register earlier wait for it. The kernels are in the packages jax-cuda12-plugin and so on.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from typing import Any

from laminax_runtime import _jaxlib
from laminax_runtime.base.errors import PlatformError

# The arguments of Python functions that are called on the buffers of a program.
Buffer = _jaxlib.FfiBuffer
ExecutionContext = _jaxlib.FfiExecutionContext
ExecutionStage = _jaxlib.FfiExecutionStage

_XLA_PLATFORMS = {"cpu": "Host", "gpu": "CUDA", "cuda": "CUDA", "rocm": "ROCM"}  # as XLA's registry spells them
_GPUS = ("CUDA", "ROCM")

# The beginnings of the names of kernels that come with jaxlib and its plugins.
LAPACK = "lapack_"
GPU_KERNELS = ("cusolver_", "cusparse_", "cublas_", "cuhybrid_", "cu_", "hipsolver_", "hipsparse_", "hipblas_", "hiphybrid_", "hip_")

HYBRID_KERNELS = ("cuhybrid_", "hiphybrid_")  # which compute on the host

_lock = threading.RLock()
_has_lapack = False
_has_hybrid = False
_has_kernels: set[str] = set()
_plugins: dict[str, Any] = {}  # by XLA's name for the platform: the plugin as it was loaded
_waiting: dict[str, list[tuple]] = {}
_waiting_types: dict[str, list[tuple[str, Any]]] = {}


def register_ffi_target(name: str, fn: Any, platform: str = "cpu", api_version: int = 1, traits: int = 0) -> None:
    """Makes a native function callable from programs, as `stablehlo.custom_call` of this name.

    Args:
        name: the call target's name.
        fn: a capsule with the function's address, or a dict of capsules by execution stage.
        platform: 'cpu', 'cuda', 'rocm', 'tpu'.
        api_version: 1 for XLA's typed FFI, 0 for the untyped convention before it.
        traits: XLA FFI's handler traits, as a bit mask.
    """
    platform = _XLA_PLATFORMS.get(platform, platform)
    if platform not in _GPUS:
        _jaxlib.register_custom_call_target(name, fn, platform, api_version, traits)
        return
    with _lock:
        if platform in _plugins:
            _register_with_plugin(platform, name, fn, api_version, traits)
        else:
            _waiting.setdefault(platform, []).append((name, fn, api_version, traits))


def register_ffi_type(name: str, type_registration: Any, platform: str = "cpu") -> None:
    """Makes a type of native functions known, such as that of the state that a function keeps from one call to the next.

    Args:
        name: the type's name, which no other one has.
        type_registration: a dict of capsules: `type_id`, of a pointer to the `XLA_FFI_TypeId`, which gets its number, and `type_info`,
            of one to the `XLA_FFI_TypeInfo`, which may be left out.
        platform: 'cpu', 'cuda', 'rocm', 'tpu'.
    """
    if not isinstance(type_registration, dict) or not {"type_id"} <= type_registration.keys() <= {"type_id", "type_info"}:
        raise TypeError(f"register_ffi_type: type_registration must be a dict with the capsule type_id, and maybe type_info, got "
                        f"{type_registration!r}")
    platform = _XLA_PLATFORMS.get(platform, platform)
    if platform not in _GPUS:
        _jaxlib.register_custom_type(name, type_registration)
        return
    with _lock:
        if platform in _plugins:
            _extension(platform).register_custom_type(_plugins[platform], name, type_registration)
        else:
            _waiting_types.setdefault(platform, []).append((name, type_registration))


def register_ffi_type_id(name: str, obj: Any, platform: str = "cpu") -> None:
    """Refused, as by JAX: jaxlib takes the number of a type with `register_ffi_type`.

    Raises:
        ValueError: always.
    """
    raise ValueError("register_ffi_type_id is not supported after jaxlib version 381. Use "
                     f"register_ffi_type({name!r}, {{'type_id': capsule}}, {platform!r}).")


def _register_with_plugin(platform: str, name: str, target: Any, api_version: int, traits: int = 0) -> None:
    extension = _extension(platform)
    extension.register_custom_call_target(_plugins[platform], name, target, platform, api_version, traits)


def _extension(platform: str) -> Any:
    extension = _jaxlib.gpu_plugin_module(platform.lower(), f"{platform.lower()}_plugin_extension")
    if extension is None:
        raise PlatformError(_how_to_install(platform))
    return extension


def _how_to_install(platform: str) -> str:
    packages = {"CUDA": "jax-cuda13-plugin or jax-cuda12-plugin, as the loaded plugin", "ROCM": "jax-rocm7-plugin"}
    return (f"Native functions for {platform.lower()} need a package that is not installed, or not in a version for jaxlib "
            f"{_jaxlib.version}: {packages[platform]}.")


def connect_plugin(platform: str, c_api: Any) -> None:
    """Registers with a plugin that has been loaded the functions that wait for it, and the plugin's own functions that call Python.

    Args:
        platform: 'cuda' or 'rocm'; others have no native functions.
        c_api: the capsule that loading it gave.
    """
    name = _XLA_PLATFORMS.get(platform, platform)
    if name not in _GPUS:
        return
    with _lock:
        _plugins[name] = c_api
        waiting, waiting_types = _waiting.pop(name, []), _waiting_types.pop(name, [])
        extension = _jaxlib.gpu_plugin_module(platform, f"{platform}_plugin_extension")
        if extension is None and not waiting and not waiting_types:
            return  # programs that call no native functions run without
        for type_name, type_id in _extension(name).ffi_types().items():
            extension.register_custom_type(c_api, type_name, type_id)
        for type_name, registration in waiting_types:
            extension.register_custom_type(c_api, type_name, registration)
        for target_name, target in extension.ffi_handlers().items():
            _register_with_plugin(name, target_name, target, 1)
        for arguments in waiting:
            _register_with_plugin(name, *arguments)


def ensure_kernels(call_targets: Sequence[str], client: Any) -> None:
    """Registers the kernels that a program calls, once; `compile_module` does this for every program.

    Args:
        call_targets: the names of the functions that the program calls.
        client: of the platform that it is compiled for.

    Raises:
        PlatformError: if they are in a package that is not installed.
    """
    if client.platform == "cpu":
        if any(name.startswith(LAPACK) for name in call_targets):
            ensure_lapack()
    elif client.platform in ("cuda", "rocm", "gpu") and any(name.startswith(GPU_KERNELS) for name in call_targets):
        platform = "ROCM" if is_rocm(client) else "CUDA"
        ensure_gpu_kernels(platform, is_hybrid=any(name.startswith(HYBRID_KERNELS) for name in call_targets))


def is_rocm(client: Any) -> bool:
    """Whether the GPUs of a client are AMD's: attached ones say so in the version of the platform, those of a topology in its own name."""
    return "rocm" in f"{getattr(client, '_raw_platform', '')} {client.platform_version}".lower()


def register_ffi_target_as_batch_partitionable(name: str) -> None:
    """States that a registered function may be called on parts of the batch, split over leading axes of its arguments."""
    _jaxlib.register_batch_partitionable(name)


def pycapsule(funcptr: Any) -> Any:
    """The address of a native function as a capsule, for `register_ffi_target`.

    Args:
        funcptr: a function of a library that was loaded with `ctypes`.

    Raises:
        TypeError: it is none.

    Example:
        >>> library = ctypes.cdll.LoadLibrary("./rms_norm.so")
        >>> register_ffi_target("rms_norm", pycapsule(library.RmsNorm))
    """
    import ctypes

    if not isinstance(funcptr, (ctypes._CFuncPtr, ctypes.c_void_p)):  # type: ignore[attr-defined]
        raise TypeError(
            f"pycapsule: expected a function of a library loaded with ctypes, got {funcptr!r} of type {type(funcptr).__name__}"
        )
    address = ctypes.cast(funcptr, ctypes.c_void_p)
    make = ctypes.pythonapi.PyCapsule_New
    make.restype, make.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    return make(address, None, None)


def include_dir() -> str:
    """The folder of XLA's header files, for compiling native functions with `xla/ffi/api/ffi.h`."""
    return os.path.join(_jaxlib.package_folder(), "include")


def ensure_lapack() -> None:
    """Registers jaxlib's LAPACK kernels for the CPU, once.

    This imports scipy's linear algebra, whose LAPACK the kernels call.
    """
    global _has_lapack
    with _lock:
        if _has_lapack:
            return
        lapack = _jaxlib.lapack_module()
        lapack.initialize()
        for name, target in lapack.registrations().items():
            is_typed = name.endswith("_ffi")
            register_ffi_target(name, target, "cpu", api_version=1 if is_typed else 0)
            if is_typed:
                _jaxlib.register_batch_partitionable(name)  # over several devices, each has some of the matrices
        _has_lapack = True


def ensure_gpu_kernels(platform: str, is_hybrid: bool = False) -> None:
    """Registers the kernels of the GPU plugin's package, once.

    Args:
        platform: 'CUDA' or 'ROCM'.
        is_hybrid: whether those are needed that compute on the host, with scipy's LAPACK.

    Raises:
        PlatformError: if the package is not installed.
    """
    global _has_hybrid
    with _lock:
        if platform not in _has_kernels:
            kernels = _jaxlib.gpu_kernels(platform)
            if not kernels:
                raise PlatformError(_how_to_install(platform))
            for name, target, api_version in kernels:
                register_ffi_target(name, target, platform.lower(), api_version)
            for name in _jaxlib.gpu_kernels_of_batches():
                _jaxlib.register_batch_partitionable(name, _plugins.get(platform))
            _has_kernels.add(platform)
        if is_hybrid and not _has_hybrid:
            _jaxlib.initialize_hybrid_kernels()
            _has_hybrid = True
