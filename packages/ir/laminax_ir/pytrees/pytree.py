"""Pytrees: nested containers seen as a list of leaves and the structure around them.

Tuples, lists, dicts (in the order of their sorted keys), `None` (a container without children),
namedtuples, `OrderedDict`, `defaultdict` and every registered type are containers; all other values are
leaves. `tree_flatten` takes a tree apart into leaves and a `PyTreeDef`, `tree_unflatten` puts it together
again, and the rest is made of these two. This is the surface of `jax.tree_util` and `jax.tree`.

The registry is jaxlib's C++ one where jaxlib can be imported, and an equal one in Python where not; see
`laminax_ir.pytrees.backend`. Hot paths inside laminax call `flatten` and `treedef.unflatten`, which are the
registry's own methods without a Python function around them (0.1 µs less; `flatten` takes the leaf
predicate as its second positional argument).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from laminax_ir.pytrees.backend import backend, backend_name
from laminax_ir.pytrees.paths import (
    DictKey,
    FlattenedIndexKey,
    GetAttrKey,
    KeyEntry,
    KeyPath,
    SequenceKey,
    flatten_one_level_with_keys,
    keystr,
    leaf_paths,
    predicate_with_path,
    unsortable_dicts,
)
from laminax_ir.pytrees.prefixes import (
    PrefixMismatch,
    broadcast_over,
    broadcast_prefix,
    flatten_axes,
    flatten_up_to,
    mismatch_details,
    prefix_errors,
    structure_differences,
    structure_errors,
    tree_broadcast,
)
from laminax_ir.pytrees.registration import (
    Partial,
    register_dataclass,
    register_pytree_node,
    register_pytree_node_class,
    register_pytree_with_keys,
    register_pytree_with_keys_class,
    register_static,
    static,
)

__all__ = [
    # the registry in use
    "PyTreeDef", "PyTreeRegistry", "backend_name", "default_registry", "dispatch_registry", "flatten", "registry",
    # apart and together
    "all_leaves", "flatten_one_level", "flatten_one_level_with_keys", "is_tree_node", "tree_flatten",
    "tree_leaves", "tree_structure", "tree_unflatten",
    # over the leaves
    "tree_all", "tree_map", "tree_reduce", "tree_reduce_associative", "tree_transpose",
    # paths
    "DictKey", "FlattenedIndexKey", "GetAttrKey", "KeyEntry", "KeyPath", "SequenceKey", "generate_key_paths",
    "keystr", "leaf_paths", "tree_flatten_with_path", "tree_leaves_with_path", "tree_map_with_path",
    # structures
    "make_from_node_data_and_children", "treedef_children", "treedef_is_leaf", "treedef_is_strict_leaf",
    "treedef_tuple",
    # prefixes
    "PrefixMismatch", "broadcast_over", "broadcast_prefix", "flatten_axes", "mismatch_details", "prefix_errors", "structure_differences",
    "structure_errors",
    "tree_broadcast",
    # types
    "Partial", "register_dataclass", "register_pytree_node", "register_pytree_node_class",
    "register_pytree_with_keys", "register_pytree_with_keys_class", "register_static", "static",
]  # fmt: skip

if TYPE_CHECKING:  # the Python registry is the meaning of both
    from laminax_ir.pytrees.python_backend import PyTreeDef, PyTreeRegistry
else:
    PyTreeDef = backend.PyTreeDef
    PyTreeRegistry = backend.PyTreeRegistry
registry: PyTreeRegistry = backend.registry
default_registry = registry
dispatch_registry: PyTreeRegistry | None = backend.dispatch_registry
flatten = registry.flatten

_UNSPECIFIED = object()


# --- apart and together ------------------------------------------------------------------------------


def tree_flatten(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[Any], PyTreeDef]:
    """Takes a tree apart.

    Args:
      tree: any value; one that is no container is a single leaf.
      is_leaf: called with each node on the way down; where it returns True, the node is a leaf.

    Returns:
      The leaves, left to right and depth first, and the structure.

    Raises:
      ValueError: the keys of a dict cannot be sorted.

    Example:
      >>> tree_flatten({"b": 1, "a": (2, None)})
      ([2, 1], PyTreeDef({'a': (*, None), 'b': *}))
    """
    try:
        return flatten(tree, is_leaf)
    except ValueError as error:
        _raise_if_unsortable(tree, predicate_with_path(is_leaf, False), error)
        raise


def _raise_if_unsortable(tree: Any, is_leaf: Callable[[KeyPath, Any], bool] | None, error: Exception) -> None:
    for path, node in unsortable_dicts(tree, is_leaf):
        raise ValueError(
            f"Comparator raised exception: a dict in a pytree must have sortable keys, but those of tree{keystr(path)} are not: "
            f"{list(node)}\nUse keys of one type, such as all strings, or an OrderedDict, which keeps its order."
        ) from error


def tree_unflatten(treedef: PyTreeDef, leaves: Iterable[Any]) -> Any:
    """Puts a tree together: the inverse of `tree_flatten`.

    Args:
      treedef: the structure.
      leaves: its leaves, in the order of `tree_flatten`.

    Returns:
      The tree.

    Raises:
      TypeError: `treedef` is not a PyTreeDef.
      ValueError: there are too many or too few leaves.

    Example:
      >>> tree_unflatten(tree_structure({"a": 0, "b": (0, 0)}), [1, 2, 3])
      {'a': 1, 'b': (2, 3)}
    """
    if not isinstance(treedef, PyTreeDef):
        raise TypeError(
            f"tree_unflatten: the first argument must be a PyTreeDef, got {treedef!r} of type "
            f"{type(treedef).__name__}.\nThe arguments are (treedef, leaves); tree_structure(tree) makes a treedef."
        )
    leaves = list(leaves)
    if len(leaves) != treedef.num_leaves:
        problem = "too few" if len(leaves) < treedef.num_leaves else "too many"
        raise ValueError(
            f"tree_unflatten: {problem} leaves: the structure has {treedef.num_leaves}, got {len(leaves)}.\n"
            f"  structure: {treedef}\n"
            "Give one leaf for each * of the structure."
        )
    return treedef.unflatten(leaves)


def tree_leaves(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> list[Any]:
    """Returns the leaves of a tree, left to right and depth first.

    Args:
      tree: any value.
      is_leaf: see `tree_flatten`.

    Returns:
      The leaves.

    Raises:
      ValueError: the keys of a dict cannot be sorted.

    Example:
      >>> tree_leaves({"b": 1, "a": (2, None)})
      [2, 1]
    """
    return tree_flatten(tree, is_leaf)[0]


def tree_structure(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> PyTreeDef:
    """Returns the structure of a tree.

    Args:
      tree: any value.
      is_leaf: see `tree_flatten`.

    Returns:
      The structure.

    Raises:
      ValueError: the keys of a dict cannot be sorted.

    Example:
      >>> tree_structure({"a": [1, 2]})
      PyTreeDef({'a': [*, *]})
    """
    return tree_flatten(tree, is_leaf)[1]


def flatten_one_level(tree: Any) -> tuple[Iterable[Any], Hashable]:
    """Takes the root of a tree apart.

    Args:
      tree: a container.

    Returns:
      The children and the static data.

    Raises:
      ValueError: `tree` is a leaf.

    Example:
      >>> flatten_one_level((1, [2, 3]))
      ((1, [2, 3]), None)
    """
    level = registry.flatten_one_level(tree)
    if level is None:
        raise ValueError(f"can't tree-flatten type {type(tree).__name__}: it is a leaf and has no children, got {tree!r}")
    return level


def is_tree_node(typ: type) -> bool:
    """Returns whether values of exactly this type are containers.

    Args:
      typ: a type.

    Returns:
      Whether flattening goes into its values.

    Example:
      >>> is_tree_node(dict), is_tree_node(str)
      (True, False)
    """
    return registry.is_node(typ)


def all_leaves(iterable: Iterable[Any], is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Returns whether all the values are leaves.

    Args:
      iterable: the values.
      is_leaf: see `tree_flatten`.

    Returns:
      Whether none of them is a container.

    Example:
      >>> all_leaves([1, 2]), all_leaves([1, (2, 3)]), all_leaves([None])
      (True, False, False)
    """
    if is_leaf is None:
        return backend.all_leaves(registry, iterable)
    return all(is_leaf(value) or not registry.is_node(type(value)) for value in iterable)


# --- over the leaves ---------------------------------------------------------------------------------


def tree_map(
    f: Callable[..., Any], tree: Any, *rest: Any, is_leaf: Callable[[Any], bool] | None = None
) -> Any:
    """Calls a function on each leaf, or on the corresponding leaves of several trees.

    Args:
      f: takes one leaf of `tree` and, from each tree of `rest`, what stands at the same place.
      tree: the tree whose structure the result has.
      *rest: trees that have the structure of `tree` as a prefix.
      is_leaf: which nodes of `tree` to take as leaves; see `tree_flatten`.

    Returns:
      The tree of the results.

    Raises:
      ValueError: a tree of `rest` does not fit; the error names the path where the two part.

    Example:
      >>> tree_map(lambda x, y: x + y, {"a": 1, "b": (2, None)}, {"a": 10, "b": (20, None)})
      {'a': 11, 'b': (22, None)}
    """
    leaves, treedef = tree_flatten(tree, is_leaf)
    others = [
        flatten_up_to("tree_map", treedef, other, "tree", f"rest[{i}]") for i, other in enumerate(rest)
    ]
    return treedef.unflatten([*map(f, leaves, *others)])


def tree_reduce(
    function: Callable[[Any, Any], Any],
    tree: Any,
    initializer: Any = _UNSPECIFIED,
    is_leaf: Callable[[Any], bool] | None = None,
) -> Any:
    """Folds the leaves from the left, as `functools.reduce` does.

    Args:
      function: of (what was folded so far, the next leaf).
      tree: the tree.
      initializer: where to begin; without it, at the first leaf.
      is_leaf: see `tree_flatten`.

    Returns:
      The folded value.

    Raises:
      TypeError: there are no leaves and no initializer.

    Example:
      >>> tree_reduce(lambda total, x: total + x, {"a": 1, "b": [2, 3]}, 10)
      16
    """
    leaves = tree_leaves(tree, is_leaf)
    if initializer is not _UNSPECIFIED:
        return functools.reduce(function, leaves, initializer)
    if not leaves:
        raise TypeError(f"tree_reduce: {tree!r} has no leaves to begin with. Give an initializer.")
    return functools.reduce(function, leaves)


def tree_reduce_associative(
    operation: Callable[[Any, Any], Any],
    tree: Any,
    *,
    identity: Any = _UNSPECIFIED,
    is_leaf: Callable[[Any], bool] | None = None,
) -> Any:
    """Folds the leaves in pairs, then the pairs, and so on: a chain of log2(n) operations, not n.

    Args:
      operation: an associative function of two values; the leaves keep their order.
      tree: the tree.
      identity: the result if there are no leaves.
      is_leaf: see `tree_flatten`.

    Returns:
      The folded value.

    Raises:
      TypeError: there are no leaves and no identity.

    Example:
      >>> tree_reduce_associative(lambda a, b: f"({a}{b})", ["a", "b", "c", "d"])
      '((ab)(cd))'
    """
    values = tree_leaves(tree, is_leaf)
    if not values:
        if identity is _UNSPECIFIED:
            raise TypeError(f"tree_reduce_associative: {tree!r} has no leaves. Give an identity.")
        return identity
    while len(values) > 1:
        odd = values[-1:] if len(values) % 2 else []
        values = [operation(a, b) for a, b in zip(values[::2], values[1::2])] + odd
    return values[0]


def tree_all(tree: Any, *, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Returns whether all leaves are true.

    Args:
      tree: the tree.
      is_leaf: see `tree_flatten`.

    Returns:
      True if all leaves are true, or there are none.

    Example:
      >>> tree_all({"a": True, "b": [1, None]}), tree_all([0])
      (True, False)
    """
    return all(tree_leaves(tree, is_leaf))


def tree_transpose(
    outer_treedef: PyTreeDef, inner_treedef: PyTreeDef | None, pytree_to_transpose: Any
) -> Any:
    """Turns a tree of trees inside out, such as a list of dicts into a dict of lists.

    Args:
      outer_treedef: the outer structure.
      inner_treedef: the structure at each of its leaves; None to take that of the first.
      pytree_to_transpose: a tree of structure `outer_treedef.compose(inner_treedef)`.

    Returns:
      A tree of structure `inner_treedef.compose(outer_treedef)`.

    Raises:
      TypeError: the tree does not have that structure; the error names the path where it parts.
      ValueError: the inner structure is not given, and there is no leaf to take it from.

    Example:
      >>> tree_transpose(tree_structure([0, 0]), tree_structure({"a": 0, "b": 0}), [{"a": 1, "b": 2}, {"a": 3, "b": 4}])
      {'a': [1, 3], 'b': [2, 4]}
    """
    _checked("tree_transpose", outer_treedef)
    leaves, treedef = tree_flatten(pytree_to_transpose)
    if inner_treedef is not None:
        _checked("tree_transpose", inner_treedef)
    else:
        inner_treedef = _first_inner_structure(outer_treedef, pytree_to_transpose)
    expected = outer_treedef.compose(inner_treedef)
    if treedef != expected and not _is_made_of(treedef, expected, leaves):
        raise _transpose_error(expected, treedef, pytree_to_transpose)
    width = inner_treedef.num_leaves
    return inner_treedef.unflatten([outer_treedef.unflatten(leaves[i::width]) for i in range(width)])


def _is_made_of(treedef: PyTreeDef, expected: PyTreeDef, leaves: list[Any]) -> bool:
    """Whether a tree of the expected structure has this one when it is flattened: a container may rearrange what it is made of."""
    if treedef.num_leaves != expected.num_leaves:
        return False
    try:
        return tree_structure(expected.unflatten(leaves)) == treedef
    except Exception:  # a container may refuse the leaves for its children
        return False


def _first_inner_structure(outer_treedef: PyTreeDef, tree: Sequence[Any]) -> PyTreeDef:
    for mismatch in structure_errors(outer_treedef, tree):
        raise TypeError(str(mismatch("tree_transpose: Mismatch", "outer_treedef", "pytree_to_transpose")))
    subtrees = outer_treedef.flatten_up_to(tree)
    if not subtrees:
        raise ValueError(
            f"tree_transpose: outer_treedef, {outer_treedef}, has no leaves, so there is no inner structure to take. "
            "Give inner_treedef."
        )
    return tree_structure(subtrees[0])


def _transpose_error(expected: PyTreeDef, treedef: PyTreeDef, tree: Any) -> TypeError:
    for mismatch in structure_errors(expected, tree, exact=True):
        return TypeError(str(mismatch("tree_transpose: Mismatch", "expected", "pytree_to_transpose")))
    return TypeError(f"tree_transpose: Mismatch: expected the structure {expected}, got {treedef}.")


# --- paths -------------------------------------------------------------------------------------------


def tree_flatten_with_path(
    tree: Any, is_leaf: Callable[..., bool] | None = None, is_leaf_takes_path: bool = False
) -> tuple[list[tuple[KeyPath, Any]], PyTreeDef]:
    """Takes a tree apart into leaves with their paths.

    Args:
      tree: any value.
      is_leaf: see `tree_flatten`.
      is_leaf_takes_path: whether `is_leaf` is called with (path, value).

    Returns:
      The (path, leaf) pairs in the order of `tree_flatten`, and the structure.

    Raises:
      ValueError: the keys of a dict cannot be sorted.

    Example:
      >>> pairs, treedef = tree_flatten_with_path({"a": [1, 2]})
      >>> [(keystr(path), leaf) for path, leaf in pairs]
      [("['a'][0]", 1), ("['a'][1]", 2)]
    """
    predicate = predicate_with_path(is_leaf, is_leaf_takes_path)
    try:
        return registry.flatten_with_path(tree, predicate)
    except ValueError as error:
        _raise_if_unsortable(tree, predicate, error)
        raise


def tree_leaves_with_path(
    tree: Any, is_leaf: Callable[..., bool] | None = None, is_leaf_takes_path: bool = False
) -> list[tuple[KeyPath, Any]]:
    """Returns the (path, leaf) pairs of a tree.

    Args:
      tree: any value.
      is_leaf: see `tree_flatten`.
      is_leaf_takes_path: whether `is_leaf` is called with (path, value).

    Returns:
      The pairs, in the order of `tree_flatten`.

    Raises:
      ValueError: the keys of a dict cannot be sorted.

    Example:
      >>> tree_leaves_with_path((1,))
      [((SequenceKey(idx=0),), 1)]
    """
    return tree_flatten_with_path(tree, is_leaf, is_leaf_takes_path)[0]


generate_key_paths = tree_leaves_with_path


def tree_map_with_path(
    f: Callable[..., Any],
    tree: Any,
    *rest: Any,
    is_leaf: Callable[..., bool] | None = None,
    is_leaf_takes_path: bool = False,
) -> Any:
    """Calls a function on each leaf with its path; otherwise like `tree_map`.

    Args:
      f: takes a path, one leaf of `tree`, and from each tree of `rest` what stands at the same place.
      tree: the tree whose structure the result has.
      *rest: trees that have the structure of `tree` as a prefix.
      is_leaf: which nodes of `tree` to take as leaves; see `tree_flatten`.
      is_leaf_takes_path: whether `is_leaf` is called with (path, value).

    Returns:
      The tree of the results.

    Raises:
      ValueError: a tree of `rest` does not fit; the error names the path where the two part.

    Example:
      >>> tree_map_with_path(lambda path, x: f"{keystr(path)}={x}", {"a": [1, 2]})
      {'a': ["['a'][0]=1", "['a'][1]=2"]}
    """
    pairs, treedef = tree_flatten_with_path(tree, is_leaf, is_leaf_takes_path)
    paths, leaves = [path for path, _ in pairs], [leaf for _, leaf in pairs]
    others = [
        flatten_up_to("tree_map_with_path", treedef, other, "tree", f"rest[{i}]")
        for i, other in enumerate(rest)
    ]
    return treedef.unflatten([*map(f, paths, leaves, *others)])


# --- structures --------------------------------------------------------------------------------------


def treedef_tuple(treedefs: Iterable[PyTreeDef]) -> PyTreeDef:
    """Returns the structure of a tuple of trees of these structures.

    Args:
      treedefs: the structures of the elements.

    Returns:
      The structure of the tuple.

    Raises:
      TypeError: if an element is no structure.

    Example:
      >>> treedef_tuple([tree_structure(0), tree_structure([0])])
      PyTreeDef((*, [*]))
    """
    if not isinstance(treedefs, Iterable):
        raise TypeError(f"treedef_tuple: the argument must be a sequence of PyTreeDefs, got {treedefs!r} of type {type(treedefs).__name__}")
    treedefs = list(treedefs)
    for i, treedef in enumerate(treedefs):
        if not isinstance(treedef, PyTreeDef):
            raise TypeError(f"treedef_tuple: element {i} must be a PyTreeDef, got {treedef!r} of type {type(treedef).__name__}. "
                            "tree_structure(x) gives that of a value.")
    return backend.treedef_tuple(registry, treedefs)


def treedef_children(treedef: PyTreeDef) -> list[PyTreeDef]:
    """Returns the structures of the children of the root.

    Args:
      treedef: a structure.

    Returns:
      One structure per child; none for a leaf.

    Example:
      >>> treedef_children(tree_structure((0, [0])))
      [PyTreeDef(*), PyTreeDef([*])]
    """
    return _checked("treedef_children", treedef).children()


def _checked(name: str, treedef: Any) -> PyTreeDef:
    if not isinstance(treedef, PyTreeDef):
        raise TypeError(f"{name}: a PyTreeDef is expected, got {treedef!r} of type {type(treedef).__name__}. "
                        "tree_structure(x) gives that of a value.")
    return treedef


def treedef_is_leaf(treedef: PyTreeDef) -> bool:
    """Returns whether a structure is a single node: a leaf, or a container without children.

    Args:
      treedef: a structure.

    Returns:
      Whether it has one node.

    Example:
      >>> treedef_is_leaf(tree_structure(0)), treedef_is_leaf(tree_structure(None))
      (True, True)
    """
    return _checked("treedef_is_leaf", treedef).num_nodes == 1


def treedef_is_strict_leaf(treedef: PyTreeDef) -> bool:
    """Returns whether a structure is a leaf, and not a container without children.

    Args:
      treedef: a structure.

    Returns:
      Whether it is `PyTreeDef(*)`.

    Example:
      >>> treedef_is_strict_leaf(tree_structure(0)), treedef_is_strict_leaf(tree_structure(None))
      (True, False)
    """
    return treedef.num_nodes == 1 and treedef.num_leaves == 1


def make_from_node_data_and_children(
    node_data: tuple[type, Any] | None, children: Iterable[PyTreeDef]
) -> PyTreeDef:
    """Makes a structure from what `treedef.node_data()` and `treedef.children()` return.

    Args:
      node_data: (type, static data) of the root, or None for a leaf.
      children: the structures of its children.

    Returns:
      The structure.

    Example:
      >>> make_from_node_data_and_children((dict, ["a"]), [tree_structure((0, 0))])
      PyTreeDef({'a': (*, *)})
    """
    return PyTreeDef.from_node_data_and_children(registry, node_data, list(children))
