"""`autojit`, one test for each sentence of its documentation: objects with arrays in them come in and go out.

Expected objects are those that the function gives when it is called as plain Python.
"""

from __future__ import annotations

import copyreg
import itertools
import threading

import numpy as np
import pytest
from autojit_objects import Box, Counted, Layer, Mode, Pair, Registered, Unpicklable, X, arrays_in, equal, wrapped

import laminax
import laminax.numpy as jnp

# "Non-array arguments and return values ... can be any object serializable with pickle"; arrays are found in them.


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
