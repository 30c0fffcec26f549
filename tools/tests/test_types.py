"""mypy finds nothing in the layer named by LAMINAX_LAYER: every function says what it takes and returns, and does so.

The layers below are read for their types, and not reported: each has a target of its own.
"""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import pytest

LAYER = os.environ.get("LAMINAX_LAYER", "")
REPOSITORY = pathlib.Path(__file__).absolute().parents[2]
FOLDERS = {"laminax_ir": "ir", "laminax_transforms": "transforms", "laminax_lowering": "lowering", "laminax_runtime": "runtime",
           "laminax": "api"}

pytestmark = pytest.mark.skipif(not LAYER, reason="needs a Bazel target that holds one layer")


def run_mypy(tmp_path: pathlib.Path, *arguments: str) -> subprocess.CompletedProcess:
    """mypy, with the folders of this interpreter's modules as those where types are looked for."""
    folders = [str(REPOSITORY / "packages" / folder) for folder in FOLDERS.values()]
    libraries = [path for path in sys.path if pathlib.Path(path, "numpy").is_dir() or pathlib.Path(path, "ml_dtypes").is_dir()]
    environment = os.environ | {"MYPYPATH": os.pathsep.join([*folders, *libraries]), "PYTHONPATH": os.pathsep.join(sys.path)}
    version = f"--python-version={sys.version_info.major}.{sys.version_info.minor}"
    command = [sys.executable, "-m", "mypy", "--config-file", str(REPOSITORY / "mypy.ini"), version, "--cache-dir", str(tmp_path / "cache")]
    return subprocess.run([*command, *arguments], env=environment, cwd=tmp_path, capture_output=True, text=True)


def test_mypy_finds_nothing(tmp_path):
    done = run_mypy(tmp_path, "-p", LAYER)
    assert done.returncode == 0, done.stdout + done.stderr


def test_mypy_would_find_something(tmp_path):
    """A function without types, and one that does not keep to its own, among what is checked the same way."""
    program = tmp_path / "planted.py"
    program.write_text(f"import {LAYER}\n\n\ndef f(x):\n    return x\n\n\ndef g(x: int) -> str:\n    return x\n")
    done = run_mypy(tmp_path, str(program))
    assert "planted.py:4" in done.stdout and "planted.py:9" in done.stdout, done.stdout + done.stderr
