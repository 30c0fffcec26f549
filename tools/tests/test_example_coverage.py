"""Every public function has an example in its docstring."""

import importlib.util
import pathlib

import pytest

TOOL = pathlib.Path(__file__).absolute().parents[1] / "example_coverage.py"
PARTS = ("transformations", "numpy", "lax", "nn", "random", "scipy")


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("example_coverage", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("part", PARTS)
def test_functions_have_an_example(tool, part):
    total, shown, missing = tool.counts(tool.MODULES[part])
    assert total == shown > 40
    assert not missing, "give these an example, with numbers of SciPy's or NumPy's:\n" + "\n".join(missing)


def test_a_function_without_one_is_found(tool, monkeypatch):
    import laminax.nn

    def relu(x):
        """max(x, 0)."""

    relu.__module__ = "laminax.nn"
    monkeypatch.setattr(laminax.nn, "relu", relu)
    assert tool.counts(["laminax.nn"])[2] == ["laminax.nn.relu"]


def test_every_part_is_looked_at(tool):
    assert set(tool.MODULES) == set(PARTS)
