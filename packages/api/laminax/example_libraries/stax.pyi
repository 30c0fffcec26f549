# Written by tools/stubs.py.
"""Neural networks as pairs of functions. A table of contents: names load on first use."""

from collections.abc import Callable, Sequence
from functools import partial
from laminax._array import Array
from laminax._src.numerics.example_libraries.layers import DimensionNumbers, Layer
from laminax._src.numerics.nn.initializers import Initializer
from laminax.typing import ArrayLike, DTypeLike
from typing import Any
from laminax.nn import elu as elu
from laminax.nn import gelu as gelu
from laminax.nn import leaky_relu as leaky_relu
from laminax.nn import log_softmax as log_softmax
from laminax.nn import relu as relu
from laminax.nn import selu as selu
from laminax.nn import sigmoid as sigmoid
from laminax.nn import softmax as softmax
from laminax.nn import softplus as softplus
from laminax.nn import standardize as standardize
from laminax.nn.initializers import glorot_normal as glorot_normal
from laminax.nn.initializers import normal as normal
from laminax.nn.initializers import ones as ones
from laminax.nn.initializers import zeros as zeros

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
def glorot(
    in_axis: int | Sequence[int] = -2,
    out_axis: int | Sequence[int] = -1,
    batch_axis: int | Sequence[int] = ...,
    dtype: DTypeLike | None = None,
) -> Initializer:
    """The Glorot (Xavier) normal initializer: variance_scaling(1.0, 'fan_avg', 'truncated_normal')."""
def logsoftmax(x: ArrayLike, axis: int | tuple[int, ...] | None = -1, where: Array | None = None) -> Array:
    """Logarithm of softmax, computed as x - logsumexp(x). Elements left out by `where` get -inf."""
def parallel(*layers: Layer) -> Layer:
    """Layers side by side, each with inputs and outputs of its own; see `FanOut`, `FanInSum` and `FanInConcat`."""
def randn(stddev: ArrayLike = 0.01, dtype: DTypeLike | None = None) -> Initializer:
    """An initializer drawing from the normal distribution with mean 0 and standard deviation `stddev`."""
def serial(*layers: Layer) -> Layer:
    """Layers one after the other: each gets the outputs of the one before."""
def shape_dependent(make_layer: Callable[[tuple[int, ...]], Layer]) -> Layer:
    """A layer that is made when the shape of its inputs is known."""
