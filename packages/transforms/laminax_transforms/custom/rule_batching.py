"""Helpers of batching rules that users write: functions, operands and types over a batch, with symbolic zeros among the values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from laminax_ir.ops.reduction import reduce_sum
from laminax_ir.pytrees.pytree import broadcast_prefix, tree_flatten, tree_map, tree_unflatten
from laminax_ir.types.avals import remove_axis
from laminax_transforms.base.zeros import Zero
from laminax_transforms.batching.batch_axes import Axis, add_batch_axis, batch_axis_first, move_batch_axis
from laminax_transforms.batching.batching import batch_flat


def unmap_avals(axis_data: Axis, avals: Any, dims: Any) -> Any:
    """The types of values over a batch.

    Args:
      axis_data: the mapped axis, as the rule `batch` gets it.
      avals: a pytree of types of one example.
      dims: the batch axes in the same structure; None where a value is not mapped.

    Returns:
      The types with the batch axes.
    """
    return tree_map(lambda aval, dim: add_batch_axis(aval, axis_data.size, dim, axis_data.mesh_axes), avals, dims)


def bdims_at_front(axis_data: Axis, args: Any, dims: Any) -> Any:
    """The values with the batch axis in front.

    Args:
      axis_data: the mapped axis, as the rule `batch` gets it.
      args: a pytree of values.
      dims: their batch axes in the same structure; a value with None is repeated.

    Returns:
      The values, all of them mapped along axis 0.
    """
    return tree_map(lambda x, dim: batch_axis_first(x, dim, axis_data.size), args, dims)


def vmap_rule(axis_data: Axis, f: Callable, in_axes: Any, out_axes: Any, *, sum_match: bool = False) -> Callable:
    """A function mapped along the axis of a batching rule. A `Zero` among arguments or results has the type of a batch outside of `f`.

    Args:
      axis_data: the mapped axis, as the rule `batch` gets it.
      f: the function of one example.
      in_axes: the batch axes of the arguments, a prefix of them, as for `vmap`.
      out_axes: the batch axes that the results are to have, likewise.
      sum_match: whether results for which out_axes has None are summed over the batch, if they are mapped.

    Returns:
      The function of the batch.
    """
    def batched(*args: Any) -> Any:
        leaves, in_tree = tree_flatten(args, is_leaf=_is_zero)
        axes = _axes_of(in_axes, in_tree)
        structures: list[tuple[Any, list[Any]]] = []

        def flat(*values: Any) -> list[Any]:
            given = iter(values)
            xs = [(x if b is None else Zero(remove_axis(x.aval, b))) if _is_zero(x) else next(given) for x, b in zip(leaves, axes)]
            out, tree = tree_flatten(f(*tree_unflatten(in_tree, xs)), is_leaf=_is_zero)
            structures.append((tree, out))
            wanted.extend(b for x, b in zip(out, _axes_of(out_axes, tree)) if not _is_zero(x))
            return [x for x in out if not _is_zero(x)]

        wanted: list[int | None] = []
        present = [(x, b) for x, b in zip(leaves, axes) if not _is_zero(x)]
        outs, found = batch_flat(flat, axis_data, [x for x, _ in present], [b for _, b in present])
        results = iter([reduce_sum(x, (b,)) if sum_match and b is not None and want is None else
                        move_batch_axis(x, b, want, axis_data.size, axis_data.mesh_axes) for x, b, want in zip(outs, found, wanted)])
        tree, out = structures[-1]
        return tree_unflatten(tree, [Zero(add_batch_axis(x.aval, axis_data.size, b, axis_data.mesh_axes)) if _is_zero(x) else next(results)
                                     for x, b in zip(out, _axes_of(out_axes, tree))])

    return batched


def _axes_of(prefix: Any, tree: Any) -> list[Any]:
    """The axis of each leaf of a tree."""
    return broadcast_prefix(prefix, tree_unflatten(tree, range(tree.num_leaves)), is_leaf=lambda x: x is None)


def _is_zero(x: Any) -> bool:
    return isinstance(x, Zero)
