"""The name, documentation and signature of a transformed function, taken over from the function."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType
from typing import Any

_VALUES = {"__name__": str, "__qualname__": str, "__module__": str, "__doc__": str}


def wraps(fun: Callable, updated: tuple[str, ...] = ("__dict__",)) -> Callable[[Callable], Any]:
    """Decorator: `functools.wraps`, for all that can be called.

    An object may have the attributes of functions without values of their types, as equinox's modules have that were taken apart as
    pytrees and put together again; the wrapper keeps its own then.

    Args:
      fun: what is wrapped.
      updated: the attributes that are dictionaries, which the wrapper's are updated with.
    """
    def decorate(wrapper: Callable) -> Any:
        try:
            return functools.update_wrapper(wrapper, fun, updated=updated)
        except TypeError:
            good = [name for name, kind in _VALUES.items() if isinstance(getattr(fun, name, None), kind)]
            return functools.update_wrapper(wrapper, fun, good, updated)
    return decorate


def alias(fun: Callable, name: str) -> Any:
    """The same Python function under another `__name__`: a copy that shares its code, so that calls cost the same."""
    copy: Any = FunctionType(fun.__code__, fun.__globals__, name, fun.__defaults__, fun.__closure__)
    functools.update_wrapper(copy, fun)
    copy.__kwdefaults__, copy.__name__, copy.__qualname__ = fun.__kwdefaults__, name, name
    if not hasattr(fun, "__wrapped__"):
        del copy.__wrapped__  # which update_wrapper has set
    else:
        copy.__wrapped__ = fun.__wrapped__
    return copy
