"""Flax and optax train on laminax: the example learns, and jax is never imported."""

import importlib.util
import os
import pathlib
import subprocess
import sys

import pytest

PROGRAM = pathlib.Path(__file__).with_name("flax_images.py")


@pytest.mark.skipif(importlib.util.find_spec("flax") is None, reason="Flax is not installed; in Bazel it is")
def test_the_program_learns_and_draws(tmp_path):
    picture = tmp_path / "flax.png"
    command = [sys.executable, PROGRAM, "--epochs=3", "--channels=8", f"--plot={picture}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True,
                          env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "LAMINAX_PLATFORMS": "cpu"})
    assert float(done.stdout.partition("test accuracy: ")[2].split()[0]) > 0.7
    assert picture.read_bytes().startswith(b"\x89PNG")
