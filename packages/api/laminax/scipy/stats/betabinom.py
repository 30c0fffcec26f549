"""The beta-binomial distribution: successes among n trials whose probability has the beta distribution. `loc` shifts it.

A table of contents: names load on first use.
"""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {"numerics.scipy.stats.betabinom": "logpmf pmf"})
