# Written by tools/stubs.py.
"""Probability distributions and statistics, as in `scipy.stats`. A table of contents: modules and names load on first use."""

from laminax._array import Array
from laminax._src.numerics.scipy.statistics import ModeResult
from laminax.typing import ArrayLike
from laminax._src.numerics.scipy.kde import gaussian_kde as gaussian_kde
from laminax.scipy.stats import bernoulli as bernoulli
from laminax.scipy.stats import beta as beta
from laminax.scipy.stats import betabinom as betabinom
from laminax.scipy.stats import binom as binom
from laminax.scipy.stats import cauchy as cauchy
from laminax.scipy.stats import chi2 as chi2
from laminax.scipy.stats import dirichlet as dirichlet
from laminax.scipy.stats import expon as expon
from laminax.scipy.stats import gamma as gamma
from laminax.scipy.stats import gennorm as gennorm
from laminax.scipy.stats import geom as geom
from laminax.scipy.stats import gumbel_l as gumbel_l
from laminax.scipy.stats import gumbel_r as gumbel_r
from laminax.scipy.stats import laplace as laplace
from laminax.scipy.stats import logistic as logistic
from laminax.scipy.stats import multinomial as multinomial
from laminax.scipy.stats import multivariate_normal as multivariate_normal
from laminax.scipy.stats import nbinom as nbinom
from laminax.scipy.stats import norm as norm
from laminax.scipy.stats import pareto as pareto
from laminax.scipy.stats import poisson as poisson
from laminax.scipy.stats import t as t
from laminax.scipy.stats import truncnorm as truncnorm
from laminax.scipy.stats import uniform as uniform
from laminax.scipy.stats import vonmises as vonmises
from laminax.scipy.stats import wrapcauchy as wrapcauchy

__all__: list[str]

def mode(a: ArrayLike, axis: int | None = 0, nan_policy: str = 'propagate', keepdims: bool = False) -> ModeResult:
    """The most frequent value along an axis, the least of them where several are."""
def rankdata(a: ArrayLike, method: str = 'average', *, axis: int | None = None, nan_policy: str = 'propagate') -> Array:
    """Ranks of the elements along an axis, from 1."""
def sem(a: ArrayLike, axis: int | None = 0, ddof: int = 1, nan_policy: str = 'propagate', *, keepdims: bool = False) -> Array:
    """Standard error of the mean along an axis: the standard deviation over the root of the number of elements."""
