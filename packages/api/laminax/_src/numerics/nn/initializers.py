"""Random and constant initial values of parameters.

The variance-scaling family draws with variance scale / n, where n is the number of inputs of a unit (fan-in), of its
outputs (fan-out), or their mean. Sources: Glorot, Bengio, AISTATS 2010 (glorot/xavier); He et al., ICCV 2015
(he/kaiming); LeCun et al., "Efficient BackProp", 1998 (lecun); Saxe et al., ICLR 2014 (orthogonal).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Callable, Protocol, Sequence

import numpy as np

from laminax_ir.ops.special import erf_inv

from laminax._src.numerics.floor import takes_out_sharding
from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.numpy.linalg import factorizations
from laminax._src.numerics.random import keys as random_keys
from laminax._src.numerics.random import samplers

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike, DTypeLike


class Initializer(Protocol):
    """The type of what makes parameters, for annotations: `init(key, shape, dtype)`.

    Example:
      >>> def layer(init: nn.initializers.Initializer):
      ...     return init(random.key(0), (2, 3), jnp.float32)
      >>> layer(nn.initializers.ones).shape
      (2, 3)
    """

    def __call__(self, key: Any, shape: Sequence[int], dtype: Any = None, out_sharding: Any = None) -> Any:
        """Makes an array of the shape."""


@takes_out_sharding
def zeros(key: ArrayLike, shape: Sequence[int], dtype: DTypeLike | None = None, out_sharding: Any = None) -> Array:
    """Zeros; the key is not used.

    Example:
      >>> nn.initializers.zeros(random.key(0), (3,))
      Array([0., 0., 0.], dtype=float32)
    """
    return jnp.zeros(shape, _dtype(dtype))


@takes_out_sharding
def ones(key: ArrayLike, shape: Sequence[int], dtype: DTypeLike | None = None, out_sharding: Any = None) -> Array:
    """Ones; the key is not used.

    Example:
      >>> nn.initializers.ones(random.key(0), (3,))
      Array([1., 1., 1.], dtype=float32)
    """
    return jnp.ones(shape, _dtype(dtype))


def _dtype(dtype: Any) -> Any:
    return jnp.result_type(float) if dtype is None else dtype


def constant(value: ArrayLike, dtype: DTypeLike | None = None) -> Initializer:
    """An initializer that fills with `value`, a scalar or an array that broadcasts to the shape.

    Args:
      value: a scalar, or an array that broadcasts to the shape.
      dtype: the dtype where the call of the initializer names none; by default the default float.

    Returns:
      An initializer: `init(key, shape, dtype)` returns an array.

    Example:
      >>> nn.initializers.constant(0.5)(random.key(0), (2, 2))
      Array([[0.5, 0.5],
             [0.5, 0.5]], dtype=float32)
    """
    @takes_out_sharding
    def init(key: ArrayLike, shape: tuple[int, ...], dtype: Any = dtype, out_sharding: Any = None) -> Array:
        return jnp.full(shape, value, _dtype(dtype))
    return init


def uniform(scale: ArrayLike = 1e-2, dtype: DTypeLike | None = None) -> Initializer:
    """An initializer drawing uniformly from [0, scale).

    Args:
      scale: the upper bound.
      dtype: the dtype where the call of the initializer names none; by default the default float.

    Returns:
      An initializer: `init(key, shape, dtype)` returns an array.

    Example:
      >>> nn.initializers.uniform(scale=0.1)(random.key(0), (2, 3)).shape
      (2, 3)
    """
    @takes_out_sharding
    def init(key: Any, shape: Any, dtype: Any = dtype, out_sharding: Any = None) -> Any:
        return samplers.uniform(key, shape, _dtype(dtype)) * jnp.array(scale, _dtype(dtype))
    return init


def normal(stddev: ArrayLike = 1e-2, dtype: DTypeLike | None = None) -> Initializer:
    """An initializer drawing from the normal distribution with mean 0 and standard deviation `stddev`.

    Args:
      stddev: the standard deviation.
      dtype: the dtype where the call of the initializer names none; by default the default float.

    Returns:
      An initializer: `init(key, shape, dtype)` returns an array.

    Example:
      >>> nn.initializers.normal(stddev=0.01)(random.key(0), (2, 3)).shape
      (2, 3)
    """
    @takes_out_sharding
    def init(key: ArrayLike, shape: tuple[int, ...], dtype: Any = dtype, out_sharding: Any = None) -> Array:
        return _scaled_normal(key, shape, _dtype(dtype), jnp.array(stddev, _dtype(dtype)))
    return init


def _scaled_normal(key: ArrayLike, shape: Sequence[int], dtype: DTypeLike, stddev: Array) -> Array:
    """stddev times the normal distribution, by one product: the order of the arithmetic decides the last bits, which are those of JAX."""
    if jnp.issubdtype(dtype, jnp.complexfloating):
        return samplers.normal(key, shape, dtype) * stddev
    above_minus_one = np.nextafter(np.array(-1, dtype), np.array(0, dtype), dtype=dtype)
    return jnp.array(math.sqrt(2), dtype) * stddev * erf_inv(samplers.uniform(key, shape, dtype, above_minus_one, np.array(1, dtype)))


def truncated_normal(stddev: ArrayLike = 1e-2, dtype: DTypeLike | None = None, lower: ArrayLike = -2.0,
                     upper: ArrayLike = 2.0) -> Initializer:
    """An initializer drawing stddev times the normal distribution truncated to [lower, upper].

    Args:
      stddev: the factor, which is the standard deviation before the truncation.
      dtype: the dtype where the call of the initializer names none; by default the default float.
      lower: the lower bound, before the factor.
      upper: the upper bound, before the factor.

    Returns:
      An initializer: `init(key, shape, dtype)` returns an array.

    Example:
      >>> abs(nn.initializers.truncated_normal(stddev=1.0)(random.key(0), (100,))).max() < 2.3
      Array(True, dtype=bool)
    """
    @takes_out_sharding
    def init(key: Any, shape: Any, dtype: Any = dtype, out_sharding: Any = None) -> Any:
        return samplers.truncated_normal(key, lower, upper, shape, _dtype(dtype)) * jnp.array(stddev, _dtype(dtype))
    return init


def variance_scaling(scale: float, mode: str, distribution: str, in_axis: int | Sequence[int] = -2,
                     out_axis: int | Sequence[int] = -1, batch_axis: int | Sequence[int] = (),
                     dtype: DTypeLike | None = None) -> Initializer:
    """An initializer with variance scale / n.

    Args:
      scale: positive.
      mode: what n is: "fan_in", "fan_out", "fan_avg", or "fan_geo_avg" (geometric mean).
      distribution: "normal", "truncated_normal" or "uniform".
      in_axis, out_axis: the axes of inputs and outputs; the remaining ones are a receptive field.
      batch_axis: axes that are left out of the count.
      dtype: default dtype. Complex numbers have uniform phases: the absolute values of "uniform" ones are those of a disc, of
        "truncated_normal" ones those below 2 of a complex normal distribution, times a number that makes the variance right.

    Raises:
      ValueError: for an unknown mode or distribution, or a shape with too few axes.

    Example:
      >>> nn.initializers.variance_scaling(2.0, "fan_in", "normal")(random.key(0), (64, 32)).std().round(2)
      Array(0.17999999, dtype=float32)
    """
    if mode not in _FANS:
        raise ValueError(f"variance_scaling: invalid mode for variance scaling initializer: it must be one of {', '.join(_FANS)}, got "
                         f"{mode!r}")
    if distribution not in ("normal", "truncated_normal", "uniform"):
        raise ValueError("variance_scaling: distribution must be 'normal', 'truncated_normal' or 'uniform', got "
                         f"{distribution!r}")

    @takes_out_sharding
    def init(key: ArrayLike, shape: tuple[int, ...], dtype: Any = dtype, out_sharding: Any = None) -> Array:
        dtype = _dtype(dtype)
        is_complex = jnp.issubdtype(dtype, jnp.complexfloating)
        fan_in, fan_out = _fans(tuple(shape), in_axis, out_axis, batch_axis)
        units = _FANS[mode](fan_in, fan_out)
        variance = jnp.array(scale / units if units else 0, dtype=dtype)
        if distribution == "normal":
            return _scaled_normal(key, shape, dtype, jnp.sqrt(variance))
        if distribution == "uniform":
            if is_complex:
                return _complex_within(key, shape, variance.dtype, jnp.sqrt) * jnp.sqrt(2 * variance)  # a disc of radius 1 has variance 1/2
            return samplers.uniform(key, shape, dtype, -1) * jnp.sqrt(3 * variance)
        if is_complex:
            # |z| < 2 of the complex normal distribution, whose |z|**2 has the distribution 1 - exp(-|z|**2)
            draw = _complex_within(key, shape, variance.dtype, lambda u: jnp.sqrt(-jnp.log1p(math.expm1(-4) * u)))
            # JAX's number for the standard deviation, 0.9620 to four digits: parameters should be those of JAX
            return draw * (jnp.sqrt(variance) / jnp.array(0.95311164380491208, dtype))
        # the standard deviation of the normal distribution truncated to [-2, 2]
        stddev = jnp.sqrt(variance) / jnp.array(0.87962566103423978, dtype)
        return samplers.truncated_normal(key, -2, 2, shape, dtype) * stddev

    return init


def _complex_within(key: ArrayLike, shape: Sequence[int], dtype: Any, radius: Callable) -> Array:
    """Complex numbers of uniform phase, whose absolute values are a function of uniform draws from [0, 1)."""
    radius_key, phase_key = random_keys.split(key)
    real = jnp.zeros((), dtype).real.dtype
    phases = 2 * jnp.pi * samplers.uniform(phase_key, shape, real)
    return radius(samplers.uniform(radius_key, shape, real)).astype(dtype) * jnp.exp(1j * phases.astype(dtype))


_FANS: dict[str, Callable[[float, float], float]] = {
    "fan_in": lambda fan_in, fan_out: fan_in,
    "fan_out": lambda fan_in, fan_out: fan_out,
    "fan_avg": lambda fan_in, fan_out: (fan_in + fan_out) / 2,
    "fan_geo_avg": lambda fan_in, fan_out: math.sqrt(fan_in * fan_out),
}


def _fans(shape: tuple[int, ...], in_axis: Any, out_axis: Any, batch_axis: Any) -> tuple[float, float]:
    if len(shape) <= 1 and in_axis == -2:
        raise ValueError(f"Can't compute input and output sizes of a {len(shape)}-dimensional weights tensor with default in_axis. Must be "
                         f"at least 2D or specify in_axis explicitly. Got shape {shape}.")
    in_size, out_size, batch_size = (math.prod(shape[i] for i in ((axes,) if isinstance(axes, int) else axes))
                                     for axes in (in_axis, out_axis, batch_axis))
    sizes = in_size * out_size * batch_size
    receptive_field = math.prod(shape) / sizes if sizes else 0
    return in_size * receptive_field, out_size * receptive_field


def _scaled(name: str, scale: float, mode: str, distribution: str, source: str, deviation: str, paper: str) -> Callable:
    def make(in_axis: int | Sequence[int] = -2, out_axis: int | Sequence[int] = -1, batch_axis: int | Sequence[int] = (),
             dtype: DTypeLike | None = None) -> Initializer:
        return variance_scaling(scale, mode, distribution, in_axis=in_axis, out_axis=out_axis, batch_axis=batch_axis,
                                dtype=dtype)
    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"""The {source} initializer: variance_scaling({scale}, {mode!r}, {distribution!r}).

    Args:
      in_axis: the axis or axes of the layer's inputs.
      out_axis: the axis or axes of its outputs.
      batch_axis: the axis or axes of layers that are independent of each other.
      dtype: the dtype of the parameters; the default float dtype where it is None.

    Returns:
      A function of a key, a shape and a dtype, by default that above, which returns an array.

    Raises:
      ValueError: when it is called, if the shape has not the axes.

    Example:
      >>> w = nn.initializers.{name}()(random.key(0), (200, 100))
      >>> abs(w.std() - {deviation}) < 0.002
      Array(True, dtype=bool)

    Source: {paper}.
    """
    return make


_GLOROT = 'X. Glorot and Y. Bengio, "Understanding the difficulty of training deep feedforward neural networks", AISTATS 2010'
_LECUN = 'Y. LeCun et al., "Efficient BackProp", in "Neural Networks: Tricks of the Trade" (1998)'
_HE = 'K. He et al., "Delving Deep into Rectifiers", ICCV 2015'
_PER_BOTH, _PER_INPUT = "(1 / 150) ** 0.5", "(1 / 200) ** 0.5"  # the standard deviations of parameters of shape (200, 100)

glorot_uniform = xavier_uniform = _scaled("glorot_uniform", 1.0, "fan_avg", "uniform", "Glorot (Xavier) uniform", _PER_BOTH, _GLOROT)
glorot_normal = xavier_normal = _scaled("glorot_normal", 1.0, "fan_avg", "truncated_normal", "Glorot (Xavier) normal", _PER_BOTH, _GLOROT)
lecun_uniform = _scaled("lecun_uniform", 1.0, "fan_in", "uniform", "LeCun uniform", _PER_INPUT, _LECUN)
lecun_normal = _scaled("lecun_normal", 1.0, "fan_in", "truncated_normal", "LeCun normal", _PER_INPUT, _LECUN)
he_uniform = kaiming_uniform = _scaled("he_uniform", 2.0, "fan_in", "uniform", "He (Kaiming) uniform", "(2 / 200) ** 0.5", _HE)
he_normal = kaiming_normal = _scaled("he_normal", 2.0, "fan_in", "truncated_normal", "He (Kaiming) normal", "(2 / 200) ** 0.5", _HE)


def orthogonal(scale: float = 1.0, column_axis: int = -1, dtype: DTypeLike | None = None) -> Initializer:
    """An initializer of uniformly distributed orthogonal matrices times `scale`.

    Args:
      scale: factor.
      column_axis: the axis of the columns; the others together are the rows. Rows or columns, whichever are fewer, are
        orthonormal.

    Returns:
      An initializer: `init(key, shape, dtype)` returns an array, and raises a ValueError for a shape of fewer than two axes.

    Example:
      >>> w = nn.initializers.orthogonal()(random.key(0), (3, 3))
      >>> jnp.allclose(w @ w.T, jnp.eye(3), atol=1e-5)
      Array(True, dtype=bool)
    """
    @takes_out_sharding
    def init(key: ArrayLike, shape: tuple[int, ...], dtype: Any = dtype, out_sharding: Any = None) -> Array:
        if len(shape) < 2:
            raise ValueError(f"orthogonal initializer requires at least a 2D shape, got {tuple(shape)}")
        dtype = _dtype(dtype)
        columns = shape[column_axis]
        if 0 in shape:
            return jnp.zeros(shape, dtype)
        rows = math.prod(shape) // columns
        tall = (max(rows, columns), min(rows, columns))
        q, r = factorizations.qr(samplers.normal(key, tall, dtype))
        q = q * jnp.sign(jnp.diag(r))[None]  # makes the distribution uniform
        q = q if rows >= columns else q.T
        q = q.reshape(*(size for i, size in enumerate(shape) if i != column_axis % len(shape)), columns)
        return scale * jnp.moveaxis(q, -1, column_axis)
    return init


def delta_orthogonal(scale: float = 1.0, column_axis: int = -1, dtype: DTypeLike | None = None) -> Initializer:
    """An initializer of convolution kernels that are orthogonal at the centre and zero elsewhere.

    Args:
      scale: factor.
      column_axis: the axis of the columns of the matrix at the centre, as for `orthogonal`.
      dtype: the dtype where the call of the initializer names none; by default the default float.

    Returns:
      An initializer: `init(key, shape, dtype)` returns an array, and raises a ValueError for other shapes than those below.

    Example:
      >>> nn.initializers.delta_orthogonal()(random.key(0), (3, 3, 4, 8)).shape
      (3, 3, 4, 8)

    Source: Xiao et al., "Dynamical Isometry and a Mean Field Theory of CNNs", ICML 2018. Shapes have 3 to 5 axes, input
    and output features last, with at least as many outputs as inputs.
    """
    @takes_out_sharding
    def init(key: ArrayLike, shape: tuple[int, ...], dtype: Any = dtype, out_sharding: Any = None) -> Array:
        if len(shape) not in (3, 4, 5):
            raise ValueError(f"Delta orthogonal initializer requires a 3D, 4D or 5D shape, got {tuple(shape)}.")
        if shape[-1] < shape[-2]:
            raise ValueError(f"`fan_in` must be less or equal than `fan_out`, got shape {tuple(shape)}.")
        dtype = _dtype(dtype)
        matrix = orthogonal(scale, column_axis, dtype)(key, tuple(shape[-2:]))
        centre = tuple((size - 1) // 2 for size in shape[:-2])
        return jnp.zeros(shape, dtype).at[centre].set(matrix)
    return init
