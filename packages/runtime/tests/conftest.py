"""A random generator, and a way to run a piece of code in a fresh interpreter."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def run_python(tmp_path):
    """Runs code in a fresh interpreter with `tmp_path` on its path; returns what it printed."""

    def run(code: str, **environment: str) -> str:
        path = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
        inherited = {k: v for k, v in os.environ.items() if k != "XLA_FLAGS" and "PLATFORM" not in k}
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(code)],
            env={**inherited, "PYTHONPATH": path, **environment},
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    return run
