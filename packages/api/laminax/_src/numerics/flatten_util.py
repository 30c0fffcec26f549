"""A pytree of arrays as one vector, and back: what optimizers and integrators of vectors need."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any, Callable

import numpy as np

from laminax_ir.ops.shape import full, reshape, split
from laminax_ir.pytrees.pytree import PyTreeDef, tree_flatten, tree_unflatten
from laminax_ir.types import dtypes

from laminax._src.numerics.numpy.arguments import convert, dtype_of, ensure_arrays, shape_of
from laminax._src.numerics.numpy.joining import concatenate
from laminax._src.numerics.numpy.reshaping import ravel


def ravel_pytree(pytree: Any) -> tuple[Any, Callable[[Any], Any]]:
    """All leaves of a pytree, flattened and one after the other, and the function that makes such a tree of a vector.

    Args:
      pytree: arrays and scalars.

    Returns:
      The vector, in the dtype that the leaves promote to, and `unravel`, which takes a vector of this size and gives a
      tree of the same structure, shapes and dtypes. If all leaves have one dtype, the new leaves have that of the vector.

    Raises:
      TypeError: if a leaf is no array; by `unravel`, where the leaves have several dtypes and the vector has another one
        than they promote to.
      ValueError: by `unravel`, for a vector of another size.

    Example:
      >>> flat, unravel = ravel_pytree({"a": 1., "b": numpy.arange(2.)})
      >>> unravel(2 * flat)["b"]
      Array([0., 2.], dtype=float32)
    """
    leaves, treedef = tree_flatten(pytree)
    if not leaves:
        return full((0,), 0, np.dtype(np.float32)), _Unravel(treedef, (), (), None)
    arrays = ensure_arrays("ravel_pytree", *leaves)
    leaf_dtypes = tuple(dtype_of(x) for x in arrays)
    common = dtypes.result_type(*arrays)
    is_mixed = any(dtype != common for dtype in leaf_dtypes)
    flat = concatenate([ravel(convert(x, common) if is_mixed else x) for x in arrays])
    return flat, _Unravel(treedef, tuple(shape_of(x) for x in arrays), leaf_dtypes, common if is_mixed else None)


@dataclass(frozen=True)
class _Unravel:
    """Makes a tree of a vector. Equal for trees of equal structure, shapes and dtypes, so that it can be a static argument."""

    treedef: PyTreeDef
    shapes: tuple[tuple[int, ...], ...]
    dtypes: tuple[Any, ...]
    common: Any  # the dtype of the vector, if the leaves have several

    def __call__(self, flat: Any) -> Any:
        if not self.shapes:
            return tree_unflatten(self.treedef, [])
        (flat,) = ensure_arrays("unravel", flat)
        sizes = [math.prod(shape) for shape in self.shapes]
        if shape_of(flat) != (sum(sizes),):
            raise ValueError(f"unravel: the vector must have shape {(sum(sizes),)}, one element for each of the tree's, got "
                             f"{shape_of(flat)}")
        if self.common is not None and dtype_of(flat) != self.common:
            raise TypeError(f"unravel function given array of dtype {dtypes.dtype_name(dtype_of(flat))}, but expected dtype "
                            f"{dtypes.dtype_name(self.common)}. Convert it with astype.")
        leaves = [reshape(part, shape) for part, shape in zip(split(flat, sizes), self.shapes)]
        if self.common is not None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the imaginary part of a real leaf is dropped
                leaves = [convert(x, dtype) for x, dtype in zip(leaves, self.dtypes)]
        return tree_unflatten(self.treedef, leaves)
