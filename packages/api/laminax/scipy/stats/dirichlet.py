"""The Dirichlet distribution of positive parameters alpha [n], on vectors of positive numbers that add up to 1.

A table of contents: names load on first use.
"""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {"numerics.scipy.stats.dirichlet": "logpdf pdf"})
