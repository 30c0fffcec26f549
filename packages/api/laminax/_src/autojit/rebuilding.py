"""Making objects again from their descriptions, with other arrays in the places of those that were found in them."""

from __future__ import annotations

import copyreg
import functools
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from laminax_ir.pytrees.pytree import make_from_node_data_and_children, tree_structure

from laminax._src.autojit.descriptions import (
    AGAIN,
    BYTES,
    CALL,
    DICT,
    FROZENSET,
    GIVEN,
    ITERATOR,
    LEAF,
    LIST,
    NAMED,
    NODE,
    OBJECT,
    ONCE,
    OPAQUE,
    REDUCED,
    SAME,
    SET,
    TUPLE,
    Description,
    find,
)


class Rebuilder:
    """Makes objects again that were described together.

    Args:
      whole: the description of all, in which objects are looked for that are part of themselves.
      arrays: the arrays, by their numbers.
      originals: the objects that the arguments were described from, by their numbers: those without arrays are passed as they are.
    """

    __slots__ = ("whole", "arrays", "originals", "made")

    def __init__(self, whole: Description, arrays: Sequence[Any], originals: Sequence[Any]) -> None:
        self.whole, self.arrays, self.originals = whole, arrays, originals
        self.made: dict[int, Any] = {}

    def unchanged(self) -> dict[int, Any]:
        """The objects that were passed as they are, by their numbers."""
        return {index: x for index, x in self.made.items() if x is self.originals[index]}

    def arguments(self) -> tuple[Any, tuple, dict[str, Any]]:
        """The function, if it was described, the arguments and the keyword arguments of a call."""
        _, function, args, names, values = self.whole
        built = None if function is None else self.build(function)
        return built, self.each(args), dict(zip(names, self.each(values)))

    def build(self, description: Description) -> Any:
        make = _MAKERS.get(description[0])
        if make is not None:
            return make(self, description)
        kind, value = description
        return value if kind is not float else float(value)

    def each(self, descriptions: Sequence[Description]) -> tuple:
        return tuple([self.build(description) for description in descriptions])

    def once(self, index: int, make: Callable[[], Any]) -> Any:
        """An object whose parts are made before it; if it is a part of itself, it has been made with them."""
        found = make()
        return self.made.setdefault(index, found)

    def filled(self, index: int, make: Callable[[], Any], fill: Callable[[Any], None]) -> Any:
        """An object that is made first and its parts then, of which it may be one."""
        if index in self.made:  # the object is being filled, and this is its description seen from a part
            return self.made[index]
        found = make()
        made = self.made.setdefault(index, found)
        if made is found:
            fill(made)
        return made


def _array(self: Rebuilder, description: Description) -> Any:
    return self.arrays[description[1]]


def _again(self: Rebuilder, description: Description) -> Any:
    index = description[1]
    if index not in self.made:  # part of an object that is being made of it
        found = find(self.whole, index)
        assert found is not None
        return self.build(found)
    return self.made[index]


def _list(self: Rebuilder, description: Description) -> list:
    _, index, items = description
    return self.filled(index, list, lambda made: made.extend([self.build(item) for item in items]))


def _dict(self: Rebuilder, description: Description) -> dict:
    _, index, entries = description
    return self.filled(index, dict, lambda made: _fill_entries(self, made, entries))


def _fill_entries(self: Rebuilder, made: Any, entries: Sequence[tuple[Description, Description]]) -> None:
    for key, value in entries:
        built = self.build(key)
        made[built] = self.build(value)


def _set(self: Rebuilder, description: Description) -> set:
    _, index, items = description
    return self.filled(index, set, lambda made: made.update(self.each(items)))


def _tuple(self: Rebuilder, description: Description) -> tuple:
    return self.once(description[1], lambda: self.each(description[2]))


def _frozenset(self: Rebuilder, description: Description) -> frozenset:
    return self.once(description[1], lambda: frozenset(self.each(description[2])))


def _named(self: Rebuilder, description: Description) -> Any:
    _, index, cls, items = description
    return self.once(index, lambda: tuple.__new__(cls, self.each(items)))


def _iterator(self: Rebuilder, description: Description) -> Any:
    return self.once(description[1], lambda: iter(self.each(description[2])))


def _object(self: Rebuilder, description: Description) -> Any:
    _, index, cls, names, values = description
    return self.filled(index, lambda: cls.__new__(cls), lambda made: _set_attributes(made, names, self.each(values)))


def _set_attributes(x: Any, names: Sequence[str], values: Sequence[Any]) -> None:
    attributes = getattr(x, "__dict__", None)
    slots = copyreg._slotnames(type(x))  # type: ignore[attr-defined]
    for name, value in zip(names, values):
        if attributes is None or name in slots:
            object.__setattr__(x, name, value)  # also where the class is frozen
        else:
            attributes[name] = value


def _node(self: Rebuilder, description: Description) -> Any:
    _, index, cls, children, data = description

    def make() -> Any:
        treedef = make_from_node_data_and_children((cls, self.build(data)), [_LEAF] * len(children))
        return treedef.unflatten(self.each(children))

    return self.once(index, make)


_LEAF = tree_structure(0)


def _called(self: Rebuilder, description: Description) -> Any:
    _, index, cls, _, values = description
    return self.once(index, lambda: _CALLS[cls](*self.each(values)))


_CALLS: dict[type, Callable[..., Any]] = {
    types.MethodType: types.MethodType,
    types.MappingProxyType: types.MappingProxyType,
    functools.partial: lambda func, args, keywords: functools.partial(func, *args, **keywords),
}


def _reduced(self: Rebuilder, description: Description) -> Any:
    _, index, function, args, state, items, entries, setter = description

    def fill(made: Any) -> None:
        for item in items or ():
            made.append(self.build(item))
        _fill_entries(self, made, entries or ())
        if state is not None:
            _set_state(made, self.build(state), None if setter is None else self.build(setter))

    return self.filled(index, lambda: self.build(function)(*self.each(args)), fill)


def _set_state(x: Any, state: Any, setter: Callable | None) -> None:
    if setter is not None:
        setter(x, state)
    elif hasattr(x, "__setstate__"):
        x.__setstate__(state)
    else:
        attributes, slots = state if type(state) is tuple and len(state) == 2 else (state, None)
        for part in (attributes, slots):
            if part:
                _set_attributes(x, tuple(part), tuple(part.values()))


def _bytes(self: Rebuilder, description: Description) -> Any:
    _, index, _, dtype, shape, order, data = description
    if shape is None:
        return np.ndarray((), dtype, data)[()]
    return self.once(index, lambda: np.ndarray(shape, dtype, data, order=order).copy(order))


def _same(self: Rebuilder, description: Description) -> Any:
    _, index, end, *_ = description
    self.made.update(enumerate(self.originals[index:end], index))
    return self.originals[index]


def _original(self: Rebuilder, description: Description) -> Any:
    return self.originals[description[1]]


def _opaque(self: Rebuilder, description: Description) -> Any:
    _, index, _, x = description
    self.made[index] = x
    return x


def _complex(self: Rebuilder, description: Description) -> complex:
    real, imag = description[1]
    return complex(float(real), float(imag))


_MAKERS: dict[Any, Callable[[Rebuilder, Description], Any]] = {
    LEAF: _array,
    AGAIN: _again,
    GIVEN: _original,
    ONCE: _original,
    LIST: _list,
    TUPLE: _tuple,
    SET: _set,
    FROZENSET: _frozenset,
    DICT: _dict,
    NAMED: _named,
    OBJECT: _object,
    NODE: _node,
    CALL: _called,
    REDUCED: _reduced,
    BYTES: _bytes,
    SAME: _same,
    OPAQUE: _opaque,
    ITERATOR: _iterator,
    complex: _complex,
}
