"""Vector quantization, as in `scipy.cluster.vq`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from laminax_ir.types import dtypes
from laminax_ir.types.avals import get_aval

from laminax._src.numerics.floor import fused
from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.numpy.arguments import convert, ensure_arrays
from laminax._src.numerics.numpy.linalg import norms

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike


def vq(obs: ArrayLike, code_book: ArrayLike, check_finite: bool = True) -> tuple[Any, Any]:
    """The nearest code of each observation.

    Args:
      obs: [m, d], the observations; or [m] for one dimension.
      code_book: [n, d], the codes; or [n].
      check_finite: has no effect.

    Returns:
      The codes' indices, i32[m], and the distances, [m].

    Raises:
      ValueError: if the shapes do not fit.

    Example:
      >>> codes, distances = vq(jnp.array([[0., 1.], [5., 5.]]), jnp.array([[0., 0.], [5., 4.]]))
      >>> codes
      Array([0, 1], dtype=int32)
      >>> distances
      Array([1., 1.], dtype=float32)
    """
    return _vq(obs, code_book)


@fused
def _vq(obs: ArrayLike, code_book: ArrayLike) -> tuple[Array, Array]:
    obs, code_book = ensure_arrays("vq", obs, code_book)
    dtype = dtypes.to_inexact_dtype(dtypes.result_type(obs, code_book))
    obs, code_book = (jnp.asarray(convert(x, dtype)) for x in (obs, code_book))
    if obs.ndim != code_book.ndim or obs.ndim not in (1, 2) or obs.shape[1:] != code_book.shape[1:]:
        raise ValueError("vq: obs and code_book must be [m, d] and [n, d], or [m] and [n], got "
                         f"{get_aval(obs).str_short()} and {get_aval(code_book).str_short()}")
    if obs.ndim == 1:
        obs, code_book = obs[:, None], code_book[:, None]
    distances = norms.norm(obs[:, None, :] - code_book[None, :, :], axis=-1)
    return jnp.argmin(distances, axis=-1), jnp.min(distances, axis=-1)
