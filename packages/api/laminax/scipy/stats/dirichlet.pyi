# Written by tools/stubs.py.
"""The Dirichlet distribution of positive parameters alpha [n], on vectors of positive numbers that add up to 1."""

from laminax._array import Array
from laminax.typing import ArrayLike

__all__: list[str]

def logpdf(x: ArrayLike, alpha: ArrayLike) -> Array:
    """Logarithm of the density of the Dirichlet distribution."""
def pdf(x: ArrayLike, alpha: ArrayLike) -> Array:
    """Density of the Dirichlet distribution: the product of x**(alpha - 1), over the multivariate beta function of alpha."""
