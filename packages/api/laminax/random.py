"""Random numbers: a table of contents.

A key is made from a seed, split for each use, and handed to samplers, which are functions: the same key gives the
same numbers, on every platform and however the program is transformed or spread over devices.

  key = random.key(0)
  key, subkey = random.split(key)
  x = random.normal(subkey, (3,))
"""

from __future__ import annotations

from laminax._src.random.gamma import beta, chisquare, dirichlet, gamma, loggamma, t
from laminax._src.random.keys import (
    PRNGKey, clone, fold_in, key, key_data, key_dtype, key_impl, split, wrap_key_data,
)
from laminax._src.random.multivariate import multivariate_normal
from laminax._src.random.poisson import poisson
from laminax._src.random.samplers import (
    bernoulli, bits, cauchy, exponential, geometric, gumbel, laplace, logistic, lognormal, maxwell, normal, pareto, rademacher,
    randint, rayleigh, triangular, truncated_normal, uniform, weibull_min,
)
from laminax._src.random.selection import categorical, choice, permutation

__all__ = [
    "PRNGKey", "bernoulli", "beta", "bits", "categorical", "cauchy", "chisquare", "choice", "clone", "dirichlet",
    "exponential", "fold_in", "gamma", "geometric", "gumbel", "key", "key_data", "key_dtype", "key_impl", "laplace",
    "loggamma", "logistic", "lognormal", "maxwell", "multivariate_normal", "normal", "pareto", "permutation",
    "poisson", "rademacher", "randint", "rayleigh", "split", "t", "triangular", "truncated_normal", "uniform",
    "weibull_min", "wrap_key_data",
]
