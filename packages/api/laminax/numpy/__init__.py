"""NumPy's interface on laminax's arrays: differentiable, compiled, and the same function inside and outside of `jit`.

This module is a table of contents; a name's module is imported when the name is first used.
"""

from __future__ import annotations

import importlib
from typing import Any

from laminax._numpy_names import CONSTANTS, MODULE_OF

_SUBMODULES = ("fft", "linalg")

globals().update(CONSTANTS)

__all__ = sorted([*MODULE_OF, *CONSTANTS, *_SUBMODULES, "ComplexWarning", "ndarray"])


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        try:
            return importlib.import_module(f"{__name__}.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"{__name__}.{name}":
                raise
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
    if name == "ndarray":
        from laminax_runtime import Array
        return Array
    if name == "ComplexWarning":
        import numpy
        return numpy.exceptions.ComplexWarning
    if (module := MODULE_OF.get(name)) is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(f"laminax._src.numerics.numpy.{module}"), name)
    return value


def __dir__() -> list[str]:
    return __all__
