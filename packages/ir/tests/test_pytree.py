"""The pytree surface, on both registries.

Expected values are those of JAX's documentation of `jax.tree_util` and `jax.tree`, or follow from what a
container is. Where the two registries word something differently, the test asks for what both must say.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import operator
import os
import pickle
import re
import subprocess
import sys
from collections import OrderedDict, defaultdict, namedtuple
from typing import Any

import numpy as np
import pytest
from pytree_backends import BACKENDS, load_backend, pytree_fixture  # noqa: F401  (used by name)

Pair = namedtuple("Pair", ["x", "y"])


class Point:
    """Registered without keys; the label is static."""

    def __init__(self, x, y, label="p"):
        self.x, self.y, self.label = x, y, label

    def __eq__(self, other):
        return isinstance(other, Point) and vars(self) == vars(other)

    def __repr__(self):
        return f"Point({self.x!r}, {self.y!r}, {self.label!r})"


class Keyed(Point):
    """Registered with keys."""


@pytest.fixture
def types(pytree):
    """Registers this file's own types with the backend, once."""
    if not pytree.is_tree_node(Point):
        pytree.register_pytree_node(
            Point, lambda p: ((p.x, p.y), p.label), lambda label, children: Point(*children, label)
        )
        pytree.register_pytree_with_keys(
            Keyed,
            lambda p: (((pytree.GetAttrKey("x"), p.x), (pytree.GetAttrKey("y"), p.y)), p.label),
            lambda label, children: Keyed(*children, label),
        )
    return pytree


def show(pytree, pairs):
    return [(pytree.keystr(path), leaf) for path, leaf in pairs]


def raises_naming(error: type[Exception], *parts: str):
    """Expects an error whose text has all these parts."""
    return pytest.raises(error, match="(?s)" + "".join(f"(?=.*{re.escape(part)})" for part in parts))


# --- flatten and unflatten ---------------------------------------------------------------------------

CONTAINERS = [
    # tree, leaves, structure
    (1, [1], "PyTreeDef(*)"),
    ("text", ["text"], "PyTreeDef(*)"),
    (None, [], "PyTreeDef(None)"),
    ((), [], "PyTreeDef(())"),
    ((1,), [1], "PyTreeDef((*,))"),
    ((1, 2), [1, 2], "PyTreeDef((*, *))"),
    ([], [], "PyTreeDef([])"),
    ([1, (2, None)], [1, 2], "PyTreeDef([*, (*, None)])"),
    ({}, [], "PyTreeDef({})"),
    ({"b": (1, 2), "a": 0}, [0, 1, 2], "PyTreeDef({'a': *, 'b': (*, *)})"),
    ({2: "two", 1: "one"}, ["one", "two"], "PyTreeDef({1: *, 2: *})"),
    (Pair(1, [2]), [1, 2], "PyTreeDef(CustomNode(namedtuple[Pair], [*, [*]]))"),
    # an OrderedDict keeps its order, a defaultdict sorts like a dict
    (OrderedDict([("b", 1), ("a", 2)]), [1, 2], "PyTreeDef(CustomNode(OrderedDict[('b', 'a')], [*, *]))"),
    (
        defaultdict(int, {"b": 1, "a": 2}),
        [2, 1],
        "PyTreeDef(CustomNode(defaultdict[(<class 'int'>, ('a', 'b'))], [*, *]))",
    ),
    (Point(1, 2, "q"), [1, 2], "PyTreeDef(CustomNode(Point[q], [*, *]))"),
]


@pytest.mark.parametrize("tree, leaves, structure", CONTAINERS, ids=[c[2] for c in CONTAINERS])
def test_flatten_and_unflatten(types, tree, leaves, structure):
    got_leaves, treedef = types.tree_flatten(tree)
    assert got_leaves == leaves
    assert repr(treedef) == str(treedef) == structure
    assert treedef.num_leaves == len(leaves)
    back = types.tree_unflatten(treedef, got_leaves)
    assert back == tree and type(back) is type(tree)
    assert types.tree_leaves(tree) == leaves
    assert types.tree_structure(tree) == treedef
    assert types.flatten(tree)[0] == leaves


def test_unflatten_takes_any_iterable(pytree):
    treedef = pytree.tree_structure({"a": 0, "b": [0, 0]})
    assert pytree.tree_unflatten(treedef, iter("xyz")) == {"a": "x", "b": ["y", "z"]}
    assert treedef.unflatten(x for x in (1, 2, 3)) == {"a": 1, "b": [2, 3]}


def test_defaultdict_keeps_its_factory(pytree):
    tree = pytree.tree_map(lambda x: x + 1, defaultdict(list, {"a": 1}))
    assert tree == {"a": 2} and tree.default_factory is list


def test_subclasses_of_containers_are_leaves(types):
    class MyList(list):
        pass

    class MyDict(dict):
        pass

    class Subpoint(Point):
        pass

    for value in (MyList([1]), MyDict(a=1), Subpoint(1, 2)):
        assert types.tree_leaves(value) == [value]


def test_a_subclass_of_a_namedtuple_is_a_namedtuple_of_its_own(pytree):
    class Named(Pair):
        pass

    tree = pytree.tree_map(lambda x: -x, Named(1, 2))
    assert type(tree) is Named and tree == (-1, -2)
    assert pytree.tree_structure(Named(1, 2)) != pytree.tree_structure(Pair(1, 2))


def test_arrays_are_leaves(pytree):
    x = np.arange(3)
    (leaf,) = pytree.tree_leaves({"x": x})
    assert leaf is x


def test_is_leaf_stops_the_descent(pytree):
    tree = [1, (2, 3), None, {"a": (4,)}]
    assert pytree.tree_leaves(tree, is_leaf=lambda x: isinstance(x, tuple)) == [1, (2, 3), (4,)]
    assert pytree.tree_leaves(tree, is_leaf=lambda x: x is None) == [1, 2, 3, None, 4]
    assert pytree.tree_leaves(tree, is_leaf=lambda x: True) == [tree]
    structure = pytree.tree_structure(tree, is_leaf=lambda x: isinstance(x, tuple))
    assert str(structure) == "PyTreeDef([*, *, None, {'a': *}])"


def test_is_leaf_is_asked_about_every_node_from_the_root(pytree):
    asked = []
    pytree.tree_flatten((1, [2]), is_leaf=lambda x: asked.append(x) or False)
    assert asked == [(1, [2]), 1, [2], 2]


def test_is_leaf_must_answer_with_a_boolean(pytree):
    """An array's truth value would hide the mistake of comparing leaves with `==`."""
    with raises_naming(ValueError, "is_leaf", "non-boolean"):
        pytree.tree_flatten([1], is_leaf=lambda x: "yes")


def test_an_error_in_is_leaf_passes(pytree):
    def is_leaf(x):
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        pytree.tree_flatten([1], is_leaf=is_leaf)


@pytest.mark.parametrize("make", [dict, lambda pairs: defaultdict(int, pairs)], ids=["dict", "defaultdict"])
def test_unsortable_keys_are_named_with_their_path(pytree, make):
    tree = {"x": [0, make([("a", 1), (2, 3)])]}
    with raises_naming(ValueError, "tree['x'][1]", "['a', 2]", "sortable", "OrderedDict"):
        pytree.tree_flatten(tree)
    with raises_naming(ValueError, "tree['x'][1]"):
        pytree.tree_flatten_with_path(tree)
    assert pytree.tree_leaves(tree, is_leaf=lambda x: isinstance(x, list)) == [tree["x"]]


def test_keys_that_compare_across_types_are_fine(pytree):
    assert pytree.tree_leaves({2: "b", 1.5: "a", True: "one"}) == ["one", "a", "b"]


@pytest.mark.parametrize("leaves, problem", [([1], "too few"), ([1, 2, 3], "too many"), ([], "too few")])
def test_unflatten_counts_the_leaves(pytree, leaves, problem):
    treedef = pytree.tree_structure({"a": 0, "b": (0,)})
    with raises_naming(ValueError, "tree_unflatten", problem, f"has 2, got {len(leaves)}", str(treedef)):
        pytree.tree_unflatten(treedef, leaves)
    with pytest.raises(ValueError, match="(?i)" + problem):
        treedef.unflatten(leaves)


def test_unflatten_says_when_the_arguments_are_swapped(pytree):
    with raises_naming(TypeError, "PyTreeDef", "[1]", "(treedef, leaves)"):
        pytree.tree_unflatten([1], pytree.tree_structure([1]))


def test_one_level(types):
    assert list(types.flatten_one_level({"b": 1, "a": [2]})[0]) == [[2], 1]
    assert list(types.flatten_one_level(None)[0]) == []
    assert types.flatten_one_level(Point(1, [2], "q")) == ((1, [2]), "q")
    pairs, _ = types.flatten_one_level_with_keys(Pair(1, [2]))
    # jaxlib 0.10.2 gives both children the key of the first field here.
    assert show(types, [((key,), child) for key, child in pairs]) == [(".x", 1), (".y", [2])]
    pairs, label = types.flatten_one_level_with_keys(Point(1, 2, "q"))
    assert label == "q" and [str(key) for key, _ in pairs] == ["[<flat index 0>]", "[<flat index 1>]"]
    for one_level in (types.flatten_one_level, types.flatten_one_level_with_keys):
        with raises_naming(ValueError, "int", "leaf"):
            one_level(5)


def test_is_tree_node(types):
    for typ in (tuple, list, dict, type(None), Pair, OrderedDict, defaultdict, Point, types.Partial):
        assert types.is_tree_node(typ)
    for typ in (int, str, np.ndarray, object, type):
        assert not types.is_tree_node(typ)


def test_all_leaves(pytree):
    assert pytree.all_leaves([])
    assert pytree.all_leaves([1, "a"])
    assert not pytree.all_leaves([1, (2,)])
    assert not pytree.all_leaves([None]) and not pytree.all_leaves([Pair(1, 2)])
    assert pytree.all_leaves([1, None], is_leaf=lambda x: x is None)
    assert not pytree.all_leaves([(), None], is_leaf=lambda x: x is None)


def test_deep_trees(pytree):
    depth, tree = 300, 0
    for _ in range(depth):
        tree = [tree]
    leaves, treedef = pytree.tree_flatten(tree)
    assert leaves == [0] and treedef.num_nodes == depth + 1
    assert pytree.tree_unflatten(treedef, leaves) == tree
    assert pickle.loads(pickle.dumps(treedef)) == treedef


# --- over the leaves ---------------------------------------------------------------------------------


def test_map_one_tree(pytree):
    assert pytree.tree_map(lambda x: x + 1, {"x": 7, "y": (42, None)}) == {"x": 8, "y": (43, None)}


def test_map_several_trees_takes_subtrees_of_the_rest(pytree):
    assert pytree.tree_map(lambda x, xs: [x, *xs], [5, 6], [[7, 9], [1, 2]]) == [[5, 7, 9], [6, 1, 2]]
    assert pytree.tree_map(lambda *a: a, {"a": 1}, {"a": (2,)}, {"a": None}) == {"a": (1, (2,), None)}


def test_map_with_none_as_leaf(pytree):
    none = lambda x: x is None  # noqa: E731
    assert pytree.tree_map(lambda x, y: y if x is None else x, [None, 1], [2, 3], is_leaf=none) == [2, 1]


def test_map_does_not_touch_errors_of_the_function(pytree):
    def f(x):
        raise ValueError("mine")

    with pytest.raises(ValueError, match="^mine$"):
        pytree.tree_map(f, [1])


# first tree, another tree, what the error must say
MISMATCHES = [
    ({"a": [1, 2]}, {"a": (1, 2)}, ["tree['a'] is a list of length 2", "rest[0]['a'] is a tuple of length 2"]),
    ([0, {"a": [1, 2]}], [0, {"a": [1]}], ["tree[1]['a']", "length 2", "rest[0][1]['a']", "length 1"]),
    (
        {"a": 1, "b": 2},
        {"a": 1, "c": 2},
        ["tree is a dict", "Only tree has the keys ['b']", "only rest[0] has the keys ['c']"],
    ),
    ((1, (2,)), (1, 2), ["tree[1] is a tuple of length 1", "rest[0][1] is a leaf of type int"]),
    ([None], [3], ["tree[0] is None", "rest[0][0] is a leaf of type int", "is_leaf=lambda x: x is None"]),
    (Pair(1, (2,)), Pair(1, [2]), ["tree.y is a tuple", "rest[0].y is a list"]),
    (Pair(1, 2), (1, 2), ["tree is a Pair with 2 children", "rest[0] is a tuple of length 2"]),
    ([Point(1, 2, "p")], [Point(1, 2, "q")], ["tree[0]", "static data 'p'", "static data 'q'"]),
    (Point(1, (2,)), Point(1, 2), ["tree[<flat index 1>] is a tuple", "rest[0][<flat index 1>] is a leaf"]),
    (Keyed(1, (2,)), Keyed(1, 2), ["tree.y is a tuple", "rest[0].y is a leaf"]),
    (OrderedDict(a=1, b=2), OrderedDict(b=1, a=2), ["tree is an OrderedDict", "('a', 'b')", "('b', 'a')"]),
    (OrderedDict(a=(1,)), OrderedDict(a=[1]), ["tree['a'] is a tuple", "rest[0]['a'] is a list"]),
]


@pytest.mark.parametrize("first, other, parts", MISMATCHES, ids=[str(m[2][0]) for m in MISMATCHES])
def test_map_names_the_path_where_two_trees_part(types, first, other, parts):
    with raises_naming(ValueError, "tree_map: pytree structure error: different ", " at key path\n    tree", *parts):
        types.tree_map(lambda x, y: None, first, other)
    with raises_naming(ValueError, "tree_map_with_path: pytree structure error: different ", " at key path\n    tree", *parts):
        types.tree_map_with_path(lambda p, x, y: None, first, other)


def test_map_names_the_tree_that_does_not_fit(pytree):
    with raises_naming(ValueError, "rest[1][0] is a leaf of type float"):
        pytree.tree_map(lambda *a: None, [[1]], [[1]], [2.0])


def test_reduce(pytree):
    assert pytree.tree_reduce(operator.add, [1, (2, 3), [4, 5, 6]]) == 21
    assert pytree.tree_reduce(operator.add, {"b": "b", "a": "a"}, "_") == "_ab"
    assert pytree.tree_reduce(operator.add, [], 7) == 7
    assert pytree.tree_reduce(lambda a, b: (a, b), [1], None) == (None, 1)
    assert pytree.tree_reduce(operator.add, [[1], [2]], is_leaf=lambda x: x in ([1], [2])) == [1, 2]
    with raises_naming(TypeError, "tree_reduce", "no leaves", "initializer"):
        pytree.tree_reduce(operator.add, (None, []))


@pytest.mark.parametrize("n", range(1, 20))
def test_reduce_associative_keeps_the_order_and_is_shallow(pytree, n):
    letters = [chr(ord("a") + i) for i in range(n)]
    assert pytree.tree_reduce_associative(operator.add, letters) == "".join(letters)
    depth = pytree.tree_reduce_associative(lambda a, b: max(a, b) + 1, [0] * n)
    assert depth == int(np.ceil(np.log2(n)))


def test_reduce_associative_of_nothing(pytree):
    assert pytree.tree_reduce_associative(operator.add, {}, identity=0) == 0
    assert pytree.tree_reduce_associative(operator.add, [5], identity=3) == 5
    with raises_naming(TypeError, "no leaves", "identity"):
        pytree.tree_reduce_associative(operator.add, {})


def test_all(pytree):
    assert pytree.tree_all([True, {"a": True, "b": (True, True)}]) is True
    assert pytree.tree_all([True, {"a": 0}]) is False
    assert pytree.tree_all(()) and pytree.tree_all([None])
    assert not pytree.tree_all([None], is_leaf=lambda x: x is None)


def test_transpose(pytree):
    s = pytree.tree_structure
    trees = [(1, "one"), (2, "two"), (3, "three")]
    expected = ([1, 2, 3], ["one", "two", "three"])
    assert pytree.tree_transpose(s([0, 0, 0]), s((0, 0)), trees) == expected
    assert pytree.tree_transpose(s([0, 0, 0]), None, trees) == expected
    nested = {"a": [1, (2, None)], "b": [3, (4, None)]}
    assert pytree.tree_transpose(s({"a": 0, "b": 0}), s([0, (0, None)]), nested) == [
        {"a": 1, "b": 3},
        ({"a": 2, "b": 4}, None),
    ]


def test_transpose_of_a_container_that_flattens_what_it_holds(pytree):
    @pytree.register_pytree_node_class
    class Flat:  # its children are the leaves of its value
        def __init__(self, value):
            self.value = value

        def tree_flatten(self):
            return pytree.tree_flatten(self.value)

        @classmethod
        def tree_unflatten(cls, structure, children):
            return cls(pytree.tree_unflatten(structure, children))

    s = pytree.tree_structure
    outer = s(Flat({"a": 0, "b": 0}))
    first, second = pytree.tree_transpose(outer, s([0, 0]), Flat({"a": [3, 4], "b": [5, 6]}))
    assert (first.value, second.value) == ({"a": 3, "b": 5}, {"a": 4, "b": 6})
    with raises_naming(TypeError, "tree_transpose: Mismatch"):
        pytree.tree_transpose(outer, s([0, 0]), Flat({"a": [3, 4], "c": [5, 6]}))


def test_transpose_with_no_leaves(pytree):
    s = pytree.tree_structure
    assert pytree.tree_transpose(s([0, 0]), s(()), [(), ()]) == ()
    assert pytree.tree_transpose(s([]), s({"a": 0}), []) == {"a": []}
    with raises_naming(ValueError, "tree_transpose", "no leaves", "inner_treedef"):
        pytree.tree_transpose(s([]), None, [])


@pytest.mark.parametrize(
    "outer, inner, tree, parts",
    [
        ([0, 0], {"a": 0}, [{"a": 1}] * 3, ["pytree_to_transpose is a list of length 3", "length 2"]),
        ([0, 0], {"a": 0}, [{"a": 1}, {"b": 1}], ["pytree_to_transpose[1] is a dict with keys ['b']"]),
        ([0, 0], {"a": 0}, [{"a": 1}, {"a": (1,)}], ["pytree_to_transpose[1]['a'] is a tuple of length 1", "a leaf"]),
        ([0, 0], {"a": 0}, [{"a": 1}, 5], ["pytree_to_transpose[1] is a leaf of type int"]),
    ],
)
def test_transpose_names_the_path_where_the_structures_part(pytree, outer, inner, tree, parts):
    s = pytree.tree_structure
    with raises_naming(TypeError, "tree_transpose", *parts):
        pytree.tree_transpose(s(outer), s(inner), tree)
    if parts[0].endswith(("3", "int")):
        with raises_naming(TypeError, "tree_transpose", parts[0]):
            pytree.tree_transpose(s(outer), None, tree)


# --- paths -------------------------------------------------------------------------------------------


def test_flatten_with_path(types):
    tree = {"a": [1, Pair(2, None)], "b": Point(Keyed(3, 4), 5), "c": OrderedDict(z=6), "d": defaultdict(int, y=7)}
    pairs, treedef = types.tree_flatten_with_path(tree)
    assert show(types, pairs) == [
        ("['a'][0]", 1),
        ("['a'][1].x", 2),
        ("['b'][<flat index 0>].x", 3),
        ("['b'][<flat index 0>].y", 4),
        ("['b'][<flat index 1>]", 5),
        ("['c']['z']", 6),
        ("['d']['y']", 7),
    ]
    assert treedef == types.tree_structure(tree)
    assert types.tree_leaves_with_path(tree) == types.generate_key_paths(tree) == pairs
    assert types.tree_flatten_with_path(3) == ([((), 3)], types.tree_structure(0))


def test_is_leaf_with_path(pytree):
    tree = {"a": [1, (2, None)]}
    depth_two = lambda path, _: len(path) == 2  # noqa: E731
    pairs = pytree.tree_leaves_with_path(tree, is_leaf=depth_two, is_leaf_takes_path=True)
    assert show(pytree, pairs) == [("['a'][0]", 1), ("['a'][1]", (2, None))]
    pairs = pytree.tree_leaves_with_path(tree, is_leaf=lambda x: x is None)
    assert show(pytree, pairs) == [("['a'][0]", 1), ("['a'][1][0]", 2), ("['a'][1][1]", None)]


def test_map_with_path(pytree):
    f = lambda path, x, y: (pytree.keystr(path), x, y)  # noqa: E731
    assert pytree.tree_map_with_path(f, {"a": [1, 2]}, {"a": [3, (4,)]}) == {
        "a": [("['a'][0]", 1, 3), ("['a'][1]", 2, (4,))]
    }
    assert pytree.tree_map_with_path(
        lambda path, x: x, [(1, 2)], is_leaf=lambda path, _: len(path) == 1, is_leaf_takes_path=True
    ) == [(1, 2)]


def test_keystr(pytree):
    path = (pytree.DictKey("a"), pytree.SequenceKey(1), pytree.GetAttrKey("n"), pytree.FlattenedIndexKey(3), "own")
    assert pytree.keystr(path) == "['a'][1].n[<flat index 3>]own"
    assert pytree.keystr(path, separator=" ") == "['a'] [1] .n [<flat index 3>] own"
    assert pytree.keystr(path, simple=True, separator="/") == "a/1/n/3/own"
    assert pytree.keystr(()) == ""
    assert pytree.keystr((pytree.DictKey(("t", 1)),)) == "[('t', 1)]"


def test_keys_are_values(pytree):
    keys = [pytree.DictKey("a"), pytree.SequenceKey(0), pytree.GetAttrKey("a"), pytree.FlattenedIndexKey(0)]
    assert [repr(key) for key in keys] == [
        "DictKey(key='a')",
        "SequenceKey(idx=0)",
        "GetAttrKey(name='a')",
        "FlattenedIndexKey(key=0)",
    ]
    again = [
        pytree.DictKey(key="a"),
        pytree.SequenceKey(idx=0),
        pytree.GetAttrKey(name="a"),
        pytree.FlattenedIndexKey(key=0),
    ]
    assert keys == again and [hash(key) for key in keys] == [hash(key) for key in again]
    assert len(set(keys + again)) == 4
    assert pytree.DictKey(0) != pytree.SequenceKey(0) and pytree.DictKey("a") != "a"
    assert pickle.loads(pickle.dumps(keys)) == keys and copy.deepcopy(keys) == keys
    assert (keys[0].key, keys[1].idx, keys[2].name, keys[3].key) == ("a", 0, "a", 0)
    with pytest.raises(AttributeError):
        keys[0].key = "b"
    match keys[1]:
        case pytree.SequenceKey(idx):
            assert idx == 0


# --- structures --------------------------------------------------------------------------------------


def test_treedef_counts(pytree):
    treedef = pytree.tree_structure({"a": 0, "b": (0, None, [])})
    assert (treedef.num_leaves, treedef.num_nodes) == (2, 6)
    assert pytree.tree_structure(0).num_nodes == pytree.tree_structure(None).num_nodes == 1


def test_treedef_parts_make_it_again(types):
    for tree, _, _ in CONTAINERS:
        treedef = types.tree_structure(tree)
        again = types.make_from_node_data_and_children(treedef.node_data(), treedef.children())
        assert again == treedef and repr(again) == repr(treedef) and hash(again) == hash(treedef)


def test_treedef_children_and_node_data(types):
    s = types.tree_structure
    assert types.treedef_children(s((1, [2]))) == [s(0), s([0])]
    assert types.treedef_children(s(0)) == types.treedef_children(s(None)) == []
    assert s(0).node_data() is None
    assert s((0,)).node_data() == (tuple, None) and s([]).node_data() == (list, None)
    assert s(None).node_data() == (type(None), None)
    assert s({"b": 0, "a": 0}).node_data() == (dict, ["a", "b"])
    assert s(Pair(0, 0)).node_data()[0] is Pair
    assert s(Point(0, 0, "q")).node_data() == (Point, "q")


def test_treedef_tuple(pytree):
    s = pytree.tree_structure
    assert pytree.treedef_tuple([s(0), s([0, 0])]) == s((0, [0, 0]))
    assert pytree.treedef_tuple(iter([])) == s(())


def test_treedef_is_leaf(pytree):
    s = pytree.tree_structure
    assert [pytree.treedef_is_leaf(s(t)) for t in (0, None, (), (0,))] == [True, True, True, False]
    assert [pytree.treedef_is_strict_leaf(s(t)) for t in (0, None, (), (0,))] == [True, False, False, False]


def test_compose(pytree):
    s = pytree.tree_structure
    assert s((0, {"a": 0})).compose(s([0, 0])) == s(([0, 0], {"a": [0, 0]}))
    assert s(None).compose(s(0)) == s(None)
    assert s(0).compose(s({"a": 0})) == s({"a": 0})


def test_flatten_up_to(types):
    treedef = types.tree_structure({"a": 0, "b": [0, Point(0, 0)]})
    assert treedef.flatten_up_to({"b": [(2, 3), Point(None, 4)], "a": {}}) == [{}, (2, 3), None, 4]
    for other in ({"a": 0}, {"a": 0, "b": (0, 0)}, {"a": 0, "b": [0, Point(0, 0, "q")]}, None, 3):
        with pytest.raises(ValueError):
            treedef.flatten_up_to(other)


def test_walk_folds_from_the_leaves(pytree):
    treedef = pytree.tree_structure({"a": 0, "b": (0, None)})
    folded = treedef.walk(lambda children, data: list(children), lambda leaf: leaf * 10, [1, 2])
    assert folded == [10, [20, []]]
    with pytest.raises(ValueError, match="(?i)too few"):
        treedef.walk(lambda children, data: None, lambda leaf: leaf, [1])


def test_from_iterable_tree(pytree):
    treedef = pytree.tree_structure({"a": 0, "b": (0, Pair(0, None))})
    assert treedef.from_iterable_tree([1, [2, [3, []]]]) == {"a": 1, "b": (2, Pair(3, None))}
    with pytest.raises(ValueError):
        treedef.from_iterable_tree([1])


def test_treedefs_compare_by_structure(types):
    s = types.tree_structure
    different = [
        s(t)
        for t in (0, None, (), [], {}, (0,), [0], {"a": 0}, {"b": 0}, (0, 0), ((0, 0),), Pair(0, 0), OrderedDict(a=0),
                  defaultdict(int, a=0), defaultdict(list, a=0), Point(0, 0), Point(0, 0, "q"), Keyed(0, 0))
    ]  # fmt: skip
    for i, a in enumerate(different):
        for j, b in enumerate(different):
            assert (a == b) is (i == j) and (a != b) is (i != j)
    assert s((1, 2)) == s(("x", None), is_leaf=lambda x: x is None)
    assert s({"a": 1, "b": 2}) == s({"b": 3, "a": 4})
    assert not s(0) == 0 and not s(0) == "PyTreeDef(*)"  # noqa: SIM201  (jaxlib's `!=` is False here too)


def test_treedefs_are_dict_keys(types):
    cache = {types.tree_structure(tree): structure for tree, _, structure in CONTAINERS}
    for tree, _, structure in CONTAINERS:
        assert cache[types.tree_structure(tree)] == structure


def test_static_data_need_not_be_hashable_for_a_treedef_to_be(pytree):
    class Unhashable:
        pass

    pytree.register_pytree_node(Unhashable, lambda u: ((), ["list"]), lambda data, children: Unhashable())
    assert hash(pytree.tree_structure(Unhashable())) == hash(pytree.tree_structure(Unhashable()))


def test_arrays_as_static_data_cannot_be_compared(pytree):
    class Static:
        pass

    pytree.register_pytree_node(Static, lambda u: ((), np.arange(3)), lambda data, children: Static())
    with raises_naming(ValueError, "equality", "array"):
        pytree.tree_structure(Static()) == pytree.tree_structure(Static())  # noqa: B015


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_treedefs_pickle(types, protocol):
    for tree, leaves, _ in CONTAINERS:
        treedef = types.tree_structure(tree)
        again = pickle.loads(pickle.dumps(treedef, protocol))
        assert again == treedef and hash(again) == hash(treedef)
        assert again.unflatten(leaves) == tree


def test_treedefs_copy(types):
    for tree, leaves, _ in CONTAINERS:
        treedef = types.tree_structure(tree)
        for again in (copy.copy(treedef), copy.deepcopy(treedef)):
            assert again == treedef and again.unflatten(leaves) == tree


def test_the_registry_pickles_as_itself(pytree):
    assert pickle.loads(pickle.dumps(pytree.registry)) is pytree.registry
    assert copy.deepcopy(pytree.registry) is pytree.registry is pytree.default_registry
    assert isinstance(pytree.registry, pytree.PyTreeRegistry)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_treedef_pickled_in_one_process_loads_in_another(backend):
    load_backend(backend)
    make = "from laminax_ir import pytree; t = pytree.tree_structure({'a': 0, 'b': (0, None)});"
    data = _run(backend, f"{make} import pickle; print(pickle.dumps(t).hex())")
    load = f"{make} import pickle; print(pickle.loads(bytes.fromhex({data!r})) == t)"
    assert _run(backend, load) == "True"


def _run(backend: str | None, program: str) -> str:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    env.pop("LAMINAX_PYTREE_BACKEND", None)
    if backend is not None:
        env["LAMINAX_PYTREE_BACKEND"] = backend
    command = [sys.executable, "-c", program]
    return subprocess.run(command, env=env, check=True, capture_output=True, text=True).stdout.strip()


# --- prefixes ----------------------------------------------------------------------------------------


def test_broadcast(pytree):
    full = {"a": [1, (2, 3)], "b": None, "c": 4}
    assert pytree.tree_broadcast(0, full) == {"a": [0, (0, 0)], "b": None, "c": 0}
    assert pytree.tree_broadcast({"a": [5, 6], "b": 7, "c": 8}, full) == {"a": [5, (6, 6)], "b": None, "c": 8}
    assert pytree.tree_broadcast(full, full) == full
    assert pytree.broadcast_prefix({"a": [5, 6], "b": 7, "c": 8}, full) == [5, 6, 6, 8]


def test_broadcast_with_none_as_leaf(pytree):
    none = lambda x: x is None  # noqa: E731
    assert pytree.broadcast_prefix((0, None), (1, [2, 3]), is_leaf=none) == [0, None, None]
    assert pytree.tree_broadcast((0, None), (1, [2, 3]), is_leaf=none) == (0, [None, None])
    with raises_naming(ValueError, "prefix_tree[1] is None", "full_tree[1] is a list of length 2", "is_leaf"):
        pytree.tree_broadcast((0, None), (1, [2, 3]))


def test_prefix_errors_finds_all_and_names_them(types):
    prefix = {"a": (1, 2), "b": [3, {"k": 4}], "c": 5}
    assert types.prefix_errors(prefix, {"a": ([], 2), "b": [(3,), {"k": None}], "c": {}}) == []
    errors = types.prefix_errors(prefix, {"a": (1, 2, 3), "b": [3, {"l": 4}], "c": 5})
    assert [types.keystr(error.path) for error in errors] == ["['a']", "['b'][1]"]
    assert isinstance(errors[0]("vmap in_axes"), ValueError)
    text = str(errors[0]("vmap in_axes"))
    assert "vmap in_axes: pytree structure error: different lengths of tuple at key path\n    in_axes['a']\n" in text
    assert "in_axes['a'] is a tuple of length 2" in text and "tree['a'] is a tuple of length 3" in text
    assert "['a']" in repr(errors[0])


@pytest.mark.parametrize("prefix, full, reason", [
    ((1, 2), [1, 2], "different types"), ((), 1, "different types"), ([1], [1, 2], "different lengths of list"),
    ({"a": 1}, {"a": 1, "b": 2}, "different numbers of pytree children"), ({"a": 1}, {"b": 1}, "different pytree metadata"),
])
def test_a_mismatch_says_what_differs(pytree, prefix, full, reason):
    [mismatch] = pytree.prefix_errors({"k": prefix}, {"k": full})
    assert mismatch.reason == reason and f"pytree structure error: {reason} at key path\n    in_axes['k']\n" in str(mismatch("in_axes"))


def test_prefix_errors_stops_at_leaves_of_the_prefix(pytree):
    assert pytree.prefix_errors([(1, 2)], [3], is_leaf=lambda x: isinstance(x, tuple)) == []
    assert len(pytree.prefix_errors([(1, 2)], [3])) == 1


def test_flatten_axes(types):
    treedef = types.tree_structure(({"w": 0, "b": 0}, [0, None], Point(0, 0)))
    assert types.flatten_axes("in_axes", treedef, 0) == [0] * 5
    assert types.flatten_axes("in_axes", treedef, None) == [None] * 5
    assert types.flatten_axes("in_axes", treedef, (0, None, Point(1, 2))) == [0, 0, None, 1, 2]
    assert types.flatten_axes("in_axes", treedef, ({"w": 1, "b": 2}, [3, None], 4)) == [2, 1, 3, 4, 4]
    with raises_naming(ValueError, "vmap in_axes", "in_axes[1] is a list of length 1", "length 2"):
        types.flatten_axes("vmap in_axes", treedef, (0, [0], 0))
    with raises_naming(ValueError, "out_axes['a'] is a tuple", "['a'] is a leaf"):
        types.flatten_axes("out_axes", types.tree_structure({"a": 0}), {"a": (1, 2)})


def test_flatten_axes_of_namedtuples(pytree):
    treedef = pytree.tree_structure(Pair(0, {"a": 0, "b": 0}))
    assert pytree.flatten_axes("in_axes", treedef, Pair(1, 2)) == [1, 2, 2]
    with raises_naming(ValueError, "in_axes is a tuple", "is a Pair"):
        pytree.flatten_axes("in_axes", treedef, (1, 2))


# --- registration ------------------------------------------------------------------------------------


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
    @pytree.register_dataclass
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
        ({"data_fields": ["a", "m"], "meta_fields": ["m"]}, ValueError, ["'m'", "both"]),
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


# --- Partial -----------------------------------------------------------------------------------------


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


# --- choosing the backend ----------------------------------------------------------------------------


def test_each_backend_says_its_name():
    assert load_backend("python")["laminax_ir.pytree"].backend_name == "python"
    assert load_backend("jaxlib")["laminax_ir.pytree"].backend_name == "jaxlib"


def test_jaxlib_is_the_default_and_its_calls_are_direct():
    modules = load_backend("jaxlib")
    from jaxlib import _jax

    pytree = modules["laminax_ir.pytree"]
    assert _run(None, "from laminax_ir import pytree; print(pytree.backend_name)") == "jaxlib"
    assert pytree.PyTreeDef is _jax.pytree.PyTreeDef
    assert isinstance(pytree.registry, _jax.pytree.PyTreeRegistry)
    assert type(pytree.flatten) is type(_jax.pytree.default_registry().flatten)  # no Python function between
    assert pytree.registry is not _jax.pytree.default_registry()


def test_the_python_backend_does_not_import_jaxlib():
    program = "import sys; from laminax_ir import pytree; print(pytree.backend_name, 'jaxlib' in sys.modules)"
    assert _run("python", program) == "python False"


def test_without_jaxlib_the_python_backend_is_chosen():
    program = "import sys; sys.modules['jaxlib'] = None; from laminax_ir import pytree; print(pytree.backend_name)"
    assert _run(None, program) == "python"


def test_asking_for_a_backend_that_is_not_there_is_an_error():
    program = "import sys; sys.modules['jaxlib'] = None; from laminax_ir import pytree"
    with pytest.raises(subprocess.CalledProcessError) as error:
        _run("jaxlib", program)
    assert "ImportError: LAMINAX_PYTREE_BACKEND=jaxlib, but" in error.value.stderr
    with pytest.raises(subprocess.CalledProcessError) as error:
        _run("rust", "from laminax_ir import pytree")
    assert "LAMINAX_PYTREE_BACKEND='rust' is not a pytree backend" in error.value.stderr


def test_registering_in_one_backend_leaves_the_other_alone():
    python = load_backend("python")["laminax_ir.pytree"]
    jaxlib = load_backend("jaxlib")["laminax_ir.pytree"]

    @python.register_static
    class OnlyHere:
        pass

    assert python.is_tree_node(OnlyHere) and not jaxlib.is_tree_node(OnlyHere)


def test_every_public_name_exists(pytree):
    assert len(set(pytree.__all__)) == len(pytree.__all__)
    for name in pytree.__all__:
        assert hasattr(pytree, name)


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_examples_in_the_docstrings_run(backend):
    load_backend(backend)
    program = (
        "import doctest, importlib\n"
        "names = ['pytree', '_pytree_paths', '_pytree_prefixes', '_pytree_registration']\n"
        "results = [doctest.testmod(importlib.import_module('laminax_ir.' + name)) for name in names]\n"
        "print(sum(r.failed for r in results), all(r.attempted for r in results))"
    )
    assert _run(backend, program).splitlines()[-1] == "0 True"
