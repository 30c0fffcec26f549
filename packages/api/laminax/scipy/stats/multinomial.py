"""The multinomial distribution: how often each of k outcomes, of probabilities p [..., k], occurs in n trials.

A table of contents: names load on first use.
"""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {"numerics.scipy.stats.multinomial": "logpmf pmf"})
