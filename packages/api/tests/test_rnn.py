"""LSTM networks, against a loop in NumPy over sequences, layers and times."""

from __future__ import annotations

import numpy as np
import pytest

import laminax
import laminax.numpy as jnp
from laminax.experimental import rnn
from laminax.test_util import check_grads

BATCH, TIME, INPUT, HIDDEN = 2, 4, 3, 5
LENGTHS = np.array([4, 2], np.int32)


def drawn(layers, is_bidirectional):
    rng, directions = np.random.default_rng(0), 2 if is_bidirectional else 1
    weights = np.asarray(rnn.init_lstm_weight(laminax.random.key(0), INPUT, HIDDEN, layers, is_bidirectional))
    states = [rng.normal(size=(directions * layers, BATCH, HIDDEN)).astype(np.float32) for _ in range(2)]
    return rng.normal(size=(BATCH, TIME, INPUT)).astype(np.float32), *states, weights


def in_numpy(x, h_0, c_0, weights, layers, is_bidirectional):
    directions = 2 if is_bidirectional else 1
    sizes = [INPUT if n < directions else directions * HIDDEN for n in range(layers * directions)]
    shapes = [s for size in sizes for s in ((4 * HIDDEN, size), (4 * HIDDEN, HIDDEN))] + [(4 * HIDDEN,)] * (2 * len(sizes))
    parts, start = [], 0
    for shape in shapes:
        parts.append(np.float64(weights[start:start + np.prod(shape)]).reshape(shape))
        start += np.prod(shape)
    assert start == len(weights)
    matrices, biases = parts[:2 * len(sizes)], parts[2 * len(sizes):]
    y, h_n, c_n = np.zeros((BATCH, TIME, directions * HIDDEN)), np.float64(h_0).copy(), np.float64(c_0).copy()
    sigmoid = lambda v: 1 / (1 + np.exp(-v))  # noqa: E731
    for b in range(BATCH):
        values = np.float64(x[b, :LENGTHS[b]])
        for layer in range(layers):
            results = []
            for n in range(layer * directions, (layer + 1) * directions):
                backward, h, c, ys = n % directions == 1, np.float64(h_0[n, b]), np.float64(c_0[n, b]), []
                for v in values[::-1] if backward else values:
                    gates = matrices[2 * n] @ v + matrices[2 * n + 1] @ h + biases[2 * n] + biases[2 * n + 1]
                    i, f, g, o = np.split(gates, 4)
                    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
                    h = sigmoid(o) * np.tanh(c)
                    ys.append(h)
                h_n[n, b], c_n[n, b] = h, c
                results.append(np.stack(ys[::-1] if backward else ys))
            values = np.concatenate(results, axis=-1)
        y[b, :LENGTHS[b]] = values
    return y, h_n, c_n


@pytest.mark.parametrize("is_bidirectional", [False, True])
@pytest.mark.parametrize("layers", [1, 2])
def test_results_are_those_of_the_loop(layers, is_bidirectional):
    x, h_0, c_0, weights = drawn(layers, is_bidirectional)
    expected = in_numpy(x, h_0, c_0, weights, layers, is_bidirectional)
    sizes = INPUT, HIDDEN, layers
    unpacked = rnn.unpack_lstm_weights(weights, *sizes, is_bidirectional)
    for found in (rnn.lstm(x, h_0, c_0, weights, LENGTHS, *sizes, 0.0, is_bidirectional),
                  rnn.lstm_ref(x, h_0, c_0, *unpacked, LENGTHS, *sizes, 0.0, is_bidirectional)):
        for got, wanted in zip(found, expected, strict=True):
            np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-6)


def test_own_operations_are_of_equal_ranks():
    x, h_0, c_0, weights = drawn(1, False)
    expected = in_numpy(x, h_0, c_0, weights, 1, False)
    with laminax.numpy_rank_promotion("raise"):
        found = rnn.lstm(x, h_0, c_0, weights, LENGTHS, INPUT, HIDDEN, 1, 0.0, False)
    for got, wanted in zip(found, expected, strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-6)


def test_derivatives():
    x, h_0, c_0, weights = drawn(1, True)
    check_grads(lambda x, w: rnn.lstm(x, h_0, c_0, w, LENGTHS, INPUT, HIDDEN, 1, 0.0, True)[0], (x, weights), 1, modes=["rev"], atol=1e-2,
                rtol=1e-2)


def test_weights():
    weights = rnn.init_lstm_weight(laminax.random.key(1), INPUT, HIDDEN, 2, False)
    assert weights.shape == (rnn.get_num_params_in_lstm(INPUT, HIDDEN, 2, False),) == (4 * HIDDEN * (INPUT + 3 * HIDDEN + 4),)
    assert jnp.abs(weights).max() <= HIDDEN ** -0.5
    swapped = rnn.swap_lstm_gates(weights, INPUT, HIDDEN, 2, False)
    w, s = (rnn.unpack_lstm_weights(v, INPUT, HIDDEN, 2, False)[1][1].reshape(4, HIDDEN, HIDDEN) for v in (weights, swapped))
    np.testing.assert_array_equal(s, w[jnp.array([0, 1, 3, 2])])
    np.testing.assert_array_equal(rnn.swap_lstm_gates(swapped, INPUT, HIDDEN, 2, False), weights)


def test_refusals():
    x, h_0, c_0, weights = drawn(1, False)
    with pytest.raises(NotImplementedError, match="dropout must be 0, got 0.5"):
        rnn.lstm(x, h_0, c_0, weights, LENGTHS, INPUT, HIDDEN, 1, 0.5, False)
    with pytest.raises(NotImplementedError, match="`seq_lengths` can only be int32"):
        rnn.lstm(x, h_0, c_0, weights, LENGTHS.astype(np.float32), INPUT, HIDDEN, 1, 0.0, False)
    with pytest.raises(ValueError, match="weights must be a vector of 200 numbers"):
        rnn.lstm(x, h_0, c_0, weights[1:], LENGTHS, INPUT, HIDDEN, 1, 0.0, False)
