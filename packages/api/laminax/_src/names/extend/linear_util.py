"""Transformations of functions of flat arguments (`laminax_ir.tracing.wrapped_functions`), and results remembered by function."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, Callable, Hashable
from weakref import WeakKeyDictionary

from laminax_ir.tracing.wrapped_functions import Store, StoreException, WrappedFun


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

    Raises:
      NotImplementedError: if explain is not None.
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
