"""Filters: which collections of variables, or which streams of keys, are meant.

Users write True, False, a name, several names, or `DenyList(names)` for all others. `Names` is all of these in one form, a
finite set of names or the complement of one, in which union, intersection and difference are those of sets.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Collection, Mapping, Sequence, TypeVar, Union

from laminax._src.linen.errors import InvalidFilterError

T = TypeVar("T")


@dataclasses.dataclass(frozen=True, eq=True)
class DenyList:
    """The filter of all names but those of `deny`.

    Example:
      >>> variables = model.init(key, x, mutable=DenyList("intermediates"))  # doctest: +SKIP
    """
    deny: Filter


Filter = Union[bool, str, Collection[str], DenyList, "Names"]


@dataclasses.dataclass(frozen=True)
class Names:
    """A set of names: `listed`, or all names but those."""
    listed: frozenset[str]
    complement: bool = False

    def __contains__(self, name: str) -> bool:
        return (name in self.listed) != self.complement

    def __invert__(self) -> Names:
        return Names(self.listed, not self.complement)

    def __and__(self, other: Names) -> Names:
        if self.complement and other.complement:
            return Names(self.listed | other.listed, True)
        if self.complement:
            return Names(other.listed - self.listed)
        return Names(frozenset(name for name in self.listed if name in other))

    def __or__(self, other: Names) -> Names:
        return ~(~self & ~other)

    def __sub__(self, other: Names) -> Names:
        return self & ~other

    def __bool__(self) -> bool:
        return self.complement or bool(self.listed)


NO_NAMES = Names(frozenset())
ALL_NAMES = Names(frozenset(), True)


def names_of(filter_like: Filter) -> Names:
    """The set of names that a filter means.

    Raises:
      InvalidFilterError: it is none of the kinds of filters.
    """
    if isinstance(filter_like, Names):
        return filter_like
    if isinstance(filter_like, bool):
        return ALL_NAMES if filter_like else NO_NAMES
    if isinstance(filter_like, str):
        return Names(frozenset((filter_like,)))
    if isinstance(filter_like, DenyList):
        return ~names_of(filter_like.deny)
    if isinstance(filter_like, Collection) and all(isinstance(name, str) for name in filter_like):
        return Names(frozenset(filter_like))
    raise InvalidFilterError(filter_like)


def in_filter(filter_like: Filter, name: str) -> bool:
    """Whether a filter means this name."""
    return name in names_of(filter_like)


def grouped(by_name: Mapping[str, T], filters: Sequence[Filter]) -> list[dict[str, T]]:
    """The items that each filter means; what several mean belongs to the first of them."""
    groups: list[dict[str, T]] = []
    rest: dict[str, T] = dict(by_name)
    for names in map(names_of, filters):
        groups.append({name: item for name, item in rest.items() if name in names})
        rest = {name: item for name, item in rest.items() if name not in names}
    return groups


def describe(filter_like: Any) -> str:
    """A filter as users write it, for messages."""
    names = names_of(filter_like)
    listed = sorted(names.listed)
    return (f"all but {listed}" if listed else "all") if names.complement else str(listed)
