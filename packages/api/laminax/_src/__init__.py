"""The implementation of the api, in rooms; docs/architecture.md says what each holds. Users import from `laminax` and its public modules.

Importing this package puts the layers together, which do not know each other, and gives arrays their methods. Libraries
also reach modules of `jax._src`, by attribute or, under the name of jax, by import; `PRIVATE_MODULES` says which module
stands for each, and `names.private_views` which are views of public ones.
"""

from __future__ import annotations

import importlib
from types import ModuleType

from laminax._layer_versions import check_layers

check_layers()  # before anything of the layers is looked for

from laminax._src import setup  # noqa: E402
from laminax._src.names import private_views  # noqa: E402
from laminax._src.numerics.numpy import array_methods  # noqa: E402

setup.compose()
array_methods.install()

_STANDS_FOR = {
    "compiling": "stages",
    "names": """
        ad_util api api_util compilation_cache compiler core dispatch dtypes extend hijax public_test_util state traceback_util tree_util
        util xla_bridge""",
    "numerics": "flatten_util",
    "parallel": "custom_partitioning pmap shard_map xla_metadata",
    "placement": "distributed",
}
# The name of a module of `jax._src`, and of the module that stands for it.
PRIVATE_MODULES = {name: f"{__name__}.{room}.{name}" for room, names in _STANDS_FOR.items() for name in names.split()}
PRIVATE_MODULES["checkify"] = "laminax.experimental.checkify"


def __getattr__(name: str) -> ModuleType:
    if (module := PRIVATE_MODULES.get(name)) is not None:
        return importlib.import_module(module)
    if (view := private_views.view(name)) is not None:
        return view
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*PRIVATE_MODULES, *private_views.top_level_names()])
