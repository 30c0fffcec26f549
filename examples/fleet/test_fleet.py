"""Launchers on this machine: a process that is killed is replaced, training goes on from the checkpoint, and ends with the same loss."""

from __future__ import annotations

import importlib.util
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

FOLDER = pathlib.Path(__file__).parent
COUNT, STEPS, PATIENCE = 3, 400, 300
ENVIRONMENT = {**{k: v for k, v in os.environ.items() if not k.startswith(("JAX_", "LAMINAX_", "SLURM_", "OMPI_"))},
               "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "LAMINAX_PLATFORMS": "cpu", "PYTHON": sys.executable,
               "MPIRUN_OPTIONS": "--allow-run-as-root --oversubscribe", "RAY_DISABLE_DASHBOARD": "1", "RAY_USAGE_STATS_ENABLED": "0"}

mpirun = pytest.param([FOLDER / "mpirun.sh", str(COUNT), "3"], id="mpirun", marks=pytest.mark.skipif(
    shutil.which("mpirun") is None, reason="Open MPI's mpirun is not installed; ci/fleet.sh installs it"))
on_ray = pytest.param(
    [sys.executable, FOLDER / "ray_training.py", f"--workers={COUNT}", "--cpus_per_worker=0.3", "--starts=3"], id="ray",
    marks=pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed; ci/fleet.sh installs it"))


def expected():
    """The loss of the last step, computed by NumPy in float64."""
    sys.path.insert(0, str(FOLDER))
    from training import BATCH, HIDDEN, RATE, batch_of
    rng = np.random.default_rng(0)
    first, shift, out = rng.normal(size=(4, HIDDEN)), np.zeros(HIDDEN), rng.normal(size=HIDDEN) / HIDDEN**0.5
    value = np.nan
    for step in range(STEPS):
        x, y = batch_of(step)
        hidden = np.tanh(x @ first + shift)
        error = hidden @ out - y
        value = np.mean(error**2)
        back = 2 / BATCH * error[:, None] * out * (1 - hidden**2)
        first, shift, out = first - RATE * x.T @ back, shift - RATE * back.sum(0), out - RATE * 2 / BATCH * hidden.T @ error
    return value


def saved_step(checkpoint):
    return int(np.load(checkpoint)["step"]) if checkpoint.exists() else 0


@pytest.mark.parametrize("command", [mpirun, on_ray])
def test_a_killed_process_is_replaced_and_the_loss_is_the_same(command, tmp_path):
    checkpoint, log = tmp_path / "training.npz", tmp_path / "log"
    with open(log, "w") as output:
        running = subprocess.Popen([*command, f"--checkpoint={checkpoint}", f"--steps={STEPS}", "--every=5"], stdout=output, stderr=output,
                                   env=ENVIRONMENT, start_new_session=True)
    try:
        end = time.monotonic() + PATIENCE
        while not 20 <= saved_step(checkpoint) < STEPS:
            assert time.monotonic() < end and running.poll() is None, log.read_text()
            time.sleep(0.02)
        (victim,) = re.findall(rf"process 1 of {COUNT} is (\d+)", log.read_text())
        os.kill(int(victim), signal.SIGKILL)
        killed_at = saved_step(checkpoint)
        assert running.wait(PATIENCE) == 0, log.read_text()
    finally:
        if running.poll() is None:
            os.killpg(running.pid, signal.SIGKILL)
    text = log.read_text()
    assert killed_at < STEPS and saved_step(checkpoint) == STEPS and "start 1 of 3 has failed" in text, text
    assert len(re.findall(rf"process 1 of {COUNT} is", text)) == 2, text
    (found,) = re.findall(r"loss: ([\d.]+)", text)
    assert float(found) == pytest.approx(expected(), rel=1e-4), text
