# Written by tools/stubs.py.
"""The geometric distribution: the number of trials of probability p up to the first success. `loc` shifts it."""

from laminax._array import Array
from laminax.typing import ArrayLike

__all__: list[str]

def logpmf(k: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Logarithm of the probability of a value of the geometric distribution, elementwise."""
def pmf(k: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Probability of a value of the geometric distribution, elementwise."""
