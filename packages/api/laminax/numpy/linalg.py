"""Linear algebra, as in `numpy.linalg`. A table of contents: names load on first use."""

from __future__ import annotations

import importlib

_NAMES = {
    "determinants": "det slogdet",
    "equations": "inv lstsq pinv solve tensorinv tensorsolve",
    "factorizations": "cholesky eig eigh eigvals eigvalsh qr svd svdvals",
    "norms": "cond matrix_norm matrix_rank norm vector_norm",
    "products": "cross diagonal matmul matrix_power matrix_transpose multi_dot outer tensordot trace vecdot",
}
_MODULE_OF = {name: module for module, names in _NAMES.items() for name in names.split()}

__all__ = sorted(_MODULE_OF)


def __getattr__(name: str):
    if (module := _MODULE_OF.get(name)) is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    importlib.import_module("laminax._src.setup")
    value = getattr(importlib.import_module(f"laminax._src.numpy.linalg.{module}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
