"""Elementwise operations whose StableHLO is more than one operation, against their NumPy meaning."""

import numpy as np
import pytest
from stablehlo_runner import check

from laminax_ir.ops import elementwise as op
from laminax_ir.options import config


@pytest.mark.parametrize("dtype, eps", [("complex64", 2**-23), ("complex128", 2**-52)])
@pytest.mark.parametrize("function", [op.sin, op.cos])
def test_parts_of_trigonometric_functions_keep_their_accuracy(function, dtype, eps):
    """XLA's complex sine loses an imaginary part as small as this to cancellation, and gives NaN where sinh overflows."""
    parts = np.array([0.0, -0.0, 1e-30, -1e-9, 0.3, -2.0, 7.0, 1000.0, -1000.0])
    x = (parts[:, None] + 1j * parts[:7]).astype(dtype)
    with config.enable_x64(True):
        check(lambda x: [op.real(function(x)), op.imag(function(x))], x, rtol=8 * eps, atol=np.finfo(dtype).tiny)


def test_trigonometric_functions_on_the_imaginary_axis():
    x = np.array([1000j, -1000j], np.complex64)
    check(lambda x: [op.sin(x), op.cos(x)], x)  # infinities, beside which there is a zero and no NaN


@pytest.mark.parametrize("dtype", ["int8", "uint32", "int4"])
def test_select_n_by_integers_of_other_types(dtype):
    cases = [np.arange(5, dtype=np.float32) + 10 * i for i in range(3)]
    check(lambda which, *cases: [op.select_n(which, *cases), op.select(which, cases[1], cases[0])], np.array([0, 1, 2, 3, 7]).astype(dtype),
          *cases)
