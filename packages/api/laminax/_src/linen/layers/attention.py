"""Attention with several heads, as functions of queries, keys and values, and the masks that go with it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from laminax_ir.ops.contraction import dot_general

from laminax._src.linen.layers.dtypes import promote_dtype
from laminax._src.numerics.nn.normalization import softmax
from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.random import samplers

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, DTypeLike


def dot_product_attention_weights(
    query: Array, key: Array, bias: Array | None = None, mask: Array | None = None, broadcast_dropout: bool = True,
    dropout_rng: Array | None = None, dropout_rate: float = 0.0, deterministic: bool = False, dtype: DTypeLike | None = None,
    precision: Any = None, module: Any = None, force_fp32_for_softmax: bool = False,
    einsum_dot_general: Callable[..., Array] | None = None, einsum: Callable[..., Array] | None = None,
) -> Array:
    """How much each query attends to each key: softmax(query @ key^T / sqrt(size) + bias), per head.

    Args:
      query: [*batch, queries, heads, size].
      key: [*batch, keys, heads, size].
      bias: added to the logits; broadcast to [*batch, heads, queries, keys].
      mask: bool, broadcast like `bias`; logits where it is False become the least number of their dtype.
      broadcast_dropout: whether all heads and examples drop the same weights.
      dropout_rng: the key for dropout, where `deterministic` is not set and `dropout_rate` is positive.
      dropout_rate: the probability that a weight is dropped.
      deterministic: whether none is dropped.
      dtype: the dtype to compute in; by default the one that query and key promote to.
      precision: the precision of the product, as of `lax.dot_general`.
      module: the module that sows the weights as `attention_weights` in its collection `intermediates`, or None.
      force_fp32_for_softmax: whether the softmax is computed in float32, whatever `dtype` is; weights are float32 then.
      einsum_dot_general: function to use in place of `lax.dot_general`.
      einsum: function to use in place of `numpy.einsum`; it takes no `precision` and no `einsum_dot_general` beside it.

    Returns:
      [*batch, heads, queries, keys].

    Raises:
      ValueError: if shapes do not fit, or arguments exclude each other.

    Example:
      >>> from laminax import linen as nn, numpy as jnp
      >>> nn.dot_product_attention_weights(jnp.ones((2, 1, 4)), jnp.ones((3, 1, 4)))[0, 0]
      Array([0.33333334, 0.33333334, 0.33333334], dtype=float32)
    """
    if (precision or einsum_dot_general) and einsum:
        raise ValueError("precision/einsum_dot_general and einsum are mutually exclusive. Please specify only one of them.")
    einsum = einsum or _einsum(precision, einsum_dot_general)
    query, key = promote_dtype(query, key, dtype=dtype)
    dtype = query.dtype
    _check_shapes(query, key)
    query = query / _root(query.shape[-1], dtype)
    weights = einsum("...qhd,...khd->...hqk", query, key)
    if bias is not None:
        weights = weights + bias
    if mask is not None:
        weights = jnp.where(mask, weights, jnp.finfo(dtype).min)
    if force_fp32_for_softmax and dtype != jnp.float32:
        weights = softmax(weights.astype(jnp.float32))
    else:
        weights = softmax(weights).astype(dtype)
    if module is not None:
        module.sow("intermediates", "attention_weights", weights)
    if deterministic or dropout_rate <= 0.0:
        return weights
    if dropout_rng is None:
        raise ValueError(f"dot_product_attention_weights: dropout_rate={dropout_rate} needs a key. Give dropout_rng, or deterministic=True")
    kept = 1.0 - dropout_rate
    shape = (1,) * (key.ndim - 2) + weights.shape[-2:] if broadcast_dropout else weights.shape
    return weights * (samplers.bernoulli(dropout_rng, kept, shape).astype(dtype) / jnp.asarray(kept, dtype=dtype))


def _root(size: Any, dtype: Any) -> Any:
    """The square root of a size, taken in the default float dtype; as a constant unless the size is a symbol."""
    if not isinstance(size, int):
        return jnp.sqrt(size).astype(dtype)
    return np.sqrt(np.asarray(size, jnp.result_type(float))).astype(dtype)


def _einsum(precision: Any, product: Callable[..., Array] | None) -> Callable[..., Array]:
    return partial(jnp.einsum, precision=precision, _dot_general=product or dot_general)


def _check_shapes(query: Array, key: Array, value: Array | None = None) -> None:
    others = {"key": key} if value is None else {"key": key, "value": value}
    for name, other in others.items():
        if query.ndim < 3 or other.ndim != query.ndim or other.shape[:-3] != query.shape[:-3] or other.shape[-2] != query.shape[-2]:
            raise ValueError(f"dot_product_attention: query has shape {query.shape}, {name} {other.shape}. Expected [*batch, length, "
                             "heads, size] with the same batch and heads")
    if query.shape[-1] != key.shape[-1]:
        raise ValueError(f"dot_product_attention: query has shape {query.shape}, key {key.shape}. Their last axes must have one size")
    if value is not None and value.shape[-3] != key.shape[-3]:
        raise ValueError(f"dot_product_attention: key has shape {key.shape}, value {value.shape}. They must have one length, axis -3")


def dot_product_attention(
    query: Array, key: Array, value: Array, bias: Array | None = None, mask: Array | None = None, broadcast_dropout: bool = True,
    dropout_rng: Array | None = None, dropout_rate: float = 0.0, deterministic: bool = False, dtype: DTypeLike | None = None,
    precision: Any = None, module: Any = None, force_fp32_for_softmax: bool = False,
    einsum_dot_general: Callable[..., Array] | None = None, qk_attn_weights_einsum: Callable[..., Array] | None = None,
    attn_weights_value_einsum: Callable[..., Array] | None = None,
) -> Array:
    """For each query the mean of the values, weighted by `dot_product_attention_weights` of their keys.

    Args:
      query: [*batch, queries, heads, size].
      key: [*batch, keys, heads, size].
      value: [*batch, keys, heads, value_size].
      bias, mask, broadcast_dropout, dropout_rng, dropout_rate, deterministic, precision, module, force_fp32_for_softmax,
        einsum_dot_general: as for `dot_product_attention_weights`.
      dtype: the dtype to compute in; by default the one that query, key and value promote to.
      qk_attn_weights_einsum, attn_weights_value_einsum: functions to use in place of `numpy.einsum` for the two products; given both or
        neither.

    Returns:
      [*batch, queries, heads, value_size].

    Raises:
      ValueError: if shapes do not fit, or arguments exclude each other.

    Source: Vaswani et al., "Attention Is All You Need", NIPS 2017.

    Example:
      >>> from laminax import linen as nn, numpy as jnp
      >>> value = jnp.array([[[2.0]], [[4.0]]])
      >>> nn.dot_product_attention(jnp.ones((1, 1, 4)), jnp.ones((2, 1, 4)), value)
      Array([[[3.]]], dtype=float32)
    """
    if bool(qk_attn_weights_einsum) != bool(attn_weights_value_einsum):
        raise ValueError("qk_attn_weights_einsum and attn_weights_value_einsum must be specified together.")
    if (precision or einsum_dot_general) and qk_attn_weights_einsum:
        raise ValueError("precision/einsum_dot_general and qk_attn_weights_einsum/attn_weights_value_einsum are mutually exclusive. "
                         "Please specify only one of them.")
    query, key, value = promote_dtype(query, key, value, dtype=dtype)
    _check_shapes(query, key, value)
    weights = dot_product_attention_weights(
        query, key, bias, mask, broadcast_dropout, dropout_rng, dropout_rate, deterministic, query.dtype, precision, module,
        force_fp32_for_softmax, einsum_dot_general=einsum_dot_general, einsum=qk_attn_weights_einsum)
    weighted_sum = attn_weights_value_einsum or _einsum(precision, einsum_dot_general)
    return weighted_sum("...hqk,...khd->...qhd", weights, value)


def make_attention_mask(query_input: Array, key_input: Array, pairwise_fn: Callable[..., Any] = jnp.multiply, extra_batch_dims: int = 0,
                        dtype: DTypeLike = jnp.float32) -> Array:
    """A mask from a function of each query and each key.

    Args:
      query_input: [*batch, queries].
      key_input: [*batch, keys].
      pairwise_fn: broadcasting function of two arrays.
      extra_batch_dims: how many axes of size 1 come before.
      dtype: the dtype of the mask.

    Returns:
      [*extra, *batch, 1, queries, keys].

    Example:
      >>> from laminax import linen as nn, numpy as jnp
      >>> nn.make_attention_mask(jnp.array([True, False]), jnp.array([True, True]))
      Array([[[1., 1.],
              [0., 0.]]], dtype=float32)
    """
    mask = pairwise_fn(jnp.expand_dims(query_input, axis=-1), jnp.expand_dims(key_input, axis=-2))
    mask = jnp.expand_dims(mask, axis=-3)
    return jnp.expand_dims(mask, axis=tuple(range(extra_batch_dims))).astype(dtype)


def make_causal_mask(x: Array, extra_batch_dims: int = 0, dtype: DTypeLike = jnp.float32) -> Array:
    """A mask by which each position sees itself and those before it.

    Args:
      x: [*batch, length], whose values are not read.
      extra_batch_dims: how many axes of size 1 come before.
      dtype: the dtype of the mask.

    Returns:
      [*extra, *batch, 1, length, length].

    Example:
      >>> from laminax import linen as nn, numpy as jnp
      >>> nn.make_causal_mask(jnp.ones(2), dtype=bool)
      Array([[[ True, False],
              [ True,  True]]], dtype=bool)
    """
    places = jnp.broadcast_to(jnp.arange(x.shape[-1], dtype=jnp.int32), x.shape)
    return make_attention_mask(places, places, jnp.greater_equal, extra_batch_dims=extra_batch_dims, dtype=dtype)


def combine_masks(*masks: Array | None, dtype: DTypeLike = jnp.float32) -> Array | None:
    """The mask that allows what all masks allow; None among them allows all.

    Args:
      *masks: arrays of one number of axes that broadcast, or None.
      dtype: the dtype of the result.

    Returns:
      A mask, None if all are None.

    Raises:
      ValueError: if the masks have different numbers of axes.

    Example:
      >>> from laminax import linen as nn, numpy as jnp
      >>> nn.combine_masks(jnp.array([1, 1, 0]), None, jnp.array([0, 1, 1]))
      Array([0., 1., 0.], dtype=float32)
    """
    given = [mask for mask in masks if mask is not None]
    if not given:
        return None
    if len({mask.ndim for mask in given}) > 1:
        raise ValueError(f"combine_masks: masks must have same rank: {tuple(mask.ndim for mask in given)}")
    combined, *others = given
    for mask in others:
        combined = jnp.logical_and(combined, mask)
    return combined.astype(dtype)
