# Written by tools/stubs.py.
"""The dialects of MLIR that jaxlib has. A table of contents: names load on first use."""

from laminax.extend.mlir.dialects import arith as arith
from laminax.extend.mlir.dialects import builtin as builtin
from laminax.extend.mlir.dialects import chlo as chlo
from laminax.extend.mlir.dialects import func as func
from laminax.extend.mlir.dialects import math as math
from laminax.extend.mlir.dialects import memref as memref
from laminax.extend.mlir.dialects import mpmd as mpmd
from laminax.extend.mlir.dialects import scf as scf
from laminax.extend.mlir.dialects import sdy as sdy
from laminax.extend.mlir.dialects import sparse_tensor as sparse_tensor
from laminax.extend.mlir.dialects import stablehlo as stablehlo
from laminax.extend.mlir.dialects import vector as vector

__all__: list[str]

