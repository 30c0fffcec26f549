"""Stacking against NumPy."""

import numpy as np
import pytest

from laminax_ir.ops.stacking import stack, unstack
from laminax_ir.recording.staging import stage
from laminax_ir.types.avals import ShapedArray
from laminax_ir.types.errors import DTypeError, ShapeError


@pytest.mark.parametrize("shape", [(), (3,), (2, 0), (2, 3, 4)])
@pytest.mark.parametrize("dtype", ["float32", "int8", "bfloat16", "complex64", "bool"])
def test_stack_and_unstack(shape, dtype):
    rng = np.random.default_rng(0)
    arrays = [rng.integers(0, 2, size=shape).astype(dtype) for _ in range(3)]
    for axis in range(-len(shape) - 1, len(shape) + 1):
        stacked = stack(arrays, axis)
        assert stacked.dtype == dtype
        np.testing.assert_array_equal(stacked, np.stack(arrays, axis))
        pieces = unstack(stacked, axis)
        assert isinstance(pieces, tuple)
        for piece, array in zip(pieces, arrays, strict=True):
            np.testing.assert_array_equal(piece, array)


def test_programs():
    closed = stage(lambda x: [stack([x, x], -1), *unstack(x, 1)], [ShapedArray((2, 3), np.float32)])
    assert "b:f32[2,3,2] = stack[axis=2] a a" in str(closed) and "c:f32[2] d:f32[2] e:f32[2] = unstack[axis=1] a" in str(closed)
    assert stage(lambda: [stack([1, 2])], []).out_avals[0].weak_type and unstack(np.zeros((0, 2), np.float32)) == ()


@pytest.mark.parametrize("call, error, message", [
    (lambda: stack([]), ValueError, "stack: at least one operand"),
    (lambda: stack([np.zeros(3, "float32")], 2), ValueError, "stack: axis 2 is out of bounds"),
    (lambda: stack([np.zeros(3, "float32"), np.zeros(2, "float32")]), ShapeError, r"same shape, got f32\[3\], f32\[2\]"),
    (lambda: stack([np.zeros(3, "float32"), np.zeros(3, "int32")]), DTypeError, r"same dtype, got f32\[3\], i32\[3\]"),
    (lambda: unstack(np.float32(1)), ValueError, "unstack: axis 0 is out of bounds"),
    (lambda: unstack(np.zeros(3, "float32"), -2), ValueError, "axis -2"),
])
def test_malformed_calls(call, error, message):
    with pytest.raises(error, match=message):
        call()
