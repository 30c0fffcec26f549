"""The service where processes meet, in a process of its own: it outlives each of them, process 0 too.

jaxlib's client ends a process whose service has gone, and no function of Python's can be called instead. So that the others live on when
process 0 fails, this module is run as a program by process 0, and ends when nobody is connected to it any more.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from typing import Any

from laminax_runtime import _jaxlib

_READY = "the service is open"


class Coordinator:
    """The service in its own process, as process 0 sees it.

    Args:
        address: where the service is to be.
        num_processes: how many processes will meet there.
        limits: its other parameters, by jaxlib's names.

    Raises:
        RuntimeError: it does not open.
    """

    def __init__(self, address: str, num_processes: int, limits: Mapping[str, Any]) -> None:
        arguments = json.dumps([address, num_processes, dict(limits)])
        self._process = subprocess.Popen(
            [sys.executable, "-m", "laminax_runtime.backends.coordinator", arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, start_new_session=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))})
        assert self._process.stdout is not None  # a pipe
        said: list[str] = []
        for line in iter(self._process.stdout.readline, b""):
            if line.decode().strip() == _READY:
                return
            said.append(line.decode())
        raise RuntimeError(f"distributed.initialize: the service for {num_processes} processes does not open at {address}: "
                           f"{''.join(said[-5:]).strip()}")

    def shutdown(self) -> None:
        """Lets the service end as soon as all have left it."""
        assert self._process.stdin is not None  # a pipe
        self._process.stdin.close()


def serve(address: str, num_processes: int, limits: Mapping[str, Any]) -> None:
    """Opens the service, says so, and returns when it is not needed any more."""
    service = _jaxlib.make_distributed_service(address, num_processes, **limits)
    print(_READY, flush=True)
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, 1)  # nobody reads on
    os.dup2(devnull, 2)
    port = int(address.rpartition(":")[2])
    while os.read(0, 1024):  # until process 0 closes the pipe, or has gone
        pass
    quiet = time.monotonic()
    while time.monotonic() - quiet < 3:  # a client may be between two connections
        if has_connections(port):
            quiet = time.monotonic()
        time.sleep(0.2)
    service.shutdown()


def has_connections(port: int) -> bool:
    """Whether somebody is connected to a port of this machine; where the system does not say, as outside of Linux, nobody is."""
    ending = f":{port:04X}"
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            with open(table) as file:
                rows = [line.split() for line in file][1:]
        except OSError:
            continue
        if any(row[1].endswith(ending) and row[3] == "01" for row in rows):  # local address, and the state "established"
            return True
    return False


if __name__ == "__main__":
    serve(*json.loads(sys.argv[1]))
