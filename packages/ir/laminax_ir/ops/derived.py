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
      The same pytree, shapes and dtypes; everything it holds is computed before anything that uses the result.
    """
    leaves, treedef = tree_flatten(operand)
    return tree_unflatten(treedef, op.optimization_barrier_flat(*leaves) if leaves else [])


def reciprocal(x):
    """Elementwise reciprocal, 1 / x.

    Args:
      x: floating or complex, of any shape.

    Returns:
      An array of x's shape and dtype.

    Raises:
      TypeError: if x is of integers or bools.
    """
    return op.integer_pow(x, -1)


def empty(shape, dtype):
    """An array whose values the caller promises not to rely on; they are zeros.

    Args:
      shape: the result's shape; an integer stands for one axis.
      dtype: the result's dtype.

    Returns:
      An array of that shape and dtype.
    """
    return full(shape, 0, dtype)


def shape_as_value(shape):
    """A shape as an array of its sizes.

    Args:
      shape: a sequence of n ints.

    Returns:
      A NumPy array of shape [n] and dtype int32.
    """
    return np.asarray(shape, np.int32)
