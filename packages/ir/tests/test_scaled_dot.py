"""Block-scaled products against NumPy's on scaled operands."""

import ml_dtypes
import numpy as np
import pytest

from laminax_ir.ops.scaled_dot import scaled_dot, scaled_product
from laminax_ir.types.errors import DTypeError, ShapeError

F8, E8, F32 = ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e8m0fnu, np.float32


def operands(*shapes, dtype=F8):
    rng = np.random.default_rng(0)
    return [rng.normal(size=shape).astype(dtype) for shape in shapes]


def scales(*shapes):
    rng = np.random.default_rng(1)
    return [(2.0 ** rng.integers(-2, 3, shape)).astype(E8) for shape in shapes]


def test_each_block_has_its_factor():
    x, y = operands((2, 4, 8), (2, 8, 3))
    sx, sy = scales((2, 4, 2), (2, 4, 3))
    wide_x, wide_y = x.astype(F32) * np.repeat(sx.astype(F32), 4, 2), y.astype(F32) * np.repeat(sy.astype(F32), 2, 1)
    for result in (scaled_dot(x, y, lhs_scale=sx, rhs_scale=sy, preferred_element_type=F32),
                   scaled_product(x, y, sx, sy, dimension_numbers=(((2,), (1,)), ((0,), (0,))), preferred_element_type=np.dtype(F32))):
        assert result.dtype == F32
        np.testing.assert_allclose(result, wide_x @ wide_y, rtol=1e-6)
    np.testing.assert_allclose(scaled_dot(x[0], y[0], lhs_scale=sx[0], preferred_element_type=F32), wide_x[0] @ y[0].astype(F32), rtol=1e-6)


def test_defaults_and_other_axes():
    x, y = operands((3, 4), (4, 5))
    result = scaled_dot(x, y)
    assert result.dtype == ml_dtypes.bfloat16
    np.testing.assert_allclose(result.astype(F32), x.astype(F32) @ y.astype(F32), rtol=2**-7)
    (scale,) = scales((5, 4))
    by_rows = scaled_dot(x, y.T, rhs_scale=scale, dimension_numbers=(((1,), (1,)), ((), ())), preferred_element_type=F32)
    np.testing.assert_allclose(by_rows, x.astype(F32) @ (y.astype(F32) * scale.T.astype(F32)), rtol=1e-6)


X, Y = operands((2, 4, 8), (2, 8, 3))


@pytest.mark.parametrize("call, error, message", [
    (lambda: scaled_dot(X, Y, lhs_scale=scales((2, 4, 3))[0]), ShapeError,
     r"contracted axis 2 of lhs must be a multiple.*f8_e8m0fnu\[2,4,3\]"),
    (lambda: scaled_dot(X, Y, lhs_scale=scales((2, 1, 2))[0]), ShapeError, "axis 1 of lhs, which is not contracted"),
    (lambda: scaled_dot(X, Y, rhs_scale=scales((8, 3))[0]), ShapeError, "rhs and its scale must have the same number of axes"),
    (lambda: scaled_dot(X, Y[:, :7]), ShapeError,
     r"scaled_dot requires contracting dimensions to have the same shape, got \(8,\) and \(7,\)"),
    (lambda: scaled_dot(X[0, 0], Y[0]), ValueError, "dimension_numbers must be given"),
    (lambda: scaled_dot(X.astype(np.int8), Y), DTypeError, "must be floating"),
])
def test_malformed_calls(call, error, message):
    with pytest.raises(error, match=message):
        call()
