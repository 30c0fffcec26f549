"""Logs of backward rules: values that a backward pass returns beside cotangents, to callers of `with_logs`.

The operation has operands, no results and no effects. `with_logs` finds it in transposed programs; in all others it does nothing, and what
is computed for it alone is dead code.
"""

from __future__ import annotations

from typing import Any

from laminax_ir.programs.primitive import Primitive, shape_rule
from laminax_ir.pytrees.pytree import tree_flatten
from laminax_ir.types.avals import ShapedArray

backward_log_p = Primitive("backward_log", multiple_results=True, family="backward_logs")


@shape_rule(backward_log_p)
def _backward_log_shape(*_avals: ShapedArray, tree: Any, name: str) -> list[ShapedArray]:
    return []


@backward_log_p.def_impl
def _not_asked_for(*_values: Any, tree: Any, name: str) -> list[Any]:
    return []


def log(logs: dict[Any, Any], name: str) -> None:
    """Logs values by their names, for the backward rule of a function of this name."""
    leaves, tree = tree_flatten(logs)
    backward_log_p.bind(*leaves, tree=tree, name=name)
