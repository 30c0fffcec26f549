"""Runs the files of `eight_devices/`, each in a process of its own that has eight devices: a platform starts once."""

import os
import pathlib
import subprocess
import sys

import pytest

FOLDER = pathlib.Path(__file__).with_name("eight_devices")


@pytest.mark.parametrize("file", sorted(path.name for path in FOLDER.glob("cases_*.py")))
def test_cases(file):
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("JAX_", "LAMINAX_", "XLA_FLAGS"))}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "python_files=cases_*.py", str(FOLDER / file)],
        env={**inherited, "LAMINAX_PLATFORMS": "cpu", "LAMINAX_NUM_CPU_DEVICES": "8", "LAMINAX_ENABLE_COMPILATION_CACHE": "0",
             "PYTHONPATH": os.pathsep.join([str(FOLDER), *filter(None, sys.path)])},
        capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
