"""Objects of many kinds, with arrays in them and without, for the tests of `autojit`."""

from __future__ import annotations

import dataclasses
import enum
import functools
import gc
import types
from collections import OrderedDict, defaultdict, deque, namedtuple
from typing import Any

import numpy as np

import laminax


class Counted:
    """A function under `autojit` that counts how often it is traced."""

    def __init__(self, fun):
        self.traces = 0

        @functools.wraps(fun)
        def counting(*args, **kwargs):
            self.traces += 1
            return fun(*args, **kwargs)

        self.fun = laminax.autojit(counting)

    def __call__(self, *args, **kwargs):
        return self.fun(*args, **kwargs)


class Box:
    """An object that anything can be put into."""

    def __init__(self, **attributes):
        self.__dict__.update(attributes)


class Slotted:
    __slots__ = ("w", "n", "__weakref__")

    def __init__(self, w, n):
        self.w, self.n = w, n


class SlottedWithAttributes(Slotted):
    """Slots of a base class, and attributes."""


@dataclasses.dataclass
class Layer:
    w: Any
    scale: float = 1.0


@dataclasses.dataclass(frozen=True)
class Frozen:
    w: Any
    scale: float = 1.0


@dataclasses.dataclass(frozen=True, slots=True)
class FrozenSlots:
    w: Any
    scale: float = 1.0


Pair = namedtuple("Pair", "w scale")


class Mode(enum.Enum):
    ADD = 1
    SUBTRACT = 2


class Unpicklable:
    """Known by its hash alone."""

    def __reduce__(self):
        raise TypeError("no")


class Unknown(Unpicklable):
    """Neither pickled nor hashed."""
    __hash__ = None


def equal(found, expected):
    np.testing.assert_array_equal(np.asarray(found), np.asarray(expected))


X = np.array([1.0, 2.0, 3.0], np.float32)


def wrapped(w):
    """The array w inside of one of each kind of object."""
    return {
        "attribute": Box(w=w, n=3),
        "slot": Slotted(w, 3),
        "dataclass": Layer(w),
        "frozen": Frozen(w),
        "frozen slots": FrozenSlots(w, 2.0),
        "namedtuple": Pair(w, 2.0),
        "list": [[w], 1],
        "dict": {("a", 1): {"b": w}, Mode.ADD: 2},
        "ordered": OrderedDict(z=w, a=1),
        "default": defaultdict(list, a=w),
        "deque": deque([w, 1], maxlen=3),
        "partial": functools.partial(pow, w, mod=None),
        "method": Layer(w).__eq__,
        "namespace": types.SimpleNamespace(w=w),
        "proxy": types.MappingProxyType({"w": w}),
        "set": {Frozen(Mode.ADD), Identified(w)},
        "frozenset": frozenset([Identified(w)]),
        "pytree": Registered(w, "name"),
        "registered dataclass": RegisteredDataclass(w, "name"),
        "partial pytree": laminax.tree_util.Partial(max, w),
        "getstate": Stateful(w),
        "list subclass": Items([w, 2]),
        "dict subclass": Entries(a=w),
        "exception": ValueError("no", w),
    }


class Identified:
    def __init__(self, w):
        self.w = w


class Items(list):
    pass


class Entries(dict):
    pass


class Stateful:
    def __init__(self, w):
        self.w = w

    def __getstate__(self):
        return ["state", self.w]

    def __setstate__(self, state):
        self.w = state[1]


@laminax.tree_util.register_pytree_node_class
class Registered:
    def __init__(self, w, name):
        self.w, self.name = w, name

    def tree_flatten(self):
        return (self.w,), self.name

    @classmethod
    def tree_unflatten(cls, name, children):
        return cls(*children, name)


@laminax.tree_util.register_dataclass
@dataclasses.dataclass
class RegisteredDataclass:
    w: Any
    name: str = dataclasses.field(metadata={"static": True}, default="")


def arrays_in(x, seen=None):
    """All arrays in an object, by a walk that knows nothing of descriptions: what the garbage collector reaches, classes left out."""
    seen, todo, found = set(), [x], []
    while todo:
        at = todo.pop()
        if id(at) in seen or isinstance(at, (type, types.ModuleType, types.FunctionType)):
            continue
        seen.add(id(at))
        if isinstance(at, laminax.Array):
            found.append(at)
        else:
            todo += gc.get_referents(at)
    return found
