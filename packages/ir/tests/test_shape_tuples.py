"""Shapes computed from shapes alone, against those of the operations themselves."""

import itertools

import numpy as np
import pytest

from laminax_ir.ops import convolution, elementwise
from laminax_ir.ops import shape_tuples as op
from laminax_ir.ops.windows import reduce_window
from laminax_ir.recording.staging import stage
from laminax_ir.types.avals import ShapedArray
from laminax_ir.types.errors import ShapeError


def shape_of(fun, *shapes):
    return stage(lambda *xs: [fun(*xs)], [ShapedArray(shape, np.float32) for shape in shapes]).out_avals[0].shape


def test_permutations_find_the_letters():
    assert op.conv_general_permutations(("NCHW", "OIHW", "NHWC")) == ((0, 1, 2, 3), (0, 1, 2, 3), (0, 3, 1, 2))
    assert op.conv_general_permutations(("CN", "IO", "NC")) == ((1, 0), (1, 0), (0, 1))
    assert op.conv_general_permutations(("NHWC", "WHIO", "NCHW")) == ((0, 3, 2, 1), (3, 2, 0, 1), (0, 1, 3, 2))


@pytest.mark.parametrize("lhs, rhs, strides, padding, groups", [
    ((1, 3, 8, 8), (4, 3, 3, 3), (2, 2), "SAME", 1), ((1, 3, 8, 9), (4, 3, 3, 2), (2, 3), [(0, 0), (1, 2)], 1),
    ((4, 3, 8, 8), (4, 3, 3, 3), (2, 2), "VALID", 2), ((4, 3, 2, 8), (4, 3, 3, 3), (1, 1), "SAME_LOWER", 1),
    ((4, 3, 2, 8), (4, 3, 3, 3), (1, 1), "VALID", 1), ((2, 3), (5, 3), (), "SAME", 1)])
def test_conv_shape_tuple(lhs, rhs, strides, padding, groups):
    conv = lambda x, k: convolution.conv_general_dilated(x, k, strides, padding, batch_group_count=groups)
    assert op.conv_shape_tuple(lhs, rhs, strides, padding, groups) == shape_of(conv, lhs, rhs)


@pytest.mark.parametrize("numbers", [("NHWC", "HWIO", "NHWC"), ("CHWN", "OWHI", "WNCH"), ("NCHW", "OIHW", "NHWC")])
@pytest.mark.parametrize("padding", ["SAME", "VALID", [(1, 0), (2, 2)]])
def test_axes_in_any_order(numbers, padding):
    sizes = {"N": 2, "C": 3, "I": 3, "O": 5}
    lhs = tuple(sizes.get(letter, 9) for letter in numbers[0])
    rhs = tuple(sizes.get(letter, {"H": 3, "W": 2}.get(letter)) for letter in numbers[1])
    for strides in itertools.product((1, 2, 4), repeat=2):
        conv = lambda x, k: convolution.conv_general_dilated(x, k, strides, padding, dimension_numbers=numbers)
        assert op.conv_general_shape_tuple(lhs, rhs, strides, padding, numbers) == shape_of(conv, lhs, rhs)
        transposed = lambda x, k: convolution.conv_transpose(x, k, strides, padding, dimension_numbers=numbers)
        assert op.conv_transpose_shape_tuple(lhs, rhs, strides, padding, numbers) == shape_of(transposed, lhs, rhs)


@pytest.mark.parametrize("dilations", [(), ((2, 1),), ((2, 1), (1, 3))])
def test_reduce_window_shape_tuple(dilations):
    shape, window, strides, padding = (8, 9), (3, 2), (2, 1), ((1, 0), (0, 2))
    pooled = lambda x: reduce_window(x, np.float32(0), elementwise.add, window, strides, padding, *dilations)
    assert op.reduce_window_shape_tuple(shape, window, strides, padding, *dilations) == shape_of(pooled, shape)


@pytest.mark.parametrize("call, error, message", [
    (lambda: op.conv_general_permutations(None), TypeError, "three strings such as"),
    (lambda: op.conv_general_permutations(("NCHW", "OIHW", "NHXC")), TypeError, "same spatial letters"),
    (lambda: op.conv_general_permutations(("ABCD", "OIHW", "NCHW")), TypeError, "with N and C among them"),
    (lambda: op.conv_shape_tuple((4, 3, 8, 8), (4, 3, 3), (2, 2), "VALID"), ShapeError, "same number of sizes"),
    (lambda: op.conv_shape_tuple((4, 3, 8, 8), (4, 3, 3, 3), (2,), "VALID"), ShapeError, "one entry per spatial axis"),
    (lambda: op.conv_shape_tuple((4, 3, 8, 8), (4, 3, 3, 3), (2, 2), "FULL"), ValueError, "got 'FULL'"),
    (lambda: op.conv_shape_tuple((4, 3, 8, 8), (4, 3, 3, 3), (2, 2), "SAME", 3), ValueError, "divide the batch size"),
    (lambda: op.conv_general_shape_tuple((1, 3, 8), (4, 3, 3, 3), (2, 2), "SAME", ("NCHW", "OIHW", "NCHW")), ShapeError, "as many sizes"),
    (lambda: op.conv_transpose_shape_tuple((1, 3, 8), (4, 3, 3), (2,), "FULL", ("NCH", "OIH", "NCH")), ValueError, "'FULL'"),
    (lambda: op.reduce_window_shape_tuple((8,), (3, 3), (2, 2), ((0, 0),)), ShapeError, "one entry per axis"),
    (lambda: op.reduce_window_shape_tuple((8,), (3,), (2,), "SAME"), ValueError, "got 'SAME'"),
])
def test_malformed_shapes(call, error, message):
    with pytest.raises(error, match=message):
        call()
