"""Programs of several processes on this machine, which meet over the loopback address."""

from __future__ import annotations

import pathlib
import sys

import pytest

FOLDER = pathlib.Path(__file__).with_name("processes")
sys.path.insert(0, str(FOLDER))
import together  # noqa: E402


@pytest.mark.parametrize("file, count, devices", [
    ("cases_of_collectives.py", 2, 2), ("cases_of_arrays.py", 2, 2), ("cases_of_multihost_utils.py", 3, 2), ("cases_of_pmap.py", 2, 4)])
def test_cases(file, count, devices):
    together.check(FOLDER / file, count, devices)
