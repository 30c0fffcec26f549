"""The geometric distribution: the number of trials of probability p up to the first success. `loc` shifts it.

A table of contents: names load on first use.
"""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {"numerics.scipy.stats.geom": "logpmf pmf"})
