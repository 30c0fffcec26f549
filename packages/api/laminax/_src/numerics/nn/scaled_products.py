"""Products of values quantised by blocks: narrow numbers, and a scale for each block of some along the contracted axis.

`scaled_matmul` multiplies what is quantised already, `scaled_dot_general` quantises both operands first, and the cotangent in its
derivative. The formats are those of OCP's microscaling specification (mxfp8, mxfp4: scales are powers of two) and nvfp4 (scales are
float8, beside one of the whole array). The products themselves are of float32: hardware that multiplies the narrow numbers is left to the
compiler.

Source: OCP Microscaling Formats (MX) Specification v1.0, 2023.
"""

from __future__ import annotations

import dataclasses
import math
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

from laminax_ir.ops.contraction import dot_general
from laminax_ir.ops.derived import optimization_barrier
from laminax_ir.ops.elementwise import bitcast_convert_type
from laminax_ir.ops.scaled_dot import scaled_dot
from laminax_ir.types import dtypes
from laminax_transforms import custom_vjp

from laminax._src.numerics.numpy import namespace as jnp

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike, DTypeLike

_RESULTS = tuple(map(np.dtype, (np.float32, ml_dtypes.bfloat16, np.float16)))
_ROWS_TIMES_ROWS = (((2,), (2,)), ((0,), (0,)))


@dataclasses.dataclass(slots=True)
class BlockScaleConfig:
    """How an operand is quantised; `get_scaled_dot_general_config` makes them."""

    mode: str
    block_size: int
    data_type: Any
    scale_type: Any
    global_scale: Any
    infer_only: bool


def get_scaled_dot_general_config(mode: str, global_scale: Array | None = None) -> BlockScaleConfig:
    """A format of quantisation by blocks, for `scaled_dot_general`.

    Args:
      mode: "mxfp8", float8_e4m3fn in blocks of 32 with scales that are powers of two; "mxfp4", the same with float4_e2m1fn; or "nvfp4",
        float4_e2m1fn in blocks of 16 with scales of float8_e4m3fn.
      global_scale: float32[1], the scale of the whole operand, for "nvfp4" only; one by default.

    Raises:
      ValueError: for another mode, or a global_scale where there is none.

    Example:
      >>> nn.get_scaled_dot_general_config("mxfp8").block_size
      32
    """
    if mode == "nvfp4":
        whole = jnp.ones((1,), np.float32) if global_scale is None else global_scale
        return BlockScaleConfig(mode, 16, ml_dtypes.float4_e2m1fn, ml_dtypes.float8_e4m3fn, whole, False)
    if mode not in ("mxfp8", "mxfp4"):
        raise ValueError(f"get_scaled_dot_general_config: Unsupported mode: {mode!r}. The modes are 'mxfp8', 'mxfp4' and 'nvfp4'.")
    if global_scale is not None:
        raise ValueError(f"get_scaled_dot_general_config: {mode} does not use a global_scale, whose blocks' scales cover all exponents.")
    narrow = ml_dtypes.float8_e4m3fn if mode == "mxfp8" else ml_dtypes.float4_e2m1fn
    return BlockScaleConfig(mode, 32, narrow, ml_dtypes.float8_e8m0fnu, None, False)


def scaled_matmul(lhs: ArrayLike, rhs: ArrayLike, lhs_scales: ArrayLike, rhs_scales: ArrayLike,
                  preferred_element_type: DTypeLike = np.float32) -> Array:
    """The products of the rows of lhs and of rhs, quantised by blocks: the sum over k of lhs[b, m, k] rhs[b, n, k], times their scales.

    Args:
      lhs: [batch, m, k], of any dtype of numbers, narrow ones above all.
      rhs: [batch, n, k].
      lhs_scales: [batch, m, blocks]; each scales as many elements of a row as k has for each block.
      rhs_scales: [batch, n, blocks].
      preferred_element_type: the result's dtype.

    Returns:
      An array [batch, m, n] of that dtype, computed in float32.

    Raises:
      ValueError: if the shapes do not fit.

    Example:
      >>> nn.scaled_matmul(jnp.array([[[1., 2., 3., 4.]]]), jnp.ones((1, 1, 4)), jnp.array([[[1., 10.]]]), jnp.ones((1, 1, 2)))
      Array([[[73.]]], dtype=float32)
    """
    x, y, x_scales, y_scales = (jnp.asarray(array) for array in (lhs, rhs, lhs_scales, rhs_scales))
    _check_shapes(x.shape, y.shape, x_scales.shape, y_scales.shape)
    result = dtypes.canonicalize_dtype(preferred_element_type)
    x, y, x_scales, y_scales = (_as_float(array) for array in (x, y, x_scales, y_scales))
    wide = np.result_type(np.float32, result) if result == np.float64 else np.dtype(np.float32)
    product = scaled_dot(x, y, lhs_scale=x_scales, rhs_scale=y_scales, dimension_numbers=_ROWS_TIMES_ROWS, preferred_element_type=wide)
    return product.astype(result)


def _as_float(x: Any) -> Any:
    return x if dtypes.issubdtype(x.dtype, np.floating) else x.astype(np.float32)


def _check_shapes(x: tuple[int, ...], y: tuple[int, ...], x_scales: tuple[int, ...], y_scales: tuple[int, ...]) -> None:
    if not len(x) == len(y) == len(x_scales) == len(y_scales) == 3:
        raise ValueError("scaled_matmul requires all inputs to be 3-dimensional arrays, [batch, rows, contracted], got shapes "
                         f"{x}, {y}, {x_scales} and {y_scales}. Add axes of size 1, or use scaled_dot_general.")
    if (x[0], x[2]) != (y[0], y[2]):
        raise ValueError("scaled_matmul requires inputs a and b to have matching batch (B) and contract (K) dimensions, the first and the "
                         f"last, but got shapes {x} and {y}.")
    if (x_scales[0], x_scales[2]) != (y_scales[0], y_scales[2]):
        raise ValueError("scaled_matmul requires scales to have matching batch (B) and contract (K) dimensions, the first and the last, "
                         f"but got shapes {x_scales} and {y_scales}.")
    if x_scales[:2] != x[:2] or y_scales[:2] != y[:2]:
        raise ValueError("scaled_matmul requires scales to match non-contract dimensions of inputs, but got shapes "
                         f"a: {x}, b: {y}, a_scales: {x_scales}, b_scales: {y_scales}.")
    if x_scales[2] == 0 or x[2] % x_scales[2]:
        raise ValueError(f"scaled_matmul: the {x_scales[2]} scales of a row do not divide its {x[2]} elements into blocks of one size.")


def scaled_dot_general(lhs: ArrayLike, rhs: ArrayLike, dimension_numbers: Any, preferred_element_type: DTypeLike = np.float32,
                       configs: Sequence[BlockScaleConfig] | None = None, implementation: str | None = None) -> Array:
    """`lax.dot_general` of operands that are quantised by blocks along what is contracted; so is the derivative.

    Args:
      lhs, rhs: floating arrays.
      dimension_numbers: as for `lax.dot_general`.
      preferred_element_type: the result's dtype: float32, bfloat16 or float16.
      configs: of lhs, of rhs and of cotangents, each from `get_scaled_dot_general_config`; None for no quantisation.
      implementation: ignored, with a warning: the compiler chooses.

    Returns:
      An array as `lax.dot_general` gives it. Its derivative multiplies the quantised cotangent with the quantised operands, as if rounding
      were the identity. With nvfp4 these products are not quantised, and nothing comes back to elements that were too large for the format.

    Raises:
      TypeError: for another preferred_element_type.
      ValueError: if a block does not divide the size of what is contracted, or there are not three configs.

    Example:
      >>> mxfp8 = nn.get_scaled_dot_general_config("mxfp8")
      >>> x = jnp.full((2, 32), 3.0)
      >>> nn.scaled_dot_general(x, jnp.ones((32, 1)), (((1,), (0,)), ((), ())), configs=[mxfp8] * 3)
      Array([[96.],
             [96.]], dtype=float32)
    """
    if implementation is not None:
        warnings.warn(f"scaled_dot_general: implementation={implementation!r} is ignored: the compiler chooses. Leave it out.",
                      DeprecationWarning, stacklevel=2)
    result = np.dtype(preferred_element_type)
    if configs is None:
        return dot_general(lhs, rhs, dimension_numbers, preferred_element_type=result)
    if result not in _RESULTS:
        raise TypeError(f"scaled_dot_general: Only support preferred_element_type in (float32, bfloat16, float16), but got {result}.")
    if len(configs) != 3:
        raise ValueError(f"scaled_dot_general: configs must be three, of lhs, of rhs and of cotangents, got {len(configs)}.")
    (x_contracted, y_contracted), (x_batch, y_batch) = dimension_numbers
    x, x_kept = _as_rows(jnp.asarray(lhs), tuple(x_contracted), tuple(x_batch))
    y, y_kept = _as_rows(jnp.asarray(rhs), tuple(y_contracted), tuple(y_batch))
    batch = tuple(jnp.shape(lhs)[axis] for axis in x_batch)
    return _product(x, y, result, tuple(configs)).reshape(batch + x_kept + y_kept)


def _as_rows(x: Array, contracted: tuple[int, ...], batch: tuple[int, ...]) -> tuple[Array, tuple[int, ...]]:
    """The operand as [batch, rows, contracted], and the sizes of the axes that the rows are."""
    kept = tuple(axis for axis in range(x.ndim) if axis not in contracted + batch)
    sizes = [tuple(x.shape[axis] for axis in axes) for axes in (batch, kept, contracted)]
    return jnp.transpose(x, batch + kept + contracted).reshape(tuple(map(math.prod, sizes))), sizes[1]


def _product(x: Array, y: Array, result: Any, configs: tuple[BlockScaleConfig, ...]) -> Array:
    """Rows times rows, [batch, m, k] and [batch, n, k], with derivatives."""
    of_x, of_y, of_ct = configs

    @custom_vjp
    def product(x: Any, y: Any) -> Any:
        return _quantised_product(x, y, of_x, of_y, result)

    def forward(x: Any, y: Any) -> tuple[Any, Any]:
        return product(x, y), (x, y)

    def backward(operands: Any, ct: Any) -> tuple[Any, Any]:
        x, y = operands
        x_ct = _derivative(ct, jnp.swapaxes(y, 1, 2), of_ct, of_y, result)
        y_ct = _derivative(jnp.swapaxes(ct, 1, 2), jnp.swapaxes(x, 1, 2), of_ct, of_x, result)
        if of_ct.mode == "nvfp4":
            x_ct, y_ct = (jnp.where(abs(operand) <= _range(config), operand_ct, 0)
                          for operand, operand_ct, config in ((x, x_ct, of_x), (y, y_ct, of_y)))
        return x_ct.astype(x.dtype), y_ct.astype(y.dtype)

    product.defvjp(forward, backward)
    return product(x, y)


def _derivative(ct: Any, y: Any, of_ct: BlockScaleConfig, of_y: BlockScaleConfig, result: Any) -> Any:
    if of_ct.mode == "nvfp4":
        return dot_general(ct, y.astype(ct.dtype), _ROWS_TIMES_ROWS, preferred_element_type=result)
    return _quantised_product(ct, y, of_ct, of_y, result)


def _quantised_product(x: Any, y: Any, of_x: BlockScaleConfig, of_y: BlockScaleConfig, result: Any) -> Any:
    narrow, scales = zip(_quantised(x, of_x), _quantised(y, of_y))
    if of_x.block_size != of_y.block_size:
        finer = min(of_x.block_size, of_y.block_size)
        scales = tuple(jnp.repeat(s, config.block_size // finer, axis=-1) for s, config in zip(scales, (of_x, of_y)))
    whole = [config.global_scale for config in (of_x, of_y) if config.global_scale is not None]
    product = scaled_matmul(*narrow, *scales, preferred_element_type=np.float32 if whole else result)
    return math.prod(whole, start=product).astype(result) if whole else product


def _quantised(x: Any, config: BlockScaleConfig) -> tuple[Any, Any]:
    """The narrow numbers and their scales: the largest of a block becomes the largest narrow number, or at least half of it.

    The barrier keeps compilers from taking a conversion there and back for nothing.
    """
    batch, rows, size = x.shape
    if size % config.block_size or size == 0:
        raise ValueError(f"scaled_dot_general: {config.mode} quantises blocks of {config.block_size} along what is contracted, which has "
                         f"{size} elements (of shape {x.shape}, contracted last). Pad it with zeros to a multiple.")
    largest = _largest(config.data_type)
    blocks = x.reshape(batch, rows, size // config.block_size, config.block_size).astype(np.float32)
    if config.global_scale is not None:
        blocks = blocks / config.global_scale
    bounds = jnp.max(abs(blocks), axis=-1, keepdims=True) / largest
    if config.mode == "nvfp4":
        scales = optimization_barrier(jnp.clip(bounds, 0, _largest(config.scale_type)).astype(config.scale_type))
        divisor = scales.astype(np.float32)
        blocks = blocks / jnp.where(divisor == 0, 1, divisor)
    else:
        exponents = _exponents_above(bounds)
        scales = bitcast_convert_type(exponents.astype(np.uint8), config.scale_type)
        blocks = blocks / bitcast_convert_type(exponents << 23, np.float32)
    narrow = jnp.clip(blocks, -largest, largest).astype(config.data_type).reshape(x.shape)
    return tuple(optimization_barrier((narrow, scales[..., 0])))


def _exponents_above(x: Any) -> Any:
    """The biased exponents of the smallest powers of two that are not below positive float32 numbers; 1, of 2 to the -126, at least."""
    bits = bitcast_convert_type(x, np.int32)
    return jnp.maximum((bits >> 23) + ((bits & 0x7fffff) != 0), 1)


def _range(config: BlockScaleConfig) -> Any:
    """The largest value that an operand with a scale of its own can have."""
    return config.global_scale * _largest(config.data_type) * _largest(config.scale_type)


def _largest(dtype: Any) -> float:
    return float(ml_dtypes.finfo(dtype).max)
