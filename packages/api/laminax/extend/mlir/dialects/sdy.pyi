# Written by tools/stubs.py.
"""MLIR's dialect `sdy`, as jaxlib has it. A table of contents: names load on first use."""

from jaxlib.mlir.dialects.sdy import *
