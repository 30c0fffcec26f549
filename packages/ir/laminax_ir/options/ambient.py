"""Ambient values: what a program that is traced in this thread depends on beside its arguments.

They are the options (`config_options`), which users set, and the state of the traces at work, which laminax sets itself and nobody else:
the mesh that a function is traced for, the axes that it runs along, the sums that are left open while types are resolved.

They are read on every operation and changed almost never, so the work is done on change. An ambient value is a `threading.local`: its class
holds the value of threads that have none of their own, its instance the thread's, which makes `ambient.value` one attribute lookup in C.
`trace_key()` stands, as one object with an identity hash, for the current values of all that change the programs that traces record; caches
of traced programs use it in their keys.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import Any, Literal

from laminax_ir.options.interning import Interned
from laminax_ir.options.restoring import Restoring

Scope = Literal["global", "thread"]
Callback = Callable[["Ambient", Scope, Any], None]


class _Unset:
    """The value a callback receives when a thread's override ends and the global value shows again."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "UNSET"

    def __bool__(self) -> bool:
        return False


UNSET = _Unset()


class Ambient(threading.local):
    """One ambient value. `value` is what holds in this thread; a call makes a context manager that overrides it.

    Each is the one instance of its own subclass (`define_ambient` makes both): the class attribute `value` is what holds where nobody
    overrides it, an instance attribute of the same name the thread's override.
    """

    has_global = False  # whether there is a value for all threads that can change
    name: str
    affects_tracing: bool
    normal: Callable[[Any], Any]
    value: Any
    subscribers: tuple[Callback, ...] = ()

    def __call__(self, new_val: Any) -> Override:
        """Returns a context manager, also usable as a decorator, that overrides the value in this thread."""
        return Override(self, self._checked(new_val))

    def get_global(self) -> Any:
        """The value in threads that do not override it."""
        return type(self).value

    def get_local(self) -> Any:
        """This thread's override, or UNSET."""
        return self.__dict__.get("value", UNSET)

    def set_local(self, value: Any) -> None:
        """Overrides the value in this thread until further notice; UNSET ends that. Prefer `with ambient(value):`."""
        value, before = value if value is UNSET else self._checked(value), self.get_local()
        try:
            self._store_local(value)
        except BaseException:
            self._store_local(before)
            raise

    def _store_local(self, value: Any) -> None:
        if value is UNSET:
            self.__dict__.pop("value", None)
        else:
            self.__dict__["value"] = value
        _thread.memo = (None, None)
        for callback in type(self).subscribers:
            callback(self, "thread", value)

    def _checked(self, value: Any) -> Any:
        return check_hashable(self.name, type(self).normal(value))

    def __setattr__(self, name: str, value: Any) -> None:
        # A plain assignment would leave stale trace keys and subscribers behind.
        raise AttributeError(f"{self.name}.{name} cannot be assigned. Use `with {self.name}(value):`.")

    def __bool__(self) -> bool:
        raise TypeError(f"{self.name} is not its value. Read {self.name}.value instead.")

    def __repr__(self) -> str:
        return f"<{type(self).__name__} = {self.value!r}>"


def check_hashable(name: str, value: Any) -> Any:
    """The value, which becomes part of keys.

    Raises:
        TypeError: it has no hash.
    """
    try:
        hash(value)
    except TypeError as error:
        raise TypeError(f"{name} cannot be {value!r}: it is part of the keys of caches, which must be hashable ({error}).") from None
    return value


class Override(Restoring):
    """The context manager of an ambient value."""

    __slots__ = ("_ambient", "_value")

    def __init__(self, ambient: Ambient, value: Any) -> None:
        self._saved = []
        self._ambient, self._value = ambient, value

    def _recreate_cm(self) -> Override:
        return Override(self._ambient, self._value)

    def _present(self) -> Any:
        return self._ambient.__dict__.get("value", UNSET)

    def _change(self) -> None:
        self._ambient._store_local(self._value)

    def _put_back(self, before: Any) -> None:
        self._ambient._store_local(before)


_all: list[Ambient] = []  # in the order of definition


def define_ambient(name: str, default: Any, doc: str, normal: Callable[[Any], Any] = lambda value: value) -> Ambient:
    """Makes a value of the trace's state, on which programs depend.

    Args:
        name: its name, for messages.
        default: its value where nobody overrides it.
        doc: one line on what it means.
        normal: makes a value given the one that is kept.
    """
    members = {"name": name, "affects_tracing": True, "normal": normal, "value": default, "__doc__": doc, "__module__": __name__}
    ambient = type(f"Ambient[{name}]", (Ambient,), members)()
    _all.append(ambient)  # keys stay as they are: they leave out values that are the default
    _list_subscribers(ambient)
    return ambient


def add_option(option: Ambient) -> None:
    """Makes an ambient value that holds for all threads known to keys, subscribers and other threads."""
    with lock:
        _all.append(option)
        invalidate_trace_keys()
        _list_subscribers(option)
    notify(option, "global", option.get_global())


def with_overrides_of_this_thread(fun: Callable[..., Any]) -> Callable[..., Any]:
    """The function for other threads to call: it sees the ambient values as they are in this thread now."""
    overrides = [Override(ambient, value) for ambient in tuple(_all) if (value := ambient.get_local()) is not UNSET]

    def call(*args: Any, **kwargs: Any) -> Any:
        with contextlib.ExitStack() as stack:
            for override in overrides:
                stack.enter_context(override._recreate_cm())
            return fun(*args, **kwargs)

    return call


# --- the key of everything that affects tracing ---


class TraceKey:
    """The values that affect tracing, by name, without trace state that is the default. Equal keys are one object, compared by identity."""

    __slots__ = ("values", "__weakref__")

    def __init__(self, values: tuple[tuple[str, Any], ...]) -> None:
        self.values = values

    def difference(self, other: TraceKey) -> dict[str, tuple[Any, Any]]:
        """The values that differ, each with its value here and there: why a cache missed."""
        defaults = {ambient.name: ambient.get_global() for ambient in tuple(_all) if not ambient.has_global}  # keys leave these out
        mine, theirs = defaults | dict(self.values), defaults | dict(other.values)
        return {
            name: (mine.get(name), theirs.get(name)) for name in mine | theirs if mine.get(name) != theirs.get(name)
        }

    def __reduce__(self) -> tuple[Any, ...]:
        return _intern, (self.values,)

    def __repr__(self) -> str:
        return f"TraceKey({', '.join(f'{name}={value!r}' for name, value in self.values)})"


# A key lives as long as a thread or a cache has it, and nobody can tell one that was made anew from the one before.
_trace_keys: Interned[TraceKey] = Interned(TraceKey)


def _intern(values: tuple[tuple[str, Any], ...]) -> TraceKey:
    return _trace_keys[values]


class _ThreadState(threading.local):
    memo: tuple[object, TraceKey | None] = (None, None)  # (the version it was built for, this thread's key)


_thread = _ThreadState()
lock = threading.Lock()  # of values that hold for all threads
# Replaced on every global change. A fresh object, not the new values: a thread that built its key between a change
# and its reversal must notice that both happened.
_version = object()


def trace_key() -> TraceKey:
    """The key of this thread's values of all that affects tracing. Hashable, O(1), about 0.1 µs."""
    version, key = _thread.memo
    if key is not None and version is _version:
        return key
    # The version is read before the values: a change in between leaves a memo that the next call rebuilds.
    version = _version
    key = _intern(tuple((ambient.name, ambient.value) for ambient in tuple(_all)
                        if ambient.affects_tracing and (ambient.has_global or ambient.value is not ambient.get_global())))
    _thread.memo = (version, key)
    return key


def invalidate_trace_keys() -> None:
    """To be called, with `lock` held, when a value has changed for all threads."""
    global _version
    _version = object()


# --- mirrors in other layers ---

_subscriptions: list[tuple[Callback, tuple[Ambient, ...]]] = []


def subscribe(callback: Callback, *ambients: Ambient) -> Callable[[], None]:
    """Calls `callback(ambient, scope, value)` for every change from now on, in the thread that makes it.

    The scope is "global" or "thread"; the value is UNSET when a thread's override ends. The callback first hears every
    global value and this thread's overrides, so that a mirror (jaxlib's own configuration) starts equal. It
    runs after the change. If it raises, the change is taken back, and all callbacks
    hear of that too.

    Args:
        callback: what is called.
        ambients: the values whose changes it hears of; where none is given, of all, those that are defined later too.

    Returns:
        A function that ends the subscription.
    """
    subscription = (callback, ambients)
    _subscriptions.append(subscription)
    concerned = ambients or tuple(_all)
    for ambient in concerned:
        _list_subscribers(ambient)
    for ambient in concerned:
        if ambient.has_global:
            callback(ambient, "global", ambient.get_global())
        if (value := ambient.get_local()) is not UNSET:
            callback(ambient, "thread", value)

    def end() -> None:
        _subscriptions.remove(subscription)
        for ambient in ambients or tuple(_all):
            _list_subscribers(ambient)

    return end


def _list_subscribers(ambient: Ambient) -> None:
    """Lists who wants to hear of a value: most subscribers want one or two of them, and the others need not be asked at each change."""
    type(ambient).subscribers = tuple(callback for callback, ambients in _subscriptions if not ambients or ambient in ambients)


def notify(ambient: Ambient, scope: Scope, value: Any) -> None:
    """Tells the subscribers of a change."""
    for callback in type(ambient).subscribers:
        callback(ambient, scope, value)
