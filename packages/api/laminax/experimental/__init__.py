"""Functions that may still change: a table of contents; a name's module is imported when the name is first used."""

from __future__ import annotations

import importlib
from typing import Any

_MODULE_OF = {"io_callback": "laminax_ir.ops.callbacks", "primal_tangent_dtype": "laminax_ir.types.dtypes",
              "cur_qdd": "laminax._src.names.hijax"}

_SUBMODULES = frozenset((
    "array_serialization", "as_jax", "buffer_callback", "checkify", "colocated_python", "compilation_cache", "compute_on",
    "custom_partitioning", "fused", "hijax", "jet", "key_reuse", "layout", "mesh_utils", "multihost_utils", "ode", "overlap", "pallas",
    "pjit", "profiler", "random", "rnn", "roofline", "scheduling_groups", "serialize_executable", "shard_map", "sparse", "topologies",
    "xla_metadata",
))

__all__ = sorted([*_MODULE_OF, *_SUBMODULES])  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        return importlib.import_module(f"{__name__}.{name}")
    if (module := _MODULE_OF.get(name)) is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    importlib.import_module("laminax._src")  # puts the layers together
    value = getattr(importlib.import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
