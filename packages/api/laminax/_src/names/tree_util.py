"""Pytrees under the name that libraries import, and the table of node types, which they ask whether a type is a node."""

from __future__ import annotations

from laminax_ir.pytrees import pytree

from laminax.tree_util import *  # noqa: F403


class _Registry:
    """Contains the types that are nodes of pytrees."""

    def __contains__(self, node_type: type) -> bool:
        return pytree.is_tree_node(node_type)


_registry = _Registry()
