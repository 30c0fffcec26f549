# Written by tools/stubs.py.
"""Signal processing, as in `scipy.signal`. A table of contents: names load on first use."""

from collections.abc import Sequence
from laminax._array import Array
from laminax.typing import ArrayLike
from typing import Any

__all__: list[str]

def convolve(in1: ArrayLike, in2: ArrayLike, mode: str = 'full', method: str = 'auto', precision: Any = None) -> Array:
    """Convolution of two arrays of one rank."""
def convolve2d(
    in1: ArrayLike,
    in2: ArrayLike,
    mode: str = 'full',
    boundary: str = 'fill',
    fillvalue: float = 0,
    precision: Any = None,
) -> Array:
    """Convolution of two matrices; see `convolve`."""
def correlate(in1: ArrayLike, in2: ArrayLike, mode: str = 'full', method: str = 'auto', precision: Any = None) -> Array:
    """Cross-correlation of two arrays of one rank: convolution with the second one reversed and conjugated."""
def correlate2d(
    in1: ArrayLike,
    in2: ArrayLike,
    mode: str = 'full',
    boundary: str = 'fill',
    fillvalue: float = 0,
    precision: Any = None,
) -> Array:
    """Cross-correlation of two matrices; see `correlate`."""
def csd(
    x: ArrayLike,
    y: ArrayLike | None,
    fs: Any = 1.0,
    window: Any = 'hann',
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Any = 'constant',
    return_onesided: bool = True,
    scaling: str = 'density',
    axis: int = -1,
    average: str = 'mean',
) -> tuple[Any, Any]:
    """Cross power spectral density of two signals, by Welch's method."""
def detrend(data: ArrayLike, axis: int = -1, type: str = 'linear', bp: Any = 0, overwrite_data: None = None) -> Array:
    """The data with their linear trend, or their mean, subtracted."""
def fftconvolve(in1: ArrayLike, in2: ArrayLike, mode: str = 'full', axes: Sequence[int] | None = None) -> Array:
    """Convolution by Fourier transforms, which costs less for long arrays."""
def istft(
    Zxx: ArrayLike,
    fs: Any = 1.0,
    window: Any = 'hann',
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    input_onesided: bool = True,
    boundary: bool = True,
    time_axis: int = -1,
    freq_axis: int = -2,
) -> tuple[Any, Any]:
    """Inverse of `stft`: the signal whose segments have these spectra, in the least-squares sense."""
def stft(
    x: ArrayLike,
    fs: Any = 1.0,
    window: Any = 'hann',
    nperseg: int = 256,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Any = False,
    return_onesided: bool = True,
    boundary: str | None = 'zeros',
    padded: bool = True,
    axis: int = -1,
) -> tuple[Any, Any, Any]:
    """Short-time Fourier transform: the spectra of overlapping segments."""
def welch(
    x: ArrayLike,
    fs: Any = 1.0,
    window: Any = 'hann',
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Any = 'constant',
    return_onesided: bool = True,
    scaling: str = 'density',
    axis: int = -1,
    average: str = 'mean',
) -> tuple[Any, Any]:
    """Power spectral density of a signal along an axis, by Welch's method: the mean spectrum of overlapping segments."""
