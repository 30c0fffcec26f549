"""Trees that are prefixes of others, on both registries.

Expected values are those of JAX's documentation of `jax.tree_util` and `jax.tree`, or follow from what a
container is. Where the two registries word something differently, the test asks for what both must say.
"""

from __future__ import annotations

import pytest
from pytree_backends import pytree_fixture  # noqa: F401  (used by name)
from pytree_types import Pair, Point, raises_naming, types_fixture  # noqa: F401  (by name)


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


def test_a_mismatch_names_the_keys_that_one_side_lacks(pytree):
    class Fields:
        def __init__(self, **fields):
            self.fields = fields

    pytree.register_pytree_with_keys(
        Fields, lambda f: ([(pytree.GetAttrKey(k), v) for k, v in f.fields.items()], tuple(f.fields)),
        lambda keys, xs: Fields(**dict(zip(keys, xs))))
    for prefix, full, keys in [({"a": 1}, {"a": 2, "b": 3}, ["['b']"]), ({"a": 1, "c": 2}, {"b": 3}, ["['a']", "['c']", "['b']"]),
                               (Fields(a=1), Fields(a=2, b=3), [".b"]), (Fields(a=1, c=2, d=0), Fields(d=3, b=3), [".a", ".c", ".b"])]:
        [mismatch] = pytree.prefix_errors(prefix, full)
        text = str(mismatch("in_axes"))
        assert "different numbers of pytree children at key path" in text
        listed = text.partition("so the symmetric difference on key sets is\n")[2].splitlines()
        assert [line.strip() for line in listed if line.startswith("    ")] == keys


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


def test_structures_of_classes_that_refuse_stand_ins(pytree):
    class Vector:
        def __init__(self, x, y):
            if not isinstance(x, float):
                raise TypeError(f"not a float: {x!r}")
            self.x, self.y = x, y

    pytree.register_pytree_node(Vector, lambda v: ((v.x, v.y), None), lambda _, children: Vector(*children))
    tree = {"v": Vector(1.0, {"z": 2.0}), "w": [3.0, (4.0, None)]}
    structure = pytree.tree_structure(tree)
    assert [pytree.keystr(path) for path in pytree.leaf_paths(structure)] == [
        pytree.keystr(path) for path, _ in pytree.tree_leaves_with_path(tree)]
    assert pytree.broadcast_over({"v": 0, "w": [1, 2]}, structure) == [0, 0, 1, 2]
    assert pytree.broadcast_over({"v": Vector(1.0, None), "w": 5}, structure, lambda x: x is None) == [1.0, None, 5, 5]
    other = pytree.tree_structure({"v": Vector(1.0, 2.0), "w": [3.0, (4.0, None)]})
    [(path, *_)] = pytree.structure_differences(structure, other)
    [mismatch] = pytree.structure_errors(structure, other, exact=True)
    assert pytree.keystr(path) == pytree.keystr(mismatch.path) == "['v'][<flat index 1>]"
    with raises_naming(ValueError, "prefix_tree['w'] is a list of length 1", "full_tree['w'] is a list of length 2"):
        pytree.broadcast_over({"v": 0, "w": [1]}, structure, full_name="full_tree")


def test_leaf_paths_of_a_class_whose_instances_have_other_leaves(pytree):
    """As of one that looks for arrays in an object, and finds none in one made of numbers."""
    class Found:
        def __init__(self, leaves):
            self.leaves = leaves

    pytree.register_pytree_node(
        Found, lambda f: ([x for x in f.leaves if isinstance(x, float)], None), lambda _, children: Found(list(children)))
    structure = pytree.tree_structure((Found([1.0, 2.0]), 3.0))
    assert [pytree.keystr(path) for path in pytree.leaf_paths(structure)] == ["[0][<flat index 0>]", "[0][<flat index 1>]", "[1]"]


def test_flatten_axes_of_namedtuples(pytree):
    treedef = pytree.tree_structure(Pair(0, {"a": 0, "b": 0}))
    assert pytree.flatten_axes("in_axes", treedef, Pair(1, 2)) == [1, 2, 2]
    with raises_naming(ValueError, "in_axes is a tuple", "is a Pair"):
        pytree.flatten_axes("in_axes", treedef, (1, 2))
