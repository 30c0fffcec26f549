"""`autojit`, one test for each sentence of its documentation: what is no array is static, and what makes another program.

Expected numbers are NumPy's, expected objects those that the function gives when it is called as plain Python.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from autojit_objects import Box, Counted, Frozen, Slotted, SlottedWithAttributes, Unpicklable, X, equal

import laminax
import laminax.numpy as jnp

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
