"""The stubs of the public modules are what tools/stubs.py writes, and those written by hand say what there is."""

from __future__ import annotations

import ast
import importlib
import inspect
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).absolute().parents[1]))

import stubs  # noqa: E402

import laminax.numpy as jnp  # noqa: E402

GIVEN = sorted(stubs.GIVEN.glob("*.pyi"))


def definitions(path: pathlib.Path) -> list[ast.FunctionDef]:
    """The functions at the top level of a stub."""
    return [node for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef)]


def members(path: pathlib.Path, name: str) -> set[str]:
    """The names that a class of a stub defines."""
    (found,) = (node for node in ast.parse(path.read_text()).body if isinstance(node, ast.ClassDef) and node.name == name)
    defined = {node.name for node in found.body if isinstance(node, ast.FunctionDef)}
    return defined | {target.id for node in found.body if isinstance(node, ast.Assign) for target in node.targets
                      if isinstance(target, ast.Name)}


def test_the_stubs_are_current():
    stale = [str(path.relative_to(stubs.REPOSITORY)) for path in stubs.stale_stubs()]
    assert not stale, "run `python tools/stubs.py`; it would write anew: " + ", ".join(stale)


def test_there_is_no_stub_of_a_module_that_is_gone():
    kept = {stubs.stub_path(module) for module in stubs.public_modules()} | {stubs.API / "laminax" / "_array.pyi"}
    assert not set((stubs.API / "laminax").rglob("*.pyi")) - kept


@pytest.mark.parametrize("path", GIVEN, ids=lambda path: path.stem)
def test_what_is_written_by_hand_has_the_parameters_of_the_functions(path):
    module = importlib.import_module(path.stem)
    for node in definitions(path):
        known = set(inspect.signature(getattr(module, node.name)).parameters)
        written = {argument.arg for argument in [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]}
        positional = {argument.arg for argument in node.args.posonlyargs}
        assert written - positional <= known, f"{node.name} has {known}, not {written - known}"


def test_the_array_type_has_the_members_of_arrays():
    written = members(stubs.API / "laminax" / "_array.pyi", "Array")
    there = {name for name in dir(type(jnp.ones(3))) if not name.startswith("_")}
    internal = {"unsafe_raw_buffer"}
    assert {name for name in written if not name.startswith("_")} == there - internal
    operators = {name for name in written if name.startswith("__")} - {"__contains__", "__iter__"}
    assert all(hasattr(type(jnp.ones(3)), name) for name in operators)


def test_updates_have_the_members_of_the_class():
    written = members(stubs.API / "laminax" / "_array.pyi", "IndexUpdate")
    assert written | {"array", "index"} == {name for name in dir(jnp.ones(3).at[0]) if not name.startswith("_")}


def test_an_editor_completes_every_name_of_numpy():
    tree = ast.parse(stubs.stub_path("laminax.numpy").read_text())
    known = {node.name for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    known |= {node.target.id for node in tree.body if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)}
    known |= {alias.asname for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names if alias.asname}
    known |= {target.id for node in tree.body if isinstance(node, ast.Assign) for target in node.targets if isinstance(target, ast.Name)}
    assert set(jnp.__all__) <= known
