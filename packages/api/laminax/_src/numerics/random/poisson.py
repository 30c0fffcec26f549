"""The Poisson distribution.

Sources: Knuth, "The Art of Computer Programming", volume 2, section 3.4.1, for small rates; Hörmann, "The transformed
rejection method for generating Poisson random variables", 1993, for the others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Sequence

import numpy as np

from laminax_ir.ops import elementwise as e
from laminax_ir.ops.loops import while_loop
from laminax_ir.ops.random_bits import random_clone
from laminax_ir.ops.reduction import reduce_or
from laminax_ir.ops.shape import full, full_like
from laminax_ir.ops.special import lgamma
from laminax_ir.types import dtypes
from laminax_ir.types.avals import get_aval

from laminax._src.numerics.floor import fused, takes_out_sharding
from laminax._src.numerics.random.arguments import checked_dtype, checked_method, converted, shape_of_parameters, to_shape
from laminax._src.numerics.random.keys import split_typed, typed_key
from laminax._src.numerics.random.poisson_quantiles import counts_of_normal
from laminax._src.numerics.random.samplers import normal_real, unit_uniform

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike, DTypeLike

_FLOAT32 = np.dtype(np.float32)


@takes_out_sharding
def poisson(key: ArrayLike, lam: ArrayLike, shape: Sequence[int] | None = None, dtype: DTypeLike | None = None, *, method: str = "exact",
            out_sharding: Any = None) -> Array:
    """Samples of the Poisson distribution: counts of mean lam.

    Args:
      key: a key, typed or raw; of the generator threefry2x32 if the method is "exact".
      lam: the rates, not negative, broadcast to the shape; taken as float32 if the method is "exact", else as float64 if the rates or the
        counts have 64 bits.
      shape: the result's shape; by default that of lam.
      dtype: an integer dtype; int32 by default, int64 in x64 mode.
      method: "exact", by rejection, or "approximate": without a loop, faster, within 1e-4 of the distribution in total variation.
      out_sharding: how the result is split over explicit mesh axes, a partition spec or a `NamedSharding`.

    Returns:
      Integers; -1 where lam is NaN.

    Raises:
      NotImplementedError: if the method is "exact" and the key of another generator.
      ValueError: if there is no such method, the dtype is no integer one, or lam does not broadcast to the shape.

    Example:
      >>> random.poisson(random.key(0), 4.0, (10000,)).mean().round(1)
      Array(4., dtype=float32)
    """
    typed = typed_key("poisson", key)
    checked_method("poisson", method)
    dtype = checked_dtype("poisson", dtype, dtypes.integer, int)
    if method == "approximate":
        given = get_aval(lam).dtype
        is_wide = dtype.itemsize > 4 or dtypes.issubdtype(given, dtypes.floating) and dtypes.finfo(given).bits > 32
        rates = converted(lam, np.dtype(np.float64) if is_wide else _FLOAT32)
        return _poisson_approximate(typed, rates, shape=shape_of_parameters("poisson", shape, lam), dtype=dtype)
    if typed.dtype.impl.name != "threefry2x32":
        raise NotImplementedError("`poisson` with method='exact' is only implemented for the threefry2x32 RNG, not "
                                  f"{typed.dtype.impl.name}")
    return _poisson(typed, converted(lam, _FLOAT32), shape=shape_of_parameters("poisson", shape, lam), dtype=dtype)


@fused(static_argnames=("shape", "dtype"))
def _poisson(key: ArrayLike, lam: ArrayLike, *, shape: tuple[int, ...], dtype: np.dtype) -> Array:
    lam = to_shape(lam, shape)
    is_small = e.bitwise_or(e.ne(lam, lam), e.lt(lam, 10.0))
    most_steps = dtype.type(dtypes.iinfo(dtype).max)
    small = _count_arrivals(key, e.select(is_small, lam, full_like(lam, 0)), dtype, most_steps)
    large = _reject(random_clone(key), e.select(is_small, full_like(lam, 1e5), lam), dtype, most_steps)
    return e.select(e.eq(lam, 0.0), full_like(small, 0), e.select(is_small, small, large))


@fused(static_argnames=("shape", "dtype"))
def _poisson_approximate(key: ArrayLike, lam: ArrayLike, *, shape: tuple[int, ...], dtype: np.dtype) -> Array:
    counts = counts_of_normal(normal_real(key, shape, get_aval(lam).dtype), to_shape(lam, shape))
    return e.convert_element_type(counts, dtype)


def _any(mask: ArrayLike) -> Array:
    return reduce_or(mask, tuple(range(len(mask.shape))))


def _step_below(step: ArrayLike, most_steps: ArrayLike) -> Array:
    return e.lt(step, most_steps)


def _count_arrivals(key: ArrayLike, lam: ArrayLike, dtype: np.dtype, most_steps: ArrayLike) -> Array:
    """Multiplies uniform samples until their product is below exp(-lam)."""
    threshold = e.neg(lam)

    def goes_on(carry: tuple[ArrayLike, ...]) -> Array:
        step, _, _, log_product = carry
        return e.bitwise_and(_any(e.gt(log_product, threshold)), _step_below(step, most_steps))

    def advance(carry: tuple[ArrayLike, ...]) -> tuple[Array, ...]:
        step, count, key, log_product = carry
        key, subkey = split_typed(key)
        count = e.select(e.gt(log_product, threshold), e.add(count, dtype.type(1)), count)
        u = unit_uniform(subkey, lam.shape, _FLOAT32)
        return e.add(step, dtype.type(1)), count, key, e.add(log_product, e.log(u))

    start = (dtype.type(0), full(lam.shape, 0, dtype), key, full_like(lam, 0))
    return e.sub(while_loop(goes_on, advance, start)[1], dtype.type(1))


def _reject(key: ArrayLike, lam: ArrayLike, dtype: np.dtype, most_steps: ArrayLike) -> Array:
    log_lam = e.log(lam)
    b = e.add(0.931, e.mul(2.53, e.sqrt(lam)))
    a = e.add(-0.059, e.mul(0.02483, b))
    inverse_alpha = e.add(1.1239, e.div(1.1328, e.sub(b, 3.4)))
    v_r = e.sub(0.9277, e.div(3.6224, e.sub(b, 2.0)))

    def goes_on(carry: tuple[ArrayLike, ...]) -> Array:
        step, _, accepted, _ = carry
        return e.bitwise_and(_any(e.bitwise_not(accepted)), _step_below(step, most_steps))

    def advance(carry: tuple[ArrayLike, ...]) -> tuple[Array, ...]:
        step, result, accepted, key = carry
        key, u_key, v_key = split_typed(key, 3)
        u = e.sub(unit_uniform(u_key, lam.shape, _FLOAT32), 0.5)
        v = unit_uniform(v_key, lam.shape, _FLOAT32)
        u_shifted = e.sub(0.5, e.abs(u))
        k = e.floor(e.add(e.add(e.mul(e.add(e.div(e.mul(2.0, a), u_shifted), b), u), lam), 0.43))
        s = e.log(e.div(e.mul(v, inverse_alpha), e.add(e.div(a, e.mul(u_shifted, u_shifted)), b)))
        t = e.sub(e.add(e.neg(lam), e.mul(k, log_lam)), lgamma(e.add(k, 1.0)))
        at_once = e.bitwise_and(e.ge(u_shifted, 0.07), e.le(v, v_r))
        never = e.bitwise_or(e.lt(k, 0.0), e.bitwise_and(e.lt(u_shifted, 0.013), e.gt(v, u_shifted)))
        accept = e.bitwise_or(at_once, e.bitwise_and(e.bitwise_not(never), e.le(s, t)))
        return e.add(step, dtype.type(1)), e.select(accept, k, result), e.bitwise_or(accepted, accept), key

    start = (dtype.type(0), full_like(lam, -1), full(lam.shape, False, np.dtype(bool)), key)
    return e.convert_element_type(while_loop(goes_on, advance, start)[1], dtype)
