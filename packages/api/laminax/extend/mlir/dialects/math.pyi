# Written by tools/stubs.py.
"""MLIR's dialect `math`, as jaxlib has it. A table of contents: names load on first use."""

from jaxlib.mlir.dialects.math import *
