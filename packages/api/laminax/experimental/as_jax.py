"""laminax under the name of jax: importing this module lets libraries that import jax run on laminax.

    import laminax.experimental.as_jax
    import optax  # says `import jax`, and gets laminax

It must come before the first of these libraries. `jax` and `jax.numpy` are then laminax and `laminax.numpy`, the same module
objects; what laminax does not have cannot be imported, even where jax is installed. `docs/libraries.md` lists what was tried.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

import laminax
from laminax._src import PRIVATE_MODULES
from laminax._src.names import private_views

# What is imported with JAX itself, and libraries find in `sys.modules` without asking for it; here tables of contents.
_AT_HAND = ("core", "custom_batching", "custom_derivatives", "dlpack", "dtypes", "errors", "image", "lax", "nn", "numpy", "ops", "random",
            "scipy", "sharding", "tree", "tree_util", "typing")


class _StandIn(MetaPathFinder, Loader):
    """Finds laminax's modules under the names of jax's."""

    def __init__(self) -> None:
        self._found: dict[str, tuple[ModuleType, ModuleSpec | None]] = {}  # by jax's names; with the spec that the module has of its own

    def find_spec(self, fullname: str, path: Sequence[str] | None = None, target: Any = None) -> ModuleSpec | None:
        if not fullname.startswith("jax."):
            return None
        if (module := _view(fullname)) is None:
            own = _own_name(fullname)
            try:
                module = importlib.import_module(own)
            except ModuleNotFoundError as error:
                if error.name is None or not own.startswith(error.name):
                    raise
                if fullname.startswith("jax._src."):
                    raise private_views.missing(fullname.removeprefix("jax._src.")) from None
                return None
        self._found[fullname] = module, module.__spec__
        return importlib.util.spec_from_loader(fullname, self)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return self._found[spec.name][0]

    def exec_module(self, module: ModuleType) -> None:
        assert module.__spec__ is not None
        _, own = self._found[module.__spec__.name]
        if own is not None:
            module.__spec__ = own  # importing it under another name has put another one there


def _view(name: str) -> ModuleType | None:
    """What stands for one of jax's private modules, where that is a view or below one."""
    return private_views.view(name.removeprefix("jax._src.")) if name.startswith("jax._src.") else None


def _own_name(name: str) -> str:
    """The module that stands for one of jax's: of the same path, but for jax's private modules."""
    own = name if name.startswith("laminax") else "laminax" + name.removeprefix("jax")
    if not own.startswith("laminax._src."):
        return own
    private, dot, below = own.removeprefix("laminax._src.").partition(".")
    return PRIVATE_MODULES.get(private, f"laminax._src.{private}") + dot + below


def _top_level() -> ModuleType:
    """A module like laminax, but for the version, which libraries compare with versions of JAX."""
    module = ModuleType(laminax.__name__, laminax.__doc__)
    spec = ModuleSpec("jax", laminax.__spec__.loader, origin=laminax.__file__, is_package=True)  # libraries ask whether jax is there
    vars(module).update(
        __version__=".".join(map(str, laminax.__version_info__)), __version_info__=laminax.__version_info__, __spec__=spec,
        __path__=laminax.__path__, __file__=laminax.__file__, __all__=laminax.__all__,
        __getattr__=lambda name: getattr(laminax, name), __dir__=lambda: dir(laminax))
    return module


if "jax" not in sys.modules:
    sys.modules["jax"] = _top_level()
    sys.meta_path.insert(0, _StandIn())
    for name in _AT_HAND:
        importlib.import_module(f"jax.{name}")
    importlib.import_module("laminax.numpy").__name__ = "jax.numpy"  # by which libraries for several array types know it
