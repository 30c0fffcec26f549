"""Layers of neural networks: constructors that return (init_fun, apply_fun) pairs.

The constructors' names are in CamelCase, as are those of layers that need no arguments and so are pairs themselves. Weights
are drawn with the first and biases with the second of two keys split from the layer's.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any, Callable, Sequence

from laminax_ir.ops import convolution, shape_tuples

from laminax._src.numerics.nn.activations import elu, gelu, leaky_relu, relu, selu, sigmoid, softplus
from laminax._src.numerics.nn.initializers import Initializer, glorot_normal, normal, ones, zeros
from laminax._src.numerics.nn.normalization import log_softmax, softmax, standardize
from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.random import keys as random_keys
from laminax._src.numerics.random import samplers

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike

Layer = tuple[Callable, Callable]
DimensionNumbers = tuple[str, str, str]

glorot, randn, logsoftmax = glorot_normal, normal, log_softmax  # the names that they had at first


# Layers with weights


def Dense(out_dim: int, W_init: Initializer = glorot_normal(), b_init: Initializer = normal()) -> Layer:
    """A fully connected layer: inputs @ W + b.

    Args:
      out_dim: the number of outputs.
      W_init, b_init: initializers of W, [in_dim, out_dim], and b, [out_dim].

    Returns:
      A layer from [..., in_dim] to [..., out_dim] with the parameters (W, b).

    Example:
      >>> init_fun, apply_fun = Dense(10)
      >>> output_shape, params = init_fun(random.key(0), (-1, 784))
      >>> output_shape
      (-1, 10)
    """
    def init_fun(rng: ArrayLike, input_shape: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[Array, Array]]:
        W_key, b_key = random_keys.split(rng)
        return (*input_shape[:-1], out_dim), (W_init(W_key, (input_shape[-1], out_dim)), b_init(b_key, (out_dim,)))

    def apply_fun(params: tuple[Any, ...], inputs: Any, **kwargs: Any) -> Any:
        W, b = params
        return jnp.dot(inputs, W) + b

    return init_fun, apply_fun


def GeneralConv(dimension_numbers: DimensionNumbers, out_chan: int, filter_shape: Sequence[int],
                strides: Sequence[int] | None = None, padding: Any = "VALID", W_init: Initializer | None = None,
                b_init: Initializer = normal(1e-6)) -> Layer:
    """A convolution with axes in any order, plus a bias per channel.

    Args:
      dimension_numbers: the axes of the inputs, the kernel and the outputs, such as ("NHWC", "HWIO", "NHWC").
      out_chan: the number of output channels.
      filter_shape: n sizes, of the kernel's spatial axes in their order.
      strides: n steps; 1 by default.
      padding: "VALID", "SAME", "SAME_LOWER", or n pairs (low, high).
      W_init, b_init: initializers of kernel and bias; the kernel's is by default `glorot_normal` over its own axes.

    Returns:
      A layer with the parameters (W, b); b has size 1 along all axes of the outputs but the channels'.

    Raises:
      ValueError: if dimension_numbers, filter_shape, strides or the input's shape do not fit each other.
    """
    strides = tuple(strides or (1,) * len(filter_shape))
    init_fun = _convolution_init("GeneralConv", shape_tuples.conv_general_shape_tuple, dimension_numbers, out_chan, filter_shape, strides,
                                 padding, W_init, b_init)

    def apply_fun(params: tuple[ArrayLike, ...], inputs: ArrayLike, **kwargs: Any) -> Array:
        W, b = params
        return convolution.conv_general_dilated(inputs, W, strides, padding, dimension_numbers=dimension_numbers) + b

    return init_fun, apply_fun


def _convolution_init(name: str, shape_of_result: Callable, dimension_numbers: DimensionNumbers, out_chan: int,
                      filter_shape: Sequence[int], strides: Sequence[int], padding: Any, W_init: Initializer | None,
                      b_init: Initializer) -> Callable:
    """The init_fun of a convolution, whose result has the shape that `shape_of_result` tells."""
    lhs_spec, rhs_spec, out_spec = _three_strings(name, dimension_numbers)
    if not len(filter_shape) == len(strides) == len(rhs_spec) - 2:
        raise ValueError(f"{name}: filter_shape and strides must have one entry for each spatial axis of {rhs_spec!r}, got "
                         f"{tuple(filter_shape)} and {tuple(strides)}")
    W_init = W_init or glorot_normal(rhs_spec.index("I"), rhs_spec.index("O"))

    def init_fun(rng: ArrayLike, input_shape: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[Array, Array]]:
        if len(input_shape) != len(lhs_spec):
            raise ValueError(f"{name}: the input's shape must have one size for each of the axes {lhs_spec!r}, got {tuple(input_shape)}")
        in_chan, sizes = input_shape[lhs_spec.index("C")], iter(filter_shape)
        kernel_shape = tuple([{"I": in_chan, "O": out_chan}[c] if c in "IO" else next(sizes) for c in rhs_spec])
        bias_shape = tuple([out_chan if c == "C" else 1 for c in out_spec])
        output_shape = shape_of_result(input_shape, kernel_shape, strides, padding, dimension_numbers)
        W_key, b_key = random_keys.split(rng)
        return output_shape, (W_init(W_key, kernel_shape), b_init(b_key, bias_shape))

    return init_fun


def _three_strings(name: str, dimension_numbers: Any) -> DimensionNumbers:
    try:
        shape_tuples.conv_general_permutations(dimension_numbers)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{name}: dimension_numbers must be three strings such as ('NHWC', 'HWIO', 'NHWC'), with the same spatial "
                          f"axes in each, got {dimension_numbers!r}") from error
    return dimension_numbers


Conv = functools.partial(GeneralConv, ("NHWC", "HWIO", "NHWC"))


def GeneralConvTranspose(dimension_numbers: DimensionNumbers, out_chan: int, filter_shape: Sequence[int],
                         strides: Sequence[int] | None = None, padding: Any = "VALID", W_init: Initializer | None = None,
                         b_init: Initializer = normal(1e-6)) -> Layer:
    """A transposed convolution (see `lax.conv_transpose`), which upsamples by `strides`, plus a bias per channel.

    Args:
      dimension_numbers, out_chan, filter_shape, W_init, b_init: as for `GeneralConv`.
      strides: n factors of upsampling; 1 by default.
      padding: "VALID", "SAME", or n pairs (low, high).

    Returns:
      A layer with the parameters (W, b); b has size 1 along all axes of the outputs but the channels'.

    Raises:
      ValueError: if dimension_numbers, filter_shape, strides or the input's shape do not fit each other.
    """
    strides = tuple(strides or (1,) * len(filter_shape))
    init_fun = _convolution_init("GeneralConvTranspose", shape_tuples.conv_transpose_shape_tuple, dimension_numbers, out_chan, filter_shape,
                                 strides, padding, W_init, b_init)

    def apply_fun(params: tuple[ArrayLike, ...], inputs: ArrayLike, **kwargs: Any) -> Array:
        W, b = params
        return convolution.conv_transpose(inputs, W, strides, padding, dimension_numbers=dimension_numbers) + b

    return init_fun, apply_fun


Conv1DTranspose = functools.partial(GeneralConvTranspose, ("NHC", "HIO", "NHC"))
ConvTranspose = functools.partial(GeneralConvTranspose, ("NHWC", "HWIO", "NHWC"))


def BatchNorm(axis: int | Sequence[int] = (0, 1, 2), epsilon: float = 1e-5, center: bool = True, scale: bool = True,
              beta_init: Initializer = zeros, gamma_init: Initializer = ones) -> Layer:
    """Inputs standardized over the axes of batch and space, then scaled and shifted; no running averages are kept.

    Args:
      axis: the axes to standardize over, counted from the front. One counted from the back is standardized over, but
        keeps its size in the parameters.
      epsilon: added to the variance.
      center, scale: whether there is a shift, beta, and a factor, gamma.
      beta_init, gamma_init: their initializers.

    Returns:
      A layer with the parameters (beta, gamma), arrays of the shape of the remaining axes, or () for the one left out.

    Source: S. Ioffe and C. Szegedy, "Batch Normalization", ICML 2015.
    """
    given: Any = axis
    axes = (given,) if jnp.isscalar(given) else tuple(given)

    def init_fun(rng: ArrayLike, input_shape: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[Any, Any]]:
        shape = tuple([size for i, size in enumerate(input_shape) if i not in axes])
        beta_key, gamma_key = random_keys.split(rng)
        return input_shape, (beta_init(beta_key, shape) if center else (), gamma_init(gamma_key, shape) if scale else ())

    def apply_fun(params: tuple[Any, ...], inputs: ArrayLike, **kwargs: Any) -> Array:
        beta, gamma = params
        along_rest = tuple([None if i in axes else slice(None) for i in range(jnp.ndim(inputs))])
        result = standardize(inputs, axes, epsilon=epsilon)
        if scale:
            result = gamma[along_rest] * result
        return result + beta[along_rest] if center else result

    return init_fun, apply_fun


# Layers without


def elementwise(fun: Callable, **fun_kwargs: Any) -> Layer:
    """A layer that applies a function, which keeps shapes, to its inputs.

    Args:
      fun: takes an array.
      **fun_kwargs: passed to it.

    Returns:
      A layer without parameters.

    Example:
      >>> Shrink = elementwise(jnp.clip, min=-1, max=1)
    """
    return without_parameters(lambda input_shape: input_shape, lambda inputs: fun(inputs, **fun_kwargs))


def without_parameters(shape_of_result: Callable, fun: Callable) -> Layer:
    """The layer that applies a function of the inputs, whose outputs' shape is a function of the inputs' shape."""
    return lambda rng, input_shape: (shape_of_result(input_shape), ()), lambda params, inputs, **kwargs: fun(inputs)


Tanh = elementwise(jnp.tanh)
Relu = elementwise(relu)
Exp = elementwise(jnp.exp)
LogSoftmax = elementwise(log_softmax, axis=-1)
Softmax = elementwise(softmax, axis=-1)
Softplus = elementwise(softplus)
Sigmoid = elementwise(sigmoid)
Elu = elementwise(elu)
LeakyRelu = elementwise(leaky_relu)
Selu = elementwise(selu)
Gelu = elementwise(gelu)

# All axes but the first as one.
Flatten = without_parameters(
    lambda input_shape: (input_shape[0], math.prod(input_shape[1:])),
    lambda inputs: jnp.reshape(inputs, (inputs.shape[0], math.prod(inputs.shape[1:]))))


def Dropout(rate: float, mode: str = "train") -> Layer:
    """A layer that keeps each input with probability `rate`, divided by it, and sets the others to 0.

    Args:
      rate: the probability with which an input is kept, in [0, 1].
      mode: "train"; with another one the inputs are returned as they are.

    Returns:
      A layer without parameters, whose apply_fun takes a key as `rng`.

    Raises:
      ValueError: if rate is a number outside [0, 1]; by apply_fun, if it gets no key, in any mode.
    """
    if isinstance(rate, (int, float)) and not 0 <= rate <= 1:
        raise ValueError(f"Dropout: rate, the probability with which an input is kept, must be in [0, 1], got {rate!r}")

    def init_fun(rng: ArrayLike, input_shape: tuple[int, ...]) -> Any:
        return input_shape, ()

    def apply_fun(params: tuple[Any, ...], inputs: Any, **kwargs: Any) -> Any:
        rng = kwargs.get("rng")
        if rng is None:
            raise ValueError("Dropout: apply_fun needs a key, but rng is None. Call it as apply_fun(params, inputs, rng=key), with a key "
                             "made for example by random_keys.key(0).")
        if mode != "train":
            return inputs
        return jnp.where(samplers.bernoulli(rng, rate, inputs.shape), inputs / rate, 0)

    return init_fun, apply_fun
