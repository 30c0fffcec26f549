"""laminax.scipy.signal against SciPy in float64."""

import numpy as np
import pytest
import scipy.signal

import laminax
from laminax.scipy import signal
from laminax.testing import check_grads

RNG = np.random.default_rng(0)
X, K = RNG.normal(size=12), RNG.normal(size=5)
IMAGE, FILTER = RNG.normal(size=(7, 6)), RNG.normal(size=(4, 3))
WAVE = np.sin(np.arange(300) * 0.3) + RNG.normal(size=300)


@pytest.fixture(autouse=True)
def double_precision():
    with laminax.enable_x64(True):
        yield


def close(got, expected):
    for x, y in zip(got if isinstance(got, tuple) else (got,), expected if isinstance(expected, tuple) else (expected,), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("a, b", [(X, K), (K, X), (X, K[:4] * 1j), (IMAGE, FILTER), (X, X)])
def test_convolution_and_correlation(mode, a, b):
    for method in ("auto", "direct", "fft"):
        close(signal.convolve(a, b, mode, method), scipy.signal.convolve(a, b, mode))
    close(signal.fftconvolve(a, b, mode), scipy.signal.fftconvolve(a, b, mode))
    close(signal.correlate(a, b, mode), scipy.signal.correlate(a, b, mode, method="fft"))


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_two_dimensions(mode):
    for kernel in (FILTER, FILTER[:3, :2], FILTER * 1j):
        close(signal.convolve2d(IMAGE, kernel, mode), scipy.signal.convolve2d(IMAGE, kernel, mode))
        close(signal.correlate2d(IMAGE, kernel, mode), scipy.signal.correlate2d(IMAGE, kernel, mode))
    close(signal.fftconvolve(IMAGE, FILTER[:1], mode, axes=1), scipy.signal.fftconvolve(IMAGE, FILTER[:1], mode, axes=1))


def test_integers_and_gradients():
    assert signal.convolve(np.arange(3), np.arange(2)).dtype == np.float64
    check_grads(lambda a, b: signal.convolve(a, b, "same"), (X, K), order=1)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("kind, bp", [("constant", 0), ("linear", 0), ("linear", [3, 5])])
def test_detrend(axis, kind, bp):
    close(signal.detrend(IMAGE, axis, kind, bp), scipy.signal.detrend(IMAGE, axis, kind, bp))


@pytest.mark.parametrize("options", [
    {}, {"nperseg": 32, "fs": 2.0}, {"nperseg": 32, "noverlap": 20, "window": "hamming"}, {"nperseg": 33, "nfft": 64},
    {"window": np.ones(20), "boundary": None}, {"nperseg": 16, "boundary": "odd", "padded": False}, {"nperseg": 16, "boundary": "even"},
    {"nperseg": 16, "boundary": "constant", "return_onesided": False, "detrend": "linear"}])
def test_short_time_transforms(options):
    if "window" in options and not isinstance(options["window"], str):
        options = {**options, "nperseg": 20}
    expected = scipy.signal.stft(WAVE, **options)
    close(signal.stft(WAVE, **options), expected)
    stacked = np.stack([WAVE, WAVE[::-1]], axis=1)
    close(signal.stft(stacked, axis=0, **options), scipy.signal.stft(stacked, axis=0, **options))
    if "detrend" not in options and options.get("boundary", "zeros") == "zeros":
        back = {k: v for k, v in options.items() if k not in ("boundary", "padded", "return_onesided")}
        times, wave = signal.istft(expected[2], **back)
        close((times, wave), scipy.signal.istft(expected[2], **back))
        close(wave[:300], WAVE)


@pytest.mark.parametrize("options", [
    {}, {"nperseg": 40, "fs": 3.0, "detrend": "linear"}, {"nperseg": 41, "average": "median", "detrend": False},
    {"nperseg": 40, "nfft": 64, "scaling": "spectrum"}, {"nperseg": 32, "return_onesided": False}])
def test_power_spectra(options):
    other = np.cos(np.arange(300) * 0.5) + RNG.normal(size=300)
    close(signal.welch(WAVE, **options), scipy.signal.welch(WAVE, **options))
    close(signal.csd(WAVE, other, **options), scipy.signal.csd(WAVE, other, **options))
    both = np.stack([WAVE, other], axis=1)
    close(signal.welch(both, axis=0, **options), scipy.signal.welch(both, axis=0, **options))


def test_complex_spectra_and_istft_axes():
    wave = WAVE + 1j * WAVE[::-1]
    f, t, z = signal.stft(wave, nperseg=32, return_onesided=False)
    close((f, t, z), scipy.signal.stft(wave, nperseg=32, return_onesided=False))
    close(signal.istft(z, input_onesided=False)[1][:300], wave)
    with laminax.numpy_dtype_promotion("strict"):
        close(signal.istft(z, input_onesided=False)[1][:300], wave)
    swapped = np.swapaxes(np.asarray(z), 0, 1)
    close(signal.istft(swapped, input_onesided=False, time_axis=0, freq_axis=1)[1][:300], wave)
    z = np.random.default_rng(0).normal(size=(7, 9, 5)) + 0j
    for axes in ((0, 1), (1, 0), (2, 0), (0, 2), (-2, -1)):  # the time takes the place of the two axes' first that is left
        options = dict(time_axis=axes[0], freq_axis=axes[1], nperseg=2 * (z.shape[axes[1]] - 1))
        close(signal.istft(z, **options), scipy.signal.istft(z, **options))


@pytest.mark.parametrize("scaling, average", [("density", "mean"), ("spectrum", "median")])
def test_nothing_is_promoted_that_the_caller_did_not_mix(scaling, average):
    x = np.stack([WAVE, WAVE[::-1]]).astype(np.float32)
    with laminax.numpy_dtype_promotion("strict"), laminax.numpy_rank_promotion("raise"):
        spectra = signal.csd(x, x[::-1], nperseg=32, scaling=scaling, average=average)[1]
        f, t, z = signal.stft(x, nperseg=32, detrend="linear")
        back = signal.istft(z, nperseg=32)[1]
    expected = scipy.signal.csd(x, x[::-1], nperseg=32, scaling=scaling, average=average)[1]
    np.testing.assert_allclose(spectra, expected, rtol=1e-3, atol=1e-5 * np.abs(expected).max())
    np.testing.assert_allclose(back, scipy.signal.istft(z, nperseg=32)[1], atol=1e-5)


def test_under_jit():
    got = laminax.jit(lambda x: signal.welch(x, nperseg=32)[1])(WAVE)
    close(got, scipy.signal.welch(WAVE, nperseg=32)[1])


@pytest.mark.parametrize("call, error, message", [
    (lambda: signal.convolve(X, IMAGE), ValueError, "convolve: in1 and in2 should have the same dimensionality"),
    (lambda: signal.convolve(X, K, "wide"), ValueError, "mode must be 'full', 'same' or 'valid', got 'wide'"),
    (lambda: signal.convolve(X, K, method="slow"), ValueError, "method must be 'auto', 'direct' or 'fft', got 'slow'"),
    (lambda: signal.convolve(IMAGE, np.ones((9, 2)), "valid"), ValueError, "one operand must be at least as long"),
    (lambda: signal.convolve(X, X[:0]), ValueError, "an empty array cannot be convolved"),
    (lambda: signal.convolve2d(IMAGE, FILTER, boundary="wrap"), NotImplementedError, "only boundary='fill'"),
    (lambda: signal.correlate2d(X, K), ValueError, "two-dimensional arrays are expected"),
    (lambda: signal.fftconvolve(IMAGE, FILTER, axes=0), ValueError, "sizes must be equal or 1"),
    (lambda: signal.detrend(X, type="cubic"), ValueError, "type must be 'linear' or 'constant', got 'cubic'"),
    (lambda: signal.detrend(X, bp=20), ValueError, "break points must be from 0 to 12"),
    (lambda: signal.stft(WAVE, boundary="mirror"), ValueError, "boundary must be one of"),
    (lambda: signal.stft(WAVE, nperseg=16, noverlap=16), ValueError, "noverlap from 0 to less than it, got 16 and 16"),
    (lambda: signal.stft(WAVE, window=np.ones(20), nperseg=30), ValueError, "nperseg is 30, and the window has 20"),
    (lambda: signal.welch(WAVE, nperseg=32, nfft=16), ValueError, "nfft must be at least nperseg, got 16 and 32"),
    (lambda: signal.csd(WAVE, WAVE, scaling="power"), ValueError, "scaling must be 'density' or 'spectrum', got 'power'"),
    (lambda: signal.csd(WAVE, WAVE, average="mode"), ValueError, "average must be 'mean' or 'median', got 'mode'"),
    (lambda: signal.istft(WAVE), ValueError, "at least two axes"),
])
def test_refusals(call, error, message):
    with pytest.raises(error, match=message):
        call()
