"""CSR and CSC: matrices as compressed rows, or compressed columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Sequence

import numpy as np

from laminax_ir.pytrees import pytree

from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.sparse.base import JAXSparse
from laminax._src.numerics.sparse.bcoo import BCOO
from laminax._src.numerics.sparse.bcsr import BCSR, bcsr_fromdense
from laminax._src.numerics.sparse.coo import check_matrix, matmat, matrix_product, matvec

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array


class _Compressed(JAXSparse):
    """The base of CSR and CSC: `indptr` says where the rows (CSR) or the columns (CSC) begin, `indices` the other index of each entry."""

    data: Any
    indices: Any
    indptr: Any

    def __init__(self, args: tuple[Any, Any, Any], *, shape: Sequence[int]) -> None:
        self.data, self.indices, self.indptr = map(jnp.asarray, args)
        super().__init__(args, shape=shape)
        check_matrix(self, self.data, self.indices)
        check_matrix(self, self.indptr)
        if self.indptr.size != self._row_shape[0] + 1:
            raise ValueError(f"{type(self).__name__} of shape {self.shape}: indptr must have {self._row_shape[0] + 1} elements, got "
                             f"{self.indptr.size}")

    nse: property = property(lambda self: self.data.size, doc="Number of entries that are stored.")
    _bufs: property = property(lambda self: (self.data, self.indices, self.indptr))
    _row_shape: tuple[int, int]

    @staticmethod
    def _row_shape_of(shape: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of the matrix whose rows are compressed: the same for CSR, reversed for CSC. Applied twice it gives the shape back."""
        raise NotImplementedError

    @classmethod
    def _empty(cls, shape: Sequence[int], *, dtype: Any = None, index_dtype: Any = "int32") -> Any:
        shape = tuple(shape)
        if len(shape) != 2:
            raise ValueError(f"{cls.__name__} must have ndim=2; got {shape=}")
        return cls._of_rows(BCSR._empty(cls._row_shape_of(shape), dtype=dtype, index_dtype=index_dtype))

    @classmethod
    def _of_rows(cls, rows: BCSR) -> Any:
        data, indices, indptr = rows._bufs
        count = indptr[-1]
        indices = jnp.where(jnp.arange(rows.nse, dtype=indptr.dtype) < count, indices, jnp.zeros((), indices.dtype))
        return cls((data, indices, indptr), shape=cls._row_shape_of(rows.shape))

    def _rows(self) -> BCOO:
        """The matrix whose rows are compressed: itself for CSR, the transpose for CSC."""
        return BCSR(self._bufs, shape=self._row_shape).to_bcoo()

    def tree_flatten(self) -> Any:
        """Its buffers, and its shape."""
        return self._bufs, self.shape

    @classmethod
    def tree_unflatten(cls, aux_data: Any, children: Any) -> Any:
        """The matrix of buffers and a shape, without checks."""
        return object.__new__(cls)._set(("data", "indices", "indptr", "shape"), (*children, aux_data))


@pytree.register_pytree_node_class
class CSR(_Compressed):
    """A sparse matrix as compressed rows. BCSR does more.

    Args:
      args: `data` and `indices`, [nse]: the values and the columns of the entries; `indptr`, [rows + 1]: the entries of row i are
        those from `indptr[i]` to below `indptr[i + 1]`.
      shape: of the matrix.
    """

    _row_shape: property = property(lambda self: self.shape)

    @staticmethod
    def _row_shape_of(shape: tuple[int, ...]) -> tuple[int, ...]:
        return shape

    @classmethod
    def fromdense(cls, mat: Any, *, nse: int | None = None, index_dtype: Any = np.int32) -> CSR:
        """The elements of a matrix that are not zero; see `csr_fromdense`."""
        return csr_fromdense(mat, nse=nse, index_dtype=index_dtype)

    @classmethod
    def _eye(cls, N: int, M: int, k: int, *, dtype: Any = None, index_dtype: Any = "int32") -> CSR:  # noqa: N803
        return cls._of_rows(BCSR._eye(N, M, k, dtype=dtype, index_dtype=index_dtype))

    def todense(self) -> Any:
        """The matrix with all its elements."""
        return self._rows().todense()

    def transpose(self, axes: Any = None) -> CSC:
        """The transposed matrix, with the same buffers; `axes` must be None."""
        if axes is not None:
            raise NotImplementedError(f"CSR.transpose: axes must be None, got {axes}")
        return CSC(self._bufs, shape=self.shape[::-1])

    def __matmul__(self, other: Any) -> Any:
        return matrix_product(self, self._rows(), other)


@pytree.register_pytree_node_class
class CSC(_Compressed):
    """A sparse matrix as compressed columns.

    Args:
      args: `data` and `indices`, [nse]: the values and the rows of the entries; `indptr`, [columns + 1]: the entries of column i are those
        from `indptr[i]` to below `indptr[i + 1]`.
      shape: of the matrix.
    """

    _row_shape: property = property(lambda self: self.shape[::-1])

    @staticmethod
    def _row_shape_of(shape: tuple[int, ...]) -> tuple[int, ...]:
        return shape[::-1]

    @classmethod
    def fromdense(cls, mat: Any, *, nse: int | None = None, index_dtype: Any = np.int32) -> CSC:
        """The elements of a matrix that are not zero; arguments as those of `csr_fromdense`."""
        return csr_fromdense(jnp.asarray(mat).T, nse=nse, index_dtype=index_dtype).T

    @classmethod
    def _eye(cls, N: int, M: int, k: int, *, dtype: Any = None, index_dtype: Any = "int32") -> CSC:  # noqa: N803
        return cls._of_rows(BCSR._eye(M, N, -k, dtype=dtype, index_dtype=index_dtype))

    def todense(self) -> Any:
        """The matrix with all its elements."""
        return self._rows().todense().T

    def transpose(self, axes: Any = None) -> CSR:
        """The transposed matrix, with the same buffers; `axes` must be None."""
        if axes is not None:
            raise NotImplementedError(f"CSC.transpose: axes must be None, got {axes}")
        return CSR(self._bufs, shape=self.shape[::-1])

    def __matmul__(self, other: Any) -> Array:
        return matrix_product(self, self._rows().T, other)


def csr_fromdense(mat: Any, *, nse: int | None = None, index_dtype: Any = np.int32) -> CSR:
    """The elements of a matrix that are not zero, as compressed rows.

    Args:
      mat: a matrix.
      nse: how many entries to store; as many as are needed if None, which cannot be found in a trace.
      index_dtype: of the columns and of where rows begin.
    """
    return CSR._of_rows(bcsr_fromdense(mat, nse=nse, index_dtype=index_dtype))


def csr_todense(mat: CSR) -> Any:
    """The matrix with all its elements."""
    return mat.todense()


def csr_matvec(mat: CSR, v: Any, transpose: bool = False) -> Array:
    """A sparse matrix, or its transpose, times a vector."""
    return matvec(mat, v, transpose)


def csr_matmat(mat: CSR, B: Any, *, transpose: bool = False) -> Array:  # noqa: N803
    """A sparse matrix, or its transpose, times a dense matrix."""
    return matmat(mat, B, transpose)
