"""Layers of attention with several heads: projections of the inputs, attention, and a projection of what the heads return."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from laminax_ir.ops.slicing import dynamic_update_slice

from laminax._src.linen.calls import compact, nowrap
from laminax._src.linen.functional import merge_param
from laminax._src.linen.layers.attention import combine_masks, dot_product_attention
from laminax._src.linen.layers.linear import DenseGeneral, default_kernel_init
from laminax._src.linen.layers.normalization import LayerNorm
from laminax._src.linen.module import Module
from laminax._src.numerics.nn import initializers
from laminax._src.numerics.numpy import namespace as jnp

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, DTypeLike


class MultiHeadDotProductAttention(Module):
    """Attention with several heads.

    Submodules: the projections `query`, `key` and `value`, `DenseGeneral` with kernels [features, heads, size]; `query_ln` and `key_ln`
    with `normalize_qk`; `out`, with a kernel [heads, size, features]. With `decode` the collection `cache` holds `cached_key`,
    `cached_value` and `cache_index`.

    Attributes:
      num_heads: how many heads there are; it divides qkv_features.
      dtype: the dtype to compute in; by default the one that inputs and parameters promote to.
      param_dtype: the dtype of the parameters.
      qkv_features: the sizes of all heads' queries together, and of keys and values; by default the features of `inputs_q`.
      out_features: the features of the result; by default those of `inputs_q`.
      broadcast_dropout: whether all heads and examples drop the same weights.
      dropout_rate: the probability that a weight of attention is dropped.
      deterministic: whether none is dropped; given here or to the call where `dropout_rate` is positive.
      precision: the precision of products, as of `lax.dot_general`.
      kernel_init: initializer of the kernels.
      out_kernel_init: initializer of the kernel of `out`; by default `kernel_init`.
      bias_init: initializer of the biases.
      out_bias_init: initializer of the bias of `out`; by default `bias_init`.
      use_bias: whether projections have biases.
      attention_fn: function of query, key and value, [*batch, length, heads, size], that attends; of the keyword arguments of
        `dot_product_attention` it gets those that it names.
      decode: whether keys and values are cached: `init` is given the whole length, and each call after it one position.
      normalize_qk: whether queries and keys are normalized (Dehghani et al., "Scaling Vision Transformers to 22 Billion Parameters").
      force_fp32_for_softmax: whether the softmax is computed in float32.
      qkv_dot_general, out_dot_general: functions to use in place of `lax.dot_general` in the projections.
      qkv_dot_general_cls, out_dot_general_cls: classes (or functions) without arguments that make such functions.
      qk_attn_weights_einsum_cls, attn_weights_value_einsum_cls: classes (or functions) without arguments that make functions to use in
        place of `numpy.einsum` in the attention; given both or neither.

    Source: Vaswani et al., "Attention Is All You Need", NIPS 2017.

    Example:
      >>> import laminax as lx
      >>> from laminax import linen as nn, numpy as jnp
      >>> layer = nn.MultiHeadDotProductAttention(num_heads=2, qkv_features=8)
      >>> x = jnp.ones((4, 3, 6))
      >>> variables = layer.init(lx.random.key(0), x)
      >>> variables["params"]["query"]["kernel"].shape, variables["params"]["out"]["kernel"].shape
      ((6, 2, 4), (2, 4, 6))
      >>> layer.apply(variables, x, mask=nn.make_causal_mask(x[..., 0])).shape
      (4, 3, 6)
    """

    num_heads: int
    dtype: DTypeLike | None = None
    param_dtype: DTypeLike = jnp.float32
    qkv_features: int | None = None
    out_features: int | None = None
    broadcast_dropout: bool = True
    dropout_rate: float = 0.0
    deterministic: bool | None = None
    precision: Any = None
    kernel_init: Any = default_kernel_init
    out_kernel_init: Any = None
    bias_init: Any = initializers.zeros
    out_bias_init: Any = None
    use_bias: bool = True
    attention_fn: Any = dot_product_attention
    decode: bool = False
    normalize_qk: bool = False
    force_fp32_for_softmax: bool = False
    qkv_dot_general: Any = None
    out_dot_general: Any = None
    qkv_dot_general_cls: Any = None
    out_dot_general_cls: Any = None
    qk_attn_weights_einsum_cls: Any = None
    attn_weights_value_einsum_cls: Any = None

    @compact
    def __call__(self, inputs_q: Array, inputs_k: Array | None = None, inputs_v: Array | None = None, *, inputs_kv: Array | None = None,
                 mask: Array | None = None, deterministic: bool | None = None, dropout_rng: Array | None = None,
                 sow_weights: bool = False) -> Array:
        """Attends from each position of `inputs_q` to the positions of `inputs_k`.

        Args:
          inputs_q: [*batch, queries, features].
          inputs_k: [*batch, keys, features]; by default `inputs_q`.
          inputs_v: [*batch, keys, features]; by default `inputs_k`.
          inputs_kv: the older way to give `inputs_k` and `inputs_v` as one.
          mask: bool, broadcast to [*batch, heads, queries, keys]: which keys a query sees.
          deterministic: whether no weight is dropped, where the layer was made without saying so.
          dropout_rng: the key for dropout; by default one of the stream `dropout`.
          sow_weights: whether the weights are sown as `attention_weights` in the collection `intermediates`.

        Returns:
          [*batch, queries, out_features].
        """
        inputs_k, inputs_v = _keys_and_values(inputs_q, inputs_k, inputs_v, inputs_kv)
        query, key, value = self._projected(inputs_q, inputs_k, inputs_v)
        if self.decode:
            key, value, mask = self._cached(query, key, value, mask)
        options = {"mask": mask, "dropout_rate": self.dropout_rate, "broadcast_dropout": self.broadcast_dropout, "dtype": self.dtype,
                   "precision": self.precision, "force_fp32_for_softmax": self.force_fp32_for_softmax,
                   **self._dropout(deterministic, dropout_rng), **self._einsums()}
        named = inspect.signature(self.attention_fn).parameters
        options = {name: value for name, value in options.items() if name in named}
        if sow_weights:
            options["module"] = self
        attended = self.attention_fn(query, key, value, **options)
        return DenseGeneral(
            features=self.out_features or inputs_q.shape[-1], axis=(-2, -1), kernel_init=self.out_kernel_init or self.kernel_init,
            bias_init=self.out_bias_init or self.bias_init, use_bias=self.use_bias, dtype=self.dtype, param_dtype=self.param_dtype,
            precision=self.precision, dot_general=self.out_dot_general, dot_general_cls=self.out_dot_general_cls, name="out")(attended)

    @nowrap
    def _projected(self, *inputs: Array) -> list[Array]:
        """Query, key and value, each [*batch, length, heads, size]."""
        features = self.qkv_features or inputs[0].shape[-1]
        if features % self.num_heads:
            raise ValueError(f"MultiHeadDotProductAttention: num_heads={self.num_heads} does not divide the {features} features of "
                             "queries, keys and values. Give another number of heads, or qkv_features")
        projected = [DenseGeneral(
            features=(self.num_heads, features // self.num_heads), axis=-1, kernel_init=self.kernel_init, bias_init=self.bias_init,
            use_bias=self.use_bias, dtype=self.dtype, param_dtype=self.param_dtype, precision=self.precision,
            dot_general=self.qkv_dot_general, dot_general_cls=self.qkv_dot_general_cls, name=name)(x)
            for name, x in zip(("query", "key", "value"), inputs, strict=True)]
        if self.normalize_qk:
            projected[:2] = [LayerNorm(use_bias=False, dtype=self.dtype, param_dtype=self.param_dtype, name=name)(x)
                             for name, x in zip(("query_ln", "key_ln"), projected[:2], strict=True)]
        return projected

    @nowrap
    def _cached(self, query: Array, key: Array, value: Array, mask: Array | None) -> tuple[Array, Array, Array | None]:
        """All keys and values so far, with those of this position put into the cache, and the mask that hides the places to come."""
        is_filled = self.has_variable("cache", "cached_key")
        cached_key = self.variable("cache", "cached_key", jnp.zeros, key.shape, key.dtype)
        cached_value = self.variable("cache", "cached_value", jnp.zeros, value.shape, value.dtype)
        index = self.variable("cache", "cache_index", lambda: jnp.array(0, dtype=jnp.int32))
        if not is_filled:
            return key, value, mask
        *batch, length, heads, size = cached_key.value.shape
        if query.shape != (*batch, 1, heads, size):
            raise ValueError(f"Autoregressive cache shape error, expected query shape {(*batch, 1, heads, size)} instead got {query.shape}."
                             " With decode=True each call is given one position")
        place = index.value
        zero = jnp.array(0, dtype=place.dtype)
        start = (*[zero] * len(batch), place, zero, zero)
        cached_key.value = key = dynamic_update_slice(cached_key.value, key, start)
        cached_value.value = value = dynamic_update_slice(cached_value.value, value, start)
        index.value = place + 1
        written = jnp.broadcast_to(jnp.arange(length) <= place, (*batch, 1, 1, length))
        return key, value, combine_masks(mask, written)

    @nowrap
    def _dropout(self, deterministic: bool | None, key: Array | None) -> dict[str, Any]:
        if self.dropout_rate <= 0.0:
            return {"deterministic": True, "dropout_rng": key}
        deterministic = merge_param("deterministic", self.deterministic, deterministic)
        if not deterministic and key is None:
            key = self.make_rng("dropout")
        return {"deterministic": deterministic, "dropout_rng": key}

    @nowrap
    def _einsums(self) -> dict[str, Callable[..., Array] | None]:
        return {name: make() if (make := getattr(self, f"{name}_cls")) else None
                for name in ("qk_attn_weights_einsum", "attn_weights_value_einsum")}


def _keys_and_values(inputs_q: Array, inputs_k: Array | None, inputs_v: Array | None, inputs_kv: Array | None) -> tuple[Array, Array]:
    """The inputs of the keys and of the values, by the defaults that stand for those not given."""
    if inputs_kv is not None:
        if inputs_k is not None or inputs_v is not None:
            raise ValueError("If either `inputs_k` or `inputs_v` is not None, `inputs_kv` must be None. Give inputs_k and inputs_v only")
        warnings.warn("The inputs_kv arg will be deprecated soon. Give inputs_k, and inputs_v where it differs",
                      DeprecationWarning, stacklevel=3)
        return inputs_kv, inputs_kv
    if inputs_k is None:
        if inputs_v is not None:
            raise ValueError("`inputs_k` cannot be None if `inputs_v` is not None. To use one array for both, give it as inputs_k")
        inputs_k = inputs_q
    if inputs_v is None:
        return inputs_k, inputs_k
    if inputs_v.shape[-1] == inputs_v.shape[-2]:
        warnings.warn("the function signature of MultiHeadDotProductAttention's `__call__` method has changed: the third argument is "
                      f"inputs_v. It has the shape {inputs_v.shape}, with two last axes of one size; if it is meant as the mask, give it "
                      "as mask=...", DeprecationWarning, stacklevel=3)
    return inputs_k, inputs_v


class MultiHeadAttention(MultiHeadDotProductAttention):
    """Another name of `MultiHeadDotProductAttention`, with its attributes and its arguments.

    Example:
      >>> import laminax as lx
      >>> from laminax import linen as nn, numpy as jnp
      >>> layer = nn.MultiHeadAttention(num_heads=2)
      >>> layer.init_with_output(lx.random.key(0), jnp.ones((5, 4)))[0].shape
      (5, 4)
    """


class SelfAttention(MultiHeadDotProductAttention):
    """`MultiHeadDotProductAttention` of one input, deprecated: that layer does the same where it is called with one argument."""

    @compact
    def __call__(self, inputs_q: Array, mask: Array | None = None, deterministic: bool | None = None,  # type: ignore[override]  # fewer inputs
                 dropout_rng: Array | None = None, sow_weights: bool = False) -> Array:
        """Attends from each position of the input to all of them; the arguments are those of the layer it derives from."""
        warnings.warn("SelfAttention is deprecated. Call MultiHeadDotProductAttention with inputs_q only", DeprecationWarning, stacklevel=2)
        return super().__call__(inputs_q, mask=mask, deterministic=deterministic, dropout_rng=dropout_rng, sow_weights=sow_weights)
