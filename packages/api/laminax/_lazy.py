"""Tables of contents: modules whose names are imported when they are first used."""

from __future__ import annotations

import importlib
import sys
from typing import Any, Callable, Mapping, Sequence


def contents(
    package: str, names: Mapping[str, str], submodules: Sequence[str] = ()
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """The `__all__`, `__getattr__` and `__dir__` that make a module a table of contents.

    Args:
      package: the module's own name.
      names: for each module the names it gives, separated by spaces; a module below `laminax._src`, or one of the other packages in full.
      submodules: modules below this one.

    Example:
      __all__, __getattr__, __dir__ = contents(__name__, {"ops": "segment_max segment_sum"})
    """
    module_of = {name: module for module, text in names.items() for name in text.split()}
    listed = sorted([*module_of, *submodules])

    def find(name: str) -> Any:
        if name in submodules:
            return importlib.import_module(f"{package}.{name}")
        if (module := module_of.get(name)) is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        importlib.import_module("laminax._src")  # puts the layers together
        value = getattr(importlib.import_module(module if module.startswith("laminax_") else f"laminax._src.{module}"), name)
        setattr(sys.modules[package], name, value)
        return value

    return listed, find, lambda: listed
