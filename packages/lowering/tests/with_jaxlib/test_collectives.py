"""Collectives compiled for eight CPU devices, against the same function under NumPy's idea of the axes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def test_on_eight_devices():
    """In a process of its own, since the number of CPU devices is fixed with the first client."""
    script = Path(__file__).with_name("collectives_on_eight_devices.py")
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run([sys.executable, str(script)], env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
