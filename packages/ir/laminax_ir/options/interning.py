"""One object for equal keys, for as long as somebody has it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar
from weakref import ref

T = TypeVar("T")


class Interned(Generic[T]):
    """A table of objects by key, which it does not keep alive.

    Entries of objects that are gone are removed when the table has doubled, and not by callbacks as in a `WeakValueDictionary`: Python
    loses signals that it handles in those.

    Args:
        make: makes the object of a key; the object must allow weak references.
    """

    def __init__(self, make: Callable[[Any], T]) -> None:
        self._make = make
        self._refs: dict[Hashable, ref[T]] = {}
        self._limit = 64
        self._lock = threading.Lock()

    def __getitem__(self, key: Hashable) -> T:
        found = self._refs.get(key)
        value = None if found is None else found()
        return self._add(key) if value is None else value

    def __len__(self) -> int:
        return len(self._refs)

    def _add(self, key: Hashable) -> T:
        with self._lock:
            found = self._refs.get(key)  # another thread may have been faster
            if found is not None and (value := found()) is not None:
                return value
            if len(self._refs) >= self._limit:
                self._refs = {k: r for k, r in self._refs.items() if r() is not None}
                self._limit = max(64, 2 * len(self._refs))
            value = self._make(key)
            self._refs[key] = ref(value)
            return value
