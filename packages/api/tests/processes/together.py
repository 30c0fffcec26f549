"""Programs of several processes on this machine: starting them, waiting for them, and ending them in any case."""

from __future__ import annotations

import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import time

FOLDER = pathlib.Path(__file__).parent
PATIENCE = 240  # seconds for a whole program, on a machine that has much else to do


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


class Program:
    """Processes of one program; a context manager, which kills what is left of them at its end.

    Each runs `file`, with its number, the count of processes and the port where they meet in the environment.
    """

    def __init__(self, file: pathlib.Path, count: int, devices: int = 2, **environment: str) -> None:
        self.file, self.count, self.devices, self.environment = file, count, devices, environment
        self.port = free_port()
        self.processes: list[subprocess.Popen] = []
        self.outputs: list = []

    def __enter__(self) -> Program:
        self.start(range(self.count))
        return self

    def start(self, indices) -> None:
        inherited = {k: v for k, v in os.environ.items()
                     if not k.startswith(("JAX_", "LAMINAX_", "XLA_FLAGS", "SLURM_", "OMPI_")) and not k.lower().endswith("_proxy")}
        for index in indices:
            output = tempfile.TemporaryFile("w+")
            self.outputs.append(output)
            self.processes.append(subprocess.Popen(
                [sys.executable, str(self.file)], stdout=output, stderr=subprocess.STDOUT, start_new_session=True,
                env={**inherited, "LAMINAX_PLATFORMS": "cpu", "LAMINAX_NUM_CPU_DEVICES": str(self.devices),
                     "LAMINAX_ENABLE_COMPILATION_CACHE": "0", "PYTHONPATH": os.pathsep.join([str(FOLDER), *filter(None, sys.path)]),
                     "INDEX": str(index), "COUNT": str(self.count), "PORT": str(self.port), **self.environment}))

    def __exit__(self, *_) -> None:
        for process in self.processes:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        for output in self.outputs:
            output.close()

    def output(self, index: int) -> str:
        self.outputs[index].seek(0)
        return self.outputs[index].read()

    def wait_for(self, text: str, indices) -> None:
        """Waits until these processes have written a text."""
        end = time.monotonic() + PATIENCE
        while any(text not in self.output(i) for i in indices):
            assert time.monotonic() < end and all(self.processes[i].poll() is None for i in indices), self.report()
            time.sleep(0.05)

    def wait(self, patience: float = PATIENCE, but_not=()) -> list[int]:
        """The exit codes, in the end; one that fails ends the waiting for the others soon. `but_not` are numbers not to wait for."""
        end = time.monotonic() + patience
        waited = [p for i, p in enumerate(self.processes) if i not in but_not]
        while any(p.poll() is None for p in waited) and time.monotonic() < end:
            if any(p.poll() for p in waited):
                end = min(end, time.monotonic() + 20)
            time.sleep(0.05)
        return [p.poll() for p in self.processes]

    def report(self) -> str:
        return "\n".join(f"--- process {i}, exit code {p.poll()} ---\n{self.output(i)}" for i, p in enumerate(self.processes))


def check(file: pathlib.Path, count: int, devices: int = 2, **environment: str) -> list[str]:
    """Runs a program whose processes must all end well; returns what they wrote."""
    with Program(file, count, devices, **environment) as program:
        codes = program.wait()
        assert codes == [0] * count, program.report()
        return [program.output(i) for i in range(count)]


def begin() -> tuple[int, int]:
    """In a process of a program: joins the others; its number, and the count."""
    from laminax import distributed
    index, count = int(os.environ["INDEX"]), int(os.environ["COUNT"])
    distributed.initialize(f"127.0.0.1:{os.environ['PORT']}", count, index, cluster_detection_method="deactivate",
                           initialization_timeout=180, shutdown_timeout_seconds=60,
                           heartbeat_timeout_seconds=int(os.environ.get("HEARTBEAT", 100)))
    return index, count


def run_tests(names: dict) -> None:
    """Runs the functions named `test_...` one after the other, as all processes do."""
    for name, test in list(names.items()):
        if name.startswith("test_"):
            print(name, flush=True)
            test()
