"""Scaled dot-product attention.

Source: Vaswani et al., "Attention Is All You Need", NIPS 2017.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from laminax_transforms import stop_gradient

from laminax._src.numerics.nn.normalization import softmax
from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.numpy.logarithmic_sums import logsumexp

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike


def dot_product_attention(query: ArrayLike, key: ArrayLike, value: ArrayLike, bias: ArrayLike | None = None,
                          mask: ArrayLike | None = None, *, scale: float | None = None,
                          is_causal: bool = False, query_seq_lengths: ArrayLike | None = None, key_value_seq_lengths: Array | None = None,
                          local_window_size: ArrayLike | None = None, implementation: str | None = None,
                          return_residual: bool = False) -> Any:
    """softmax(query @ key^T * scale + bias) @ value, per head.

    Args:
      query: float[batch, queries, heads, size], or without the batch axis.
      key: float[batch, keys, kv_heads, size]; kv_heads divides heads (grouped-query attention).
      value: float[batch, keys, kv_heads, size].
      bias: added to the logits; broadcasts to [batch, heads, queries, keys].
      mask: bool, False excludes; broadcasts like bias.
      scale: factor of the logits; 1/sqrt(size) by default.
      is_causal: whether query i sees keys 0 to i only.
      query_seq_lengths: int[batch], queries beyond it give zeros.
      key_value_seq_lengths: int[batch], keys beyond it are excluded.
      local_window_size: (left, right) or one int for both: query i sees keys i - left to i + right.
      implementation: None or "xla".
      return_residual: whether to return also the logsumexp of the logits, [batch, queries, heads] of key's
        dtype; it has no derivative.

    Returns:
      An array of query's shape and dtype; with `return_residual` a pair.

    Raises:
      ValueError: for another implementation, or if the shapes do not fit.
      NotImplementedError: for the implementation "cudnn".

    Example:
      >>> nn.dot_product_attention(*(jnp.ones((5, 2, 4)),) * 3, is_causal=True).shape
      (5, 2, 4)
    """
    if implementation not in (None, "xla"):
        error = NotImplementedError if implementation == "cudnn" else ValueError
        raise error(f"dot_product_attention: implementation must be None or 'xla', got {implementation!r}")
    shape = jnp.shape(query)
    query, key, value = (jnp.asarray(x)[None] if jnp.ndim(x) == 3 else jnp.asarray(x) for x in (query, key, value))
    _check_shapes(query, key, value)
    batch, queries, heads, size = query.shape
    keys, kv_heads = key.shape[1], key.shape[2]
    scale = 1 / math.sqrt(size) if scale is None else scale
    grouped = query.reshape(batch, queries, kv_heads, heads // kv_heads, size)
    logits = jnp.einsum("bqkgd,bskd->bkgqs", grouped, key, preferred_element_type=jnp.promote_types(query.dtype, jnp.float32))
    logits = logits.reshape(batch, heads, queries, keys) * scale
    if bias is not None:
        logits = logits + _with_four_axes(jnp.asarray(bias).astype(logits.dtype))
    allowed = _allowed(mask, is_causal, local_window_size, key_value_seq_lengths, queries, keys)
    if allowed is not None:
        logits = jnp.where(allowed, logits, -0.7 * jnp.finfo(logits.dtype).max)
    weights = softmax(logits).astype(value.dtype)
    result = jnp.einsum("bkgqs,bskd->bqkgd", weights.reshape(batch, kv_heads, heads // kv_heads, queries, keys), value)
    result = result.reshape(batch, queries, heads, size)
    if query_seq_lengths is not None:
        valid = jnp.arange(queries)[None, :] < jnp.asarray(query_seq_lengths)[:, None]
        result = jnp.where(valid[:, :, None, None], result, 0)
    result = result.reshape(shape)
    if not return_residual:
        return result
    residual = stop_gradient(jnp.moveaxis(logsumexp(logits, axis=-1), 1, 2).astype(key.dtype))
    return result, residual if len(shape) == 4 else residual[0]


def _check_shapes(query: Any, key: Any, value: Any) -> None:
    if query.ndim != 4 or key.ndim != 4 or value.ndim != 4:
        raise ValueError("dot_product_attention: query, key and value must have 3 or 4 axes, got shapes "
                         f"{query.shape}, {key.shape}, {value.shape}")
    if query.shape[2] % key.shape[2]:
        raise ValueError("dot_product_attention: The number of query heads must be a multiple of key/value heads, but got "
                         f"{query.shape[2]} vs {key.shape[2]}, in shapes {query.shape} and {key.shape}")
    if key.shape != value.shape or query.shape[0] != key.shape[0] or query.shape[3] != key.shape[3]:
        raise ValueError("dot_product_attention: expected query [batch, queries, heads, size], key and value [batch, keys, "
                         f"kv_heads, size], got {query.shape}, {key.shape}, {value.shape}")


def _with_four_axes(x: Any) -> Any:
    return x.reshape((1,) * (4 - x.ndim) + x.shape)


def _allowed(mask: Any, is_causal: bool, window: Any, key_lengths: Array | None, queries: int, keys: int) -> Any:
    """Which keys each query may see, as one mask, or None for all."""
    parts = [] if mask is None else [jnp.asarray(mask)]
    q, k = jnp.arange(queries)[:, None], jnp.arange(keys)[None, :]
    if is_causal:
        parts.append(k <= q)
    if window is not None:
        left, right = (window, window) if isinstance(window, int) else window
        parts.append((k >= q - left) & (k <= q + right))
    if key_lengths is not None:
        parts.append(k[None, None] < jnp.asarray(key_lengths)[:, None, None, None])
    if not parts:
        return None
    parts = [_with_four_axes(part) for part in parts]
    allowed = parts[0]
    for part in parts[1:]:
        allowed = jnp.logical_and(allowed, part)
    return allowed
