# Written by tools/stubs.py.
"""MLIR's passes, as jaxlib has them. A table of contents: names load on first use."""

from jaxlib.mlir.passmanager import *
