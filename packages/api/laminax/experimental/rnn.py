"""Recurrent networks: LSTM layers with the weights of cuDNN. A table of contents: names load on first use."""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {
    "numerics.rnn": "get_num_params_in_lstm init_lstm_weight lstm lstm_ref swap_lstm_gates unpack_lstm_weights",
})
