"""Moments of the input, and the affine map that makes them 0 and 1: what the normalization layers share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from laminax_ir.ops.collectives import pmean
from laminax_ir.ops.elementwise import imag, real, rsqrt, square

from laminax._src.linen.layers.dtypes import canonicalize_dtype
from laminax._src.numerics.numpy import namespace as jnp

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array


def moments(layer: Any, x: Array, axes: tuple[int, ...], *, use_mean: bool = True, mask: Array | None = None,
            axis_name: Any = None) -> tuple[Array, Array]:
    """Mean and variance of an input along axes, as a layer's attributes ask for them.

    The layer says in which dtype (`dtype`, at least float32 with `force_float32_reductions`), by which formula (with
    `use_fast_variance` the mean of squares less the square of the mean, otherwise the mean of squared deviations), and in
    which groups along a named axis (`axis_index_groups`).

    Args:
      layer: the normalization layer.
      x: the input.
      axes: counted from the front.
      use_mean: whether the variance is one about the mean; otherwise about 0, and 0 is the mean that is returned.
      mask: bool, broadcast to x: which elements count.
      axis_name: a mapped axis along which the mean is taken too, or None.

    Returns:
      Mean and variance, without `axes`.
    """
    dtype = jnp.result_type(x) if layer.dtype is None else layer.dtype
    if layer.force_float32_reductions:
        dtype = jnp.promote_types(dtype, jnp.float32)
    x = jnp.asarray(x, dtype)
    mask = None if mask is None else jnp.asarray(mask, dtype=bool)

    def means(*values: Array) -> Sequence[Array]:
        within = [value.mean(axes, where=mask) for value in values]
        if axis_name is None:
            return within
        if len(within) == 1:
            return [pmean(within[0], axis_name, axis_index_groups=layer.axis_index_groups)]
        across = pmean(jnp.stack(within), axis_name, axis_index_groups=layer.axis_index_groups)  # one exchange for both
        return [across[i] for i in range(len(within))]

    if not use_mean:
        (variance,) = means(_squared_magnitude(x))
        return jnp.zeros_like(variance), variance
    if layer.use_fast_variance:
        mean, mean_of_squares = means(x, _squared_magnitude(x))
        # the difference of two nearly equal numbers may come out below zero
        return mean, jnp.maximum(0.0, mean_of_squares - _squared_magnitude(mean))
    (mean,) = means(x)
    (variance,) = means(_squared_magnitude(x - jnp.expand_dims(mean, axes)))
    return mean, variance


def _squared_magnitude(x: Array) -> Array:
    return square(real(x)) + square(imag(x)) if jnp.iscomplexobj(x) else square(x)


def normalized(layer: Any, x: Array, mean: Array, variance: Array, reduced: tuple[int, ...], features: tuple[int, ...], *,
               use_bias: bool) -> Array:
    """(x - mean) / sqrt(variance + epsilon), scaled and shifted by the layer's parameters, one number for each feature.

    Args:
      layer: the normalization layer, whose parameters `scale` and `bias` these are.
      x: the input.
      mean, variance: without the axes `reduced`.
      reduced: the axes of x that they lack, counted from the front.
      features: the axes of x that the parameters have.
      use_bias: whether there is a bias.

    Returns:
      An array of x's shape, in the layer's dtype, by default the one that x and the parameters promote to.
    """
    y = x - jnp.expand_dims(mean, reduced)
    factor = rsqrt(jnp.expand_dims(variance, reduced) + layer.epsilon)
    typed = [x]
    if layer.use_scale:
        scale = feature_parameter(layer, "scale", layer.scale_init, x.shape, features)
        factor = factor * scale
        typed.append(scale)
    y = y * factor
    if use_bias:
        bias = feature_parameter(layer, "bias", layer.bias_init, x.shape, features)
        y = y + bias
        typed.append(bias)
    return jnp.asarray(y, canonicalize_dtype(*typed, dtype=layer.dtype))


def feature_parameter(layer: Any, name: str, init: Any, shape: tuple[int, ...], features: tuple[int, ...]) -> Array:
    """A parameter with an element for each feature, in a shape that broadcasts against the input's."""
    value = layer.param(name, init, [shape[axis] for axis in features], layer.param_dtype)
    value = value.reshape([size if axis in features else 1 for axis, size in enumerate(shape)])
    return value if getattr(layer, "force_float32_reductions", True) else jnp.asarray(value, layer.param_dtype)
