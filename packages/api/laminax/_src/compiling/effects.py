"""Running programs with effects, in order where order was asked for, and all of them before Python ends; the context of callbacks."""

from __future__ import annotations

import atexit
import threading
from contextlib import contextmanager, nullcontext
from typing import Any, Iterator, Sequence

import numpy as np

import laminax_runtime as runtime

_lock = threading.Lock()
_running: list[Any] = []
_LIMIT = 64
_is_registered = False


def execute(executable: runtime.Executable, args: Sequence[Any], is_ordered: bool) -> list[Any]:
    """Runs a program with effects.

    Args:
      executable: the program.
      args: its arguments.
      is_ordered: whether its effects come before those of the next program; the call then waits until it has run.
    """
    outs, token = executable.execute_with_token(args)
    if is_ordered:
        token.block_until_ready()
        return outs
    global _is_registered
    with _lock:
        if not _is_registered:
            atexit.register(effects_barrier)
            _is_registered = True
        _running.append(token)
        oldest = _running[:-_LIMIT]
        del _running[:-_LIMIT]
    for finished in oldest:
        finished.block_until_ready()
    return outs


def effects_barrier() -> None:
    """Waits until the callbacks of all programs that were started have been called.

    Example:
      >>> effects_barrier()
    """
    with _lock:
        tokens = _running[:]
        _running.clear()
    for token in tokens:
        token.block_until_ready()


@contextmanager
def call_context(flat: Sequence[np.ndarray]) -> Iterator[list[runtime.ArrayImpl]]:
    """The context of a callback: operations run on the CPU, and its arguments are arrays there, copies of the running program's buffers."""
    device = runtime.local_devices(backend="cpu")[0]
    with nullcontext() if runtime.placement_device() is device else runtime.default_device(device):
        yield [runtime.copy_for_callback(x, device) for x in flat]
