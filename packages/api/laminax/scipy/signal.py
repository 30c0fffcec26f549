"""Signal processing, as in `scipy.signal`. A table of contents: names load on first use."""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {
    "numerics.scipy.convolutions": "convolve convolve2d correlate correlate2d fftconvolve",
    "numerics.scipy.spectra": "csd detrend istft stft welch",
})
