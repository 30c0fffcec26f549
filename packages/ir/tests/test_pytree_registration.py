"""Types that users register, and `Partial`, on both registries.

Expected values are those of JAX's documentation of `jax.tree_util` and `jax.tree`, or follow from what a
container is. Where the two registries word something differently, the test asks for what both must say.
"""

from __future__ import annotations

import dataclasses
import functools
import pickle
from collections import namedtuple
from typing import Any

import pytest
from pytree_backends import pytree_fixture  # noqa: F401  (used by name)
from pytree_types import raises_naming, show

# --- registration ---


def test_register_node_class(pytree):
    @pytree.register_pytree_node_class
    class Box:
        def __init__(self, content, name):
            self.content, self.name = content, name

        def tree_flatten(self):
            return (self.content,), self.name

        @classmethod
        def tree_unflatten(cls, name, children):
            return cls(*children, name)

    box = pytree.tree_map(lambda x: x + 1, Box([1, 2], "n"))
    assert type(box) is Box and (box.content, box.name) == ([2, 3], "n")


@pytest.mark.parametrize("with_plain", [False, True])
def test_register_with_keys_class(pytree, with_plain):
    class Box:
        def __init__(self, content):
            self.content = content

        def tree_flatten_with_keys(self):
            return ((pytree.GetAttrKey("content"), self.content),), None

        @classmethod
        def tree_unflatten(cls, _, children):
            return cls(*children)

    calls = []
    if with_plain:
        Box.tree_flatten = lambda self: calls.append(self) or ((self.content,), None)
    assert pytree.register_pytree_with_keys_class(Box) is Box
    assert show(pytree, pytree.tree_leaves_with_path(Box({"a": 1}))) == [(".content['a']", 1)]
    assert pytree.tree_leaves(Box(1)) == [1]
    assert bool(calls) is with_plain


def test_register_node_with_keys_function(pytree):
    class Box:
        pass

    pytree.register_pytree_node(
        Box, lambda b: ((1, 2), None), lambda _, c: Box(), lambda b: ((("own", 1), ("key", 2)), None)
    )
    assert pytree.tree_leaves_with_path(Box()) == [(("own",), 1), (("key",), 2)]


def test_registration_says_what_is_wrong(pytree):
    class Box:
        pass

    with raises_naming(TypeError, "register_pytree_node", "class", "3"):
        pytree.register_pytree_node(3, None, None)
    with raises_naming(TypeError, "tree_flatten", "tree_unflatten"):
        pytree.register_pytree_node_class(Box)
    with raises_naming(TypeError, "tree_flatten_with_keys"):
        pytree.register_pytree_with_keys_class(Box)
    flatten, unflatten = (lambda b: ((), None)), (lambda _, c: Box())
    pytree.register_pytree_node(Box, flatten, unflatten)
    for again in (Box, list, dict, type(None)):
        with raises_naming(ValueError, "uplicate", again.__name__):
            pytree.register_pytree_node(again, flatten, unflatten)
    with raises_naming(ValueError, "uplicate"):
        pytree.register_dataclass(Box, [], [])
    with raises_naming(ValueError, "uplicate"):
        pytree.register_static(Box)


def test_a_namedtuple_may_be_registered(pytree):
    Labelled = namedtuple("Labelled", ["value", "label"])
    pytree.register_pytree_node(Labelled, lambda t: ((t.value,), t.label), lambda label, c: Labelled(c[0], label))
    assert pytree.tree_leaves(Labelled(1, "x")) == [1]
    assert pytree.tree_map(lambda x: x + 1, Labelled(1, "x")) == Labelled(2, "x")
    with raises_naming(ValueError, "uplicate"):
        pytree.register_pytree_node(Labelled, lambda t: ((), None), lambda _, c: None)


@pytest.mark.parametrize(
    "result, parts", [(3, ["3"]), (((1,), None, 4), ["None, 4"]), ((3, None), ["iter"])], ids=["int", "triple", "child"]
)
def test_a_flatten_function_must_return_children_and_data(pytree, result, parts):
    class Bad:
        pass

    pytree.register_pytree_node(Bad, lambda b: result, lambda _, c: Bad())
    with raises_naming(ValueError, "children", *parts):
        pytree.tree_flatten([Bad()])


def test_children_may_be_an_iterator(pytree):
    class Box:
        pass

    pytree.register_pytree_node(Box, lambda b: (iter([1, 2]), None), lambda _, children: list(children))
    leaves, treedef = pytree.tree_flatten(Box())
    assert leaves == [1, 2] and treedef.unflatten([3, 4]) == [3, 4]


def test_register_dataclass_takes_static_fields_from_the_metadata(pytree):
    @functools.partial(pytree.register_dataclass, drop_fields="cache")
    @dataclasses.dataclass
    class Layer:
        weight: Any
        name: str = dataclasses.field(metadata={"static": True})
        bias: Any = None
        size: int = pytree.static(default=3)
        cache: Any = dataclasses.field(default="fresh", init=False)

    layer = Layer(1, "dense", [2])
    layer.cache = "used"
    leaves, treedef = pytree.tree_flatten(layer)
    assert leaves == [1, 2] and treedef.node_data() == (Layer, ("dense", 3))
    assert show(pytree, pytree.tree_leaves_with_path(layer)) == [(".weight", 1), (".bias[0]", 2)]
    assert pytree.tree_map(lambda x: x * 10, layer) == Layer(10, "dense", [20])
    assert pytree.tree_structure(Layer(0, "other", [0])) != treedef


def test_register_dataclass_does_not_lose_computed_fields_unasked(pytree):
    @dataclasses.dataclass
    class Cached:
        weight: Any
        cache: Any = dataclasses.field(default="fresh", init=False)

    with raises_naming(ValueError, "register_dataclass", "Cached", "{'cache'}", "drop_fields"):
        pytree.register_dataclass(Cached)
    pytree.register_dataclass(Cached, drop_fields=["cache"])
    cached = Cached(1)
    cached.cache = "used"
    assert pytree.tree_map(lambda x: x, cached).cache == "fresh"


def test_static_fields_that_the_metadata_says_are_none(pytree):
    field = pytree.static(metadata={"static": False, "unit": "m"})
    assert field.metadata == {"static": False, "unit": "m"}


def test_register_dataclass_with_fields(pytree):
    @functools.partial(pytree.register_dataclass, data_fields=["y", "x"], meta_fields=["op"])
    @dataclasses.dataclass(frozen=True)
    class Term:
        x: Any
        y: Any
        op: str

    assert pytree.tree_leaves(Term(1, 2, "+")) == [2, 1]  # in the order of data_fields
    assert pytree.tree_map(str, Term(1, 2, "+")) == Term("1", "2", "+")


def test_register_dataclass_drops_fields(pytree):
    @dataclasses.dataclass
    class Memo:
        x: Any
        seen: int = 0

    assert pytree.register_dataclass(Memo, data_fields=["x"], meta_fields=[], drop_fields=["seen"]) is Memo
    assert pytree.tree_map(lambda x: x, Memo(1, 5)) == Memo(1, 0)


def test_register_dataclass_on_a_class_that_is_none(pytree):
    class Plain:
        def __init__(self, *, a, m):
            self.a, self.m = a, m

    pytree.register_dataclass(Plain, ["a"], ["m"])
    plain = pytree.tree_map(lambda x: x + 1, Plain(a=1, m="m"))
    assert (plain.a, plain.m) == (2, "m")


@pytest.mark.parametrize(
    "arguments, error, parts",
    [
        ({"data_fields": ["a"]}, TypeError, ["must both be specified", "data_fields=['a'] meta_fields=None"]),
        ({"data_fields": ["a"], "meta_fields": []}, ValueError, ["Missing fields: {'m'}", "drop_fields"]),
        ({"data_fields": ["a", "m"], "meta_fields": ["m"]}, ValueError, ["must not overlap", "Overlapping fields: {'m'}"]),
        ({"data_fields": ["a", "zz"], "meta_fields": ["m"]}, ValueError, ["Unexpected fields: {'zz'}", "not fields"]),
        ({"data_fields": ["a", "derived"], "meta_fields": ["m"]}, ValueError, ["'derived'", "init=True"]),
    ],
)
def test_register_dataclass_checks_the_fields(pytree, arguments, error, parts):
    @dataclasses.dataclass
    class D:
        a: Any
        m: Any
        derived: Any = dataclasses.field(default=0, init=False)

    with raises_naming(error, "register_dataclass", *parts):
        pytree.register_dataclass(D, **arguments)


def test_register_dataclass_needs_fields_for_other_classes(pytree):
    with raises_naming(TypeError, "not a dataclass", "data_fields"):
        pytree.register_dataclass(type("Plain", (), {}))


def test_register_static(pytree):
    @pytree.register_static
    @dataclasses.dataclass(frozen=True)
    class Mode:
        name: str

    leaves, treedef = pytree.tree_flatten((1, Mode("train")))
    assert leaves == [1] and treedef.unflatten([2]) == (2, Mode("train"))
    assert pytree.tree_structure(Mode("a")) == pytree.tree_structure(Mode("a"))
    assert pytree.tree_structure(Mode("a")) != pytree.tree_structure(Mode("b"))


def test_static_keeps_other_metadata(pytree):
    field = pytree.static(default=1, metadata={"doc": "x"})
    assert dict(field.metadata) == {"doc": "x", "static": True} and field.default == 1


# --- Partial ---


def power(base, exponent=2, scale=1):
    return scale * base**exponent


def test_partial_is_a_partial_function_and_a_pytree(pytree):
    f = pytree.Partial(power, 3, scale=10)
    assert isinstance(f, functools.partial) and f() == 90 and f(exponent=3) == 270
    assert pytree.tree_leaves(f) == [3, 10]
    g = pytree.tree_map(lambda x: x + 1, f)
    assert isinstance(g, pytree.Partial) and (g.func, g.args, g.keywords) == (power, (4,), {"scale": 11})


def test_partials_have_the_structure_of_their_function(pytree):
    s = pytree.tree_structure
    assert s(pytree.Partial(power, 1)) == s(pytree.Partial(power, 2))
    assert s(pytree.Partial(power, 1)) != s(pytree.Partial(pow, 1))
    assert s(pytree.Partial(power, 1)) != s(pytree.Partial(power, exponent=1))


@pytest.mark.parametrize("inner_type", ["Partial", "functools.partial"])
def test_a_partial_of_a_partial_has_only_its_own_arguments_as_leaves(pytree, inner_type):
    inner = (pytree.Partial if inner_type == "Partial" else functools.partial)(power, 3)
    f = pytree.Partial(inner, exponent=4)
    assert f() == 81
    assert pytree.tree_leaves(f) == [4]  # the 3 is static, part of the function
    assert pytree.tree_map(lambda x: x + 1, f)() == 243
    assert pytree.tree_structure(f) == pytree.tree_structure(pytree.Partial(inner, exponent=0))


def test_a_partial_as_an_argument_of_a_partial(pytree):
    f = pytree.Partial(lambda g, x: g(x), pytree.Partial(power, scale=2), 5)
    assert f() == 50 and pytree.tree_leaves(f) == [2, 5]


def test_partial_takes_any_keyword(pytree):
    f = pytree.Partial(dict, func=1, cls=2)
    assert f() == {"func": 1, "cls": 2}
    assert pytree.tree_map(lambda x: x, f)() == {"func": 1, "cls": 2}


def test_partials_pickle(pytree):
    f = pickle.loads(pickle.dumps(pytree.Partial(power, 3, scale=10)))
    assert type(f).__name__ == "Partial" and f() == 90
    nested = pickle.loads(pickle.dumps(pytree.Partial(functools.partial(power, 3), scale=10)))
    assert nested() == 90 and pytree.tree_leaves(nested) == [10]
    treedef = pytree.tree_structure(f)
    assert pickle.loads(pickle.dumps(treedef)) == treedef
