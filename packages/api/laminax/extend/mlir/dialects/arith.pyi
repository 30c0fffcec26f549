# Written by tools/stubs.py.
"""MLIR's dialect `arith`, as jaxlib has it. A table of contents: names load on first use."""

from jaxlib.mlir.dialects.arith import *
