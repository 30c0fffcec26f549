"""BCOO: batches of coordinates. `indices` has a row per stored entry, `data` its value, both for each batch.

Axes are of three kinds, in this order: `n_batch` axes along which the number of entries is the same, `n_sparse` axes along which
few elements are stored, `n_dense` axes along which all are. The first are axes of `data` and `indices`, the last of `data`.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Callable, Mapping, Sequence

import numpy as np

from laminax_ir.pytrees import pytree
from laminax_transforms.batching.mapped_types import register_vmappable

from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.numpy.arguments import concrete_or_error
from laminax._src.numerics.sparse.base import JAXSparse, SparseInfo
from laminax._src.numerics.sparse.conversion import count_stored_elements, entries_of, gather_entries, scatter_entries
from laminax._src.numerics.sparse.layout import bcoo_transpose, bcoo_update_layout
from laminax._src.numerics.sparse.ordering import bcoo_eliminate_zeros, bcoo_sort_indices, bcoo_sum_duplicates
from laminax._src.numerics.sparse.slicing import split_rows
from laminax._src.numerics.sparse.transform import sparsify

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike

    from laminax._src.numerics.sparse.bcsr import BCSR


@pytree.register_pytree_node_class
class BCOO(JAXSparse):
    """A sparse array as the values and the coordinates of its entries, with batch and dense axes.

    Entries with the same index add up. An index that is not below the array's size marks padding.

    Args:
      args: `data`, [*batch, nse, *dense], and `indices`, int[*batch, nse, n_sparse]. A batch axis of one of them may have size 1.
      shape: of the array, (*batch, *sparse, *dense).
      indices_sorted: whether the indices are in lexicographic order, in each batch.
      unique_indices: whether no index is there twice, in each batch.

    Raises:
      ValueError: if the arrays' shapes do not fit each other and `shape`.

    Example:
      >>> BCOO((jnp.array([3.0, 5.0]), jnp.array([[0, 1], [2, 2]])), shape=(3, 3))
      BCOO(float32[3, 3], nse=2)
    """

    _has_rules = True

    data: Any
    indices: Any

    def __init__(self, args: tuple[Any, Any], *, shape: Sequence[int], indices_sorted: bool = False, unique_indices: bool = False) -> None:
        self.data, self.indices = map(jnp.asarray, args)
        super().__init__(args, shape=shape)
        self.indices_sorted: bool = indices_sorted
        self.unique_indices: bool = unique_indices
        _check(self)

    nse: property = property(lambda self: self.indices.shape[-2], doc="Number of entries that are stored, in each batch.")
    n_batch: property = property(lambda self: self.indices.ndim - 2, doc="Number of batch axes, the first ones.")
    n_sparse: property = property(lambda self: self.indices.shape[-1], doc="Number of sparse axes, those between.")
    n_dense: property = property(lambda self: self.data.ndim - 1 - self.n_batch, doc="Number of dense axes, the last ones.")
    _bufs: property = property(lambda self: (self.data, self.indices))
    _info: property = property(lambda self: SparseInfo(self.shape, self.indices_sorted, self.unique_indices))

    def _described_layout(self) -> str:
        return "".join(f", {name}={value}" for name, value in (("n_batch", self.n_batch), ("n_dense", self.n_dense)) if value)

    @classmethod
    def fromdense(cls, mat: Any, *, nse: int | None = None, index_dtype: Any = np.int32, n_dense: int = 0, n_batch: int = 0) -> BCOO:
        """The elements of an array that are not zero; see `bcoo_fromdense`."""
        return bcoo_fromdense(mat, nse=nse, n_batch=n_batch, n_dense=n_dense, index_dtype=index_dtype)

    @classmethod
    def from_scipy_sparse(cls, mat: Any, *, index_dtype: Any = None, n_dense: int = 0, n_batch: int = 0) -> BCOO:
        """The entries of a matrix of `scipy.sparse`.

        Args:
          mat: a matrix.
          index_dtype: of the indices; those of the matrix if None.
          n_dense: must be 0.
          n_batch: must be 0.

        Raises:
          NotImplementedError: for batch or dense axes.
        """
        if n_dense or n_batch:
            raise NotImplementedError(f"BCOO.from_scipy_sparse: n_batch and n_dense must be 0, got {n_batch} and {n_dense}. "
                                      "Use update_layout on the result.")
        mat = mat.tocoo()
        indices = jnp.stack([jnp.asarray(x, dtype=index_dtype) for x in (mat.row, mat.col)], axis=1)
        return cls((jnp.asarray(mat.data), indices), shape=mat.shape)

    @classmethod
    def _empty(cls, shape: Sequence[int], *, dtype: Any = None, index_dtype: Any = "int32", n_dense: int = 0, n_batch: int = 0,
               nse: int = 0) -> BCOO:
        shape = tuple(map(operator.index, shape))
        n_sparse = len(shape) - n_batch - n_dense
        if n_sparse < 0 or n_batch < 0 or n_dense < 0:
            raise ValueError(f"BCOO of shape {shape}: {n_batch=} and {n_dense=} must not be negative, nor more than {len(shape)} together")
        batch, sparse, dense = shape[:n_batch], shape[n_batch:n_batch + n_sparse], shape[n_batch + n_sparse:]
        indices = jnp.broadcast_to(jnp.asarray(sparse, index_dtype).reshape(n_sparse), (*batch, nse, n_sparse))
        return cls((jnp.zeros((*batch, nse, *dense), dtype), indices), shape=shape, indices_sorted=True, unique_indices=nse <= 1)

    @classmethod
    def _eye(cls, N: int, M: int, k: int, *, dtype: Any = None, index_dtype: Any = "int32", n_batch: int = 0,  # noqa: N803
             n_dense: int = 0) -> BCOO:
        size = max(0, min(N, M - k) if k >= 0 else min(N + k, M))
        along = jnp.arange(size, dtype=index_dtype)
        indices = jnp.stack([along - min(k, 0), along + max(k, 0)], axis=1)
        mat = cls((jnp.ones(size, dtype), indices), shape=(N, M), indices_sorted=True, unique_indices=True)
        if not (n_batch or n_dense):
            return mat
        return bcoo_fromdense(mat.todense(), n_batch=n_batch, n_dense=n_dense, index_dtype=index_dtype)

    def todense(self) -> Any:
        """The array with all its elements."""
        return scatter_entries(self.data, self.indices, shape=self.shape)

    def sort_indices(self) -> BCOO:
        """The same array, the entries of each batch in the order of their indices."""
        return bcoo_sort_indices(self)

    def sum_duplicates(self, nse: int | None = None, remove_zeros: bool = True) -> BCOO:
        """The same array, entries with the same index made one.

        Args:
          nse: how many entries to store in each batch; as many as are needed if None, which cannot be found in a trace.
          remove_zeros: whether entries that are zero are left out.
        """
        return bcoo_eliminate_zeros(self, nse=nse) if remove_zeros else bcoo_sum_duplicates(self, nse=nse)

    def update_layout(self, *, n_batch: int | None = None, n_dense: int | None = None, on_inefficient: str | None = "error") -> BCOO:
        """The same array with other numbers of batch and dense axes; see `bcoo_update_layout`."""
        return bcoo_update_layout(self, n_batch=n_batch, n_dense=n_dense, on_inefficient=on_inefficient)

    def transpose(self, axes: Sequence[int] | None = None) -> BCOO:
        """The array with its axes permuted, reversed by default; see `bcoo_transpose`."""
        return bcoo_transpose(self, permutation=tuple(reversed(range(self.ndim))) if axes is None else axes)

    def tree_flatten(self) -> Any:
        """Its buffers, and what is static about it."""
        return self._bufs, self._info

    @classmethod
    def tree_unflatten(cls, aux_data: SparseInfo, children: Any) -> BCOO:
        """The array of buffers and what is static about it, without checks."""
        return object.__new__(cls)._set(("data", "indices", *SparseInfo._fields), (*children, *aux_data))

    # operators and methods that are functions of `laminax.numpy`: whether they have a rule for sparse operands is known there

    def __getitem__(self, index: Any) -> BCOO:
        return sparsify(lambda x: x[index])(self)

    def __iter__(self) -> Iterable[Any]:
        if not self.ndim:
            raise TypeError("iteration over a sparse array without axes")
        return iter(split_rows(self))

    def astype(self, dtype: Any) -> BCOO:
        """The array with elements of another dtype."""
        return sparsify(lambda x: x.astype(dtype))(self)

    def reshape(self, *shape: Any) -> Any:
        """The array in another shape; sizes as one tuple or as arguments, one of them may be -1. See `bcoo_reshape`."""
        return sparsify(lambda x: x.reshape(*shape))(self)

    def sum(self, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
        """The sum along some axes, of all elements by default. See `bcoo_reduce_sum`."""
        return sparsify(lambda x: x.sum(axis=axis, dtype=dtype, keepdims=keepdims))(self)


def _operator(name: str, is_reflected: bool = False) -> Callable[..., Any]:
    def method(self: BCOO | BCSR, *operand: ArrayLike) -> Any:
        function = getattr(jnp, name)
        if operand and isinstance(operand[0], (int, float, complex)):  # a number is static: x ** 2 has a rule
            return sparsify(lambda x: function(operand[0], x) if is_reflected else function(x, operand[0]))(self)
        return sparsify(function)(*((*operand, self) if is_reflected else (self, *operand)))
    method.__doc__ = f"`laminax.numpy.{name}` of sparse arrays."
    return method


def give_operators(cls: type[Any], names: Mapping[str, str]) -> None:
    """Gives a class operators, which call the named functions of `laminax.numpy`; those of two operands are also given reflected."""
    for name, function in names.items():
        setattr(cls, f"__{name}__", _operator(function))
        if name in ("matmul", "mul", "add", "sub", "truediv", "pow"):
            setattr(cls, f"__r{name}__", _operator(function, is_reflected=True))


give_operators(BCOO, {
    "matmul": "matmul", "mul": "multiply", "add": "add", "sub": "subtract", "truediv": "true_divide", "pow": "power", "neg": "negative",
    "pos": "positive", "abs": "abs", "eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater",
    "ge": "greater_equal"})


def _check(x: BCOO) -> None:
    data, indices, shape = x.data, x.indices, x.shape
    said = f"BCOO of shape {shape}: "
    if indices.ndim < 2:
        raise ValueError(f"{said}indices must have the shape (*batch, nse, n_sparse), got {indices.shape}")
    if not jnp.issubdtype(indices.dtype, jnp.integer):
        raise ValueError(f"{said}indices must be integers, got {indices.dtype}")
    n_batch, nse, n_sparse, n_dense = x.n_batch, x.nse, x.n_sparse, x.n_dense
    if n_dense < 0 or n_batch + n_sparse + n_dense != len(shape):
        raise ValueError(f"{said}indices.shape={indices.shape} is (*batch, nse, n_sparse) with {n_batch} batch and {n_sparse} sparse axes, "
                         f"which with data.shape={data.shape} makes an array of {n_batch + n_sparse + max(n_dense, 0)} axes")
    for name, batch in (("data", data.shape[:n_batch]), ("indices", indices.shape[:n_batch])):
        if any(size not in (1, wanted) for size, wanted in zip(batch, shape)):
            raise ValueError(f"{name} batch dimensions not compatible for {name}.shape={getattr(x, name).shape}, {shape=}. Each must be 1, "
                             "or the array's size")
    if data.shape[n_batch:] != (nse, *shape[n_batch + n_sparse:]):
        raise ValueError(f"Invalid data.shape={data.shape} for {nse=}, {n_batch=}, {n_dense=}: after the batch axes it must be "
                         f"{(nse, *shape[n_batch + n_sparse:])}, one value for each of the indices")


def bcoo_fromdense(mat: Any, *, nse: int | None = None, n_batch: int = 0, n_dense: int = 0, index_dtype: Any = np.int32) -> BCOO:
    """The elements of an array that are not zero, as a sparse array.

    Args:
      mat: an array.
      nse: how many entries to store in each batch; as many as are needed if None, which cannot be found in a trace.
      n_batch: number of batch axes, the first ones.
      n_dense: number of dense axes, the last ones: an entry is stored if one of its elements is not zero.
      index_dtype: of the indices.

    Raises:
      ConcretizationTypeError: in a trace, if nse is None.

    Example:
      >>> bcoo_fromdense(jnp.array([0.0, 2.0, 0.0]))
      BCOO(float32[3], nse=1)
    """
    mat = jnp.asarray(mat)
    if n_batch < 0 or n_dense < 0 or n_batch + n_dense > mat.ndim:
        raise ValueError(f"bcoo_fromdense: {n_batch=} and {n_dense=} must not be negative, nor together more than the {mat.ndim} axes of "
                         "mat")
    if nse is None:
        nse = count_stored_elements(mat, n_batch=n_batch, n_dense=n_dense)
    nse = concrete_or_error(operator.index, nse, "It is the nse argument of bcoo_fromdense, the number of stored elements: "
                                                 "BCOO.fromdense() in a traced function needs a number that does not depend on values; "
                                                 "pass nse.")
    buffers = entries_of(mat, nse=nse, n_batch=n_batch, n_dense=n_dense, index_dtype=np.dtype(index_dtype))
    return BCOO(buffers, shape=mat.shape, indices_sorted=True, unique_indices=True)


def bcoo_todense(mat: BCOO) -> Any:
    """The array that a sparse one stands for, with all its elements."""
    return mat.todense()


def bcoo_extract(sparr: BCOO, arr: Any, *, assume_unique: bool | None = None) -> BCOO:
    """The elements of an array at the places of a sparse one.

    Args:
      sparr: says which places.
      arr: an array of the same shape.
      assume_unique: whether every entry has the element; otherwise only the first of those at the same place, so that they add up to it.
        None for what is known of sparr.

    Returns:
      A sparse array with the entries' places of `sparr`.

    Raises:
      ValueError: if arr has another shape than `sparr`.
    """
    arr = jnp.asarray(arr)
    if arr.shape != sparr.shape:
        raise ValueError(f"bcoo_extract: arr must have the shape of the sparse array, {sparr.shape}, got {arr.shape}")
    unique = sparr.unique_indices if assume_unique is None else bool(assume_unique)
    data = gather_entries(sparr.indices, arr, assume_unique=unique)
    return BCOO((data, sparr.indices), **sparr._info._asdict())


# --- vmap: batch axes can be mapped ---


def _one_of_batch(take: Callable[..., Any], _index: Callable[..., Any], mat: BCOO, axis: int | None) -> BCOO:
    if axis is None:
        return mat
    if not 0 <= axis < mat.n_batch:
        raise ValueError(f"Cannot map in_axis={axis} for BCOO array with n_batch={mat.n_batch}. in_axes for batched BCOO operations must "
                         "correspond to a batch dimension. Use update_layout to make it one.")

    def mapped(x: Array) -> Any:
        return take(jnp.squeeze(x, axis), None) if x.shape[axis] != mat.shape[axis] else take(x, axis)
    return BCOO((mapped(mat.data), mapped(mat.indices)),
                **mat._info._replace(shape=mat.shape[:axis] + mat.shape[axis + 1:])._asdict())


def _batch_of_one(put: Callable[..., Any], size: int, mat: BCOO, axis: int | None) -> BCOO:
    if axis is None:
        return mat
    if not 0 <= axis <= mat.n_batch:
        raise ValueError(f"BCOO: cannot add out_axis={axis} for BCOO array with n_batch={mat.n_batch}. BCOO batch axes must be a "
                         "contiguous block of leading dimensions.")
    return BCOO((put(size, mat.data, axis), put(size, mat.indices, axis)),
                **mat._info._replace(shape=(*mat.shape[:axis], size, *mat.shape[axis:]))._asdict())


register_vmappable(BCOO, int, int, _one_of_batch, _batch_of_one, None)
