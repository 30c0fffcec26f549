# Written by tools/stubs.py.
"""MLIR's Python bindings, for lowering rules that make operations. A table of contents: names load on first use."""

from laminax.extend.mlir import dialects as dialects
from laminax.extend.mlir import ir as ir
from laminax.extend.mlir import passmanager as passmanager

__all__: list[str]

