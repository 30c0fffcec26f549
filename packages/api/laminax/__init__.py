"""laminax: function transformations for numerical Python, compiled by XLA.

This module is a table of contents; a name's module is imported when the name is first used. Importing laminax
creates no client and starts no threads.
"""

from __future__ import annotations

import importlib

__version__ = "0.1.0"

_SUBMODULES = frozenset(("lax", "nn", "numpy", "random", "tree", "tree_util"))

_MODULE_OF = {
    # transformations
    "jit": "laminax._src.jit",
    "clear_caches": "laminax._src.jit",
    "closure_convert": "laminax._src.transforms",
    "custom_gradient": "laminax._src.transforms",
    "custom_jvp": "laminax._src.transforms",
    "custom_vjp": "laminax._src.transforms",
    "grad": "laminax._src.transforms",
    "hessian": "laminax._src.transforms",
    "jacfwd": "laminax._src.transforms",
    "jacobian": "laminax._src.transforms",
    "jacrev": "laminax._src.transforms",
    "jvp": "laminax._src.transforms",
    "linear_transpose": "laminax._src.transforms",
    "linearize": "laminax._src.transforms",
    "value_and_grad": "laminax._src.transforms",
    "vjp": "laminax._src.transforms",
    "vmap": "laminax._src.transforms",
    # programs and shapes
    "ShapeDtypeStruct": "laminax_ir.avals",
    "disable_jit": "laminax._src.api",
    "eval_shape": "laminax._src.api",
    "make_jaxpr": "laminax._src.api",
    "typeof": "laminax._src.api",
    # arrays and devices
    "Array": "laminax_runtime",
    "Device": "laminax_runtime",
    "block_until_ready": "laminax._src.api",
    "default_backend": "laminax_runtime",
    "device_count": "laminax_runtime",
    "device_get": "laminax._src.api",
    "device_put": "laminax._src.api",
    "devices": "laminax_runtime",
    "local_device_count": "laminax_runtime",
    "local_devices": "laminax_runtime",
    "process_count": "laminax_runtime",
    "process_index": "laminax_runtime",
    # settings
    "config": "laminax_ir.config",
    "default_device": "laminax_runtime",
    "enable_x64": "laminax_ir.config",
}

__all__ = ["__version__", *sorted(_SUBMODULES), *_MODULE_OF]


def __getattr__(name: str):
    if name in _SUBMODULES:
        return importlib.import_module(f"{__name__}.{name}")
    if (module := _MODULE_OF.get(name)) is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    importlib.import_module("laminax._src.setup")
    value = getattr(importlib.import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
