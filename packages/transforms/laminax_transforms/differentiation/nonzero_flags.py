"""Trees of bools beside values: which inputs of a derivative may have nonzero tangents (`in_nzs`), and which results do (`out_nzs`).

Such a tree is a prefix of the values, as far as the numbers of children go: a tuple may stand for any container.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from laminax_ir.pytrees.pytree import tree_flatten

if TYPE_CHECKING:
    from laminax_ir.pytrees.pytree import PyTreeDef


def flags_of(prefix: Any, tree: PyTreeDef, name: str, what: str) -> list[bool]:
    """One flag for each leaf of a structure.

    Args:
      prefix: a bool, or containers of them.
      tree: the structure.
      name: what the flags are called, `in_nzs`.
      what: whose they are, for messages.

    Raises:
      ValueError: if it is no tree of bools, or does not fit.
    """
    return list(_flags(prefix, tree, name, what))


def _flags(prefix: Any, tree: PyTreeDef, where: str, what: str) -> Iterator[bool]:
    if isinstance(prefix, bool):
        yield from [prefix] * tree.num_leaves
        return
    children = None if prefix is None else tree_flatten(prefix, is_leaf=lambda x: x is not prefix)[0]
    if children is None and tree.num_leaves == 0:
        return
    if children is None or len(children) == 1 and children[0] is prefix:
        raise ValueError(f"{what} must be a tree of bools, like a tuple-tree (made of bools and tuples only), but {where} is {prefix!r} of "
                         f"type {type(prefix).__name__}")
    if tree.node_data() is None or len(children) != len(tree.children()):
        have = "a leaf" if tree.node_data() is None else f"{len(tree.children())} children"
        raise ValueError(f"{what} must form a tree prefix of the corresponding values (up to container types, so containers need only "
                         f"match in their number of children), but {where} has {len(children)} children while the values have {have}")
    for i, (child, part) in enumerate(zip(children, tree.children())):
        yield from _flags(child, part, f"{where}[{i}]", what)


def mirrored(tree: PyTreeDef, flags: Sequence[bool]) -> Any:
    """Flags in a structure's tuples, lists and dicts; other containers are tuples."""
    return _mirrored(tree, iter(flags))


def _mirrored(tree: PyTreeDef, flags: Iterator[bool]) -> Any:
    data = tree.node_data()
    if data is None:
        return next(flags)
    kind, keys = data
    children = [_mirrored(child, flags) for child in tree.children()]
    if kind is type(None):
        return None
    return children if kind is list else dict(zip(keys, children)) if kind is dict else tuple(children)
