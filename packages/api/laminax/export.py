"""Exported functions: StableHLO with a calling convention, to be kept, sent, and called elsewhere.

Symbolic shapes are not supported: a function is exported for the shapes it is given.
"""

from laminax._src.export import DisabledSafetyCheck, Exported, default_export_platform, deserialize, export
from laminax._src.export_format import register_namedtuple_serialization, register_pytree_node_serialization

__all__ = [
    "DisabledSafetyCheck", "Exported", "default_export_platform", "deserialize", "export", "register_namedtuple_serialization",
    "register_pytree_node_serialization",
]
