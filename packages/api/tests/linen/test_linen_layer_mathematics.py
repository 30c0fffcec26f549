"""Layers against their definitions in NumPy, in float64 where that matters, and against identities."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import laminax as lx
from laminax import lax
from laminax import linen as nn
from laminax import numpy as jnp

KEY = lx.random.key(1)


def drawn(*shape):
    return np.random.default_rng(sum(shape)).normal(size=shape).astype(np.float32)


def with_parameters(layer, *args, **kwargs):
    """The layer's result with parameters that are all different, and these parameters."""
    variables = lx.tree.map(lambda x: drawn(*x.shape).astype(x.dtype), layer.init(KEY, *args, **kwargs))
    return layer.apply(variables, *args, **kwargs), variables["params"]


def close(actual, expected, rtol=2e-5):
    expected = np.asarray(expected)
    np.testing.assert_allclose(actual, expected, rtol=rtol, atol=rtol * np.abs(expected).max())


# --- linear layers ---


def test_dense_general_sums_over_its_axes():
    x = drawn(2, 3, 4, 5)
    y, p = with_parameters(nn.DenseGeneral((6, 7), axis=(1, -1)), x)
    close(y, np.einsum("bicj,ijkl->bckl", x, p["kernel"]) + p["bias"])
    y, p = with_parameters(nn.DenseGeneral(6, axis=-2, batch_dims=(0,)), x)
    close(y, np.einsum("bicj,bck->bijk", x, p["kernel"]) + p["bias"][:, None, None])
    y, p = with_parameters(nn.Dense(6), x)
    close(y, x @ p["kernel"] + p["bias"])


@pytest.mark.parametrize(("shape", "equation", "bias_shape"), [
    ((5, 6, 7), "abc,cde->abde", (6, 7)), ((5, 6), "...c,cd->...d", (6,)), ((4, 5, 6), "abc,bcd->da", (6,)),
    ((3, 5), "n...c,nc->n...", (3,)), ((4, 5), "a...,...->a...", (4, 5))])
def test_einsum_has_a_bias_along_the_kernels_axes(shape, equation, bias_shape):
    x = drawn(3, 4, 5)
    y, p = with_parameters(nn.Einsum(shape, equation), x)
    assert p["bias"].shape == bias_shape
    result = equation.split("->")[1]
    bias = {"da": p["bias"][:, None] if p["bias"].ndim == 1 else None, "n...": np.reshape(p["bias"], (-1, 1))}.get(result, p["bias"])
    close(y, np.einsum(equation, x, p["kernel"]) + bias)


def test_einsum_takes_the_equation_once():
    x = drawn(3, 4, 5)
    layer = nn.Einsum((5, 6), use_bias=False)
    close(layer.apply({"params": {"kernel": drawn(5, 6)}}, x, "abc,cd->abd"), x @ drawn(5, 6))
    with pytest.raises(ValueError, match="must be passed to the constructor or at call time"):
        layer.init(KEY, x)
    with pytest.raises(ValueError, match="explicit"):
        layer.init(KEY, x, "abc,cd")
    with pytest.raises(ValueError, match="must name each axis of the kernel"):
        nn.Einsum((5, 6, 7), "abc,cd->abd").init(KEY, x)


def test_embed_reads_rows_and_multiplies_with_all_of_them():
    table = drawn(5, 3)
    layer, variables = nn.Embed(5, 3), {"params": {"embedding": table}}
    np.testing.assert_array_equal(layer.apply(variables, np.array([[0, 4], [-1, 2]])), table[np.array([[0, 4], [-1, 2]])])
    assert np.isnan(layer.apply(variables, np.array([5]))).all()
    close(layer.apply(variables, drawn(2, 7, 3), method="attend"), drawn(2, 7, 3) @ table.T)
    one = nn.Embed(1, 3).apply({"params": {"embedding": table[:1]}}, np.zeros((2, 2), np.int32))
    np.testing.assert_array_equal(one, np.broadcast_to(table[0], (2, 2, 3)))
    with pytest.raises(ValueError, match="float32"):
        layer.apply(variables, drawn(2))


def test_other_functions_compute_the_product():
    calls = []

    def product(*args, **kwargs):
        calls.append(kwargs)
        return lax.dot_general(*args, **kwargs) * 2

    x, plain = drawn(2, 3), nn.Dense(4)
    variables = plain.init(KEY, x)
    for options in ({"dot_general": product}, {"dot_general_cls": lambda: product}):
        close(nn.Dense(4, precision="highest", **options).apply(variables, x), 2 * plain.apply(variables, x))
        close(nn.DenseGeneral(4, precision="highest", **options).apply(variables, x), 2 * plain.apply(variables, x))
    assert calls == [{"precision": "highest"}] * 4


# --- convolutions ---


def convolved(x, kernel, dilation=1):
    """The valid convolution of [batch, h, w, inputs], by its definition."""
    size = [(k - 1) * dilation + 1 for k in kernel.shape[:2]]
    out = np.zeros((x.shape[0], x.shape[1] - size[0] + 1, x.shape[2] - size[1] + 1, kernel.shape[-1]))
    for i, j in itertools.product(range(kernel.shape[0]), range(kernel.shape[1])):
        rows = x[:, i * dilation:i * dilation + out.shape[1], j * dilation:j * dilation + out.shape[2]]
        out += np.einsum("bhwi,io->bhwo", rows.astype(np.float64), kernel[i, j])
    return out


@pytest.mark.parametrize(("padding", "pads", "mode"), [
    ("VALID", ((0, 0), (0, 0)), "constant"), ("SAME", ((1, 1), (1, 2)), "constant"), ("CIRCULAR", ((1, 1), (1, 2)), "wrap"),
    ("REFLECT", ((1, 1), (1, 2)), "reflect"), (2, ((2, 2), (2, 2)), "constant"), (((0, 1), 3), ((0, 1), (3, 3)), "constant")])
def test_conv_pads_and_convolves(padding, pads, mode):
    x = drawn(2, 5, 6, 3)
    y, p = with_parameters(nn.Conv(4, (3, 4), padding=padding), x)
    padded = np.pad(x, [(0, 0), *pads, (0, 0)], mode=mode)
    close(y, convolved(padded, p["kernel"]) + p["bias"])


def test_conv_with_strides_dilation_groups_and_a_mask():
    x = drawn(2, 7, 6, 4)
    y, p = with_parameters(nn.Conv(6, (3, 3), strides=(2, 1), padding="VALID"), x)
    close(y, (convolved(x, p["kernel"]) + p["bias"])[:, ::2])
    y, p = with_parameters(nn.Conv(6, (3, 2), kernel_dilation=2, padding="VALID"), x)
    close(y, convolved(x, p["kernel"], dilation=2) + p["bias"])
    y, p = with_parameters(nn.Conv(6, (3, 2), feature_group_count=2, padding="VALID", use_bias=False), x)
    close(y, np.concatenate([convolved(x[..., 2 * g:2 * g + 2], p["kernel"][..., 3 * g:3 * g + 3]) for g in range(2)], -1))
    mask = np.arange(3 * 2 * 4 * 6).reshape(3, 2, 4, 6) % 3
    y, p = with_parameters(nn.Conv(6, (3, 2), mask=mask, padding="VALID"), x)
    close(y, convolved(x, p["kernel"] * mask) + p["bias"])


def test_causal_convolution_sees_no_later_step():
    x = drawn(2, 8, 3)
    layer = nn.Conv(4, 3, padding="CAUSAL", kernel_dilation=2)
    variables = layer.init(KEY, x)
    later = x.copy()
    later[:, 5:] = 7
    y, z = layer.apply(variables, x), layer.apply(variables, later)
    np.testing.assert_array_equal(y[:, :5], z[:, :5])
    assert y.shape == (2, 8, 4) and (y[:, 5:] != z[:, 5:]).all()


def test_batch_axes_of_convolutions():
    x = drawn(2, 3, 5, 5, 4)
    for layer in (nn.Conv(2, (3, 3)), nn.ConvLocal(2, (3, 3)), nn.ConvTranspose(2, (3, 3))):
        variables = layer.init(KEY, x)
        y = layer.apply(variables, x)
        assert y.shape == (2, 3, 5, 5, 2)
        close(y[1, 2], layer.apply(variables, x[1, 2]))
    assert nn.Conv(2, (3, 3)).init_with_output(KEY, x[:0])[0].shape == (0, 3, 5, 5, 2)


def test_local_convolution_has_a_kernel_for_each_place():
    x = drawn(2, 6, 5, 3)
    y, p = with_parameters(nn.ConvLocal(4, (3, 2), padding="VALID"), x)
    for i, j in itertools.product(range(4), range(4)):
        patch = np.moveaxis(x[:, i:i + 3, j:j + 2], -1, 1).reshape(2, -1)  # features first, as `conv_general_dilated_patches` has them
        close(y[:, i, j], patch @ p["kernel"][i, j] + p["bias"][i, j], rtol=1e-4)


@pytest.mark.parametrize(("padding", "size", "stride", "kernel_size"), [
    ("VALID", 9, 1, 3), ("VALID", 9, 2, 3), ("VALID", 9, 2, 4), ("SAME", 8, 2, 3), ("SAME", 8, 2, 4), ("CIRCULAR", 8, 2, 3),
    ("CIRCULAR", 8, 2, 4), ("CIRCULAR", 9, 1, 3)])
def test_transposed_convolution_is_the_adjoint(padding, size, stride, kernel_size):
    """<conv x, y> = <x, conv_transpose y> with one kernel."""
    forward = nn.Conv(3, kernel_size, strides=stride, padding=padding, use_bias=False)
    backward = nn.ConvTranspose(2, kernel_size, strides=(stride,), padding=padding, use_bias=False, transpose_kernel=True)
    x = drawn(1, size, 2)
    kernel = {"params": {"kernel": drawn(kernel_size, 2, 3)}}
    y = drawn(*forward.apply(kernel, x).shape)
    back = backward.apply(kernel, y)
    size = min(size, back.shape[1])  # a strided valid convolution does not read its last places
    close(np.vdot(forward.apply(kernel, x), y), np.vdot(x[:, :size], back[:, :size]), rtol=1e-4)
    assert not np.any(back[:, size:])


@pytest.mark.parametrize(("make", "message"), [
    (lambda: nn.Conv(4, (3, 3), strides=(1, 2, 1)).init(KEY, drawn(1, 5, 5, 2)), r"Conv: strides=\(1, 2, 1\) has 3 entries"),
    (lambda: nn.Conv(4, (3, 3)).init(KEY, drawn(5, 2)), r"shape \(5, 2\).*kernel_size has 2 entries"),
    (lambda: nn.Conv(4, (3, 3), padding="CAUSAL").init(KEY, drawn(1, 5, 5, 2)), "Causal padding"),
    (lambda: nn.Conv(4, (3,), padding=(1, 2)).init(KEY, drawn(1, 5, 2)), "Invalid padding format"),
    (lambda: nn.Conv(4, (3,), feature_group_count=3).init(KEY, drawn(1, 5, 2)), "2 features.*feature_group_count=3"),
    (lambda: nn.Conv(4, (3,), mask=np.ones(3)).init(KEY, drawn(1, 5, 2)), r"same shape as weights.*\(3, 2, 4\)"),
    (lambda: nn.DenseGeneral(4, axis=3).init(KEY, drawn(1, 5)), "DenseGeneral: axis has axis 3"),
    (lambda: nn.DenseGeneral(4, axis=0, batch_dims=(0,)).init(KEY, drawn(1, 5)), r"axes \[0\] are in axis=0 and in batch_dims"),
    (lambda: nn.Dense(4).init(KEY, np.float32(1)), "Dense: the input must have at least one axis"),
    (lambda: nn.avg_pool(drawn(1, 5, 5, 2), (2, 2), strides=(1,)), r"strides=\(1,\) has 1 entries"),
    (lambda: nn.max_pool(drawn(5, 2), (2, 2)), r"pool: the input has shape \(5, 2\)"),
    (lambda: nn.max_pool(drawn(5, 5, 2), (2, 2), padding=((1, 1),)), r"padding=\(\(1, 1\),\) must be"),
    (lambda: nn.LayerNorm(reduction_axes=2).init(KEY, drawn(3, 2)), "LayerNorm: reduction_axes has axis 2"),
    (lambda: nn.GroupNorm(num_groups=3).init(KEY, drawn(3, 4)), "num_groups=3 does not divide the 4 features"),
    (lambda: nn.GroupNorm(group_size=2).init(KEY, drawn(3, 4)), "give either num_groups or group_size"),
    (lambda: nn.GroupNorm(num_groups=2, reduction_axes=(0,)).init(KEY, drawn(3, 4)), "must include the last axis, 1"),
    (lambda: nn.Dropout(1.5, deterministic=False).apply({}, drawn(3), rngs={"dropout": KEY}), "rate=1.5 must be a probability"),
    (lambda: nn.MultiHeadAttention(3).init(KEY, drawn(5, 4)), "num_heads=3 does not divide the 4 features"),
    (lambda: nn.dot_product_attention(drawn(3, 2, 4), drawn(5, 2, 4), drawn(6, 2, 4)), "must have one length"),
    (lambda: nn.dot_product_attention(drawn(3, 2, 4), drawn(5, 2, 3), drawn(5, 2, 3)), "last axes must have one size"),
    (lambda: nn.dot_product_attention(*[drawn(3, 2, 4)] * 3, dropout_rate=0.5), "dropout_rate=0.5 needs a key"),
    (lambda: nn.combine_masks(np.ones(3), np.ones((1, 3))), r"same rank: \(1, 2\)"),
    (lambda: nn.RNN(nn.LSTMCell(3)).init(KEY, drawn(4)), r"RNN: the input has shape \(4,\)"),
    (lambda: nn.Sequential(nn.relu), "must be a sequence"),
    (lambda: nn.promote_dtype(np.ones(2), dtype=np.int32), "Dtype must be inexact: <class 'numpy.int32'>"),
])
def test_bad_arguments_are_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()


# --- pooling ---


def test_pooling_reduces_windows():
    x = drawn(2, 7, 6, 3)
    windows = np.lib.stride_tricks.sliding_window_view(x, (3, 2), axis=(1, 2))[:, ::2]
    options = {"window_shape": (3, 2), "strides": (2, 1)}
    close(nn.avg_pool(x, **options), windows.mean((-2, -1)))
    np.testing.assert_array_equal(nn.max_pool(x, **options), windows.max((-2, -1)))
    np.testing.assert_array_equal(nn.min_pool(x[0], **options), windows.min((-2, -1))[0])
    np.testing.assert_array_equal(nn.max_pool(np.stack([x] * 2), **options)[1], windows.max((-2, -1)))


def test_average_of_padded_windows_with_and_without_the_padding():
    x = drawn(1, 4, 1)
    total = np.convolve(x[0, :, 0], np.ones(3))[1:-1]
    close(nn.avg_pool(x, (3,), padding="SAME")[0, :, 0], total / 3)
    close(nn.avg_pool(x, (3,), padding=((1, 1),), count_include_pad=False)[0, :, 0], total / [2, 3, 3, 2])


# --- normalization ---


def standardized(x, axes, epsilon, mask=True):
    x = x.astype(np.float64)
    mask = np.broadcast_to(mask, x.shape)
    mean = x.mean(axes, keepdims=True, where=mask)
    return (x - mean) / np.sqrt(x.var(axes, keepdims=True, where=mask) + epsilon)


@pytest.mark.parametrize("fast", [True, False])
def test_normalization_along_axes(fast):
    x = drawn(3, 4, 5, 6)
    for layer, axes, feature_shape in [
        (nn.LayerNorm(use_fast_variance=fast), -1, (6,)),
        (nn.LayerNorm(use_fast_variance=fast, reduction_axes=(1, 2), feature_axes=(2, 3)), (1, 2), (5, 6)),
        (nn.InstanceNorm(use_fast_variance=fast, feature_axes=(1, -1)), 2, (4, 1, 6)),
    ]:
        y, p = with_parameters(layer, x)
        close(y, standardized(x, axes, 1e-6) * p["scale"].reshape(feature_shape) + p["bias"].reshape(feature_shape))
    y, p = with_parameters(nn.RMSNorm(use_fast_variance=fast), x)
    close(y, x / np.sqrt(np.mean(np.square(x, dtype=np.float64), -1, keepdims=True) + 1e-6) * p["scale"])
    y, p = with_parameters(nn.GroupNorm(num_groups=2, use_fast_variance=fast), x)
    close(y, standardized(x.reshape(3, 4, 5, 2, 3), (1, 2, 4), 1e-6).reshape(x.shape) * p["scale"] + p["bias"])


def test_normalization_leaves_out_what_is_masked():
    x = drawn(4, 5, 6)
    mask = np.random.default_rng(0).uniform(size=x.shape) < 0.7
    for layer, axes in [(nn.LayerNorm(use_bias=False, use_scale=False), -1), (nn.InstanceNorm(use_bias=False, use_scale=False), 1)]:
        close(layer.apply({}, x, mask=mask), standardized(x, axes, 1e-6, mask))


def test_batch_norm_keeps_moving_averages():
    layer, x = nn.BatchNorm(momentum=0.9, epsilon=1e-3), drawn(8, 5, 3) * 3 + 1
    variables = layer.init(KEY, x, use_running_average=False)
    np.testing.assert_array_equal(variables["batch_stats"]["mean"], np.zeros(3))  # `init` does not update them
    y, updates = layer.apply(variables, x, use_running_average=False, mutable=["batch_stats"])
    close(y, standardized(x, (0, 1), 1e-3))
    close(updates["batch_stats"]["mean"], 0.1 * x.mean((0, 1)))
    close(updates["batch_stats"]["var"], 0.9 + 0.1 * x.var((0, 1)))
    y = layer.apply({**variables, **updates}, x, use_running_average=True)
    close(y, (x - updates["batch_stats"]["mean"]) / np.sqrt(updates["batch_stats"]["var"] + 1e-3))


def test_batch_statistics_are_taken_over_a_mapped_axis():
    x = drawn(4, 6, 3)

    def apply(x, **options):
        layer = nn.BatchNorm(use_running_average=False, axis_name="devices", **options)
        return layer.apply(layer.init(KEY, x), x, mutable=["batch_stats"])[0]

    close(lx.vmap(apply, axis_name="devices")(x), standardized(x, (0, 1), 1e-5))
    paired = lx.vmap(lambda x: apply(x, axis_index_groups=[[0, 1], [2, 3]]), axis_name="devices")(x)
    close(paired, standardized(x.reshape(2, 12, 3), 1, 1e-5).reshape(x.shape))


def test_statistics_in_the_input_dtype():
    x = drawn(4, 6).astype(jnp.bfloat16)
    exact = standardized(x.astype(np.float32), -1, 1e-6)
    y = nn.LayerNorm(use_bias=False, use_scale=False, dtype=jnp.bfloat16).apply({}, x)
    rough = nn.LayerNorm(use_bias=False, use_scale=False, dtype=jnp.bfloat16, force_float32_reductions=False).apply({}, x)
    assert y.dtype == rough.dtype == jnp.bfloat16
    np.testing.assert_allclose(y.astype(np.float32), exact, atol=2**-7)  # half a unit in the last place of numbers up to 4
    np.testing.assert_allclose(rough.astype(np.float32), exact, atol=0.1)  # sums of bfloat16
    assert (y != rough).any()


def test_the_norm_of_weights_in_a_box_is_named_by_the_path_to_the_value():
    kernel_init = nn.with_partitioning(nn.initializers.lecun_normal(), ("in", "out"))
    layer, x = nn.WeightNorm(nn.Dense(3, kernel_init=kernel_init)), drawn(2, 4)
    variables = layer.init(KEY, x)
    assert variables["params"]["layer_instance/kernel/value/scale"].shape == (3,)
    assert layer.apply(variables, x).shape == (2, 3)


def test_norms_of_weights():
    x = drawn(2, 4)
    layer = nn.WeightNorm(nn.Dense(3))
    y, p = with_parameters(layer, x)
    kernel = p["layer_instance"]["kernel"]
    scale = p["layer_instance/kernel/scale"]
    close(y, x @ (kernel / np.linalg.norm(kernel, axis=0) * scale) + p["layer_instance"]["bias"])
    layer = nn.SpectralNorm(nn.Dense(3, use_bias=False), n_steps=100)
    variables = layer.init(KEY, x, update_stats=False)
    y, updates = layer.apply(variables, x, update_stats=True, mutable=["batch_stats"])
    kernel = np.asarray(variables["params"]["layer_instance"]["kernel"])
    largest = np.linalg.svd(kernel)[1][0]
    close(y, x @ kernel / largest)
    close(updates["batch_stats"]["layer_instance/kernel/sigma"], largest)


def test_dropout_keeps_the_mean_and_whole_axes():
    x = np.ones((1000, 40), np.float32)
    y = nn.Dropout(0.25, deterministic=False).apply({}, x, rngs={"dropout": KEY})
    assert set(np.unique(y)) == {np.float32(0), np.float32(1 / 0.75)}
    assert abs(np.mean(y) - 1) < 4 * np.sqrt(0.25 / 0.75 / x.size)  # four standard errors
    y = np.asarray(nn.Dropout(0.5, broadcast_dims=(1,)).apply({}, x, deterministic=False, rng=KEY))
    assert (y == y[:, :1]).all() and 400 < np.count_nonzero(y[:, 0]) < 600
    assert nn.Dropout(0.5).apply({}, x, deterministic=True) is x
    gradient = lx.grad(lambda x: nn.Dropout(1.0, deterministic=False).apply({}, x).sum())(x)
    np.testing.assert_array_equal(gradient, np.zeros_like(x))
