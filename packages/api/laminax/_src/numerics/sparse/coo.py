"""COO: matrices as values, rows and columns of their entries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Sequence

import numpy as np

from laminax_ir.pytrees import pytree

from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.sparse.base import JAXSparse, is_sparse
from laminax._src.numerics.sparse.bcoo import BCOO, bcoo_fromdense
from laminax._src.numerics.sparse.entries import is_inside
from laminax._src.numerics.sparse.products import bcoo_dot_general

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array


@pytree.register_pytree_node_class
class COO(JAXSparse):
    """A sparse matrix as the values, the rows and the columns of its entries. BCOO does more.

    Args:
      args: `data`, `row` and `col`, [nse] each. Entries at the same place add up.
      shape: of the matrix.
      rows_sorted: whether the rows are in increasing order.
      cols_sorted: whether the columns are.
    """

    data: Any
    row: Any
    col: Any

    def __init__(self, args: tuple[Any, Any, Any], *, shape: Sequence[int], rows_sorted: bool = False, cols_sorted: bool = False) -> None:
        self.data, self.row, self.col = map(jnp.asarray, args)
        super().__init__(args, shape=shape)
        self._rows_sorted, self._cols_sorted = rows_sorted, cols_sorted
        check_matrix(self, self.data, self.row, self.col)

    nse: property = property(lambda self: self.data.size, doc="Number of entries that are stored.")
    _bufs: property = property(lambda self: (self.data, self.row, self.col))

    @classmethod
    def fromdense(cls, mat: Any, *, nse: int | None = None, index_dtype: Any = np.int32) -> COO:
        """The elements of a matrix that are not zero; see `coo_fromdense`."""
        return coo_fromdense(mat, nse=nse, index_dtype=index_dtype)

    @classmethod
    def _empty(cls, shape: Sequence[int], *, dtype: Any = None, index_dtype: Any = "int32") -> COO:
        shape = tuple(shape)
        if len(shape) != 2:
            raise ValueError(f"COO must have ndim=2; got {shape=}")
        none = jnp.zeros(0, index_dtype)
        return cls((jnp.zeros(0, dtype), none, none), shape=shape, rows_sorted=True, cols_sorted=True)

    @classmethod
    def _eye(cls, N: int, M: int, k: int, *, dtype: Any = None, index_dtype: Any = "int32") -> COO:  # noqa: N803
        return from_bcoo(BCOO._eye(N, M, k, dtype=dtype, index_dtype=index_dtype))

    def todense(self) -> Any:
        """The matrix with all its elements."""
        return to_bcoo(self.data, self.row, self.col, self.shape).todense()

    def transpose(self, axes: tuple[int, ...] | None = None) -> COO:
        """The transposed matrix, with the same buffers; `axes` must be None."""
        if axes is not None:
            raise NotImplementedError(f"COO.transpose: axes must be None, got {axes}")
        return COO((self.data, self.col, self.row), shape=self.shape[::-1], rows_sorted=self._cols_sorted, cols_sorted=self._rows_sorted)

    def __matmul__(self, other: Any) -> Array:
        return matrix_product(self, to_bcoo(self.data, self.row, self.col, self.shape), other)

    def tree_flatten(self) -> Any:
        """Its buffers, and what is static about it."""
        return self._bufs, (self.shape, self._rows_sorted, self._cols_sorted)

    @classmethod
    def tree_unflatten(cls, aux_data: Any, children: Any) -> COO:
        """The matrix of buffers and what is static about it, without checks."""
        return object.__new__(cls)._set(("data", "row", "col", "shape", "_rows_sorted", "_cols_sorted"), (*children, *aux_data))


def check_matrix(x: JAXSparse, *buffers: Any) -> None:
    """Whether a matrix has two axes, and buffers of one axis and, where they say one thing per entry, one length."""
    name = type(x).__name__
    if len(x.shape) != 2:
        raise ValueError(f"{name} must have ndim=2; got shape={x.shape}")
    if any(b.ndim != 1 for b in buffers) or len({b.shape for b in buffers}) > 1:
        raise ValueError(f"{name} of shape {x.shape}: its buffers must be of one axis and the same length, got shapes "
                         f"{[b.shape for b in buffers]}")


def to_bcoo(data: Any, row: Any, col: Any, shape: Sequence[int]) -> BCOO:
    """The same matrix as BCOO."""
    return BCOO((data, jnp.stack([row, col], axis=1)), shape=shape)


def from_bcoo(mat: BCOO) -> COO:
    """A matrix as COO, of BCOO whose indices are sorted. Padding becomes entries of value 0 at the first place, as JAX has it."""
    inside = is_inside(mat.indices, mat.shape)
    indices = jnp.where(inside[:, None], mat.indices, jnp.zeros((), mat.indices.dtype))
    return COO((mat.data, indices[:, 0], indices[:, 1]), shape=mat.shape, rows_sorted=True)


def matrix_product(x: JAXSparse, as_bcoo: BCOO, other: Any) -> Array:
    """A matrix times a dense vector or matrix, in the dtype that both promote to."""
    if is_sparse(other):
        raise NotImplementedError(f"matmul between two sparse objects: {x!r} @ {other!r}. Make them BCOO, or use todense.")
    other = jnp.asarray(other)
    if other.ndim not in (1, 2) or other.shape[0] != x.shape[1]:
        raise NotImplementedError(f"{type(x).__name__} of shape {x.shape} can be multiplied with vectors and matrices of {x.shape[1]} "
                                  f"rows, got shape {other.shape}")
    dtype = jnp.result_type(as_bcoo.dtype, other)
    as_bcoo = BCOO((as_bcoo.data.astype(dtype), as_bcoo.indices), shape=as_bcoo.shape)
    return bcoo_dot_general(as_bcoo, other.astype(dtype), dimension_numbers=(((1,), (0,)), ((), ())))


def coo_fromdense(mat: Any, *, nse: int | None = None, index_dtype: Any = np.int32) -> COO:
    """The elements of a matrix that are not zero, row by row.

    Args:
      mat: a matrix.
      nse: how many entries to store; as many as are needed if None, which cannot be found in a trace.
      index_dtype: of the rows and columns.

    Raises:
      ValueError: if mat is not of rank 2.
    """
    mat = jnp.asarray(mat)
    if mat.ndim != 2:
        raise ValueError(f"coo_fromdense: mat must have ndim=2; got shape {mat.shape}")
    return from_bcoo(bcoo_fromdense(mat, nse=nse, index_dtype=index_dtype))


def coo_todense(mat: COO) -> Any:
    """The matrix with all its elements."""
    return mat.todense()


def coo_matvec(mat: COO, v: Any, transpose: bool = False) -> Array:
    """A sparse matrix, or its transpose, times a vector."""
    return matvec(mat, v, transpose)


def coo_matmat(mat: COO, B: Any, *, transpose: bool = False) -> Array:  # noqa: N803
    """A sparse matrix, or its transpose, times a dense matrix."""
    return matmat(mat, B, transpose)


def matvec(mat: JAXSparse, v: Any, transpose: bool) -> Any:
    """A matrix of any two-dimensional format, or its transpose, times a vector."""
    v = jnp.asarray(v)
    if v.ndim != 1:
        raise ValueError(f"{type(mat).__name__} matvec: v must be a vector, got shape {v.shape}")
    return (mat.transpose() if transpose else mat) @ v


def matmat(mat: JAXSparse, B: Any, transpose: bool) -> Any:  # noqa: N803
    """A matrix of any two-dimensional format, or its transpose, times a dense matrix."""
    B = jnp.asarray(B)  # noqa: N806
    if B.ndim != 2:
        raise ValueError(f"{type(mat).__name__} matmat: B must be a matrix, got shape {B.shape}")
    return (mat.transpose() if transpose else mat) @ B
