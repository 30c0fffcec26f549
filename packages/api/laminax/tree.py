"""Pytrees by their short names: `laminax.tree.map` is `laminax.tree_util.tree_map`, and so on."""

from laminax_ir.pytrees import pytree as _pytree
from laminax_ir.pytrees.pytree import static as static
from laminax_ir.pytrees.wrapping import alias as _alias

all = _alias(_pytree.tree_all, "all")
broadcast = _alias(_pytree.tree_broadcast, "broadcast")
flatten = _alias(_pytree.tree_flatten, "flatten")
flatten_with_path = _alias(_pytree.tree_flatten_with_path, "flatten_with_path")
leaves = _alias(_pytree.tree_leaves, "leaves")
leaves_with_path = _alias(_pytree.tree_leaves_with_path, "leaves_with_path")
map = _alias(_pytree.tree_map, "map")
map_with_path = _alias(_pytree.tree_map_with_path, "map_with_path")
reduce = _alias(_pytree.tree_reduce, "reduce")
reduce_associative = _alias(_pytree.tree_reduce_associative, "reduce_associative")
structure = _alias(_pytree.tree_structure, "structure")
transpose = _alias(_pytree.tree_transpose, "transpose")
unflatten = _alias(_pytree.tree_unflatten, "unflatten")

__all__ = [
    "all", "broadcast", "flatten", "flatten_with_path", "leaves", "leaves_with_path", "map", "map_with_path", "reduce",
    "reduce_associative", "static", "structure", "transpose", "unflatten",
]
