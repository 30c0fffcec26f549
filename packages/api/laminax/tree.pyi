# Written by tools/stubs.py.
"""Pytrees by their short names: `laminax.tree.map` is `laminax.tree_util.tree_map`, and so on."""

from collections.abc import Callable, Iterable
from laminax_ir.pytrees.paths import KeyPath
from laminax_ir.pytrees.python_backend import PyTreeDef
from typing import Any

__all__: list[str]

def all(tree: Any, *, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Returns whether all leaves are true."""
def broadcast(prefix_tree: Any, full_tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """Gives a prefix the structure of the full tree, with each of its leaves repeated below it."""
def flatten(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[Any], PyTreeDef]:
    """Takes a tree apart."""
def flatten_with_path(
    tree: Any,
    is_leaf: Callable[..., bool] | None = None,
    is_leaf_takes_path: bool = False,
) -> tuple[list[tuple[KeyPath, Any]], PyTreeDef]:
    """Takes a tree apart into leaves with their paths."""
def leaves(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> list[Any]:
    """Returns the leaves of a tree, left to right and depth first."""
def leaves_with_path(tree: Any, is_leaf: Callable[..., bool] | None = None, is_leaf_takes_path: bool = False) -> list[tuple[KeyPath, Any]]:
    """Returns the (path, leaf) pairs of a tree."""
def map(f: Callable[..., Any], tree: Any, *rest: Any, is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """Calls a function on each leaf, or on the corresponding leaves of several trees."""
def map_with_path(
    f: Callable[..., Any],
    tree: Any,
    *rest: Any,
    is_leaf: Callable[..., bool] | None = None,
    is_leaf_takes_path: bool = False,
) -> Any:
    """Calls a function on each leaf with its path; otherwise like `tree_map`."""
def reduce(function: Callable[[Any, Any], Any], tree: Any, initializer: Any = ..., is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """Folds the leaves from the left, as `functools.reduce` does."""
def reduce_associative(
    operation: Callable[[Any, Any], Any],
    tree: Any,
    *,
    identity: Any = ...,
    is_leaf: Callable[[Any], bool] | None = None,
) -> Any:
    """Folds the leaves in pairs, then the pairs, and so on: a chain of log2(n) operations, not n."""
def static(**kwargs: Any) -> Any:
    """Returns a dataclass field that `register_dataclass` takes as static data."""
def structure(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> PyTreeDef:
    """Returns the structure of a tree."""
def transpose(outer_treedef: PyTreeDef, inner_treedef: PyTreeDef | None, pytree_to_transpose: Any) -> Any:
    """Turns a tree of trees inside out, such as a list of dicts into a dict of lists."""
def unflatten(treedef: PyTreeDef, leaves: Iterable[Any]) -> Any:
    """Puts a tree together: the inverse of `tree_flatten`."""
