# Written by tools/stubs.py.
"""MLIR's Python bindings, for lowering rules that make operations. A table of contents: names load on first use."""

from typing import Any
from laminax.extend.mlir import dialects as dialects
from laminax.extend.mlir import ir as ir
from laminax.extend.mlir import passmanager as passmanager

__all__: list[str]

deserialize_portable_artifact: Any
hlo_to_stablehlo: Any
def lower_with_sharding_in_types(ctx: Any, op: Any, aval: Any) -> Any:
    """The value `op`, for rules that say how what they made is split over a mesh with explicit axes."""
refine_polymorphic_shapes: Any
serialize_portable_artifact: Any
