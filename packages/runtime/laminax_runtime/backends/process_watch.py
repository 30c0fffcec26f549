"""Watching over the other processes of a program: who has failed, and ending the waiting for those that have.

A thread in each process counts up a key of its own in the service, and reads those of the others. One that stands still, or an error of a
collective, is a suspicion, upon which the threads of all live processes ask jaxlib's service which processes are alive; they get the same
answer. It knows by heartbeats that do not depend on Python.

A collective on CPUs (gloo over TCP) waits for a process that has stopped. So the connections of collectives are then shut down: the
collectives end with errors, in which the failed processes are named. After that the live processes can compute with each other over new
connections.
"""

from __future__ import annotations

import os
import re
import socket
import struct
import threading
import time
from typing import Any

_ALIVE, _SUSPECTED, _COLLECTIVES = "laminax/alive", "laminax/suspected", "cpu:gloo"


class Watch:
    """The watch of this process over the others.

    Args:
        client: this process's connection to the service.
        process_id: this process.
        num_processes: how many there are.
        heartbeat_timeout: the seconds without a sign of life after which a process has failed.
    """

    def __init__(self, client: Any, process_id: int, num_processes: int, heartbeat_timeout: float) -> None:
        self.client = client
        self.process_id = process_id
        self.live = list(range(num_processes))
        self.failed: list[int] = []
        self.heartbeat_timeout = heartbeat_timeout
        self.interval = min(max(heartbeat_timeout / 20, 0.1), 2.0)
        self._round = 0  # how often the service has answered
        self._next_question = 0
        self._change = threading.Condition()
        self._is_suspicious = False
        self._has_ended = False
        self._thread = threading.Thread(target=self._run, name="laminax-process-watch", daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Ends the watch."""
        self._has_ended = True
        self._thread.join(timeout=self.interval + 5)

    def verdict(self) -> list[int]:
        """The processes that have failed, asked because a computation has: waits for the answer of the service."""
        with self._change:
            if not self.failed and self._thread.is_alive():
                before = self._round
                self._is_suspicious = True
                self._change.wait_for(lambda: self._round > before or self.failed, 3 * self.heartbeat_timeout + 30)
        return self.failed

    def _run(self) -> None:
        count = 0
        seen: dict[str, tuple[str, float]] = {}
        while not self._has_ended:
            count += 1
            try:
                self.client.key_value_set(f"{_ALIVE}/{self.process_id}", str(count), allow_overwrite=True)
                if self._finds_silence(seen) or self._is_suspicious or self._is_called():
                    self._ask()
                    seen.clear()
            except RuntimeError:  # the service has gone: jaxlib ends this process, or `disconnect` has begun
                if self._has_ended:
                    return
            time.sleep(self.interval)

    def _finds_silence(self, seen: dict[str, tuple[str, float]]) -> bool:
        """Whether the count of a live process has stood still for the heartbeat's time."""
        now = time.monotonic()
        for key, value in self.client.key_value_dir_get(_ALIVE):
            if seen.get(key, ("", 0.0))[0] != value:
                seen[key] = value, now
        late = self.heartbeat_timeout * 0.9
        return any(now - at > late for key, (_, at) in seen.items() if int(key.rpartition("/")[2]) in self.live)

    def _is_called(self) -> bool:
        """Whether another process has a suspicion."""
        return self._last_question() >= self._next_question

    def _last_question(self) -> int:
        """The number of the last question that a process has put to the service; -1 if there was none."""
        return max([int(key.rpartition("/")[2]) for key, _ in self.client.key_value_dir_get(_SUSPECTED)], default=-1)

    def _ask(self) -> None:
        """Asks the service, together with all live processes, which ones are alive. Once it answers, others and the service may end."""
        number = max(self._next_question, self._last_question())
        self._next_question = number + 1  # also if this one is not answered: the others join in the next
        self.client.key_value_set(f"{_SUSPECTED}/{number}", str(self.process_id), allow_overwrite=True)
        addresses = addresses_of_collectives(self.client)
        answer = self.client.get_live_nodes(self.live)
        failed = [index for index in self.live if index not in answer]
        if failed:
            self.live = [index for index in self.live if index in answer]
            shut_down_connections(addresses)
        with self._change:
            self._round += 1
            self._is_suspicious = False
            self.failed = [*self.failed, *failed]
            self._change.notify_all()


def addresses_of_collectives(client: Any) -> set[tuple[str, int]]:
    """Where processes listen for collectives on CPUs, as they have told the service."""
    return {address for _, value in client.key_value_dir_get_bytes(_COLLECTIVES) for address in addresses_in(value)}


def shut_down_connections(addresses: set[tuple[str, int]]) -> None:
    """Ends the TCP connections that this process has from and to these addresses."""
    for name in os.listdir("/proc/self/fd") if os.path.isdir("/proc/self/fd") else ():
        try:
            if not os.readlink(f"/proc/self/fd/{name}").startswith("socket:"):
                continue
            with socket.socket(fileno=os.dup(int(name))) as connection:  # the descriptor itself stays gloo's
                if connection.family in (socket.AF_INET, socket.AF_INET6):
                    ends = {connection.getsockname()[:2], connection.getpeername()[:2]}
                    if ends & addresses:
                        connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            continue  # it listens, or has been closed meanwhile


# What <sys/socket.h> lays out for an address: the family, the port in network order; then the address of IPv4 with eight zeros, or the flow
# label and the address of IPv6.
_IPV4 = re.compile(rb"(?s)\x02\x00(..)(....)\x00{8}")
_IPV6 = re.compile(rb"(?s)\x0a\x00(..)\x00{4}(.{16})")


def addresses_in(value: bytes) -> list[tuple[str, int]]:
    """The internet addresses in what gloo tells other processes of itself."""
    found = [(socket.AF_INET, match) for match in _IPV4.finditer(value)] + [(socket.AF_INET6, match) for match in _IPV6.finditer(value)]
    return [(socket.inet_ntop(family, match[2]), struct.unpack(">H", match[1])[0]) for family, match in found]
