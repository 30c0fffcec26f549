"""Jupyter runs the notebooks, and Jupytext reads them. These need Jupyter's tools, which Bazel fetches for this test."""

import importlib.util
import os
import pathlib
import sys

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
jupytext = pytest.importorskip("jupytext")
pytest.importorskip("ipykernel")

_spec = importlib.util.spec_from_file_location("notebooks", pathlib.Path(__file__).absolute().parents[1] / "notebooks.py")
notebooks = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(notebooks)


@pytest.fixture(params=notebooks.PAGES)
def made(request):
    return nbformat.reads(notebooks.text_of(request.param), as_version=4)


def shown(cell):
    """What the outputs of a cell show, without spaces; warnings do not count."""
    texts = [output.get("data", {}).get("text/plain") or output.get("text") or output.get("evalue") or ""
             for output in cell.outputs if output.get("name") != "stderr"]
    return "".join("".join(texts).split())


def test_jupyter_shows_what_is_stored(made, tmp_path):
    nbformat.validate(made)
    stored = [shown(cell) for cell in made.cells if cell.cell_type == "code"]
    environment = {**os.environ, "LAMINAX_PLATFORMS": "cpu", "PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path)),
                   "HOME": str(tmp_path), "IPYTHONDIR": str(tmp_path)}
    nbclient.NotebookClient(made, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute(env=environment)
    for cell, text in zip((cell for cell in made.cells if cell.cell_type == "code"), stored, strict=True):
        before, file_of_cell, _ = text.partition("<stdin>")  # which Jupyter has another name for
        assert shown(cell).startswith(before) if file_of_cell else shown(cell) == text, cell.source


def test_jupytext_keeps_the_cells(made):
    again = jupytext.reads(jupytext.writes(made, fmt="py:percent"), fmt="py:percent")
    assert [(cell.cell_type, cell.source) for cell in again.cells] == [(cell.cell_type, cell.source) for cell in made.cells]
