"""Running programs in processes that watch over each other, so that no computation waits for ever for one that has failed.

gloo, which carries values between the CPUs of processes, leaves a trap behind a collective that has failed: where a message for it comes
in afterwards, the connection is never read again, and not even its end is noticed (`Pair::prepareRead` in gloo's `transport/tcp/pair.cc`
gives up if the buffer of a message is no more). A collective that is begun after a failed one may so wait for ever, whatever is done to its
connections. Hence nothing is begun before it is known that all has gone well: a program over the CPUs of several processes is waited for,
and its sums are compiled one by one, since XLA goes on with the other parts of a combined one when the first has failed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from laminax_runtime import _jaxlib
from laminax_runtime.arrays.arrays import ArrayImpl
from laminax_runtime.backends import placement, processes

PASS_TO_LEAVE_OUT = "cpu-all-reduce-combiner"


def may_be_trapped(devices: Iterable[placement.Device]) -> bool:
    """Whether collectives over these devices go through gloo, in processes that watch over each other."""
    state = processes.state
    return state.watch is not None and any(d.process_index != state.process_id and d.platform == "cpu" for d in devices)


def execute(loaded: _jaxlib.LoadedExecutable, args: Sequence[Any], handlers: Sequence[Any],
            devices: Iterable[placement.Device]) -> tuple[list[ArrayImpl], Any]:
    """Runs a program in a process that watches over others.

    Args:
        loaded: the program.
        args: its parameters, where it expects them.
        handlers: what makes arrays of its results.
        devices: those that it runs on.

    Returns:
        The results, and a token to wait on.

    Raises:
        ProcessFailureError: another process has failed meanwhile.
        XlaRuntimeError: the program failed.
    """
    with processes.naming_failures():
        found = loaded.execute_sharded(args, with_tokens=True)
        results, token = found.consume_with_handlers(handlers), found.consume_token()
        if may_be_trapped(devices):
            token.block_until_ready()
    return results, token
