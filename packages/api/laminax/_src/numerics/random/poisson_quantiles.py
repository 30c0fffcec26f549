"""Poisson counts from standard normal samples, without a loop: the quantiles of approximate distribution functions.

Small rates have the sums of the first probabilities themselves. For the others the normal approximation of Peizer and Pratt, "A normal
approximation for binomial, F, beta, and other common, related tail probabilities", 1968, is inverted: by an expansion of the root, and
by its exact values at the integers around that. In total variation the samples are within 1e-4 of the distribution.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from laminax_ir.ops import elementwise as e
from laminax_ir.ops.special import erf, erfc
from laminax_ir.types.avals import get_aval

from laminax._src.numerics.numpy import namespace as jnp

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array

_LARGE = 7.0  # from this rate on the normal approximation is used
_TERMS = 20  # counts that a smaller rate may give: above 19 there is a probability of 4e-5
_CORRECTION = 0.02


def counts_of_normal(z: Array, rate: Array) -> Array:
    """The counts, in the dtype of z, that Poisson distributions of these rates have where the standard normal one has z."""
    return jnp.where(rate < _LARGE, _small(_normal_distribution(z), rate), _large(z, rate))


def _normal_distribution(x: Array) -> Array:
    """The distribution function of the standard normal distribution, by the error function that is accurate at each place."""
    number = get_aval(x).dtype.type
    half_root = number(0.5) * np.sqrt(number(2))
    w = x * half_root
    size = e.abs(w)
    tails = e.select(e.gt(w, number(0)), number(2) - erfc(size), erfc(size))
    return number(0.5) * e.select(e.lt(size, half_root), number(1) + erf(w), tails)


def _small(u: Array, rate: Array) -> Array:
    """How many of the first sums of probabilities are below u."""
    probability = e.exp(-rate)
    total = probability
    count = e.convert_element_type(total < u, u.dtype)
    for k in range(1, _TERMS - 1):
        probability = probability * (rate / k)
        total = total + probability
        count = count + e.convert_element_type(total < u, u.dtype)
    return count


def _large(z: Array, rate: Array) -> Array:
    """The least integer whose approximate distribution function is at least that of z."""
    guess = jnp.ceil(_root(z, rate) + 0.6)  # with this shift the least integer is the guess or one beside it

    def is_enough(count: Array) -> Array:
        score = jnp.where(count < 0, -np.inf, _normal_score(jnp.maximum(count, 0.0), rate))
        return e.convert_element_type(score >= z, guess.dtype)

    return jnp.maximum(guess + 1 - is_enough(guess) - is_enough(guess - 1), 0.0)


def _root(z: Array, rate: Array) -> Array:
    """Where the approximation's normal score is about z: a Cornish-Fisher expansion."""
    root = jnp.sqrt(rate)
    return rate + root * z - 2 / 3 + jnp.square(z) / 6 + z * (1 - jnp.square(z)) / (72 * root)


def _normal_score(x: Array, rate: Array) -> Array:
    """The standard normal quantile of the approximate probability of at most x."""
    deviance = _deviance((x + 0.5) / rate)
    return (x - rate + 2 / 3 + _CORRECTION / (x + 1)) * jnp.sqrt((1 + deviance) / rate)


def _deviance(y: Array) -> Array:
    """(1 - y² + 2 y log y) / (1 - y)²; near 1 the first nine terms of its series, Σ 2 (-1)^k (y - 1)^k / ((k + 1) (k + 2))."""
    d = y - 1
    is_near = jnp.abs(d) < 0.25
    series = jnp.zeros_like(d)
    for k in range(9, 0, -1):
        series = d * (2 * (-1) ** k / ((k + 1) * (k + 2)) + series)
    far, distance = jnp.where(is_near, 2.0, y), jnp.where(is_near, 1.0, d)
    return jnp.where(is_near, series, (1 - jnp.square(far) + 2 * far * jnp.log(far)) / jnp.square(distance))
