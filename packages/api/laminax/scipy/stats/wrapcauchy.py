"""The wrapped Cauchy distribution of angles from 0 to 2 pi, of concentration c between 0 and 1.

A table of contents: names load on first use.
"""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {"numerics.scipy.stats.wrapcauchy": "logpdf pdf"})
