# Written by tools/stubs.py.
"""The Poisson distribution of mean mu. `loc` shifts it."""

from laminax._array import Array
from laminax.typing import ArrayLike

__all__: list[str]

def cdf(k: ArrayLike, mu: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Distribution function of the Poisson distribution, elementwise."""
def entropy(mu: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Entropy of the Poisson distribution, in nats, elementwise."""
def logpmf(k: ArrayLike, mu: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Logarithm of the probability of a value of the Poisson distribution, elementwise."""
def pmf(k: ArrayLike, mu: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Probability of a value of the Poisson distribution, elementwise."""
