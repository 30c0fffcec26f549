"""Random numbers: a table of contents; a name's module is imported when the name is first used.

A key is made from a seed, split for each use, and handed to samplers, which are functions: the same key gives the
same numbers, on every platform and however the program is transformed or spread over devices.

  key = random.key(0)
  key, subkey = random.split(key)
  x = random.normal(subkey, (3,))
"""

from __future__ import annotations

import importlib

_NAMES_OF = {
    "binomial": "binomial multinomial",
    "composed": "ball double_sided_maxwell f generalized_normal orthogonal wald",
    "gamma": "beta chisquare dirichlet gamma loggamma t",
    "keys": "PRNGKey clone fold_in key key_data key_dtype key_impl split wrap_key_data",
    "multivariate": "multivariate_normal",
    "poisson": "poisson",
    "samplers": "bernoulli bits cauchy exponential geometric gumbel laplace logistic lognormal maxwell normal pareto "
                "rademacher randint rayleigh triangular truncated_normal uniform weibull_min",
    "selection": "categorical choice permutation",
}
_MODULE_OF = {name: module for module, names in _NAMES_OF.items() for name in names.split()}

__all__ = sorted(_MODULE_OF)


def __getattr__(name: str):
    if (module := _MODULE_OF.get(name)) is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"laminax._src.random.{module}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
