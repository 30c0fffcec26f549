"""Cosine transforms of type 2 and their inverses, by Fourier transforms of the reordered input, as in `scipy.fft`.

Source: J. Makhoul, "A Fast Cosine Transform in One and Two Dimensions", IEEE Trans. ASSP 28 (1980).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Sequence

import numpy as np

from laminax_ir.ops.elementwise import complex as complex_of
from laminax_ir.symbolic.symbolic_dims import known_size
from laminax_ir.types import dtypes
from laminax_ir.types.avals import get_aval

from laminax._src.numerics.floor import fused
from laminax._src.numerics.numpy import fft
from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.numpy.arguments import axis_tuple, inexact, one_axis, shape_of

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike


def dct(x: ArrayLike, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """Discrete cosine transform of type 2 along an axis.

    Args:
      x: an array; of complex numbers real and imaginary part are transformed.
      type: must be 2.
      n: the size to cut or pad the axis to; by default its own.
      axis: the axis.
      norm: None ("backward") for 2 sum x cos(...), or "ortho" for an orthonormal transform.

    Returns:
      An array of x's dtype, of floats if x is of integers.

    Raises:
      NotImplementedError: for another type or norm.
      ValueError: if the size is not positive.

    Example:
      >>> dct(jnp.array([1., 2., 3.]))
      Array([12.       , -3.4641016,  0.       ], dtype=float32)
    """
    return _transform("dct", x, type, n, axis, norm, _dct)


def idct(x: ArrayLike, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """Inverse of `dct`: the inverse of the transform of type 2 along an axis.

    Args:
      x: an array; of complex numbers real and imaginary part are transformed.
      type: must be 2.
      n: the size to cut or pad the axis to; by default its own.
      axis: the axis.
      norm: that of `dct`, None or "ortho".

    Returns:
      An array of x's dtype, of floats if x is of integers.

    Raises:
      NotImplementedError: for another type or norm.
      ValueError: if the size is not positive.

    Example:
      >>> idct(dct(jnp.array([1., 2., 3.])))
      Array([1., 2., 3.], dtype=float32)
    """
    return _transform("idct", x, type, n, axis, norm, _idct)


def dctn(x: ArrayLike, type: int = 2, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str | None = None) -> Array:
    """Discrete cosine transform of type 2 along several axes; see `dct`.

    Args:
      x: an array.
      type: must be 2.
      s: the sizes to cut or pad the axes to; by default their own.
      axes: the axes; by default all, or the last ones where sizes are given.
      norm: that of `dct`, None or "ortho".

    Returns:
      An array of x's dtype, of floats if x is of integers.

    Raises:
      NotImplementedError: for another type or norm.
      ValueError: if a size is not positive, or sizes and axes differ in number.

    Example:
      >>> dctn(jnp.array([[1., 2.], [3., 4.]]), norm="ortho")
      Array([[ 5., -1.],
             [-2.,  0.]], dtype=float32)
    """
    return _transforms("dctn", x, type, s, axes, norm, dct)


def idctn(x: ArrayLike, type: int = 2, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str | None = None) -> Array:
    """Inverse of `dctn`: the inverse of the transform of type 2 along several axes.

    Args:
      x: an array.
      type: must be 2.
      s: the sizes to cut or pad the axes to; by default their own.
      axes: the axes; by default all, or the last ones where sizes are given.
      norm: that of `dctn`, None or "ortho".

    Returns:
      An array of x's dtype, of floats if x is of integers.

    Raises:
      NotImplementedError: for another type or norm.
      ValueError: if a size is not positive, or sizes and axes differ in number.

    Example:
      >>> idctn(jnp.array([[5., -1.], [-2., 0.]]), norm="ortho")
      Array([[1., 2.],
             [3., 4.]], dtype=float32)
    """
    return _transforms("idctn", x, type, s, axes, norm, idct)


def _transform(name: str, x: Any, type: int, n: int | None, axis: int, norm: str | None, function: Callable) -> Array:
    if type != 2:
        raise NotImplementedError(f"{name}: only type=2 is supported, got {type!r}")
    if norm not in (None, "backward", "ortho"):
        raise NotImplementedError(f"{name}: norm must be None, 'backward' or 'ortho', got {norm!r}")
    x = inexact(name, x)
    axis = one_axis(name, axis, len(shape_of(x)))
    size = shape_of(x)[axis] if n is None else int(n)
    if size < 1:
        raise ValueError(f"{name}: the size of the transform must be positive, got {size}")
    if not dtypes.issubdtype(get_aval(x).dtype, dtypes.complexfloating):
        return function(x, n=size, axis=axis, ortho=norm == "ortho")
    return complex_of(*(function(part, n=size, axis=axis, ortho=norm == "ortho") for part in (jnp.real(x), jnp.imag(x))))


def _transforms(name: Any, x: Any, type: int, s: Any, axes: Any, norm: str | None, function: Callable) -> Array:
    rank = len(np.shape(x)) if isinstance(x, (list, tuple)) else len(shape_of(x))
    if s is not None and len(s) > rank:
        raise ValueError(f"{name}: s must have at most x.ndim ({rank}) elements, got {len(s)}: {tuple(s)}")
    if axes is None:
        axes = range(rank) if s is None else range(rank - len(s), rank)
    axes = axis_tuple(name, tuple(axes), rank)
    if s is not None and len(s) != len(axes):
        raise ValueError(f"{name}: s must have one size for each of the axes {axes}, got {tuple(s)}")
    for axis, size in zip(axes, s or [None] * len(axes)):
        x = function(x, type, size, axis, norm)
    return x


def _sized(x: Any, n: int, axis: int) -> Any:
    """The axis last, of size n."""
    x = jnp.moveaxis(jnp.asarray(x), axis, -1)[..., :n]
    return jnp.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, n - x.shape[-1])])


def _along_last(factors: np.ndarray, x: Any, dtype: Any) -> Any:
    """Factors of the elements along x's last axis, with as many axes as x."""
    return jnp.asarray(np.reshape(factors, (1,) * (x.ndim - 1) + (-1,)), dtype=dtype)


def _phases(n: int, sign: int, x: Any) -> Any:
    return _along_last(np.exp(sign * 0.5j * np.pi * np.arange(known_size("dct", n)) / n), x, dtypes.to_complex_dtype(x.dtype))


@fused(static_argnames=("n", "axis", "ortho"))
def _dct(x: ArrayLike, n: int, axis: int, ortho: bool) -> Array:
    x = _sized(x, n, axis)
    n = known_size("dct", n)
    order = np.concatenate([np.arange(0, n, 2), np.arange(1, n, 2)[::-1]])
    result = 2 * (fft.fft(x[..., order]) * _phases(n, -1, x)).real
    if ortho:
        result = result * _along_last(_ortho_factors(n), result, result.dtype)
    return jnp.moveaxis(result, -1, axis)


def _ortho_factors(n: int) -> np.ndarray:
    factors = np.full(n, math.sqrt(1 / (2 * n)))
    factors[0] = math.sqrt(1 / (4 * n))
    return factors


@fused(static_argnames=("n", "axis", "ortho"))
def _idct(x: ArrayLike, n: int, axis: int, ortho: bool) -> Array:
    x = _sized(x, n, axis)
    if ortho:
        x = x / _along_last(_ortho_factors(n), x, x.dtype)
    mirrored = jnp.concatenate([jnp.zeros_like(x[..., :1]), x[..., :0:-1]], axis=-1)
    phases = _phases(n, 1, x)
    both = fft.ifft(complex_of(*(part.astype(phases.real.dtype) for part in (x, -mirrored))) * phases / 2).real
    n = known_size("dct", n)
    order = np.concatenate([np.arange(0, n, 2), np.arange(1, n, 2)[::-1]])
    return jnp.moveaxis(both[..., np.argsort(order)], -1, axis).astype(x.dtype)
