"""Functions of flat arguments with a stack of transformations around them.

A transformation is a function that takes the function below it first. Auxiliary results, such as the structure of what
the function returned, are put into a `Store` on the way out and read afterwards.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, Callable, Hashable
from weakref import WeakKeyDictionary


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
    """
    if not callable(f):
        raise TypeError(f"wrap_init: a function is expected, got {f!r}")
    return WrappedFun(f, params=tuple(sorted((params or {}).items())), debug_info=debug_info)


def transformation2(gen: Callable[..., Any], fun: WrappedFun | None = None, *gen_static_args: Hashable) -> Any:
    """The function with `gen(fun, *gen_static_args, *args)` around it.

    Without `fun`, the transformation itself: a function that takes `fun` and the static arguments.
    """
    if fun is None:
        return functools.partial(transformation2, gen)
    return fun.wrap(gen, gen_static_args)


def transformation_with_aux2(gen: Callable[..., Any], fun: WrappedFun | None = None, *gen_static_args: Hashable,
                             use_eq_store: bool = False, unk_names: bool = False) -> Any:
    """The function with `gen(fun, store, *gen_static_args, *args)` around it, and the function that reads the store.

    Args:
      gen: the transformation; puts one value into the store at each call.
      fun: the function; without it, the transformation itself is returned, a function that takes `fun` and the static arguments.
      *gen_static_args: hashable arguments of the transformation.
      use_eq_store: whether an equal value may be put in again, for functions that are called several times.
      unk_names: has no effect: names of arguments are not tracked.
    """
    if fun is None:
        return functools.partial(transformation_with_aux2, gen, use_eq_store=use_eq_store, unk_names=unk_names)
    store = _EqualStore() if use_eq_store else Store()
    return fun.wrap(gen, gen_static_args, store), lambda: store.val


class _EqualStore(Store):
    """A store that takes an equal value again."""

    __slots__ = ()

    def store(self, val: Any) -> None:
        if self._values and self._values[0] != val:
            raise StoreException(f"Store occupied with {self._values[0]!r}, which differs from {val!r}")
        if not self._values:
            self._values.append(val)


def transformation(gen: Callable[..., Any], fun: WrappedFun | None = None, *gen_static_args: Hashable) -> Any:
    """As `transformation2`, of a generator: it yields `(args, kwargs)`, is sent the result, and yields its own result.

    Without `fun`, the transformation itself: a function that takes `fun` and the static arguments.
    """
    if fun is None:
        return functools.partial(transformation, gen)
    return transformation2(_RunGenerator(gen), fun, *gen_static_args)


def transformation_with_aux(gen: Callable[..., Any], fun: WrappedFun | None = None, *gen_static_args: Hashable) -> Any:
    """As `transformation_with_aux2`, of a generator, whose last value is the pair of result and auxiliary value."""
    if fun is None:
        return functools.partial(transformation_with_aux, gen)
    return transformation_with_aux2(_RunGeneratorWithAux(gen), fun, *gen_static_args)


@dataclass(frozen=True)
class _RunGenerator:
    """A generator as a transformation; equal for equal generators."""

    gen: Callable[..., Any]

    def __call__(self, fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        running = self.gen(*args, **kwargs)
        inner_args, inner_kwargs = next(running)
        return running.send(fun(*inner_args, **inner_kwargs))


@dataclass(frozen=True)
class _RunGeneratorWithAux(_RunGenerator):
    """A generator with an auxiliary value as a transformation."""

    def __call__(self, fun: Callable[..., Any], store: Store, *args: Any, **kwargs: Any) -> Any:
        result, aux = super().__call__(fun, *args, **kwargs)
        store.store(aux)
        return result


def merge_linear_aux(aux1: Callable[[], Any], aux2: Callable[[], Any]) -> tuple[bool, Any]:
    """Whether the first of two stores was filled, or else the second, and the value of the one that was.

    Raises:
      StoreException: if both were filled, or none.
    """
    try:
        first = (aux1(),)
    except StoreException:
        return False, aux2()
    try:
        aux2()
    except StoreException:
        return True, first[0]
    raise StoreException("both stores occupied")


def cache(call: Callable[..., Any], *, explain: None = None) -> Callable[..., Any]:
    """Remembers what `call(fun, *args)` gave for equal functions, transformations and arguments, as long as the function lives.

    Args:
      call: takes a `WrappedFun` and hashable arguments.
      explain: must be None.
    """
    if explain is not None:
        raise NotImplementedError("linear_util.cache: explain is not supported")
    caches: WeakKeyDictionary[Callable[..., Any], dict[tuple[Any, ...], tuple[Any, tuple[Any, ...]]]] = WeakKeyDictionary()

    @functools.wraps(call)
    def cached(fun: WrappedFun, *args: Hashable) -> Any:
        entries = caches.setdefault(fun.f, {})
        key = (fun.transforms, fun.params, args)
        if key in entries:
            result, values = entries[key]
            for store, value in zip(fun.stores, values):
                if store is not None:
                    store.reset()
                    store.store(value)
            return result
        result = call(fun, *args)
        entries[key] = result, tuple(None if store is None else store.val for store in fun.stores)
        return result

    cached.cache_clear = caches.clear  # type: ignore[attr-defined]
    return cached
