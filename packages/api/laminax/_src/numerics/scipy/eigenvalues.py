"""Eigenvalues, singular values, and the Schur and Hessenberg forms, as in `scipy.linalg`, of matrices in the last two axes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from laminax_ir.ops import linalg as la
from laminax_ir.types import dtypes
from laminax_ir.types.avals import get_aval

from laminax._src.numerics.floor import fused
from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.numpy.arguments import convert, dtype_of, inexact, promote_dtypes, shape_of
from laminax._src.numerics.numpy.linalg import factorizations
from laminax._src.numerics.scipy.linalg import _promoted

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike


def eigh(a: ArrayLike, b: ArrayLike | None = None, lower: bool = True, eigvals_only: bool = False, overwrite_a: bool = False,
         overwrite_b: bool = False, turbo: bool = True, eigvals: None = None, type: int = 1, check_finite: bool = True) -> Any:
    """Eigenvalues, ascending, and eigenvectors of Hermitian matrices: w and v with a v = w v.

    With b, those of a generalized problem, which a Cholesky factorization of b makes an ordinary one.

    Args:
      a: [..., n, n].
      b: [..., n, n], positive definite; its batch and a's are broadcast against each other. The result is NaN where it is not positive
        definite.
      lower: whether the lower triangles of a and b are read, or the upper ones.
      eigvals_only: whether the eigenvalues alone are returned.
      overwrite_a, overwrite_b, turbo, check_finite: have no effect.
      eigvals: must be None.
      type: the problem with b: 1 is a v = w b v, 2 is a b v = w v, and 3 is b a v = w v.

    Returns:
      w, real[..., n], and v, [..., n, n], eigenvectors in its columns; or w alone. v^H v is the identity; with b, v^H b v is for types 1
      and 2, and v^H b^-1 v for type 3.

    Raises:
      NotImplementedError: if eigvals is not None.
      ValueError: if type is not 1, 2 or 3, or the matrices have different sizes.

    Example:
      >>> w, v = eigh(jnp.array([[2., 1.], [1., 2.]]))
      >>> w
      Array([1., 3.], dtype=float32)
      >>> jnp.abs(v)
      Array([[0.70710677, 0.70710677],
             [0.70710677, 0.70710677]], dtype=float32)

    Source: LAPACK Users' Guide, "Generalized symmetric definite eigenproblems".
    """
    if eigvals is not None:
        raise NotImplementedError(f"eigh: eigvals must be None, got {eigvals!r}. Slice the whole result.")
    if type not in (1, 2, 3):
        raise ValueError(f"eigh: type must be 1, 2 or 3, got {type!r}")
    if b is None:
        result = _eigh(a, lower=bool(lower), eigvals_only=bool(eigvals_only))
    else:
        result = _generalized_eigh(a, b, lower=bool(lower), eigvals_only=bool(eigvals_only), kind=int(type))
    return result[0] if eigvals_only else result


@fused(static_argnames=("lower", "eigvals_only"))
def _eigh(a: ArrayLike, lower: bool, eigvals_only: bool) -> tuple[Array, ...]:
    v, w = la.eigh(inexact("eigh", a), lower=lower, symmetrize_input=False)
    return (w,) if eigvals_only else (w, v)


@fused(static_argnames=("lower", "eigvals_only", "kind"))
def _generalized_eigh(a: Array, b: Array, lower: bool, eigvals_only: bool, kind: int) -> tuple[Array, ...]:
    a, b = promote_dtypes("eigh", inexact("eigh", a), inexact("eigh", b))
    if len(a.shape) < 2 or len(b.shape) < 2 or not a.shape[-2] == a.shape[-1] == b.shape[-2] == b.shape[-1]:
        raise ValueError(f"eigh: a and b must be square matrices of one size, got {get_aval(a).str_short()} and {get_aval(b).str_short()}")
    batch = jnp.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    a, b = (jnp.broadcast_to(_from_triangle(x, lower), (*batch, *x.shape[-2:])) for x in (a, b))
    factor = la.cholesky(b, symmetrize_input=False)

    def without_factor(x: Array, conjugate: bool = False) -> Array:
        """The solution y of L y = x, or of L^H y = x."""
        return la.triangular_solve(factor, x, left_side=True, lower=True, transpose_a=conjugate, conjugate_a=conjugate)

    if kind == 1:
        ordinary = without_factor(_adjoint(without_factor(a)))
    else:
        ordinary = jnp.matmul(_adjoint(factor), jnp.matmul(a, factor, precision="highest"), precision="highest")
    v, w = la.eigh(ordinary, lower=True, symmetrize_input=True)
    if eigvals_only:
        return (w,)
    return w, jnp.matmul(factor, v, precision="highest") if kind == 3 else without_factor(v, conjugate=True)


def _adjoint(x: Array) -> Array:
    return jnp.conj(jnp.swapaxes(x, -1, -2))


def _from_triangle(x: Array, lower: bool) -> Array:
    """The Hermitian matrix of which one triangle is given; the other one is not read."""
    given = jnp.tril(x) if lower else jnp.triu(x)
    inside = jnp.tril(x, -1) if lower else jnp.triu(x, 1)
    return given + _adjoint(inside)


def eigh_tridiagonal(d: ArrayLike, e: ArrayLike, *, eigvals_only: bool = False, select: str = "a",
                     select_range: tuple[int, int] | None = None, tol: float | None = None,
                     key: ArrayLike | None = None) -> Array | tuple[Array, Array]:
    """Eigenvalues, ascending, and eigenvectors of tridiagonal matrices, real symmetric or Hermitian.

    They are computed from the whole matrix, to the precision of its dtype.

    Args:
      d: [..., n], the diagonal; of complex numbers the real parts count.
      e: [..., n - 1], what is above the diagonal; its conjugate is below.
      eigvals_only: whether the eigenvalues alone are returned.
      select: "a" for all, "i" for those with an index in `select_range`; "v", by value, is not supported.
      select_range: for "i" the first and the last index.
      tol: has no effect: the eigenvalues have the precision of their dtype, which no tolerance asks more of.
      key: has no effect: nothing here starts at random.

    Returns:
      w [..., k], and v [..., n, k], eigenvectors in its columns; or w alone.

    Raises:
      ValueError: if select is unknown, or the range is not one of indices.
      NotImplementedError: for select="v".

    Example:
      >>> eigh_tridiagonal(jnp.array([2., 2., 2.]), jnp.array([-1., -1.]), eigvals_only=True)
      Array([0.58578646, 2.        , 3.4142137 ], dtype=float32)
    """
    if select not in ("a", "i", "v"):
        raise ValueError(f"eigh_tridiagonal: select must be 'a', 'i' or 'v', got {select!r}")
    if select == "v":
        raise NotImplementedError("eigh_tridiagonal: select='v' is not supported: how many values are in a range is not known when "
                                  "programs are compiled. Compute all eigenvalues and choose from them.")
    d, e = _promoted("eigh_tridiagonal", d, e)
    n = shape_of(d)[-1] if shape_of(d) else 0
    first, last = (0, n - 1) if select == "a" else (int(i) for i in select_range or (0, n - 1))
    if select == "i" and not 0 <= first <= last < n:
        raise ValueError(f"eigh_tridiagonal: select_range must be two indices from 0 to {n - 1}, ascending, got {select_range!r}")
    if not shape_of(e) or shape_of(e)[-1] != n - 1:
        raise ValueError(f"eigh_tridiagonal: d must be [..., n] and e [..., n - 1], got {get_aval(d).str_short()} and "
                         f"{get_aval(e).str_short()}")
    result = _eigh_tridiagonal(d, e, first=first, last=last, eigvals_only=bool(eigvals_only))
    return result[0] if eigvals_only else result


@fused(static_argnames=("first", "last", "eigvals_only"))
def _eigh_tridiagonal(d: ArrayLike, e: ArrayLike, first: int, last: int, eigvals_only: bool) -> tuple[Array, ...]:
    n = shape_of(d)[-1]
    matrix = jnp.eye(n, dtype=dtype_of(d)) * d[..., None]
    below = jnp.pad(jnp.conj(e)[..., None] * jnp.eye(n - 1, dtype=dtype_of(d)), [(0, 0)] * (len(shape_of(d)) - 1) + [(1, 0), (0, 1)])
    v, w = la.eigh(matrix + below, lower=True, symmetrize_input=False)
    w = w[..., first:last + 1]
    return (w,) if eigvals_only else (w, v[..., first:last + 1])


def svd(a: ArrayLike, full_matrices: bool = True, compute_uv: bool = True, overwrite_a: bool = False, check_finite: bool = True,
        lapack_driver: str = "gesdd") -> Any:
    """Singular value decomposition, a = U diag(s) Vh; see `numpy.linalg.svd`.

    Args:
      a: [..., m, n].
      full_matrices: whether U and V are square.
      compute_uv: whether U and Vh are returned beside the singular values.
      overwrite_a, check_finite, lapack_driver: have no effect.

    Returns:
      U [..., m, m], s of real[..., k], descending, and Vh [..., n, n] in a tuple; U [..., m, k] and Vh [..., k, n] without
      `full_matrices`, for k = min(m, n); or s alone.

    Example:
      >>> u, s, vh = svd(jnp.array([[3., 0.], [4., 5.]]))
      >>> s
      Array([6.708204, 2.236068], dtype=float32)
      >>> u @ jnp.diag(s) @ vh
      Array([[3., 0.],
             [4., 5.]], dtype=float32)
    """
    result = factorizations.svd(a, full_matrices=full_matrices, compute_uv=compute_uv)
    return tuple(result) if compute_uv else result


def schur(a: ArrayLike, output: str = "real") -> list[Any]:
    """Schur decomposition, a = Z T Z^H with unitary Z; on CPU only.

    Args:
      a: [..., n, n].
      output: "real": of a real a, T is real and has blocks of 2 by 2 for complex pairs of eigenvalues; "complex": T is
        complex and triangular.

    Returns:
      T and Z, [..., n, n].

    Raises:
      ValueError: if the output is unknown.

    Example:
      >>> t, z = schur(jnp.array([[2., 1.], [1., 2.]]))
      >>> jnp.sort(jnp.diag(t))
      Array([1., 3.], dtype=float32)
      >>> z @ t @ z.T
      Array([[2., 1.],
             [1., 2.]], dtype=float32)
    """
    if output not in ("real", "complex"):
        raise ValueError(f"schur: output must be 'real' or 'complex', got {output!r}")
    return _schur(a, output=output)


@fused(static_argnames=("output",))
def _schur(a: ArrayLike, output: str) -> tuple[Array, Array]:
    a = inexact("schur", a)
    return la.schur(convert(a, dtypes.to_complex_dtype(dtype_of(a))) if output == "complex" else a)


def hessenberg(a: ArrayLike, *, calc_q: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """Reduction to upper Hessenberg form, a = Q H Q^H with unitary Q; on CPU only.

    Args:
      a: [..., n, n].
      calc_q: whether Q is returned beside H.
      overwrite_a, check_finite: have no effect.

    Returns:
      H, or H and Q, [..., n, n].

    Example:
      >>> h, q = hessenberg(jnp.array([[1., 2., 3.], [4., 5., 6.], [7., 8., 9.]]), calc_q=True)
      >>> h[2, 0]
      Array(0., dtype=float32)
      >>> q @ h @ q.T
      Array([[1., 2., 3.],
             [4., 5., 6.],
             [7., 8., 9.]], dtype=float32)
    """
    result = _hessenberg(a, calc_q=bool(calc_q))
    return result if calc_q else result[0]


@fused(static_argnames=("calc_q",))
def _hessenberg(a: ArrayLike, calc_q: bool) -> tuple[Array, ...]:
    packed, taus = la.hessenberg(inexact("hessenberg", a))
    h = jnp.triu(packed, -1)
    if not calc_q:
        return (h,)
    n, batch = shape_of(h)[-1], shape_of(h)[:-2]
    if n < 2:
        return h, jnp.broadcast_to(jnp.eye(n, dtype=dtype_of(h)), h.shape)
    inner = la.householder_product(packed[..., 1:, :-1], taus)
    q = jnp.pad(inner, [(0, 0)] * len(batch) + [(1, 0), (1, 0)])
    return h, q.at[..., 0, 0].set(1)
