"""Linear layers: products with a kernel, and tables of vectors."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from laminax_ir.ops.contraction import dot_general
from laminax_ir.pytrees import pytree

from laminax._src.linen.calls import compact
from laminax._src.linen.functional import merge_param
from laminax._src.linen.layers.arguments import as_tuple, canonical_axes
from laminax._src.linen.layers.dtypes import promote_dtype
from laminax._src.linen.module import Module
from laminax._src.numerics.nn import initializers
from laminax._src.numerics.numpy import namespace as jnp

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, DTypeLike

default_kernel_init = initializers.lecun_normal()
default_embed_init = initializers.variance_scaling(1.0, "fan_in", "normal", out_axis=0)


def product_of(layer: Any) -> Callable[..., Array]:
    """The function that computes a layer's product: that of its `dot_general_cls`, its `dot_general`, or the operation."""
    if layer.dot_general_cls is not None:
        return layer.dot_general_cls()
    return dot_general if layer.dot_general is None else layer.dot_general


class Dense(Module):
    """A linear map of the last axis: `inputs @ kernel + bias`.

    Parameters: `kernel`, [inputs, features], and `bias`, [features].

    Attributes:
      features: how many numbers the last axis of the result has.
      use_bias: whether a bias is added.
      dtype: the dtype to compute in; by default the one that inputs and parameters promote to.
      param_dtype: the dtype of the parameters.
      precision: the precision of the product, as of `lax.dot_general`.
      kernel_init: initializer of the kernel.
      bias_init: initializer of the bias.
      promote_dtype: function of (inputs, kernel, bias) and `dtype=` that brings them to one dtype.
      dot_general: function to use in place of `lax.dot_general`.
      dot_general_cls: class (or function) without arguments that makes such a function, a module for example.

    Example:
      >>> import laminax as lx
      >>> from laminax import linen as nn, numpy as jnp
      >>> layer = nn.Dense(features=4)
      >>> variables = layer.init(lx.random.key(0), jnp.ones((1, 3)))
      >>> lx.tree.map(jnp.shape, variables)
      {'params': {'bias': (4,), 'kernel': (3, 4)}}
      >>> layer.apply(variables, jnp.ones((2, 3))).shape
      (2, 4)
    """

    features: int
    use_bias: bool = True
    dtype: DTypeLike | None = None
    param_dtype: DTypeLike = jnp.float32
    precision: Any = None
    kernel_init: Any = default_kernel_init
    bias_init: Any = initializers.zeros
    promote_dtype: Any = promote_dtype
    dot_general: Any = None
    dot_general_cls: Any = None

    @compact
    def __call__(self, inputs: Array) -> Array:
        """Maps [..., inputs] to [..., features]."""
        if jnp.ndim(inputs) == 0:
            raise ValueError("Dense: the input must have at least one axis, got a scalar. Its last axis is the one that is mapped")
        kernel = self.param("kernel", self.kernel_init, (jnp.shape(inputs)[-1], self.features), self.param_dtype)
        bias = self.param("bias", self.bias_init, (self.features,), self.param_dtype) if self.use_bias else None
        inputs, kernel, bias = self.promote_dtype(inputs, kernel, bias, dtype=self.dtype)
        result = product_of(self)(inputs, kernel, (((inputs.ndim - 1,), (0,)), ((), ())), precision=self.precision)
        return result if bias is None else result + jnp.reshape(bias, (1,) * (result.ndim - 1) + (-1,))


class DenseGeneral(Module):
    """A linear map of several axes at once to several others, with a kernel of its own for each index of the batch axes.

    Parameters: `kernel`, [*batch_dims, *axes, *features], and `bias`, [*batch_dims, *features]. They are initialized as
    matrices and vectors, batch and mapped axes taken together as inputs.

    Attributes:
      features: the sizes of the result's last axes, one or several.
      axis: the axes of the input that are mapped, one or several.
      batch_dims: the leading axes 0, 1, ... each index of which has a kernel of its own.
      use_bias: whether a bias is added.
      dtype: the dtype to compute in; by default the one that inputs and parameters promote to.
      param_dtype: the dtype of the parameters.
      kernel_init: initializer of the kernel.
      bias_init: initializer of the bias.
      precision: the precision of the product, as of `lax.dot_general`.
      promote_dtype: function of (inputs, kernel, bias) and `dtype=` that brings them to one dtype.
      dot_general: function to use in place of `lax.dot_general`.
      dot_general_cls: class (or function) without arguments that makes such a function.

    Example:
      >>> import laminax as lx
      >>> from laminax import linen as nn, numpy as jnp
      >>> layer = nn.DenseGeneral(features=(4, 5), axis=(1, -1))
      >>> variables = layer.init(lx.random.key(0), jnp.ones((1, 3, 6, 7)))
      >>> lx.tree.map(jnp.shape, variables)
      {'params': {'bias': (4, 5), 'kernel': (3, 7, 4, 5)}}
    """

    features: int | Sequence[int]
    axis: int | Sequence[int] = -1
    batch_dims: Sequence[int] = ()
    use_bias: bool = True
    dtype: DTypeLike | None = None
    param_dtype: DTypeLike = jnp.float32
    kernel_init: Any = default_kernel_init
    bias_init: Any = initializers.zeros
    precision: Any = None
    promote_dtype: Any = promote_dtype
    dot_general: Any = None
    dot_general_cls: Any = None

    @compact
    def __call__(self, inputs: Array) -> Array:
        """Maps the axes `axis` of the input; the result has the batch axes, the axes that are left, and the features."""
        features, batch = as_tuple(self.features), as_tuple(self.batch_dims)
        if set(batch) != set(range(len(batch))):
            raise ValueError(f"batch_dims {batch} must be consecutive leading dimensions starting from 0.")
        axes = canonical_axes("DenseGeneral", "axis", self.axis, inputs.ndim)
        batch = canonical_axes("DenseGeneral", "batch_dims", batch, inputs.ndim)
        if both := set(axes) & set(batch):
            raise ValueError(f"DenseGeneral: axes {sorted(both)} are in axis={self.axis} and in batch_dims={self.batch_dims}. "
                             "An axis is either mapped or one of the batch")
        batch_sizes, mapped_sizes = ([inputs.shape[i] for i in group] for group in (batch, axes))
        kernel = self.param("kernel", _flat_init(self.kernel_init, len(batch) + len(axes)),
                            (*batch_sizes, *mapped_sizes, *features), self.param_dtype)
        bias = self.param("bias", _flat_init(self.bias_init), (*batch_sizes, *features), self.param_dtype) if self.use_bias else None
        inputs, kernel, bias = self.promote_dtype(inputs, kernel, bias, dtype=self.dtype)
        mapped_in_kernel = tuple(range(len(batch), len(batch) + len(axes)))
        result = product_of(self)(inputs, kernel, ((axes, mapped_in_kernel), (batch, tuple(range(len(batch))))), precision=self.precision)
        if bias is None:
            return result
        left = [inputs.shape[i] if i in batch else 1 for i in range(inputs.ndim) if i not in axes]
        return result + jnp.reshape(bias, (*left, *features))


def _flat_init(init: Callable[..., Any], inputs: int | None = None) -> Callable[..., Any]:
    """An initializer that draws a vector, or a matrix whose rows are the first `inputs` axes, and gives it the shape asked for.

    The value may be boxed (with the names of its axes, say): the box is a pytree, and what is in it is reshaped.
    """
    def initialize(key: Array, shape: Sequence[int], dtype: DTypeLike = jnp.float32) -> Any:
        flat = (math.prod(shape),) if inputs is None else (math.prod(shape[:inputs]), math.prod(shape[inputs:]))
        return pytree.tree_map(lambda value: jnp.reshape(value, shape), init(key, flat, dtype))
    return initialize


class Einsum(Module):
    """A product with a kernel by Einstein's convention, and a bias along the kernel's axes that are left in the result.

    Parameters: `kernel`, of `shape`, and `bias`.

    Attributes:
      shape: the kernel's shape.
      einsum_str: the equation, `"abc,cde->abde"`: first the input, then the kernel. It is given here or to the call.
      use_bias: whether a bias is added.
      dtype: the dtype to compute in; by default the one that inputs and parameters promote to.
      param_dtype: the dtype of the parameters.
      precision: the precision of the product, as of `lax.dot_general`.
      kernel_init: initializer of the kernel.
      bias_init: initializer of the bias.
      promote_dtype: function of (inputs, kernel, bias) and `dtype=` that brings them to one dtype.
      preferred_element_type: the dtype that products are summed in.

    Example:
      >>> import laminax as lx
      >>> from laminax import linen as nn, numpy as jnp
      >>> layer = nn.Einsum((5, 6, 7), "abc,cde->abde")
      >>> variables = layer.init(lx.random.key(0), jnp.ones((3, 4, 5)))
      >>> lx.tree.map(jnp.shape, variables)
      {'params': {'bias': (6, 7), 'kernel': (5, 6, 7)}}
    """

    shape: Sequence[int]
    einsum_str: str | None = None
    use_bias: bool = True
    dtype: DTypeLike | None = None
    param_dtype: DTypeLike = jnp.float32
    precision: Any = None
    kernel_init: Any = default_kernel_init
    bias_init: Any = initializers.zeros
    promote_dtype: Any = promote_dtype
    preferred_element_type: Any = None

    @compact
    def __call__(self, inputs: Array, einsum_str: str | None = None) -> Array:
        """The equation's result for the input and the kernel.

        Args:
          inputs: the first operand.
          einsum_str: the equation, where the layer was made without one.
        """
        equation = merge_param("einsum_str", self.einsum_str, einsum_str).replace(" ", "")
        if "->" not in equation:
            raise ValueError(f'`einsum_str` equation must be explicit and include "->". It is {equation!r}')
        if equation.count(",") != 1:
            raise ValueError("`einsum_str` equation must have exactly two operands and therefore, exactly one comma character, "
                             f"instead of {equation.count(',')}. It is {equation!r}")
        kernel = self.param("kernel", self.kernel_init, self.shape, self.param_dtype)
        bias = broadcast_shape = None
        if self.use_bias:
            broadcast_shape = _bias_shape(equation, inputs.ndim, self.shape)
            bias_shape = [size for size in broadcast_shape if size is not None]
            bias = self.param("bias", self.bias_init, bias_shape, self.param_dtype)
        inputs, kernel, bias = self.promote_dtype(inputs, kernel, bias, dtype=self.dtype)
        result = jnp.einsum(equation, inputs, kernel, precision=self.precision, preferred_element_type=self.preferred_element_type)
        if bias is None or broadcast_shape is None:
            return result
        return result + jnp.reshape(bias, [1 if size is None else size for size in broadcast_shape])


def _bias_shape(equation: str, input_ndim: int, kernel_shape: Sequence[int]) -> list[int | None]:
    """For each axis of the result its size, where it is an axis of the kernel, otherwise None."""
    operands, result = equation.split("->")
    first, second = operands.split(",")
    hidden = max(_hidden_axes(first, input_ndim), _hidden_axes(second, len(kernel_shape)))
    in_kernel = _axis_labels(second, _hidden_axes(second, len(kernel_shape)))
    if len(in_kernel) != len(kernel_shape) or len(set(in_kernel)) != len(in_kernel):
        raise ValueError(f"Einsum: {second!r} in {equation!r} must name each axis of the kernel, of shape {tuple(kernel_shape)}, once")
    size_of = dict(zip(in_kernel, kernel_shape, strict=True))
    return [size_of.get(label) for label in _axis_labels(result, hidden)]


def _hidden_axes(term: str, ndim: int) -> int:
    """How many axes the ellipsis of an operand stands for."""
    return ndim - len(term.replace("...", "")) if "..." in term else 0


def _axis_labels(term: str, hidden: int) -> list[str]:
    """A label for each axis of a term; those of an ellipsis are numbered from its last, as they broadcast."""
    if "..." not in term:
        return list(term)
    before, after = term.split("...")
    return [*before, *(str(i) for i in reversed(range(hidden))), *after]


class Embed(Module):
    """A table of vectors, read by number.

    Parameter: `embedding`, [num_embeddings, features]. Numbers from -num_embeddings to -1 count from the end; others out of range
    give NaN. A table of one vector is broadcast.

    Attributes:
      num_embeddings: how many vectors there are.
      features: their length.
      dtype: the dtype of the result; by default the table's.
      param_dtype: the dtype of the table.
      embedding_init: initializer of the table.
      promote_dtype: function of (embedding,), or of (query, embedding) in `attend`, and `dtype=` that brings them to one dtype.

    Example:
      >>> import laminax as lx
      >>> from laminax import linen as nn, numpy as jnp
      >>> layer = nn.Embed(num_embeddings=5, features=3)
      >>> variables = layer.init(lx.random.key(0), jnp.array([[0, 1], [-1, -2]]))
      >>> layer.apply(variables, jnp.array([[0, 1], [-1, -2]])).shape
      (2, 2, 3)
      >>> layer.apply(variables, jnp.ones((7, 3)), method="attend").shape
      (7, 5)
    """

    num_embeddings: int
    features: int
    dtype: DTypeLike | None = None
    param_dtype: DTypeLike = jnp.float32
    embedding_init: Any = default_embed_init
    promote_dtype: Any = promote_dtype

    def setup(self) -> None:
        """Makes the table."""
        self.embedding: Any = self.param("embedding", self.embedding_init, (self.num_embeddings, self.features), self.param_dtype)

    def __call__(self, inputs: Array) -> Array:
        """The vectors of the given numbers, int[...], as [..., features]."""
        if not jnp.issubdtype(inputs.dtype, jnp.integer):
            raise ValueError(f"Input type must be an integer or unsigned integer. Embed got indices of dtype {inputs.dtype}")
        (embedding,) = self.promote_dtype(self.embedding, dtype=self.dtype, inexact=False)
        if self.num_embeddings == 1:
            return jnp.broadcast_to(embedding, (*inputs.shape, self.features))
        return jnp.take(embedding, inputs, axis=0)

    def attend(self, query: Array) -> Array:
        """The inner products of queries, [..., features], with all vectors of the table, [..., num_embeddings]."""
        query, embedding = self.promote_dtype(query, self.embedding, dtype=self.dtype)
        return jnp.dot(query, embedding.T)
