"""Convolutions of inputs whose last axis is that of the features: `[*batch, *spatial, features]`.

The batch has any number of axes, also none: they are taken together for the operation and restored in the result.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from laminax_ir.ops.convolution import ConvDimensionNumbers, conv_general_dilated, conv_general_dilated_local, conv_transpose
from laminax_ir.types.shape_dtype_structs import ShapeDtypeStruct

from laminax._src.linen.calls import compact, nowrap
from laminax._src.linen.layers.arguments import as_tuple, expect_ndim, per_axis
from laminax._src.linen.layers.dtypes import promote_dtype
from laminax._src.linen.layers.linear import default_kernel_init
from laminax._src.linen.module import Module
from laminax._src.numerics.floor import eval_shape
from laminax._src.numerics.nn import initializers
from laminax._src.numerics.numpy import namespace as jnp

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, DTypeLike


def canonicalize_padding(padding: Any, rank: int) -> Any:
    """A padding as `lax.conv_general_dilated` takes it: a name, or a pair of integers for each spatial axis.

    Args:
      padding: a name; an integer for both sides of all axes; or for each axis an integer or a pair of integers.
      rank: how many spatial axes there are.

    Raises:
      ValueError: if `padding` is none of these.

    Example:
      >>> canonicalize_padding([1, (2, 3)], 2)
      [(1, 1), (2, 3)]
    """
    if isinstance(padding, str):
        return padding
    if isinstance(padding, int):
        return [(padding, padding)] * rank
    if isinstance(padding, Sequence) and len(padding) == rank:
        pairs = [(p, p) if isinstance(p, int) else p for p in padding]
        if all(isinstance(p, tuple) and len(p) == 2 for p in pairs):
            return pairs
    raise ValueError(f"Invalid padding format: {padding}, should be str, int, or a sequence of len {rank} where each element is an "
                     "int or pair of ints.")


class _Convolution(Module):
    """What convolutions with one kernel and with a kernel for each place share."""

    features: int
    kernel_size: int | Sequence[int]
    strides: None | int | Sequence[int] = 1
    padding: Any = "SAME"
    input_dilation: None | int | Sequence[int] = 1
    kernel_dilation: None | int | Sequence[int] = 1
    feature_group_count: int = 1
    use_bias: bool = True
    mask: Array | None = None
    dtype: DTypeLike | None = None
    param_dtype: DTypeLike = jnp.float32
    precision: Any = None
    kernel_init: Any = default_kernel_init
    bias_init: Any = initializers.zeros
    promote_dtype: Any = promote_dtype
    conv_general_dilated: Any = None
    conv_general_dilated_cls: Any = None

    @property
    def shared_weights(self) -> bool:
        """Whether all places of the result have one kernel."""
        raise NotImplementedError(f"{type(self).__name__} does not say whether its kernel is shared: define the property shared_weights")

    @compact
    def __call__(self, inputs: Array) -> Array:
        """Convolves [*batch, *spatial, inputs] to [*batch, *spatial, features]."""
        layer = type(self).__name__
        sizes = as_tuple(self.kernel_size)
        strides, input_dilation, kernel_dilation = (
            per_axis(layer, name, getattr(self, name), len(sizes)) for name in ("strides", "input_dilation", "kernel_dilation"))
        inputs, batch = _with_one_batch_axis(layer, inputs, len(sizes))
        inputs, padding = _padded(inputs, canonicalize_padding(self.padding, len(sizes)), sizes, kernel_dilation)
        geometry = {"window_strides": strides, "padding": padding, "lhs_dilation": input_dilation, "rhs_dilation": kernel_dilation,
                    "dimension_numbers": _features_last(inputs.ndim)}
        if self.shared_weights:
            kernel_shape, bias_shape = self._shared_shapes(sizes, inputs.shape[-1])
        else:
            kernel_shape, bias_shape = self._local_shapes(sizes, inputs, geometry)
        kernel = _masked_kernel(self, kernel_shape)
        bias = self.param("bias", self.bias_init, bias_shape, self.param_dtype) if self.use_bias else None
        inputs, kernel, bias = self.promote_dtype(inputs, kernel, bias, dtype=self.dtype)
        if self.shared_weights:
            result = self._operation()(inputs, kernel, feature_group_count=self.feature_group_count, precision=self.precision, **geometry)
        else:
            result = conv_general_dilated_local(inputs, kernel, filter_shape=sizes, precision=self.precision, **geometry)
        if bias is not None:
            result = result + jnp.reshape(bias, (1,) * (result.ndim - bias.ndim) + bias.shape)
        return _with_batch_axes(result, batch)

    @nowrap
    def _shared_shapes(self, sizes: tuple[int, ...], inputs: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        if inputs % self.feature_group_count:
            raise ValueError(f"{type(self).__name__}: the input has {inputs} features, which feature_group_count="
                             f"{self.feature_group_count} does not divide")
        return (*sizes, inputs // self.feature_group_count, self.features), (self.features,)

    @nowrap
    def _local_shapes(self, sizes: tuple[int, ...], inputs: Array, geometry: dict[str, Any]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The shapes of a kernel and a bias for each place of the result, whose shape is that of the convolution."""
        if self.feature_group_count != 1:
            raise NotImplementedError(f"{type(self).__name__}: feature_group_count must be 1, got {self.feature_group_count}; "
                                      "`lax.conv_general_dilated_local` has no groups. Use Conv")
        one_kernel = ShapeDtypeStruct((*sizes, inputs.shape[-1], self.features), inputs.dtype)
        shape = eval_shape(lambda lhs, rhs: self._operation()(lhs, rhs, **geometry), inputs, one_kernel).shape
        return (*shape[1:-1], math.prod(sizes) * inputs.shape[-1], self.features), shape[1:]

    @nowrap
    def _operation(self) -> Callable[..., Array]:
        """The function that convolves: that of `conv_general_dilated_cls`, `conv_general_dilated`, or the operation."""
        if self.conv_general_dilated_cls is not None:
            return self.conv_general_dilated_cls()
        return conv_general_dilated if self.conv_general_dilated is None else self.conv_general_dilated


def _with_one_batch_axis(layer: str, inputs: Array, spatial: int) -> tuple[Array, tuple[int, ...] | None]:
    """The input with one batch axis, and the sizes of those it had, None where it had one."""
    expect_ndim(layer, inputs, spatial + 1,
                f"[*batch, {', '.join(['spatial'] * spatial)}, features], since kernel_size has {spatial} entries")
    batch = inputs.shape[:inputs.ndim - spatial - 1]
    if len(batch) == 1:
        return inputs, None
    return jnp.reshape(inputs, (math.prod(batch), *inputs.shape[len(batch):])), batch


def _with_batch_axes(result: Array, batch: tuple[int, ...] | None) -> Array:
    return result if batch is None else jnp.reshape(result, (*batch, *result.shape[1:]))


def _padded(inputs: Array, padding: Any, sizes: tuple[int, ...], kernel_dilation: tuple[int, ...]) -> tuple[Array, Any]:
    """The input padded in the ways that the operation does not know, and the padding that is left to it."""
    if padding in ("CIRCULAR", "REFLECT"):
        extents = [(size - 1) * dilation + 1 for size, dilation in zip(sizes, kernel_dilation, strict=True)]
        pads = [(0, 0), *(((extent - 1) // 2, extent // 2) for extent in extents), (0, 0)]
        return jnp.pad(inputs, pads, mode="wrap" if padding == "CIRCULAR" else "reflect"), "VALID"
    if padding == "CAUSAL":
        if len(sizes) != 1:
            raise ValueError(f"Causal padding is only implemented for 1D convolutions. kernel_size has {len(sizes)} entries")
        return jnp.pad(inputs, [(0, 0), (kernel_dilation[0] * (sizes[0] - 1), 0), (0, 0)]), "VALID"
    return inputs, padding


def _features_last(ndim: int) -> ConvDimensionNumbers:
    """Batch first and features last; in the kernel features of the input, then those of the result, last."""
    spatial = tuple(range(1, ndim - 1))
    return ConvDimensionNumbers((0, ndim - 1, *spatial), (ndim - 1, ndim - 2, *range(ndim - 2)), (0, ndim - 1, *spatial))


def _masked_kernel(layer: Any, shape: tuple[int, ...]) -> Array:
    if layer.mask is not None and layer.mask.shape != shape:
        raise ValueError(f"Mask needs to have the same shape as weights. Shapes are: {layer.mask.shape}, {shape}")
    kernel = layer.param("kernel", layer.kernel_init, shape, layer.param_dtype)
    return kernel if layer.mask is None else kernel * layer.mask


class Conv(_Convolution):
    """A convolution.

    Parameters: `kernel`, [*kernel_size, inputs // feature_group_count, features], and `bias`, [features].

    Attributes:
      features: how many features the result has.
      kernel_size: the kernel's sizes along the spatial axes; one integer for one axis.
      strides: steps between places of the result, one integer for all axes or one for each.
      padding: "SAME", "VALID"; "CIRCULAR" (the input is periodic), "REFLECT" (it is mirrored at its ends), "CAUSAL" (one axis only:
        no place sees later ones); an integer for all sides; or for each axis an integer or a pair (before, after).
      input_dilation: steps between elements of the input, with zeros between them.
      kernel_dilation: steps between elements of the kernel.
      feature_group_count: into how many groups the features are split, each with kernels of its own.
      use_bias: whether a bias is added.
      mask: factors of the kernel's elements, of the kernel's shape.
      dtype: the dtype to compute in; by default the one that inputs and parameters promote to.
      param_dtype: the dtype of the parameters.
      precision: the precision of products, as of `lax.conv_general_dilated`.
      kernel_init: initializer of the kernel.
      bias_init: initializer of the bias.
      promote_dtype: function of (inputs, kernel, bias) and `dtype=` that brings them to one dtype.
      conv_general_dilated: function to use in place of `lax.conv_general_dilated`.
      conv_general_dilated_cls: class (or function) without arguments that makes such a function.

    Example:
      >>> import laminax as lx
      >>> from laminax import linen as nn, numpy as jnp
      >>> layer = nn.Conv(features=4, kernel_size=(3, 3), strides=2, padding="CIRCULAR")
      >>> variables = layer.init(lx.random.key(0), jnp.ones((1, 8, 8, 3)))
      >>> lx.tree.map(jnp.shape, variables)
      {'params': {'bias': (4,), 'kernel': (3, 3, 3, 4)}}
      >>> layer.apply(variables, jnp.ones((8, 8, 3))).shape
      (4, 4, 4)
    """

    @property
    def shared_weights(self) -> bool:
        """True: one kernel for all places."""
        return True


class ConvLocal(_Convolution):
    """A convolution with a kernel of its own for each place of the result: a locally connected layer.

    Parameters: `kernel`, [*spatial sizes of the result, prod(kernel_size) * inputs, features], and `bias`, [*spatial sizes, features].
    The attributes are those of `Conv`; `feature_group_count` must be 1.

    Example:
      >>> import laminax as lx
      >>> from laminax import linen as nn, numpy as jnp
      >>> layer = nn.ConvLocal(features=4, kernel_size=(3,), padding="VALID")
      >>> variables = layer.init(lx.random.key(0), jnp.ones((1, 8, 3)))
      >>> lx.tree.map(jnp.shape, variables)
      {'params': {'bias': (6, 4), 'kernel': (6, 9, 4)}}
    """

    @property
    def shared_weights(self) -> bool:
        """False: a kernel for each place."""
        return False


class ConvTranspose(Module):
    """A transposed convolution: enlarges the spatial axes by `strides`, as the derivative of a convolution does.

    Parameters: `kernel`, [*kernel_size, inputs, features] (the last two exchanged with `transpose_kernel`), and `bias`, [features].

    Attributes:
      features: how many features the result has.
      kernel_size: the kernel's sizes along the spatial axes; one integer for one axis.
      strides: factors by which the spatial axes grow; 1 by default.
      padding: "SAME", "VALID", "CIRCULAR" (the result is periodic), an integer for all sides, or for each axis an integer or a pair.
      kernel_dilation: steps between elements of the kernel; 1 by default.
      use_bias: whether a bias is added.
      mask: factors of the kernel's elements, of the kernel's shape.
      dtype: the dtype to compute in; by default the one that inputs and parameters promote to.
      param_dtype: the dtype of the parameters.
      precision: the precision of products, as of `lax.conv_transpose`.
      kernel_init: initializer of the kernel.
      bias_init: initializer of the bias.
      transpose_kernel: whether the kernel is flipped and its two last axes exchanged: with the kernel of a `Conv` the layer is then
        the transpose of that one.
      promote_dtype: function of (inputs, kernel, bias) and `dtype=` that brings them to one dtype.
      preferred_element_type: the dtype that products are summed in.

    Example:
      >>> import laminax as lx
      >>> from laminax import linen as nn, numpy as jnp
      >>> layer = nn.ConvTranspose(features=4, kernel_size=(6, 6), strides=(2, 2), padding="CIRCULAR", transpose_kernel=True)
      >>> out, variables = layer.init_with_output(lx.random.key(0), jnp.ones((1, 15, 15, 3)))
      >>> lx.tree.map(jnp.shape, variables), out.shape
      ({'params': {'bias': (4,), 'kernel': (6, 6, 4, 3)}}, (1, 30, 30, 4))
    """

    features: int
    kernel_size: int | Sequence[int]
    strides: int | Sequence[int] | None = None
    padding: Any = "SAME"
    kernel_dilation: int | Sequence[int] | None = None
    use_bias: bool = True
    mask: Array | None = None
    dtype: DTypeLike | None = None
    param_dtype: DTypeLike = jnp.float32
    precision: Any = None
    kernel_init: Any = default_kernel_init
    bias_init: Any = initializers.zeros
    transpose_kernel: bool = False
    promote_dtype: Any = promote_dtype
    preferred_element_type: Any = None

    @compact
    def __call__(self, inputs: Array) -> Array:
        """Maps [*batch, *spatial, inputs] to [*batch, *larger spatial, features]."""
        sizes = as_tuple(self.kernel_size)
        strides = per_axis("ConvTranspose", "strides", self.strides, len(sizes))
        kernel_dilation = per_axis("ConvTranspose", "kernel_dilation", self.kernel_dilation, len(sizes))
        inputs, batch = _with_one_batch_axis("ConvTranspose", inputs, len(sizes))
        ends = (inputs.shape[-1], self.features)
        kernel = _masked_kernel(self, (*sizes, *(reversed(ends) if self.transpose_kernel else ends)))
        bias = self.param("bias", self.bias_init, (self.features,), self.param_dtype) if self.use_bias else None
        inputs, kernel, bias = self.promote_dtype(inputs, kernel, bias, dtype=self.dtype)
        padding = canonicalize_padding(self.padding, len(sizes))
        result = conv_transpose(inputs, kernel, strides, "VALID" if padding == "CIRCULAR" else padding, rhs_dilation=kernel_dilation,
                                transpose_kernel=self.transpose_kernel, precision=self.precision,
                                preferred_element_type=self.preferred_element_type)
        if padding == "CIRCULAR":
            periods = [size * stride for size, stride in zip(inputs.shape[1:-1], strides, strict=True)]
            result = _wrapped(result, periods, extra_before=not self.transpose_kernel)
        if bias is not None:
            result = result + jnp.reshape(bias, (1,) * (result.ndim - 1) + (-1,))
        return _with_batch_axes(result, batch)


def _wrapped(x: Array, periods: Sequence[int], *, extra_before: bool) -> Array:
    """What sticks out of one period is added at the other end, along each spatial axis.

    Each axis is padded to two or more whole periods with the input's places in the middle of them, cut into periods, and these are
    summed. Where an odd number of places must be added, one more goes before (the alignment of even kernels) or after (so that
    the layer is the transpose of a periodic convolution).
    """
    lacking = [-(size - period) % (2 * period) for size, period in zip(x.shape[1:-1], periods, strict=True)]
    more = int(extra_before)
    x = jnp.pad(x, [(0, 0), *(((lack + more) // 2, (lack + 1 - more) // 2) for lack in lacking), (0, 0)])
    for axis, period in enumerate(periods, 1):
        x = jnp.reshape(x, (*x.shape[:axis], -1, period, *x.shape[axis + 1:])).sum(axis=axis)
    return x
