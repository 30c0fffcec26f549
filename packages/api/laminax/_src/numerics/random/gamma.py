"""Samplers built on the gamma distribution, whose samples are drawn by rejection.

Every element has a key of its own and is redrawn until it is accepted; a loop runs until all are.

Source: Marsaglia and Tsang, "A simple method for generating gamma variables", 2000.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Sequence

import numpy as np

from laminax_ir.ops import elementwise as e
from laminax_ir.ops.calls import CustomJVPCall
from laminax_ir.ops.loops import while_loop
from laminax_ir.ops.polynomial import polynomial
from laminax_ir.ops.random_bits import random_split
from laminax_ir.ops.reduction import reduce_max, reduce_or, reduce_sum
from laminax_ir.ops.shape import expand_dims, full_like, iota, reshape
from laminax_ir.ops.slicing import index_in_dim
from laminax_ir.ops.special import random_gamma_grad
from laminax_ir.types import dtypes
from laminax_ir.types.avals import get_aval
from laminax_transforms.base.zeros import ZERO

from laminax._src.numerics.floor import fused, takes_out_sharding
from laminax._src.numerics.random.arguments import (
    checked_dtype,
    checked_method,
    converted,
    shape_of_parameters,
    to_shape,
)
from laminax._src.numerics.random.keys import split_typed, typed_key
from laminax._src.numerics.random.samplers import normal_real, sample_exponential, unit_uniform

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike, DTypeLike

_STATIC = ("shape", "dtype")


def _split_each(keys: ArrayLike, count: int) -> list:
    """`count` arrays of keys from an array of them."""
    many = random_split(keys, (count,))
    return [index_in_dim(many, i, axis=1, keepdims=False) for i in range(count)]


def _while_any(is_active: Callable, advance: Callable, state: tuple) -> tuple:
    """Advances the elements for which `is_active(*state)` holds, until it holds for none."""
    def body(state: tuple[ArrayLike, ...]) -> tuple[Array, ...]:
        active = is_active(*state)
        return tuple(e.select(active, new, old) for new, old in zip(advance(*state), state))
    return while_loop(lambda state: reduce_or(is_active(*state), (0,)), body, state)


def _draw(keys: ArrayLike, alpha: Any, log_space: bool) -> Any:
    """One sample, or its logarithm, per key; keys and alpha of shape [n]."""
    dtype = alpha.dtype
    zero, one, two = (full_like(alpha, value) for value in (0, 1, 2))
    constant = {value: np.array(value, dtype)[()] for value in (0, 1, 0.5, 1 / 3, 0.0331)}
    # Below 1, a sample of alpha + 1 is drawn and multiplied by a uniform one to the power 1 / alpha.
    is_large = e.ge(alpha, constant[1])
    raised = e.select(is_large, alpha, e.add(alpha, constant[1]))
    d = e.sub(raised, constant[1 / 3])
    c = e.div(constant[1 / 3], e.sqrt(d))

    def is_rejected(_keys: ArrayLike, x2: ArrayLike, v3: ArrayLike, u: ArrayLike) -> Array:
        squeeze = e.ge(u, e.sub(constant[1], e.mul(constant[0.0331], e.mul(x2, x2))))
        bound = e.add(e.mul(x2, constant[0.5]), e.mul(d, e.add(e.sub(constant[1], v3), e.log(v3))))
        return e.bitwise_and(squeeze, e.ge(e.log(u), bound))

    def redraw(keys: ArrayLike, *_: ArrayLike) -> tuple[Array, ...]:
        keys, x_keys, u_keys = _split_each(keys, 3)

        def next_normal(keys: ArrayLike, _x: ArrayLike, _v: ArrayLike) -> tuple[Array, ...]:
            keys, subkeys = _split_each(keys, 2)
            x = normal_real(subkeys, (), dtype)
            return keys, x, e.add(constant[1], e.mul(x, c))

        _, x, v = _while_any(lambda _k, _x, v: e.le(v, constant[0]), next_normal, (x_keys, zero, e.neg(one)))
        return keys, e.mul(x, x), e.mul(e.mul(v, v), v), unit_uniform(u_keys, (), dtype)

    keys, boost_keys = _split_each(keys, 2)
    _, _, v3, _ = _while_any(is_rejected, redraw, (keys, zero, one, two))
    if log_space:
        log_uniform = e.neg(sample_exponential(boost_keys, (), dtype))
        unboosted = e.bitwise_or(is_large, e.eq(log_uniform, constant[0]))
        boost = e.select(unboosted, zero, e.mul(log_uniform, e.div(constant[1], alpha)))
        return e.add(e.add(e.log(d), e.log(v3)), boost)
    samples = e.sub(constant[1], unit_uniform(boost_keys, (), dtype))
    boost = e.select(is_large, one, e.pow(samples, e.div(constant[1], alpha)))
    return e.mul(e.mul(d, v3), boost)


def _slope(sample: Array, a: Array, log_space: bool) -> Array:
    """The derivative of the sample by a, at a fixed value of the distribution function."""
    if not log_space:
        return random_gamma_grad(a, sample)
    value = e.exp(sample)
    value = e.select(e.eq(value, np.array(0, value.dtype)[()]), full_like(value, dtypes.finfo(value.dtype).tiny), value)
    return e.div(random_gamma_grad(a, value), value)


def _random_gamma(key: ArrayLike, a: ArrayLike, log_space: bool) -> Array:
    """Samples of the shape of a, differentiable with respect to a."""
    shape, size = a.shape, get_aval(a).size

    def fun(key: ArrayLike, a: Any) -> list[Any]:
        return [reshape(_draw(random_split(key, (size,)), reshape(a, (size,)), log_space), shape)] if size else [a]

    def jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Array], list[Array]]:
        (sample,) = fun(*primals)
        a_dot = tangents[1]
        return [sample], [ZERO if a_dot is ZERO else e.mul(a_dot, _slope(sample, primals[1], log_space))]

    return CustomJVPCall(fun, jvp, [key, a], "random_gamma").bind()[0]


# log Γ-distributed samples without a loop. A standard normal sample x gives one of the chi-square distribution with ν degrees of freedom as
# ν (Σ p_k(1/ν) (x/√ν)^k)³, where p_k are these quadratics: Goldstein, "Algorithm 451: Chi-square quantiles", 1973, with a first
# coefficient of exactly 1, which large ν need. It holds for ν from about 8 on: Stuart, "Gamma-distributed products of independent random
# variables", 1962, has the logarithm of a smaller sample as that of a + 4 and four terms log(u) / (a + k) more.
_CHI_SQUARE_ROOT = (
    (1.0, -0.2237368, -0.01513904),
    (0.4713941, 0.02607083, -0.008986007),
    (0.0001348028, 0.01128186, 0.02277679),
    (-0.008553069, -0.01153761, -0.01323293),
    (0.00312558, 0.005169654, -0.006950356),
    (-0.0008426812, 0.00253001, 0.001060438),
    (0.00009780499, -0.001450117, 0.001565326),
)
_RAISED = 4


def _log_approximate(key: ArrayLike, a: Array) -> Array:
    """Logarithms of samples of the shape of a, float32 or float64, from the quantiles of the chi-square distribution."""
    base_key, raise_key = split_typed(key)
    raised = e.add(a, np.array(_RAISED, a.dtype)[()])
    k = reshape(iota(a.dtype, _RAISED), (_RAISED,) + (1,) * a.ndim)
    logs = e.neg(sample_exponential(raise_key, (_RAISED, *a.shape), a.dtype))
    return e.add(_log_of_large(base_key, raised), reduce_sum(e.div(logs, e.add(expand_dims(a, (0,)), k)), (0,)))


def _log_of_large(key: ArrayLike, a: Array) -> Array:
    """log(a root³), root³ being a chi-square sample over its degrees of freedom ν = 2 a."""
    degrees = e.mul(np.array(2, a.dtype)[()], a)
    x = normal_real(key, a.shape, a.dtype)
    inverse = e.div(np.array(1, a.dtype)[()], degrees)
    root = polynomial(e.mul(x, e.rsqrt(degrees)), [polynomial(inverse, row) for row in _CHI_SQUARE_ROOT])
    root = e.max(root, np.array(dtypes.finfo(a.dtype).tiny, a.dtype)[()])
    return e.add(e.log(a), e.mul(np.array(3, a.dtype)[()], e.log(root)))


def _approximate(key: ArrayLike, a: Array, log_space: bool) -> Array:
    """Samples of the shape and dtype of a, computed in float32 at least."""
    dtype = a.dtype
    log = _log_approximate(key, e.convert_element_type(a, np.float32) if dtypes.finfo(dtype).bits < 32 else a)
    return e.convert_element_type(log if log_space else e.exp(log), dtype)


def _sampled(key: ArrayLike, a: Any, log_space: bool, method: str) -> Any:
    return _random_gamma(key, a, log_space) if method == "exact" else _approximate(key, a, log_space)


def _checked(name: str, key: ArrayLike, parameters: Sequence[ArrayLike], shape: Any, dtype: np.dtype | None) -> Any:
    typed = typed_key(name, key)
    dtype = checked_dtype(name, dtype)
    return typed, [converted(p, dtype) for p in parameters], shape_of_parameters(name, shape, *parameters), dtype


@takes_out_sharding
def gamma(key: ArrayLike, a: ArrayLike, shape: Sequence[int] | None = None, dtype: DTypeLike | None = None, *, method: str = "exact",
          out_sharding: Any = None) -> Array:
    """Samples of the gamma distribution, with density x**(a - 1) exp(-x) / Γ(a).

    Args:
      key: a key, typed or raw.
      a: the positive shape parameter, broadcast to the shape; samples are differentiable with respect to it.
      shape: the result's shape; by default that of a.
      dtype: a float dtype.
      method: "exact", by rejection, or "approximate": without a loop, faster, with a small bias and another derivative.
      out_sharding: how the result is split over explicit mesh axes, a partition spec or a `NamedSharding`.

    Raises:
      ValueError: if the dtype is no float one, or a does not broadcast to the shape.

    Example:
      >>> random.gamma(random.key(0), 2.0, (10000,)).mean().round(1)
      Array(2., dtype=float32)
    """
    typed, (a,), shape, _ = _checked("gamma", key, [a], shape, dtype)
    return _gamma(typed, a, shape=shape, log_space=False, method=checked_method("gamma", method))


@takes_out_sharding
def loggamma(key: ArrayLike, a: ArrayLike, shape: Sequence[int] | None = None, dtype: DTypeLike | None = None, *, method: str = "exact",
             out_sharding: Any = None) -> Array:
    """Logarithms of samples of the gamma distribution, for small a, where the samples themselves would underflow.

    Args:
      key: a key, typed or raw.
      a: the positive shape parameter, broadcast to the shape.
      shape: the result's shape; by default that of a.
      dtype: a float dtype.
      method: "exact", by rejection, or "approximate": without a loop, faster, with a small bias and another derivative.
      out_sharding: how the result is split over explicit mesh axes, a partition spec or a `NamedSharding`.

    Example:
      >>> random.loggamma(random.key(0), 1e-3, (2,)).shape
      (2,)
    """
    typed, (a,), shape, _ = _checked("loggamma", key, [a], shape, dtype)
    return _gamma(typed, a, shape=shape, log_space=True, method=checked_method("loggamma", method))


@fused(static_argnames=("shape", "log_space", "method"))
def _gamma(key: ArrayLike, a: ArrayLike, *, shape: tuple[int, ...], log_space: bool, method: str) -> Array:
    return _sampled(key, to_shape(a, shape), log_space, method)


@takes_out_sharding
def beta(key: ArrayLike, a: ArrayLike, b: ArrayLike, shape: Sequence[int] | None = None, dtype: DTypeLike | None = None, *,
         method: str = "exact",
         out_sharding: Any = None) -> Array:
    """Samples of the beta distribution, with density proportional to x**(a - 1) (1 - x)**(b - 1).

    Args:
      key: a key, typed or raw.
      a, b: the positive parameters, broadcast to the shape.
      shape: the result's shape; by default their common one.
      dtype: a float dtype.
      method: "exact", by rejection, or "approximate": without a loop, faster, with a small bias and another derivative.
      out_sharding: how the result is split over explicit mesh axes, a partition spec or a `NamedSharding`.

    Example:
      >>> random.beta(random.key(0), 2.0, 3.0, (2,)).shape
      (2,)
    """
    typed, (a, b), shape, dtype = _checked("beta", key, [a, b], shape, dtype)
    return _beta(typed, a, b, shape=shape, method=checked_method("beta", method))


@fused(static_argnames=("shape", "method"))
def _beta(key: ArrayLike, a: ArrayLike, b: ArrayLike, *, shape: tuple[int, ...], method: str) -> Array:
    """X / (X + Y) of two gamma samples, in units of the larger one."""
    logs = [_sampled(k, to_shape(p, shape), True, method) for k, p in zip(split_typed(key), (a, b))]
    greatest = e.max(*logs)
    x, y = (e.exp(e.sub(log, greatest)) for log in logs)
    return e.div(x, e.add(x, y))


@takes_out_sharding
def dirichlet(key: ArrayLike, alpha: ArrayLike, shape: Sequence[int] | None = None, dtype: DTypeLike | None = None, *,
              out_sharding: Any = None) -> Array:
    """Samples of the Dirichlet distribution: non-negative vectors of sum 1.

    Args:
      key: a key, typed or raw.
      alpha: the positive parameters, [..., n].
      shape: the shape of the batch of vectors, to which alpha's leading axes broadcast; those axes by default.
      dtype: a float dtype.
      out_sharding: how the result is split over explicit mesh axes, a partition spec or a `NamedSharding`.

    Returns:
      An array of shape `(*shape, n)`.

    Raises:
      ValueError: if alpha is a scalar, or does not broadcast to the shape.

    Example:
      >>> random.dirichlet(random.key(0), jnp.ones(3)).sum().round(4)
      Array(1., dtype=float32)
    """
    typed = typed_key("dirichlet", key)
    dtype = checked_dtype("dirichlet", dtype)
    aval = get_aval(alpha)
    if not aval.ndim:
        raise ValueError("dirichlet requires alpha.ndim >= 1, got alpha.ndim == 0")
    batch = np.broadcast_to(np.empty((), bool), aval.shape[:-1])
    shape = shape_of_parameters("dirichlet", shape, batch)
    return _dirichlet(typed, converted(alpha, dtype), shape=(*shape, aval.shape[-1]))


@fused(static_argnames=("shape",))
def _dirichlet(key: ArrayLike, alpha: ArrayLike, *, shape: tuple[int, ...]) -> Array:
    logs = _random_gamma(key, to_shape(alpha, shape), True)
    last = (len(shape) - 1,)
    greatest = e.stop_gradient_one(expand_dims(reduce_max(logs, last), last))
    weights = e.exp(e.sub(logs, greatest))
    return e.div(weights, expand_dims(reduce_sum(weights, last), last))


@takes_out_sharding
def chisquare(key: ArrayLike, df: ArrayLike, shape: Sequence[int] | None = None, dtype: DTypeLike | None = None, *, method: str = "exact",
              out_sharding: Any = None) -> Array:
    """Samples of the chi-square distribution, the sum of the squares of df standard normal samples.

    Args:
      key: a key, typed or raw.
      df: the positive degrees of freedom, broadcast to the shape.
      shape: the result's shape; by default that of df.
      dtype: a float dtype.
      method: "exact", by rejection, or "approximate": without a loop, faster, with a small bias and another derivative.
      out_sharding: how the result is split over explicit mesh axes, a partition spec or a `NamedSharding`.

    Example:
      >>> random.chisquare(random.key(0), 3.0, shape=(2,)).shape
      (2,)
    """
    typed, (df,), shape, dtype = _checked("chisquare", key, [df], shape, dtype)
    return _chisquare(typed, df, shape=shape, method=checked_method("chisquare", method))


@fused(static_argnames=("shape", "method"))
def _chisquare(key: ArrayLike, df: ArrayLike, *, shape: tuple[int, ...], method: str) -> Array:
    half = np.array(0.5, df.dtype)[()]
    log = _sampled(key, to_shape(e.mul(half, df), shape), True, method)
    return e.mul(np.array(2, df.dtype)[()], e.exp(log))


@takes_out_sharding
def t(key: ArrayLike, df: ArrayLike, shape: Sequence[int] | None = None, dtype: DTypeLike | None = None, *,
      out_sharding: Any = None) -> Array:
    """Samples of Student's t distribution.

    Args:
      key: a key, typed or raw.
      df: the positive degrees of freedom, broadcast to the shape.
      shape: the result's shape; by default that of df.
      dtype: a float dtype.
      out_sharding: how the result is split over explicit mesh axes, a partition spec or a `NamedSharding`.

    Example:
      >>> random.t(random.key(0), 3.0, (2,)).shape
      (2,)
    """
    typed, (df,), shape, dtype = _checked("t", key, [df], shape, dtype)
    return _t(typed, df, shape=shape, dtype=dtype)


@fused(static_argnames=_STATIC)
def _t(key: ArrayLike, df: ArrayLike, *, shape: tuple[int, ...], dtype: np.dtype) -> Array:
    normal_key, gamma_key = split_typed(key)
    half_df = e.div(df, np.array(2, dtype)[()])
    numerator = normal_real(normal_key, shape, dtype)
    g = _random_gamma(gamma_key, to_shape(half_df, shape), False)
    return e.mul(numerator, e.sqrt(e.div(to_shape(half_df, shape), g)))
