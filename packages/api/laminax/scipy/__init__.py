"""Parts of SciPy's interface on laminax's arrays. A table of contents: modules load on first use."""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {}, (
    "cluster", "fft", "integrate", "interpolate", "linalg", "ndimage", "optimize", "signal", "sparse", "spatial", "special",
    "stats"))
