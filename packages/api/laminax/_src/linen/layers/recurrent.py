"""Recurrent cells: one step of a recurrence, `carry, output = cell(carry, inputs)`.

Inputs are [*batch, inputs], carries and outputs [*batch, features] (with spatial axes before the features for `ConvLSTMCell`).
`RNN` runs a cell over a sequence. Each product of the inputs or of the carry is a submodule of its own: `ii` is the product of
the inputs for the gate i, `hi` that of the carry.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from laminax._src.linen.calls import compact, nowrap
from laminax._src.linen.layers.convolutions import Conv
from laminax._src.linen.layers.dtypes import promote_dtype
from laminax._src.linen.layers.linear import Dense, default_kernel_init
from laminax._src.linen.module import Module
from laminax._src.numerics.nn import initializers
from laminax._src.numerics.nn.activations import sigmoid
from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.random import keys

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, DTypeLike

default_recurrent_init = initializers.orthogonal()


class RNNCellBase(Module):
    """What recurrent cells have: a first carry, and a number of axes of one input. Your own cells derive from it."""

    @nowrap
    def initialize_carry(self, rng: Array, input_shape: tuple[int, ...]) -> Any:
        """The first carry.

        Args:
          rng: a key for its initializer.
          input_shape: the shape of one step's input, [*batch, *features].
        """
        raise NotImplementedError(f"{type(self).__name__} must define initialize_carry(rng, input_shape)")

    @property
    def num_feature_axes(self) -> int:
        """How many axes of an input are not of the batch."""
        raise NotImplementedError(f"{type(self).__name__} must define the property num_feature_axes")


class _VectorCell(RNNCellBase):
    """A cell whose carry is one array, [*batch, features]."""

    @nowrap
    def initialize_carry(self, rng: Array, input_shape: tuple[int, ...]) -> Any:
        """The first carry, [*batch, features], by `carry_init`.

        Args:
          rng: a key.
          input_shape: the shape of one step's input, [*batch, inputs].
        """
        cell: Any = self
        return cell.carry_init(rng, (*input_shape[:-1], cell.features), cell.param_dtype)

    @property
    def num_feature_axes(self) -> int:
        """1, the last axis."""
        return 1


class _MemoryCell(RNNCellBase):
    """A cell whose carry is a pair of arrays, the memory and the output of the step before."""

    @nowrap
    def initialize_carry(self, rng: Array, input_shape: tuple[int, ...]) -> tuple[Array, Array]:
        """The first memory and output, [*batch, *spatial, features] each, by `carry_init`.

        Args:
          rng: a key, split for the two.
          input_shape: the shape of one step's input, [*batch, *spatial, inputs].
        """
        cell: Any = self
        for_memory, for_output = keys.split(rng)
        shape = (*input_shape[:-1], cell.features)
        return cell.carry_init(for_memory, shape, cell.param_dtype), cell.carry_init(for_output, shape, cell.param_dtype)

    @property
    def num_feature_axes(self) -> int:
        """1, the last axis."""
        return 1


def _inputs_product(cell: Any, name: str, features: int, *, use_bias: bool, **options: Any) -> Dense:
    return Dense(features=features, use_bias=use_bias, kernel_init=cell.kernel_init, dtype=cell.dtype, param_dtype=cell.param_dtype,
                 name=name, **options)


def _carry_product(cell: Any, name: str, features: int, *, use_bias: bool, **options: Any) -> Dense:
    return Dense(features=features, use_bias=use_bias, kernel_init=cell.recurrent_kernel_init, dtype=cell.dtype,
                 param_dtype=cell.param_dtype, name=name, **options)


class SimpleCell(_VectorCell):
    """The simple recurrence h' = activation(W_i x + b_i + W_h h).

    Attributes:
      features: how many numbers the carry has.
      activation_fn: the activation.
      kernel_init: initializer of the kernel of the inputs, in the submodule `i`.
      recurrent_kernel_init: initializer of the kernel of the carry, in the submodule `h`.
      bias_init: initializer of the bias.
      dtype: the dtype to compute in; by default the one that inputs and parameters promote to.
      param_dtype: the dtype of the parameters, and of the first carry.
      carry_init: initializer of the first carry.
      residual: whether the carry is added before the activation.

    Example:
      >>> import laminax as lx
      >>> from laminax import linen as nn, numpy as jnp
      >>> cell = nn.SimpleCell(features=4)
      >>> carry = cell.initialize_carry(lx.random.key(0), (2, 3))
      >>> variables = cell.init(lx.random.key(1), carry, jnp.ones((2, 3)))
      >>> lx.tree.map(jnp.shape, variables)
      {'params': {'h': {'kernel': (4, 4)}, 'i': {'bias': (4,), 'kernel': (3, 4)}}}
    """

    features: int
    activation_fn: Any = jnp.tanh
    kernel_init: Any = default_kernel_init
    recurrent_kernel_init: Any = default_recurrent_init
    bias_init: Any = initializers.zeros
    dtype: DTypeLike | None = None
    param_dtype: DTypeLike = jnp.float32
    carry_init: Any = initializers.zeros
    residual: bool = False

    @compact
    def __call__(self, carry: Array, inputs: Array) -> tuple[Array, Array]:
        """One step: the new carry, twice."""
        new = _inputs_product(self, "i", carry.shape[-1], use_bias=True, bias_init=self.bias_init)(inputs)
        new = new + _carry_product(self, "h", carry.shape[-1], use_bias=False)(carry)
        if self.residual:
            new = new + carry
        new = self.activation_fn(new)
        return new, new


class GRUCell(_VectorCell):
    """The gated recurrent unit.

      r = gate(W_ir x + b_ir + W_hr h)
      z = gate(W_iz x + b_iz + W_hz h)
      n = activation(W_in x + b_in + r * (W_hn h + b_hn))
      h' = (1 - z) * n + z * h

    Attributes:
      features: how many numbers the carry has.
      gate_fn: the activation of the gates r and z.
      activation_fn: the activation of n.
      kernel_init: initializer of the kernels of the inputs.
      recurrent_kernel_init: initializer of the kernels of the carry.
      bias_init: initializer of the biases.
      dtype: the dtype to compute in; by default the one that inputs and parameters promote to.
      param_dtype: the dtype of the parameters, and of the first carry.
      carry_init: initializer of the first carry.

    Source: Cho et al., "Learning Phrase Representations using RNN Encoder-Decoder", EMNLP 2014, with r after the product.

    Example:
      >>> import laminax as lx
      >>> from laminax import linen as nn, numpy as jnp
      >>> cell = nn.GRUCell(features=4)
      >>> carry = cell.initialize_carry(lx.random.key(0), (2, 3))
      >>> (carry, y), variables = cell.init_with_output(lx.random.key(1), carry, jnp.ones((2, 3)))
      >>> y.shape, sorted(variables["params"])
      ((2, 4), ['hn', 'hr', 'hz', 'in', 'ir', 'iz'])
    """

    features: int
    gate_fn: Any = sigmoid
    activation_fn: Any = jnp.tanh
    kernel_init: Any = default_kernel_init
    recurrent_kernel_init: Any = default_recurrent_init
    bias_init: Any = initializers.zeros
    dtype: DTypeLike | None = None
    param_dtype: DTypeLike = jnp.float32
    carry_init: Any = initializers.zeros

    @compact
    def __call__(self, carry: Array, inputs: Array) -> tuple[Array, Array]:
        """One step: the new carry, twice."""
        size = carry.shape[-1]

        def of_inputs(name: str) -> Array:
            return _inputs_product(self, name, size, use_bias=True, bias_init=self.bias_init)(inputs)

        def of_carry(name: str, use_bias: bool = False) -> Array:
            return _carry_product(self, name, size, use_bias=use_bias, bias_init=self.bias_init)(carry)

        r = self.gate_fn(of_inputs("ir") + of_carry("hr"))
        z = self.gate_fn(of_inputs("iz") + of_carry("hz"))
        n = self.activation_fn(of_inputs("in") + r * of_carry("hn", use_bias=True))
        new = (1.0 - z) * n + z * carry
        return new, new


class MGUCell(_VectorCell):
    """The minimal gated unit: one gate.

      f = gate(W_if x + b_if + W_hf h)
      n = activation(W_in x + b_in + f * (W_hn h + b_hn)), or without a reset gate activation(W_in x + b_in + W_hn h)
      h' = (1 - f) * n + f * h

    Attributes:
      features: how many numbers the carry has.
      gate_fn: the activation of the gate f.
      activation_fn: the activation of n.
      kernel_init: initializer of the kernels of the inputs.
      recurrent_kernel_init: initializer of the kernels of the carry.
      forget_bias_init: initializer of the bias of f; 1 by default, so that little is forgotten at first.
      activation_bias_init: initializer of the biases of n.
      dtype: the dtype to compute in; by default the one that inputs and parameters promote to.
      param_dtype: the dtype of the parameters, and of the first carry.
      carry_init: initializer of the first carry.
      reset_gate: whether f also scales the carry's part of n.

    Source: Zhou et al., "Minimal Gated Unit for Recurrent Neural Networks", 2016.

    Example:
      >>> import laminax as lx
      >>> from laminax import linen as nn, numpy as jnp
      >>> cell = nn.MGUCell(features=4)
      >>> carry = cell.initialize_carry(lx.random.key(0), (2, 3))
      >>> (carry, y), variables = cell.init_with_output(lx.random.key(1), carry, jnp.ones((2, 3)))
      >>> y.shape, sorted(variables["params"])
      ((2, 4), ['hf', 'hn', 'if', 'in'])
    """

    features: int
    gate_fn: Any = sigmoid
    activation_fn: Any = jnp.tanh
    kernel_init: Any = default_kernel_init
    recurrent_kernel_init: Any = default_recurrent_init
    forget_bias_init: Any = initializers.ones
    activation_bias_init: Any = initializers.zeros
    dtype: DTypeLike | None = None
    param_dtype: DTypeLike = jnp.float32
    carry_init: Any = initializers.zeros
    reset_gate: bool = True

    @compact
    def __call__(self, carry: Array, inputs: Array) -> tuple[Array, Array]:
        """One step: the new carry, twice."""
        size = carry.shape[-1]
        f = self.gate_fn(_inputs_product(self, "if", size, use_bias=True, bias_init=self.forget_bias_init)(inputs)
                         + _carry_product(self, "hf", size, use_bias=False)(carry))
        of_carry = _carry_product(self, "hn", size, use_bias=self.reset_gate, bias_init=self.activation_bias_init)(carry)
        if self.reset_gate:
            of_carry = of_carry * f
        n = self.activation_fn(_inputs_product(self, "in", size, use_bias=True, bias_init=self.activation_bias_init)(inputs) + of_carry)
        new = (1.0 - f) * n + f * carry
        return new, new


class LSTMCell(_MemoryCell):
    """Long short-term memory.

      i = gate(W_ii x + W_hi h + b_hi)
      f = gate(W_if x + W_hf h + b_hf)
      g = activation(W_ig x + W_hg h + b_hg)
      o = gate(W_io x + W_ho h + b_ho)
      c' = f * c + i * g
      h' = o * activation(c')

    The carry is (c, h), the output h.

    Attributes:
      features: how many numbers c and h have.
      gate_fn: the activation of the gates i, f and o.
      activation_fn: the activation of g and of c'.
      kernel_init: initializer of the kernels of the inputs.
      recurrent_kernel_init: initializer of the kernels of h.
      bias_init: initializer of the biases.
      dtype: the dtype to compute in; by default the one that inputs and parameters promote to.
      param_dtype: the dtype of the parameters, and of the first carry.
      carry_init: initializer of the first carry.

    Source: Hochreiter, Schmidhuber, "Long Short-Term Memory", Neural Computation 9, 1997.

    Example:
      >>> import laminax as lx
      >>> from laminax import linen as nn, numpy as jnp
      >>> cell = nn.LSTMCell(features=4)
      >>> carry = cell.initialize_carry(lx.random.key(0), (2, 3))
      >>> (carry, y), variables = cell.init_with_output(lx.random.key(1), carry, jnp.ones((2, 3)))
      >>> y.shape, sorted(variables["params"])
      ((2, 4), ['hf', 'hg', 'hi', 'ho', 'if', 'ig', 'ii', 'io'])
    """

    features: int
    gate_fn: Any = sigmoid
    activation_fn: Any = jnp.tanh
    kernel_init: Any = default_kernel_init
    recurrent_kernel_init: Any = default_recurrent_init
    bias_init: Any = initializers.zeros
    dtype: DTypeLike | None = None
    param_dtype: DTypeLike = jnp.float32
    carry_init: Any = initializers.zeros

    @compact
    def __call__(self, carry: tuple[Array, Array], inputs: Array) -> tuple[tuple[Array, Array], Array]:
        """One step: the new carry and the output."""
        c, h = carry
        sums = [_inputs_product(self, f"i{gate}", h.shape[-1], use_bias=False)(inputs)
                + _carry_product(self, f"h{gate}", h.shape[-1], use_bias=True, bias_init=self.bias_init)(h) for gate in "ifgo"]
        return _remember(self, c, sums)


def _remember(cell: Any, c: Array, sums: Sequence[Array]) -> tuple[tuple[Array, Array], Array]:
    """The end of a step of long short-term memory, from the memory and the sums of the gates i, f, g and o."""
    i, f, o = (cell.gate_fn(sums[at]) for at in (0, 1, 3))
    c = f * c + i * cell.activation_fn(sums[2])
    h = o * cell.activation_fn(c)
    return (c, h), h


class OptimizedLSTMCell(_MemoryCell):
    """`LSTMCell` with one product for all gates of the inputs and one for those of h: faster where the features are few.

    Parameters and attributes are those of `LSTMCell`; the parameters of one are those of the other.

    Example:
      >>> import laminax as lx
      >>> from laminax import linen as nn, numpy as jnp
      >>> cell = nn.OptimizedLSTMCell(features=4)
      >>> carry = cell.initialize_carry(lx.random.key(0), (2, 3))
      >>> variables = cell.init(lx.random.key(1), carry, jnp.ones((2, 3)))
      >>> lx.tree.map(jnp.shape, variables["params"]["hi"]), lx.tree.map(jnp.shape, variables["params"]["ii"])
      ({'bias': (4,), 'kernel': (4, 4)}, {'kernel': (3, 4)})
    """

    features: int
    gate_fn: Any = sigmoid
    activation_fn: Any = jnp.tanh
    kernel_init: Any = default_kernel_init
    recurrent_kernel_init: Any = default_recurrent_init
    bias_init: Any = initializers.zeros
    dtype: DTypeLike | None = None
    param_dtype: DTypeLike = jnp.float32
    carry_init: Any = initializers.zeros

    @compact
    def __call__(self, carry: tuple[Array, Array], inputs: Array) -> tuple[tuple[Array, Array], Array]:
        """One step: the new carry and the output."""
        c, h = carry
        of_inputs, of_carry = [], []
        for gate in "ifgo":
            of_inputs.append(_DenseParameters(
                features=h.shape[-1], use_bias=False, param_dtype=self.param_dtype, kernel_init=self.kernel_init, name=f"i{gate}")(inputs))
            of_carry.append(_DenseParameters(
                features=h.shape[-1], param_dtype=self.param_dtype, kernel_init=self.recurrent_kernel_init, bias_init=self.bias_init,
                name=f"h{gate}")(h))
        products = zip(self._products(h, of_carry), self._products(inputs, of_inputs), strict=True)
        return _remember(self, c, [from_carry + from_inputs for from_carry, from_inputs in products])

    @nowrap
    def _products(self, x: Array, parameters: Sequence[tuple[Array, Array | None]]) -> list[Array]:
        """One product with all kernels side by side, cut into one part for each."""
        kernels, biases = zip(*parameters, strict=True)
        joined = None if biases[0] is None else jnp.concatenate(biases, axis=-1)
        x, kernel, bias = promote_dtype(x, jnp.concatenate(kernels, axis=-1), joined, dtype=self.dtype)
        y = jnp.dot(x, kernel)
        if bias is not None:
            y = y + jnp.reshape(bias, (1,) * (y.ndim - 1) + (-1,))
        ends = list(itertools.accumulate(kernel.shape[-1] for kernel in kernels))
        return jnp.split(y, ends[:-1], axis=-1)


class _DenseParameters(Module):
    """The parameters of a `Dense` layer, for whoever multiplies by several at once."""

    features: int
    use_bias: bool = True
    param_dtype: DTypeLike = jnp.float32
    kernel_init: Any = default_kernel_init
    bias_init: Any = initializers.zeros

    @compact
    def __call__(self, inputs: Array) -> tuple[Array, Array | None]:
        """Kernel and bias for inputs, [..., inputs]."""
        kernel = self.param("kernel", self.kernel_init, (inputs.shape[-1], self.features), self.param_dtype)
        return kernel, self.param("bias", self.bias_init, (self.features,), self.param_dtype) if self.use_bias else None


class ConvLSTMCell(_MemoryCell):
    """Long short-term memory with convolutions in place of products.

    The submodules `ih` and `hh` are `Conv` with the gates i, g, f and o one after the other; the gate f has 1 added.

    Attributes:
      features: how many features c and h have.
      kernel_size: the kernel's sizes along the spatial axes.
      strides: steps between places of the result; 1 by default.
      padding: as for `Conv`.
      use_bias: whether both convolutions have biases.
      dtype: the dtype to compute in; by default the one that inputs and parameters promote to.
      param_dtype: the dtype of the parameters, and of the first carry.
      carry_init: initializer of the first carry.

    Source: Shi et al., "Convolutional LSTM Network", NIPS 2015.

    Example:
      >>> import laminax as lx
      >>> from laminax import linen as nn, numpy as jnp
      >>> cell = nn.ConvLSTMCell(features=4, kernel_size=(3, 3))
      >>> carry = cell.initialize_carry(lx.random.key(0), (2, 5, 5, 3))
      >>> (carry, y), variables = cell.init_with_output(lx.random.key(1), carry, jnp.ones((2, 5, 5, 3)))
      >>> y.shape, variables["params"]["ih"]["kernel"].shape
      ((2, 5, 5, 4), (3, 3, 3, 16))
    """

    features: int
    kernel_size: Sequence[int]
    strides: Sequence[int] | None = None
    padding: Any = "SAME"
    use_bias: bool = True
    dtype: DTypeLike | None = None
    param_dtype: DTypeLike = jnp.float32
    carry_init: Any = initializers.zeros

    @compact
    def __call__(self, carry: tuple[Array, Array], inputs: Array) -> tuple[tuple[Array, Array], Array]:
        """One step: the new carry and the output."""
        c, h = carry

        def convolved(name: str, x: Array) -> Array:
            return Conv(features=4 * self.features, kernel_size=self.kernel_size, strides=self.strides, padding=self.padding,
                        use_bias=self.use_bias, dtype=self.dtype, param_dtype=self.param_dtype, name=name)(x)

        i, g, f, o = jnp.split(convolved("ih", inputs) + convolved("hh", h), 4, axis=-1)
        c = sigmoid(f + 1) * c + sigmoid(i) * jnp.tanh(g)
        h = sigmoid(o) * jnp.tanh(c)
        return (c, h), h

    @property
    def num_feature_axes(self) -> int:
        """The spatial axes and that of the features."""
        return len(self.kernel_size) + 1
