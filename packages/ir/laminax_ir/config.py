"""Configuration: typed options, each with a global value and a thread's override of it.

Options are read on every operation and changed almost never, so the work is done on change. An `Option` is a
`threading.local`: its class holds the global value and its instance the thread's override, which makes `option.value`
one attribute lookup in C. `trace_key()` names, as one object with an identity hash, the current values of all options
that change what a trace records; caches of traced programs use it in their keys.

    with enable_x64(True): ...             # this thread, inside the block
    config.update("jax_enable_x64", True)  # the process; "laminax_enable_x64" and "enable_x64" mean the same
    LAMINAX_ENABLE_X64=1 python train.py   # the process, from its start; JAX_ENABLE_X64=1 too
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

    def __call__(self, value: Any = UNSET) -> contextlib.AbstractContextManager[None]:
        """Returns a context manager, also usable as a decorator, that overrides the option in this thread.

        Args:
            value: the value inside the block; a boolean option may leave it out, and is then True.

        Raises:
            ValueError: the option does not take this value.
        """
        if value is UNSET:
            if self.value_type is not boolean:
                raise TypeError(f"{self.name}() needs a value: {self.value_type.description}.")
            value = True
        return _Override(self, self._checked(value))

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
        is_listed: whether `options` has it, and `config` knows it by name.

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


def options() -> Iterator[Option]:
    """Every option there is, in the order of definition."""
    return iter(tuple(_options.values()))


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
    key = _intern(tuple((option.name, option.value) for option in options() if option.affects_tracing))
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
    for option in options():
        callback(option, "global", option.get_global())
        if (value := option.get_local()) is not UNSET:
            callback(option, "thread", value)
    return lambda: _callbacks.remove(callback)


def _notify(option: Option, scope: Scope, value: Any) -> None:
    for callback in _callbacks:
        callback(option, scope, value)


# --- the options ---

_MATMUL_PRECISIONS = (
    "default",
    "high",
    "highest",
    "bfloat16",
    "tensorfloat32",
    "float32",
    # dot algorithms: operand types, accumulator type, number of passes
    "ANY_F8_ANY_F8_F32",
    "ANY_F8_ANY_F8_F32_FAST_ACCUM",
    "ANY_F8_ANY_F8_ANY",
    "ANY_F8_ANY_F8_ANY_FAST_ACCUM",
    "F16_F16_F16",
    "F16_F16_F32",
    "BF16_BF16_BF16",
    "BF16_BF16_F32",
    "BF16_BF16_F32_X3",
    "BF16_BF16_F32_X6",
    "BF16_BF16_F32_X9",
    "TF32_TF32_F32",
    "TF32_TF32_F32_X3",
    "F32_F32_F32",
    "F64_F64_F64",
)

enable_x64 = define(
    "enable_x64",
    False,
    boolean,
    "Keep 64-bit types; otherwise they become their 32-bit counterparts.",
    affects_tracing=True,
    aliases=("x64_enabled",),
)
numpy_dtype_promotion = define(
    "numpy_dtype_promotion",
    "standard",
    one_of("standard", "strict"),
    "How operands of different dtypes combine: by the whole lattice, or only Python scalars with arrays.",
    affects_tracing=True,
)
numpy_rank_promotion = define(
    "numpy_rank_promotion",
    "allow",
    one_of("allow", "warn", "raise"),
    "What to do when operands of different ranks are broadcast.",
    affects_tracing=True,
)
default_matmul_precision = define(
    "default_matmul_precision",
    None,
    one_of(*_MATMUL_PRECISIONS, optional=True),
    "The precision of matrix products and convolutions that do not state one; None is the platform's choice.",
    affects_tracing=True,
)
check = define(
    "check",
    False,
    boolean,
    "Check the types of each program as soon as it is traced.",
    affects_tracing=True,  # a program traced without the check must be traced again with it
    aliases=("enable_checks",),
)
check_leaks = define(
    "check_leaks",
    False,
    boolean,
    "Raise as soon as a traced function returns while one of its tracers is still alive.",
    affects_tracing=True,  # a program traced without the check must be traced again with it
    aliases=("check_tracer_leaks", "checking_leaks"),
)
check_indices = define(
    "check_indices",
    False,
    boolean,
    "Record constant indices that are out of bounds as failed checks; set by checkify while it traces.",
    affects_tracing=True,
)
disable_jit = define(
    "disable_jit",
    False,
    boolean,
    "Run jit's functions operation by operation, as plain Python.",
    affects_tracing=True,
)
debug_nans = define("debug_nans", False, boolean, "Raise when an operation returns a NaN.")
debug_infs = define("debug_infs", False, boolean, "Raise when an operation returns an infinity.")
traceback_filtering = define(
    "traceback_filtering",
    "auto",
    one_of("off", "auto", "tracebackhide", "remove_frames", "quiet_remove_frames"),
    "How errors show laminax's own frames: all (off), marked for IPython (tracebackhide), or not: with the whole traceback as "
    "the error's cause (remove_frames), or a note (quiet_remove_frames). auto is tracebackhide in IPython, else the last.",
)
log_compiles = define("log_compiles", False, boolean, "Log each compilation and what it was for, as warnings.")
explain_cache_misses = define(
    "explain_cache_misses",
    False,
    boolean,
    "Log, as warnings, why a function is traced or compiled: it is new, or which argument or option changed, and how.",
)
log_checkpoint_residuals = define(
    "log_checkpoint_residuals", False, boolean, "Log, as a warning, what each checkpointed function keeps for its derivative."
)
captured_constants_warn_bytes = define(
    "captured_constants_warn_bytes",
    2 * 10**9,
    integer,
    "Warn when the constants that a compiled function captures take this many bytes; -1 never warns.",
)
no_tracing = define("no_tracing", False, boolean, "Raise where a function would be traced for jit.")
default_prng_impl = define(
    "default_prng_impl",
    "threefry2x32",
    one_of("threefry2x32", "rbg", "unsafe_rbg"),
    "The generator behind random keys that do not name one.",
    affects_tracing=True,
)
enable_custom_prng = define(
    "enable_custom_prng",
    False,
    boolean,
    "Make typed keys, as random.key does, where random.PRNGKey is called.",
    affects_tracing=True,
)
legacy_prng_key = define(
    "legacy_prng_key",
    "allow",
    one_of("allow", "warn", "error"),
    "What to do when random functions are given the words of a key instead of a typed key.",
    affects_tracing=True,  # a program traced while they were allowed must be traced again
)
random_seed_offset = define(
    "random_seed_offset", 0, integer, "Is added to the seed of every random key.", affects_tracing=True
)
high_dynamic_range_gumbel = define(
    "high_dynamic_range_gumbel",
    False,
    boolean,
    "Draw Gumbel samples, and those of categorical, with mode='high' where no mode is given.",
    affects_tracing=True,
)
softmax_custom_jvp = define(
    "softmax_custom_jvp",
    False,
    boolean,
    "Differentiate nn.softmax by a rule that keeps its result only.",
    affects_tracing=True,
)
threefry_partitionable = define(
    "threefry_partitionable",
    True,
    boolean,
    "Generate threefry's bits so that each shard computes its own part.",
    affects_tracing=True,
)


# --- the facade for users ---


class Config:
    """All options under one roof, by name: `config.update(name, value)` and `config.enable_x64`.

    Names work with the prefix "laminax_" or "jax_", or without one. Reading gives the value in this thread.
    """

    __slots__ = ()

    def update(self, name: str, value: Any) -> None:
        """Sets an option's global value.

        Raises:
            AttributeError: there is no such option.
            ValueError: the option does not take this value.

        Example:
            >>> config.update("jax_enable_x64", False)
        """
        find(name).set_global(value)

    def read(self, name: str) -> Any:
        """An option's value in this thread."""
        return find(name).value

    @property
    def values(self) -> dict[str, Any]:
        """Every option's value in this thread, by its name without a prefix."""
        return {option.name: option.value for option in options()}

    def config_with_absl(self) -> None:
        """Gives absl's command line a flag for each option, --jax_enable_x64 and so on; call it before absl parses.

        Raises:
            ImportError: the package absl-py is not installed.
        """
        from laminax_ir.absl_flags import define_flags

        define_flags()

    def parse_flags_with_absl(self) -> None:
        """Sets options from this program's command line, --jax_enable_x64=1 and so on; leaves other arguments alone.

        Raises:
            ImportError: the package absl-py is not installed.
        """
        from laminax_ir.absl_flags import parse_command_line

        parse_command_line()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # copy, pickle and doctest probe for these
            raise AttributeError(name)
        return find(name).value

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"config.{name} cannot be assigned. Call config.update({name!r}, {value!r}).")

    def __dir__(self) -> list[str]:
        return ["config_with_absl", "parse_flags_with_absl", "read", "update", "values", *(option.name for option in options())]

    def __repr__(self) -> str:
        return f"Config({', '.join(f'{name}={value!r}' for name, value in self.values.items())})"


def find(name: str) -> Option:
    """The option of this name; a prefix is cut only if what remains is a name.

    Raises:
        AttributeError: there is no such option.
    """
    spellings = (name, name.removeprefix("laminax_"), name.removeprefix("jax_"))
    for spelling in spellings:
        if spelling in _names:
            return _options[_names[spelling]]
    from laminax_ir.fixed_options import FIXED  # those that cannot be chosen

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


config = Config()
