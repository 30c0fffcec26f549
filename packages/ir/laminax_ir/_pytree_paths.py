"""Paths: where a leaf or a node stands in its tree.

A path is a tuple of keys from the root down. `keystr` spells it the way a user would write it after the
name of the tree, `['a'][0].weight`, which is how laminax's errors name their arguments.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

from laminax_ir._pytree_backend import backend

KeyEntry = Any
KeyPath = tuple[KeyEntry, ...]

DictKey = backend.DictKey
SequenceKey = backend.SequenceKey
GetAttrKey = backend.GetAttrKey
FlattenedIndexKey = backend.FlattenedIndexKey

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
