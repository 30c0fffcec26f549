"""laminax.lax.linalg: factorizations of matrices, as XLA and LAPACK have them.

A table of contents; `laminax.numpy.linalg` has the NumPy-like functions on top.
"""

from __future__ import annotations

import importlib

__all__ = ["cholesky", "eig", "eigh", "hessenberg", "householder_product", "lu", "lu_pivots_to_permutation", "qr", "schur", "svd",
           "symmetric_product", "triangular_solve", "tridiagonal_solve"]


def __getattr__(name: str):
    module = importlib.import_module("laminax_ir.ops.linalg") if name in __all__ or name.endswith("_p") else None
    if not hasattr(module, name):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    importlib.import_module("laminax._src.setup")
    value = globals()[name] = getattr(module, name)
    return value


def __dir__() -> list[str]:
    return __all__
