"""MLIR's Python bindings, for lowering rules that make operations. A table of contents: names load on first use."""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {}, ("dialects", "ir", "passmanager"))
