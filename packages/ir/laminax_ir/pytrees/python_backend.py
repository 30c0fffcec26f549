"""The pytree registry in pure Python.

It is the meaning of the registry: the same classes, methods and results as the C++ one of jaxlib, for
machines that have NumPy alone. A container type has one `Kind` (`python_nodes`), which takes a node apart and puts it
together again; a `PyTreeDef` is a tree of (kind, static data, children). Everything else is a walk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from laminax_ir.pytrees.python_nodes import (
    NAMEDTUPLE_KIND,
    CustomKind,
    DataclassKind,
    DictKey,
    DictKind,
    FlattenedIndexKey,
    GetAttrKey,
    Kind,
    ListKind,
    NamedTupleKind,
    NoneKind,
    SequenceKey,
    TupleKind,
)

__all__ = [  # what `backend` has, whichever it is
    "DictKey", "FlattenedIndexKey", "GetAttrKey", "PyTreeDef", "PyTreeRegistry", "SequenceKey", "all_leaves", "dispatch_registry",
    "registry", "treedef_tuple",
]

# --- the registry ------------------------------------------------------------------------------------


class PyTreeRegistry:
    """The container types that flattening goes into; all other values are leaves."""

    __name__: str  # how pickle finds it again

    def __init__(self) -> None:
        builtin = (NoneKind(type(None)), TupleKind(tuple), ListKind(list), DictKind(dict))
        self._kinds: dict[type[Any], Kind] = {kind.type: kind for kind in builtin}
        self._leaf = PyTreeDef._make(self, None, None, ())

    def __reduce__(self) -> str:
        """Pickles by name: a registry holds functions, and must be the same object when it is loaded."""
        try:
            return self.__dict__["__name__"]
        except KeyError:
            raise TypeError("cannot pickle a PyTreeRegistry without a __name__ and __module__") from None

    def register_node(
        self,
        type: type[Any],
        to_iterable: Callable[[Any], tuple[Iterable[Any], Any]],
        from_iterable: Callable[[Any, tuple[Any, ...]], Any],
        to_iterable_with_keys: Callable[[Any], tuple[Iterable[tuple[Any, Any]], Any]] | None = None,
    ) -> None:
        """Makes `type` a container, taken apart and put together by these functions."""
        self._add(CustomKind(type, to_iterable, from_iterable, to_iterable_with_keys))

    def register_dataclass_node(
        self, type: type[Any], data_fields: Sequence[str], meta_fields: Sequence[str]
    ) -> None:
        """Makes `type` a container whose children are the attributes `data_fields`."""
        self._add(DataclassKind(type, data_fields, meta_fields))

    def _add(self, kind: Kind) -> None:
        if kind.type in self._kinds:
            raise ValueError(f"Duplicate custom PyTreeDef type registration for {kind.type}.")
        self._kinds[kind.type] = kind

    def is_node(self, type: type[Any]) -> bool:
        """Returns whether values of exactly this type are containers."""
        return type in self._kinds or (issubclass(type, tuple) and hasattr(type, "_fields"))

    def _kind_of(self, tree: Any) -> Kind | None:
        kind = self._kinds.get(type(tree))
        if kind is None and isinstance(tree, tuple) and hasattr(tree, "_fields"):
            return NAMEDTUPLE_KIND
        return kind

    def flatten_one_level(self, tree: Any) -> tuple[Sequence[Any], Any] | None:
        """Returns (children, static data) of the root, or None if `tree` is a leaf."""
        kind = self._kind_of(tree)
        return None if kind is None else kind.flatten(tree)

    def flatten_one_level_with_keys(self, tree: Any) -> tuple[Sequence[tuple[Any, Any]], Any] | None:
        """Returns ((key, child) pairs, static data) of the root, or None if `tree` is a leaf."""
        kind = self._kind_of(tree)
        return None if kind is None else kind.flatten_with_keys(tree)

    def flatten(
        self, tree: Any, leaf_predicate: Callable[[Any], bool] | None = None
    ) -> tuple[list[Any], PyTreeDef]:
        """Returns the leaves, left to right, and the structure around them."""
        leaves: list[Any] = []
        return leaves, self._flatten_into(leaves, tree, leaf_predicate)

    def _flatten_into(self, leaves: list[Any], tree: Any, is_leaf: Callable[[Any], bool] | None) -> PyTreeDef:
        kind = self._kind_of(tree)
        if (is_leaf is not None and _checked_answer(is_leaf(tree))) or kind is None:
            leaves.append(tree)
            return self._leaf
        children, data = kind.flatten(tree)
        subtrees = []
        for child in children:  # a loop, not a comprehension: one Python frame per level
            subtrees.append(self._flatten_into(leaves, child, is_leaf))
        return PyTreeDef._make(self, kind, data, subtrees)

    def flatten_with_path(
        self, tree: Any, leaf_predicate: Callable[[tuple[Any, ...], Any], bool] | None = None
    ) -> tuple[list[tuple[tuple[Any, ...], Any]], PyTreeDef]:
        """Returns the (path, leaf) pairs, and the structure. The predicate gets (path, value)."""
        leaves: list[tuple[tuple[Any, ...], Any]] = []
        return leaves, self._flatten_with_path_into(leaves, (), tree, leaf_predicate)

    def _flatten_with_path_into(self, leaves: list[tuple[tuple[Any, ...], Any]], path: tuple[Any, ...], tree: Any,
                                is_leaf: Callable[[tuple[Any, ...], Any], bool] | None) -> PyTreeDef:
        kind = self._kind_of(tree)
        if (is_leaf is not None and _checked_answer(is_leaf(path, tree))) or kind is None:
            leaves.append((path, tree))
            return self._leaf
        pairs, data = kind.flatten_with_keys(tree)
        subtrees = []
        for key, child in pairs:
            subtrees.append(self._flatten_with_path_into(leaves, (*path, key), child, is_leaf))
        return PyTreeDef._make(self, kind, data, subtrees)


def _checked_answer(answer: bool) -> bool:
    """An array as answer is a mistake that truth-testing would hide, so only bool and None pass."""
    if answer is None or isinstance(answer, bool):
        return bool(answer)
    raise ValueError(f"is_leaf predicate returned a non-boolean value {answer!r}; expected a boolean")


# --- the structure of a tree -------------------------------------------------------------------------


class PyTreeDef:
    """The structure of a tree without its leaves. Compares, hashes and pickles as a value."""

    __slots__ = ("num_leaves", "num_nodes", "_registry", "_kind", "_data", "_children", "_hash")

    num_leaves: int
    num_nodes: int
    _registry: PyTreeRegistry
    _kind: Kind | None
    _data: Any
    _children: tuple[PyTreeDef, ...]
    _hash: int | None

    def __init__(self) -> None:
        raise TypeError("a PyTreeDef is made by flattening a tree; use tree_structure(tree)")

    @staticmethod
    def _make(registry: PyTreeRegistry, kind: Kind | None, data: Any, children: Iterable[PyTreeDef]) -> PyTreeDef:
        """`kind` is None for a leaf."""
        self = object.__new__(PyTreeDef)
        self._registry, self._kind, self._data = registry, kind, data
        self._children = tuple(children)
        self._hash = None
        leaves, nodes = (1 if kind is None else 0), 1
        for child in self._children:
            leaves += child.num_leaves
            nodes += child.num_nodes
        self.num_leaves, self.num_nodes = leaves, nodes
        return self

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """Returns the tree of this structure with these leaves."""
        return self._build(self._exact_leaves(leaves))

    def _exact_leaves(self, leaves: Iterable[Any]) -> Iterator[Any]:
        leaves = list(leaves)
        if len(leaves) < self.num_leaves:
            raise ValueError(f"Too few leaves for PyTreeDef; expected {self.num_leaves}, got {len(leaves)}")
        if len(leaves) > self.num_leaves:
            raise ValueError(f"Too many leaves for PyTreeDef; expected {self.num_leaves}.")
        return iter(leaves)

    def _build(self, leaves: Iterator[Any]) -> Any:
        if self._kind is None:
            return next(leaves)
        children = []
        for child in self._children:
            children.append(child._build(leaves))
        return self._kind.unflatten(self._data, children)

    def flatten_up_to(self, tree: Any) -> list[Any]:
        """Returns the subtrees of `tree` that stand where this structure has its leaves."""
        subtrees: list[Any] = []
        self._flatten_up_to_into(subtrees, tree)
        return subtrees

    def _flatten_up_to_into(self, subtrees: list[Any], tree: Any) -> None:
        if self._kind is None:
            subtrees.append(tree)
            return
        expected = self._kind.type_of(self._data)
        if type(tree) is not expected:
            raise ValueError(f"Expected {expected.__name__}, got {tree!r}.")
        children, data = self._kind.flatten(tree)
        if _data_differ(self._kind, self._data, data):
            raise ValueError(f"Mismatch of node data: {self._data!r} != {data!r}; value: {tree!r}.")
        if len(children) != len(self._children):
            raise ValueError(
                f"{expected.__name__} arity mismatch: {len(children)} != {len(self._children)}; value: {tree!r}."
            )
        for structure, child in zip(self._children, children):
            structure._flatten_up_to_into(subtrees, child)

    def children(self) -> list[PyTreeDef]:
        """Returns the structures of the root's children; none for a leaf."""
        return list(self._children)

    def node_data(self) -> tuple[type[Any], Any] | None:
        """Returns (type, static data) of the root, or None for a leaf."""
        if self._kind is None:
            return None
        return self._kind.type_of(self._data), self._kind.node_data(self._data)

    @staticmethod
    def from_node_data_and_children(
        registry: PyTreeRegistry, node_data: tuple[type[Any], Any] | None, children: Iterable[PyTreeDef]
    ) -> PyTreeDef:
        """Returns the structure that `node_data()` and `children()` describe."""
        if node_data is None:
            return registry._leaf
        nodetype, data = node_data
        kind = registry._kinds.get(nodetype)
        if kind is None and registry.is_node(nodetype):
            kind, data = NAMEDTUPLE_KIND, nodetype
        if kind is None:
            raise RuntimeError(f"Could not find type: {nodetype}.")
        children = tuple(children)
        if isinstance(kind, DictKind):
            data = tuple(data)
            if len(data) != len(children):
                raise ValueError("Number of keys and entries does not match.")
        return PyTreeDef._make(registry, kind, data, children)

    def compose(self, inner: PyTreeDef) -> PyTreeDef:
        """Returns this structure with `inner` in place of every leaf."""
        if self._registry is not inner._registry:
            raise ValueError("PyTree registries of PyTreeDefs passed to compose() must match.")
        if self._kind is None:
            return inner
        children = [child.compose(inner) for child in self._children]
        return PyTreeDef._make(self._registry, self._kind, self._data, children)

    def walk(
        self,
        f_node: Callable[[tuple[Any, ...], Any], Any],
        f_leaf: Callable[[Any], Any] | None,
        leaves: Iterable[Any],
    ) -> Any:
        """Folds the tree: `f_leaf(leaf)` at leaves, `f_node(children, data)` at nodes, children first."""
        return self._walk(f_node, f_leaf, self._exact_leaves(leaves))

    def _walk(self, f_node: Callable[..., Any], f_leaf: Callable[[Any], Any] | None, leaves: Iterator[Any]) -> Any:
        if self._kind is None:
            leaf = next(leaves)
            return leaf if f_leaf is None else f_leaf(leaf)
        children = []
        for child in self._children:
            children.append(child._walk(f_node, f_leaf, leaves))
        data = self._data if isinstance(self._kind, NamedTupleKind) else self._kind.node_data(self._data)
        return f_node(tuple(children), data)

    def from_iterable_tree(self, tree: Any) -> Any:
        """Returns the tree of this structure from nested iterables of its leaves."""
        if self._kind is None:
            return tree
        parts = list(tree)
        if len(parts) != len(self._children):
            raise ValueError("Arity mismatch between trees")
        children = [child.from_iterable_tree(part) for child, part in zip(self._children, parts)]
        return self._kind.unflatten(self._data, children)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, PyTreeDef):
            return NotImplemented
        if self._kind is not other._kind:
            # The same type in two registries is two kinds; what counts is the type.
            if self._kind is None or other._kind is None or type(self._kind) is not type(other._kind):
                return False
            if self._kind.type is not other._kind.type:
                return False
        if self._kind is None:
            return True
        if self.num_nodes != other.num_nodes or len(self._children) != len(other._children):
            return False
        return not _data_differ(self._kind, self._data, other._data) and self._children == other._children

    def __hash__(self) -> int:
        """Leaves static data out: it need not be hashable, as in the C++ registry."""
        if self._hash is None:
            kind = None if self._kind is None else self._kind.type_of(self._data)
            self._hash = hash((kind, self._children))
        return self._hash

    def __repr__(self) -> str:
        return f"PyTreeDef({self._show()})"

    def _show(self) -> str:
        if self._kind is None:
            return "*"
        return self._kind.show(self._data, [child._show() for child in self._children])

    def __reduce__(self) -> tuple[Callable[..., PyTreeDef], tuple[Any, ...]]:
        return PyTreeDef.from_node_data_and_children, (self._registry, self.node_data(), self._children)


def _data_differ(kind: Kind, a: Any, b: Any) -> bool:
    try:
        return bool(a != b)
    except Exception as error:
        raise ValueError(
            f"Comparing the static data of two pytree nodes of type {kind.type} failed: {error}. Static data "
            "must have simple equality; an array belongs among the children."
        ) from error


# --- functions of the registry -----------------------------------------------------------------------


def treedef_tuple(registry: PyTreeRegistry, treedefs: Iterable[PyTreeDef]) -> PyTreeDef:
    """Returns the structure of a tuple whose elements have these structures."""
    return PyTreeDef.from_node_data_and_children(registry, (tuple, None), treedefs)


def all_leaves(registry: PyTreeRegistry, values: Iterable[Any]) -> bool:
    """Returns whether none of the values is a container."""
    return all(registry._kind_of(value) is None for value in values)


registry = PyTreeRegistry()
registry.__module__, registry.__name__ = __name__, "registry"  # how pickle finds it again
dispatch_registry: PyTreeRegistry | None = None  # there is no C++ dispatch without jaxlib
