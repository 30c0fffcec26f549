"""The negative binomial distribution: failures before the n-th success of probability p. `loc` shifts it.

A table of contents: names load on first use.
"""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {"numerics.scipy.stats.nbinom": "logpmf pmf"})
