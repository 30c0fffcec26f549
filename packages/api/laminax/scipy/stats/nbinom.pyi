# Written by tools/stubs.py.
"""The negative binomial distribution: failures before the n-th success of probability p. `loc` shifts it."""

from laminax._array import Array
from laminax.typing import ArrayLike

__all__: list[str]

def logpmf(k: ArrayLike, n: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Logarithm of the probability of a value of the negative binomial distribution, elementwise."""
def pmf(k: ArrayLike, n: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Probability of a value of the negative binomial distribution, elementwise."""
