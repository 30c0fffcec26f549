"""The compile-only lane: programs are compiled for TPUs that are described by libtpu and are not there."""

from __future__ import annotations

import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).absolute().parents[2]
sys.path[:0] = [str(ROOT / "ci/tpu"), str(ROOT / "packages/lowering/tests"), str(ROOT / "benchmarks"), str(ROOT / "examples")]


@pytest.fixture(scope="session")
def devices():
    """From the name of a topology to its devices, made once."""
    from laminax.experimental.topologies import get_topology_desc
    known = {}

    def of(name):
        if name not in known:
            known[name] = get_topology_desc(name, "tpu").devices
        return known[name]

    return of
