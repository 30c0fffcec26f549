"""The generalised normal distribution, of density proportional to exp(-|x|**beta).

A table of contents: names load on first use.
"""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {"numerics.scipy.stats.gennorm": "cdf logpdf pdf"})
