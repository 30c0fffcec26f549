"""Each layer says what other packages may take of it, and they take no more."""

from __future__ import annotations

import importlib
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).absolute().parents[1]))

import offers  # noqa: E402


def names_of(layer: str, module: str) -> set[str]:
    return set(offers.offered(layer).get(module.removeprefix(layer).removeprefix("."), "").split())


@pytest.mark.parametrize("layer", offers.LAYERS)
def test_other_packages_take_what_is_offered(layer):
    wrong = [f"{module}.{name}" for module, names in offers.used(layer).items() if offers.WHOLE not in (there := names_of(layer, module))
             for name in names - there]
    assert not wrong, f"other packages take what {layer}.offers does not name:\n" + "\n".join(sorted(wrong))


@pytest.mark.parametrize("layer", offers.LAYERS)
def test_what_is_offered_exists(layer):
    for below, names in offers.offered(layer).items():
        module = importlib.import_module(f"{layer}.{below}" if below else layer)
        missing = [name for name in names.split() if name != offers.WHOLE and not hasattr(module, name)]
        assert not missing, f"{module.__name__} has no {', '.join(missing)}"


@pytest.mark.parametrize("layer", offers.LAYERS)
def test_what_is_offered_is_taken(layer):
    """An offer is a promise; none is made that nobody needs."""
    used = offers.used(layer)
    idle = [f"{below}.{name}" for below, names in offers.offered(layer).items() for name in names.split()
            if name != offers.WHOLE and name not in used.get(f"{layer}.{below}" if below else layer, ())]
    assert not idle, f"{layer}.offers names what no package takes:\n" + "\n".join(sorted(idle))


@pytest.mark.parametrize("layer", offers.LAYERS)
def test_only_operations_are_offered_by_the_module(layer):
    for below, names in offers.offered(layer).items():
        assert names.strip() != offers.WHOLE or below.startswith("ops."), f"{layer}.{below}: name what it offers"


@pytest.mark.parametrize("layer", offers.LAYERS)
def test_the_readme_says_so(layer):
    text = offers.readme(layer).read_text()
    assert offers.with_table(text, layer) == text, "run python tools/offers.py"
