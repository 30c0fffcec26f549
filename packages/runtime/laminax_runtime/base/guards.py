"""Guards: transfers that jaxlib refuses or logs, by the options in `options`, which are mirrored here.

jaxlib checks each transfer against the level of its direction, the thread's if it has one, else the process's. jaxlib has to be told
whether a transfer is explicit. Source of the levels: JAX's guide "Transfer guard".
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Literal

from laminax_ir.options.ambient import Ambient, Scope, subscribe
from laminax_ir.options.restoring import Restoring
from laminax_runtime import _jaxlib
from laminax_runtime.base import options

_FIELD_OF = {f"transfer_guard_{direction}": direction for direction in options.TRANSFER_DIRECTIONS}
_COLLECTION = options.array_garbage_collection_guard.name
_has_guarded = False  # whether a guard was ever set: until then nothing needs to be told what is explicit


def _mirror(option: Ambient, scope: Scope, value: Any) -> None:
    if option is options.thread_guard:
        if scope == "thread":
            _jaxlib.set_thread_guard(bool(value))
        return
    if option.name == _COLLECTION:
        field = "garbage_collect_array"
        levels: Any = _jaxlib.GarbageCollectionGuardLevel
    else:
        field, levels = _FIELD_OF[option.name], _jaxlib.TransferGuardLevel
    global _has_guarded
    _has_guarded = _has_guarded or bool(value)
    state = _jaxlib.guard_state_of_process() if scope == "global" else _jaxlib.guard_state_of_thread()
    setattr(state, field, getattr(levels, value.upper()) if value else None)  # None and UNSET end the state's own level


subscribe(_mirror, options.thread_guard, options.array_garbage_collection_guard, *options.transfer_guards)


def guards_transfers() -> bool:
    """Whether transfers may have to be refused or logged."""
    return _has_guarded


def explicit_transfer(what: Literal["device_put", "device_get"]) -> Callable[[Callable], Callable]:
    """A decorator: the transfers of the function are ones that the user asked for."""
    field = f"explicit_{what}"
    state_of_thread = _jaxlib.guard_state_of_thread

    def decorate(function: Callable) -> Callable:
        @functools.wraps(function)
        def guarded(*args: Any, **kwargs: Any) -> Any:
            if not _has_guarded:
                return function(*args, **kwargs)
            state = state_of_thread()
            before = getattr(state, field)
            setattr(state, field, True)
            try:
                return function(*args, **kwargs)
            finally:
                setattr(state, field, before)

        return guarded

    return decorate


class unguarded_transfers(Restoring):
    """Context manager: inside, this thread may bring a program's constants to devices, and copy them there: no user's operation asks for
    it."""

    __slots__ = ()

    def _recreate_cm(self) -> unguarded_transfers:
        return unguarded_transfers()

    def _present(self) -> Any:
        state = _jaxlib.guard_state_of_thread()
        return state.host_to_device, state.device_to_device

    def _change(self) -> None:
        self._put_back((_jaxlib.TransferGuardLevel.ALLOW, _jaxlib.TransferGuardLevel.ALLOW))

    def _put_back(self, before: Any) -> None:
        state = _jaxlib.guard_state_of_thread()
        state.host_to_device, state.device_to_device = before


def for_programs(function: Callable) -> Callable:
    """A decorator: the transfers of the function bring a program's constants, as in `unguarded_transfers`."""

    @functools.wraps(function)
    def unguarded(*args: Any, **kwargs: Any) -> Any:
        if not _has_guarded:
            return function(*args, **kwargs)
        with unguarded_transfers():
            return function(*args, **kwargs)

    return unguarded
