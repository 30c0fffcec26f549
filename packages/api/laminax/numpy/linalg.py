"""Linear algebra, as in `numpy.linalg`. A table of contents: names load on first use."""

from __future__ import annotations

import importlib

__all__ = [
    "cholesky", "cond", "cross", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh", "inv", "lstsq", "matmul",
    "matrix_norm", "matrix_power", "matrix_rank", "matrix_transpose", "multi_dot", "norm", "outer", "pinv", "qr", "slogdet",
    "solve", "svd", "svdvals", "tensordot", "tensorinv", "tensorsolve", "trace", "vecdot", "vector_norm",
]


def __getattr__(name: str):
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    importlib.import_module("laminax._src.setup")
    value = getattr(importlib.import_module("laminax._src.numpy.linalg"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
