"""Linear equations with sparse matrices, solved by SciPy on the host."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from laminax_ir.ops.callbacks import pure_callback
from laminax_ir.types.shape_dtype_structs import ShapeDtypeStruct
from laminax_transforms import stop_gradient
from laminax_transforms.custom.custom_solve import custom_linear_solve

from laminax._src.numerics.floor import fused
from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.sparse.csr import CSR

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike

_ORDERS = {0: "NATURAL", 1: "COLAMD", 2: "MMD_AT_PLUS_A", 3: "MMD_ATA"}  # SuperLU's names of column orderings


def spsolve(data: Any, indices: Any, indptr: Any, b: Any, tol: float = 1e-6, reorder: int = 1) -> Any:
    """Solves A x = b for a square sparse matrix, in compressed rows.

    Derivatives with respect to `data` and `b` solve with the same matrix or its transpose. The solver is SciPy's (SuperLU), called on the
    host.

    Args:
      data: [nse], the values of the entries.
      indices: int[nse], their columns.
      indptr: int[size + 1], where the rows begin.
      b: [size], of the dtype of `data`.
      tol: has no effect: this solver finds only matrices singular that are so exactly.
      reorder: which columns are eliminated first: 0 in their order, 1 by COLAMD, 2 by minimum degree of A + A', 3 of A'A.

    Returns:
      x, [size]; NaN if A is singular.

    Raises:
      ValueError: if shapes or dtypes do not fit, or `reorder` is another number.

    Example:
      >>> spsolve(jnp.array([2.0, 4.0]), jnp.array([0, 1]), jnp.array([0, 1, 2]), jnp.array([1.0, 1.0]))
      Array([0.5 , 0.25], dtype=float32)
    """
    data, indices, indptr, b = map(jnp.asarray, (data, indices, indptr, b))
    if data.dtype != b.dtype or not jnp.issubdtype(b.dtype, jnp.inexact):
        raise ValueError(f"spsolve: data types do not match: data and b must be of one floating or complex dtype, got {data.dtype} and "
                         f"{b.dtype}")
    if not all(jnp.issubdtype(x.dtype, jnp.integer) for x in (indices, indptr)):
        raise ValueError(f"spsolve: indices and indptr must be integers, got {indices.dtype} and {indptr.dtype}")
    if b.ndim != 1 or indptr.shape != (b.size + 1,) or data.ndim != 1 or data.shape != indices.shape:
        raise ValueError(f"spsolve: data and indices must have shape [nse], b [size] and indptr [size + 1], got {data.shape}, "
                         f"{indices.shape}, {b.shape} and {indptr.shape}")
    if reorder not in _ORDERS:
        raise ValueError(f"spsolve: reorder must be one of {list(_ORDERS)}, got {reorder!r}")
    return _spsolve(data, indices, indptr, b, reorder=reorder)


@fused(static_argnames=("reorder",))
def _spsolve(data: Array, indices: Array, indptr: Array, b: Array, *, reorder: int) -> Array:
    fixed = stop_gradient(data)  # what the solution depends on is said by `product`

    def product(x: ArrayLike) -> Array:
        return CSR((data, indices, indptr), shape=(b.size, b.size)) @ x

    def solver(is_transposed: bool) -> Callable:
        def solve(_product: Callable, right: ArrayLike) -> Array:
            def on_host(*args: Array) -> Array:
                return _solve_on_host(*args, is_transposed=is_transposed, order=_ORDERS[reorder])
            return pure_callback(on_host, ShapeDtypeStruct(right.shape, right.dtype), fixed, indices, indptr, right,
                                 vmap_method="sequential")
        return solve

    return custom_linear_solve(product, b, solver(False), solver(True))


def _solve_on_host(data: Array, indices: Array, indptr: Array, b: Array, *, is_transposed: bool, order: str) -> np.ndarray:
    import warnings

    from scipy.sparse import csr_matrix
    from scipy.sparse.linalg import MatrixRankWarning
    from scipy.sparse.linalg import spsolve as solve
    data, indices, indptr, b = map(np.asarray, (data, indices, indptr, b))
    matrix = csr_matrix((data, indices, indptr), shape=(b.size, b.size))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MatrixRankWarning)  # a singular matrix makes NaN
        return solve((matrix.T if is_transposed else matrix).tocsc(), b, permc_spec=order).astype(b.dtype)
