"""laminax.lax.linalg: factorizations of matrices, as XLA and LAPACK have them.

A table of contents; `laminax.numpy.linalg` has the NumPy-like functions on top.
"""

from __future__ import annotations

import importlib
from typing import Any

_NAMES = {
    "laminax_ir.ops.linalg": """
        EigImplementation EighImplementation SvdAlgorithm cholesky eig eigh hessenberg householder_product lu
        lu_pivots_to_permutation qr schur svd symmetric_product triangular_solve tridiagonal_solve""",
    "laminax_ir.ops.orthogonal": "cholesky_update ormqr tridiagonal",
    "laminax_ir.ops.polar": "qdwh",
}

_MODULE_OF = {name: module for module, names in _NAMES.items() for name in names.split()}

__all__ = sorted(_MODULE_OF)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    modules = [_MODULE_OF[name]] if name in _MODULE_OF else _NAMES if name.endswith("_p") else []
    for module in map(importlib.import_module, modules):
        if hasattr(module, name):
            importlib.import_module("laminax._src")  # puts the layers together
            value = globals()[name] = getattr(module, name)
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
