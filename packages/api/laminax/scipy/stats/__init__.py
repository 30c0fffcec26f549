"""Probability distributions and statistics, as in `scipy.stats`. A table of contents: modules and names load on first use."""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(
    __name__, {"numerics.scipy.statistics": "mode rankdata sem", "numerics.scipy.kde": "gaussian_kde"},
    ("bernoulli", "beta", "betabinom", "binom", "cauchy", "chi2", "dirichlet", "expon", "gamma", "gennorm", "geom", "gumbel_l",
     "gumbel_r", "laplace", "logistic", "multinomial", "multivariate_normal", "nbinom", "norm", "pareto", "poisson", "t",
     "truncnorm", "uniform", "vonmises", "wrapcauchy"))
