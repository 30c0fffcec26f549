"""Spectra of signals by short Fourier transforms, as in `scipy.signal`."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from laminax_ir.ops.elementwise import complex as complex_of
from laminax_ir.types import dtypes
from laminax_ir.types.avals import get_aval

from laminax._src.numerics.floor import fused
from laminax._src.numerics.numpy import fft
from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.numpy.arguments import convert, ensure_arrays, inexact, one_axis, shape_of

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike

_BOUNDARIES = {"even": "reflect", "odd": "odd", "constant": "edge", "zeros": "constant", None: None}


def detrend(data: ArrayLike, axis: int = -1, type: str = "linear", bp: Any = 0, overwrite_data: None = None) -> Array:
    """The data with their linear trend, or their mean, subtracted.

    Args:
      data: an array.
      axis: the axis.
      type: "linear", or "constant" for the mean.
      bp: where a new trend begins: a static index, or a sequence of them.
      overwrite_data: must be None.

    Returns:
      A float or complex array of the data's shape.

    Raises:
      ValueError: if the type is unknown, or a break point is beyond the data.

    Example:
      >>> detrend(jnp.array([1., 2., 6.]))
      Array([ 0.5, -1. ,  0.5], dtype=float32)
    """
    if overwrite_data is not None:
        raise NotImplementedError(f"detrend: overwrite_data must be None, got {overwrite_data!r}")
    if type not in ("linear", "constant"):
        raise ValueError(f"detrend: type must be 'linear' or 'constant', got {type!r}")
    return _detrend(data, axis=operator.index(axis), type=type, bp=tuple(np.atleast_1d(bp).tolist()))


@fused(static_argnames=("axis", "type", "bp"))
def _detrend(data: ArrayLike, axis: int, type: str, bp: tuple[int, ...]) -> Array:
    data = jnp.asarray(inexact("detrend", data))
    if type == "constant":
        return data - jnp.mean(data, axis, keepdims=True)
    n = data.shape[axis]
    if any(not 0 <= b <= n for b in bp):
        raise ValueError(f"detrend: the break points must be from 0 to {n}, the size of axis {axis}; got {bp}")
    x = jnp.moveaxis(data, axis, 0)
    ends = sorted({0, n, *bp})
    parts = []
    for start, stop in zip(ends, ends[1:]):
        size = stop - start
        basis = np.stack([np.arange(1, size + 1) / size, np.ones(size)], axis=1)
        q = jnp.asarray(np.linalg.qr(basis)[0][:, :min(size, 2)], dtype=data.dtype)
        part = jnp.reshape(x[start:stop], (size, -1))
        rest = part - jnp.matmul(q, jnp.matmul(q.T, part, precision="highest"), precision="highest")
        parts.append(jnp.reshape(rest, (size, *x.shape[1:])))
    return jnp.moveaxis(jnp.concatenate(parts) if parts else x, 0, axis)


# --- windows and segments ---


def _window(name: str, window: Any, nperseg: int | None, length: int) -> tuple[np.ndarray, int]:
    """The window as numbers, and its size; a name is one that `scipy.signal.get_window` knows."""
    if isinstance(window, (str, tuple, float)):
        import scipy.signal
        nperseg = 256 if nperseg is None else nperseg
        nperseg = min(operator.index(nperseg), length)
        return scipy.signal.get_window(window, nperseg), nperseg
    values = np.asarray(window)
    if values.ndim != 1:
        raise ValueError(f"{name}: the window must be a vector, or a name, got shape {values.shape}")
    if length < len(values):
        raise ValueError(f"{name}: the window has {len(values)} elements, the signal only {length}")
    if nperseg is not None and operator.index(nperseg) != len(values):
        raise ValueError(f"{name}: nperseg is {nperseg}, and the window has {len(values)} elements")
    return values, len(values)


def _sizes(name: str, nperseg: int, noverlap: int | None, nfft: int | None) -> tuple[int, int]:
    noverlap = nperseg // 2 if noverlap is None else operator.index(noverlap)
    nfft = nperseg if nfft is None else operator.index(nfft)
    if nperseg < 1 or not 0 <= noverlap < nperseg:
        raise ValueError(f"{name}: nperseg must be positive and noverlap from 0 to less than it, got {nperseg} and {noverlap}")
    if nfft < nperseg:
        raise ValueError(f"{name}: nfft must be at least nperseg, got {nfft} and {nperseg}")
    return noverlap, nfft


def _extended(name: str, x: Any, boundary: str | None, size: int) -> Any:
    """The signal, in the last axis, with `size` more elements on both sides."""
    if boundary not in _BOUNDARIES:
        raise ValueError(f"{name}: boundary must be one of {list(_BOUNDARIES)}, got {boundary!r}")
    if boundary is None or not size:
        return x
    pad = [(0, 0)] * (x.ndim - 1) + [(size, size)]
    if boundary == "odd":
        left = 2 * x[..., :1] - jnp.flip(x[..., 1:size + 1], -1)
        right = 2 * x[..., -1:] - jnp.flip(x[..., -size - 1:-1], -1)
        return jnp.concatenate([left, x, right], axis=-1)
    return jnp.pad(x, pad, mode=_BOUNDARIES[boundary])


def _segments(x: Any, nperseg: int, step: int) -> Any:
    """[..., segments, nperseg]."""
    starts = np.arange(0, x.shape[-1] - nperseg + 1, step)
    return x[..., starts[:, None] + np.arange(nperseg)]


def _short_transforms(x: Array, window: ArrayLike, noverlap: int, nfft: int, detrend_type: bool | str, onesided: bool) -> Array:
    """The Fourier transforms [..., frequencies, segments] of windowed segments of x [..., n]."""
    segments = _segments(x, len(window), len(window) - noverlap)
    if detrend_type:
        segments = detrend_type(segments) if callable(detrend_type) else _detrend(segments, axis=-1, type=detrend_type, bp=(0,))
    windowed = segments * _along_axis(window, -1, segments, x.dtype)
    transform = fft.rfft(windowed, nfft) if onesided else fft.fft(windowed, nfft)
    return jnp.swapaxes(transform, -1, -2)


def _along_axis(factors: np.ndarray, axis: int, like: Any, dtype: Any) -> Any:
    """Factors of the elements along one of the last axes, with as many axes as `like` has."""
    shape = [1] * like.ndim
    shape[axis] = len(factors)
    return jnp.asarray(np.reshape(factors, shape), dtype=dtype)


def _frequencies(nfft: int, fs: Any, onesided: bool) -> Any:
    steps = np.fft.rfftfreq(nfft) if onesided else np.fft.fftfreq(nfft)
    return jnp.asarray(steps, dtype=dtypes.scalar_dtype(float)) * fs


def _checked_scaling(name: str, scaling: str) -> str:
    if scaling not in ("density", "spectrum"):
        raise ValueError(f"{name}: scaling must be 'density' or 'spectrum', got {scaling!r}")
    return scaling


def csd(x: ArrayLike, y: ArrayLike | None, fs: Any = 1.0, window: Any = "hann", nperseg: int | None = None, noverlap: int | None = None,
        nfft: int | None = None, detrend: Any = "constant", return_onesided: bool = True, scaling: str = "density", axis: int = -1,
        average: str = "mean") -> tuple[Any, Any]:
    """Cross power spectral density of two signals, by Welch's method.

    Args:
      x, y: signals along an axis; y may be None, which means x.
      fs: the sampling frequency.
      window: the name of a window, as `scipy.signal.get_window` takes it, or its values.
      nperseg: the size of the segments; by default 256 or the window's size.
      noverlap: how much they overlap; by default by half.
      nfft: the size of the transforms, if segments are to be padded with zeros.
      detrend: what is subtracted from each segment: "constant", "linear", False for nothing, or a function of segments.
      return_onesided: of real signals, whether frequencies are not negative only.
      scaling: "density", per unit of frequency, or "spectrum".
      axis: the axis.
      average: "mean" or "median" over the segments.

    Returns:
      The frequencies, and the spectrum along the axis.

    Raises:
      ValueError: if sizes do not fit, or a name is unknown.

    Example:
      >>> x, y = jnp.array([1., 0., -1., 0.] * 2), jnp.array([0., 1., 0., -1.] * 2)
      >>> frequencies, spectrum = csd(x, y, window="boxcar", nperseg=8, detrend=False, scaling="spectrum")
      >>> frequencies
      Array([0.   , 0.125, 0.25 , 0.375, 0.5  ], dtype=float32)
      >>> spectrum  # y is x a quarter of a period later
      Array([0.+0.j , 0.+0.j , 0.-0.5j, 0.+0.j , 0.+0.j ], dtype=complex64)
    """
    _checked_scaling("csd", scaling)
    if average not in ("mean", "median"):
        raise ValueError(f"csd: average must be 'mean' or 'median', got {average!r}")
    x, y = (inexact("csd", v) for v in ensure_arrays("csd", x, x if y is None else y))
    dtype = dtypes.result_type(x, y)
    x, y = (jnp.moveaxis(jnp.asarray(convert(v, dtype)), axis, -1) for v in (x, y))
    length = max(x.shape[-1], y.shape[-1])
    x, y = (jnp.pad(v, [(0, 0)] * (v.ndim - 1) + [(0, length - v.shape[-1])]) for v in (x, y))
    window, nperseg = _window("csd", window, nperseg, length)
    noverlap, nfft = _sizes("csd", nperseg, noverlap, nfft)
    onesided = return_onesided and not dtypes.issubdtype(dtype, dtypes.complexfloating)
    first = _short_transforms(x, window, noverlap, nfft, detrend, onesided)
    second = _short_transforms(y, window, noverlap, nfft, detrend, onesided)
    power = jnp.conj(first) * second
    if scaling == "density":
        power = power / (fs * np.sum(window * window).item())
    else:
        power = power / np.sum(window).item() ** 2
    if onesided:
        doubled = np.full(power.shape[-2], 2.0)
        doubled[0] = 1
        if nfft % 2 == 0:
            doubled[-1] = 1
        power = power * _along_axis(doubled, -2, power, power.dtype)
    count = power.shape[-1]
    if average == "mean":
        result = jnp.mean(power, axis=-1)
    else:  # the median of a chi-squared variable is less than its mean, by this factor in the limit of many segments
        odd = 2 * np.arange(1.0, (count - 1) // 2 + 1)
        bias = 1 + np.sum(1 / (odd + 1) - 1 / odd).item()
        result = complex_of(jnp.median(power.real, axis=-1), jnp.median(power.imag, axis=-1)) / bias
    return _frequencies(nfft, fs, onesided), jnp.moveaxis(result, -1, axis)


def welch(x: ArrayLike, fs: Any = 1.0, window: Any = "hann", nperseg: int | None = None, noverlap: int | None = None,
          nfft: int | None = None, detrend: Any = "constant", return_onesided: bool = True, scaling: str = "density", axis: int = -1,
          average: str = "mean") -> tuple[Any, Any]:
    """Power spectral density of a signal along an axis, by Welch's method: the mean spectrum of overlapping segments.

    Args:
      x: a signal along an axis.
      fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, axis, average: as for `csd`.

    Returns:
      The frequencies, and the spectrum along the axis, real.

    Raises:
      ValueError: if sizes do not fit, or a name is unknown.

    Example:
      >>> frequencies, power = welch(jnp.array([1., 0., -1., 0.] * 4), window="boxcar", nperseg=8, scaling="spectrum")
      >>> frequencies
      Array([0.   , 0.125, 0.25 , 0.375, 0.5  ], dtype=float32)
      >>> power  # half the square of the amplitude, at a quarter of the sampling frequency
      Array([0. , 0. , 0.5, 0. , 0. ], dtype=float32)

    Source: P. Welch, "The use of fast Fourier transform for the estimation of power spectra", IEEE Trans. Audio Electroacoust. 15 (1967).
    """
    frequencies, power = csd(x, None, fs=fs, window=window, nperseg=nperseg, noverlap=noverlap, nfft=nfft, detrend=detrend,
                             return_onesided=return_onesided, scaling=scaling, axis=axis, average=average)
    return frequencies, power.real


def stft(x: ArrayLike, fs: Any = 1.0, window: Any = "hann", nperseg: int = 256, noverlap: int | None = None, nfft: int | None = None,
         detrend: Any = False, return_onesided: bool = True, boundary: str | None = "zeros", padded: bool = True, axis: int = -1) \
        -> tuple[Any, Any, Any]:
    """Short-time Fourier transform: the spectra of overlapping segments.

    Args:
      x: a signal along an axis.
      fs, window, nperseg, noverlap, nfft, detrend, return_onesided: see `csd`.
      boundary: how the signal is extended by half a segment on both sides: "even", "odd", "constant", "zeros", or None.
      padded: whether the signal is padded with zeros to whole segments.
      axis: the axis.

    Returns:
      The frequencies, the times of the segments, and their spectra: the axis is that of the frequencies, the last one
      that of the times.

    Raises:
      ValueError: if sizes do not fit, or a name is unknown.

    Example:
      >>> frequencies, times, spectra = stft(jnp.array([1., 0., -1., 0.]), window="boxcar", nperseg=4, noverlap=0, boundary=None)
      >>> frequencies
      Array([0.  , 0.25, 0.5 ], dtype=float32)
      >>> spectra
      Array([[0. +0.j],
             [0.5+0.j],
             [0. +0.j]], dtype=complex64)
    """
    x = inexact("stft", x)
    x = jnp.moveaxis(jnp.asarray(x), axis, -1)
    window, nperseg = _window("stft", window, nperseg, x.shape[-1])
    noverlap, nfft = _sizes("stft", nperseg, noverlap, nfft)
    step = nperseg - noverlap
    x = _extended("stft", x, boundary, nperseg // 2)
    if padded:
        missing = -(x.shape[-1] - nperseg) % step % nperseg
        x = jnp.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, missing)])
    onesided = return_onesided and not dtypes.issubdtype(x.dtype, dtypes.complexfloating)
    spectra = _short_transforms(x, window, noverlap, nfft, detrend, onesided) / np.sum(window).item()
    times = np.arange(nperseg / 2, x.shape[-1] - nperseg / 2 + 1, step)
    times = jnp.asarray(times - (nperseg / 2 if boundary is not None else 0), dtype=dtypes.scalar_dtype(float)) / fs
    if axis < 0:
        axis -= 1
    return _frequencies(nfft, fs, onesided), times, jnp.moveaxis(spectra, -2, axis)


def istft(Zxx: ArrayLike, fs: Any = 1.0, window: Any = "hann", nperseg: int | None = None, noverlap: int | None = None,
          nfft: int | None = None,
          input_onesided: bool = True, boundary: bool = True, time_axis: int = -1, freq_axis: int = -2) -> tuple[Any, Any]:
    """Inverse of `stft`: the signal whose segments have these spectra, in the least-squares sense.

    Args:
      Zxx: the spectra.
      fs, window, nperseg, noverlap, nfft: as of `stft`; `nperseg` is by default what the spectra's size says.
      input_onesided: whether the frequencies are not negative only, and the signal is real.
      boundary: whether half a segment is cut off on both sides.
      time_axis, freq_axis: the axes of the spectra.

    Returns:
      The times, as many as the signal's first axis is long, which is SciPy's way, and the signal: the axes of the spectra are gone,
      that of the signal is where `time_axis` was.

    Raises:
      ValueError: if sizes do not fit.

    Example:
      >>> _, _, spectra = stft(jnp.array([1., 2., 3., 4.]), nperseg=2)
      >>> _, signal = istft(spectra, nperseg=2)
      >>> signal
      Array([1., 2., 3., 4.], dtype=float32)
    """
    (Zxx,) = ensure_arrays("istft", Zxx)
    rank = len(shape_of(Zxx))
    if rank < 2:
        raise ValueError(f"istft: the spectra must have at least two axes, got {get_aval(Zxx).str_short()}")
    time_axis, freq_axis = (one_axis("istft", a, rank) for a in (time_axis, freq_axis))
    if time_axis == freq_axis:
        raise ValueError(f"istft: time_axis and freq_axis must differ, got {time_axis} for both")
    Z = jnp.moveaxis(jnp.asarray(convert(Zxx, dtypes.to_complex_dtype(get_aval(Zxx).dtype))), (freq_axis, time_axis), (-2, -1))
    available = 2 * (Z.shape[-2] - 1) if input_onesided else Z.shape[-2]
    if nperseg is None:
        nperseg = available if isinstance(window, (str, tuple, float)) else len(np.asarray(window))
    nperseg = operator.index(nperseg)
    if nfft is None:
        nfft = nperseg if input_onesided and nperseg == available + 1 else available
    noverlap, nfft = _sizes("istft", nperseg, noverlap, nfft)
    window, _ = _window("istft", window, nperseg, nperseg)
    step, count = nperseg - noverlap, Z.shape[-1]
    segments = fft.irfft(Z, nfft, axis=-2) if input_onesided else fft.ifft(Z, nfft, axis=-2)
    segments = segments[..., :nperseg, :] * _along_axis(window * np.sum(window), -2, segments, segments.dtype)
    length = nperseg + (count - 1) * step
    places = np.arange(count)[None, :] * step + np.arange(nperseg)[:, None]
    x = jnp.zeros((*segments.shape[:-2], length), segments.dtype).at[..., places].add(segments)
    norm = np.zeros(length)
    np.add.at(norm, places, np.broadcast_to((window ** 2)[:, None], places.shape))
    if boundary:
        cut = slice(nperseg // 2, length - nperseg // 2)
        x, norm = x[..., cut], norm[cut]
    x = x / _along_axis(np.where(norm > 1e-10, norm, 1), -1, x, x.dtype)
    real = dtypes.scalar_dtype(float)
    x = jnp.moveaxis(x, -1, time_axis - (freq_axis < time_axis))
    times = jnp.arange(x.shape[0], dtype=real) / jnp.asarray(fs, dtype=real)  # of the first axis, as SciPy and JAX have it
    return times, x
