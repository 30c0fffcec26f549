# Written by tools/stubs.py.
"""MLIR's dialect `sparse_tensor`, as jaxlib has it. A table of contents: names load on first use."""

from jaxlib.mlir.dialects.sparse_tensor import *
