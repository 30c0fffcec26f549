"""Events of the compiler's work, for programs that collect metrics and register listeners.

The names of events are JAX's, so that listeners written for it work: `/jax/core/compile/jaxpr_trace_duration`,
`/jax/core/compile/jaxpr_to_mlir_module_duration`, `/jax/core/compile/backend_compile_duration` (each with `fun_name`), and
`/jax/compilation_cache/compile_requests_use_cache`, `cache_hits` and `cache_misses`. Source: `jax.monitoring`.
"""

from __future__ import annotations

from collections.abc import Callable

Listener = Callable[..., None]

# Lists are replaced, never changed, so that events of other threads are told to the listeners of one moment.
_listeners: dict[str, tuple[Listener, ...]] = {"event": (), "duration": (), "time span": (), "scalar": ()}


def record_event(event: str, **metadata: str | int) -> None:
    """Tells listeners of events that `event` has happened."""
    for listener in _listeners["event"]:
        listener(event, **metadata)


def record_event_duration_secs(event: str, duration: float, **metadata: str | int) -> None:
    """Tells listeners of durations that `event` took so many seconds."""
    for listener in _listeners["duration"]:
        listener(event, duration, **metadata)


def record_event_time_span(event: str, start_time: float, end_time: float, **metadata: str | int) -> None:
    """Tells listeners of time spans that `event` lasted from `start_time` to `end_time`, in seconds."""
    for listener in _listeners["time span"]:
        listener(event, start_time, end_time, **metadata)


def record_scalar(event: str, value: float | int, **metadata: str | int) -> None:
    """Tells listeners of scalars the value of `event`."""
    for listener in _listeners["scalar"]:
        listener(event, value, **metadata)


def register_event_listener(callback: Listener) -> None:
    """Calls `callback(event, **metadata)` for each event from now on."""
    _register("event", callback)


def register_event_duration_secs_listener(callback: Listener) -> None:
    """Calls `callback(event, seconds, **metadata)` for each duration from now on."""
    _register("duration", callback)


def register_event_time_span_listener(callback: Listener) -> None:
    """Calls `callback(event, start, end, **metadata)` for each time span from now on."""
    _register("time span", callback)


def register_scalar_listener(callback: Listener) -> None:
    """Calls `callback(event, value, **metadata)` for each scalar from now on."""
    _register("scalar", callback)


def unregister_event_listener(callback: Listener) -> None:
    """Ends what `register_event_listener` began; AssertionError, as in JAX, if it did not."""
    _unregister("event", callback)


def unregister_event_duration_listener(callback: Listener) -> None:
    """Ends what `register_event_duration_secs_listener` began; AssertionError, as in JAX, if it did not."""
    _unregister("duration", callback)


def unregister_event_time_span_listener(callback: Listener) -> None:
    """Ends what `register_event_time_span_listener` began; AssertionError, as in JAX, if it did not."""
    _unregister("time span", callback)


def unregister_scalar_listener(callback: Listener) -> None:
    """Ends what `register_scalar_listener` began; AssertionError, as in JAX, if it did not."""
    _unregister("scalar", callback)


def clear_event_listeners() -> None:
    """Forgets every listener."""
    for kind in _listeners:
        _listeners[kind] = ()


def _register(kind: str, callback: Callable) -> None:
    if not callable(callback):
        raise TypeError(f"a listener must be callable, got {callback!r} of type {type(callback).__name__}")
    _listeners[kind] = (*_listeners[kind], callback)


def _unregister(kind: str, callback: Listener) -> None:
    remaining = list(_listeners[kind])
    if callback not in remaining:
        raise AssertionError(f"{callback!r} is not registered as a listener of this kind ({kind}); give the function that was registered")
    remaining.remove(callback)
    _listeners[kind] = tuple(remaining)
