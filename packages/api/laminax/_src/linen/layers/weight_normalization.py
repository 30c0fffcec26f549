"""Layers that normalize the weights of another layer before it is called."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

from laminax_ir.ops.elementwise import rsqrt
from laminax_ir.pytrees import pytree
from laminax_ir.pytrees.pytree import keystr
from laminax_transforms.custom.rule_arguments import stop_gradient

from laminax._src.linen.calls import compact, nowrap
from laminax._src.linen.layers.arguments import canonical_axes
from laminax._src.linen.layers.dtypes import canonicalize_dtype
from laminax._src.linen.layers.statistics import feature_parameter
from laminax._src.linen.lifted_calls import map_variables
from laminax._src.linen.module import Module
from laminax._src.numerics.nn import initializers
from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.random import samplers

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, DTypeLike


def _unit_length(x: Array, axes: tuple[int, ...] | None, epsilon: float) -> Array:
    """x divided by its Euclidean length along axes, all of them by default."""
    return x * rsqrt((x * x).sum(axis=axes, keepdims=True) + epsilon)


def _variable_name(layer: Any, path: tuple[Any, ...]) -> str:
    """The name of a layer's variable, `Dense_0/kernel`; its collection, first in the path, is left out."""
    return f"{layer.name}/{keystr(path[1:], simple=True, separator='/')}"


class SpectralNorm(Module):
    """Divides the weights of a layer by their largest singular value, which is found by iteration from call to call.

    Variables, in the collection `collection_name`, for each weight: `LAYER/NAME/u`, a singular vector, and `LAYER/NAME/sigma`, the
    singular value. Weights of more than two axes are taken as matrices, all axes but the last together; vectors and scalars
    are left as they are.

    Attributes:
      layer_instance: the layer.
      n_steps: how many iterations a call makes.
      epsilon: added to squares of lengths.
      dtype: the dtype of the weights; by default the one that they and the variables promote to.
      param_dtype: the dtype of the variables.
      error_on_non_matrix: whether weights of more than two axes are an error.
      collection_name: where the variables are kept.

    Source: Miyato et al., "Spectral Normalization for Generative Adversarial Networks", ICLR 2018.

    Example:
      >>> import laminax as lx
      >>> from laminax import linen as nn, numpy as jnp
      >>> layer = nn.SpectralNorm(nn.Dense(4))
      >>> variables = layer.init(lx.random.key(0), jnp.ones((1, 3)), update_stats=False)
      >>> y, updates = layer.apply(variables, jnp.ones((1, 3)), update_stats=True, mutable=["batch_stats"])
      >>> sorted(updates["batch_stats"])
      ['layer_instance/kernel/sigma', 'layer_instance/kernel/u']
    """

    layer_instance: Module
    n_steps: int = 1
    epsilon: float = 1e-12
    dtype: DTypeLike | None = None
    param_dtype: DTypeLike = jnp.float32
    error_on_non_matrix: bool = False
    collection_name: str = "batch_stats"

    @compact
    def __call__(self, *args: Any, update_stats: bool, **kwargs: Any) -> Any:
        """Calls the layer with normalized weights.

        Args:
          *args: arguments of the layer.
          update_stats: whether the singular vectors and values found are kept, in training; their collection must be mutable.
          **kwargs: keyword arguments of the layer.
        """
        def normalized(variables: Any) -> Any:
            return pytree.tree_map_with_path(lambda path, value: self._normalized(path, value, update_stats), variables)

        call = map_variables(lambda layer: layer(*args, **kwargs), trans_in_fn=normalized, init=self.is_initializing(), mutable=True)
        return call(self.layer_instance)

    @nowrap
    def _normalized(self, path: tuple[Any, ...], weight: Any, update_stats: bool) -> Array:
        value, name = jnp.asarray(weight), _variable_name(self.layer_instance, path)
        if value.ndim <= 1 or self.n_steps < 1:
            return value
        if value.ndim > 2 and self.error_on_non_matrix:
            raise ValueError(f"Input is {value.ndim}D but error_on_non_matrix is True. SpectralNorm: {name} has shape {value.shape}")
        matrix = jnp.reshape(value, (-1, value.shape[-1]))
        key = None if self.has_variable(self.collection_name, f"{name}/u") else self.make_rng("params")
        u = self.variable(self.collection_name, f"{name}/u", samplers.normal, key, (1, matrix.shape[-1]), self.param_dtype)
        sigma = self.variable(self.collection_name, f"{name}/sigma", jnp.ones, (), self.param_dtype)
        right, left = u.value, None
        for _ in range(self.n_steps):
            left = _unit_length(jnp.matmul(right, matrix.T), None, self.epsilon)
            right = _unit_length(jnp.matmul(left, matrix), None, self.epsilon)
        left, right = stop_gradient(left), stop_gradient(right)
        largest = jnp.matmul(jnp.matmul(left, matrix), right.T)[0, 0]
        result = (matrix / jnp.where(largest != 0, largest, 1)).reshape(value.shape)
        if update_stats:
            u.value, sigma.value = right, largest
        return jnp.asarray(result, canonicalize_dtype(weight, right, left, largest, dtype=self.dtype))


class WeightNorm(Module):
    """Brings the weights of a layer to length 1, for each feature, and scales them by parameters.

    Parameters: for each weight that is normalized `LAYER/NAME/scale`, with the axes `feature_axes`.

    Attributes:
      layer_instance: the layer.
      epsilon: added to squares of lengths.
      dtype: the dtype of the weights; by default the one that they and the scales promote to.
      param_dtype: the dtype of the scales.
      use_scale: whether the weights are scaled.
      scale_init: initializer of the scales.
      feature_axes: the axes of the weights each index of which has a length of its own; None for one length of all.
      variable_filter: weights are normalized whose name (`LAYER/NAME`) contains one of these strings; all if None or empty.

    Source: Salimans, Kingma, "Weight Normalization", NIPS 2016.

    Example:
      >>> import laminax as lx
      >>> from laminax import linen as nn, numpy as jnp
      >>> layer = nn.WeightNorm(nn.Dense(4))
      >>> variables = layer.init(lx.random.key(0), jnp.ones((1, 3)))
      >>> lx.tree.map(jnp.shape, variables["params"])
      {'layer_instance': {'bias': (4,), 'kernel': (3, 4)}, 'layer_instance/kernel/scale': (4,)}
    """

    layer_instance: Module
    epsilon: float = 1e-12
    dtype: DTypeLike | None = None
    param_dtype: DTypeLike = jnp.float32
    use_scale: bool = True
    scale_init: Any = initializers.ones
    feature_axes: int | Sequence[int] | None = -1
    variable_filter: Iterable[str] | None = field(default_factory=lambda: {"kernel"})

    @compact
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the layer with normalized weights; the arguments are the layer's."""
        def normalized(variables: Any) -> Any:
            return pytree.tree_map_with_path(self._normalized, variables)

        call = map_variables(lambda layer: layer(*args, **kwargs), trans_in_fn=normalized, init=self.is_initializing())
        return call(self.layer_instance)

    @nowrap
    def _normalized(self, path: tuple[Any, ...], weight: Any) -> Array:
        value, name = jnp.asarray(weight), _variable_name(self.layer_instance, path)
        if self.variable_filter and not any(part in name for part in self.variable_filter):
            return value
        features = () if self.feature_axes is None else canonical_axes("WeightNorm", "feature_axes", self.feature_axes, value.ndim)
        result = _unit_length(value, tuple(axis for axis in range(value.ndim) if axis not in features), self.epsilon)
        if not self.use_scale:
            return jnp.asarray(result, canonicalize_dtype(weight, dtype=self.dtype))
        scale = feature_parameter(self, f"{name}/scale", self.scale_init, value.shape, features)
        return jnp.asarray(result * scale, canonicalize_dtype(weight, scale, dtype=self.dtype))
