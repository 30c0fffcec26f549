"""Options: typed settings, each with a global value and a thread's override of it.

An `Option` is an ambient value (`laminax_ir.options.ambient`) that users set: by name, in the environment, for the process or for a thread.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Iterator
from typing import Any

from laminax_ir.options.ambient import UNSET, Ambient, Override, add_option, check_hashable, invalidate_trace_keys, lock, notify
from laminax_ir.options.records import Record

# --- what values an option takes ---


class ValueType(Record):
    """The values an option accepts.

    `check` returns the normalised value or raises ValueError; `parse` does the same for an environment variable's
    text. `description` completes the sentence "it must be ...".
    """

    description: str
    check: Callable[[Any], Any]
    parse: Callable[[str], Any]


def _check_boolean(value: bool) -> bool:
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


def _only(value: Any, reason: str, others: tuple[Any, ...] = ()) -> ValueType:
    """The type of an option that has one value, and perhaps others that mean the same."""

    def check(given: Any) -> Any:
        for known in (value, *others):
            if given == known and isinstance(given, bool) == isinstance(known, bool):
                return known
        raise ValueError

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


class Option(Ambient):
    """One option. `value` is what holds in this thread; a call makes a context manager that overrides it.

    Each option is the one instance of its own subclass, which `define` makes.
    """

    has_global = True
    default: Any
    doc: str
    example: str
    name_in_jax: str
    environment_variable: str
    value_type: ValueType

    @property
    def __name__(self) -> str:
        return type(self).name_in_jax or self.name

    def __call__(self, new_val: Any = UNSET) -> Override:
        """Returns a context manager, also usable as a decorator, that overrides the option in this thread.

        Args:
            new_val: the value inside the block; a boolean option may leave it out, and is then True.

        Raises:
            TypeError: a value is needed, or has no hash.
            ValueError: the option does not take this value.
        """
        if new_val is UNSET:
            if self.value_type is not boolean:
                raise TypeError(f"{self.name}() needs a value: {self.value_type.description}.")
            new_val = True
        return Override(self, self._checked(new_val))

    def set_global(self, value: Any) -> None:
        """Changes the value of every thread that does not override the option."""
        value, before = self._checked(value), self.get_global()
        try:
            self._store_global(value)
        except BaseException:
            self._store_global(before)
            raise

    def _store_global(self, value: Any) -> None:
        with lock:
            type(self).value = value
            invalidate_trace_keys()
        notify(self, "global", value)

    def _checked(self, value: Any, source: str = "") -> Any:
        name = source or self.name
        try:
            checked = self.value_type.parse(value) if source else self.value_type.check(value)
        except ValueError:
            raise ValueError(f"{name} cannot be {value!r}: it must be {self.value_type.description}.") from None
        return check_hashable(name, checked)

    def __setattr__(self, name: str, value: bool) -> None:
        # A plain assignment would leave stale trace keys and subscribers behind.
        raise AttributeError(
            f"{self.name}.{name} cannot be assigned. "
            f"Call {self.name}.set_global(value), or use `with {self.name}(value):`."
        )

    def __bool__(self) -> bool:
        raise TypeError(f"{self.name} is an option, not its value. Read {self.name}.value instead.")

    def __repr__(self) -> str:
        return f"<option {self.name} = {self.value!r}>"


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
    name_in_jax: str = "",
    variables: tuple[str, ...] | None = None,
    is_listed: bool = True,
    example: str = "",
) -> Option:
    """Makes an option, with its initial value from the environment: LAMINAX_<NAME>, or else JAX_ and the name or an alias.

    Args:
        name: the option's name, without a prefix.
        default: its value when nobody sets it.
        value_type: the values it takes.
        doc: one line for a reader of the options' table.
        affects_tracing: whether its value can change the program that a trace records.
        aliases: other names under which `config` knows it, for example JAX's.
        name_in_jax: its name there, if it is another one.
        variables: the environment variables, if others than these.
        is_listed: whether `all_options` has it, and `config` knows it by name.
        example: lines of a program that shows what it does, for its documentation.

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
        "example": example,
        "name_in_jax": name_in_jax,
        "environment_variable": f"LAMINAX_{name.upper()}",
        "affects_tracing": affects_tracing,
        "value_type": value_type,
        "value": default,
        "__doc__": property(_documentation),  # made when it is asked for: there are more than a hundred options
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
    _options[name] = option
    _names.update(dict.fromkeys((name, *aliases), name))
    add_option(option)
    return option


def _documentation(option: Option) -> str:
    """An option's docstring."""
    text = option.doc
    if option.name in _options:
        text += f"""

Takes {option.value_type.description}; {option.default!r} by default. A call with a value makes a context manager, which is a
decorator too, that overrides the option in its thread. `config.update({option.name!r}, value)` sets it for the process, and the
environment variable {option.environment_variable} from the start."""
    text += "\n\nRaises:\n  ValueError: if the option does not take the value.\n"
    lines = option.example.strip().split("\n")
    return text + ("\nExample:\n  " + "\n  ".join(lines) + "\n" if option.example else "")


def all_options() -> Iterator[Option]:
    """Every option there is, in the order of definition."""
    return iter(tuple(_options.values()))


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
                value, reason, others = FIXED[spelling]
                _fixed[spelling] = define(spelling, value, _only(value, reason, others), f"Cannot be chosen: {reason}.", variables=(),
                                          is_listed=False, example=f">>> laminax.config.update({spelling!r}, {value!r})  # the only value")
            return _fixed[spelling]
    import difflib  # only on the way to an error

    prefix = next((p for p in ("laminax_", "jax_") if name.startswith(p)), "")
    close = difflib.get_close_matches(name.removeprefix(prefix), _names, n=3)
    advice = "Did you mean " + " or ".join(prefix + n for n in close) if close else "There are " + ", ".join(_options)
    raise AttributeError(f"There is no configuration option {name!r}. {advice}{'?' if close else '.'}")
