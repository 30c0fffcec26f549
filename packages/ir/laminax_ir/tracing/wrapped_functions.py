"""Functions of flat arguments with a stack of transformations around them.

A transformation is a function that takes the function below it first. Auxiliary results, such as the structure of what
the function returned, are put into a `Store` on the way out and read afterwards.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, Callable, Hashable


class StoreException(Exception):
    """A store was read before a value was put in, or was given a second one."""


class Store:
    """A place for one value."""

    __slots__ = ("_values",)

    def __init__(self) -> None:
        self._values: list[Any] = []

    def store(self, val: Any) -> None:
        """Puts the value in."""
        if self._values:
            raise StoreException("Store occupied")
        self._values.append(val)

    def reset(self) -> None:
        """Takes the value out, if there is one."""
        self._values.clear()

    @property
    def val(self) -> Any:
        """The value."""
        if not self._values:
            raise StoreException("Store empty")
        return self._values[0]

    def __bool__(self) -> bool:
        return bool(self._values)


@dataclass(frozen=True)
class WrappedFun:
    """A function with transformations around it, the outermost first. Two are equal if their parts are.

    Args:
      f: the function.
      transforms: pairs of a transformation and its static arguments.
      stores: for each of them where it puts its auxiliary result, or None.
      params: keyword arguments of the function, as sorted pairs.
      debug_info: anything that describes the function.
    """

    f: Callable[..., Any]
    transforms: tuple[tuple[Callable[..., Any], tuple[Hashable, ...]], ...] = ()
    stores: tuple[Store | None, ...] = ()
    params: tuple[tuple[str, Any], ...] = ()
    debug_info: Any = None

    def __hash__(self) -> int:
        return hash((self.f, self.transforms, self.params))

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, WrappedFun) and (self.f, self.transforms, self.params) == (other.f, other.transforms, other.params)

    @property
    def __name__(self) -> str:
        f = self.f
        while isinstance(f, functools.partial) and not hasattr(f, "__name__"):
            f = f.func
        return getattr(f, "__name__", "<unnamed wrapped function>")

    def wrap(self, transform: Callable[..., Any], static_args: tuple[Hashable, ...], store: Store | None = None) -> WrappedFun:
        """The function with one more transformation around it."""
        return WrappedFun(self.f, ((transform, static_args), *self.transforms), (store, *self.stores), self.params, self.debug_info)

    def call_wrapped(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the function through its transformations."""
        fun = functools.partial(self.f, **dict(self.params)) if self.params else self.f
        for (transform, static_args), store in zip(reversed(self.transforms), reversed(self.stores)):
            fun = functools.partial(transform, fun, *((store,) if store is not None else ()), *static_args)
        return fun(*args, **kwargs)


def wrap_init(f: Callable[..., Any], params: dict[str, Any] | None = None, *, debug_info: Any = None) -> WrappedFun:
    """A function without transformations.

    Args:
      f: the function.
      params: keyword arguments to call it with.
      debug_info: anything that describes the function.

    Raises:
      TypeError: if f is not callable.
    """
    if not callable(f):
        raise TypeError(f"wrap_init: a function is expected, got {f!r}")
    return WrappedFun(f, params=tuple(sorted((params or {}).items())), debug_info=debug_info)
