"""Paths to leaves, and structures as values: their parts, their equality, pickles and copies, on both registries.

Expected values are those of JAX's documentation of `jax.tree_util` and `jax.tree`, or follow from what a
container is. Where the two registries word something differently, the test asks for what both must say.
"""

from __future__ import annotations

import copy
import pickle
from collections import OrderedDict, defaultdict

import numpy as np
import pytest
from pytree_backends import BACKENDS, load_backend, pytree_fixture  # noqa: F401  (used by name)
from pytree_types import CONTAINERS, Keyed, Pair, Point, raises_naming, run_with_backend, show, types_fixture  # noqa: F401  (by name)

# --- paths ---


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


# --- structures ---


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
    make = "from laminax_ir.pytrees import pytree; t = pytree.tree_structure({'a': 0, 'b': (0, None)});"
    data = run_with_backend(backend, f"{make} import pickle; print(pickle.dumps(t).hex())")
    load = f"{make} import pickle; print(pickle.loads(bytes.fromhex({data!r})) == t)"
    assert run_with_backend(backend, load) == "True"
