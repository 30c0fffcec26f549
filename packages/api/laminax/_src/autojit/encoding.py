"""Taking Python objects apart into a hashable description and the arrays that are in them.

An object comes apart as pickle takes it apart, by `__reduce_ex__`, but in memory, so that classes need no place in a module. What it
consists of is what is compared, since objects change, and what is equal need not be alike: 1, 1.0 and True make different programs. An
object that has an equality of its own must be equal, too. Only what does not come apart is known by its hash alone.
"""

from __future__ import annotations

import copyreg
import enum
import functools
import math
import types
from collections import OrderedDict, defaultdict
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator, Mapping
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

import laminax_runtime as runtime
from laminax_ir.pytrees.pytree import flatten_one_level, is_tree_node
from laminax_ir.refs.refs import Ref

from laminax._src.autojit.descriptions import (
    AGAIN,
    ARGUMENTS,
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
    UNKNOWN,
    Description,
)

Describe = Callable[["Encoder", Any], Description]
TakeApart = Callable[["Encoder", Any, int], Description | None]

_NOWHERE = 1 << 62  # above the number of every object


class Encoder:
    """Describes the objects of one call, or of its result, which may have parts in common.

    `arrays` are the arrays that were met, `objects` the other objects by their numbers.
    """

    __slots__ = ("arrays", "objects", "known", "lowest", "repeats", "unknown", "kept", "is_result")

    def __init__(self, given: Mapping[int, Any] | None = None) -> None:
        """Args:
          given: for a result, the objects of the arguments by their numbers, those that the function got as they are.
        """
        self.arrays: list[Any] = []
        self.objects: list[Any] = []
        self.is_result = given is not None
        # By id; all that is known stays alive in `arrays`, `objects`, `given` or `kept`.
        self.known: dict[int, Description] = {id(x): (GIVEN, i) for i, x in given.items()} if given is not None else {}
        self.lowest = _NOWHERE  # the lowest number that was met again, inside of the object that is being described
        self.repeats = 0  # how many arrays were met again
        self.unknown = 0  # how many parts have neither a hash nor a way to be copied
        self.kept: list[Any] = []

    def arguments(self, function: Any, args: tuple, kwargs: dict[str, Any]) -> Description:
        """Describes a call, whose function is a further argument, or None."""
        described = None if function is None else self.describe(function)
        ways = _ways
        return (ARGUMENTS, described, tuple([ways[type(x)](self, x) for x in args]), tuple(kwargs),
                tuple([ways[type(x)](self, x) for x in kwargs.values()]))

    def describe(self, x: Any) -> Description:
        return _ways[type(x)](self, x)

    def number(self, x: Any) -> int:
        """The number of an object that was not met before."""
        index = len(self.objects)
        self.objects.append(x)
        self.known[id(x)] = (AGAIN, index, False)
        return index

    def again(self, known: Description) -> Description:
        if known[0] is AGAIN and not known[2] and known[1] < self.lowest:
            self.lowest = known[1]
        return known

    def object(self, x: Any, take_apart: TakeApart) -> Description:
        """Describes an object that is no container of Python."""
        known = self.known.get(id(x))
        if known is not None:
            return self.again(known)
        index, lowest, before = self.number(x), self.lowest, (len(self.arrays), self.repeats)
        unknown, self.lowest = self.unknown, _NOWHERE
        content = take_apart(self, x, index)
        is_closed, has_arrays = self.lowest >= index, before != (len(self.arrays), self.repeats)
        self.lowest = lowest if is_closed else min(lowest, self.lowest)
        if content is None:
            return self._opaque(x, index)
        if has_arrays or not is_closed:
            return content
        has_equality = _has_equality(x)
        if self.unknown > unknown:
            if not has_equality:
                return content
            self.unknown = unknown
            self._forget_after(index)
            return OPAQUE, index, type(x), x
        if content[0] is OBJECT and not content[4] and type(x).__hash__ is object.__hash__:
            return OPAQUE, index, type(x), x  # with nothing in it that could be compared, it is a marker
        if self.is_result:
            return content
        self.known[id(x)] = (AGAIN, index, True)
        return SAME, index, len(self.objects), x if has_equality else None, content

    def _opaque(self, x: Any, index: int) -> Description:
        if isinstance(x, (Iterator, Coroutine, AsyncIterator)):
            if self.is_result:
                raise TypeError(f"a {type(x).__name__} can run once, and a program that is compiled runs many times. Return what it gives.")
            return ONCE, index, _Once()
        try:
            hash(x)
        except Exception:  # of the user's class
            self.unknown += 1
            return UNKNOWN, type(x)
        return OPAQUE, index, type(x), x

    def _forget_after(self, index: int) -> None:
        """Forgets the objects that were met inside of one that is compared as a whole."""
        for x in self.objects[index + 1:]:
            self.known.pop(id(x), None)
        self.kept.extend(self.objects[index + 1:])
        del self.objects[index + 1:]


class _Once:
    """Makes a description equal to no other."""


def _has_equality(x: Any) -> bool:
    """Whether an object can be hashed, by more than where it lies in memory."""
    if type(x).__hash__ in (None, object.__hash__):
        return False
    try:
        hash(x)
    except Exception:  # of the user's class, or since what it consists of cannot be hashed
        return False
    return True


# --- arrays, and values that are known by themselves ---


def _array(encoder: Encoder, x: Any) -> Description:
    known = encoder.known.get(id(x))
    if known is not None:
        encoder.repeats += 1
        return known
    arrays = encoder.arrays
    encoder.known[id(x)] = known = LEAF, len(arrays)
    arrays.append(x)
    return known


def _value(encoder: Encoder, x: Any) -> Description:
    return type(x), x


def _float(encoder: Encoder, x: float) -> Description:
    return float, _alike(x)


def _complex(encoder: Encoder, x: complex) -> Description:
    return complex, (_alike(x.real), _alike(x.imag))


def _alike(x: float) -> float | str:
    """The number, or words for one that is equal to another, or not to itself; `float` makes numbers of them."""
    if x == 0.0:
        return x if math.copysign(1.0, x) > 0 else "-0.0"
    return x if x == x else "nan"


def _numpy_scalar(encoder: Encoder, x: np.generic) -> Description:
    if x.dtype.hasobject:
        return encoder.object(x, _reduced)
    return BYTES, None, type(x), x.dtype, None, None, x.tobytes()


# --- containers ---


def _list(encoder: Encoder, x: list) -> Description:
    known = encoder.known.get(id(x))
    if known is not None:
        return encoder.again(known)
    index, ways = encoder.number(x), _ways
    return LIST, index, tuple([ways[type(item)](encoder, item) for item in x])


def _tuple(encoder: Encoder, x: tuple) -> Description:
    known = encoder.known.get(id(x))
    if known is not None:
        return encoder.again(known)
    index, ways = encoder.number(x), _ways
    return TUPLE, index, tuple([ways[type(item)](encoder, item) for item in x])


def _dict(encoder: Encoder, x: dict) -> Description:
    known = encoder.known.get(id(x))
    if known is not None:
        return encoder.again(known)
    index, ways = encoder.number(x), _ways
    return DICT, index, tuple([((str, key) if type(key) is str else ways[type(key)](encoder, key), ways[type(value)](encoder, value))
                               for key, value in x.items()])


def _set(kind: str) -> Describe:
    def describe(encoder: Encoder, x: set | frozenset) -> Description:
        known = encoder.known.get(id(x))
        if known is not None:
            return encoder.again(known)
        index = encoder.number(x)
        if all(type(item) in _VALUES for item in x):  # equal sets may have different orders
            return kind, index, tuple(sorted([encoder.describe(item) for item in x], key=repr))
        return kind, index, tuple([encoder.describe(item) for item in sorted(x, key=lambda item: type(item).__qualname__)])

    return describe


def _named(encoder: Encoder, x: Any) -> Description:
    known = encoder.known.get(id(x))
    if known is not None:
        return encoder.again(known)
    if getattr(x, "__dict__", None):  # a subclass may have attributes
        return encoder.object(x, _reduced)
    index = encoder.number(x)
    return NAMED, index, type(x), tuple([encoder.describe(item) for item in x])


def _iterator(encoder: Encoder, x: Iterator, take_apart: TakeApart) -> Description:
    """An iterator in a result is used up; one in an argument is copied, if it can be."""
    if not encoder.is_result:
        return encoder.object(x, take_apart)
    known = encoder.known.get(id(x))
    if known is not None and known[0] is not GIVEN:
        return encoder.again(known)
    index = encoder.number(x)
    items = list(x)
    encoder.kept.append(items)
    return ITERATOR, index, tuple([encoder.describe(item) for item in items])


# --- taking objects apart; None for what does not come apart ---


def _attributes(encoder: Encoder, x: Any, index: int) -> Description:
    attributes, ways = x.__dict__, _ways
    return OBJECT, index, type(x), tuple(attributes), tuple([ways[type(value)](encoder, value) for value in attributes.values()])


def _node(encoder: Encoder, x: Any, index: int) -> Description:
    children, data = flatten_one_level(x)
    children = list(children)
    encoder.kept.append((children, data))
    return NODE, index, type(x), tuple([encoder.describe(child) for child in children]), encoder.describe(data)


def _bytes(encoder: Encoder, x: np.ndarray, index: int) -> Description | None:
    if x.dtype.hasobject:
        return _reduced(encoder, x, index)
    order = "F" if x.flags.fnc else "C"
    return BYTES, index, np.ndarray, x.dtype, x.shape, order, x.tobytes(order)  # type: ignore[arg-type]


def _called(names: tuple[str, ...], values: Callable[[Any], tuple]) -> TakeApart:
    def take_apart(encoder: Encoder, x: Any, index: int) -> Description:
        found = values(x)
        encoder.kept.append(found)
        return CALL, index, type(x), names, tuple([encoder.describe(value) for value in found])

    return take_apart


def _once(encoder: Encoder, x: Any, index: int) -> None:
    """For iterators that release 3.14 of Python does not copy any more."""


def _reduced(encoder: Encoder, x: Any, index: int) -> Description | None:
    reduce = copyreg.dispatch_table.get(type(x))
    try:
        answer = reduce(x) if reduce is not None else x.__reduce_ex__(4)
    except Exception:  # of the user's class
        return None
    if not isinstance(answer, tuple) or not 2 <= len(answer) <= 6:  # a string names a global
        return None
    encoder.kept.append(answer)
    function, args, state, items, entries, setter = answer + (None,) * (6 - len(answer))
    if function is copyreg.__newobj__ and args == (type(x),) and items is entries is setter is None:  # type: ignore[attr-defined]
        attributes = _state_attributes(x, state)
        if attributes is not None:
            encoder.kept.append(attributes)
            return OBJECT, index, type(x), tuple(attributes), _each(encoder, attributes.values())
    return (REDUCED, index, encoder.describe(function), _each(encoder, args), None if state is None else encoder.describe(state),
            None if items is None else _each(encoder, items), None if entries is None else _each_entry(encoder, entries),
            None if setter is None else encoder.describe(setter))


def _state_attributes(x: Any, state: Any) -> dict[str, Any] | None:
    """The attributes that a state consists of; None for a state that the class makes something else of."""
    if hasattr(type(x), "__setstate__"):
        return None
    if type(state) is tuple and len(state) == 2 and type(state[1]) is dict:
        state = {**(state[0] or {}), **state[1]}
    return {} if state is None else state if type(state) is dict else None


def _each(encoder: Encoder, items: Iterable[Any]) -> tuple[Description, ...]:
    items = list(items)
    encoder.kept.append(items)
    return tuple([encoder.describe(item) for item in items])


def _each_entry(encoder: Encoder, entries: Iterable[tuple[Any, Any]]) -> tuple[tuple[Description, Description], ...]:
    entries = list(entries)
    encoder.kept.append(entries)
    return tuple([(encoder.describe(key), encoder.describe(value)) for key, value in entries])


# --- which way is for which class ---


def _way_of_objects(take_apart: TakeApart) -> Describe:
    return lambda encoder, x: encoder.object(x, take_apart)


_VALUES: dict[type, Describe] = {
    **dict.fromkeys((int, bool, str, bytes, type(None), type(...), type(NotImplemented), type, types.FunctionType, types.ModuleType,
                     types.CodeType), _value),
    float: _float,
    complex: _complex,
}
_CALLED: dict[type, TakeApart] = {
    types.MethodType: _called(("__func__", "__self__"), lambda x: (x.__func__, x.__self__)),
    types.MappingProxyType: _called(("mapping",), lambda x: (dict(x),)),
}
_PARTIAL = _called(("func", "args", "keywords"), lambda x: (x.func, x.args, x.keywords))


def _partial(encoder: Encoder, x: functools.partial, index: int) -> Description | None:
    return (_reduced if x.__dict__ else _PARTIAL)(encoder, x, index)


def _builtin_function(encoder: Encoder, x: Any) -> Description:
    is_method = x.__self__ is not None and not isinstance(x.__self__, (types.ModuleType, type))
    return encoder.object(x, _reduced) if is_method else _value(encoder, x)


def _find_way(cls: type) -> Describe:
    """How objects of a class are described."""
    if issubclass(cls, runtime.Array) or issubclass(cls, Ref):
        return _array
    if issubclass(cls, (type, enum.Enum, np.dtype)):
        return _value
    if issubclass(cls, np.generic):
        return _numpy_scalar
    if issubclass(cls, tuple) and hasattr(cls, "_fields") and not _is_reduced_by_class(cls, but="__getnewargs__"):
        return _named
    take_apart = _find_taking_apart(cls)
    if issubclass(cls, Iterator):
        return lambda encoder, x: _iterator(encoder, x, take_apart)
    return _way_of_objects(take_apart)


def _find_taking_apart(cls: type) -> TakeApart:
    if cls.__module__ == "itertools":
        return _once
    if is_tree_node(cls) and cls not in (OrderedDict, defaultdict) and not hasattr(cls, "_fields"):
        return _node
    if _has_attributes_only(cls) and not _is_reduced_by_class(cls) and not hasattr(cls, "__setstate__"):
        return _attributes
    return _reduced


def _has_attributes_only(cls: type) -> bool:
    """Whether objects of a class consist of their `__dict__`, as `object.__reduce_ex__` finds out by their size."""
    size = object.__basicsize__ + _POINTER * ((cls.__dictoffset__ > 0) + (cls.__weakrefoffset__ > 0))
    return cls.__dictoffset__ != 0 and cls.__basicsize__ <= size and cls.__itemsize__ == 0 and not any(
        vars(base).get("__slots__") for base in cls.__mro__)


_POINTER = np.dtype(np.intp).itemsize
_OF_PICKLE = ("__reduce_ex__", "__reduce__", "__getstate__", "__getnewargs__", "__getnewargs_ex__")


def _is_reduced_by_class(cls: type, but: str = "") -> bool:
    """Whether a class says how its objects are pickled."""
    return cls in copyreg.dispatch_table or any(
        name != but and getattr(cls, name, None) is not getattr(object, name, None) for name in _OF_PICKLE)


class _Ways(dict[type, Describe]):
    """How objects are described, by class; held strongly for the classes that stay."""

    def __init__(self) -> None:
        super().__init__({
            **_VALUES,
            list: _list,
            tuple: _tuple,
            dict: _dict,
            set: _set(SET),
            frozenset: _set(FROZENSET),
            np.ndarray: _way_of_objects(_bytes),
            functools.partial: _way_of_objects(_partial),
            types.BuiltinFunctionType: _builtin_function,
            **{cls: _way_of_objects(take_apart) for cls, take_apart in _CALLED.items()},
        })
        self._found: WeakKeyDictionary[type, Describe] = WeakKeyDictionary()

    def __missing__(self, cls: type) -> Describe:
        way = self._found.get(cls)
        if way is None:
            way = self._found[cls] = _find_way(cls)
        return way

    def keep(self, *classes: type) -> None:
        """Holds the ways of classes that stay."""
        for cls in classes:
            self[cls] = _find_way(cls)


_ways = _Ways()


def treat_as_value(cls: type) -> None:
    """Makes objects of a class known by themselves, as functions are."""
    _ways[cls] = _value


def treat_as_array(cls: type) -> None:
    """Finds the way of a class of arrays at once, where looking for it costs time in each call."""
    _ways.keep(cls)
