"""Samplers of continuous and discrete distributions, elementwise over a shape.

Each draws uniform bits and maps them, by the inverse of the distribution function where that is simple. The order of
the arithmetic is part of the contract: it decides the last bits, which are those of JAX.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Sequence

import numpy as np

from laminax_ir.ops import elementwise as e
from laminax_ir.ops.random_bits import UINT_DTYPES, random_bits
from laminax_ir.ops.reduction import reduce_sum
from laminax_ir.ops.shape import expand_dims, squeeze
from laminax_ir.ops.slicing import index_in_dim
from laminax_ir.ops.special import erf, erf_inv
from laminax_ir.options import config
from laminax_ir.types import dtypes
from laminax_ir.types.avals import get_aval

from laminax._src.numerics.floor import fused, takes_out_sharding
from laminax._src.numerics.random.arguments import (
    checked_dtype,
    checked_shape,
    converted,
    shape_of_parameters,
    to_rank,
    to_shape,
)
from laminax._src.numerics.random.keys import split_typed, typed_key

if TYPE_CHECKING:
    from laminax_ir.symbolic.symbolic_dims import SymbolicDim
    from laminax_ir.types.annotations import Array, ArrayLike, DTypeLike

_STATIC = ("shape", "dtype")


@takes_out_sharding
def bits(key: ArrayLike, shape: Sequence[int] = (), dtype: DTypeLike | None = None, *, out_sharding: Any = None) -> Array:
    """Uniform random bits as unsigned integers.

    Args:
      key: a key, typed or raw.
      shape: the result's shape.
      dtype: an unsigned integer dtype; uint32 by default, uint64 in x64 mode.
      out_sharding: how the result is split over explicit mesh axes, a partition spec or a `NamedSharding`.

    Raises:
      ValueError: if the dtype is no unsigned integer one.

    Example:
      >>> random.bits(random.key(0), (2,), "uint8").dtype
      dtype('uint8')
    """
    typed = typed_key("bits", key)
    dtype = checked_dtype("bits", dtype, dtypes.unsignedinteger, np.dtype(np.uint64) if _is_x64() else np.dtype(np.uint32))
    return random_bits(typed, dtypes.bit_width(dtype), checked_shape("bits", shape))


def _is_x64() -> bool:
    return dtypes.scalar_dtype(int).itemsize == 8


@takes_out_sharding
def uniform(key: ArrayLike, shape: Sequence[int] = (), dtype: DTypeLike | None = None, minval: ArrayLike = 0.0, maxval: ArrayLike = 1.0, *,
            out_sharding: Any = None) -> Array:
    """Uniform samples in [minval, maxval).

    Args:
      key: a key, typed or raw.
      shape: the result's shape.
      dtype: a float dtype; float32 by default, float64 in x64 mode.
      minval: the lower bound, broadcast to the shape; where that is (), it may have axes of size 1, which the result has too.
      maxval: the upper bound, broadcast to the shape; its first axes may be of size 1 beyond the shape's, and are left out.
      out_sharding: how the result is split over explicit mesh axes, a partition spec or a `NamedSharding`.

    Raises:
      ValueError: if the dtype is no float one, or the shape has a negative size.

    Example:
      >>> random.uniform(random.key(0), (10000,), minval=2, maxval=4).mean().round(1)
      Array(3., dtype=float32)
    """
    typed = typed_key("uniform", key)
    dtype = checked_dtype("uniform", dtype)
    shape = checked_shape("uniform", shape)
    if type(minval) is type(maxval) is float and (minval, maxval) == (0.0, 1.0):
        return _standard_uniform(typed, shape=shape, dtype=dtype)
    maxval = _without_first_axes(maxval, len(shape))
    if not shape and set(low := get_aval(minval).shape) == {1}:
        return expand_dims(uniform(key, shape, dtype, squeeze(minval, range(len(low))), maxval), range(len(low)))
    shape = shape_of_parameters("uniform", shape, minval, maxval)
    return _uniform(typed, converted(minval, dtype), converted(maxval, dtype), shape=shape, dtype=dtype)


def _without_first_axes(x: Any, rank: int) -> Any:
    """The array without its first axes of size 1, as many as it has beyond a rank."""
    shape = get_aval(x).shape
    surplus = max(len(shape) - rank, 0)
    return squeeze(x, range(surplus)) if surplus and shape[:surplus] == (1,) * surplus else x


@fused(static_argnames=_STATIC)
def _standard_uniform(key: ArrayLike, *, shape: tuple[SymbolicDim | int, ...], dtype: np.dtype) -> Any:
    return unit_uniform(key, shape, dtype)


@fused(static_argnames=_STATIC)
def _uniform(key: ArrayLike, minval: ArrayLike, maxval: ArrayLike, *, shape: Any, dtype: np.dtype) -> Any:
    """Random mantissas under the exponent of 1 are uniform in [1, 2)."""
    info = dtypes.finfo(dtype)
    width, mantissa = info.bits, info.nmant
    if width not in UINT_DTYPES:
        raise TypeError(f"uniform only accepts 8-, 16-, 32-, or 64-bit dtypes, got {dtypes.dtype_name(dtype)}.")
    minval, maxval = to_rank(minval, len(shape)), to_rank(maxval, len(shape))
    drawn = width if mantissa >= 8 else 8  # few bits suffice for a short mantissa
    words = converted(random_bits(key, drawn, shape), UINT_DTYPES[width])
    uint = UINT_DTYPES[width].type
    one = np.array(1, dtype)
    words = e.bitwise_or(e.shift_right_logical(words, uint(drawn - mantissa)), one.view(UINT_DTYPES[width])[()])
    floats = e.sub(e.bitcast_convert_type(words, dtype), one[()])
    return e.max(minval, e.add(e.mul(floats, e.sub(maxval, minval)), minval))


@takes_out_sharding
def normal(key: ArrayLike, shape: Sequence[int] = (), dtype: DTypeLike | None = None, *, out_sharding: Any = None) -> Array:
    """Samples of the standard normal distribution.

    Args:
      key: a key, typed or raw.
      shape: the result's shape.
      dtype: a float or complex dtype; float32 by default, float64 in x64 mode. The parts of a complex sample have
        variance 1/2 each.
      out_sharding: how the result is split over explicit mesh axes, a partition spec or a `NamedSharding`.

    Raises:
      ValueError: if the dtype is neither float nor complex, or the shape has a negative size.

    Example:
      >>> random.normal(random.key(0), (2, 3)).shape
      (2, 3)
    """
    typed = typed_key("normal", key)
    dtype = checked_dtype("normal", dtype, dtypes.inexact)
    return _normal(typed, shape=checked_shape("normal", shape), dtype=dtype)


@fused(static_argnames=_STATIC)
def _normal(key: ArrayLike, *, shape: tuple[int, ...], dtype: np.dtype) -> Any:
    if not dtypes.issubdtype(dtype, dtypes.complexfloating):
        return normal_real(key, shape, dtype)
    part = np.array(0, dtype).real.dtype
    real, imag = [converted(normal_real(k, shape, part), dtype) for k in split_typed(key)]
    return e.div(e.add(real, e.mul(imag, dtype.type(1j))), dtype.type(np.sqrt(2)))


def normal_real(key: ArrayLike, shape: tuple[int, ...], dtype: np.dtype) -> Any:
    """Standard normal samples of a real dtype."""
    low = np.nextafter(np.array(-1, dtype), np.array(0, dtype), dtype=dtype)[()]
    u = _uniform(key, low, np.array(1, dtype)[()], shape=shape, dtype=dtype)
    return e.mul(np.array(np.sqrt(2), dtype)[()], erf_inv(u))


@takes_out_sharding
def truncated_normal(key: ArrayLike, lower: ArrayLike, upper: ArrayLike, shape: Sequence[int] | None = None,
                     dtype: DTypeLike | None = None, *,
                     out_sharding: Any = None) -> Array:
    """Samples of the standard normal distribution, restricted to an interval.

    Args:
      key: a key, typed or raw.
      lower: the interval's lower end, broadcast to the shape.
      upper: its upper end.
      shape: the result's shape; by default the common one of the ends.
      dtype: a float dtype.
      out_sharding: how the result is split over explicit mesh axes, a partition spec or a `NamedSharding`.

    Returns:
      Samples strictly between the ends.

    Raises:
      ValueError: if the dtype is no float one, or the ends do not broadcast to the shape.

    Example:
      >>> abs(random.truncated_normal(random.key(0), -1.0, 1.0, (100,))).max() <= 1
      Array(True, dtype=bool)
    """
    typed = typed_key("truncated_normal", key)
    dtype = checked_dtype("truncated_normal", dtype)
    shape = shape_of_parameters("truncated_normal", shape, lower, upper)
    return _truncated_normal(typed, lower, upper, shape=shape, dtype=dtype)


@fused(static_argnames=_STATIC)
def _truncated_normal(key: ArrayLike, lower: ArrayLike, upper: ArrayLike, *, shape: tuple[int, ...], dtype: np.dtype) -> Array:
    # within the program: that of integer ends vectorizes otherwise than that of floats, and rounds otherwise
    lower, upper = converted(lower, dtype), converted(upper, dtype)
    sqrt2 = np.array(np.sqrt(2), dtype)[()]
    infinity = np.array(np.inf, dtype)[()]
    u = _uniform(key, erf(e.div(lower, sqrt2)), erf(e.div(upper, sqrt2)), shape=shape, dtype=dtype)
    sample = e.mul(sqrt2, erf_inv(u))
    # Rounding must not reach the ends.
    low = e.nextafter(e.stop_gradient_one(lower), infinity)
    high = e.nextafter(e.stop_gradient_one(upper), -infinity)
    return e.min(e.max(sample, to_rank(low, len(shape))), to_rank(high, len(shape)))


@takes_out_sharding
def bernoulli(key: ArrayLike, p: ArrayLike = 0.5, shape: Sequence[int] | None = None, mode: str = "low", *,
              out_sharding: Any = None) -> Array:
    """Booleans that are true with probability p.

    Args:
      key: a key, typed or raw.
      p: floating probabilities, broadcast to the shape.
      shape: the result's shape; by default that of p.
      mode: 'low', or 'high' for twice the bits, exact for very small p.
      out_sharding: how the result is split over explicit mesh axes, a partition spec or a `NamedSharding`.

    Raises:
      TypeError: if p is not floating.
      ValueError: if p does not broadcast to the shape, or the mode is neither.

    Example:
      >>> random.bernoulli(random.key(0), 0.3, (5,))
      Array([False, False, False, False, False], dtype=bool)
    """
    if mode not in ("high", "low"):
        raise ValueError(f"got mode={mode!r}, expected 'high' or 'low'")
    typed = typed_key("bernoulli", key)
    dtype = get_aval(p).dtype
    if not dtypes.issubdtype(dtype, dtypes.floating):
        raise TypeError(f"bernoulli probability `p` must have a floating dtype, got {dtypes.dtype_name(dtype)}.")
    return _bernoulli(typed, converted(p, dtype), shape=shape_of_parameters("bernoulli", shape, p), mode=mode)


@fused(static_argnames=("shape", "mode"))
def _bernoulli(key: ArrayLike, p: ArrayLike, *, shape: tuple[SymbolicDim | int, ...], mode: str) -> Array:
    dtype = get_aval(p).dtype
    p = to_rank(p, len(shape))
    if mode == "low":
        return e.lt(unit_uniform(key, shape, dtype), p)
    coarse, fine = _two_uniforms(key, shape, dtype)
    fine = e.mul(fine, np.array(2.0 ** -dtypes.finfo(dtype).nmant, dtype)[()])
    return e.lt(fine, e.sub(p, coarse))


def unit_uniform(key: ArrayLike, shape: tuple[SymbolicDim | int, ...], dtype: np.dtype) -> Array:
    """Uniform samples of [0, 1)."""
    return _uniform(key, np.array(0, dtype)[()], np.array(1, dtype)[()], shape=shape, dtype=dtype)


def _two_uniforms(key: ArrayLike, shape: Any, dtype: np.dtype) -> list[Array]:
    both = unit_uniform(key, (2, *shape), dtype)
    return [index_in_dim(both, i, keepdims=False) for i in range(2)]


# Distributions of one shape and no parameters


def _standard(name: str, text: str, example: str, sample: Callable) -> Any:
    """A sampler `f(key, shape, dtype)` from `sample(key, shape, dtype)`; the example's lines are those below its heading."""
    @fused(static_argnames=_STATIC)
    def run(key: ArrayLike, *, shape: tuple[int, ...], dtype: np.dtype) -> Array:
        return sample(key, shape, dtype)

    def sampler(key: ArrayLike, shape: Sequence[int] = (), dtype: DTypeLike | None = None, *, out_sharding: Any = None) -> Array:
        typed = typed_key(name, key)
        checked = checked_dtype(name, dtype)
        return run(typed, shape=checked_shape(name, shape), dtype=checked)

    sampler.__name__ = sampler.__qualname__ = name
    sampler.__doc__ = f"""Samples of {text}.

    Args:
      key: a key, typed or raw.
      shape: the result's shape.
      dtype: a float dtype; float32 by default, float64 in x64 mode.
      out_sharding: how the result is split over explicit mesh axes, a partition spec or a `NamedSharding`.

    Returns:
      An array of the shape and dtype.

    Raises:
      ValueError: if the dtype is no float one, or the shape has a negative size.

    Example:
      {example}
    """
    return takes_out_sharding(sampler)


def _bounded_uniform(key: ArrayLike, low: ArrayLike, shape: tuple[int, ...], dtype: np.dtype) -> Array:
    return _uniform(key, np.array(low, dtype)[()], np.array(1, dtype)[()], shape=shape, dtype=dtype)


def sample_exponential(key: ArrayLike, shape: tuple[int, ...], dtype: np.dtype) -> Any:
    """Samples of the exponential distribution of mean 1."""
    return e.neg(e.log1p(e.neg(unit_uniform(key, shape, dtype))))  # of 1 - u, which is never 0


def _sample_cauchy(key: ArrayLike, shape: tuple[int, ...], dtype: np.dtype) -> Array:
    u = _bounded_uniform(key, dtypes.finfo(dtype).eps, shape, dtype)
    return e.tan(e.mul(np.array(np.pi, dtype)[()], e.sub(u, np.array(0.5, dtype)[()])))


def _sample_laplace(key: ArrayLike, shape: tuple[int, ...], dtype: np.dtype) -> Array:
    u = _bounded_uniform(key, -1.0 + float(dtypes.finfo(dtype).epsneg), shape, dtype)
    return e.mul(e.sign(u), e.log1p(e.neg(e.abs(u))))


def _sample_logistic(key: ArrayLike, shape: tuple[int, ...], dtype: np.dtype) -> Array:
    u = _bounded_uniform(key, dtypes.finfo(dtype).tiny, shape, dtype)
    return e.sub(e.log(u), e.log1p(e.neg(u)))


exponential = _standard("exponential", "the exponential distribution, with density exp(-x)",
                        ">>> random.exponential(random.key(0), (10000,)).mean().round(1)\n"
                        "      Array(1., dtype=float32)", sample_exponential)
cauchy = _standard("cauchy", "the Cauchy distribution, with density 1 / (π (1 + x²))",
                   ">>> abs(jnp.median(random.cauchy(random.key(0), (10000,)))) < 0.05\n"
                   "      Array(True, dtype=bool)", _sample_cauchy)
laplace = _standard("laplace", "the Laplace distribution, with density exp(-|x|) / 2",
                    ">>> abs(random.laplace(random.key(0), (10000,))).mean().round(1)\n"
                    "      Array(1., dtype=float32)", _sample_laplace)
logistic = _standard("logistic", "the logistic distribution, with density exp(-x) / (1 + exp(-x))²",
                     ">>> abs(random.logistic(random.key(0), (10000,)).mean()) < 0.05\n"
                     "      Array(True, dtype=bool)", _sample_logistic)


@fused(static_argnames=_STATIC)
def _maxwell(key: ArrayLike, *, shape: tuple[int, ...], dtype: np.dtype) -> Array:
    vectors = normal_real(key, (*shape, 3), dtype)
    return e.sqrt(reduce_sum(e.mul(vectors, vectors), (len(shape),)))


maxwell = _standard("maxwell", "the Maxwell distribution: lengths of vectors of three standard normal samples",
                    ">>> random.maxwell(random.key(0), (10000,)).mean().round(1)  # sqrt(8 / pi)\n      Array(1.6, dtype=float32)",
                    lambda key, shape, dtype: _maxwell(key, shape=shape, dtype=dtype))


@takes_out_sharding
def gumbel(key: ArrayLike, shape: Sequence[int] = (), dtype: DTypeLike | None = None, mode: str | None = None, *,
           out_sharding: Any = None) -> Array:
    """Samples of the Gumbel distribution, with density exp(-(x + exp(-x))).

    Args:
      key: a key, typed or raw.
      shape: the result's shape.
      dtype: a float dtype.
      mode: 'low' (default), 'high' for twice the bits, good for large samples, or 'highest', which in float32 uses all of
        them, good for small samples too; for other dtypes 'highest' is 'high'.
      out_sharding: how the result is split over explicit mesh axes, a partition spec or a `NamedSharding`.

    Raises:
      ValueError: if the dtype is no float one, or the mode is unknown.

    Example:
      >>> random.gumbel(random.key(0), (2,)).shape
      (2,)
    """
    typed = typed_key("gumbel", key)
    dtype = checked_dtype("gumbel", dtype)
    mode = default_mode() if mode is None else mode
    if mode not in ("low", "high", "highest"):
        raise ValueError(f"gumbel: the mode must be 'low', 'high' or 'highest', got {mode!r}")
    if mode == "highest" and dtype == np.float32:
        return _finest_gumbel(typed, shape=checked_shape("gumbel", shape))
    return _gumbel(typed, shape=checked_shape("gumbel", shape), dtype=dtype, mode=mode)


def default_mode() -> str:
    """The mode of Gumbel samples where none is given."""
    return "high" if config.high_dynamic_range_gumbel.value else "low"


@fused(static_argnames=("shape", "dtype", "mode"))
def _gumbel(key: ArrayLike, *, shape: tuple[int, ...], dtype: np.dtype, mode: str) -> Array:
    info = dtypes.finfo(dtype)
    if mode == "low":
        return e.neg(e.log(e.neg(e.log(_bounded_uniform(key, info.tiny, shape, dtype)))))
    high, low = _two_uniforms(key, shape, dtype)
    scaled = e.mul(np.array(2.0 ** -info.nmant, dtype)[()], low)
    finer = e.add(e.add(high, scaled), np.array(info.tiny, dtype)[()])
    x = e.select(e.ge(high, np.array(0.5, dtype)[()]), high, finer)
    return e.neg(e.log(e.neg(e.log1p(e.neg(x)))))


@fused(static_argnames=("shape",))
def _finest_gumbel(key: ArrayLike, *, shape: tuple[int, ...]) -> Array:
    """From 64 random bits, as a binary fraction u: it or 1 - u, whichever is at most 1/2, is a float with all 24 bits exact."""
    words = random_bits(key, 32, (2, *shape))
    high, low = (index_in_dim(words, i, keepdims=False) for i in range(2))
    u32 = np.uint32
    is_below_half = e.lt(high, u32(2**31))
    negated_low = e.add(e.bitwise_not(low), u32(1))
    negated_high = e.add(e.bitwise_not(high), e.convert_element_type(e.eq(low, u32(0)), u32))
    high, low = e.select(is_below_half, high, negated_high), e.select(is_below_half, low, negated_low)
    has_high, shift, low_shift = e.ne(high, u32(0)), e.clz(high), e.clz(low)
    joined = e.bitwise_or(e.shift_left(high, shift), e.shift_right_logical(low, e.sub(u32(32), shift)))
    leading = e.shift_right_logical(e.select(has_high, joined, e.shift_left(low, low_shift)), u32(8))
    places = e.select(has_high, shift, e.add(u32(32), low_shift))
    power = e.bitcast_convert_type(e.shift_left(e.sub(u32(127 - 24), places), u32(23)), np.float32)
    fraction = e.max(e.mul(e.convert_element_type(leading, np.float32), power), np.float32(2.0**-65))  # never 0
    logarithm = e.select(is_below_half, e.log(fraction), e.log1p(e.neg(fraction)))
    return e.neg(e.log(e.neg(logarithm)))


@takes_out_sharding
def rademacher(key: ArrayLike, shape: Sequence[int] = (), dtype: DTypeLike | None = None, *, out_sharding: Any = None) -> Array:
    """Samples that are -1 or 1 with equal probability, in an integer dtype by default.

    Args:
      key: a key, typed or raw.
      shape: the result's shape.
      dtype: a dtype of numbers; int32 by default, int64 in x64 mode.
      out_sharding: how the result is split over explicit mesh axes, a partition spec or a `NamedSharding`.

    Example:
      >>> jnp.abs(random.rademacher(random.key(0), (4,)))
      Array([1, 1, 1, 1], dtype=int32)
    """
    typed = typed_key("rademacher", key)
    dtype = dtypes.check_user_dtype_supported(int if dtype is None else dtype, "rademacher")
    return _rademacher(typed, shape=checked_shape("rademacher", shape), dtype=dtype)


@fused(static_argnames=_STATIC)
def _rademacher(key: ArrayLike, *, shape: tuple[int, ...], dtype: np.dtype) -> Array:
    half = dtypes.scalar_dtype(float).type(0.5)
    heads = e.convert_element_type(_bernoulli(key, half, shape=shape, mode="low"), dtype)
    return e.sub(e.mul(np.array(2, dtype)[()], heads), np.array(1, dtype)[()])


@takes_out_sharding
def randint(key: ArrayLike, shape: Sequence[int], minval: ArrayLike, maxval: ArrayLike, dtype: DTypeLike | None = None, *,
            out_sharding: Any = None) -> Array:
    """Uniform integers in [minval, maxval).

    The remainder of twice as many bits as the dtype has is taken, so that the bias of a width that is no power of two
    is below 2**-32.

    Args:
      key: a key, typed or raw.
      shape: the result's shape.
      minval: the least value, integers broadcast to the shape.
      maxval: one more than the greatest value; where it is not above minval, the result is minval.
      dtype: an integer dtype; int32 by default, int64 in x64 mode.
      out_sharding: how the result is split over explicit mesh axes, a partition spec or a `NamedSharding`.

    Raises:
      TypeError: if the dtype is no integer one.
      ValueError: if the bounds do not broadcast to the shape.

    Example:
      >>> random.randint(random.key(0), (4,), 0, 6)
      Array([1, 0, 2, 1], dtype=int32)
    """
    typed = typed_key("randint", key)
    dtype = dtypes.check_user_dtype_supported(int if dtype is None else dtype, "randint")
    if not dtypes.issubdtype(dtype, dtypes.integer):
        raise TypeError(f"randint only accepts integer dtypes, got {dtypes.dtype_name(dtype)}")
    shape = shape_of_parameters("randint", checked_shape("randint", shape), minval, maxval)
    info, drawn = dtypes.iinfo(dtype), dtype
    if info.bits < 32:
        drawn = np.dtype(np.int32)
        minval = _clipped(_as_integer(minval, drawn), int(info.min), int(info.max), drawn)
        maxval = _clipped(_as_integer(maxval, drawn), int(info.min), int(info.max) + 1, drawn)
    result = _randint(typed, _as_integer(minval), _as_integer(maxval), shape=shape, dtype=drawn)
    return e.convert_element_type(result, dtype)


def _as_integer(x: Any, dtype: Any = None) -> Any:
    """Integers as they are, a Python int in the default dtype; other numbers are converted to it."""
    aval = get_aval(x)
    wanted = dtype or (aval.dtype if dtypes.issubdtype(aval.dtype, dtypes.integer) else dtypes.scalar_dtype(int))
    return converted(x, wanted)


def _clipped(x: Any, low: int, high: int, dtype: np.dtype) -> Any:
    """Limited to the bounds and converted, without wrapping around."""
    own = get_aval(x).dtype
    info, target = dtypes.iinfo(own), dtypes.iinfo(dtype)
    low, high = max(low, int(info.min), int(target.min)), min(high, int(info.max), int(target.max))
    return converted(e.min(e.max(x, own.type(low)), own.type(high)), dtype)


@fused(static_argnames=_STATIC)
def _randint(key: ArrayLike, minval: ArrayLike, maxval: ArrayLike, *, shape: tuple[int, ...], dtype: np.dtype) -> Array:
    info, rank = dtypes.iinfo(dtype), len(shape)
    if info.bits not in UINT_DTYPES:
        raise TypeError(f"randint only accepts 8-, 16-, 32-, or 64-bit dtypes, got {dtypes.dtype_name(dtype)}")
    uint = UINT_DTYPES[info.bits]
    low, high = int(info.min), int(info.max)
    greatest = min(high, int(dtypes.iinfo(get_aval(maxval).dtype).max))
    is_beyond = e.gt(maxval, get_aval(maxval).dtype.type(greatest))  # maxval may be one above the dtype's range
    minval, maxval = (to_rank(_clipped(x, low, high, dtype), rank) for x in (minval, maxval))
    is_beyond = to_rank(is_beyond, rank)

    upper, lower = [random_bits(k, info.bits, shape) for k in split_typed(key)]
    one = uint.type(1)
    span = converted(e.sub(maxval, minval), uint)
    bounded = get_aval(span).shape
    span = e.select(to_shape(e.le(maxval, minval), bounded), to_shape(one, bounded), span)
    wider = e.bitwise_and(is_beyond, e.gt(maxval, minval))
    span = e.select(to_shape(wider, bounded), e.add(span, one), span)
    # upper * 2**bits + lower modulo span: 2**bits modulo span is the square of 2**(bits/2) modulo span.
    factor = e.rem(uint.type(2 ** (info.bits // 2)), span)
    factor = e.rem(e.mul(factor, factor), span)
    offset = e.rem(e.add(e.mul(e.rem(upper, span), factor), e.rem(lower, span)), span)
    return e.add(minval, converted(offset, dtype))
