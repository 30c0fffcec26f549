"""NumPy's functions as the numerics above them use them: `from laminax._src.numerics.numpy import namespace as jnp`.

A table of contents, as `laminax.numpy` is for users: a name's module is imported when the name is first used. The modules of NumPy's
functions themselves import each other directly, so that their dependencies can be seen.
"""

from __future__ import annotations

import importlib
from typing import Any

from laminax._numpy_names import CONSTANTS, MODULE_OF

globals().update(CONSTANTS)

__all__ = sorted([*MODULE_OF, *CONSTANTS])  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if (module := MODULE_OF.get(name)) is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(f"laminax._src.numerics.numpy.{module}"), name)
    return value
