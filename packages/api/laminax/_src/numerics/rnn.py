"""LSTM layers whose weights are one vector, in the layout of cuDNN; computed by a loop over time, on every platform.

A step computes i, f, o = sigmoid and g = tanh of x W_ih^T + b_ih + h W_hh^T + b_hh, where the rows of the weights are those of i, f, g and
o; then c' = f c + i g and h' = o tanh(c'). A bidirectional network has two layers for each: one forward and one backward in time, whose
results are joined. The vector has W_ih and W_hh of each layer in turn, then b_ih and b_hh of each.
Sources: Hochreiter and Schmidhuber, "Long Short-Term Memory", 1997; cuDNN's documentation of `cudnnRNNMode_t`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from laminax_ir.ops.loops import scan

from laminax._src.numerics.floor import fused
from laminax._src.numerics.nn.activations import sigmoid
from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.random.samplers import uniform

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike

Weights = dict[int, Any]  # by layer


def _shapes(input_size: int, hidden_size: int, num_layers: int, bidirectional: bool) -> list[tuple[int, ...]]:
    """The shapes of the parts of the weights, in their order."""
    directions = 2 if bidirectional else 1
    sizes = [input_size if layer < directions else directions * hidden_size for layer in range(num_layers * directions)]
    matrices = [shape for size in sizes for shape in ((4 * hidden_size, size), (4 * hidden_size, hidden_size))]
    return matrices + [(4 * hidden_size,)] * (2 * len(sizes))


def get_num_params_in_lstm(input_size: int, hidden_size: int, num_layers: int, bidirectional: bool) -> int:
    """The length of the vector of weights of a network of these sizes."""
    return sum(map(math.prod, _shapes(input_size, hidden_size, num_layers, bidirectional)))


def init_lstm_weight(rng: Any, input_size: int, hidden_size: int, num_layers: int, bidirectional: bool) -> Array:
    """Weights drawn uniformly from (-k, k), k = 1 / sqrt(hidden_size), float32.

    Args:
      rng: a key.
      input_size, hidden_size, num_layers, bidirectional: the sizes of the network.
    """
    k = math.sqrt(1 / hidden_size)
    count = get_num_params_in_lstm(input_size, hidden_size, num_layers, bidirectional)
    return uniform(rng, (count,), np.float32, minval=-k, maxval=k)


def _parts(weights: ArrayLike, input_size: int, hidden_size: int, num_layers: int, bidirectional: bool) -> list[Array]:
    shapes = _shapes(input_size, hidden_size, num_layers, bidirectional)
    count = sum(map(math.prod, shapes))
    if np.shape(weights) != (count,):
        raise ValueError(f"lstm: weights must be a vector of {count} numbers for input_size={input_size}, hidden_size={hidden_size}, "
                         f"num_layers={num_layers} and bidirectional={bidirectional}, got shape {np.shape(weights)}")
    ends = np.cumsum([math.prod(shape) for shape in shapes])
    return [part.reshape(shape) for part, shape in zip(jnp.split(jnp.asarray(weights), ends[:-1]), shapes)]


def unpack_lstm_weights(weights: Array, input_size: int, hidden_size: int, num_layers: int,
                        bidirectional: bool) -> tuple[Weights, Weights, Weights, Weights]:
    """The vector of weights as W_ih, W_hh, b_ih and b_hh, each a dictionary by layer; backward layers follow their forward ones.

    Raises:
      ValueError: if the vector has another length.
    """
    parts = _parts(weights, input_size, hidden_size, num_layers, bidirectional)
    middle = len(parts) // 2
    w_ih, w_hh, b_ih, b_hh = (dict(enumerate(found)) for found in (parts[:middle:2], parts[1:middle:2], parts[middle::2],
                                                                   parts[middle + 1::2]))
    return w_ih, w_hh, b_ih, b_hh


def swap_lstm_gates(weights: Array, input_size: int, hidden_size: int, num_layers: int, bidirectional: bool) -> Array:
    """The weights with the last two of their four gates exchanged, as MIOpen has them."""
    parts = _parts(weights, input_size, hidden_size, num_layers, bidirectional)
    order = np.concatenate([np.arange(hidden_size) + gate * hidden_size for gate in (0, 1, 3, 2)])
    return jnp.concatenate([part[order].ravel() for part in parts])


def lstm(x: Array, h_0: Array, c_0: Array, weights: Array, seq_lengths: Array, input_size: int, hidden_size: int, num_layers: int,
         dropout: float, bidirectional: bool, precision: Any = None) -> tuple[Array, Array, Array]:
    """The results of an LSTM network on sequences.

    Args:
      x: [batch, time, input_size].
      h_0, c_0: the states at the beginning, [directions * num_layers, batch, hidden_size].
      weights: all weights, [get_num_params_in_lstm(...)].
      seq_lengths: the length of each sequence, int32[batch]; what is behind the end of one does not count.
      input_size, hidden_size, num_layers, bidirectional: the sizes of the network.
      dropout: must be 0.
      precision: of the products.

    Returns:
      (y, h_n, c_n): y [batch, time, directions * hidden_size], 0 behind the end of a sequence, and the states at the ends of sequences.

    Raises:
      NotImplementedError: for a dropout, or seq_lengths that are not int32.
      ValueError: if the weights have another length.
    """
    unpacked = unpack_lstm_weights(weights, input_size, hidden_size, num_layers, bidirectional)
    return _network(x, h_0, c_0, unpacked, seq_lengths, num_layers, dropout, bidirectional, precision)


def lstm_ref(x: Array, h_0: Array, c_0: Array, W_ih: Weights, W_hh: Weights, b_ih: Weights, b_hh: Weights, seq_lengths: Array,
             input_size: int, hidden_size: int, num_layers: int, dropout: float, bidirectional: bool) -> tuple[Array, Array, Array]:
    """`lstm` with the weights by layer, as `unpack_lstm_weights` gives them."""
    return _network(x, h_0, c_0, (W_ih, W_hh, b_ih, b_hh), seq_lengths, num_layers, dropout, bidirectional, None)


def _network(x: Array, h_0: Array, c_0: Array, weights: tuple[Weights, ...], seq_lengths: Array, num_layers: int, dropout: float,
             bidirectional: bool, precision: Any) -> tuple[Array, Array, Array]:
    if np.dtype(seq_lengths.dtype) != np.int32:
        raise NotImplementedError(f"lstm: `seq_lengths` can only be int32, got {seq_lengths.dtype}")
    if dropout != 0.0:
        raise NotImplementedError(f"lstm: dropout must be 0, got {dropout}: which units cuDNN leaves out is not known.")
    directions, values, states = 2 if bidirectional else 1, jnp.moveaxis(x, 1, 0), []
    for layer in range(0, num_layers * directions, directions):
        found = []
        for direction in range(directions):
            n = layer + direction
            ys, state = _layer(values, h_0[n], c_0[n], *(kind[n] for kind in weights), seq_lengths, is_backward=direction == 1,
                               precision=precision)
            found.append(ys)
            states.append(state)
        values = jnp.concatenate(found, axis=-1)
    h_n, c_n = (jnp.stack(each) for each in zip(*states))
    return jnp.moveaxis(values, 0, 1), h_n, c_n


@fused(static_argnames=("is_backward", "precision"))
def _layer(xs: Array, h: Array, c: Array, w_ih: Array, w_hh: Array, b_ih: Array, b_hh: Array, lengths: Array, *, is_backward: bool,
           precision: Any) -> tuple[Array, tuple[Array, Array]]:
    """One layer on [time, batch, features]: steps behind the end of a sequence leave its states as they are, and give 0."""
    inputs = jnp.matmul(xs, w_ih.T, precision=precision) + b_ih[None, None] + b_hh[None, None]

    def step(state: tuple[Array, Array], now: tuple[Array, Array]) -> tuple[tuple[Array, Array], Array]:
        (h, c), (driven, time) = state, now
        i, f, g, o = jnp.split(driven + jnp.matmul(h, w_hh.T, precision=precision), 4, axis=-1)
        new_c = sigmoid(f) * c + sigmoid(i) * jnp.tanh(g)
        new_h = sigmoid(o) * jnp.tanh(new_c)
        is_inside = (time < lengths)[:, None]
        return (jnp.where(is_inside, new_h, h), jnp.where(is_inside, new_c, c)), jnp.where(is_inside, new_h, 0)

    state, ys = scan(step, (h, c), (inputs, jnp.arange(len(xs), dtype=np.int32)), reverse=is_backward)
    return ys, state
