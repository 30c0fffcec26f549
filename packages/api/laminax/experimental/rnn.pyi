# Written by tools/stubs.py.
"""Recurrent networks: LSTM layers with the weights of cuDNN. A table of contents: names load on first use."""

from laminax._array import Array
from laminax._src.numerics.rnn import Weights
from typing import Any

__all__: list[str]

def get_num_params_in_lstm(input_size: int, hidden_size: int, num_layers: int, bidirectional: bool) -> int:
    """The length of the vector of weights of a network of these sizes."""
def init_lstm_weight(rng: Any, input_size: int, hidden_size: int, num_layers: int, bidirectional: bool) -> Array:
    """Weights drawn uniformly from (-k, k), k = 1 / sqrt(hidden_size), float32."""
def lstm(
    x: Array,
    h_0: Array,
    c_0: Array,
    weights: Array,
    seq_lengths: Array,
    input_size: int,
    hidden_size: int,
    num_layers: int,
    dropout: float,
    bidirectional: bool,
    precision: Any = None,
) -> tuple[Array, Array, Array]:
    """The results of an LSTM network on sequences."""
def lstm_ref(
    x: Array,
    h_0: Array,
    c_0: Array,
    W_ih: Weights,
    W_hh: Weights,
    b_ih: Weights,
    b_hh: Weights,
    seq_lengths: Array,
    input_size: int,
    hidden_size: int,
    num_layers: int,
    dropout: float,
    bidirectional: bool,
) -> tuple[Array, Array, Array]:
    """`lstm` with the weights by layer, as `unpack_lstm_weights` gives them."""
def swap_lstm_gates(weights: Array, input_size: int, hidden_size: int, num_layers: int, bidirectional: bool) -> Array:
    """The weights with the last two of their four gates exchanged, as MIOpen has them."""
def unpack_lstm_weights(
    weights: Array,
    input_size: int,
    hidden_size: int,
    num_layers: int,
    bidirectional: bool,
) -> tuple[Weights, Weights, Weights, Weights]:
    """The vector of weights as W_ih, W_hh, b_ih and b_hh, each a dictionary by layer; backward layers follow their forward ones."""
