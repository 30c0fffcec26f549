# Written by tools/stubs.py.
"""Geometry, as in `scipy.spatial`. A table of contents: modules load on first use."""

from laminax.scipy.spatial import transform as transform

__all__: list[str]

