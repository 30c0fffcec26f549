# Written by tools/stubs.py.
"""The normal distribution of vectors."""

from laminax._array import Array
from laminax.typing import ArrayLike
from typing import Any

__all__: list[str]

def logpdf(x: ArrayLike, mean: ArrayLike, cov: ArrayLike, allow_singular: None = None) -> Any:
    """Logarithm of the density of the multivariate normal distribution."""
def pdf(x: ArrayLike, mean: ArrayLike, cov: ArrayLike) -> Array:
    """Density of the multivariate normal distribution."""
