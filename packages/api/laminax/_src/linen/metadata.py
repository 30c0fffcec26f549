"""Boxes around variables, which say of their axes what the array does not: how they are split over a mesh, for one.

A variable whose initializer returns a box is stored in it; modules see the value, unboxed. Where a lifted `vmap` or `scan` stacks
variables, the box learns of the new axis by `add_axis`, and of its removal by `remove_axis`.
"""

from __future__ import annotations

import abc
from typing import Any, Callable, Iterable, Mapping

from laminax_ir.pytrees.pytree import tree_leaves, tree_map

PARTITION_NAME = "partition_name"


class AxisMetadata(abc.ABC):
    """The base of boxes. Subclasses are pytrees whose only child is the value.

    Transformations call `add_axis` and `remove_axis` with what the user gave as `metadata_params`.
    """

    @abc.abstractmethod
    def unbox(self) -> Any:
        """The value in the box."""

    @abc.abstractmethod
    def replace_boxed(self, val: Any) -> AxisMetadata:
        """A box like this one, with another value in it."""

    @abc.abstractmethod
    def add_axis(self, index: int, params: Mapping[Any, Any]) -> AxisMetadata:
        """The box of the stacked value, which has a new axis at `index`."""

    @abc.abstractmethod
    def remove_axis(self, index: int, params: Mapping[Any, Any]) -> AxisMetadata:
        """The box of one of the values stacked along the axis `index`."""


def is_box(x: Any) -> bool:
    """Whether x is a box. Boxes of other libraries count where they have the methods."""
    return isinstance(x, AxisMetadata) or (hasattr(x, "unbox") and hasattr(x, "replace_boxed") and hasattr(x, "add_axis"))


def map_boxes(function: Callable[[Any], Any], tree: Any) -> Any:
    """The tree with the boxes in it replaced by the function's results; all else stays."""
    return tree_map(lambda x: function(x) if is_box(x) else x, tree, is_leaf=is_box)


def unbox(tree: Any) -> Any:
    """The tree with values in place of the boxes around them."""
    return map_boxes(lambda box: unbox(box.unbox()), tree)


def replace_boxed(tree: Any, updates: Any) -> Any:
    """The tree with new values, each in the box of the value that it replaces."""
    def put(old: Any, new: Any) -> Any:
        return old.replace_boxed(replace_boxed(old.unbox(), new)) if is_box(old) else new
    if not any(map(is_box, tree_leaves(tree, is_leaf=is_box))):  # then the structure may change
        return updates
    return tree_map(put, tree, updates, is_leaf=is_box)


def add_axis(tree: Any, index: int, params: Mapping[Any, Any]) -> Any:
    """Tells all boxes of a new axis."""
    return map_boxes(lambda box: box.add_axis(index, params), tree)


def remove_axis(tree: Any, index: int, params: Mapping[Any, Any]) -> Any:
    """Tells all boxes that an axis is gone."""
    return map_boxes(lambda box: box.remove_axis(index, params), tree)


def with_axes(groups: Iterable[Any], axes: Iterable[int | None], params: Mapping[Any, Any]) -> tuple[Any, ...]:
    """Groups of variables whose boxes know of the axis along which each is stacked."""
    return tuple(group if axis is None else add_axis(group, axis, params) for group, axis in zip(groups, axes))


def without_axes(groups: Iterable[Any], axes: Iterable[int | None], params: Mapping[Any, Any]) -> tuple[Any, ...]:
    """Groups of variables whose boxes know no more of that axis."""
    return tuple(group if axis is None else remove_axis(group, axis, params) for group, axis in zip(groups, axes))
