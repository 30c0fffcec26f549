# Written by tools/stubs.py.
"""Special functions, as in `scipy.special`. A table of contents: names load on first use."""

from laminax._array import Array
from laminax.typing import ArrayLike
from typing import Any
from laminax.nn import logsumexp as logsumexp

__all__: list[str]

def bernoulli(n: int) -> Array:
    """The numbers of Bernoulli B_0 to B_n, with B_1 = -1/2."""
def bessel_jn(z: ArrayLike, *, v: int, n_iter: int = 50) -> Array:
    """Bessel functions of the first kind of the orders 0 to v."""
def beta(a: ArrayLike, b: ArrayLike) -> Array:
    """Beta function, gamma(a) gamma(b) / gamma(a + b), elementwise."""
def betainc(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Array:
    """Regularised incomplete beta function, elementwise: the integral of t**(a - 1) (1 - t)**(b - 1) from 0 to x, over that to 1."""
def betaln(a: ArrayLike, b: ArrayLike) -> Array:
    """Logarithm of the absolute value of the beta function, elementwise, with little cancellation for large arguments."""
def boxcox(x: ArrayLike, lmbda: ArrayLike) -> Array:
    """Box and Cox's transform, (x**lmbda - 1) / lmbda, and log(x) where lmbda is 0, elementwise."""
def boxcox1p(x: ArrayLike, lmbda: ArrayLike) -> Array:
    """Box and Cox's transform of 1 + x, elementwise, accurate for small x; see `boxcox`."""
def comb(N: ArrayLike, k: ArrayLike, *, repetition: bool = False) -> Array:
    """Binomial coefficients, the numbers of ways to choose k of N things, elementwise and in floating point."""
def dawsn(x: ArrayLike) -> Array:
    """Dawson's integral, elementwise: exp(-x^2) times the integral of exp(t^2) from 0 to x."""
def digamma(x: ArrayLike) -> Array:
    """Derivative of the logarithm of the gamma function, elementwise."""
def entr(x: ArrayLike) -> Array:
    """A term of an entropy, -x log(x), elementwise."""
def erf(x: ArrayLike) -> Array:
    """Error function, the integral of 2/sqrt(pi) exp(-t**2) from 0 to x, elementwise."""
def erfc(x: ArrayLike) -> Array:
    """Complement of the error function, 1 - erf(x), accurate where that is small, elementwise."""
def erfcinv(y: ArrayLike) -> Array:
    """Inverse of the complementary error function, elementwise."""
def erfcx(x: ArrayLike) -> Array:
    """Scaled complement of the error function, exp(x^2) erfc(x), elementwise."""
def erfinv(x: ArrayLike) -> Array:
    """Inverse of the error function; infinite at -1 and 1, NaN outside, elementwise."""
def exp1(x: ArrayLike) -> Array:
    """Exponential integral E1, elementwise: the integral of exp(-t)/t from x to infinity."""
def expi(x: ArrayLike) -> Array:
    """Exponential integral Ei, elementwise: the principal value of the integral of exp(t)/t from -inf to x."""
def expit(x: ArrayLike) -> Array:
    """Logistic function, 1 / (1 + exp(-x)), elementwise."""
def expn(n: ArrayLike, x: ArrayLike) -> Array:
    """Generalised exponential integral, elementwise: the integral of exp(-x t) / t**n from 1 to infinity."""
def factorial(n: ArrayLike, exact: bool = False) -> Array:
    """Factorial, the gamma function of n + 1, elementwise and in floating point; 0 for negative n."""
def fresnel(x: ArrayLike) -> tuple[Any, Any]:
    """Fresnel's integrals, elementwise: of sin(pi t^2 / 2) and of cos(pi t^2 / 2) from 0 to x."""
def gamma(x: ArrayLike) -> Array:
    """Gamma function, elementwise: the integral of t**(x - 1) exp(-t) over positive t, continued to the complex plane."""
def gammainc(a: ArrayLike, x: ArrayLike) -> Array:
    """Regularised lower incomplete gamma function, elementwise: the integral of t**(a - 1) exp(-t) from 0 to x, over gamma(a)."""
def gammaincc(a: ArrayLike, x: ArrayLike) -> Array:
    """Regularised upper incomplete gamma function, 1 - gammainc(a, x), elementwise and accurate where that is small."""
def gammaln(x: ArrayLike) -> Array:
    """Logarithm of the absolute value of the gamma function, elementwise."""
def gammasgn(x: ArrayLike) -> Array:
    """Sign of the gamma function, elementwise."""
def hyp1f1(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Array:
    """Confluent hypergeometric function 1F1(a; b; x), elementwise; real arguments, b no integer below 1."""
def hyp2f1(a: ArrayLike, b: ArrayLike, c: ArrayLike, x: ArrayLike) -> Array:
    """Gauss' hypergeometric function 2F1(a, b; c; x), elementwise; real arguments."""
def i0(x: ArrayLike) -> Array:
    """Modified Bessel function of the first kind of order 0, elementwise."""
def i0e(x: ArrayLike) -> Array:
    """Modified Bessel function of order 0, times exp(-|x|), elementwise."""
def i1(x: ArrayLike) -> Array:
    """Modified Bessel function of the first kind of order 1, elementwise."""
def i1e(x: ArrayLike) -> Array:
    """Modified Bessel function of order 1, times exp(-|x|), elementwise."""
def kl_div(p: ArrayLike, q: ArrayLike) -> Array:
    """A term of the divergence of Kullback and Leibler, p log(p / q) - p + q, elementwise."""
def log_ndtr(x: ArrayLike, series_order: int = 3) -> Array:
    """Logarithm of `ndtr`, elementwise, accurate in both tails."""
def log_softmax(x: ArrayLike, /, *, axis: int | tuple[int, ...] | None = None) -> Array:
    """Logarithm of `softmax`, without overflow; see `nn.log_softmax`."""
def loggamma(x: ArrayLike) -> Array:
    """Logarithm of the gamma function, elementwise: the branch that is real on the positive axis and cut along the negative one."""
def logit(x: ArrayLike) -> Array:
    """Inverse of `expit`, log(x / (1 - x)), elementwise."""
def multigammaln(a: ArrayLike, d: int) -> Array:
    """Logarithm of the multivariate gamma function of dimension d, elementwise."""
def ndtr(x: ArrayLike) -> Array:
    """Distribution function of the standard normal distribution, elementwise, accurate in the lower tail."""
def ndtri(p: ArrayLike) -> Array:
    """Inverse of `ndtr`, elementwise: the quantiles of the standard normal distribution."""
def owens_t(h: ArrayLike, a: ArrayLike) -> Array:
    """Owen's T function, elementwise: the integral of exp(-h^2 (1 + t^2)/2) / (1 + t^2) / (2 pi) from 0 to a."""
def poch(z: ArrayLike, m: ArrayLike) -> Array:
    """Pochhammer's symbol, gamma(z + m) / gamma(z), elementwise: for whole m the product of z, z + 1, ... of m factors."""
def polygamma(n: ArrayLike, x: ArrayLike) -> Array:
    """The n-th derivative of `digamma`, elementwise."""
def rel_entr(p: ArrayLike, q: ArrayLike) -> Array:
    """A term of a relative entropy, p log(p / q), elementwise."""
def sici(x: ArrayLike) -> tuple[Any, Any]:
    """The sine and cosine integrals: of sin(t)/t from 0 to x, and Euler's constant + log|x| + that of (cos(t) - 1)/t."""
def softmax(x: ArrayLike, /, *, axis: int | tuple[int, ...] | None = None) -> Array:
    """exp(x) / sum(exp(x)) along axes, without overflow; see `nn.softmax`."""
def spence(x: ArrayLike) -> Array:
    """Spence's function, the dilogarithm of 1 - x, elementwise: the integral of log(t)/(1 - t) from 1 to x."""
def sph_harm_y(n: ArrayLike, m: ArrayLike, theta: ArrayLike, phi: ArrayLike, diff_n: int | None = None, n_max: int | None = None) -> Array:
    """Spherical harmonics of degree n and order m, elementwise."""
def wofz(z: ArrayLike) -> Array:
    """Faddeeva function, exp(-z^2) erfc(-i z), elementwise; to 12 digits of its size near the origin."""
def xlog1py(x: ArrayLike, y: ArrayLike) -> Array:
    """x log(1 + y), elementwise and accurate for small y; 0 where x is 0 and y no NaN."""
def xlogy(x: ArrayLike, y: ArrayLike) -> Array:
    """x log(y), elementwise, and 0 where x is 0 and y no NaN."""
def zeta(x: ArrayLike, q: ArrayLike | None = None) -> Array:
    """Hurwitz zeta function, the sum of (n + q)**-x over n >= 0, elementwise; differentiable in both."""
