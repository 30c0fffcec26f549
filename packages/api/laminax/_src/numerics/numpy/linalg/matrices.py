"""Helpers of the functions of `numpy.linalg`: the checks of their arguments, and small operations on matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from laminax_ir.symbolic.symbolic_dims import max_dim
from laminax_ir.types import dtypes
from laminax_ir.types.avals import get_aval
from laminax_ir.types.errors import ShapeError

from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.numpy.arguments import dtype_of, inexact, shape_of

if TYPE_CHECKING:
    import numpy as np

    from laminax_ir.types.annotations import ArrayLike


class MatrixShapeError(ShapeError, ValueError):
    """JAX raises TypeError in some of these functions and ValueError in others."""


def as_matrices(name: str, a: Any) -> Any:
    """The argument in an inexact dtype; raises unless it is [..., m, n]."""
    a = inexact(name, a)
    if len(shape_of(a)) < 2:
        raise MatrixShapeError(f"{name}: the argument must be a matrix or a batch of them, [..., m, n], got "
                               f"{get_aval(a).str_short()}")
    return a


def as_square(name: str, a: Any) -> Any:
    """The argument in an inexact dtype; raises unless it is [..., n, n]."""
    a = inexact(name, a)
    shape = shape_of(a)
    if len(shape) < 2 or shape[-1] != shape[-2]:
        raise MatrixShapeError(f"{name}: the argument must have shape [..., n, n], got {get_aval(a).str_short()}")
    return a


def product(*factors: Any) -> Any:
    """The matrix product of several arrays, from left to right, in full precision."""
    result = factors[0]
    for x in factors[1:]:
        result = jnp.matmul(result, x, precision="highest")
    return result


def relative_spacing(a: Any) -> float:
    """The spacing of numbers at 1, times the longer side: how far rounding moves singular values, relatively."""
    size: Any = max_dim(*shape_of(a)[-2:])
    return size * float(dtypes.finfo(dtype_of(a)).eps)


def permuted_rows(b: Any, permutation: Any) -> Any:
    """b with its rows in another order."""
    return jnp.take_along_axis(b, permutation[..., None], axis=-2)


def for_each_matrix(tolerance: ArrayLike, dtype: np.dtype) -> Any:
    """A scalar, or one number per matrix with an axis for its singular values."""
    tolerance = jnp.asarray(tolerance, dtype)
    return tolerance[..., None] if tolerance.ndim else tolerance
