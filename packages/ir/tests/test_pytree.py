"""Pytrees taken apart, put together, and mapped, on both registries.

Expected values are those of JAX's documentation of `jax.tree_util` and `jax.tree`, or follow from what a
container is. Where the two registries word something differently, the test asks for what both must say.
"""

from __future__ import annotations

import operator
import pickle
from collections import OrderedDict, defaultdict

import numpy as np
import pytest
from pytree_backends import pytree_fixture  # noqa: F401  (used by name)
from pytree_types import CONTAINERS, Keyed, Pair, Point, raises_naming, show, types_fixture  # noqa: F401  (by name)

# --- flatten and unflatten ---


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


# --- over the leaves ---


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
