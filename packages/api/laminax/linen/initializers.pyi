# Written by tools/stubs.py.
"""Initializers of parameters: functions `init(key, shape, dtype)` that return arrays, and functions that make them."""

from collections.abc import Sequence
from laminax._array import Array
from laminax._src.numerics.nn.initializers import Initializer as _Initializer
from laminax.typing import ArrayLike, DTypeLike
from typing import Any
from laminax._src.numerics.nn.initializers import Initializer as Initializer

__all__: list[str]

def constant(value: ArrayLike, dtype: DTypeLike | None = None) -> _Initializer:
    """An initializer that fills with `value`, a scalar or an array that broadcasts to the shape."""
def delta_orthogonal(scale: float = 1.0, column_axis: int = -1, dtype: DTypeLike | None = None) -> _Initializer:
    """An initializer of convolution kernels that are orthogonal at the centre and zero elsewhere."""
def glorot_normal(
    in_axis: int | Sequence[int] = -2,
    out_axis: int | Sequence[int] = -1,
    batch_axis: int | Sequence[int] = ...,
    dtype: DTypeLike | None = None,
) -> _Initializer:
    """The Glorot (Xavier) normal initializer: variance_scaling(1.0, 'fan_avg', 'truncated_normal')."""
def glorot_uniform(
    in_axis: int | Sequence[int] = -2,
    out_axis: int | Sequence[int] = -1,
    batch_axis: int | Sequence[int] = ...,
    dtype: DTypeLike | None = None,
) -> _Initializer:
    """The Glorot (Xavier) uniform initializer: variance_scaling(1.0, 'fan_avg', 'uniform')."""
def he_normal(
    in_axis: int | Sequence[int] = -2,
    out_axis: int | Sequence[int] = -1,
    batch_axis: int | Sequence[int] = ...,
    dtype: DTypeLike | None = None,
) -> _Initializer:
    """The He (Kaiming) normal initializer: variance_scaling(2.0, 'fan_in', 'truncated_normal')."""
def he_uniform(
    in_axis: int | Sequence[int] = -2,
    out_axis: int | Sequence[int] = -1,
    batch_axis: int | Sequence[int] = ...,
    dtype: DTypeLike | None = None,
) -> _Initializer:
    """The He (Kaiming) uniform initializer: variance_scaling(2.0, 'fan_in', 'uniform')."""
def kaiming_normal(
    in_axis: int | Sequence[int] = -2,
    out_axis: int | Sequence[int] = -1,
    batch_axis: int | Sequence[int] = ...,
    dtype: DTypeLike | None = None,
) -> _Initializer:
    """The He (Kaiming) normal initializer: variance_scaling(2.0, 'fan_in', 'truncated_normal')."""
def kaiming_uniform(
    in_axis: int | Sequence[int] = -2,
    out_axis: int | Sequence[int] = -1,
    batch_axis: int | Sequence[int] = ...,
    dtype: DTypeLike | None = None,
) -> _Initializer:
    """The He (Kaiming) uniform initializer: variance_scaling(2.0, 'fan_in', 'uniform')."""
def lecun_normal(
    in_axis: int | Sequence[int] = -2,
    out_axis: int | Sequence[int] = -1,
    batch_axis: int | Sequence[int] = ...,
    dtype: DTypeLike | None = None,
) -> _Initializer:
    """The LeCun normal initializer: variance_scaling(1.0, 'fan_in', 'truncated_normal')."""
def lecun_uniform(
    in_axis: int | Sequence[int] = -2,
    out_axis: int | Sequence[int] = -1,
    batch_axis: int | Sequence[int] = ...,
    dtype: DTypeLike | None = None,
) -> _Initializer:
    """The LeCun uniform initializer: variance_scaling(1.0, 'fan_in', 'uniform')."""
def normal(stddev: ArrayLike = 0.01, dtype: DTypeLike | None = None) -> _Initializer:
    """An initializer drawing from the normal distribution with mean 0 and standard deviation `stddev`."""
def ones(key: ArrayLike, shape: Sequence[int], dtype: DTypeLike | None = None, out_sharding: Any = None) -> Array:
    """Ones; the key is not used."""
def ones_init() -> _Initializer:
    """The initializer `ones`, for code that calls what makes initializers."""
def orthogonal(scale: float = 1.0, column_axis: int = -1, dtype: DTypeLike | None = None) -> _Initializer:
    """An initializer of uniformly distributed orthogonal matrices times `scale`."""
def truncated_normal(
    stddev: ArrayLike = 0.01,
    dtype: DTypeLike | None = None,
    lower: ArrayLike = -2.0,
    upper: ArrayLike = 2.0,
) -> _Initializer:
    """An initializer drawing stddev times the normal distribution truncated to [lower, upper]."""
def uniform(scale: ArrayLike = 0.01, dtype: DTypeLike | None = None) -> _Initializer:
    """An initializer drawing uniformly from [0, scale)."""
def variance_scaling(
    scale: float,
    mode: str,
    distribution: str,
    in_axis: int | Sequence[int] = -2,
    out_axis: int | Sequence[int] = -1,
    batch_axis: int | Sequence[int] = ...,
    dtype: DTypeLike | None = None,
) -> _Initializer:
    """An initializer with variance scale / n."""
def xavier_normal(
    in_axis: int | Sequence[int] = -2,
    out_axis: int | Sequence[int] = -1,
    batch_axis: int | Sequence[int] = ...,
    dtype: DTypeLike | None = None,
) -> _Initializer:
    """The Glorot (Xavier) normal initializer: variance_scaling(1.0, 'fan_avg', 'truncated_normal')."""
def xavier_uniform(
    in_axis: int | Sequence[int] = -2,
    out_axis: int | Sequence[int] = -1,
    batch_axis: int | Sequence[int] = ...,
    dtype: DTypeLike | None = None,
) -> _Initializer:
    """The Glorot (Xavier) uniform initializer: variance_scaling(1.0, 'fan_avg', 'uniform')."""
def zeros(key: ArrayLike, shape: Sequence[int], dtype: DTypeLike | None = None, out_sharding: Any = None) -> Array:
    """Zeros; the key is not used."""
def zeros_init() -> _Initializer:
    """The initializer `zeros`, for code that calls what makes initializers."""
