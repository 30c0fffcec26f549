# Written by tools/stubs.py.
"""Parts of SciPy's interface on laminax's arrays. A table of contents: modules load on first use."""

from laminax.scipy import cluster as cluster
from laminax.scipy import fft as fft
from laminax.scipy import integrate as integrate
from laminax.scipy import interpolate as interpolate
from laminax.scipy import linalg as linalg
from laminax.scipy import ndimage as ndimage
from laminax.scipy import optimize as optimize
from laminax.scipy import signal as signal
from laminax.scipy import sparse as sparse
from laminax.scipy import spatial as spatial
from laminax.scipy import special as special
from laminax.scipy import stats as stats

__all__: list[str]

