"""The base class of `custom_jvp`, `custom_vjp` and `custom_vmap`: decorated functions, which have rules.

A function can have rules of several kinds, in any order of the decorators; the outermost decorated function gives access to all.
"""

from __future__ import annotations

from functools import partial, update_wrapper
from typing import Any, Callable, cast


class DecoratedFunction:
    """A function with rules of one kind; its attributes of other kinds are those of the function it decorates."""

    __name__: str

    def __init__(self, fun: Callable) -> None:
        update_wrapper(cast(Callable, self), fun, updated=() if isinstance(fun, DecoratedFunction) else ("__dict__",))
        self.fun = fun

    def __getattr__(self, name: str) -> Callable:
        fun = self.__dict__.get("fun")
        if isinstance(fun, DecoratedFunction) and not name.startswith("__"):
            return getattr(fun, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else partial(cast(Callable, self), instance)
