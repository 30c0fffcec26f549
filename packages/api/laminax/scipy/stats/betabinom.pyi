# Written by tools/stubs.py.
"""The beta-binomial distribution: successes among n trials whose probability has the beta distribution. `loc` shifts it."""

from laminax._array import Array
from laminax.typing import ArrayLike

__all__: list[str]

def logpmf(k: ArrayLike, n: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Logarithm of the probability of a value of the beta-binomial distribution, elementwise."""
def pmf(k: ArrayLike, n: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Probability of a value of the beta-binomial distribution, elementwise."""
