"""Helpers for lists and functions, under the name by which guides and libraries import them, `jax._src.util`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from laminax.api_util import safe_map

__all__ = ["HashablePartial", "safe_map", "safe_zip", "split_list", "unzip2"]


def safe_zip(*args: Iterable[Any]) -> list[tuple]:
    """The list of the tuples of several sequences, which must be of one length.

    Raises:
      ValueError: they are not.
    """
    return list(zip(*args, strict=True))


def unzip2(pairs: Iterable[tuple[Any, Any]]) -> tuple[tuple, tuple]:
    """The first items of pairs, and the second ones."""
    listed = list(pairs)
    return tuple(a for a, _ in listed), tuple(b for _, b in listed)


def split_list(args: Sequence[Any], ns: Sequence[int]) -> list[list[Any]]:
    """Consecutive parts of a sequence.

    Args:
      ns: the lengths of all parts but the last, which has the rest.

    Example:
      >>> split_list([1, 2, 3, 4], [1, 2])
      [[1], [2, 3], [4]]
    """
    rest, parts = list(args), []
    for n in ns:
        parts.append(rest[:n])
        rest = rest[n:]
    return [*parts, rest]


class HashablePartial:
    """A function with its first arguments, equal to another one of the same code and arguments; these must be hashable.

    Example:
      >>> HashablePartial(max, 2)(1)
      2
    """

    def __init__(self, f: Callable, *args: Any, **kwargs: Any) -> None:
        self.f, self.args, self.kwargs = f, args, kwargs

    def _key(self) -> tuple:
        return getattr(self.f, "__code__", self.f), self.args, tuple(sorted(self.kwargs.items()))

    def __eq__(self, other: object) -> bool:
        return type(other) is HashablePartial and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.f(*self.args, *args, **self.kwargs, **kwargs)
