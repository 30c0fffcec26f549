"""Discrete Fourier transforms, as in `numpy.fft`. A table of contents: names load on first use."""

from __future__ import annotations

import importlib

__all__ = [
    "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifft2", "ifftn", "ifftshift", "ihfft", "irfft", "irfft2",
    "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn",
]


def __getattr__(name: str):
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    importlib.import_module("laminax._src.setup")
    value = getattr(importlib.import_module("laminax._src.numpy.fft"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
