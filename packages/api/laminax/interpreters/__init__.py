"""How JAX's ecosystem registers rules for primitives of its own: by interpreter. Each module is a table of contents.

`laminax.extend` has the decorators that laminax's own operations use, with less to write. The modules here take rules in
JAX's form. What differs is `mlir`: laminax writes StableHLO as text, so a lowering rule gets laminax's context.
"""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {}, ("ad", "batching", "mlir", "partial_eval", "pxla", "xla"))
