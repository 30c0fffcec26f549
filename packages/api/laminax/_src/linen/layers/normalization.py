"""Layers that normalize their input to mean 0 and variance 1 along some axes, then scale and shift each feature."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from laminax._src.linen.calls import compact, nowrap
from laminax._src.linen.functional import merge_param
from laminax._src.linen.layers.arguments import canonical_axes
from laminax._src.linen.layers.statistics import moments, normalized
from laminax._src.linen.module import Module
from laminax._src.numerics.nn import initializers
from laminax._src.numerics.numpy import namespace as jnp

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, DTypeLike


class BatchNorm(Module):
    """Batch normalization: mean and variance over all axes but those of the features, in training those of the batch.

    Parameters: `scale` and `bias`. Variables: `mean` and `var` in the collection `batch_stats`, moving averages of the
    statistics. They are updated where statistics are computed, except by `init`; make the collection mutable for that.

    Attributes:
      use_running_average: whether the moving averages are used (at evaluation) in place of the batch's statistics (in training);
        given here or to the call.
      axis: the axis of the features, or several.
      momentum: the weight of the old value in the moving averages.
      epsilon: added to the variance.
      dtype: the dtype of the result; by default the one that inputs and parameters promote to.
      param_dtype: the dtype of the parameters.
      use_bias: whether a bias is added.
      use_scale: whether the result is scaled.
      bias_init: initializer of the bias.
      scale_init: initializer of the scale.
      axis_name: a mapped axis (of `vmap`, `pmap`, `shard_map`) over which statistics are taken too; not during `init`.
      axis_index_groups: groups of indices of that axis, each with statistics of its own.
      use_fast_variance: whether the variance is the mean of squares less the square of the mean: one pass, less exact.
      force_float32_reductions: whether statistics have at least float32.

    Source: Ioffe, Szegedy, "Batch Normalization", ICML 2015.

    Example:
      >>> import laminax as lx
      >>> from laminax import linen as nn, numpy as jnp
      >>> layer = nn.BatchNorm(use_running_average=False, momentum=0.9)
      >>> x = jnp.array([[1.0, 2.0], [3.0, 6.0]])
      >>> variables = layer.init(lx.random.key(0), x)
      >>> y, updates = layer.apply(variables, x, mutable=["batch_stats"])
      >>> updates["batch_stats"]["mean"]
      Array([0.2, 0.4], dtype=float32)
    """

    use_running_average: bool | None = None
    axis: int | Sequence[int] = -1
    momentum: float = 0.99
    epsilon: float = 1e-5
    dtype: DTypeLike | None = None
    param_dtype: DTypeLike = jnp.float32
    use_bias: bool = True
    use_scale: bool = True
    bias_init: Any = initializers.zeros
    scale_init: Any = initializers.ones
    axis_name: Any = None
    axis_index_groups: Any = None
    use_fast_variance: bool = True
    force_float32_reductions: bool = True

    @compact
    def __call__(self, x: Array, use_running_average: bool | None = None, *, mask: Array | None = None) -> Array:
        """Normalizes the input.

        Args:
          x: the input.
          use_running_average: whether the moving averages are used, where the layer was made without saying so.
          mask: bool, broadcast to x: which elements count in the statistics.
        """
        use_running_average = merge_param("use_running_average", self.use_running_average, use_running_average)
        features = canonical_axes("BatchNorm", "axis", self.axis, x.ndim)
        reduced = tuple(axis for axis in range(x.ndim) if axis not in features)
        shape = [x.shape[axis] for axis in features]
        stats_dtype = jnp.float32 if self.force_float32_reductions else self.param_dtype
        running_mean = self.variable("batch_stats", "mean", jnp.zeros, shape, stats_dtype)
        running_var = self.variable("batch_stats", "var", jnp.ones, shape, stats_dtype)
        if use_running_average:
            mean, variance = running_mean.value, running_var.value
            if not self.force_float32_reductions:
                mean, variance = jnp.asarray(mean, self.param_dtype), jnp.asarray(variance, self.param_dtype)
        else:
            initializing = self.is_initializing()
            mean, variance = moments(self, x, reduced, mask=mask, axis_name=None if initializing else self.axis_name)
            if not initializing:
                running_mean.value = self.momentum * running_mean.value + (1 - self.momentum) * mean
                running_var.value = self.momentum * running_var.value + (1 - self.momentum) * variance
        return normalized(self, x, mean, variance, reduced, features, use_bias=self.use_bias)


class LayerNorm(Module):
    """Layer normalization: mean and variance of each example along its feature axes.

    Parameters: `scale` and `bias`, with the axes `feature_axes`.

    Attributes:
      epsilon: added to the variance.
      dtype: the dtype of the result; by default the one that inputs and parameters promote to.
      param_dtype: the dtype of the parameters.
      use_bias: whether a bias is added.
      use_scale: whether the result is scaled.
      bias_init: initializer of the bias.
      scale_init: initializer of the scale.
      reduction_axes: the axes along which the statistics are taken, one or several.
      feature_axes: the axes that the parameters have, one or several.
      axis_name: a mapped axis over which statistics are taken too.
      axis_index_groups: groups of indices of that axis, each with statistics of its own.
      use_fast_variance: whether the variance is the mean of squares less the square of the mean: one pass, less exact.
      force_float32_reductions: whether statistics have at least float32.

    Source: Ba, Kiros, Hinton, "Layer Normalization", 2016.

    Example:
      >>> import laminax as lx
      >>> from laminax import linen as nn, numpy as jnp
      >>> layer = nn.LayerNorm(epsilon=0)
      >>> variables = layer.init(lx.random.key(0), jnp.ones((4, 2)))
      >>> layer.apply(variables, jnp.array([1.0, 3.0]))
      Array([-1.,  1.], dtype=float32)
    """

    epsilon: float = 1e-6
    dtype: DTypeLike | None = None
    param_dtype: DTypeLike = jnp.float32
    use_bias: bool = True
    use_scale: bool = True
    bias_init: Any = initializers.zeros
    scale_init: Any = initializers.ones
    reduction_axes: int | Sequence[int] = -1
    feature_axes: int | Sequence[int] = -1
    axis_name: Any = None
    axis_index_groups: Any = None
    use_fast_variance: bool = True
    force_float32_reductions: bool = True

    @compact
    def __call__(self, x: Array, *, mask: Array | None = None) -> Array:
        """Normalizes the input; mask (bool, broadcast to x) says which elements count in the statistics."""
        reduced = canonical_axes("LayerNorm", "reduction_axes", self.reduction_axes, x.ndim)
        features = canonical_axes("LayerNorm", "feature_axes", self.feature_axes, x.ndim)
        mean, variance = moments(self, x, reduced, mask=mask, axis_name=self.axis_name)
        return normalized(self, x, mean, variance, reduced, features, use_bias=self.use_bias)


class RMSNorm(Module):
    """Normalization by the root of the mean of squares: as `LayerNorm`, without a mean and without a bias.

    Parameter: `scale`, with the axes `feature_axes`.

    Attributes:
      epsilon: added to the mean of squares.
      dtype: the dtype of the result; by default the one that inputs and parameters promote to.
      param_dtype: the dtype of the parameters.
      use_scale: whether the result is scaled.
      scale_init: initializer of the scale.
      reduction_axes: the axes along which the mean of squares is taken, one or several.
      feature_axes: the axes that the parameter has, one or several.
      axis_name: a mapped axis over which the mean is taken too.
      axis_index_groups: groups of indices of that axis, each with a mean of its own.
      use_fast_variance: for calls that give it to all normalization layers; with a mean of 0 both formulas are one.
      force_float32_reductions: whether the mean of squares has at least float32.

    Source: Zhang, Sennrich, "Root Mean Square Layer Normalization", NeurIPS 2019.

    Example:
      >>> import laminax as lx
      >>> from laminax import linen as nn, numpy as jnp
      >>> layer = nn.RMSNorm(epsilon=0)
      >>> variables = layer.init(lx.random.key(0), jnp.ones((5, 2)))
      >>> layer.apply(variables, jnp.array([2.0, -2.0]))
      Array([ 1., -1.], dtype=float32)
    """

    epsilon: float = 1e-6
    dtype: DTypeLike | None = None
    param_dtype: DTypeLike = jnp.float32
    use_scale: bool = True
    scale_init: Any = initializers.ones
    reduction_axes: int | Sequence[int] = -1
    feature_axes: int | Sequence[int] = -1
    axis_name: Any = None
    axis_index_groups: Any = None
    use_fast_variance: bool = True
    force_float32_reductions: bool = True

    @compact
    def __call__(self, x: Array, *, mask: Array | None = None) -> Array:
        """Normalizes the input; mask (bool, broadcast to x) says which elements count in the mean of squares."""
        reduced = canonical_axes("RMSNorm", "reduction_axes", self.reduction_axes, x.ndim)
        features = canonical_axes("RMSNorm", "feature_axes", self.feature_axes, x.ndim)
        mean, variance = moments(self, x, reduced, use_mean=False, mask=mask, axis_name=self.axis_name)
        return normalized(self, x, mean, variance, reduced, features, use_bias=False)


class GroupNorm(Module):
    """Group normalization: mean and variance of each example along its spatial axes and a group of its features.

    Parameters: `scale` and `bias`, [features].

    Attributes:
      num_groups: into how many groups the features, the last axis, are split.
      group_size: how many features a group has; give either this, with `num_groups=None`, or `num_groups`.
      epsilon: added to the variance.
      dtype: the dtype of the result; by default the one that inputs and parameters promote to.
      param_dtype: the dtype of the parameters.
      use_bias: whether a bias is added.
      use_scale: whether the result is scaled.
      bias_init: initializer of the bias.
      scale_init: initializer of the scale.
      reduction_axes: the axes along which statistics are taken, the last axis among them; by default all but the first.
      axis_name: a mapped axis over which statistics are taken too.
      axis_index_groups: groups of indices of that axis, each with statistics of its own.
      use_fast_variance: whether the variance is the mean of squares less the square of the mean: one pass, less exact.
      force_float32_reductions: whether statistics have at least float32.

    Source: Wu, He, "Group Normalization", ECCV 2018.

    Example:
      >>> import laminax as lx
      >>> from laminax import linen as nn, numpy as jnp
      >>> layer = nn.GroupNorm(num_groups=None, group_size=2)
      >>> variables = layer.init(lx.random.key(0), jnp.ones((3, 5, 6)))
      >>> lx.tree.map(jnp.shape, variables)
      {'params': {'bias': (6,), 'scale': (6,)}}
    """

    num_groups: int | None = 32
    group_size: int | None = None
    epsilon: float = 1e-6
    dtype: DTypeLike | None = None
    param_dtype: DTypeLike = jnp.float32
    use_bias: bool = True
    use_scale: bool = True
    bias_init: Any = initializers.zeros
    scale_init: Any = initializers.ones
    reduction_axes: int | Sequence[int] | None = None
    axis_name: Any = None
    axis_index_groups: Any = None
    use_fast_variance: bool = True
    force_float32_reductions: bool = True

    @compact
    def __call__(self, x: Array, *, mask: Array | None = None) -> Array:
        """Normalizes the input; mask (bool, broadcast to x) says which elements count in the statistics."""
        given = (*range(1, x.ndim - 1), -1) if self.reduction_axes is None else self.reduction_axes
        reduced = canonical_axes("GroupNorm", "reduction_axes", given, x.ndim)
        if x.ndim - 1 not in reduced:
            raise ValueError(f"GroupNorm: reduction_axes={self.reduction_axes} must include the last axis, {x.ndim - 1}, which is that "
                             "of the features")
        groups = self._number_of_groups(x.shape[-1])
        size = x.shape[-1] // groups
        if mask is not None:
            mask = mask.reshape((*mask.shape[:-1], groups, size))
        # among the axes of the grouped input the last of `reduced` is one further back
        mean, variance = moments(self, x.reshape((*x.shape[:-1], groups, size)), (*reduced[:-1], x.ndim), mask=mask,
                                 axis_name=self.axis_name)
        mean, variance = jnp.repeat(mean, size, axis=-1), jnp.repeat(variance, size, axis=-1)
        return normalized(self, x, mean, variance, reduced[:-1], (x.ndim - 1,), use_bias=self.use_bias)

    @nowrap
    def _number_of_groups(self, features: int) -> int:
        if (self.num_groups is None) == (self.group_size is None):
            raise ValueError(f"GroupNorm: give either num_groups or group_size, got num_groups={self.num_groups} and "
                             f"group_size={self.group_size}. With group_size, num_groups=None takes back its default of 32")
        name, number = ("group_size", self.group_size) if self.num_groups is None else ("num_groups", self.num_groups)
        if number is None or number <= 0 or features % number:
            raise ValueError(f"GroupNorm: {name}={number} does not divide the {features} features of the input")
        return features // number if name == "group_size" else number


class InstanceNorm(Module):
    """Instance normalization: mean and variance of each feature of each example, along the spatial axes.

    Parameters: `scale` and `bias`, with the axes `feature_axes`. The first axis of the input is that of the examples.

    Attributes:
      epsilon: added to the variance.
      dtype: the dtype of the result; by default the one that inputs and parameters promote to.
      param_dtype: the dtype of the parameters.
      use_bias: whether a bias is added.
      use_scale: whether the result is scaled.
      bias_init: initializer of the bias.
      scale_init: initializer of the scale.
      feature_axes: the axes of the features, one or several; statistics are taken along all others but the first.
      axis_name: a mapped axis over which statistics are taken too.
      axis_index_groups: groups of indices of that axis, each with statistics of its own.
      use_fast_variance: whether the variance is the mean of squares less the square of the mean: one pass, less exact.
      force_float32_reductions: whether statistics have at least float32.

    Source: Ulyanov, Vedaldi, Lempitsky, "Instance Normalization", 2016.

    Example:
      >>> import laminax as lx
      >>> from laminax import linen as nn, numpy as jnp
      >>> layer = nn.InstanceNorm()
      >>> variables = layer.init(lx.random.key(0), jnp.ones((3, 4, 5)))
      >>> lx.tree.map(jnp.shape, variables)
      {'params': {'bias': (5,), 'scale': (5,)}}
    """

    epsilon: float = 1e-6
    dtype: DTypeLike | None = None
    param_dtype: DTypeLike = jnp.float32
    use_bias: bool = True
    use_scale: bool = True
    bias_init: Any = initializers.zeros
    scale_init: Any = initializers.ones
    feature_axes: int | Sequence[int] = -1
    axis_name: Any = None
    axis_index_groups: Any = None
    use_fast_variance: bool = True
    force_float32_reductions: bool = True

    @compact
    def __call__(self, x: Array, *, mask: Array | None = None) -> Array:
        """Normalizes the input; mask (bool, broadcast to x) says which elements count in the statistics."""
        features = canonical_axes("InstanceNorm", "feature_axes", self.feature_axes, x.ndim)
        if 0 in features:
            raise ValueError("The channel axes cannot include the leading dimension as this is assumed to be the batch axis. "
                             f"InstanceNorm: feature_axes={self.feature_axes}, the input has shape {x.shape}")
        reduced = tuple(axis for axis in range(1, x.ndim) if axis not in features)
        mean, variance = moments(self, x, reduced, mask=mask, axis_name=self.axis_name)
        return normalized(self, x, mean, variance, reduced, features, use_bias=self.use_bias)
