"""What a transformed function takes over from the function: its name, documentation and signature."""

from __future__ import annotations

import functools
from collections.abc import Callable
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
