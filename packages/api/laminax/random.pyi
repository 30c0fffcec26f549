# Written by tools/stubs.py.
"""Random numbers: a table of contents; a name's module is imported when the name is first used."""

from collections.abc import Sequence
from laminax._array import Array
from laminax._src.numerics.random.keys import PRNGSpec
from laminax.typing import ArrayLike, DTypeLike
from laminax_ir.types.dtypes import KeyDType
from typing import Any, NewType

__all__: list[str]

Key: NewType
def PRNGKey(seed: Any, *, impl: Any = None) -> Array:
    """Makes a raw random key from an integer: the words of `key(seed)`, uint32 of shape (2,), or (4,) for 'rbg'."""
def ball(
    key: ArrayLike,
    d: int,
    p: float = 2,
    shape: Sequence[int] = ...,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Uniform samples of the ball of radius 1 in the p-norm."""
def bernoulli(
    key: ArrayLike,
    p: ArrayLike = 0.5,
    shape: Sequence[int] | None = None,
    mode: str = 'low',
    *,
    out_sharding: Any = None,
) -> Array:
    """Booleans that are true with probability p."""
def beta(
    key: ArrayLike,
    a: ArrayLike,
    b: ArrayLike,
    shape: Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    *,
    method: str = 'exact',
    out_sharding: Any = None,
) -> Array:
    """Samples of the beta distribution, with density proportional to x**(a - 1) (1 - x)**(b - 1)."""
def binomial(key: ArrayLike, n: ArrayLike, p: ArrayLike, shape: Sequence[int] | None = None, dtype: DTypeLike | None = None) -> Array:
    """Samples of the binomial distribution: how many of n trials succeed, each with probability p."""
def bits(key: ArrayLike, shape: Sequence[int] = ..., dtype: DTypeLike | None = None, *, out_sharding: Any = None) -> Array:
    """Uniform random bits as unsigned integers."""
def categorical(
    key: ArrayLike,
    logits: ArrayLike,
    axis: int = -1,
    shape: Sequence[int] | None = None,
    replace: bool = True,
    mode: str | None = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Random categories, with the probabilities softmax(logits)."""
def cauchy(key: ArrayLike, shape: Sequence[int] = ..., dtype: DTypeLike | None = None, *, out_sharding: Any = None) -> Array:
    """Samples of the Cauchy distribution, with density 1 / (π (1 + x²))."""
def chisquare(
    key: ArrayLike,
    df: ArrayLike,
    shape: Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    *,
    method: str = 'exact',
    out_sharding: Any = None,
) -> Array:
    """Samples of the chi-square distribution, the sum of the squares of df standard normal samples."""
def choice(
    key: ArrayLike,
    a: Any,
    shape: Sequence[int] = ...,
    replace: bool = True,
    p: ArrayLike | None = None,
    axis: int = 0,
    mode: str | None = None,
) -> Array:
    """Random elements of an array."""
def clone(key: ArrayLike) -> Array:
    """The same key, for a deliberate second use of it."""
def dirichlet(
    key: ArrayLike,
    alpha: ArrayLike,
    shape: Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Samples of the Dirichlet distribution: non-negative vectors of sum 1."""
def double_sided_maxwell(
    key: ArrayLike,
    loc: ArrayLike,
    scale: ArrayLike,
    shape: Sequence[int] = ...,
    dtype: DTypeLike | None = None,
) -> Array:
    """Samples of the Maxwell distribution with a random sign, stretched by `scale` and shifted by `loc`."""
def exponential(key: ArrayLike, shape: Sequence[int] = ..., dtype: DTypeLike | None = None, *, out_sharding: Any = None) -> Array:
    """Samples of the exponential distribution, with density exp(-x)."""
def f(
    key: ArrayLike,
    dfnum: ArrayLike,
    dfden: ArrayLike,
    shape: Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Samples of the F distribution, the ratio of two chi-squared ones over their degrees of freedom."""
def fold_in(key: ArrayLike, data: ArrayLike) -> Array:
    """Makes a new key from a key and an integer, such as a step or a device number."""
def gamma(
    key: ArrayLike,
    a: ArrayLike,
    shape: Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    *,
    method: str = 'exact',
    out_sharding: Any = None,
) -> Array:
    """Samples of the gamma distribution, with density x**(a - 1) exp(-x) / Γ(a)."""
def generalized_normal(
    key: ArrayLike,
    p: float,
    shape: Sequence[int] = ...,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Samples of the generalised normal distribution, with density proportional to exp(-|x|**p)."""
def geometric(
    key: ArrayLike,
    p: ArrayLike,
    shape: Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Numbers of trials up to the first success, of probability p each."""
def gumbel(
    key: ArrayLike,
    shape: Sequence[int] = ...,
    dtype: DTypeLike | None = None,
    mode: str | None = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Samples of the Gumbel distribution, with density exp(-(x + exp(-x)))."""
def key(seed: Any, *, impl: Any = None, dtype: DTypeLike | None = None) -> Array:
    """Makes a random key from an integer."""
def key_data(keys: ArrayLike) -> Array:
    """The words of an array of keys: uint32 of shape `(*keys.shape, *key_shape)`; raw keys as they are."""
def key_dtype(impl_spec: Any = None) -> KeyDType:
    """The dtype of a generator's keys, `key<fry>` by default."""
def key_impl(keys: ArrayLike) -> str | PRNGSpec:
    """The name of the generator of an array of keys; for one that `extend.random.define_prng_impl` defined, what that returned."""
def laplace(key: ArrayLike, shape: Sequence[int] = ..., dtype: DTypeLike | None = None, *, out_sharding: Any = None) -> Array:
    """Samples of the Laplace distribution, with density exp(-|x|) / 2."""
def loggamma(
    key: ArrayLike,
    a: ArrayLike,
    shape: Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    *,
    method: str = 'exact',
    out_sharding: Any = None,
) -> Array:
    """Logarithms of samples of the gamma distribution, for small a, where the samples themselves would underflow."""
def logistic(key: ArrayLike, shape: Sequence[int] = ..., dtype: DTypeLike | None = None, *, out_sharding: Any = None) -> Array:
    """Samples of the logistic distribution, with density exp(-x) / (1 + exp(-x))²."""
def lognormal(
    key: ArrayLike,
    sigma: ArrayLike = ...,
    shape: Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Samples of exp(sigma * z), z standard normal."""
def maxwell(key: ArrayLike, shape: Sequence[int] = ..., dtype: DTypeLike | None = None, *, out_sharding: Any = None) -> Array:
    """Samples of the Maxwell distribution: lengths of vectors of three standard normal samples."""
def multinomial(
    key: ArrayLike,
    n: ArrayLike,
    p: ArrayLike,
    *,
    shape: Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    unroll: int | bool = 1,
) -> Array:
    """Samples of the multinomial distribution: how often each of several outcomes comes up in n trials."""
def multivariate_normal(
    key: ArrayLike,
    mean: ArrayLike,
    cov: ArrayLike,
    shape: Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    method: str = 'cholesky',
    *,
    out_sharding: Any = None,
) -> Array:
    """Samples of the normal distribution of vectors."""
def normal(key: ArrayLike, shape: Sequence[int] = ..., dtype: DTypeLike | None = None, *, out_sharding: Any = None) -> Array:
    """Samples of the standard normal distribution."""
def orthogonal(
    key: ArrayLike,
    n: int,
    shape: Sequence[int] = ...,
    dtype: DTypeLike | None = None,
    m: int | None = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Uniform samples of matrices with orthonormal rows or columns."""
def pareto(
    key: ArrayLike,
    b: ArrayLike,
    shape: Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Samples of the Pareto distribution, with density b / x**(b + 1) on x >= 1."""
def permutation(key: ArrayLike, x: Any, axis: int = 0, independent: bool = False, *, out_sharding: Any = None) -> Array:
    """A random permutation of a range or of an array along an axis."""
def poisson(
    key: ArrayLike,
    lam: ArrayLike,
    shape: Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    *,
    method: str = 'exact',
    out_sharding: Any = None,
) -> Array:
    """Samples of the Poisson distribution: counts of mean lam."""
def rademacher(key: ArrayLike, shape: Sequence[int] = ..., dtype: DTypeLike | None = None, *, out_sharding: Any = None) -> Array:
    """Samples that are -1 or 1 with equal probability, in an integer dtype by default."""
def randint(
    key: ArrayLike,
    shape: Sequence[int],
    minval: ArrayLike,
    maxval: ArrayLike,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Uniform integers in [minval, maxval)."""
def rayleigh(
    key: ArrayLike,
    scale: ArrayLike,
    shape: Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Samples of the Rayleigh distribution, with density x exp(-x²/2) for scale 1."""
def split(key: ArrayLike, num: int | Sequence[int] = 2) -> Array:
    """Makes new keys from one, independent of each other; the old one should not be used again."""
def t(
    key: ArrayLike,
    df: ArrayLike,
    shape: Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Samples of Student's t distribution."""
def triangular(
    key: ArrayLike,
    left: ArrayLike,
    mode: ArrayLike,
    right: ArrayLike,
    shape: Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Samples of the triangular distribution: the density rises from `left` to `mode` and falls to `right`."""
def truncated_normal(
    key: ArrayLike,
    lower: ArrayLike,
    upper: ArrayLike,
    shape: Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Samples of the standard normal distribution, restricted to an interval."""
def uniform(
    key: ArrayLike,
    shape: Sequence[int] = ...,
    dtype: DTypeLike | None = None,
    minval: ArrayLike = 0.0,
    maxval: ArrayLike = 1.0,
    *,
    out_sharding: Any = None,
) -> Array:
    """Uniform samples in [minval, maxval)."""
def wald(
    key: ArrayLike,
    mean: ArrayLike,
    shape: Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Samples of the Wald (inverse Gaussian) distribution of shape 1."""
def weibull_min(
    key: ArrayLike,
    scale: ArrayLike,
    concentration: ArrayLike,
    shape: Sequence[int] = ...,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Samples of the Weibull distribution: scale * E**(1/concentration), E exponential."""
def wrap_key_data(key_bits_array: ArrayLike, *, impl: Any = None, dtype: DTypeLike | None = None) -> Array:
    """The array of typed keys with these words."""
