"""Runs `cases_on_four_devices.py` in a process of its own, since how many CPU devices there are is settled once."""

import os
import pathlib
import subprocess
import sys


def test_cases_on_four_devices():
    cases = pathlib.Path(__file__).with_name("cases_on_four_devices.py")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "python_files=cases_*.py", str(cases)],
        env={
            **os.environ,
            "XLA_FLAGS": "--xla_force_host_platform_device_count=4",
            "LAMINAX_PLATFORMS": "cpu",
            "PYTHONPATH": os.pathsep.join([str(cases.parent), *filter(None, sys.path)]),
        },
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stdout + done.stderr
