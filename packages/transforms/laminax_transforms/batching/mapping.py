"""`map`: a function applied to one slice after the other, or to a batch of them at a time."""

from __future__ import annotations

from typing import Any, Callable

from laminax_ir.ops.loops import scan_slices
from laminax_ir.ops.shape import concatenate, reshape
from laminax_ir.ops.slicing import slice_in_dim
from laminax_ir.pytrees.pytree import tree_leaves, tree_map
from laminax_ir.symbolic.symbolic_dims import SymbolicDim
from laminax_ir.tracing.tracebacks import api_boundary
from laminax_ir.types.avals import get_aval
from laminax_transforms.batching.vectorize import vmap


@api_boundary
def map(f: Callable, xs: Any, *, batch_size: int | None = None) -> Any:
    """Applies a function to each slice along the leading axis, in sequence.

    Like `vmap` in its result, and like `scan` in that only one slice is worked on at a time, which needs less memory;
    `batch_size` is the middle way.

    Args:
      f: function of one slice.
      xs: pytree of arrays with the same leading axis size.
      batch_size: how many slices to work on at a time, with `vmap`; the rest of an uneven division is one batch more.

    Returns:
      The results, stacked along a new leading axis.

    Raises:
      ValueError: if the leading axis sizes differ or there are none, or the batch size is negative.

    Example:
      >>> map(lambda x: x ** 2, np.arange(3.0))
    """
    if not callable(f):
        raise TypeError("lax.map: f argument should be a callable.")
    if not batch_size:
        return scan_slices("map", f, xs, f)
    if batch_size < 0:
        raise ValueError(f"lax.map: batch_size must be positive, got {batch_size}")
    leaves = tree_leaves(xs)
    sizes = {get_aval(x).shape[0] if get_aval(x).shape else None for x in leaves}
    if len(sizes) != 1 or None in sizes:
        return scan_slices("map", f, xs, f)  # reports what is wrong
    size = get_aval(leaves[0]).shape[0]
    count = size // batch_size
    whole = count * batch_size

    def batches(x: Any) -> Any:
        shape = get_aval(x).shape
        return reshape(x if whole == size else slice_in_dim(x, 0, whole), (count, batch_size, *shape[1:]))

    def joined(y: Any) -> Any:
        return reshape(y, (whole, *y.shape[2:]))

    results = []
    is_symbolic = type(size) is SymbolicDim
    if is_symbolic or count:
        results.append(tree_map(joined, scan_slices("map", vmap(f), tree_map(batches, xs), None)))
    if whole != size if is_symbolic else whole < size or not results:
        results.append(vmap(f)(tree_map(lambda x: slice_in_dim(x, whole, size), xs)))
    return results[0] if len(results) == 1 else tree_map(lambda a, b: concatenate([a, b], 0), *results)
