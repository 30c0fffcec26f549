"""laminax.example_libraries.stax: layers against loops in NumPy, and what their init_funs promise."""

import itertools
import math

import numpy as np
import pytest

import laminax
import laminax.numpy as jnp
from laminax import random
from laminax.example_libraries import optimizers, stax
from laminax.nn import initializers

KEY = random.key(0)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def applied(layer, inputs, **kwargs):
    """The layer's parameters and outputs; its promises about the outputs' shape are checked."""
    init_fun, apply_fun = layer
    output_shape, params = init_fun(KEY, inputs.shape)
    outputs = laminax.jit(lambda params, x: apply_fun(params, x, **kwargs))(params, inputs)
    assert outputs.shape == output_shape
    return params, np.asarray(outputs)


def close(actual, expected):
    np.testing.assert_allclose(actual, expected, rtol=2e-5, atol=1e-5)  # sums of up to 100 terms in float32


def test_dense(rng):
    x = rng.normal(size=(5, 7, 3)).astype(np.float32)
    (W, b), y = applied(stax.Dense(4), x)
    close(y, np.einsum("abi,io->abo", x, np.asarray(W)) + np.asarray(b))
    W_key, b_key = random.split(KEY)
    np.testing.assert_array_equal(W, initializers.glorot_normal()(W_key, (3, 4)))
    np.testing.assert_array_equal(b, initializers.normal()(b_key, (4,)))
    (W, b), _ = applied(stax.Dense(2, W_init=stax.ones, b_init=initializers.constant(3.0)), x)
    assert (np.asarray(W) == 1).all() and (np.asarray(b) == 3).all()
    assert stax.Dense(4)[0](KEY, (-1, 3))[0] == (-1, 4)


def correlated(x, W, strides):
    """x: [batch, in, *space], W: [out, in, *space], by the definition, without padding."""
    window = W.shape[2:]
    counts = [(n - k) // s + 1 for n, k, s in zip(x.shape[2:], window, strides)]
    y = np.zeros((x.shape[0], W.shape[0], *counts))
    for place in np.ndindex(*counts):
        part = x[(..., *[slice(i * s, i * s + k) for i, s, k in zip(place, strides, window)])]
        y[(..., *place)] = np.tensordot(part, W, (range(1, x.ndim), range(1, x.ndim)))
    return y


@pytest.mark.parametrize("padding, pads", [("VALID", (0, 0)), ("SAME", (0, 1)), (((2, 1), (2, 1)), (2, 1))])
def test_conv(rng, padding, pads):
    x = rng.normal(size=(2, 6, 8, 3)).astype(np.float32)  # SAME: 3 + (6 // 2 - 1) * 2 - 6 = 1 more place, put high
    (W, b), y = applied(stax.Conv(4, (3, 3), strides=(2, 2), padding=padding, b_init=stax.randn(1.0)), x)
    assert W.shape == (3, 3, 3, 4) and b.shape == (1, 1, 1, 4)
    padded = np.pad(np.moveaxis(x, -1, 1), [(0, 0), (0, 0), pads, pads])
    close(y, np.moveaxis(correlated(padded, np.transpose(W, (3, 2, 0, 1)), (2, 2)), 1, -1) + np.asarray(b))


def test_general_conv_takes_axes_in_any_order(rng):
    x = rng.normal(size=(3, 2, 6)).astype(np.float32)  # "CNH"
    (W, b), y = applied(stax.GeneralConv(("CNH", "OHI", "HNC"), 4, (3,), b_init=stax.randn(1.0)), x)
    assert W.shape == (4, 3, 3) and b.shape == (1, 1, 4)
    expected = correlated(np.moveaxis(x, 0, 1), np.moveaxis(np.asarray(W), 2, 1), (1,))
    close(y, np.transpose(expected, (2, 0, 1)) + np.asarray(b))
    W_key, _ = random.split(KEY)
    np.testing.assert_array_equal(W, initializers.glorot_normal(2, 0)(W_key, (4, 3, 3)))
    assert stax.Conv(4, (3, 3))[0](KEY, (-1, 6, 8, 3))[0] == (-1, 4, 6, 4)


@pytest.mark.parametrize("padding, size", [("VALID", 11), ("SAME", 10)])
def test_transposed_conv_correlates_the_inputs_put_strides_apart(rng, padding, size):
    """Both are the gradient of a convolution without padding at its low end: of size 10, SAME adds (5 - 1) * 2 + 3 - 10 high."""
    x = rng.normal(size=(2, 5, 3)).astype(np.float32)
    (W, b), y = applied(stax.Conv1DTranspose(4, (3,), strides=(2,), padding=padding, b_init=stax.randn(1.0)), x)
    apart = np.zeros((2, 3, size + 2))  # the kernel's size, 3, less 1 more than the outputs
    apart[:, :, 2:11:2] = np.moveaxis(x, 1, 2)
    close(y, np.moveaxis(correlated(apart, np.transpose(W, (2, 1, 0)), (1,)), 1, 2) + np.asarray(b))
    (W, _), y = applied(stax.ConvTranspose(4, (3, 2), strides=(2, 3), padding="SAME"), x[:, :, None])
    assert W.shape == (3, 2, 3, 4) and y.shape == (2, 10, 3, 4)


@pytest.mark.parametrize("center, scale", list(itertools.product([True, False], repeat=2)))
def test_batch_norm(rng, center, scale):
    x = rng.normal(2, 3, size=(4, 3, 5, 2)).astype(np.float32)
    layer = stax.BatchNorm(center=center, scale=scale, beta_init=stax.randn(1.0), gamma_init=stax.randn(1.0), epsilon=0.1)
    (beta, gamma), y = applied(layer, x)
    assert np.shape(beta) == ((2,) if center else (0,)) and np.shape(gamma) == ((2,) if scale else (0,))
    expected = (x - x.mean((0, 1, 2))) / np.sqrt(x.var((0, 1, 2)) + 0.1)
    close(y, expected * (np.asarray(gamma) if scale else 1) + (np.asarray(beta) if center else 0))
    (_, gamma), y = applied(stax.BatchNorm(axis=0), x)
    assert gamma.shape == (3, 5, 2)
    close(y, (x - x.mean(0)) / np.sqrt(x.var(0) + 1e-5))


def softmax(x):
    return np.exp(x) / np.exp(x).sum(-1, keepdims=True)


def selu(x):
    return 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(x))  # Klambauer et al., 2017


@pytest.mark.parametrize("layer, expected", [
    (stax.Tanh, np.tanh), (stax.Relu, lambda x: np.maximum(x, 0)), (stax.Exp, np.exp), (stax.LogSoftmax, lambda x: np.log(softmax(x))),
    (stax.Softmax, softmax), (stax.Softplus, lambda x: np.log1p(np.exp(x))), (stax.Sigmoid, lambda x: 1 / (1 + np.exp(-x))),
    (stax.Elu, lambda x: np.where(x > 0, x, np.expm1(x))), (stax.LeakyRelu, lambda x: np.where(x > 0, x, 0.01 * x)),
    (stax.Selu, selu), (stax.Gelu, lambda x: x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))),
    (stax.Identity, lambda x: x), (stax.Flatten, lambda x: x.reshape(2, 12)), (stax.elementwise(jnp.clip, min=-1, max=1),
                                                                              lambda x: np.clip(x, -1, 1)),
])
def test_layers_without_parameters(rng, layer, expected):
    x = rng.normal(size=(2, 3, 4)).astype(np.float32)
    params, y = applied(layer, x)
    assert params == ()
    close(y, expected(x.astype(np.float64)))


@pytest.mark.parametrize("padding, pads", [("VALID", (0, 0)), ("SAME", (0, 1)), ("SAME_LOWER", (1, 0))])
@pytest.mark.parametrize("spec", [None, "NHWC", "NCHW", "HWCN"])
def test_pooling(rng, padding, pads, spec):
    x = rng.normal(size=(2, 3, 6, 8)).astype(np.float32)  # windows of 3 and 2, with step 2: only the first axis is padded
    padded = np.pad(x, [(0, 0), (0, 0), pads, (0, 0)], constant_values=np.nan)
    height, width = (padded.shape[2] - 3) // 2 + 1, 4
    windows = np.stack([[padded[:, :, 2 * i:2 * i + 3, 2 * j:2 * j + 2] for j in range(width)] for i in range(height)])
    order = [("NCHW").index(letter) for letter in spec or "NHWC"]
    for layer, reduce in [(stax.MaxPool, np.nanmax), (stax.SumPool, np.nansum), (stax.AvgPool, np.nanmean)]:
        _, y = applied(layer((3, 2), (2, 2), padding, spec=spec), x.transpose(order))
        close(y, np.moveaxis(reduce(windows, axis=(-2, -1)), (0, 1), (2, 3)).transpose(order))


def test_pooling_by_default_and_with_pairs(rng):
    x = rng.normal(size=(2, 5, 3)).astype(np.float16)
    _, y = applied(stax.MaxPool((2,)), x)
    np.testing.assert_array_equal(y, np.maximum(x[:, 1:], x[:, :-1]))
    whole = rng.integers(-9, 0, size=(2, 5, 3))
    _, y = applied(stax.MaxPool((3,), padding="SAME"), whole)
    np.testing.assert_array_equal(y, np.stack([whole[:, max(i - 1, 0):i + 2].max(1) for i in range(5)], 1))
    _, y = applied(stax.AvgPool((2,), strides=(3,), padding=((0, 0), (1, 0), (0, 0))), x)
    np.testing.assert_allclose(y, np.stack([x[:, 0], (x[:, 2] + x[:, 3]) / 2], 1), rtol=1e-3)
    assert stax.AvgPool((2, 2), strides=(2, 2))[0](KEY, (-1, 28, 28, 8)) == ((-1, 14, 14, 8), ())


def test_dropout_keeps_a_share_of_the_inputs():
    x = np.full((100, 100), 3.0, np.float32)
    _, y = applied(stax.Dropout(0.75), x, rng=random.key(1))
    kept = y != 0
    np.testing.assert_array_equal(y[kept], np.float32(4))
    assert abs(kept.mean() - 0.75) < 0.02  # more than 4 standard deviations, sqrt(0.75 * 0.25 / 10000)
    np.testing.assert_array_equal(kept, random.bernoulli(random.key(1), 0.75, x.shape))
    _, y = applied(stax.Dropout(0.75, mode="test"), x, rng=random.key(1))
    np.testing.assert_array_equal(y, x)


# Combinators


def test_serial_is_a_composition_with_keys_split_in_order(rng):
    x = rng.normal(size=(4, 3)).astype(np.float32)
    (first, empty, second), y = applied(stax.serial(stax.Dense(5), stax.Relu, stax.Dense(2)), x)
    assert empty == ()
    hidden = np.maximum(x @ np.asarray(first[0]) + np.asarray(first[1]), 0)
    close(y, hidden @ np.asarray(second[0]) + np.asarray(second[1]))
    rest, first_key = random.split(KEY)
    _, second_key = random.split(random.split(rest)[0])
    for params, key, shape in [(first, first_key, (4, 3)), (second, second_key, (4, 5))]:
        np.testing.assert_array_equal(params[0], stax.Dense(len(params[1]))[0](key, shape)[1][0])


def test_residual_block_and_branches(rng):
    x = rng.normal(size=(4, 3)).astype(np.float32)
    block = stax.serial(stax.FanOut(2), stax.parallel(stax.Dense(3), stax.Identity), stax.FanInSum)
    (_, ((W, b), _), _), y = applied(block, x)
    close(y, x @ np.asarray(W) + np.asarray(b) + x)
    for axis, expected in [(-1, np.concatenate([np.tanh(x), np.exp(x)], 1)), (0, np.concatenate([np.tanh(x), np.exp(x)], 0))]:
        _, y = applied(stax.serial(stax.FanOut(2), stax.parallel(stax.Tanh, stax.Exp), stax.FanInConcat(axis)), x)
        close(y, expected)
    (_, keys, _), _ = applied(stax.serial(stax.FanOut(2), stax.parallel(stax.Dense(3), stax.Dense(3)), stax.FanInSum), x)
    assert (np.asarray(keys[0][0]) != np.asarray(keys[1][0])).all()  # each branch has a key of its own


def test_combinators_give_each_layer_a_key_and_pass_other_keywords_on():
    seen = []

    def note(params, inputs, **kwargs):
        seen.append(kwargs)
        return inputs

    layer = (lambda rng, shape: (shape, ())), note
    _, apply_fun = stax.serial(layer, stax.shape_dependent(lambda shape: layer))
    _, apply_both = stax.parallel(layer, layer)
    apply_fun([(), ()], np.ones(2), rng=KEY, mode=1)
    apply_both([(), ()], [1, 2], rng=KEY, mode=1)
    for kwargs, key in zip(seen, [*random.split(KEY, 2)] * 2, strict=True):
        assert kwargs["rng"] == key and kwargs["mode"] == 1
    apply_fun([(), ()], np.ones(2))
    assert seen[-1] == {"rng": None}


def test_shape_dependent(rng):
    x = rng.normal(size=(4, 3)).astype(np.float32)
    (W, b), y = applied(stax.shape_dependent(lambda shape: stax.Dense(2 * shape[-1])), x)
    assert W.shape == (3, 6)
    close(y, x @ np.asarray(W) + np.asarray(b))


def test_a_network_learns_exclusive_or():
    init_fun, predict = stax.serial(stax.Dense(16), stax.Tanh, stax.Dropout(0.95), stax.Dense(2), stax.LogSoftmax)
    x = np.array([[-1, -1], [-1, 1], [1, -1], [1, 1]], np.float32)
    targets = np.eye(2, dtype=np.float32)[[0, 1, 1, 0]]
    opt_init, opt_update, get_params = optimizers.adam(0.03)

    def loss(params, key):
        return -jnp.mean(jnp.sum(predict(params, x, rng=key) * targets, axis=1))

    @laminax.jit
    def step(i, state):
        return opt_update(i, laminax.grad(loss)(get_params(state), random.fold_in(KEY, i)), state)

    state = opt_init(init_fun(KEY, (-1, 2))[1])
    assert loss(get_params(state), KEY) > 0.3
    for i in range(150):
        state = step(i, state)
    scores = predict(get_params(state), x, rng=KEY)
    np.testing.assert_array_equal(jnp.argmax(scores, axis=1), [0, 1, 1, 0])
    assert loss(get_params(state), KEY) < 0.1


@pytest.mark.parametrize("call, error, message", [
    (lambda: stax.serial(), ValueError, "serial: there must be at least one layer"),
    (lambda: stax.serial(stax.Relu, stax.Dense), TypeError, "got <function Dense.*layer 1.*must be called"),
    (lambda: stax.parallel(stax.FanOut), TypeError, "parallel: each layer must be a pair"),
    (lambda: stax.serial(stax.Relu, stax.Relu)[1]([()], np.ones(2)), ValueError, "params must have one entry for each of the 2 .* got 1"),
    (lambda: stax.parallel(stax.Relu)[1]([()], [1.0, 2.0]), ValueError, "parallel: inputs must have one entry .* got 2"),
    (lambda: stax.parallel(stax.Relu)[0](KEY, [(1,), (2,)]), ValueError, "parallel: input_shape must have one entry"),
    (lambda: stax.Dropout(0.5)[1]((), np.ones(2)), ValueError, "Dropout: apply_fun needs a key"),
    (lambda: stax.Dropout(1.5), ValueError, "rate, .* must be in .0, 1., got 1.5"),
    (lambda: stax.Conv(4, (3,)), ValueError, "GeneralConv: filter_shape and strides .* 'HWIO'"),
    (lambda: stax.Conv(4, (3, 3))[0](KEY, (8, 8, 3)), ValueError, "GeneralConv: the input's shape must have one size for each .* 'NHWC'"),
    (lambda: stax.GeneralConv("NHWC", 4, (3, 3)), TypeError, "GeneralConv: dimension_numbers must be three strings"),
    (lambda: stax.GeneralConvTranspose(("NHWC", "HWIO", "NHWX"), 4, (3, 3)), TypeError, "GeneralConvTranspose: dimension_numbers"),
    (lambda: stax.MaxPool((2, 2), strides=(2,)), ValueError, "MaxPool: strides must have one step for each of the 2 axes"),
    (lambda: stax.SumPool((2, 2), spec="HWC"), ValueError, "SumPool: spec must have 4 letters"),
    (lambda: stax.AvgPool((2, 2))[0](KEY, (3, 3)), ValueError, "AvgPool: the input's shape must have 4 sizes"),
    (lambda: stax.AvgPool((2, 2), padding="FULL")[0](KEY, (1, 3, 3, 1)), ValueError, "'FULL'"),
])
def test_refusals(call, error, message):
    with pytest.raises(error, match=message):
        call()
