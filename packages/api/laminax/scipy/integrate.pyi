# Written by tools/stubs.py.
"""Integrals of samples, as in `scipy.integrate`. A table of contents: names load on first use."""

from laminax.numpy import trapezoid as trapezoid

__all__: list[str]

