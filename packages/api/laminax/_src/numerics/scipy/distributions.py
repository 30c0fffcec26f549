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
_OUTSIDE = {  # what is said of the values where the distribution has no mass
    "pdf": "; 0 where the distribution has no mass", "pmf": "; 0 where the distribution has no mass",
    "logpdf": "; -inf where the distribution has no mass", "logpmf": "; -inf where the distribution has no mass",
}


_PARAMETERS = {
    "x": "the points, an array or scalar of real numbers; all arguments broadcast",
    "k": "the values, an array or scalar of whole numbers; all arguments broadcast",
    "q": "the probabilities, an array or scalar of numbers from 0 to 1; all arguments broadcast",
    "loc": "what the distribution is shifted by", "scale": "what it is stretched by, positive",
}


def documented(name: str, density: str, **parameters: str) -> Callable[[Callable], Callable]:
    """Decorator of a function of a distribution: compiled in one piece, and with a docstring that says what it is.

    The function's own docstring is its example.

    Args:
      name: the distribution with its article, "the normal distribution".
      density: a sentence that states its density.
      parameters: what the parameters of the distribution are; those that go without saying may be left out.
    """
    words = _PARAMETERS | parameters

    def decorate(fun: Callable) -> Callable:
        code, kind = fun.__code__, fun.__name__
        first, *others = code.co_varnames[:code.co_argcount]
        first_words = words["q"] if kind in ("ppf", "isf") else words[first]
        args = "".join(f"\n      {arg}: {words[arg]}." for arg in others)
        outside = _OUTSIDE.get(kind, "")
        fun.__doc__ = f"""{_MEANINGS[kind]} of {name}, elementwise.

    {density}

    Args:
      {first}: {first_words}.{args}

    Returns:
      A float array of the shape that the arguments broadcast to{outside}.

    Raises:
      TypeError: if an argument is no array or scalar of numbers.
      ValueError: if the shapes do not broadcast.

    {_indented(fun.__doc__)}
    """
        return fused(fun)
    return decorate


def _indented(example: str | None) -> str:
    """The lines of an example below its heading; the compiler of Python 3.13 takes their indentation away."""
    return "\n      ".join(line.strip() for line in (example or "").strip().split("\n"))


def derived(base: Callable, name: str, function: Callable[[Any], Any], example: str) -> Callable:
    """The function of a distribution that is an elementwise function of another one, with the same signature.

    Args:
      base: the other function.
      name: the new one's name, "pdf".
      function: from the one to the other, `numpy.exp`.
      example: the example of its docstring.
    """
    @fused
    @functools.wraps(base)
    def fun(*args: ArrayLike, **kwargs: Any) -> Array:
        return function(base(*args, **kwargs))
    fun.__name__ = fun.__qualname__ = name
    text = (base.__doc__ or "").partition("Example:")[0].replace(_MEANINGS[base.__name__], _MEANINGS[name], 1)
    fun.__doc__ = text.replace(_OUTSIDE.get(base.__name__, " "), _OUTSIDE.get(name, " ")) + _indented(example) + "\n    "
    return fun


def exponential(log_function: Callable, example: str) -> Callable:
    """`pdf` for `logpdf`, `cdf` for `logcdf` and so on."""
    return derived(log_function, log_function.__name__.removeprefix("log"), jnp.exp, example)


def logarithm(function: Callable, example: str) -> Callable:
    """`logcdf` for `cdf`, and so on."""
    return derived(function, f"log{function.__name__}", jnp.log, example)


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
