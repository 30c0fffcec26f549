# Written by tools/stubs.py.
"""The multinomial distribution: how often each of k outcomes, of probabilities p [..., k], occurs in n trials."""

from laminax._array import Array
from laminax.typing import ArrayLike

__all__: list[str]

def logpmf(x: ArrayLike, n: ArrayLike, p: ArrayLike) -> Array:
    """Logarithm of the probability of counts of the multinomial distribution."""
def pmf(x: ArrayLike, n: ArrayLike, p: ArrayLike) -> Array:
    """Probability of counts of the multinomial distribution: n! times the product of p**x / x!."""
