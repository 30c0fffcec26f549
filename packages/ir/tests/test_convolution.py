"""Convolutions against NumPy's one-dimensional ones and by the adjoint; the forms of their arguments, and what is refused."""

import numpy as np
import pytest

from laminax_ir.ops import convolution
from laminax_ir.ops.convolution import ConvDimensionNumbers, conv_dimension_numbers
from laminax_ir.recording.staging import stage
from laminax_ir.types.avals import ShapedArray
from laminax_ir.types.errors import DTypeError, ShapeError

f32 = np.float32
conv = convolution.conv_general_dilated


@pytest.mark.parametrize("mode, pad", [("valid", (0, 0)), ("full", (2, 2)), ("same", (1, 1))])
def test_one_axis_is_numpy_correlate(mode, pad):
    rng = np.random.default_rng(0)
    x, k = rng.normal(size=7).astype(f32), rng.normal(size=3).astype(f32)
    result = conv(x[None, None], k[None, None], (1,), [pad])
    np.testing.assert_allclose(np.asarray(result)[0, 0], np.correlate(x, k, mode), rtol=1e-5)


def test_preferred_element_type_accumulates_wider():
    x = np.full((1, 1, 3), 100, np.int8)
    result = np.asarray(conv(x, x, (1,), "VALID", preferred_element_type=np.int32))
    assert result.dtype == np.int32 and result.item() == 30000


@pytest.mark.parametrize("size, window, stride", [(8, 3, 2), (7, 2, 2), (5, 4, 3), (3, 1, 2), (4, 5, 1)])
def test_same_padding_gives_size_over_stride_rounded_up(size, window, stride):
    x, k = np.ones((1, 1, size), f32), np.ones((1, 1, window), f32)
    for name in ("SAME", "SAME_LOWER", "same"):
        assert conv(x, k, (stride,), name).shape[2] == -(-size // stride)
        ((low, high),) = convolution.padtype_to_pads((size,), (window,), (stride,), name)
        assert 0 <= (high - low if name != "SAME_LOWER" else low - high) <= 1


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("stride, window", [(1, 3), (2, 3), (3, 2), (2, 4)])
def test_conv_transpose_is_the_adjoint_of_a_convolution(padding, stride, window):
    # <conv(x, k), y> == <x, conv_transpose(y, k)> with the flipped kernel, as its documentation promises.
    rng = np.random.default_rng(0)
    y, k = rng.normal(size=(1, 4, 3)).astype(f32), rng.normal(size=(window, 2, 3)).astype(f32)
    back = np.asarray(convolution.conv_transpose(y, k, (stride,), padding, transpose_kernel=True))
    x = rng.normal(size=back.shape).astype(f32)
    forward = conv(x, k, (stride,), padding, dimension_numbers=("NHC", "HIO", "NHC"))
    assert forward.shape == y.shape
    np.testing.assert_allclose(np.vdot(forward, y), np.vdot(x, back), rtol=1e-4)


def test_conv_transpose_with_the_padding_of_the_forward_convolution():
    rng = np.random.default_rng(0)
    x, k = rng.normal(size=(1, 7, 2)).astype(f32), rng.normal(size=(3, 2, 3)).astype(f32)
    forward = np.asarray(conv(x, k, (2,), [(1, 1)], dimension_numbers=("NHC", "HIO", "NHC")))
    y = rng.normal(size=forward.shape).astype(f32)
    back = convolution.conv_transpose(y, k, (2,), [(1, 1)], transpose_kernel=True, use_consistent_padding=True)
    np.testing.assert_allclose(np.vdot(forward, y), np.vdot(x, back), rtol=1e-4)


def test_patches_times_kernel_is_the_convolution():
    rng = np.random.default_rng(0)
    x, k = rng.normal(size=(2, 3, 6, 5)).astype(f32), rng.normal(size=(4, 3, 2, 3)).astype(f32)
    patches = np.asarray(convolution.conv_general_dilated_patches(x, (2, 3), (2, 1), "SAME"))
    expected = conv(x, k, (2, 1), "SAME")
    np.testing.assert_allclose(np.einsum("nphw,op->nohw", patches, k.reshape(4, -1)), expected, rtol=1e-4, atol=1e-5)


def test_local_convolution_with_equal_kernels_is_a_convolution():
    rng = np.random.default_rng(0)
    x, k = rng.normal(size=(2, 6, 5, 3)).astype(f32), rng.normal(size=(2, 3, 3, 4)).astype(f32)  # NHWC, HWIO
    letters = ("NHWC", "HWIO", "CWHN")
    expected = np.asarray(conv(x, k, (1, 1), "VALID", dimension_numbers=letters))
    flat = k.transpose(2, 0, 1, 3).reshape(-1, 4)
    kernels = np.broadcast_to(flat, (expected.shape[2], expected.shape[1], *flat.shape)).copy()
    result = convolution.conv_general_dilated_local(x, kernels, (1, 1), "VALID", (2, 3), dimension_numbers=letters)
    np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-5)


def test_dimension_numbers_from_letters():
    assert conv_dimension_numbers((1, 8, 8, 2), (3, 3, 2, 5), ("NHWC", "HWIO", "NCWH")) == ((0, 3, 1, 2), (3, 2, 0, 1), (0, 1, 3, 2))
    assert conv_dimension_numbers((1, 2, 8), (3, 2, 5), None) == ((0, 1, 2),) * 3


def test_printed_form_and_shape():
    jaxpr = stage(lambda x, k: [convolution.conv(x, k, (1, 1), "SAME")], [ShapedArray((1, 2, 8, 8), f32), ShapedArray((3, 2, 3, 3), f32)])
    (eqn,) = jaxpr.eqns
    assert jaxpr.out_avals == [ShapedArray((1, 3, 8, 8), f32)]
    assert sorted(eqn.params) == ["batch_group_count", "dimension_numbers", "feature_group_count", "lhs_dilation", "out_sharding",
                                  "padding", "precision", "preferred_element_type", "rhs_dilation", "window_strides"]
    assert "padding=((1, 1), (1, 1))" in str(jaxpr) and "lhs_spec=(0, 1, 2, 3)" in str(jaxpr)


x, k = np.ones((1, 4, 8, 8), f32), np.ones((6, 4, 3, 3), f32)


@pytest.mark.parametrize("call, error, words", [
    (lambda: conv(x, k, (1,), "SAME"), ValueError, "must have the same number of dimensions, got 2 spatial axes and window_strides=(1,)"),
    (lambda: conv(x, k, (0, 1), "SAME"), ShapeError, "window_strides must have every element be strictly positive"),
    (lambda: conv(x, k, (1, 1), "FOO"), ValueError, "'FOO'"),
    (lambda: conv(x, k, (1, 1), [(0, 0)]), ShapeError, "expected 2, got 1"),
    (lambda: conv(x, k, (1, 1), [0, 0]), ValueError, "pairs of integers"),
    (lambda: conv(x, k, (1, 1), "SAME", rhs_dilation=(0, 1)), ShapeError, "rhs_dilation must have every element be strictly positive"),
    (lambda: conv(x, k, (1, 1), "SAME", rhs_dilation=(1,)), ShapeError, "rhs_dilation"),
    (lambda: conv(x, k, (1, 1), "SAME", lhs_dilation=(2, 2)), ValueError, "conv_transpose"),
    (lambda: conv(x, k, (1, 1), [(-9, -9), (0, 0)]), ValueError, "negative padding (-9, -9)"),
    (lambda: conv(x, k[:, :3], (1, 1), "SAME"), ValueError, "4 // 1 != 3"),
    (lambda: conv(x, k, (1, 1), "SAME", feature_group_count=3), ValueError, "3 does not divide 4"),
    (lambda: conv(x, k[:5, :2], (1, 1), "SAME", feature_group_count=2), ValueError, "5 is not a multiple of 2"),
    (lambda: conv(x, k, (1, 1), "SAME", feature_group_count=0), ValueError, "positive integer, got 0"),
    (lambda: conv(x, k, (1, 1), "SAME", batch_group_count=2), ValueError, "2 does not divide 1"),
    (lambda: conv(x, k, (1, 1), "SAME", batch_group_count=2, feature_group_count=2), ValueError, "at most one"),
    (lambda: conv(x, k, (1, 1), "SAME", dimension_numbers=("NCHW", "OIHW", "NHHC")), ShapeError, "'NHHC'"),
    (lambda: conv(x, k, (1, 1), "SAME", dimension_numbers=("NCHW", "OIHX", "NCHW")), ShapeError, "same spatial letters"),
    (lambda: conv(x, k, (1, 1), "SAME", dimension_numbers=("NCHW", "OIHW")), TypeError, "three strings"),
    (lambda: conv(x, k, (1, 1), "SAME", dimension_numbers=ConvDimensionNumbers((0, 1, 2, 2), (0, 1, 2, 3), (0, 1, 2, 3))),
     ShapeError, "permutation"),
    (lambda: conv(x, k[0], (1, 1), "SAME"), ShapeError, "same number of axes"),
    (lambda: conv(x[0, 0, 0], k[0, 0, 0], (), []), ShapeError, "f32[8]"),
    (lambda: conv(x, k.astype(np.int32), (1, 1), "SAME"), DTypeError, "float32, int32"),
    (lambda: conv(x.astype(np.int32), k.astype(np.int32), (1, 1), "SAME", preferred_element_type=np.int8), DTypeError, "narrower"),
    (lambda: conv(x, k, (1, 1), "SAME", out_sharding="x"), TypeError, "out_sharding must be a PartitionSpec"),
    (lambda: conv(x, k, (1, 1), "SAME", precision="exact"), ValueError, "precision"),
    (lambda: convolution.conv_transpose(x, k, (1, 1), "FULL"), ValueError, "'FULL'"),
    (lambda: convolution.conv_transpose(x, k, (1, 0), "SAME"), ShapeError, "strides must have every element be strictly positive"),
    (lambda: convolution.conv_general_dilated_patches(x, (2,), (1, 1), "SAME"), ShapeError, "filter_shape"),
])
def test_malformed_calls(call, error, words):
    with pytest.raises(error) as info:
        call()
    assert words in str(info.value)
