# Written by tools/stubs.py.
"""MLIR's types, attributes, operations and values, as jaxlib has them. A table of contents: names load on first use."""

from jaxlib.mlir.ir import *
