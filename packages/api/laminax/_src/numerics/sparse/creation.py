"""Sparse arrays from nothing: empty, with ones on a diagonal, random."""

from __future__ import annotations

import math
import operator
from functools import reduce
from typing import TYPE_CHECKING, Any, Callable, Sequence

import numpy as np

from laminax_transforms import vmap

from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.random import keys as random_keys
from laminax._src.numerics.random import samplers, selection
from laminax._src.numerics.sparse.base import JAXSparse
from laminax._src.numerics.sparse.bcoo import BCOO
from laminax._src.numerics.sparse.bcsr import BCSR
from laminax._src.numerics.sparse.coo import COO
from laminax._src.numerics.sparse.csr import CSC, CSR

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike

_FORMATS: dict[str, type[BCSR | BCOO | COO | CSR | CSC]] = {"bcsr": BCSR, "bcoo": BCOO, "coo": COO, "csr": CSR, "csc": CSC}


def _format(sparse_format: str) -> type[BCSR | BCOO | COO | CSR | CSC]:
    if sparse_format not in _FORMATS:
        raise ValueError(f"{sparse_format=} not recognized; must be one of {list(_FORMATS)}")
    return _FORMATS[sparse_format]


def empty(shape: Sequence[int], dtype: Any = None, index_dtype: Any = "int32", sparse_format: str = "bcoo", **kwds: Any) -> JAXSparse:
    """A sparse array in which nothing is stored.

    Args:
      shape: of the array.
      dtype: of the elements; the default floating dtype if None.
      index_dtype: of the indices.
      sparse_format: "bcoo", "bcsr", "coo", "csr" or "csc".
      **kwds: what the format knows besides: `n_batch`, `n_dense`, and `nse` for padding.

    Raises:
      ValueError: for another format.
    """
    return _format(sparse_format)._empty(shape, dtype=dtype, index_dtype=index_dtype, **kwds)


def eye(N: int, M: int | None = None, k: int = 0, dtype: Any = None, index_dtype: Any = "int32", sparse_format: str = "bcoo",  # noqa: N803
        **kwds: Any) -> JAXSparse:
    """A sparse matrix with ones on a diagonal.

    Args:
      N: number of rows.
      M: number of columns; N if None.
      k: which diagonal: 0 the main one, positive ones above, negative ones below.
      dtype: of the elements; the default floating dtype if None.
      index_dtype: of the indices.
      sparse_format: "bcoo", "bcsr", "coo", "csr" or "csc".
      **kwds: what the format knows besides: `n_batch`, `n_dense`.

    Raises:
      ValueError: for another format.
    """
    N, k = operator.index(N), operator.index(k)  # noqa: N806
    M = N if M is None else operator.index(M)  # noqa: N806
    return _format(sparse_format)._eye(N, M, k, dtype=dtype, index_dtype=index_dtype, **kwds)


def random_bcoo(key: Any, shape: Sequence[int], *, dtype: Any = np.float64, indices_dtype: Any = None, nse: int | float = 0.2,
                n_batch: int = 0, n_dense: int = 0, unique_indices: bool = True, sorted_indices: bool = False,
                generator: Callable = samplers.uniform, **kwds: Any) -> BCOO:
    """A sparse array of random values at random places.

    Args:
      key: a random key.
      shape: of the array.
      dtype: of the values.
      indices_dtype: of the indices; the default integer dtype if None.
      nse: how many entries to store in each batch; below 1 the part of the places along the sparse axes.
      n_batch: number of batch axes.
      n_dense: number of dense axes.
      unique_indices: whether the places are different ones, in each batch.
      sorted_indices: whether the indices are sorted.
      generator: makes the values: called with a key and the keywords `shape` and `dtype`.
      **kwds: more keywords for the generator.

    Raises:
      ValueError: if the numbers of axes do not fit, or nse is negative or, with unique indices, more than there are places.
    """
    shape = tuple(map(operator.index, shape))
    n_sparse = len(shape) - n_batch - n_dense
    if n_batch < 0 or n_sparse < 0 or n_dense < 0:
        raise ValueError(f"random_bcoo: {n_batch=} and {n_dense=} must not be negative, nor together more than the {len(shape)} axes of "
                         f"{shape}")
    batch, sparse, dense = shape[:n_batch], shape[n_batch:n_batch + n_sparse], shape[n_batch + n_sparse:]
    places = math.prod(sparse)
    nse = math.ceil(nse * places) if 0 < nse < 1 else operator.index(int(nse))
    if not 0 <= nse <= places and (unique_indices or nse < 0):
        raise ValueError(f"random_bcoo: got {nse=}, expected to be between 0 and {places}")
    indices_dtype = jnp.asarray(0).dtype if indices_dtype is None else np.dtype(indices_dtype)
    data_key, index_key = random_keys.split(key)

    def of_batch(key: ArrayLike) -> Array:
        flat = selection.choice(key, places, (nse,), replace=not unique_indices) if nse else jnp.zeros(0, np.int32)
        return jnp.sort(flat) if sorted_indices else flat

    keys = random_keys.split(index_key, batch) if batch else index_key
    flat = reduce(lambda f, _: vmap(f), batch, of_batch)(keys)
    columns = [c.astype(indices_dtype) for c in jnp.unravel_index(flat, sparse)] if sparse else []
    indices = jnp.stack(columns, axis=-1) if columns else jnp.zeros((*flat.shape, 0), indices_dtype)
    data = generator(data_key, shape=(*batch, nse, *dense), dtype=dtype, **kwds)
    return BCOO((data, indices), shape=shape, indices_sorted=sorted_indices, unique_indices=unique_indices)
