"""Exported functions: StableHLO with a calling convention, to be kept, sent, and called elsewhere.

A function is exported for shapes that are numbers, or once for all sizes that symbolic shapes stand for; for one device or several, which
need not be those that it is called on. Calling conventions have laminax's own numbers: 2 is a module whose `main` takes the flat
arguments, 3 one that takes those that are read only. Exported for several platforms, it takes the number of the one that runs it
before them, i32[]. Sizes are no arguments: `main` asks its arguments for theirs.
"""

from laminax._src.exporting.export import (
    DisabledSafetyCheck,
    Exported,
    default_export_platform,
    deserialize,
    export,
    maximum_supported_calling_convention_version,
    minimum_supported_calling_convention_version,
)
from laminax._src.exporting.export_format import register_namedtuple_serialization, register_pytree_node_serialization
from laminax._src.exporting.symbolic_shapes import SymbolicScope, is_symbolic_dim, symbolic_args_specs, symbolic_dim_bounds, symbolic_shape

__all__ = [
    "DisabledSafetyCheck", "Exported", "SymbolicScope", "default_export_platform", "deserialize", "export", "is_symbolic_dim",
    "maximum_supported_calling_convention_version", "minimum_supported_calling_convention_version",
    "register_namedtuple_serialization", "register_pytree_node_serialization", "symbolic_args_specs", "symbolic_dim_bounds",
    "symbolic_shape",
]
