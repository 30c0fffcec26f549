# Written by tools/stubs.py.
"""MLIR's dialect `builtin`, as jaxlib has it. A table of contents: names load on first use."""

from jaxlib.mlir.dialects.builtin import *
