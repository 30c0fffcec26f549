"""Convolution and correlation of arrays of any rank, directly and by Fourier transforms, as in `scipy.signal`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Sequence

import numpy as np

from laminax_ir.ops.convolution import conv_general_dilated
from laminax_ir.types import dtypes
from laminax_ir.types.avals import get_aval

from laminax._src.numerics.floor import fused
from laminax._src.numerics.numpy import fft
from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.numpy.arguments import axis_tuple, convert, ensure_arrays, shape_of

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike

_MODES = ("full", "same", "valid")


def _check_mode(name: str, mode: str) -> None:
    if mode not in _MODES:
        raise ValueError(f"{name}: mode must be 'full', 'same' or 'valid', got {mode!r}")


def _operands(name: str, in1: Any, in2: Any) -> list[Any]:
    in1, in2 = ensure_arrays(name, in1, in2)
    if len(shape_of(in1)) != len(shape_of(in2)):
        raise ValueError(f"{name}: in1 and in2 should have the same dimensionality, got {get_aval(in1).str_short()} and "
                         f"{get_aval(in2).str_short()}")
    dtype = dtypes.to_inexact_dtype(dtypes.result_type(in1, in2))
    return [jnp.asarray(convert(x, dtype)) for x in (in1, in2)]


def _longer_first(name: str, in1: Any, in2: Any, axes: Sequence[int]) -> list[Any]:
    """For mode "valid": one operand must be at least as long as the other along every axis."""
    pairs = [(in1.shape[i], in2.shape[i]) for i in axes]
    if all(n >= k for n, k in pairs):
        return [in1, in2]
    if all(n <= k for n, k in pairs):
        return [in2, in1]
    raise ValueError(f"{name}: for mode='valid' one operand must be at least as long as the other along every axis, got {in1.shape} and "
                     f"{in2.shape}")


def convolve(in1: ArrayLike, in2: ArrayLike, mode: str = "full", method: str = "auto", precision: Any = None) -> Array:
    """Convolution of two arrays of one rank.

    Args:
      in1: [n, ...].
      in2: [k, ...].
      mode: "full": of n + k - 1 elements along each axis; "same": of n, the central ones; "valid": those that no zeros
        beyond the borders enter.
      method: "direct" (as "auto"), or "fft".
      precision: of the products of the direct method.

    Returns:
      A float or complex array.

    Raises:
      ValueError: if the ranks differ, or the mode or method is unknown.

    Example:
      >>> convolve(jnp.array([1., 2., 3.]), jnp.array([0., 1., 0.5]))
      Array([0. , 1. , 2.5, 4. , 1.5], dtype=float32)
    """
    return _convolve_checked("convolve", in1, in2, mode, method, precision)


def correlate(in1: ArrayLike, in2: ArrayLike, mode: str = "full", method: str = "auto", precision: Any = None) -> Array:
    """Cross-correlation of two arrays of one rank: convolution with the second one reversed and conjugated.

    Args:
      in1, in2, mode, method, precision: as for `convolve`.

    Returns:
      A float or complex array.

    Raises:
      ValueError: if the ranks differ, or the mode or method is unknown.

    Example:
      >>> correlate(jnp.array([1., 2., 3.]), jnp.array([0., 1., 0.5]), mode="same")
      Array([2. , 3.5, 3. ], dtype=float32)
    """
    in1, in2 = _operands("correlate", in1, in2)
    return _convolve_checked("correlate", in1, jnp.flip(jnp.conj(in2)), mode, method, precision)


def _convolve_checked(name: str, in1: Any, in2: Any, mode: str, method: str, precision: Any) -> Array:
    if method not in ("auto", "direct", "fft"):
        raise ValueError(f"{name}: method must be 'auto', 'direct' or 'fft', got {method!r}")
    if method == "fft":
        return fftconvolve(in1, in2, mode)
    return _convolve_directly(in1, in2, name=name, mode=mode, precision=precision)


@fused(static_argnames=("name", "mode", "precision"))
def _convolve_directly(in1: ArrayLike, in2: ArrayLike, name: str, mode: str, precision: Any) -> Array:
    _check_mode(name, mode)
    in1, in2 = _operands(name, in1, in2)
    if not in1.size or not in2.size:
        raise ValueError(f"{name}: an empty array cannot be convolved, got {in1.shape} and {in2.shape}")
    if not in1.shape:
        return in1 * in2
    if mode == "valid":
        in1, in2 = _longer_first(name, in1, in2, range(in1.ndim))
    before = {"full": lambda k: k - 1, "same": lambda k: k - 1 - (k - 1) // 2, "valid": lambda k: 0}[mode]
    after = {"full": lambda k: k - 1, "same": lambda k: (k - 1) // 2, "valid": lambda k: 0}[mode]
    result = conv_general_dilated(in1[None, None], jnp.flip(in2)[None, None], (1,) * in1.ndim,
                                  [(before(k), after(k)) for k in in2.shape], precision=precision)
    return result[0, 0]


def _check_2d(name: str, operands: Sequence[Any], boundary: str, fillvalue: Any) -> None:
    in1, in2 = operands
    if boundary != "fill" or fillvalue != 0:
        raise NotImplementedError(f"{name}: only boundary='fill' and fillvalue=0 are supported, got {boundary=} and {fillvalue=}. Pad the "
                                  "array with numpy.pad.")
    if len(np.shape(in1)) != 2 or len(np.shape(in2)) != 2:
        raise ValueError(f"{name}: two-dimensional arrays are expected, got {get_aval(in1).str_short()} and {get_aval(in2).str_short()}")


def convolve2d(in1: ArrayLike, in2: ArrayLike, mode: str = "full", boundary: str = "fill", fillvalue: float = 0,
               precision: Any = None) -> Array:
    """Convolution of two matrices; see `convolve`.

    Args:
      in1: [m, n].
      in2: [k, l].
      mode, precision: as for `convolve`.
      boundary: must be "fill".
      fillvalue: must be 0.

    Returns:
      A float or complex matrix, [m + k - 1, n + l - 1] for the mode "full".

    Raises:
      ValueError: if an argument is no matrix, or the mode is unknown.
      NotImplementedError: for another boundary or value.

    Example:
      >>> convolve2d(jnp.array([[1., 2.], [3., 4.]]), jnp.array([[1., 1.]]))
      Array([[1., 3., 2.],
             [3., 7., 4.]], dtype=float32)
    """
    _check_2d("convolve2d", ensure_arrays("convolve2d", in1, in2), boundary, fillvalue)
    return _convolve_directly(in1, in2, name="convolve2d", mode=mode, precision=precision)


def correlate2d(in1: ArrayLike, in2: ArrayLike, mode: str = "full", boundary: str = "fill", fillvalue: float = 0,
                precision: Any = None) -> Array:
    """Cross-correlation of two matrices; see `correlate`.

    Args:
      in1: [m, n].
      in2: [k, l].
      mode, precision: as for `convolve`.
      boundary: must be "fill".
      fillvalue: must be 0.

    Returns:
      A float or complex matrix, [m + k - 1, n + l - 1] for the mode "full".

    Raises:
      ValueError: if an argument is no matrix, or the mode is unknown.
      NotImplementedError: for another boundary or value.

    Example:
      >>> correlate2d(jnp.array([[1., 2.], [3., 4.]]), jnp.array([[1., 10.]]))
      Array([[10., 21.,  2.],
             [30., 43.,  4.]], dtype=float32)
    """
    _check_2d("correlate2d", ensure_arrays("correlate2d", in1, in2), boundary, fillvalue)
    _check_mode("correlate2d", mode)
    return _correlate2d(in1, in2, mode=mode, precision=precision)


@fused(static_argnames=("mode", "precision"))
def _correlate2d(in1: ArrayLike, in2: ArrayLike, mode: str, precision: Any) -> Array:
    """In mode "same", matrices of even size have two middle elements: `correlate` takes one as the centre, this function the other."""
    in1, in2 = _operands("correlate2d", in1, in2)
    if mode != "same":
        return _convolve_directly(in1, jnp.flip(jnp.conj(in2)), name="correlate2d", mode=mode, precision=precision)
    full = _convolve_directly(in1, jnp.flip(jnp.conj(in2)), name="correlate2d", mode="full", precision=precision)
    return full[tuple(slice(k // 2, k // 2 + n) for n, k in zip(in1.shape, in2.shape))]


def fftconvolve(in1: ArrayLike, in2: ArrayLike, mode: str = "full", axes: Sequence[int] | None = None) -> Array:
    """Convolution by Fourier transforms, which costs less for long arrays.

    Args:
      in1, in2: arrays of one rank.
      mode: see `convolve`.
      axes: along which axes to convolve; by default all. Along the others, sizes are equal or 1.

    Returns:
      A float or complex array.

    Raises:
      ValueError: if the ranks differ, the mode is unknown, or the other axes do not fit.

    Example:
      >>> fftconvolve(jnp.array([1., 2., 3.]), jnp.array([0., 1., 0.5]), mode="valid")
      Array([2.5], dtype=float32)
    """
    return _fftconvolve(in1, in2, mode=mode, axes=None if axes is None else tuple(np.atleast_1d(axes).tolist()))


@fused(static_argnames=("mode", "axes"))
def _fftconvolve(in1: ArrayLike, in2: ArrayLike, mode: str, axes: tuple[int, ...] | None) -> Array:
    _check_mode("fftconvolve", mode)
    in1, in2 = _operands("fftconvolve", in1, in2)
    axes = axis_tuple("fftconvolve", axes, in1.ndim)
    for i in set(range(in1.ndim)) - set(axes):
        if in1.shape[i] != in2.shape[i] and 1 not in (in1.shape[i], in2.shape[i]):
            raise ValueError(f"fftconvolve: along axes that are not convolved, sizes must be equal or 1, got {in1.shape} and {in2.shape} "
                             f"with axes {axes}")
    if not in1.size or not in2.size:
        raise ValueError(f"fftconvolve: an empty array cannot be convolved, got {in1.shape} and {in2.shape}")
    if mode == "valid":
        in1, in2 = _longer_first("fftconvolve", in1, in2, axes)
    if not axes:
        return in1 * in2
    lengths = [in1.shape[i] + in2.shape[i] - 1 for i in axes]
    if dtypes.issubdtype(in1.dtype, dtypes.complexfloating):
        full = fft.ifftn(fft.fftn(in1, lengths, axes) * fft.fftn(in2, lengths, axes), lengths, axes)
    else:
        full = fft.irfftn(fft.rfftn(in1, lengths, axes) * fft.rfftn(in2, lengths, axes), lengths, axes)
    if mode == "full":
        return full
    index = [slice(None)] * full.ndim
    for i in axes:
        n, k = in1.shape[i], in2.shape[i]
        size = n if mode == "same" else n - k + 1
        start = (full.shape[i] - size) // 2
        index[i] = slice(start, start + size)
    return full[tuple(index)]
