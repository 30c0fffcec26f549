"""Both pytree backends in one process, for tests that run over each.

A process uses one backend, chosen when `laminax_ir.pytrees.pytree` is imported. The fixture `pytree` here imports
that module and its parts once per backend, and shows one set of them in `sys.modules` for the length of a
test, so that pickling by name finds the right registry.
"""

from __future__ import annotations

import functools
import importlib
import os
import sys
from types import ModuleType

import pytest

BACKENDS = ["python", "jaxlib"]


@pytest.fixture(params=BACKENDS, name="pytree")
def pytree_fixture(request, monkeypatch) -> ModuleType:
    """`laminax_ir.pytrees.pytree` with each backend in turn."""
    modules = load_backend(request.param)
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    return modules["laminax_ir.pytrees.pytree"]


def load_backend(name: str) -> dict[str, ModuleType]:
    """Returns the pytree modules loaded with this backend; skips the test if it cannot be imported."""
    modules = _load_backend(name)
    if isinstance(modules, ImportError):
        pytest.skip(f"jaxlib cannot be imported: {modules.__cause__}")
    return modules


@functools.cache
def _load_backend(name: str) -> dict[str, ModuleType] | ImportError:
    package = importlib.import_module("laminax_ir")
    saved = _take_pytree_modules()
    attributes = {key: value for key, value in vars(package).items() if isinstance(value, ModuleType)}
    variable = os.environ.get("LAMINAX_PYTREE_BACKEND")
    os.environ["LAMINAX_PYTREE_BACKEND"] = name
    try:
        importlib.import_module("laminax_ir.pytrees.pytree")
        return _take_pytree_modules()
    except ImportError as error:
        return error
    finally:
        del os.environ["LAMINAX_PYTREE_BACKEND"]
        if variable is not None:
            os.environ["LAMINAX_PYTREE_BACKEND"] = variable
        _take_pytree_modules()
        sys.modules.update(saved)
        vars(package).update(attributes)


def _take_pytree_modules() -> dict[str, ModuleType]:
    names = [name for name in sys.modules if name.startswith("laminax_ir.pytrees")]
    return {name: sys.modules.pop(name) for name in names}
