# Written by tools/stubs.py.
"""Discrete Fourier transforms, as in `numpy.fft`. A table of contents: names load on first use."""

from collections.abc import Sequence
from laminax._array import Array
from laminax.typing import ArrayLike, DTypeLike
from typing import Any

__all__: list[str]

def fft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """Transform of one axis, to frequencies: sum_k a[k] exp(-2πi jk/n)."""
def fft2(a: ArrayLike, s: Sequence[int] | None = None, axes: Sequence[int] = ..., norm: str | None = None) -> Array:
    """Transform of two axes."""
def fftfreq(n: int, d: ArrayLike = 1.0, *, dtype: DTypeLike | None = None, device: Any = None) -> Array:
    """The frequencies of the elements that `fft` returns: 0, 1, ..., -2, -1 over n * d."""
def fftn(a: ArrayLike, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str | None = None) -> Array:
    """Transform of several axes."""
def fftshift(x: ArrayLike, axes: int | Sequence[int] | None = None) -> Array:
    """Moves frequency 0 to the middle of axes."""
def hfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """Transform of one axis of a signal with Hermitian symmetry, of which a is one half: its spectrum is real."""
def ifft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """Inverse transform of one axis: sum_k a[k] exp(2πi jk/n) / n."""
def ifft2(a: ArrayLike, s: Sequence[int] | None = None, axes: Sequence[int] = ..., norm: str | None = None) -> Array:
    """Inverse transform of two axes."""
def ifftn(a: ArrayLike, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str | None = None) -> Array:
    """Inverse transform of several axes."""
def ifftshift(x: ArrayLike, axes: int | Sequence[int] | None = None) -> Array:
    """Moves frequency 0 from the middle of axes to the front: the inverse of `fftshift`; parameters as there."""
def ihfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """Inverse of `hfft`."""
def irfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """Inverse of `rfft`."""
def irfft2(a: ArrayLike, s: Sequence[int] | None = None, axes: Sequence[int] = ..., norm: str | None = None) -> Array:
    """Inverse of `rfft2`."""
def irfftn(a: ArrayLike, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str | None = None) -> Array:
    """Inverse of `rfftn`."""
def rfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """Transform of one axis of a real array."""
def rfft2(a: ArrayLike, s: Sequence[int] | None = None, axes: Sequence[int] = ..., norm: str | None = None) -> Array:
    """Transform of two axes of a real array."""
def rfftfreq(n: int, d: ArrayLike = 1.0, *, dtype: DTypeLike | None = None, device: Any = None) -> Array:
    """The frequencies of the elements that `rfft` returns: 0, 1, ..., n // 2 over n * d; parameters as for `fftfreq`."""
def rfftn(a: ArrayLike, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str | None = None) -> Array:
    """Transform of several axes of a real array."""
