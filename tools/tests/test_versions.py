"""The version of a package stands in its pyproject.toml and in its `__version__`; they agree."""

import importlib
import pathlib
import tomllib

import pytest

PACKAGES = pathlib.Path(__file__).absolute().parents[2] / "packages"
LAYERS = {
    "ir": "laminax_ir",
    "transforms": "laminax_transforms",
    "lowering": "laminax_lowering",
    "runtime": "laminax_runtime",
    "api": "laminax",
}


def project(folder: str) -> dict:
    return tomllib.loads((PACKAGES / folder / "pyproject.toml").read_text())["project"]


@pytest.mark.parametrize("folder, layer", LAYERS.items())
def test_version_is_the_same_in_the_module_and_the_project(folder, layer):
    assert importlib.import_module(layer).__version__ == project(folder)["version"]


@pytest.mark.parametrize("folder, layer", LAYERS.items())
def test_required_layers_accept_the_versions_beside_them(folder, layer):
    versions = {project(lower)["name"]: project(lower)["version"] for lower in LAYERS}
    for requirement in project(folder)["dependencies"]:
        name, _, bounds = requirement.partition(">=")
        if name in versions:
            oldest, _, too_new = bounds.partition(",<")
            assert as_tuple(oldest) <= as_tuple(versions[name]) < as_tuple(too_new), requirement


def as_tuple(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
