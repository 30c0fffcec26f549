# Written by tools/stubs.py.
"""The Bernoulli distribution: 1 with probability p, else 0. `loc` shifts it."""

from laminax._array import Array
from laminax.typing import ArrayLike

__all__: list[str]

def cdf(k: ArrayLike, p: ArrayLike) -> Array:
    """Distribution function of the Bernoulli distribution, elementwise."""
def logpmf(k: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Logarithm of the probability of a value of the Bernoulli distribution, elementwise."""
def pmf(k: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Probability of a value of the Bernoulli distribution, elementwise."""
def ppf(q: ArrayLike, p: ArrayLike) -> Array:
    """Quantile function, the inverse of the distribution function of the Bernoulli distribution, elementwise."""
