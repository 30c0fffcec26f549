"""`autojit`, one test for each sentence of its documentation.

Expected numbers are NumPy's, expected objects those that the function gives when it is called as plain Python.
"""

from __future__ import annotations

import copyreg
import dataclasses
import enum
import functools
import gc
import itertools
import threading
import traceback
import types
import warnings
import weakref
from collections import OrderedDict, defaultdict, deque, namedtuple
from typing import Any

import numpy as np
import pytest

import laminax
import laminax.numpy as jnp


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


# "Python scalar arguments and return values are not automatically converted to arrays."


@pytest.mark.parametrize("value", [True, 3, 2.5, 1 + 2j, "text", b"bytes", None, ..., 10**30, float("inf")])
def test_scalars_given_and_returned_stay_python_scalars(value):
    seen = []

    @laminax.autojit
    def f(x, k):
        seen.append(k)
        return x + 1, k

    for _ in range(2):
        y, k = f(jnp.asarray(X), value)
        equal(y, X + 1)
        assert type(k) is type(value) and k == value
    assert len(seen) == 1 and type(seen[0]) is type(value)


def test_scalars_computed_from_scalars_are_python_scalars():
    assert laminax.autojit(lambda n, k: n * k)(3, 4) == 12
    assert type(laminax.autojit(lambda n, k: n * k)(3, 4)) is int


@pytest.mark.parametrize("value", [float("nan"), -0.0, 0.0, complex(-0.0, float("nan"))])
def test_numbers_that_are_not_equal_to_themselves_are_found_again(value):
    f = Counted(lambda x, k: (x, k))
    for _ in range(3):
        result = f(jnp.ones(2), type(value)(repr(value).strip("()")) if type(value) is float else value)[1]
    assert repr(result) == repr(value) and f.traces == 1


def test_what_is_equal_but_not_alike_makes_another_program():
    f = Counted(lambda x, k: x * k)
    assert [f(jnp.int32(3), k).dtype for k in (1, 1.0, True)] == [np.int32, np.float32, np.int32]
    assert f.traces == 3
    assert [float(laminax.autojit(lambda x, k: x / k)(jnp.float32(1), k)) for k in (0.0, -0.0)] == [np.inf, -np.inf]
    f = Counted(lambda x, c: x * c.w)
    assert [f(jnp.int32(3), Frozen(k)).dtype for k in (1, 1.0, True)] == [np.int32, np.float32, np.int32]  # they are equal


# "All non-array arguments are automatically treated as static. ... either hashable or serializable with pickle."


def test_what_is_no_array_is_static():
    f = Counted(lambda x, k, plus: x + k if plus else x - k)
    equal(f(jnp.asarray(X), 2, True), X + 2)
    equal(f(jnp.asarray(X), 2, False), X - 2)
    equal(f(jnp.asarray(X) * 2, 2, False), X * 2 - 2)
    assert f.traces == 2


def test_a_default_that_is_left_out_is_another_call_and_the_same_number():
    f = laminax.autojit(lambda x, k=False: x + 1 if k else x - 1)
    equal(f(jnp.asarray(X)), X - 1)
    equal(f(jnp.asarray(X), False), X - 1)
    equal(f(jnp.asarray(X), "foo"), X + 1)
    equal(f(jnp.asarray(X), ["foo"]), X + 1)


def test_static_by_hash_where_it_does_not_pickle():
    class Named(Unpicklable):
        def __init__(self, name):
            self.name = name

        def __eq__(self, other):
            return self.name == other.name

        def __hash__(self):
            return hash(self.name)

    f = Counted(lambda x, named: x + len(named.name))
    equal(f(jnp.asarray(X), Named("ab")), X + 2)
    equal(f(jnp.asarray(X), Named("ab")), X + 2)
    equal(f(jnp.asarray(X), Named("abc")), X + 3)
    assert f.traces == 2


def test_static_by_pickle_where_it_has_no_hash():
    f = Counted(lambda x, options: x + options["k"][0])
    for _ in range(2):
        equal(f(jnp.asarray(X), {"k": [1, {2}]}), X + 1)
    equal(f(jnp.asarray(X), {"k": [2, {2}]}), X + 2)
    assert f.traces == 2


def test_equal_objects_of_a_class_share_a_program():
    f = Counted(lambda x, config: x + config.k)
    for _ in range(2):
        equal(f(jnp.asarray(X), Box(k=1)), X + 1)
    assert f.traces == 1


def test_numpy_arrays_and_scalars_are_static_and_stay_what_they_are():
    seen = []

    @laminax.autojit
    def f(x, table, k):
        seen.append(table)
        assert type(table) is np.ndarray and type(k) is np.float64
        return x + float(table.sum()) * k, table, k

    table = np.arange(3.0)
    for _ in range(2):
        y, same, k = f(jnp.asarray(X), table, np.float64(2))
        equal(y, X + 6)
        assert same is table and type(k) is np.float64
    assert len(seen) == 1
    table[0] = 10.0
    equal(f(jnp.asarray(X), table, np.float64(2))[0], X + 26)
    equal(f(jnp.asarray(X), table.astype(np.float32), np.float64(2))[0], X + 26)
    assert len(seen) == 3
    made = laminax.autojit(lambda x: (np.arange(4.0).reshape(2, 2).T, np.float32(3), np.array([{"a": 1}], object)))
    first, second = made(jnp.ones(1)), made(jnp.ones(1))
    first[0][:] = 0
    equal(second[0], [[0, 2], [1, 3]])
    assert type(second[1]) is np.float32 and second[2][0] == {"a": 1}


# Mutation between calls: never the number of before.


@pytest.mark.parametrize("make", [Box, lambda w, n: Slotted(w, n), lambda w, n: SlottedWithAttributes(w, n)])
def test_an_object_that_was_changed_is_not_what_it_was(make):
    f = laminax.autojit(lambda m: m.w * m.n)
    m = make(w=jnp.asarray(X), n=1)
    equal(f(m), X)
    m.n = 5
    equal(f(m), X * 5)
    m.w = jnp.asarray(X + 1)
    equal(f(m), (X + 1) * 5)


def test_an_object_without_arrays_that_was_changed_is_not_what_it_was():
    f = laminax.autojit(lambda x, c: x * c.inner.n[0])
    c = Box(inner=Box(n=[1]))
    equal(f(jnp.asarray(X), c), X)
    c.inner.n[0] = 5
    equal(f(jnp.asarray(X), c), X * 5)
    equal(f(jnp.asarray(X[:2]), c), X[:2] * 5)  # traced again, for another shape, by the same key
    c.inner.n[0] = 1
    equal(f(jnp.asarray(X[:2]), c), X[:2])


def test_an_array_hidden_behind_a_hash_is_found():
    class Hashed:
        def __init__(self, name, w):
            self.name, self.w = name, w

        def __eq__(self, other):
            return self.name == other.name

        def __hash__(self):
            return hash(self.name)

    f = Counted(lambda m: m.w + 1)
    equal(f(Hashed("a", jnp.asarray(X))), X + 1)
    equal(f(Hashed("a", jnp.asarray(X * 2))), X * 2 + 1)
    assert f.traces == 1


def test_a_field_that_the_class_does_not_compare_is_compared():
    @dataclasses.dataclass(frozen=True)
    class Config:
        name: str
        k: float = dataclasses.field(compare=False)

    f = laminax.autojit(lambda x, c: x + c.k)
    equal(f(jnp.asarray(X), Config("a", 1)), X + 1)
    equal(f(jnp.asarray(X), Config("a", 2)), X + 2)


def test_an_equality_of_its_own_counts_where_pickle_sees_no_difference():
    class Handle:
        def __init__(self, k):
            self.k = k

        def __getstate__(self):
            return {}

        def __eq__(self, other):
            return self.k == other.k

        def __hash__(self):
            return hash(self.k)

    f = laminax.autojit(lambda x, h: x + h.k)
    equal(f(jnp.asarray(X), Handle(1)), X + 1)
    equal(f(jnp.asarray(X), Handle(2)), X + 2)


def test_markers_are_known_by_identity():
    a, b = object(), object()

    class Missing:
        pass

    missing = Missing()
    f = Counted(lambda x, k: x if k is a else x + 1 if k is b else x + 2 if k is missing else x + 3)
    for k, expected in ((a, X), (b, X + 1), (missing, X + 2), (Missing(), X + 3), (a, X)):
        equal(f(jnp.asarray(X), k), expected)
    assert f.traces == 4


def test_a_sentinel_with_attributes_is_the_one_that_was_given():
    auto = Box(name="auto")
    f = laminax.autojit(lambda x, k: (x + 1 if k is auto else x, k))
    y, k = f(jnp.asarray(X), auto)
    equal(y, X + 1)
    assert k is auto


# "Non-array arguments and return values ... can be any object serializable with pickle"; arrays are found in them.


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


@pytest.mark.parametrize("kind", list(wrapped(0)))
def test_arrays_are_found_in_arguments_and_results(kind):
    seen = []

    def f(x):
        seen.append(arrays_in(x))
        return x

    g = Counted(f)
    for factor in (1, 2):
        given = wrapped(jnp.asarray(X * factor))[kind]
        result = g(given)
        assert type(result) is type(given) and result is not given
        assert [isinstance(w, laminax.core.Tracer) for w in seen[-1]] == [True]
        (w,) = arrays_in(result)
        assert not isinstance(w, laminax.core.Tracer)
        equal(w, X * factor)
    assert g.traces == 1


def test_other_attributes_come_through():
    m = laminax.autojit(lambda m: m)(Box(w=jnp.ones(2), mode=Mode.ADD, name="n", cls=Layer, fun=np.sin, items={1, "a"}, t=(1, [2])))
    assert (m.mode, m.name, m.cls, m.fun, m.items, m.t) == (Mode.ADD, "n", Layer, np.sin, {1, "a"}, (1, [2]))
    assert m.mode is Mode.ADD


def test_classes_that_are_not_in_a_module_are_taken_apart():
    class Local:
        def __init__(self, w):
            self.w = w

    result = laminax.autojit(lambda m: Local(m.w + 1))(Local(jnp.asarray(X)))
    assert type(result) is Local
    equal(result.w, X + 1)


def test_what_copyreg_knows_is_taken_apart():
    class Odd:
        __slots__ = ("w",)

    def make(w):
        odd = Odd()
        odd.w = w
        return odd

    copyreg.pickle(Odd, lambda odd: (make, (odd.w,)))
    equal(laminax.autojit(lambda m: make(m.w + 1))(make(jnp.asarray(X))).w, X + 1)


def test_an_object_that_is_made_of_a_state_setter_and_keywords():
    class Made:
        def __new__(cls, *, w):
            made = super().__new__(cls)
            made.w = w
            return made

        def __getnewargs_ex__(self):
            return (), {"w": self.w}

    equal(laminax.autojit(lambda m: m)(Made(w=jnp.asarray(X))).w, X)


def test_a_namedtuple_with_attributes_keeps_them():
    class Annotated(Pair):
        pass

    given = Annotated(jnp.asarray(X), 2.0)
    given.note = [jnp.asarray(X)]
    result = laminax.autojit(lambda p: p)(given)
    assert type(result) is Annotated and isinstance(result.note[0], laminax.Array) and result.scale == 2.0


def test_keys_and_references_are_arrays():
    key = laminax.random.key(1)
    found = laminax.autojit(lambda box: Box(key=laminax.random.split(box.key)))(Box(key=key)).key
    equal(laminax.random.key_data(found), laminax.random.key_data(laminax.random.split(key)))
    box = Box(ref=laminax.new_ref(jnp.zeros(2)))

    @laminax.autojit
    def count(box):
        box.ref[...] += 1

    for _ in range(2):
        assert count(box) is None
    equal(box.ref[...], [2, 2])


# Identity, shared references, cycles.


def test_the_same_array_met_twice_is_one_tracer_and_one_array():
    w = jnp.asarray(X)
    same = []

    @laminax.autojit
    def f(box, x):
        same.append(box.a is x and box.b[0] is x)
        return x, box

    x, box = f(Box(a=w, b=[w]), w)
    assert box.a is x and box.b[0] is x
    x, box = f(Box(a=w, b=[jnp.asarray(X * 2)]), w)
    equal(box.b[0], X * 2)
    assert same == [True, False]


def test_shared_objects_stay_shared():
    inner = Box(w=jnp.asarray(X))
    shared = [inner]

    @laminax.autojit
    def f(a, b):
        assert a.inner is b[0] and a.shared is b
        a.inner.w = a.inner.w + 1
        return a, b

    a, b = f(Box(inner=inner, shared=shared), shared)
    assert a.inner is b[0] and a.shared is b
    equal(b[0].w, X + 1)
    equal(inner.w, X)  # the caller's object stays as it was
    g = laminax.autojit(lambda a, b: (a[0] is b[0], a[0].w))
    assert g([inner], [inner])[0] is True
    assert g([inner], [Box(w=inner.w)])[0] is False


@pytest.mark.parametrize("with_array", [True, False])
def test_cycles(with_array):
    node = Box(w=jnp.asarray(X) if with_array else 1.0)
    node.children = [Box(parent=node, w=2)]
    node.children[0].siblings = node.children
    node.self = (node,)
    items = [node]
    items.append(items)
    loop = ([],)
    loop[0].append(loop)

    @laminax.autojit
    def f(x, node, items, loop):
        assert node.children[0].parent is node and node.children[0].siblings is node.children and node.self[0] is node
        assert items[1] is items and items[0] is node and loop[0][0] is loop
        return node.w * x, node, items, loop

    for _ in range(2):
        y, out, out_items, out_loop = f(jnp.asarray(X), node, items, loop)
        equal(y, X * X if with_array else X)
        assert out.children[0].parent is out and out.self[0] is out and out_items[1] is out_items and out_items[0] is out
        assert out_loop[0][0] is out_loop


def test_a_cycle_through_a_registered_pytree():
    node = Registered([jnp.asarray(X)], "n")
    node.w.append(node)
    result = laminax.autojit(lambda n: n)(node)
    assert result.w[1] is result
    equal(result.w[0], X)


def test_an_opaque_object_comes_back_itself():
    lock, opaque = threading.Lock(), Unpicklable()
    f = laminax.autojit(lambda x: x)
    assert f(opaque) is opaque and f(lock) is lock
    box = Box(parts=(opaque, jnp.asarray(X)), lock=lock)
    for _ in range(2):
        result = f(box)
        assert result.parts[0] is opaque and result.parts[1] is not box.parts[1] and result.lock is lock
        equal(result.parts[1], X)


def test_an_object_without_arrays_comes_back_itself_in_each_call():
    f = Counted(lambda x, c: (x, c, [c.inner]))
    for _ in range(2):
        c = Box(inner=Box(n=1))
        _, same, (inner,) = f(jnp.ones(1), c)
        assert same is c and inner is c.inner
    assert f.traces == 1


def test_what_the_function_makes_is_new_in_each_call():
    f = laminax.autojit(lambda x: ({"a": []}, Box(n=[1]), x))
    first, second = f(jnp.ones(1)), f(jnp.ones(1))
    first[0]["a"].append(1)
    first[1].n.append(2)
    assert second[0] == {"a": []} and f(jnp.ones(1))[0] == {"a": []} and f(jnp.ones(1))[1].n == [1]
    assert first[1] is not second[1]


# "Returned iterators are immediately completely consumed."


def test_a_returned_iterator_is_consumed_and_an_iterator_comes_back():
    steps = []

    @laminax.autojit
    def f(x):
        for i in range(3):
            steps.append(i)
            yield x + i

    result = f(jnp.asarray(X))
    assert steps == [0, 1, 2]
    assert iter(result) is result
    for i in range(3):
        equal(next(result), X + i)
    with pytest.raises(StopIteration):
        next(result)
    assert len(list(f(jnp.asarray(X)))) == 3 and steps == [0, 1, 2]


@pytest.mark.parametrize("make", [lambda x: (x + i for i in range(2)), lambda x: map(lambda i: x + i, range(2)), lambda x: iter([x, x + 1]),
                                  lambda x: itertools.islice((x + i for i in itertools.count()), 2)])
def test_iterators_of_any_kind_inside_of_results(make):
    result = laminax.autojit(lambda x: {"it": make(x)})(jnp.asarray(X))["it"]
    for i, w in enumerate(result):
        equal(w, X + i)


def test_a_generator_given_is_read_by_the_function():
    f = laminax.autojit(lambda it: sum(it))
    gen = (jnp.asarray(X) * i for i in range(3))
    equal(f(gen), X * 3)
    assert f(gen) == 0  # it has been used up, as in Python
    equal(f(jnp.asarray(X) * i for i in range(4)), X * 6)
    assert laminax.autojit(lambda it: next(it))(itertools.count(3)) == 3


# Calls, decorators, transformations.


def test_keyword_arguments():
    @laminax.autojit
    def f(x, /, y, *rest, scale=1.0, **more):
        return (x + y) * scale + sum(rest) + sum(more.values())

    equal(f(jnp.asarray(X), y=jnp.asarray(X), scale=2.0, a=1, b=jnp.asarray(X)), X * 5 + 1)
    equal(f(jnp.asarray(X), 1, 2, 3), X + 6)


def test_name_signature_and_documentation_are_the_functions():
    import inspect

    @laminax.autojit
    def f(x, k=3):
        """Documentation."""

    assert (f.__name__, f.__doc__, f.__wrapped__.__name__, str(inspect.signature(f))) == ("f", "Documentation.", "f", "(x, k=3)")


def test_methods():
    class Model:
        def __init__(self, w, n):
            self.w, self.n = w, n

        @laminax.autojit
        def __call__(self, x):
            return self.w * x * self.n

        @laminax.autojit
        def step(self, x):
            return Model(self.w + x, self.n)

        @classmethod
        @laminax.autojit
        def make(cls, x):
            return cls(x, 2)

        @staticmethod
        @laminax.autojit
        def double(x):
            return x * 2

    m = Model(jnp.asarray(X), 3)
    equal(m(jnp.asarray(X)), X * X * 3)
    m.n = 4
    equal(m(jnp.asarray(X)), X * X * 4)
    stepped = m.step(jnp.asarray(X))
    assert type(stepped) is Model and stepped.n == 4
    equal(stepped.w, X * 2)
    equal(Model.make(jnp.asarray(X)).w, X)
    equal(Model.double(jnp.asarray(X)), X * 2)


def test_the_arrays_of_a_bound_method_and_of_a_partial_are_arguments():
    class Model:
        def __init__(self, w):
            self.w, self.traces = w, []

        def forward(self, x):
            traces.append(isinstance(self.w, laminax.core.Tracer))
            return self.w * x

    traces: list[bool] = []
    m = Model(jnp.asarray(X))
    for f in (laminax.autojit(m.forward), laminax.autojit(functools.partial(Model.forward, m))):
        m.w = jnp.asarray(X)
        equal(f(2), X * 2)
        m.w = jnp.asarray(X + 1)
        equal(f(2), (X + 1) * 2)
    assert traces == [True, True]


def test_a_class_and_a_callable_object_and_a_jitted_function():
    equal(laminax.autojit(Layer)(jnp.asarray(X)).w, X)

    class Add:
        def __init__(self, w):
            self.w = w

        def __call__(self, x):
            return x + self.w

    add = Add(jnp.asarray(X))
    f = laminax.autojit(add)
    equal(f(1), X + 1)
    add.w = jnp.asarray(X * 2)
    equal(f(1), X * 2 + 1)
    equal(laminax.autojit(laminax.jit(lambda x: x + 1))(jnp.asarray(X)), X + 1)
    equal(laminax.autojit(lambda g, x: g(x))(laminax.jit(lambda x: x + 1), jnp.asarray(X)), X + 1)
    equal(laminax.autojit(laminax.autojit(lambda x, k: (x + k, k)))(jnp.asarray(X), 1)[0], X + 1)


@pytest.mark.parametrize("depth", [1, 2])
def test_an_error_is_the_users_with_the_users_traceback(depth):
    class Custom(Exception):
        pass

    def inner(x):
        if x.shape == (3,):
            raise Custom("three")
        return x

    f = inner
    for _ in range(depth):
        f = laminax.autojit(f)
    with pytest.raises(Custom, match="three") as caught:
        f(jnp.asarray(X))
    names = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert names[-1] == "inner" and not {"call", "flat", "boundary"} & set(names)
    equal(f(jnp.ones(2)), [1, 1])


def test_an_error_while_a_returned_generator_is_consumed():
    def f(x):
        yield x
        raise KeyError("late")

    with pytest.raises(KeyError, match="late"):
        laminax.autojit(f)(jnp.ones(2))


def test_under_grad_vmap_jit_and_jvp():
    f = laminax.autojit(lambda m, k: (m.w ** k).sum())
    equal(laminax.grad(lambda w: f(Box(w=w), 2))(jnp.asarray(X)), 2 * X)
    equal(laminax.vmap(lambda w: f(Box(w=w), 3))(jnp.asarray(X)), X ** 3)
    equal(laminax.jit(lambda w: f(Box(w=w), 2))(jnp.asarray(X)), (X ** 2).sum())
    equal(laminax.jvp(lambda w: f(Box(w=w), 2), (jnp.asarray(X),), (jnp.ones(3),))[1], (2 * X).sum())
    equal(laminax.autojit(laminax.grad(lambda w: (w ** 2).sum()))(jnp.asarray(X)), 2 * X)
    equal(laminax.jit(laminax.vmap(laminax.grad(lambda w: f([w], 0) if False else f(Box(w=w), 2))))(jnp.asarray(X)), 2 * X)


def test_a_scalar_result_under_jit_is_a_python_scalar():
    def f(x):
        y, n = laminax.autojit(lambda x: (x + 1, x.shape[0]))(x)
        assert type(n) is int
        return y * n

    equal(laminax.jit(f)(jnp.asarray(X)), (X + 1) * 3)


def test_disable_jit_runs_plain_python():
    seen = []

    @laminax.autojit
    def f(m):
        seen.append(float(m.w[0]))
        return Box(w=m.w + 1)

    with laminax.disable_jit():
        equal(f(Box(w=jnp.asarray(X))).w, X + 1)
        f(Box(w=jnp.asarray(X)))
    assert seen == [1.0, 1.0]


def test_threads():
    f = laminax.autojit(lambda m, x: (m.w * x, m.config))
    failures = []

    def work(i):
        for k in range(20):
            config = Box(k=k % 3)
            y, same = f(Box(w=jnp.full(2, float(i)), config=config), float(k % 5))
            if same is not config or float(y[0]) != i * (k % 5):
                failures.append((i, k))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not failures


def test_the_caches_hold_no_objects_with_arrays():
    f = laminax.autojit(lambda m: m.w + 1)
    m = Slotted(jnp.asarray(X), 3)
    f(m)
    gone = weakref.ref(m)
    del m
    gc.collect()
    assert gone() is None


def test_clear_cache_forgets():
    f = Counted(lambda x: x)
    for _ in range(2):
        f(jnp.ones(1))
    f.fun.clear_cache()
    f(jnp.ones(1))
    assert f.traces == 2


# What cannot be part of a program is named.


@pytest.mark.parametrize("call, path", [
    (lambda f: f(Box(model=Box(lock=Unknown(), w=jnp.ones(2)))), "args[0].model.lock"),
    (lambda f: f(1, [0, {"k": Unknown()}]), "args[1][1]['k']"),
    (lambda f: f(k=Slotted(Unknown(), 1)), "kwargs['k'].w"),
    (lambda f: f(Pair(Unknown(), 1)), "args[0].w"),
    (lambda f: f(RegisteredDataclass(Unknown())), "args[0].w"),
    (lambda f: f(Layer(functools.partial(max, Unknown()))), "args[0].w.args[0]"),
    (lambda f: f(Stateful(Unknown())), "args[0].__getstate__()[1]"),
    (lambda f: f(OrderedDict(a=Unknown())), "args[0]['a']"),
])
def test_what_is_neither_pickled_nor_hashed_is_named_by_its_path(call, path):
    with pytest.raises(TypeError) as caught:
        call(laminax.autojit(lambda *args, **kwargs: 1))
    message = str(caught.value)
    assert message.startswith(f"autojit(<lambda>): {path}, of type ") and "Unknown" in message and "neither pickled nor hashed" in message


def test_such_a_part_of_a_result_is_named():
    with pytest.raises(TypeError, match=r"autojit\(f\): result\[1\].lock, of type .*Unknown"):
        def f(x):
            return x, Box(lock=Unknown())
        laminax.autojit(f)(jnp.ones(1))


def test_such_a_part_of_an_object_with_a_hash_is_not_asked_for():
    @dataclasses.dataclass(frozen=True)
    class Config:
        n: int
        lock: Any = dataclasses.field(compare=False)

    f = Counted(lambda x, c, k: (x + c.n, c, k))
    for _ in range(2):
        y, c, k = f(jnp.asarray(X), Config(1, Unknown()), [1])
        equal(y, X + 1)
        assert k == [1]
    assert f.traces == 1


def test_what_is_not_callable_or_asynchronous_is_refused():
    with pytest.raises(TypeError, match="autojit.*3"):
        laminax.autojit(3)

    async def f(x):
        return x

    with pytest.raises(TypeError, match="autojit: f is asynchronous"):
        laminax.autojit(f)
    with pytest.raises(TypeError, match="coroutine can run once"):
        laminax.autojit(lambda x: (c := f(x), c.close())[0])(1)


# An argument that changes in call after call is reported.


def test_a_value_that_changes_in_each_call_is_reported_once_by_its_path():
    f = laminax.autojit(lambda x, options: x * options["rate"])
    with pytest.warns(UserWarning) as caught:
        for i in range(20):
            f(jnp.asarray(X), {"rate": 0.5 + i, "name": "sgd"})
    (warning,) = caught
    text = str(warning.message)
    assert "args[1]['rate']" in text and "laminax.numpy.asarray(args[1]['rate'])" in text and "4.5, 5.5" in text
    assert warning.filename == __file__


def test_each_path_is_reported():
    f = laminax.autojit(lambda x, k, m: x * k)
    with pytest.warns(UserWarning) as caught:
        for i in range(20):
            f(jnp.asarray(X), float(i), m=Box(t=np.float32(i), marker=object()))
    assert sorted(str(w.message).split(": ")[1].split(" was ")[0] for w in caught) == ["args[1]", "kwargs['m'].marker", "kwargs['m'].t"]
    assert any("pass one and the same object" in str(w.message) for w in caught)


def test_values_that_come_back_and_arrays_are_not_reported():
    f = laminax.autojit(lambda x, k, flag=False: x * k)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for i in range(20):
            f(jnp.asarray(X) * i, k=i % 4)
            f(jnp.ones(i), 1, bool(i % 2))
