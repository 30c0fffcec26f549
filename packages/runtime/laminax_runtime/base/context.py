"""The ambient values that select a compiled program, mirrored where jaxlib's C++ dispatch looks.

A jitted function's C++ cache adds to its key the values of all `Config` states marked `include_in_jit_key`, which every
call copies, hashes and compares: 10 ns for each state. So all ambient values that change a program, or how it is run, are together in two
states, one for the global values and one for a thread's overrides, kept up to date by
subscription: an entry is never used under settings it was not made for. One more state says whether this thread is tracing.
"""

from __future__ import annotations

import threading
from typing import Any, Mapping

from laminax_ir.options import config
from laminax_ir.options.ambient import UNSET, Ambient, Scope, subscribe
from laminax_ir.options.interning import Interned
from laminax_runtime import _jaxlib
from laminax_runtime.base import options

# States that jaxlib reads by itself, and so must be the ones it was given.
_states: dict[str, _jaxlib.Config] = {
    "enable_x64": _jaxlib.enable_x64_state,
    "disable_jit": _jaxlib.disable_jit_state,
}
# Options that do not change what is traced, but which program runs or whether the fast path may run it.
_RUNTIME_OPTIONS = {"debug_nans", "debug_infs", "debug_key_reuse", options.default_device.name, options.no_execution.name}


class _Overrides(threading.local):
    """The values that this thread has for itself, by name, and the last object that stood for some: the same overrides come again."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self.settings: _Settings | None = None


class _Settings:
    """Stands for some values by name, and for no others: it is compared, and hashed, by identity."""

    __slots__ = ("values", "__weakref__")

    def __init__(self, values: frozenset[tuple[str, Any]]) -> None:
        self.values = values


_globals: dict[str, Any] = {}
_overrides = _Overrides()
_settings: Interned[_Settings] = Interned(_Settings)  # these objects live as long as an entry of a function, or a state, has them
_lock = threading.Lock()
_global_settings = _jaxlib.Config("global_settings", None, include_in_jit_key=True)
_thread_settings = _jaxlib.Config("thread_settings", None, include_in_jit_key=True)


def _settings_of(values: Mapping[str, Any]) -> _Settings:
    return _settings[frozenset(values.items())]


def _mirror(ambient: Ambient, scope: Scope, value: Any) -> None:
    if not ambient.affects_tracing and ambient.name not in _RUNTIME_OPTIONS:
        return
    if (state := _states.get(ambient.name)) is not None:
        if scope == "global":
            state.set_global(value)
        else:
            state.set_local(_jaxlib.UNSET if value is UNSET else value)
        return
    with _lock:
        if scope == "global":
            _globals[ambient.name] = value
            _global_settings.set_global(_settings_of(_globals))
            return
        values = _overrides.values
        if value is UNSET:
            values.pop(ambient.name, None)
        else:
            values[ambient.name] = value
        if values:
            _overrides.settings = _settings_of(values)
        _thread_settings.set_local(_overrides.settings if values else _jaxlib.UNSET)


subscribe(_mirror)

_tracing = _jaxlib.Config("tracing", False, include_in_jit_key=True)

# Says whether a trace that does not evaluate is current in this thread: `set_tracing(True)` on entering it, and the
# value before (`is_tracing()`) on leaving. While it is, jitted functions skip the entries made outside of traces and
# call their miss function, which sees the trace. It is the bound method of a C++ object, since traces are many.
set_tracing = _tracing.set_local


def is_tracing() -> bool:
    """Whether this thread is inside a trace, as last told by `set_tracing`."""
    return _tracing.value


def needs_checked_outputs() -> bool:
    """Whether calls must pass through Python, to check results for NaNs or infinities, or arguments for used keys: no fast path then."""
    return config.debug_nans.value or config.debug_infs.value or config.debug_key_reuse.value
