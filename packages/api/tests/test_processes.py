"""Programs of several processes on this machine, which meet over the loopback address."""

from __future__ import annotations

import importlib.util
import os
import pathlib
import re
import signal
import socket
import sys
import time

import numpy as np
import pytest

FOLDER = pathlib.Path(__file__).with_name("processes")
sys.path.insert(0, str(FOLDER))
import together  # noqa: E402


@pytest.mark.parametrize("file, count, devices", [
    ("cases_of_collectives.py", 2, 2), ("cases_of_arrays.py", 2, 2), ("cases_of_multihost_utils.py", 3, 2), ("cases_of_pmap.py", 2, 4),
    ("cases_of_training.py", 4, 1), ("cases_of_regions.py", 4, 1)])
def test_cases(file, count, devices):
    together.check(FOLDER / file, count, devices)


@pytest.mark.parametrize("victim, fault", [(1, "SIGKILL"), (0, "SIGKILL"), (1, "SIGSTOP"), (0, "SIGSTOP"), (2, "exception")])
def test_the_others_live_on_when_a_process_fails(victim, fault):
    others = [i for i in range(4) if i != victim]
    with together.Program(FOLDER / "program_with_a_fault.py", 4, 1, VICTIM=str(victim), FAULT=fault, HEARTBEAT="10",
                          LAMINAX_ENABLE_RECOVERABILITY="1") as program:
        codes = program.wait(but_not=[victim])
        assert [codes[i] for i in others] == [0, 0, 0], program.report()
        for i in others:
            assert f"FAILED [{victim}] Devices failed: " in program.output(i) and "WENT ON" in program.output(i), program.report()


def test_a_service_that_cannot_open_says_why():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        program = together.Program(FOLDER / "program_with_a_fault.py", 1, 1, VICTIM="9", LAMINAX_ENABLE_RECOVERABILITY="1")
        program.port = taken.getsockname()[1]
        with program:
            assert program.wait() == [1] and "does not open at 127.0.0.1" in program.output(0), program.report()


def test_processes_that_trace_different_programs_are_told_so():
    for output in together.check(FOLDER / "program_of_two_kinds.py", 2, 1, LAMINAX_CHECK_PROGRAMS_AGREE="1"):
        assert "Their first difference is in line" in output


@pytest.mark.parametrize("victim", [0, 2])
@pytest.mark.parametrize("has_replacement", [False, True])
def test_training_goes_on_from_the_checkpoint(victim, has_replacement, tmp_path):
    others = [i for i in range(3) if i != victim]
    environment = {"REPLACEMENT_PORT": str(together.free_port())} if has_replacement else {}
    with together.Program(FOLDER / "program_that_goes_on.py", 3, 1, VICTIM=str(victim), CHECKPOINT=str(tmp_path / "saved.npy"),
                          HEARTBEAT="10", LAMINAX_ENABLE_RECOVERABILITY="1", **environment) as program:
        if has_replacement:
            program.processes[victim].wait(together.PATIENCE)
            program.environment["NEW"] = "1"
            program.start([victim])  # it is the fourth process
        codes = program.wait(but_not=[victim])
        assert codes == [-9 if i == victim else 0 for i in range(3)] + [0] * has_replacement, program.report()
        for i in others:
            assert f"FAILED [{victim}]" in program.output(i) and "WENT ON" in program.output(i), program.report()


@pytest.mark.parametrize("kill", range(int(os.environ.get("KILLS", 1))))
def test_a_process_killed_at_any_moment(kill, tmp_path):
    """Three or four processes train; one is killed from outside. KILLS in the environment says how often; 50 were asked for once."""
    heartbeat, moment = 5, np.random.default_rng()
    count = int(moment.integers(3, 5))
    victim, delay = int(moment.integers(count)), float(moment.uniform(0, 3))
    others = [i for i in range(count) if i != victim]
    with together.Program(FOLDER / "program_that_goes_on.py", count, 1, STEPS="3000", CHECKPOINT=str(tmp_path / "saved.npy"),
                          HEARTBEAT=str(heartbeat), LAMINAX_ENABLE_RECOVERABILITY="1") as program:
        program.wait_for("READY", range(count))
        time.sleep(delay)
        program.processes[victim].kill()
        killed = time.time()
        codes = program.wait(but_not=[victim])
        assert codes == [-9 if i == victim else 0 for i in range(count)], program.report()
        for i in others:
            (found,) = re.findall(rf"FAILED \[{victim}\] at ([0-9.]+)", program.output(i))
            print(f"kill {kill}: process {victim} of {count} after {delay:.2f} s, found by {i} in {float(found) - killed:.1f} s")
            assert float(found) - killed < heartbeat + 5 and "WENT ON" in program.output(i), program.report()


def test_a_message_for_a_sum_that_has_failed_makes_nobody_wait(tmp_path):
    go = tmp_path / "go"
    with together.Program(FOLDER / "program_with_a_late_message.py", 3, 1, GO=str(go), HEARTBEAT="10",
                          LAMINAX_ENABLE_RECOVERABILITY="1") as program:
        program.wait_for("READY", [0, 1])
        program.wait_for("ENTERING", [2])
        time.sleep(1)  # process 2 now waits in the middle of the sum
        program.processes[2].send_signal(signal.SIGSTOP)
        program.processes[0].kill()
        program.processes[0].wait()
        go.touch()
        program.wait_for("ENTERING", [1])
        time.sleep(1)
        program.processes[2].send_signal(signal.SIGCONT)
        assert program.wait(but_not=[0]) == [-9, 0, 0], program.report()
        for i in (1, 2):
            assert "FAILED [0]" in program.output(i) and "WENT ON" in program.output(i), program.report()


def test_one_process_writes_into_the_compilation_cache_and_all_read(tmp_path):
    cache = {"LAMINAX_ENABLE_COMPILATION_CACHE": "1", "LAMINAX_COMPILATION_CACHE_DIR": str(tmp_path / "cache")}
    first, second = (together.check(FOLDER / "program_with_a_cache.py", 2, 2, **cache) for _ in range(2))
    assert "'hits': 0" in first[0] and "'stores': 1" in first[0] and "'stores': 0" in first[1], first
    for output in second:
        assert "'hits': 1, 'misses': 0, 'stores': 0, 'troubles': 0" in output, second


@pytest.mark.skipif(importlib.util.find_spec("orbax") is None, reason="needs orbax-checkpoint")
def test_a_checkpoint_of_orbax(tmp_path):
    together.check(FOLDER / "program_with_orbax.py", 4, 1, CHECKPOINT=str(tmp_path / "saved"))
