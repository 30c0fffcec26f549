# Written by tools/stubs.py.
"""Clustering, as in `scipy.cluster`. A table of contents: modules load on first use."""

from laminax.scipy.cluster import vq as vq

__all__: list[str]

