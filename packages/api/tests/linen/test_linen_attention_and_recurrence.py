"""Attention and recurrences against their definitions in NumPy, and against identities."""

from __future__ import annotations

import numpy as np
import pytest

import laminax as lx
from laminax import linen as nn
from laminax import numpy as jnp

KEY = lx.random.key(1)


def drawn(*shape):
    return np.random.default_rng(sum(shape)).normal(size=shape).astype(np.float32)


def close(actual, expected, rtol=2e-5):
    expected = np.asarray(expected)
    np.testing.assert_allclose(actual, expected, rtol=rtol, atol=rtol * np.abs(expected).max())


def softmax(x):
    exponentials = np.exp(x - x.max(-1, keepdims=True))
    return exponentials / exponentials.sum(-1, keepdims=True)


def sigmoid(x):
    return 1 / (1 + np.exp(-np.asarray(x, np.float64)))


def attended(q, k, v, bias=0.0, mask=True):
    logits = np.einsum("bqhd,bkhd->bhqk", q, k) / np.sqrt(q.shape[-1]) + bias
    return np.einsum("bhqk,bkhd->bqhd", softmax(np.where(mask, logits, -1e30)), v)


# --- attention ---


def test_attention_of_arrays():
    q, k, v, bias = drawn(2, 5, 3, 4), drawn(2, 6, 3, 4) + 1, drawn(2, 6, 3, 7), drawn(2, 3, 5, 6)
    mask = np.random.default_rng(0).uniform(size=(2, 1, 5, 6)) < 0.6
    mask[..., 0] = True
    close(nn.dot_product_attention(q, k, v), attended(q, k, v))
    close(nn.dot_product_attention(q, k, v, bias, mask), attended(q, k, v, bias, mask))
    weights = nn.dot_product_attention_weights(q, k, bias, mask)
    close(weights.sum(-1), np.ones((2, 3, 5)))
    assert not np.any(np.asarray(weights)[np.broadcast_to(~mask, weights.shape)])


def test_dropped_weights_are_shared_by_heads_and_examples():
    q, k = drawn(2, 5, 3, 4), drawn(2, 6, 3, 4)
    whole = nn.dot_product_attention_weights(q, k)
    shared = nn.dot_product_attention_weights(q, k, dropout_rng=KEY, dropout_rate=0.5)
    own = nn.dot_product_attention_weights(q, k, dropout_rng=KEY, dropout_rate=0.5, broadcast_dropout=False)
    for dropped in (shared, own):
        kept = np.asarray(dropped) != 0
        close(np.asarray(dropped)[kept], 2 * np.asarray(whole)[kept])
        assert 0.2 < kept.mean() < 0.8
    assert ((np.asarray(shared) != 0) == (np.asarray(shared) != 0)[:1, :1]).all()
    assert not ((np.asarray(own) != 0) == (np.asarray(own) != 0)[:1, :1]).all()


def test_functions_in_place_of_einsum():
    q, equations = drawn(2, 5, 3, 4), []

    def einsum(equation, *operands):
        equations.append(equation)
        return jnp.einsum(equation, *operands)

    close(nn.dot_product_attention(q, q, q, qk_attn_weights_einsum=einsum, attn_weights_value_einsum=einsum), attended(q, q, q))
    assert equations == ["...qhd,...khd->...hqk", "...hqk,...khd->...qhd"]
    with pytest.raises(ValueError, match="must be specified together"):
        nn.dot_product_attention(q, q, q, qk_attn_weights_einsum=einsum)
    with pytest.raises(ValueError, match="mutually exclusive"):
        nn.dot_product_attention_weights(q, q, einsum=einsum, precision="highest")


def test_heads_are_projected_attended_and_projected_back():
    x, y = drawn(2, 5, 6), drawn(2, 7, 3)
    layer = nn.MultiHeadDotProductAttention(num_heads=2, qkv_features=8, out_features=3, bias_init=nn.initializers.normal())
    variables = layer.init(KEY, x, y)
    p = variables["params"]
    q, k, v = (np.einsum("bli,ihd->blhd", z, p[n]["kernel"]) + p[n]["bias"] for n, z in (("query", x), ("key", y), ("value", y)))
    expected = np.einsum("bqhd,hdo->bqo", attended(q, k, v), p["out"]["kernel"]) + p["out"]["bias"]
    close(layer.apply(variables, x, y), expected)
    _, sown = layer.apply(variables, x, y, sow_weights=True, mutable=["intermediates"])
    assert sown["intermediates"]["attention_weights"][0].shape == (2, 2, 5, 7)


def test_decoding_step_by_step_is_causal_attention():
    x = drawn(2, 5, 6)
    layer = nn.MultiHeadDotProductAttention(num_heads=2, decode=True)
    variables = layer.init(KEY, x)
    params, cache = variables["params"], variables["cache"]
    steps = []
    for t in range(5):
        y, updates = layer.apply({"params": params, "cache": cache}, x[:, t:t + 1], mutable=["cache"])
        cache = updates["cache"]
        steps.append(y)
    whole = nn.MultiHeadDotProductAttention(num_heads=2).apply({"params": params}, x, mask=nn.make_causal_mask(x[..., 0]))
    close(np.concatenate(steps, axis=1), whole)
    assert cache["cache_index"] == 5
    with pytest.raises(ValueError, match=r"expected query shape \(2, 1, 2, 3\) instead got \(2, 2, 2, 3\)"):
        layer.apply({"params": params, "cache": cache}, x[:, :2], mutable=["cache"])


def test_a_function_of_ones_own_attends_and_gets_what_it_names():
    seen = {}

    def first_value(query, key, value, mask=None, dropout_rate=None):
        seen.update(mask=mask, rate=dropout_rate)
        return jnp.broadcast_to(value[:, :1], query.shape)

    x = drawn(2, 5, 6)
    layer = nn.MultiHeadDotProductAttention(num_heads=2, attention_fn=first_value)
    y, _ = layer.init_with_output(KEY, x, mask="the mask")
    assert seen == {"mask": "the mask", "rate": 0.0} and (np.asarray(y) == np.asarray(y)[:, :1]).all()


def test_masks():
    np.testing.assert_array_equal(nn.make_causal_mask(np.ones((2, 3))), np.broadcast_to(np.tri(3), (2, 1, 3, 3)))
    a, b = np.array([[1, 2, 0]]), np.array([[3, 0]])
    np.testing.assert_array_equal(nn.make_attention_mask(a, b, extra_batch_dims=1), (a[0][:, None] * b[0])[None, None, None])
    combined = nn.combine_masks(a > 0, None, np.array([[0, 1, 1]]), dtype=bool)
    np.testing.assert_array_equal(combined, [[False, True, False]])
    assert nn.combine_masks(None, None) is None


def test_attention_and_norms_record_few_equations():
    """What they consist of: products, a quotient, softmax; means, a difference, a factor. Conversions that change nothing are not there."""
    q = drawn(2, 5, 3, 4)

    def recorded(f, *args):
        return [eqn.primitive.name for eqn in lx.make_jaxpr(f)(*args).eqns]

    attention = recorded(lambda q: nn.dot_product_attention(q, q, q), q)
    assert attention.count("dot_general") == 2 and "convert_element_type" not in attention and len(attention) <= 17, attention
    layer = nn.LayerNorm()
    variables = layer.init(KEY, q)
    norm = recorded(layer.apply, variables, q)
    assert norm.count("reduce_sum") == 2 and "convert_element_type" not in norm and len(norm) <= 24, norm


# --- recurrences ---


def run_lstm(p, c, h, x):
    i, f, g, o = (x @ p[f"i{n}"]["kernel"] + h @ p[f"h{n}"]["kernel"] + p[f"h{n}"]["bias"] for n in "ifgo")
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    return c, sigmoid(o) * np.tanh(c)


@pytest.mark.parametrize("cell_type", [nn.LSTMCell, nn.OptimizedLSTMCell])
def test_long_short_term_memory(cell_type):
    c, h, x = drawn(3, 5), drawn(3, 5) * 2, drawn(3, 4)
    cell = cell_type(5, bias_init=nn.initializers.normal())
    variables = cell.init(KEY, (c, h), x)
    (new_c, new_h), y = cell.apply(variables, (c, h), x)
    expected = run_lstm(variables["params"], c, h, x)
    close(new_c, expected[0])
    close(new_h, expected[1])
    np.testing.assert_array_equal(y, new_h)


def test_gated_units():
    h, x = drawn(3, 5), drawn(3, 4)

    def step(cell):
        variables = cell.init(KEY, h, x)
        p = lx.tree.map(lambda a: drawn(*a.shape) / 2, variables["params"])
        new, y = cell.apply({"params": p}, h, x)
        np.testing.assert_array_equal(new, y)
        return y, (lambda n: x @ p[n]["kernel"] + p[n].get("bias", 0)), (lambda n: h @ p[n]["kernel"] + p[n].get("bias", 0)), p

    y, of_x, of_h, p = step(nn.GRUCell(5))
    r, z = sigmoid(of_x("ir") + of_h("hr")), sigmoid(of_x("iz") + of_h("hz"))
    close(y, (1 - z) * np.tanh(of_x("in") + r * of_h("hn")) + z * h)
    assert "bias" in p["hn"] and "bias" not in p["hr"]
    for reset in (True, False):
        y, of_x, of_h, p = step(nn.MGUCell(5, reset_gate=reset))
        f = sigmoid(of_x("if") + of_h("hf"))
        close(y, (1 - f) * np.tanh(of_x("in") + (f if reset else 1) * of_h("hn")) + f * h)
        assert ("bias" in p["hn"]) == reset
    for residual in (True, False):
        y, of_x, of_h, _ = step(nn.SimpleCell(5, residual=residual))
        close(y, np.tanh(of_x("i") + of_h("h") + residual * h))


def test_first_carries():
    shapes = {nn.LSTMCell(5): [(2, 5), (2, 5)], nn.GRUCell(5): [(2, 5)]}
    for cell, expected in shapes.items():
        assert [x.shape for x in lx.tree.leaves(cell.initialize_carry(KEY, (2, 4)))] == expected
    c, h = nn.LSTMCell(5, carry_init=nn.initializers.normal(1.0)).initialize_carry(KEY, (2, 4))
    assert (c != h).all()
    conv = nn.ConvLSTMCell(2, (3, 3))
    assert conv.num_feature_axes == 3 and conv.initialize_carry(KEY, (7, 4, 4, 3))[0].shape == (7, 4, 4, 2)

    class Own(nn.RNNCellBase):
        pass

    with pytest.raises(NotImplementedError, match=r"Own must define initialize_carry"):
        Own().initialize_carry(KEY, (2,))


def looped(p, x, length):
    c = h = np.zeros((5,))
    outputs = []
    for t in range(length):
        c, h = run_lstm(p, c, h, x[t])
        outputs.append(h)
    return (c, h), outputs


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("time_major", [False, True])
def test_recurrence_over_sequences_of_several_lengths(reverse, time_major):
    x, lengths = drawn(3, 6, 4), np.array([3, 6, 1])
    rnn = nn.RNN(nn.LSTMCell(5, bias_init=nn.initializers.normal()), return_carry=True, unroll=2)
    variables = rnn.init(KEY, x)
    p = variables["params"]["cell"]
    given = np.swapaxes(x, 0, 1) if time_major else x
    options = {"seq_lengths": lengths, "reverse": reverse, "time_major": time_major}
    (c, h), y = rnn.apply(variables, given, **options)
    _, ordered = rnn.apply(variables, given, keep_order=True, **options)
    y, ordered = (np.swapaxes(z, 0, 1) if time_major else np.asarray(z) for z in (y, ordered))
    for i, length in enumerate(lengths):
        steps = x[i, :length][::-1] if reverse else x[i, :length]
        (last_c, last_h), outputs = looped(p, steps, length)
        close(c[i], last_c)
        close(h[i], last_h)
        close(y[i, :length], outputs)
        close(ordered[i, :length], outputs[::-1] if reverse else outputs)


def test_last_carries_of_two_batch_axes():
    x, lengths = drawn(2, 3, 6, 4), np.array([[3, 6, 1], [2, 4, 5]])
    rnn = nn.RNN(nn.GRUCell(5))
    variables = rnn.init(KEY, x)
    carry, y = rnn.apply(variables, x, seq_lengths=lengths, return_carry=True)
    for i, j in np.ndindex(2, 3):
        np.testing.assert_array_equal(carry[i, j], y[i, j, lengths[i, j] - 1])


def test_both_directions():
    x, lengths = drawn(3, 6, 4), np.array([3, 6, 1])
    layer = nn.Bidirectional(nn.RNN(nn.GRUCell(5)), nn.RNN(nn.LSTMCell(5)))
    variables = layer.init(KEY, x)
    carries, y = layer.apply(variables, x, seq_lengths=lengths, return_carry=True)
    forward = nn.RNN(nn.GRUCell(5)).apply({"params": variables["params"]["forward_rnn"]}, x)
    backward = nn.RNN(nn.LSTMCell(5), reverse=True, keep_order=True).apply(
        {"params": variables["params"]["backward_rnn"]}, x, seq_lengths=lengths)
    np.testing.assert_array_equal(y, np.concatenate([forward, backward], -1))
    assert carries[0].shape == (3, 5) and carries[1][1].shape == (3, 5)
    shared = nn.RNN(nn.GRUCell(5))
    with pytest.warns(UserWarning, match="share their parameters"):
        nn.Bidirectional(shared, shared).init(KEY, x)


def test_gradients_through_a_recurrence():
    x = drawn(2, 4, 3)
    rnn = nn.RNN(nn.GRUCell(2))
    variables = rnn.init(KEY, x)

    def loss(variables):
        return jnp.sum(rnn.apply(variables, x) ** 2)

    gradient = lx.grad(loss)(variables)["params"]["cell"]["hn"]["bias"]
    step = 1e-2
    for i in range(2):
        moved = [lx.tree.map(lambda a: a, variables) for _ in range(2)]
        for sign, tree in zip((1, -1), moved):
            bias = tree["params"]["cell"]["hn"]["bias"]
            tree["params"]["cell"]["hn"]["bias"] = bias.at[i].add(sign * step)
        close(gradient[i], (loss(moved[0]) - loss(moved[1])) / (2 * step), rtol=5e-3)  # float32 differences
