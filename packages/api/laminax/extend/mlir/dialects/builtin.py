"""MLIR's dialect `builtin`, as jaxlib has it. A table of contents: names load on first use."""

from laminax._src.names.extend.mlir import contents_of_bindings

__getattr__, __dir__ = contents_of_bindings("dialects.builtin")
