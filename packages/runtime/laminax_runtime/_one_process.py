"""What must hold in the process before jaxlib is loaded: jax is not there, and XLA does not chat.

Both put their methods on the same C++ classes of jaxlib (arrays, shardings, jitted functions), so whichever came second
would change the arrays of the first. The second import is therefore an ImportError, whichever it is. XLA reads its log
level when it is loaded, and at its own default reports on stderr every client that it makes.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import os
import sys

_ADVICE = (
    "jax and laminax cannot be used in one process: both define the methods of jaxlib's array class. "
    "Run them in separate processes, or replace `import jax` by `import laminax as jax`."
)


def prepare() -> None:
    """Quietens XLA, raises if jax is imported, and makes its later import fail.

    Raises:
        ImportError: jax was imported first.
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")
    if "jax" in sys.modules:
        raise ImportError(f"laminax cannot be imported: jax is already imported. {_ADVICE}", name="laminax_runtime")
    if not any(isinstance(finder, _RefuseJax) for finder in sys.meta_path):
        sys.meta_path.insert(0, _RefuseJax())


class _RefuseJax(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds jax where it is installed, so that looking for it stays harmless, and refuses to load it."""

    def find_spec(self, name, path=None, target=None):
        if name != "jax" or importlib.machinery.PathFinder.find_spec(name, path) is None:
            return None  # jax is not installed: the ordinary ModuleNotFoundError says so
        return importlib.machinery.ModuleSpec(name, self)

    def create_module(self, spec):
        raise ImportError(f"jax cannot be imported: laminax is already imported. {_ADVICE}", name="jax")

    def exec_module(self, module):
        raise AssertionError("create_module has raised")
