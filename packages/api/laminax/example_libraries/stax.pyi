# Written by tools/stubs.py.
"""Neural networks as pairs of functions. A table of contents: names load on first use."""

from collections.abc import Callable, Sequence
from functools import partial
from laminax._array import Array
from laminax._src.numerics.example_libraries.layers import DimensionNumbers, Layer
from laminax._src.numerics.nn.initializers import Initializer
from laminax.typing import ArrayLike, DTypeLike
from typing import Any

__all__: list[str]

def AvgPool(window_shape: Sequence[int], strides: Sequence[int] | None = None, padding: Any = 'VALID', spec: str | None = None) -> Layer:
    """The mean of each window, without its padding. Args, Returns and Raises as of `MaxPool`."""
def BatchNorm(
    axis: int | Sequence[int] = ...,
    epsilon: float = 1e-05,
    center: bool = True,
    scale: bool = True,
    beta_init: Initializer = ...,
    gamma_init: Initializer = ...,
) -> Layer:
    """Inputs standardized over the axes of batch and space, then scaled and shifted; no running averages are kept."""
Conv: partial
Conv1DTranspose: partial
ConvTranspose: partial
def Dense(out_dim: int, W_init: Initializer = ..., b_init: Initializer = ...) -> Layer:
    """A fully connected layer: inputs @ W + b."""
def Dropout(rate: float, mode: str = 'train') -> Layer:
    """A layer that keeps each input with probability `rate`, divided by it, and sets the others to 0."""
Elu: tuple[Any, ...]
Exp: tuple[Any, ...]
def FanInConcat(axis: int = -1) -> Layer:
    """A layer that joins a sequence of inputs along an axis."""
FanInSum: tuple[Any, ...]
def FanOut(num: int) -> Layer:
    """A layer that returns its inputs `num` times, in a list."""
Flatten: tuple[Any, ...]
Gelu: tuple[Any, ...]
def GeneralConv(
    dimension_numbers: DimensionNumbers,
    out_chan: int,
    filter_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: Any = 'VALID',
    W_init: Initializer | None = None,
    b_init: Initializer = ...,
) -> Layer:
    """A convolution with axes in any order, plus a bias per channel."""
def GeneralConvTranspose(
    dimension_numbers: DimensionNumbers,
    out_chan: int,
    filter_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: Any = 'VALID',
    W_init: Initializer | None = None,
    b_init: Initializer = ...,
) -> Layer:
    """A transposed convolution (see `lax.conv_transpose`), which upsamples by `strides`, plus a bias per channel."""
Identity: tuple[Any, ...]
LeakyRelu: tuple[Any, ...]
LogSoftmax: tuple[Any, ...]
def MaxPool(window_shape: Sequence[int], strides: Sequence[int] | None = None, padding: Any = 'VALID', spec: str | None = None) -> Layer:
    """The largest element of each window."""
Relu: tuple[Any, ...]
Selu: tuple[Any, ...]
Sigmoid: tuple[Any, ...]
Softmax: tuple[Any, ...]
Softplus: tuple[Any, ...]
def SumPool(window_shape: Sequence[int], strides: Sequence[int] | None = None, padding: Any = 'VALID', spec: str | None = None) -> Layer:
    """The sum of each window. Args, Returns and Raises as of `MaxPool`."""
Tanh: tuple[Any, ...]
def elementwise(fun: Callable[..., Any], **fun_kwargs: Any) -> Layer:
    """A layer that applies a function, which keeps shapes, to its inputs."""
def elu(x: ArrayLike, alpha: ArrayLike = 1.0) -> Array:
    """Exponential linear unit: x for x > 0, alpha * (exp(x) - 1) elsewhere."""
def gelu(x: ArrayLike, approximate: bool = True) -> Array:
    """Gaussian error linear unit, x * Phi(x) with the normal distribution function Phi."""
def glorot(
    in_axis: int | Sequence[int] = -2,
    out_axis: int | Sequence[int] = -1,
    batch_axis: int | Sequence[int] = ...,
    dtype: DTypeLike | None = None,
) -> Initializer:
    """The Glorot (Xavier) normal initializer: variance_scaling(1.0, 'fan_avg', 'truncated_normal')."""
def glorot_normal(
    in_axis: int | Sequence[int] = -2,
    out_axis: int | Sequence[int] = -1,
    batch_axis: int | Sequence[int] = ...,
    dtype: DTypeLike | None = None,
) -> Initializer:
    """The Glorot (Xavier) normal initializer: variance_scaling(1.0, 'fan_avg', 'truncated_normal')."""
def leaky_relu(x: ArrayLike, negative_slope: ArrayLike = 0.01) -> Array:
    """x for x >= 0, negative_slope * x elsewhere."""
def log_softmax(x: ArrayLike, axis: int | tuple[int, ...] | None = -1, where: Array | None = None) -> Array:
    """Logarithm of softmax, computed as x - logsumexp(x). Elements left out by `where` get -inf."""
def logsoftmax(x: ArrayLike, axis: int | tuple[int, ...] | None = -1, where: Array | None = None) -> Array:
    """Logarithm of softmax, computed as x - logsumexp(x). Elements left out by `where` get -inf."""
def normal(stddev: ArrayLike = 0.01, dtype: DTypeLike | None = None) -> Initializer:
    """An initializer drawing from the normal distribution with mean 0 and standard deviation `stddev`."""
def ones(key: ArrayLike, shape: Sequence[int], dtype: DTypeLike | None = None, out_sharding: Any = None) -> Array:
    """Ones; the key is not used."""
def parallel(*layers: Layer) -> Layer:
    """Layers side by side, each with inputs and outputs of its own; see `FanOut`, `FanInSum` and `FanInConcat`."""
def randn(stddev: ArrayLike = 0.01, dtype: DTypeLike | None = None) -> Initializer:
    """An initializer drawing from the normal distribution with mean 0 and standard deviation `stddev`."""
def relu(x: ArrayLike) -> Array:
    """Rectified linear unit, max(x, 0). Its derivative is 1 for x > 0 and 0 elsewhere, at 0 too."""
def selu(x: ArrayLike) -> Array:
    """Scaled ELU with the self-normalising constants of Klambauer et al., NIPS 2017."""
def serial(*layers: Layer) -> Layer:
    """Layers one after the other: each gets the outputs of the one before."""
def shape_dependent(make_layer: Callable[[tuple[int, ...]], Layer]) -> Layer:
    """A layer that is made when the shape of its inputs is known."""
def sigmoid(x: ArrayLike) -> Array:
    """Logistic function, 1 / (1 + exp(-x))."""
def softmax(x: ArrayLike, axis: int | tuple[int, ...] | None = -1, where: Array | None = None) -> Array:
    """exp(x) / sum(exp(x)) along an axis, without overflow."""
def softplus(x: ArrayLike) -> Array:
    """Smooth rectifier, log(1 + exp(x))."""
def standardize(
    x: ArrayLike,
    axis: int | tuple[int, ...] | None = -1,
    mean: ArrayLike | None = None,
    variance: ArrayLike | None = None,
    epsilon: ArrayLike = 1e-05,
    where: ArrayLike | None = None,
    *,
    algorithm: str = 'fast',
) -> Array:
    """(x - mean) / sqrt(variance + epsilon) along an axis; mean and variance are computed unless given."""
def zeros(key: ArrayLike, shape: Sequence[int], dtype: DTypeLike | None = None, out_sharding: Any = None) -> Array:
    """Zeros; the key is not used."""
