"""Student's t distribution of `df` degrees of freedom, around `loc` and stretched by `scale`.

A table of contents: names load on first use.
"""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {"numerics.scipy.stats.t": "logpdf pdf"})
