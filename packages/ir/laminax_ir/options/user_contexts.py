"""Values of users' own on which traced programs depend: a cache of programs has one for each value."""

from __future__ import annotations

import itertools
from typing import Any

from laminax_ir.options.ambient import Ambient, add_option, invalidate_trace_keys, lock, notify

_counter = itertools.count()


class UserContext(Ambient):
    """A value that programs depend on. `value` is what holds in this thread; a call makes a context manager that overrides it."""

    has_global = True

    def set_global(self, value: Any) -> None:
        """Changes the value in all threads that do not override it."""
        value = self._checked(value)
        with lock:
            type(self).value = value
            invalidate_trace_keys()
        notify(self, "global", value)


def make_user_context(default_value: Any = None) -> UserContext:
    """Makes a value on which traced programs depend: a jitted function is traced and compiled anew where it has another one.

    Args:
      default_value: the value outside of `with` blocks, hashable.

    Returns:
      The context: `with context(value):` sets the value in a block, `context.value` reads it, also while a function is traced, and
      `context.set_global(value)` changes the default.

    Raises:
      TypeError: if a value has no hash.

    Example:
      >>> rounds = make_user_context(1)
      >>> @jit
      ... def f(x):
      ...     return x * rounds.value
      >>> with rounds(3):
      ...     f(2.0)
    """
    name = f"user_context_{next(_counter)}"
    members = {"name": name, "affects_tracing": True, "normal": staticmethod(_itself), "value": default_value, "__module__": __name__,
               "__doc__": UserContext.__doc__}
    context = type(f"UserContext[{name}]", (UserContext,), members)()
    context._checked(default_value)
    add_option(context)
    return context


def _itself(value: Any) -> Any:
    return value
