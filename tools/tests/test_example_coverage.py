"""No public function comes without an example beside those that have none yet, whose number only falls."""

import importlib.util
import pathlib

import pytest

TOOL = pathlib.Path(__file__).absolute().parents[1] / "example_coverage.py"
MOST_WITHOUT = {"transformations": 37, "numpy": 101, "lax": 64, "nn": 15, "random": 7, "scipy": 0}


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("example_coverage", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("part", MOST_WITHOUT)
def test_functions_without_an_example(tool, part):
    total, shown, missing = tool.counts(tool.MODULES[part])
    assert total == shown + len(missing) > 40
    assert len(missing) <= MOST_WITHOUT[part], "give an example to what is new here:\n" + "\n".join(missing)


def test_every_part_is_looked_at(tool):
    assert set(tool.MODULES) == set(MOST_WITHOUT)
