"""Preparing the process before jaxlib is loaded: jax must not be there, and XLA must not chat.

jax and laminax put their methods on the same C++ classes of jaxlib (arrays, shardings, jitted functions), so whichever came second would
change the arrays of the first. The second import is therefore an ImportError, whichever it is. XLA reads its log level when it is loaded,
and at its own default reports on stderr every client that it makes.
"""

from __future__ import annotations

import importlib.machinery
import os
import sys
from typing import Any

_ADVICE = (
    "jax and laminax cannot be used in one process: both define the methods of jaxlib's array class. "
    "Run them in separate processes, or import laminax in the place of jax (`import laminax as jax`)."
)


def prepare() -> None:
    """Quietens XLA, raises if jax is imported, and makes its later import fail.

    Raises:
        ImportError: jax was imported first.
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")
    if getattr(sys.modules.get("jax"), "__name__", None) == "jax":  # not laminax, entered there for libraries that import jax
        raise ImportError(f"laminax cannot be imported: jax is already imported. {_ADVICE}", name="laminax_runtime")
    if not any(isinstance(finder, _RefuseJax) for finder in sys.meta_path):
        sys.meta_path.insert(0, _RefuseJax())


class _RefuseJax:
    """Refuses the import of jax, and lets everybody look whether it is installed.

    jaxlib's C++ tries to import jax now and then, and goes on without it. Therefore the refusal is quick, also
    where jax is not installed: a search of the import path would cost it a tenth of a millisecond each time.
    """

    def __init__(self) -> None:
        self._searched: list[str] | None = None
        self._is_installed = False

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        if name != "jax" or not _is_import(sys._getframe(1)):
            return None
        if self._searched != sys.path:
            self._searched = sys.path.copy()
            self._is_installed = importlib.machinery.PathFinder.find_spec(name) is not None
        if self._is_installed:
            raise ImportError(f"jax cannot be imported: laminax is already imported. {_ADVICE}", name=name)
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def _is_import(frame: Any) -> bool:
    """Whether the search, one call into which is `frame`, is for an import and not just for a spec."""
    return frame.f_back is not None and frame.f_back.f_code.co_name == "_find_and_load_unlocked"
