# Written by tools/stubs.py.
"""MLIR's dialect `func`, as jaxlib has it. A table of contents: names load on first use."""

from jaxlib.mlir.dialects.func import *
