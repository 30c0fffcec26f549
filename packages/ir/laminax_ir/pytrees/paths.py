"""Paths: where a leaf or a node stands in its tree.

A path is a tuple of keys from the root down. `keystr` spells it the way a user would write it after the
name of the tree, `['a'][0].weight`, which is how laminax's errors name their arguments.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

from laminax_ir.pytrees.backend import backend

KeyEntry = Any
KeyPath = tuple[KeyEntry, ...]

DictKey = backend.DictKey
SequenceKey = backend.SequenceKey
GetAttrKey = backend.GetAttrKey
FlattenedIndexKey = backend.FlattenedIndexKey
PyTreeDef = backend.PyTreeDef

_LEAF = backend.registry.flatten(0)[1]
_VALUE_OF_KEY = {DictKey: "key", SequenceKey: "idx", GetAttrKey: "name", FlattenedIndexKey: "key"}


def keystr(keys: KeyPath, *, simple: bool = False, separator: str = "") -> str:
    """Spells a path.

    Args:
      keys: the path, from the root down.
      simple: whether to write only the names and indices, without brackets, quotes and dots.
      separator: what to write between two keys.

    Returns:
      The text; empty for the root.

    Example:
      >>> path = (DictKey("layers"), SequenceKey(0), GetAttrKey("weight"))
      >>> keystr(path)
      "['layers'][0].weight"
      >>> keystr(path, simple=True, separator="/")
      'layers/0/weight'
    """
    return separator.join([_simple(key) if simple else str(key) for key in keys])


def _simple(key: KeyEntry) -> str:
    attribute = _VALUE_OF_KEY.get(type(key))
    return str(key) if attribute is None else str(getattr(key, attribute))


def flatten_one_level_with_keys(tree: Any) -> tuple[list[tuple[KeyEntry, Any]], Any]:
    """Takes the root of a tree apart.

    Args:
      tree: a container.

    Returns:
      The (key, child) pairs and the static data.

    Raises:
      ValueError: `tree` is a leaf.

    Example:
      >>> flatten_one_level_with_keys({"b": 1, "a": [2]})
      ([(DictKey(key='a'), [2]), (DictKey(key='b'), 1)], ('a', 'b'))
    """
    level = backend.registry.flatten_one_level_with_keys(tree)
    if level is None:
        raise ValueError(f"can't tree-flatten type {type(tree).__name__}: it is a leaf and has no children, got {tree!r}")
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        # jaxlib 0.10.2 repeats the first field's key here, though not when it flattens the whole tree.
        pairs, _ = backend.registry.flatten_with_path(tree, lambda path, _: bool(path))
        return [(path[0], child) for path, child in pairs], level[1]
    return list(level[0]), level[1]


def node_keys(treedef: PyTreeDef) -> list[KeyEntry]:
    """Finds the keys of the children of a structure's root.

    A registered type tells its keys of an instance only, which is made of zeros here; of a type that refuses them the keys
    are numbers.

    Args:
      treedef: a structure that is no leaf.

    Returns:
      One key per child.

    Example:
      >>> node_keys(backend.registry.flatten({"b": 1, "a": [2]})[1])
      [DictKey(key='a'), DictKey(key='b')]
    """
    children = treedef.children()
    level = PyTreeDef.from_node_data_and_children(backend.registry, treedef.node_data(), [_LEAF] * len(children))
    try:
        keys = [key for key, _ in flatten_one_level_with_keys(level.unflatten([0] * len(children)))[0]]
    except Exception:  # of the user's class
        keys = []
    return keys if len(keys) == len(children) else [FlattenedIndexKey(i) for i in range(len(children))]


def leaf_paths(treedef: PyTreeDef) -> list[KeyPath]:
    """Finds the path of each leaf of a structure; the keys are those of `node_keys`.

    Args:
      treedef: a structure.

    Returns:
      One path per leaf.

    Example:
      >>> [keystr(path) for path in leaf_paths(backend.registry.flatten({"b": 1, "a": [2, None, 3]})[1])]
      ["['a'][0]", "['a'][2]", "['b']"]
    """
    numbers = list(range(treedef.num_leaves))
    try:
        leaves = backend.registry.flatten_with_path(treedef.unflatten(numbers))[0]
        if [leaf for _, leaf in leaves] == numbers:
            return [path for path, _ in leaves]
    except Exception:  # of a user's class, which looks at its children
        pass
    return list(_leaf_paths(treedef, ()))


def _leaf_paths(treedef: PyTreeDef, path: KeyPath) -> Iterator[KeyPath]:
    if treedef.node_data() is None:
        yield path
        return
    for key, child in zip(node_keys(treedef), treedef.children()):
        yield from _leaf_paths(child, (*path, key))


def predicate_with_path(
    is_leaf: Callable[..., bool] | None, takes_path: bool
) -> Callable[[KeyPath, Any], bool] | None:
    """Returns the leaf predicate in the form the registry takes for paths: of (path, value)."""
    if is_leaf is None or takes_path:
        return is_leaf
    return lambda _, value: is_leaf(value)


def unsortable_dicts(
    tree: Any, is_leaf: Callable[[KeyPath, Any], bool] | None, path: KeyPath = ()
) -> Iterator[tuple[KeyPath, Any]]:
    """Yields (path, dict) of the dicts in a tree whose keys have no order, which flattening needs."""
    if not backend.registry.is_node(type(tree)) or (is_leaf is not None and is_leaf(path, tree)):
        return
    if type(tree) in (dict, defaultdict):
        try:
            sorted(tree)
        except Exception:
            yield path, tree
            return
    for key, child in flatten_one_level_with_keys(tree)[0]:
        yield from unsortable_dicts(child, is_leaf, (*path, key))
