"""Convolutions on one CPU device, which are written as sums and products instead of StableHLO's convolution."""

import itertools

import numpy as np
import pytest

from laminax_ir.options import config

import laminax
from laminax import export, lax
from laminax import numpy as jnp


def _by_definition(x, w, stride, padding, holes, dilation, groups):
    """The convolution of x[n, c, ...] with w[o, i, ...] in float64, a weight at a time."""
    x, w = x.astype(np.float64), w.astype(np.float64)
    rank = x.ndim - 2
    spread = np.zeros((*x.shape[:2], *((n - 1) * holes + 1 for n in x.shape[2:])))
    spread[(..., *[slice(None, None, holes)] * rank)] = x
    x = np.pad(spread, [(0, 0), (0, 0), *[tuple(max(n, 0) for n in padding)] * rank])
    x = x[(..., *[slice(max(-padding[0], 0), min(padding[1], 0) or None)] * rank)]
    sizes = [(n - (m - 1) * dilation - 1) // stride + 1 for n, m in zip(x.shape[2:], w.shape[2:])]
    out = np.zeros((x.shape[0], w.shape[0], *sizes))
    per_group = w.shape[0] // groups
    for tap in itertools.product(*map(range, w.shape[2:])):
        part = x[(..., *(slice(t * dilation, t * dilation + (n - 1) * stride + 1, stride) for t, n in zip(tap, sizes)))]
        for o in range(w.shape[0]):
            first = o // per_group * w.shape[1]
            out[:, o] += np.einsum("nc...,c->n...", part[:, first:first + w.shape[1]], w[(o, slice(None), *tap)])
    return out


# name: x's channels, features, groups, the sizes along the spatial axes, the window, stride, padding, holes, dilation
CASES = {
    "depthwise": (16, 16, 16, (30, 31), (3, 3), 1, (1, 1), 1, 1),
    "depthwise_stride": (16, 16, 16, (33, 30), (3, 2), 2, (0, 1), 1, 1),
    "depthwise_dilated": (16, 16, 16, (30, 30), (3, 3), 1, (2, 2), 1, 2),
    "depthwise_multiplier": (16, 48, 16, (20, 21), (3, 3), 1, (1, 0), 1, 1),
    "depthwise_cropped": (16, 16, 16, (40, 41), (3, 3), 1, (-2, -1), 1, 1),
    "causal": (64, 64, 64, (256,), (4,), 1, (3, 0), 1, 1),
    "volume": (8, 8, 8, (12, 13, 11), (2, 2, 2), 1, (0, 0), 1, 1),
    "one_channel": (1, 3, 1, (90, 91), (5, 5), 1, (2, 2), 1, 1),
    "pointwise": (32, 24, 1, (20, 21), (1, 1), 1, (0, 0), 1, 1),
    "pointwise_stride": (32, 24, 1, (40, 41), (1, 1), 2, (0, 0), 1, 1),
    "groups": (32, 16, 4, (14, 15), (3, 3), 1, (1, 1), 1, 1),
    "transposed": (16, 12, 1, (10, 11), (4, 4), 1, (2, 2), 2, 1),
    "transposed_far": (16, 12, 1, (50,), (16,), 1, (15, 8), 8, 1),
    "transposed_sparse": (16, 12, 1, (20, 21), (2, 2), 1, (1, 2), 3, 1),
}
LAYOUTS = {1: [("NCH", "OIH", "NCH"), ("NHC", "HIO", "NHC")],
           2: [("NCHW", "OIHW", "NCHW"), ("NHWC", "HWIO", "NHWC"), ("CHWN", "IHWO", "NHWC")],
           3: [("NCDHW", "OIDHW", "NCDHW"), ("NDHWC", "DHWIO", "NDHWC")]}


def _in_layout(x, text, names):
    """x[n, c, ...] with its axes as the text says."""
    first, second = names
    spatial = [c for c in "DHW" if c in text]
    return np.transpose(x, [[first, second, *spatial].index(c) for c in text])


def _from_layout(x, text, names):
    first, second = names
    spatial = [c for c in "DHW" if c in text]
    return np.transpose(np.asarray(x), [text.index(c) for c in (first, second, *spatial)])


@pytest.mark.parametrize("name, layout", [
    *((name, i % 2) for i, name in enumerate(CASES)), ("depthwise", 1), ("depthwise", 2), ("groups", 1)])
def test_convolution_and_its_derivatives_are_those_of_the_definition(name, layout):
    channels, features, groups, sizes, window, stride, padding, holes, dilation = CASES[name]
    texts = LAYOUTS[len(sizes)][layout]
    rng = np.random.default_rng(0)
    x = rng.normal(size=(4, channels, *sizes)).astype(np.float32)
    w = rng.normal(size=(features, channels // groups, *window)).astype(np.float32)
    wanted = _by_definition(x, w, stride, padding, holes, dilation, groups)
    ct = rng.normal(size=wanted.shape).astype(np.float32)
    rank = len(sizes)

    def convolve(x, w):
        return lax.conv_general_dilated(x, w, (stride,) * rank, [padding] * rank, (holes,) * rank, (dilation,) * rank, texts, groups)

    @laminax.jit
    def run(x, w, ct):
        out, pull_back = laminax.vjp(convolve, x, w)
        return out, *pull_back(ct)

    args = _in_layout(x, texts[0], "NC"), _in_layout(w, texts[1], "OI"), _in_layout(ct, texts[2], "NC")
    out, x_ct, w_ct = run(*args)
    # a rounding for each product, of at most the sum of the absolute values
    bound = (np.prod(window) * w.shape[1]) * np.finfo(np.float32).eps
    magnitude = _by_definition(np.abs(x), np.abs(w), stride, padding, holes, dilation, groups)
    assert (np.abs(_from_layout(out, texts[2], "NC") - wanted) <= bound * magnitude + 1e-30).all()
    # linear in each: the adjoint identity on random directions, and with basis directions for every element of the kernel
    direction = rng.normal(size=x.shape).astype(np.float32)
    along = _by_definition(direction, w, stride, padding, holes, dilation, groups)
    np.testing.assert_allclose(np.vdot(direction, _from_layout(x_ct, texts[0], "NC").astype(np.float64)), np.vdot(along, ct), rtol=1e-4)
    for position in rng.integers(0, w.size, 3):
        basis = np.zeros(w.size)
        basis[position] = 1
        along = _by_definition(x, basis.reshape(w.shape), stride, padding, holes, dilation, groups)
        np.testing.assert_allclose(_from_layout(w_ct, texts[1], "OI").ravel()[position], np.vdot(along, ct),
                                   atol=1e-5 * np.vdot(np.abs(along), np.abs(ct)))
    with config.cpu_kernels(False):
        general = run(*args)
    for one, other in zip((out, x_ct, w_ct), general):
        np.testing.assert_allclose(one, other, rtol=0, atol=2e-5 * float(jnp.abs(other).max()))


def _text(f, *args, **options):
    return laminax.jit(f).lower(*args).as_text(**options)


def _depthwise(x, w):
    return lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"), feature_group_count=32)


def _depthwise_arguments(dtype=np.float32):
    rng = np.random.default_rng(0)
    return jnp.asarray(rng.normal(size=(2, 16, 16, 32)), dtype), jnp.asarray(rng.normal(size=(3, 3, 1, 32)), dtype)


def test_the_choice_is_made_for_one_cpu_device_only():
    args = _depthwise_arguments()
    assert "stablehlo.convolution" not in _text(_depthwise, *args)
    with config.cpu_kernels(False):
        assert "stablehlo.convolution" in _text(lambda x, w: _depthwise(x, w), *args)
    traced = laminax.jit(_depthwise).trace(*args)
    assert "stablehlo.convolution" in traced.lower(lowering_platforms=("tpu",)).as_text()
    assert "stablehlo.convolution" in export.export(laminax.jit(_depthwise))(*args).mlir_module()
    assert "stablehlo.convolution" in export.export(laminax.jit(_depthwise), platforms=["cpu", "tpu"])(*args).mlir_module()


def test_small_convolutions_are_left_to_the_compiler():
    x, w = _depthwise_arguments()
    assert "stablehlo.convolution" in _text(_depthwise, x[:1, :4, :4], w)


def test_ordinary_convolutions_are_left_to_the_compiler():
    x, w = jnp.ones((2, 16, 16, 32)), jnp.ones((3, 3, 32, 32))
    f = lambda x, w: lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))  # noqa: E731
    assert _text(laminax.grad(lambda x, w: f(x, w).sum(), (0, 1)), x, w).count("stablehlo.convolution") == 2


@pytest.mark.parametrize("dtype", [jnp.bfloat16, np.float16])
def test_narrow_dtypes_are_summed_in_float32_and_rounded_once(dtype):
    x, w = _depthwise_arguments(dtype)
    wide = _depthwise(x.astype(np.float32), w.astype(np.float32))
    np.testing.assert_array_equal(laminax.jit(_depthwise)(x, w), wide.astype(dtype))


def test_under_vmap_too():
    x, w = _depthwise_arguments()
    xs, ws = jnp.stack([x, 2 * x]), jnp.stack([w, w + 1])
    found = laminax.jit(laminax.vmap(_depthwise))(xs, ws)
    np.testing.assert_allclose(found, jnp.stack([_depthwise(a, b) for a, b in zip(xs, ws)]), rtol=1e-5, atol=1e-5)


def test_a_program_in_double_precision_is_lowered_where_that_is_off():
    rng = np.random.default_rng(0)
    x, w, a = rng.normal(size=(2, 16, 16, 32)), rng.normal(size=(3, 3, 1, 32)), rng.normal(size=(3000, 4, 4))

    def run(x, w, a):
        gradient = laminax.grad(lambda w: (_depthwise(x, w) ** 2).sum())(w)
        return _depthwise(x, w), gradient, jnp.einsum("bij,bjk->bik", a, a), jnp.argmax(jnp.tile(x, (10, 1, 1, 1)), 0)

    with config.enable_x64(True):
        traced = laminax.jit(run).trace(x, w, a)
    lowered = traced.lower()
    assert "stablehlo.convolution" not in lowered.as_text() and "dot_general" not in lowered.as_text()
    compiled = lowered.compile()
    with config.enable_x64(True):
        out, gradient, products, places = compiled(x, w, a)
    np.testing.assert_allclose(products, a @ a, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(places, np.tile(x, (10, 1, 1, 1)).argmax(0))
    padded = np.pad(x, [(0, 0), (1, 1), (1, 1), (0, 0)])
    taps = [[padded[:, i:i + 16, j:j + 16] for j in range(3)] for i in range(3)]
    wanted = sum(taps[i][j] * w[i, j, 0] for i in range(3) for j in range(3))
    np.testing.assert_allclose(out, wanted, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(gradient[1, 2, 0], (2 * wanted * taps[1][2]).sum((0, 1, 2)), rtol=1e-10, atol=1e-10)
