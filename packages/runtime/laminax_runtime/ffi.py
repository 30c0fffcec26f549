"""Custom calls: native functions that compiled programs call by name, among them jaxlib's LAPACK kernels."""

from __future__ import annotations

import threading
from typing import Any

from laminax_runtime import _jaxlib

_XLA_PLATFORMS = {"cpu": "Host", "gpu": "CUDA", "cuda": "CUDA", "rocm": "ROCM"}  # as XLA's registry spells them

_lock = threading.Lock()
_has_lapack = False


def register_ffi_target(name: str, target: Any, platform: str = "cpu", api_version: int = 1, traits: int = 0) -> None:
    """Makes a native function callable from programs, as `stablehlo.custom_call` of this name.

    Args:
        name: the call target's name.
        target: a capsule with the function's address, or a dict of capsules by execution stage.
        platform: 'cpu', 'cuda', 'rocm', 'tpu'.
        api_version: 1 for XLA's typed FFI, 0 for the untyped convention before it.
        traits: XLA FFI's handler traits, as a bit mask.
    """
    _jaxlib.register_custom_call_target(name, target, _XLA_PLATFORMS.get(platform, platform), api_version, traits)


def ensure_lapack() -> None:
    """Registers jaxlib's LAPACK kernels for the CPU, once.

    `compile_module` does this for programs that name one. It imports scipy's linear algebra, whose LAPACK they call.
    """
    global _has_lapack
    with _lock:
        if _has_lapack:
            return
        lapack = _jaxlib.lapack_module()
        lapack.initialize()
        for name, target in lapack.registrations().items():
            register_ffi_target(name, target, "cpu", api_version=1 if name.endswith("_ffi") else 0)
        _has_lapack = True
