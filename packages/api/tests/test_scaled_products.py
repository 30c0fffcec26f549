"""Products of values quantised by blocks, against NumPy's arithmetic on the values that are left after quantising."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import laminax
import laminax.numpy as jnp
from laminax import nn

LAST = (((2,), (2,)), ((0,), (0,)))
DTYPES = {"mxfp8": ml_dtypes.float8_e4m3fn, "mxfp4": ml_dtypes.float4_e2m1fn, "nvfp4": ml_dtypes.float4_e2m1fn}


def rounded(x, mode, axis, whole=1.0):
    """What a format keeps of x, in float64: each block of the axis as narrow numbers times its scale."""
    size = 16 if mode == "nvfp4" else 32
    moved = np.moveaxis(np.asarray(x, np.float64), axis, -1) / whole
    blocks = moved.reshape(*moved.shape[:-1], -1, size)
    largest = float(ml_dtypes.finfo(DTYPES[mode]).max)
    bound = np.max(np.abs(blocks), axis=-1, keepdims=True) / largest
    if mode == "nvfp4":
        scale = bound.astype(np.float32).astype(ml_dtypes.float8_e4m3fn).astype(np.float64)
    else:
        scale = 2.0 ** np.ceil(np.log2(np.where(bound == 0, 1, bound)))
    narrow = np.clip(blocks / np.where(scale == 0, 1, scale), -largest, largest).astype(np.float32).astype(DTYPES[mode]).astype(np.float64)
    return np.moveaxis((narrow * scale).reshape(moved.shape), -1, axis) * whole


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.bfloat16, jnp.float16])
@pytest.mark.parametrize("narrow, scale", [(jnp.float8_e4m3fn, jnp.float8_e8m0fnu), (jnp.float8_e5m2, jnp.float8_e8m0fnu),
                                           (jnp.float4_e2m1fn, jnp.float8_e4m3fn)])
def test_scaled_matmul(dtype, narrow, scale):
    rng = np.random.default_rng(3)
    a, b = (rng.normal(size=shape).astype(np.float32).astype(narrow) for shape in [(2, 5, 24), (2, 7, 24)])
    a_scales, b_scales = (2.0 ** rng.integers(-2, 3, size=shape).astype(np.float32) for shape in [(2, 5, 3), (2, 7, 3)])
    a_wide, b_wide = (x.astype(np.float64) * np.repeat(s, 8, axis=-1) for x, s in [(a, a_scales), (b, b_scales)])
    expected = np.einsum("bmk,bnk->bmn", a_wide, b_wide)
    result = nn.scaled_matmul(a, b, a_scales.astype(scale), b_scales.astype(scale), preferred_element_type=dtype)
    assert result.dtype == dtype and result.shape == (2, 5, 7)
    # The narrow numbers are exact in float32, their products too; what is left is the rounding of 24 sums and of the result.
    np.testing.assert_allclose(np.asarray(result, np.float64), expected, rtol=float(jnp.finfo(dtype).eps), atol=24 * 2e-6)


def test_scaled_matmul_of_whole_numbers():
    result = nn.scaled_matmul(jnp.array([[[1, 2, 3]]]), jnp.array([[[4, 5, 6]]]), jnp.array([[[0.5]]]), jnp.array([[[0.5]]]))
    assert result.dtype == np.float32 and result.tolist() == [[[8.0]]]


@pytest.mark.parametrize("shapes, message", [
    ([(2, 3), (2, 3), (2, 1), (2, 1)], "3-dimensional"), ([(1, 2, 4), (1, 2, 8), (1, 2, 1), (1, 2, 1)], r"matching batch.*\(1, 2, 8\)"),
    ([(1, 2, 4), (1, 2, 4), (1, 2, 1), (1, 2, 2)], "scales to have matching batch"),
    ([(1, 2, 4), (1, 3, 4), (1, 3, 1), (1, 3, 1)], "non-contract dimensions"), ([(1, 2, 4), (1, 2, 4), (1, 2, 3), (1, 2, 3)], "3 scales"),
])
def test_scaled_matmul_checks_shapes(shapes, message):
    with pytest.raises(ValueError, match="(?s)scaled_matmul.*" + message):
        nn.scaled_matmul(*(jnp.ones(shape) for shape in shapes))


@pytest.mark.parametrize("mode", ["mxfp8", "mxfp4", "nvfp4"])
def test_scaled_dot_general_and_its_derivative(mode):
    rng = np.random.default_rng(5)
    x, y = (np.float32(rng.normal(size=shape) * np.exp(rng.normal(size=shape))) for shape in [(2, 32, 64), (2, 64, 64)])
    x[0, 0, :32] = 0  # a block without a scale of its own
    whole = 4.0 if mode == "nvfp4" else 1.0
    config = nn.get_scaled_dot_general_config(mode, jnp.array([whole], jnp.float32) if mode == "nvfp4" else None)
    f = lambda x, y: nn.scaled_dot_general(x, y, LAST, configs=[config] * 3)  # noqa: E731
    kept = [rounded(z, mode, 2, whole) for z in (x, y)]
    expected = np.einsum("bmk,bnk->bmn", *kept)
    tolerance = 1e-6 * np.einsum("bmk,bnk->bmn", *map(np.abs, kept)).max()
    for g in (f, laminax.jit(f)):
        np.testing.assert_allclose(np.asarray(g(x, y), np.float64), expected, atol=tolerance)
    ct = np.float32(rng.normal(size=(2, 32, 64)))
    x_ct, y_ct = laminax.vjp(f, x, y)[1](jnp.asarray(ct))
    if mode == "nvfp4":
        expected_cts = np.einsum("bmn,bnk->bmk", ct, y), np.einsum("bmn,bmk->bnk", ct, x)
    else:
        expected_cts = (np.einsum("bmn,bnk->bmk", rounded(ct, mode, 2), rounded(y, mode, 1)),
                        np.einsum("bmn,bmk->bnk", rounded(ct, mode, 1), rounded(x, mode, 1)))
    for actual, wanted in zip((x_ct, y_ct), expected_cts):
        np.testing.assert_allclose(np.asarray(actual, np.float64), wanted, atol=1e-5 * np.abs(wanted).max())


def test_scaled_dot_general_of_many_axes():
    rng = np.random.default_rng(6)
    x, y = rng.integers(-4, 5, (4, 3, 8, 5)).astype(np.float32), rng.integers(-4, 5, (8, 3, 6, 4)).astype(np.float32)  # exact in mxfp8
    numbers = (((0, 2), (3, 0)), ((1,), (1,)))
    config = nn.get_scaled_dot_general_config("mxfp8")
    result = nn.scaled_dot_general(x, y, numbers, jnp.bfloat16, [config] * 3)
    assert result.dtype == jnp.bfloat16
    expected = np.einsum("abcd,cbea->bde", x, y)
    np.testing.assert_array_equal(np.asarray(result, np.float32), expected.astype(ml_dtypes.bfloat16).astype(np.float32))
    np.testing.assert_array_equal(nn.scaled_dot_general(x, y, numbers), expected)  # without configs nothing is quantised
    mixed = [nn.get_scaled_dot_general_config("nvfp4"), config, config]
    np.testing.assert_allclose(nn.scaled_dot_general(x, y, numbers, configs=mixed), expected, atol=0.2 * np.abs(expected).max())


def test_what_nvfp4_cannot_hold_gets_no_cotangent():
    config = nn.get_scaled_dot_general_config("nvfp4")
    x = jnp.ones((1, 1, 16)).at[0, 0, 3].set(6 * 448 * 2.0)
    gradient = laminax.grad(lambda x: nn.scaled_dot_general(x, jnp.ones((1, 16, 16)), LAST, configs=[config] * 3).sum())(x)
    assert gradient[0, 0, 3] == 0 and gradient[0, 0, 4] == 16


def test_bad_arguments_are_explained():
    config = nn.get_scaled_dot_general_config("mxfp8")
    with pytest.raises(ValueError, match="Unsupported mode: 'fp3'.*'mxfp8'"):
        nn.get_scaled_dot_general_config("fp3")
    with pytest.raises(ValueError, match="mxfp4 does not use a global_scale"):
        nn.get_scaled_dot_general_config("mxfp4", jnp.ones(1))
    x = jnp.ones((1, 2, 48))
    with pytest.raises(ValueError, match="blocks of 32 along what is contracted, which has 48 elements.*Pad it"):
        nn.scaled_dot_general(x, x, LAST, configs=[config] * 3)
    with pytest.raises(ValueError, match="configs must be three.*got 2"):
        nn.scaled_dot_general(x, x, LAST, configs=[config] * 2)
    with pytest.raises(TypeError, match="Only support preferred_element_type.*got int32"):
        nn.scaled_dot_general(x, x, LAST, jnp.int32, [config] * 3)
    with pytest.warns(DeprecationWarning, match="implementation='cudnn' is ignored"):
        nn.scaled_dot_general(x, x, LAST, implementation="cudnn")
