"""Whether the layers that are installed go together: each release of laminax takes the layers of its own minor version."""

from __future__ import annotations

import sys
from importlib.machinery import PathFinder
from os.path import dirname

from laminax._version import __version__

_LAYERS = ("laminax_ir", "laminax_transforms", "laminax_lowering", "laminax_runtime")


def check_layers() -> None:
    """Refuses layers of another minor version than the api's. A layer that is not loaded yet is asked by its file, and not loaded.

    Raises:
      ImportError: naming the first such layer, and where it lies.
    """
    series = __version__[:__version__.rindex(".")]
    for layer in _LAYERS:
        version, folder = _found(layer)
        if version is not None and not version.startswith(f"{series}."):
            major, minor = map(int, series.split("."))
            name = layer.replace("_", "-")
            raise ImportError(
                f"laminax {__version__} and {name} {version} do not go together: laminax {series} needs {name} {series}. It was found in "
                f"{folder}. Install what fits: pip install --upgrade 'laminax=={__version__}' '{name}>={series}.0,<{major}.{minor + 1}'",
                name=layer)


def _found(layer: str) -> tuple[str | None, str]:
    """The version of a layer, and its folder; None for one that is not there or does not say, which its own import will report."""
    if (module := sys.modules.get(layer)) is not None:
        return module.__version__, module.__path__[0]
    spec = PathFinder.find_spec(layer)
    if spec is None or spec.origin is None:
        return None, ""
    with open(spec.origin, encoding="utf-8") as file:
        for line in file:
            if line.startswith("__version__ = "):
                return line.split('"')[1], dirname(spec.origin)
    return None, ""
