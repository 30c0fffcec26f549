"""Functions of lax that are compositions of operations, on arrays or on pytrees of them."""

from __future__ import annotations

import numpy as np

from laminax_ir.ops import elementwise as op
from laminax_ir.ops.shape import full
from laminax_ir.pytree import tree_flatten, tree_unflatten


def optimization_barrier(operand, /):
    """The same values, across which the compiler moves nothing.

    Args:
      operand: pytree of arrays.

    Returns:
      The same pytree; everything it holds is computed before anything that uses the result.
    """
    leaves, treedef = tree_flatten(operand)
    return tree_unflatten(treedef, op.optimization_barrier_flat(*leaves) if leaves else [])


def reciprocal(x):
    """Elementwise reciprocal, 1 / x, of floating or complex numbers."""
    return op.integer_pow(x, -1)


def empty(shape, dtype):
    """An array whose values the caller promises not to rely on; they are zeros."""
    return full(shape, 0, dtype)


def shape_as_value(shape):
    """A shape as an array of its sizes, i32[rank]."""
    return np.asarray(shape, np.int32)
