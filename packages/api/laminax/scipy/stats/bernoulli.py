"""The Bernoulli distribution: 1 with probability p, else 0. `loc` shifts it.

A table of contents: names load on first use.
"""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {"numerics.scipy.stats.bernoulli": "cdf logpmf pmf ppf"})
