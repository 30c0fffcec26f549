# Written by tools/stubs.py.
"""Interpolation on grids, as in `scipy.interpolate`. A table of contents: names load on first use."""

from laminax._src.numerics.scipy.interpolation import RegularGridInterpolator as RegularGridInterpolator

__all__: list[str]

