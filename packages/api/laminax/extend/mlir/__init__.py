"""MLIR's Python bindings, for lowering rules that make operations. A table of contents: names load on first use."""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {"names.extend.mlir": """
    deserialize_portable_artifact hlo_to_stablehlo lower_with_sharding_in_types refine_polymorphic_shapes
    serialize_portable_artifact"""}, ("dialects", "ir", "passmanager"))
