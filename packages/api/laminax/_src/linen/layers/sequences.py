"""Recurrences over sequences: a cell run forwards, backwards, or both ways."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from laminax_ir.pytrees import pytree

from laminax._src.linen.frozen_dict import FrozenDict
from laminax._src.linen.layers.recurrent import RNNCellBase
from laminax._src.linen.lifted_loops import scan
from laminax._src.linen.module import Module
from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.random import keys

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array


class RNNBase(Protocol):
    """What `Bidirectional` needs of the two recurrences that it runs."""

    def __call__(self, inputs: Array, *, initial_carry: Any = None, init_key: Array | None = None, seq_lengths: Array | None = None,
                 return_carry: bool | None = None, time_major: bool | None = None, reverse: bool | None = None,
                 keep_order: bool | None = None) -> Any:
        """Runs over the inputs."""


class RNN(Module):
    """A recurrent cell run over a sequence by a lifted `scan`: the parameters are the cell's, in the submodule `cell`.

    Attributes:
      cell: the cell.
      time_major: whether inputs and outputs are [time, *batch, *features]; otherwise [*batch, time, *features].
      return_carry: whether the last carry is returned beside the outputs.
      reverse: whether the sequence is read from its end; the outputs then begin with that of its last element.
      keep_order: whether with `reverse` the outputs come in the order of the inputs.
      unroll: how many steps one iteration of the loop makes.
      variable_axes: collections that have a slice for each step, and along which axis.
      variable_broadcast: collections that all steps share.
      variable_carry: collections that are carried from step to step.
      split_rngs: streams of keys, and whether each step has a key of its own.

    Example:
      >>> import laminax as lx
      >>> from laminax import linen as nn, numpy as jnp
      >>> rnn = nn.RNN(nn.LSTMCell(features=5))
      >>> x = jnp.ones((2, 7, 3))
      >>> variables = rnn.init(lx.random.key(0), x)
      >>> rnn.apply(variables, x).shape
      (2, 7, 5)
      >>> (c, h), y = rnn.apply(variables, x, return_carry=True, seq_lengths=jnp.array([7, 4]))
      >>> bool((h[1] == y[1, 3]).all())
      True
    """

    cell: RNNCellBase
    time_major: bool = False
    return_carry: bool = False
    reverse: bool = False
    keep_order: bool = False
    unroll: int = 1
    variable_axes: Mapping[Any, Any] = FrozenDict()
    variable_broadcast: Any = "params"
    variable_carry: Any = False
    split_rngs: Mapping[Any, bool] = FrozenDict({"params": False})

    def __call__(self, inputs: Array, *, initial_carry: Any = None, init_key: Array | None = None, seq_lengths: Array | None = None,
                 return_carry: bool | None = None, time_major: bool | None = None, reverse: bool | None = None,
                 keep_order: bool | None = None) -> Any:
        """Runs the cell over the inputs.

        Args:
          inputs: [*batch, time, *features], or [time, *batch, *features] with `time_major`.
          initial_carry: the first carry; by default that of the cell's `initialize_carry`.
          init_key: the key for it; by default `random.key(0)`.
          seq_lengths: int[*batch], how long each sequence is. What is beyond does not count: it stays at the end with `reverse`, and the
            last carry is that after the sequence's own last element.
          return_carry, time_major, reverse, keep_order: where given, they hold in place of the attributes.

        Returns:
          The outputs, in the layout of the inputs; with `return_carry` a pair of the last carry and the outputs.
        """
        return_carry = self.return_carry if return_carry is None else return_carry
        time_major = self.time_major if time_major is None else time_major
        reverse = self.reverse if reverse is None else reverse
        keep_order = self.keep_order if keep_order is None else keep_order
        batch = _number_of_batch_axes(inputs, self.cell)
        time_axis = 0 if time_major else batch

        def flipped(sequences: Any) -> Any:
            return pytree.tree_map(lambda x: flip_sequences(x, seq_lengths, num_batch_dims=batch, time_major=time_major), sequences)

        if reverse:
            inputs = flipped(inputs)
        if initial_carry is None:
            key = keys.key(0) if init_key is None else init_key
            initial_carry = self.cell.initialize_carry(key, inputs.shape[:time_axis] + inputs.shape[time_axis + 1:])
        need_all_carries = seq_lengths is not None and return_carry

        def step(cell: Any, carry: Any, x: Array) -> tuple[Any, Any]:
            carry, y = cell(carry, x)
            return carry, (carry, y) if need_all_carries else y

        run = scan(step, in_axes=time_axis, out_axes=(0, time_axis) if need_all_carries else time_axis, unroll=self.unroll,
                   variable_axes=self.variable_axes, variable_broadcast=self.variable_broadcast, variable_carry=self.variable_carry,
                   split_rngs=self.split_rngs)
        carry, outputs = run(self.cell, initial_carry, inputs)
        if need_all_carries:
            carries, outputs = outputs
            carry = pytree.tree_map(lambda x: _at_ends(x, seq_lengths), carries)
        if reverse and keep_order:
            outputs = flipped(outputs)
        return (carry, outputs) if return_carry else outputs


def _number_of_batch_axes(inputs: Array, cell: RNNCellBase) -> int:
    batch = inputs.ndim - cell.num_feature_axes - 1
    if batch < 0:
        raise ValueError(f"RNN: the input has shape {inputs.shape}, too few axes: a time axis and the {cell.num_feature_axes} of one input "
                         f"of {type(cell).__name__} are needed")
    return batch


def _at_ends(x: Array, lengths: Any) -> Array:
    """From [time, *batch, *features] the element of each sequence's last step."""
    at = jnp.asarray(lengths) - 1
    return jnp.take_along_axis(x, jnp.reshape(at, (1, *at.shape, *(1,) * (x.ndim - at.ndim - 1))), axis=0)[0]


def flip_sequences(inputs: Array, seq_lengths: Array | None, num_batch_dims: int, time_major: bool) -> Array:
    """Sequences read from their ends; what is beyond their lengths stays at the end, in reverse order too.

    Args:
      inputs: [*batch, time, *features], or [time, *batch, *features] with `time_major`.
      seq_lengths: int[*batch], or None for the whole time axis.
      num_batch_dims: how many batch axes there are.
      time_major: whether the time axis is first.

    Example:
      >>> from laminax import linen as nn, numpy as jnp
      >>> x = jnp.array([[1, 2, 3, 0, 0], [4, 5, 6, 7, 0]])
      >>> nn.flip_sequences(x, jnp.array([3, 4]), num_batch_dims=1, time_major=False)
      Array([[3, 2, 1, 0, 0],
             [7, 6, 5, 4, 0]], dtype=int32)
    """
    time_axis = 0 if time_major else num_batch_dims
    if seq_lengths is None:
        return jnp.flip(inputs, axis=time_axis)
    steps = inputs.shape[time_axis]
    from_end = jnp.arange(steps - 1, -1, -1).reshape((steps, *(1,) * num_batch_dims) if time_major else (*(1,) * num_batch_dims, steps))
    places = (from_end + jnp.expand_dims(seq_lengths, axis=time_axis)) % steps
    places = places.reshape((*places.shape, *(1,) * (inputs.ndim - places.ndim)))
    return jnp.take_along_axis(inputs, places, axis=time_axis)


def _joined_features(a: Array, b: Array) -> Array:
    return jnp.concatenate([a, b], axis=-1)


class Bidirectional(Module):
    """Two recurrences over a sequence, one forwards and one backwards, and their outputs merged.

    Attributes:
      forward_rnn: the recurrence run forwards, an `RNN` or a module called like one.
      backward_rnn: that run backwards.
      merge_fn: function of their outputs at each step; by default it puts the features side by side.
      time_major: whether inputs and outputs are [time, *batch, *features]; otherwise [*batch, time, *features].
      return_carry: whether the pair of the last carries is returned beside the outputs.

    Source: Schuster, Paliwal, "Bidirectional Recurrent Neural Networks", IEEE Transactions on Signal Processing 45, 1997.

    Example:
      >>> import laminax as lx
      >>> from laminax import linen as nn, numpy as jnp
      >>> layer = nn.Bidirectional(nn.RNN(nn.GRUCell(5)), nn.RNN(nn.GRUCell(5)))
      >>> layer.init_with_output(lx.random.key(0), jnp.ones((2, 7, 3)))[0].shape
      (2, 7, 10)
    """

    forward_rnn: RNNBase
    backward_rnn: RNNBase
    merge_fn: Callable[[Array, Array], Array] = _joined_features
    time_major: bool = False
    return_carry: bool = False

    def __call__(self, inputs: Array, *, initial_carry: Any = None, init_key: Array | None = None, seq_lengths: Array | None = None,
                 return_carry: bool | None = None, time_major: bool | None = None, reverse: bool | None = None,
                 keep_order: bool | None = None) -> Any:
        """Runs both recurrences over the inputs.

        Args:
          inputs: [*batch, time, *features], or [time, *batch, *features] with `time_major`.
          initial_carry: a pair of first carries; by default those of the cells.
          init_key: the key for them, split for the two.
          seq_lengths: int[*batch], how long each sequence is.
          return_carry, time_major: where given, they hold in place of the attributes.
          reverse, keep_order: accepted since `RNN` has them, and without effect: both directions are run, in the order of the inputs.

        Returns:
          The merged outputs; with `return_carry` a pair of the pair of last carries and the outputs.
        """
        time_major = self.time_major if time_major is None else time_major
        return_carry = self.return_carry if return_carry is None else return_carry
        key_forward, key_backward = (None, None) if init_key is None else keys.split(init_key)
        carry_forward, carry_backward = (None, None) if initial_carry is None else initial_carry
        if self.forward_rnn is self.backward_rnn:
            warnings.warn("Bidirectional: forward_rnn and backward_rnn are the same object, so they share their parameters", stacklevel=2)
        options: dict[str, Any] = {"seq_lengths": seq_lengths, "return_carry": True, "time_major": time_major}
        carry_forward, forward = self.forward_rnn(inputs, initial_carry=carry_forward, init_key=key_forward, reverse=False, **options)
        carry_backward, backward = self.backward_rnn(
            inputs, initial_carry=carry_backward, init_key=key_backward, reverse=True, keep_order=True, **options)
        outputs = pytree.tree_map(self.merge_fn, forward, backward)
        return ((carry_forward, carry_backward), outputs) if return_carry else outputs
