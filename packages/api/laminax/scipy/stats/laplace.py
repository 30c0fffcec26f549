"""The Laplace distribution around `loc`, of mean distance `scale`.

A table of contents: names load on first use.
"""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {"numerics.scipy.stats.laplace": "cdf logpdf pdf"})
