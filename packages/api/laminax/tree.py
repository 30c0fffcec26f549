"""Pytrees by their short names: `laminax.tree.map` is `laminax.tree_util.tree_map`, and so on."""

from laminax_ir.pytrees.pytree import static as static
from laminax_ir.pytrees.pytree import tree_all as all
from laminax_ir.pytrees.pytree import tree_broadcast as broadcast
from laminax_ir.pytrees.pytree import tree_flatten as flatten
from laminax_ir.pytrees.pytree import tree_flatten_with_path as flatten_with_path
from laminax_ir.pytrees.pytree import tree_leaves as leaves
from laminax_ir.pytrees.pytree import tree_leaves_with_path as leaves_with_path
from laminax_ir.pytrees.pytree import tree_map as map
from laminax_ir.pytrees.pytree import tree_map_with_path as map_with_path
from laminax_ir.pytrees.pytree import tree_reduce as reduce
from laminax_ir.pytrees.pytree import tree_reduce_associative as reduce_associative
from laminax_ir.pytrees.pytree import tree_structure as structure
from laminax_ir.pytrees.pytree import tree_transpose as transpose
from laminax_ir.pytrees.pytree import tree_unflatten as unflatten

__all__ = [
    "all", "broadcast", "flatten", "flatten_with_path", "leaves", "leaves_with_path", "map", "map_with_path", "reduce",
    "reduce_associative", "static", "structure", "transpose", "unflatten",
]
