"""Helpers of the modules of `scipy.stats`: arguments, derived functions, and their documentation.

A distribution states its functions in whatever form loses no digits; the others are derived from them. Every function
takes arrays that broadcast, and `loc` and `scale` shift and stretch the distribution.
"""

from __future__ import annotations

import functools
import math
import operator
from typing import TYPE_CHECKING, Any, Callable, Sequence

from laminax_ir.types.avals import get_aval

from laminax._src.numerics.floor import fused
from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.numpy.arguments import promote_inexact

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike

_MEANINGS = {
    "pdf": "Density", "logpdf": "Logarithm of the density", "pmf": "Probability of a value", "cdf": "Distribution function",
    "logpmf": "Logarithm of the probability of a value", "logcdf": "Logarithm of the distribution function",
    "sf": "Survival function, 1 - cdf", "logsf": "Logarithm of the survival function, 1 - cdf",
    "ppf": "Quantile function, the inverse of the distribution function", "isf": "Inverse of the survival function",
}


def documented(name: str) -> Callable[[Callable], Callable]:
    """Decorator of a function of a distribution: compiled in one piece, and with a docstring that says what it is.

    Args:
      name: the distribution with its article, "the normal distribution".
    """
    def decorate(fun: Callable) -> Callable:
        fun.__doc__ = f"""{_MEANINGS[fun.__name__]} of {name}, elementwise.

    Args:
      Real arrays that broadcast; see the module.

    Returns:
      A float array of the shape they broadcast to.
    """
        return fused(fun)
    return decorate


def derived(base: Callable, name: str, function: Callable[[Any], Any]) -> Callable:
    """The function of a distribution that is an elementwise function of another one, with the same signature.

    Args:
      base: the other function.
      name: the new one's name, "pdf".
      function: from the one to the other, `numpy.exp`.
    """
    @fused
    @functools.wraps(base)
    def fun(*args: ArrayLike, **kwargs: Any) -> Array:
        return function(base(*args, **kwargs))
    fun.__name__ = fun.__qualname__ = name
    fun.__doc__ = (base.__doc__ or "").replace(_MEANINGS[base.__name__], _MEANINGS[name], 1)
    return fun


def exponential(log_function: Callable) -> Callable:
    """`pdf` for `logpdf`, `cdf` for `logcdf` and so on."""
    return derived(log_function, log_function.__name__.removeprefix("log"), jnp.exp)


def logarithm(function: Callable) -> Callable:
    """`logcdf` for `cdf`, and so on."""
    return derived(function, f"log{function.__name__}", jnp.log)


def complement(function: Callable, name: str) -> Callable:
    """`sf` for `cdf`: one minus it."""
    return derived(function, name, lambda x: 1 - x)


def standardized(name: str, x: Any, loc: Any, scale: Any, *shapes: Any) -> list[Any]:
    """(x - loc) / scale, the scale, and the other parameters, as arrays of one dtype and shape."""
    x, loc, scale, *rest = broadcast(name, x, loc, scale, *shapes)
    return [(x - loc) / scale, scale, *rest]


def broadcast(name: str, *args: Any) -> list[Any]:
    """The arguments as arrays of one float dtype and one shape."""
    return jnp.broadcast_arrays(*promote_inexact(name, *args))


def where_supported(condition: Any, value: Any, otherwise: float = -math.inf) -> Any:
    """The value where a condition holds, elsewhere a constant; conditions are stated so that they hold for NaN."""
    return jnp.where(condition, value, jnp.full_like(value, otherwise))


def where_positive(parameters: Sequence[Any], value: Any) -> Any:
    """The value where all parameters are positive, elsewhere NaN."""
    return jnp.where(functools.reduce(operator.and_, [p > 0 for p in parameters]), value, jnp.full_like(value, math.nan))


def where_probability(q: Any, value: Any) -> Any:
    """The value where q is from 0 to 1, elsewhere NaN."""
    return jnp.where((q >= 0) & (q <= 1), value, jnp.full_like(value, math.nan))


def described(x: Any) -> str:
    """The type of an array, for messages."""
    return get_aval(x).str_short()
