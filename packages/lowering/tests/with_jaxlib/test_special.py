"""Special functions compiled and run by XLA, against their NumPy meaning."""

import numpy as np
import pytest
from stablehlo_runner import check

from laminax_ir import config
from laminax_ir.ops import special as op

ONE = [(op.erf, -5, 5), (op.erfc, -5, 8), (op.erf_inv, -0.999, 0.999), (op.lgamma, -3.3, 30), (op.digamma, 0.1, 30),
       (op.bessel_i1e, -40, 40)]
MORE = [(op.polygamma, [[1.0, 2.0, 3.0, 5.0]], [[0.3, 2.0, 7.5, 30.0]]), (op.zeta, [[1.5, 2.0, 3.0, 8.0]], [[0.3, 2.0, 7.5, 30.0]])]
TOLERANCE = {"float32": 1e-4, "float64": 1e-10}  # XLA's polynomials, and series cut off at the dtype's precision


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("function, low, high", ONE, ids=[c[0].__name__ for c in ONE])
def test_one_operand(function, low, high, dtype):
    with config.enable_x64(True):
        check(lambda x: [function(x)], np.linspace(low, high, 23, dtype=dtype), rtol=TOLERANCE[dtype] / 10, atol=2e-6 if
              dtype == "float32" else 1e-14)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("function, operands", [(c[0], c[1:]) for c in MORE], ids=[c[0].__name__ for c in MORE])
def test_more_operands(function, operands, dtype):
    with config.enable_x64(True):
        check(lambda *xs: [function(*xs)], *[np.array(x, dtype) for x in operands], rtol=TOLERANCE[dtype], atol=1e-12)


NARROW = ["float16", "bfloat16"]


@pytest.mark.parametrize("dtype", NARROW)
@pytest.mark.parametrize("function, low, high", ONE, ids=[c[0].__name__ for c in ONE])
def test_narrow_floats(function, low, high, dtype):
    from ml_dtypes import bfloat16
    kind = np.float16 if dtype == "float16" else bfloat16
    eps = 2**-10 if dtype == "float16" else 2**-7
    check(lambda x: [function(x)], np.linspace(low + 0.05, high - 0.05, 11).astype(kind), rtol=4 * eps, atol=eps)
