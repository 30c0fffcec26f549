"""Minimization, as in `scipy.optimize`. A table of contents: names load on first use."""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {"numerics.scipy.bfgs": "OptimizeResults", "numerics.scipy.minimization": "minimize"})
