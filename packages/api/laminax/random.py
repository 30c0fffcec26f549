"""Random numbers: a table of contents; a name's module is imported when the name is first used.

A key is made from a seed, split for each use, and handed to samplers, which are functions: the same key gives the
same numbers, on every platform and however the program is transformed or spread over devices.

  key = random.key(0)
  key, subkey = random.split(key)
  x = random.normal(subkey, (3,))
"""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {
    "numerics.random.binomial": "binomial multinomial",
    "numerics.random.composed": "ball double_sided_maxwell f generalized_normal orthogonal wald",
    "numerics.random.gamma": "beta chisquare dirichlet gamma loggamma t",
    "numerics.random.keys": "Key PRNGKey clone fold_in key key_data key_dtype key_impl split wrap_key_data",
    "numerics.random.multivariate": "multivariate_normal",
    "numerics.random.poisson": "poisson",
    "numerics.random.parametric_samplers": "geometric lognormal pareto rayleigh triangular weibull_min",
    "numerics.random.samplers": """bernoulli bits cauchy exponential gumbel laplace logistic maxwell normal rademacher randint
        truncated_normal uniform""",
    "numerics.random.selection": "categorical choice permutation",
})
