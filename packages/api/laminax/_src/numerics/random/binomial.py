"""The binomial distribution, and the multinomial one, which is made of it.

Sources: Devroye, "Non-Uniform Random Variate Generation", 1986, chapter X.4, for small means: the geometric waiting times
between successes; Hörmann, "The generation of binomial random variates", 1993, algorithm BTRS, for the others. The order of
the arithmetic decides the samples, which are those of JAX.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Sequence

from laminax_ir.ops.cumulative import cumsum
from laminax_ir.ops.loops import scan, while_loop
from laminax_ir.ops.random_bits import random_clone
from laminax_ir.types import dtypes
from laminax_ir.types.avals import get_aval

from laminax._src.numerics.floor import fused
from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.numpy.arguments import ensure_arrays
from laminax._src.numerics.random.arguments import checked_dtype, checked_shape, shape_of_parameters
from laminax._src.numerics.random.keys import split, split_typed, typed_key
from laminax._src.numerics.random.samplers import uniform

if TYPE_CHECKING:
    import numpy as np

    from laminax_ir.types.annotations import Array, ArrayLike, DTypeLike


def binomial(key: ArrayLike, n: ArrayLike, p: ArrayLike, shape: Sequence[int] | None = None, dtype: DTypeLike | None = None) -> Array:
    """Samples of the binomial distribution: how many of n trials succeed, each with probability p.

    Args:
      key: a key, typed or raw.
      n: the numbers of trials, not negative; fractions are cut off.
      p: the probabilities, which broadcast against n.
      shape: the result's shape, to which n and p broadcast; their common shape by default.
      dtype: a float dtype; float32 by default, float64 in x64 mode.

    Returns:
      Counts as floats; NaN where n is negative or NaN, or p is NaN or not between 0 and 1, and infinity where n is.

    Raises:
      ValueError: if the dtype is no float one, or n and p do not broadcast to the shape.

    Example:
      >>> binomial(key(0), 10, 0.5, (3,)).shape
      (3,)
    """
    typed = typed_key("binomial", key)
    n, p = ensure_arrays("random.binomial", n, p)
    dtype = checked_dtype("binomial", dtype)
    return _binomial(typed, n, p, shape=shape_of_parameters("binomial", shape, n, p), dtype=dtype)


@fused(static_argnames=("shape", "dtype"))
def _binomial(key: ArrayLike, n: ArrayLike, p: ArrayLike, *, shape: tuple[int, ...], dtype: np.dtype) -> Array:
    p = _floating(p)
    trials, p = jnp.broadcast_to(jnp.asarray(n).astype(p.dtype), shape), jnp.broadcast_to(p, shape)
    q = jnp.where(p < 0.5, p, 1.0 - p)  # counts the rarer outcome
    is_invalid = jnp.isnan(trials) | (trials < 0) | jnp.isnan(q) | (q < 0)
    is_infinite = jnp.isinf(trials)
    q = jnp.where(jnp.isnan(q) | (q < 0), 0.01, q).astype(p.dtype)
    is_small = jnp.isnan(trials) | (trials < 0) | (trials * q <= 10.0)
    trials = jnp.floor(trials)
    ends = jnp.where(is_infinite, 1e4, trials).astype(p.dtype)  # both loops end for whatever is not used of them
    small = _count_waiting_times(key, jnp.where(is_small, ends, 0.0), q)
    large = _reject(random_clone(key), jnp.where(is_small, jnp.asarray(1e4, p.dtype), ends),
                    jnp.where(is_small | is_infinite, 0.5, q).astype(p.dtype))
    count = jnp.where(is_small, small, large).astype(dtype)
    count = jnp.where(p < 0.5, count, trials.astype(dtype) - count)
    return jnp.where(is_invalid, jnp.nan, jnp.where(is_infinite, jnp.inf, count)).astype(dtype)


def _floating(x: ArrayLike) -> Array:
    x = jnp.asarray(x)
    return x.astype(dtypes.to_inexact_dtype(x.dtype))


def _count_waiting_times(key: ArrayLike, trials: ArrayLike, p: ArrayLike) -> Array:
    """Adds up waiting times until they are longer than all trials."""
    log_failure = jnp.log1p(-p)

    def advance(carry: tuple[ArrayLike, ...]) -> tuple[Array, ...]:
        count, waited, key = carry
        subkey, key = split_typed(key)
        count = jnp.where(waited <= trials, count + 1, count)
        u = uniform(subkey, trials.shape, p.dtype)
        return count, waited + jnp.ceil(jnp.log(u) / log_failure), key

    start = (jnp.zeros_like(trials), jnp.zeros_like(trials), key)
    return while_loop(lambda carry: (carry[1] <= trials).any(), advance, start)[0] - 1


def _reject(key: ArrayLike, trials: ArrayLike, p: ArrayLike) -> Array:
    stddev = jnp.sqrt(trials * p * (1 - p))
    b = 1.15 + 2.53 * stddev
    a = -0.0873 + 0.0248 * b + 0.01 * p
    center = trials * p + 0.5
    v_r = 0.92 - 4.2 / b
    odds = p / (1 - p)
    alpha = (2.83 + 5.1 / b) * stddev
    mode = jnp.floor((trials + 1) * p)

    def log_ratio(k: ArrayLike) -> Array:
        """The logarithm of the probability of k, divided by that of the mode."""
        return ((mode + 0.5) * jnp.log((mode + 1) / (odds * (trials - mode + 1)))
                + (trials + 1) * jnp.log((trials - mode + 1) / (trials - k + 1))
                + (k + 0.5) * jnp.log(odds * (trials - k + 1) / (k + 1))
                + _stirling_tail(mode) + _stirling_tail(trials - mode) - _stirling_tail(k) - _stirling_tail(trials - k))

    def advance(carry: tuple[ArrayLike, ...]) -> tuple[Array, ...]:
        result, accepted, key = carry
        key, u_key, v_key = split_typed(key, 3)
        u = uniform(u_key, trials.shape, p.dtype) - 0.5
        v = uniform(v_key, trials.shape, p.dtype)
        u_shifted = 0.5 - jnp.abs(u)
        k = jnp.floor((2 * a / u_shifted + b) * u + center)
        at_once = (u_shifted >= 0.07) & (v <= v_r)
        scaled = jnp.log(v * alpha / (a / (u_shifted * u_shifted) + b))
        accept = at_once | ((k >= 0) & (k <= trials) & (scaled <= log_ratio(k)))
        return jnp.where(accept, k, result), accepted | accept, key

    start = (jnp.full_like(trials, -1), jnp.zeros(trials.shape, bool), key)
    return while_loop(lambda carry: ~carry[1].all(), advance, start)[0]


# The error of Stirling's approximation of log(k!), for k from 0 to 9.
_TAILS = (0.0810614667953272, 0.0413406959554092, 0.0276779256849983, 0.02079067210376509, 0.0166446911898211, 0.0138761288230707,
          0.0118967099458917, 0.0104112652619720, 0.00925546218271273, 0.00833056343336287)


def _stirling_tail(k: ArrayLike) -> Array:
    square = (k + 1) * (k + 1)
    series = (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1)
    index = jnp.clip(k, 0.0, 9.0).astype(jnp.int32)
    return jnp.where(k <= 9, jnp.asarray(_TAILS, k.dtype)[index], series)


def multinomial(key: ArrayLike, n: ArrayLike, p: ArrayLike, *, shape: Sequence[int] | None = None, dtype: DTypeLike | None = None,
                unroll: int | bool = 1) -> Array:
    """Samples of the multinomial distribution: how often each of several outcomes comes up in n trials.

    Args:
      key: a key, typed or raw.
      n: the numbers of trials, which broadcast to the shape without its last axis.
      p: the outcomes' probabilities along the last axis.
      shape: the result's shape, outcomes included, to which p broadcasts; that of p by default.
      dtype: a float dtype; by default that of n and p.
      unroll: as for `lax.scan`, which goes over the outcomes.

    Returns:
      Counts as floats, which sum to n along the last axis.

    Raises:
      ValueError: if p has no axis, or the parameters do not broadcast to the shape.

    Example:
      >>> multinomial(key(0), 100, array([0.5, 0.2, 0.3])).sum()
      Array(100., dtype=float32)
    """
    typed = typed_key("multinomial", key)
    n, p = ensure_arrays("random.multinomial", n, p)
    p_shape, n_shape = get_aval(p).shape, get_aval(n).shape
    shape = p_shape if shape is None else checked_shape("multinomial", shape)
    if not p_shape or not shape:
        raise ValueError(f"random.multinomial: p and the shape need a last axis, of the outcomes; got p of shape {p_shape}, shape={shape}")
    for name, given, wanted in (("p", p_shape, shape), ("n", n_shape, shape[:-1])):
        if len(given) > len(wanted) or any(a not in (1, b) for a, b in zip(reversed(given), reversed(wanted))):
            raise ValueError(f"random.multinomial: {name} of shape {given} does not broadcast to {wanted}. The shape is that of the "
                             f"result, with the {p_shape[-1]} outcomes as its last axis.")
    return _multinomial(typed, n, p, shape=shape, dtype=None if dtype is None else checked_dtype("multinomial", dtype), unroll=unroll)


@fused(static_argnames=("shape", "dtype", "unroll"))
def _multinomial(key: ArrayLike, n: ArrayLike, p: ArrayLike, *, shape: tuple[int, ...], dtype: np.dtype | None, unroll: int) -> Array:
    common = dtypes.to_inexact_dtype(jnp.result_type(n, p))
    n = jnp.broadcast_to(jnp.asarray(n).astype(common), shape[:-1])
    p = jnp.moveaxis(jnp.broadcast_to(jnp.asarray(p).astype(common), shape), -1, 0)
    left = cumsum(p, 0, reverse=True)
    ratios = p / jnp.where(left == 0, 1, left)  # of an outcome, given that it is none of those before

    def draw(remaining: ArrayLike, outcome: tuple[ArrayLike, ...]) -> tuple[Array, Array]:
        ratio, key = outcome
        count = binomial(key, remaining, jnp.clip(ratio, 0, 1), dtype=common)
        return remaining - count, count

    _, counts = scan(draw, n, (ratios, split(key, len(ratios))), unroll=unroll)
    counts = jnp.moveaxis(counts, 0, -1)
    return counts if dtype is None else counts.astype(dtype)
