"""Options: typed settings, each with a global value and a thread's override of it.

Options are read on every operation and changed almost never, so the work is done on change. An `Option` is a
`threading.local`: its class holds the global value and its instance the thread's override, which makes `option.value`
one attribute lookup in C. `trace_key()` names, as one object with an identity hash, the current values of all options
that change what a trace records; caches of traced programs use it in their keys.
"""

from __future__ import annotations

import contextlib
import operator
import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

Scope = Literal["global", "thread"]
Callback = Callable[["Option", Scope, Any], None]


class _Unset:
    """The value a callback receives when a thread's override ends and the global value shows again."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "UNSET"

    def __bool__(self) -> bool:
        return False


UNSET = _Unset()


# --- what values an option takes ---


@dataclass(frozen=True, slots=True)
class ValueType:
    """The values an option accepts.

    `check` returns the normalised value or raises ValueError; `parse` does the same for an environment variable's
    text. `description` completes the sentence "it must be ...".
    """

    description: str
    check: Callable[[Any], Any]
    parse: Callable[[str], Any]


def _check_boolean(value: Any) -> bool:
    if value in (True, False):  # 0, 1 and NumPy's booleans compare equal to these; strings do not
        return bool(value)
    raise ValueError


def _parse_boolean(text: str) -> bool:
    text = text.strip().lower()
    if text in ("1", "true", "yes", "on", "y", "t"):
        return True
    if text in ("0", "false", "no", "off", "n", "f", ""):
        return False
    raise ValueError


boolean = ValueType("True or False (1 or 0 in the environment)", _check_boolean, _parse_boolean)


def _check_integer(value: Any) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise ValueError
    return operator.index(value)


integer = ValueType("an int", _check_integer, int)


def _check_texts_by_name(value: Any) -> tuple[tuple[str, str], ...] | None:
    if value is None or value == ():
        return None
    pairs = tuple(sorted(value))
    if not all(isinstance(name, str) and isinstance(text, str) for name, text in pairs):
        raise ValueError
    return pairs


texts_by_name = ValueType("None, or pairs of a name and a text", _check_texts_by_name, _check_texts_by_name)


def _only(value: Any, reason: str) -> ValueType:
    """The type of an option that has one value."""

    def check(given: Any) -> Any:
        if given != value or isinstance(given, bool) != isinstance(value, bool):
            raise ValueError
        return value

    return ValueType(f"{value!r}, since {reason}", check, check)


def one_of(*names: str, optional: bool = False) -> ValueType:
    """The type of an option that takes one of `names`, or None where `optional`.

    An enum member stands for its name, so that `default_matmul_precision(Precision.HIGHEST)` works.
    """

    def check(value: Any) -> str | None:
        if value is None and optional:
            return None
        if isinstance(value, str):
            if value in names:
                return value
        elif isinstance(name := getattr(value, "name", None), str):
            for candidate in (name, name.lower()):
                if candidate in names:
                    return candidate
        raise ValueError

    def parse(text: str) -> str | None:
        return check(None if optional and text.strip().lower() in ("", "none") else text.strip())

    choices = ", ".join(repr(name) for name in names)
    return ValueType(f"None or one of {choices}" if optional else f"one of {choices}", check, parse)


# --- options ---


class Option(threading.local):
    """One option. `value` is what holds in this thread; a call makes a context manager that overrides it.

    Each option is the one instance of its own subclass (`define` makes both): the class attribute `value` is the
    global value, an instance attribute of the same name the thread's override.
    """

    name: str
    default: Any
    doc: str
    environment_variable: str
    affects_tracing: bool
    value_type: ValueType
    value: Any

    def __call__(self, new_val: Any = UNSET) -> contextlib.AbstractContextManager[None]:
        """Returns a context manager, also usable as a decorator, that overrides the option in this thread.

        Args:
            new_val: the value inside the block; a boolean option may leave it out, and is then True.

        Raises:
            ValueError: the option does not take this value.
        """
        if new_val is UNSET:
            if self.value_type is not boolean:
                raise TypeError(f"{self.name}() needs a value: {self.value_type.description}.")
            new_val = True
        return _Override(self, self._checked(new_val))

    def get_global(self) -> Any:
        """The value in threads that do not override the option."""
        return type(self).value

    def get_local(self) -> Any:
        """This thread's override, or UNSET."""
        return self.__dict__.get("value", UNSET)

    def set_global(self, value: Any) -> None:
        """Changes the value of every thread that does not override the option."""
        value = self._checked(value)
        with _lock:
            type(self).value = value
            _invalidate_trace_keys()
        _notify(self, "global", value)

    def set_local(self, value: Any) -> None:
        """Overrides the option in this thread until further notice; UNSET ends that. Prefer `with option(value):`."""
        self._store_local(value if value is UNSET else self._checked(value))

    def _store_local(self, value: Any) -> None:
        if value is UNSET:
            self.__dict__.pop("value", None)
        else:
            self.__dict__["value"] = value
        _thread.memo = (None, None)
        _notify(self, "thread", value)

    def _checked(self, value: Any, source: str = "") -> Any:
        try:
            return self.value_type.parse(value) if source else self.value_type.check(value)
        except ValueError:
            name = source or self.name
            raise ValueError(f"{name} cannot be {value!r}: it must be {self.value_type.description}.") from None

    def __setattr__(self, name: str, value: Any) -> None:
        # A plain assignment would leave stale trace keys and subscribers behind.
        raise AttributeError(
            f"{self.name}.{name} cannot be assigned. "
            f"Call {self.name}.set_global(value), or use `with {self.name}(value):`."
        )

    def __bool__(self) -> bool:
        raise TypeError(f"{self.name} is an option, not its value. Read {self.name}.value instead.")

    def __repr__(self) -> str:
        return f"<option {self.name} = {self.value!r}>"


class _Override(contextlib.ContextDecorator):
    __slots__ = ("_option", "_value", "_saved")

    def __init__(self, option: Option, value: Any) -> None:
        self._option, self._value = option, value
        self._saved: list[Any] = []  # a stack, since one object may be entered again inside itself

    def _recreate_cm(self) -> _Override:
        return _Override(self._option, self._value)  # a decorated function may run in several threads at once

    def __enter__(self) -> None:
        self._saved.append(self._option.get_local())
        self._option._store_local(self._value)

    def __exit__(self, *exc_info: object) -> None:
        self._option._store_local(self._saved.pop())


_lock = threading.Lock()
_options: dict[str, Option] = {}
_fixed: dict[str, Option] = {}  # those of `fixed_options` that were asked for
_names: dict[str, str] = {}  # every accepted spelling, without a prefix, to the option's name


def define(
    name: str,
    default: Any,
    value_type: ValueType,
    doc: str,
    *,
    affects_tracing: bool = False,
    aliases: tuple[str, ...] = (),
    variables: tuple[str, ...] | None = None,
    is_listed: bool = True,
) -> Option:
    """Makes an option, with its initial value from the environment: LAMINAX_<NAME>, or else JAX_ and the name or an alias.

    Args:
        name: the option's name, without a prefix.
        default: its value when nobody sets it.
        value_type: the values it takes.
        doc: one line for a reader of the options' table.
        affects_tracing: whether its value can change the program that a trace records.
        aliases: other names under which `config` knows it, for example JAX's.
        variables: the environment variables, if others than these.
        is_listed: whether `all_options` has it, and `config` knows it by name.

    Raises:
        ValueError: the name is taken, or the environment variable holds a value that the option does not take.
    """
    for spelling in (name, *aliases):
        if spelling in _names:
            raise ValueError(f"define({name!r}): the name {spelling!r} belongs to the option {_names[spelling]!r}.")
    members = {
        "name": name,
        "default": default,
        "doc": doc,
        "environment_variable": f"LAMINAX_{name.upper()}",
        "affects_tracing": affects_tracing,
        "value_type": value_type,
        "value": default,
        "__doc__": doc,
        "__module__": __name__,
    }
    option = type(f"Option[{name}]", (Option,), members)()
    if variables is None:
        variables = option.environment_variable, *(f"JAX_{spelling.upper()}" for spelling in (name, *aliases))
    for variable in variables:
        if (text := os.environ.get(variable)) is not None:
            type(option).value = option._checked(text, source=variable)
            break
    if not is_listed:
        return option
    with _lock:
        _options[name] = option
        _names.update(dict.fromkeys((name, *aliases), name))
        _invalidate_trace_keys()
    _notify(option, "global", option.get_global())
    return option


def all_options() -> Iterator[Option]:
    """Every option there is, in the order of definition."""
    return iter(tuple(_options.values()))


def with_overrides_of_this_thread(fun: Callable[..., Any]) -> Callable[..., Any]:
    """The function for other threads to call: it sees the options as they are in this thread now."""
    overrides = [option(value) for option in all_options() if (value := option.get_local()) is not UNSET]

    def call(*args: Any, **kwargs: Any) -> Any:
        with contextlib.ExitStack() as stack:
            for override in overrides:
                stack.enter_context(override._recreate_cm())
            return fun(*args, **kwargs)

    return call


# --- the key of everything that affects tracing ---


class TraceKey:
    """The values of the options that affect tracing. Equal values are the same object, so comparing is by identity."""

    __slots__ = ("values",)

    def __init__(self, values: tuple[tuple[str, Any], ...]) -> None:
        self.values = values

    def difference(self, other: TraceKey) -> dict[str, tuple[Any, Any]]:
        """The options that differ, each with its value here and there: why a cache missed."""
        mine, theirs = dict(self.values), dict(other.values)
        return {
            name: (mine.get(name), theirs.get(name)) for name in mine | theirs if mine.get(name) != theirs.get(name)
        }

    def __reduce__(self) -> tuple[Any, ...]:
        return _intern, (self.values,)

    def __repr__(self) -> str:
        return f"TraceKey({', '.join(f'{name}={value!r}' for name, value in self.values)})"


_trace_keys: dict[tuple[tuple[str, Any], ...], TraceKey] = {}


def _intern(values: tuple[tuple[str, Any], ...]) -> TraceKey:
    return _trace_keys.get(values) or _trace_keys.setdefault(values, TraceKey(values))


class _ThreadState(threading.local):
    memo: tuple[object, TraceKey | None] = (None, None)  # (the version it was built for, this thread's key)


_thread = _ThreadState()
# Replaced on every global change. A fresh object, not the new values: a thread that built its key between a change
# and its reversal must notice that both happened.
_version = object()


def trace_key() -> TraceKey:
    """The key of this thread's values of all options that affect tracing. Hashable, O(1), about 0.1 µs."""
    version, key = _thread.memo
    if version is _version:
        return key
    # The version is read before the values: a change in between leaves a memo that the next call rebuilds.
    version = _version
    key = _intern(tuple((option.name, option.value) for option in all_options() if option.affects_tracing))
    _thread.memo = (version, key)
    return key


def _invalidate_trace_keys() -> None:
    global _version
    _version = object()


# --- mirrors in other layers ---

_callbacks: list[Callback] = []


def subscribe(callback: Callback) -> Callable[[], None]:
    """Calls `callback(option, scope, value)` for every change from now on, in the thread that makes it.

    The scope is "global" or "thread"; the value is UNSET when a thread's override ends. The callback first hears every
    option's global value and this thread's overrides, so that a mirror (jaxlib's own configuration) starts equal. It
    runs after the change and must not raise.

    Returns:
        A function that ends the subscription.
    """
    _callbacks.append(callback)
    for option in all_options():
        callback(option, "global", option.get_global())
        if (value := option.get_local()) is not UNSET:
            callback(option, "thread", value)
    return lambda: _callbacks.remove(callback)


def _notify(option: Option, scope: Scope, value: Any) -> None:
    for callback in _callbacks:
        callback(option, scope, value)


# --- the facade for users ---


def find(name: str) -> Option:
    """The option of this name; a prefix is cut only if what remains is a name.

    Raises:
        AttributeError: there is no such option.
    """
    spellings = (name, name.removeprefix("laminax_"), name.removeprefix("jax_"))
    for spelling in spellings:
        if spelling in _names:
            return _options[_names[spelling]]
    from laminax_ir.options.fixed_options import FIXED  # those that cannot be chosen

    for spelling in spellings:
        if spelling in FIXED:
            if spelling not in _fixed:
                value, reason = FIXED[spelling]
                _fixed[spelling] = define(spelling, value, _only(value, reason), f"Cannot be chosen: {reason}.", variables=(), is_listed=False)
            return _fixed[spelling]
    import difflib  # only on the way to an error

    prefix = next((p for p in ("laminax_", "jax_") if name.startswith(p)), "")
    close = difflib.get_close_matches(name.removeprefix(prefix), _names, n=3)
    advice = "Did you mean " + " or ".join(prefix + n for n in close) if close else "There are " + ", ".join(_options)
    raise AttributeError(f"There is no configuration option {name!r}. {advice}{'?' if close else '.'}")
