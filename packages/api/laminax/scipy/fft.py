"""Cosine transforms, as in `scipy.fft`. A table of contents: names load on first use."""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {"numerics.scipy.cosine_transforms": "dct dctn idct idctn"})
