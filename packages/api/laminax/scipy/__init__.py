"""Parts of SciPy's interface on laminax's arrays. A table of contents: modules load on first use."""

from __future__ import annotations

import importlib

__all__ = ["special"]


def __getattr__(name: str):
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return importlib.import_module(f"{__name__}.{name}")


def __dir__() -> list[str]:
    return __all__
