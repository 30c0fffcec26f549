"""A layer works with nothing beside it but what its Bazel target declares.

Imports every module of the layer named by LAMINAX_LAYER, and makes sure that what the layer must not
know could not have been there.
"""

import importlib
import importlib.util
import os
import pkgutil

import pytest

LAYER = os.environ.get("LAMINAX_LAYER", "")
ABSENT = {
    "laminax_ir": ("jaxlib", "scipy", "laminax_transforms", "laminax_lowering", "laminax_runtime", "laminax"),
    "laminax_transforms": ("jaxlib", "scipy", "laminax_lowering", "laminax_runtime", "laminax"),
    "laminax_lowering": ("jaxlib", "scipy", "laminax_transforms", "laminax_runtime", "laminax"),
    "laminax_runtime": ("laminax_transforms", "laminax_lowering", "laminax"),
    "laminax": (),
}

pytestmark = pytest.mark.skipif(not LAYER, reason="needs a Bazel target that holds one layer")


@pytest.mark.parametrize("name", (*ABSENT.get(LAYER, ()), "jax"))
def test_other_layers_and_jaxlib_are_absent(name):
    assert importlib.util.find_spec(name) is None


# Modules that a library asks for, which is there when it does.
FOR_LIBRARIES = {"laminax._src.explaining.treescope_adapter": "treescope"}


def test_every_module_can_be_imported():
    package = importlib.import_module(LAYER)
    for module in pkgutil.walk_packages(package.__path__, f"{LAYER}."):
        if module.name == "laminax_ir.pytrees.jaxlib_backend":
            continue  # the one module that is for jaxlib; laminax_ir chooses it when jaxlib is there
        library = FOR_LIBRARIES.get(module.name)
        if library is None or importlib.util.find_spec(library):
            importlib.import_module(module.name)
