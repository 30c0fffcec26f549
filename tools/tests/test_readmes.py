"""The programs in the packages' READMEs run, each in a process of its own, and print what is written there."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).absolute().parents[2]
LAYERS = ("ir", "transforms", "lowering", "runtime", "api")


def run(*arguments):
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, timeout=300, env={
        **os.environ, "LAMINAX_PLATFORMS": "cpu", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))})
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("layer", LAYERS)
def test_examples_print_what_is_written(layer):
    readme = ROOT / "packages" / layer / "README.md"
    assert ">>>" in readme.read_text()
    run("-m", "doctest", str(readme))


@pytest.mark.parametrize("readme", ["README.md", "packages/api/README.md"])
def test_programs_without_results_run(readme):
    programs = [text for text in re.findall(r"```python\n(.*?)```", (ROOT / readme).read_text(), re.DOTALL) if ">>>" not in text]
    assert programs
    for program in programs:
        run("-c", program)
