"""Special functions compiled and run by XLA, against their NumPy meaning."""

import math

import numpy as np
import pytest
import scipy.special
from ml_dtypes import bfloat16
from stablehlo_runner import check, run

from laminax_ir.ops import special as op
from laminax_ir.options import config
from laminax_ir.recording.staging import stage
from laminax_ir.types.avals import get_aval

ONE = [(op.erf, -5, 5), (op.erfc, -5, 8), (op.erf_inv, -0.999, 0.999), (op.lgamma, -3.3, 30), (op.digamma, 0.1, 30),
       (op.bessel_i0e, -40, 40), (op.bessel_i1e, -40, 40)]
# small, middle and large a; both forms; the border of the domain and beyond it
GAMMA = ([[0.2, 1.0, 5.0, 40.0, 0.5, 2.0, 3.0, 2.0, 0.0, -1.0, 1.0]], [[0.1, 2.0, 9.0, 35.0, 20.0, 1.5, 3.0, 0.0, 1.0, 1.0, -1.0]])
MORE = [(op.polygamma, [[1.0, 2.0, 3.0, 5.0]], [[0.3, 2.0, 7.5, 30.0]]), (op.zeta, [[1.5, 2.0, 3.0, 8.0]], [[0.3, 2.0, 7.5, 30.0]]),
        (op.igamma, *GAMMA), (op.igammac, *GAMMA), (op.igamma_grad_a, *GAMMA), (op.random_gamma_grad, *GAMMA),
        (op.betainc, [[0.3, 2.0, 9.0, 1.0, 0.0, 2.0, -1.0]], [[1.5, 0.4, 30.0, 1.0, 1.0, 0.0, 1.0]],
         [[0.2, 0.8, 0.3, 1.0, 0.5, 0.5, 0.5]])]
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


@pytest.mark.parametrize("dtype, digits", [(np.float32, 4e-6), (np.float64, 2e-10)])
def test_incomplete_gamma_functions_of_small_a(dtype, digits):
    """1 - P had no digit left for a = 1e-6, nor had the difference of two numbers of the size 1/a that made dP/da.

    SciPy's upper function is right to the last digits there; P is 1 - a E1(x) + O(a**2), so that differences by a are taken of Q.
    """
    a, x = (v.ravel() for v in np.meshgrid(dtype([1e-12, 1e-6, 1e-3, 0.1, 0.24, 0.26]), dtype([1e-6, 0.1, 0.5, 1.0, 1.1])))
    wide, wide_x = a.astype(np.float64), x.astype(np.float64)
    step = 1e-4 * wide
    upper = scipy.special.gammaincc(wide, wide_x)
    ratios = [scipy.special.gammaincc(wide + k * step, wide_x) for k in (-2, -1, 1, 2)]
    slope = -(ratios[0] - 8 * ratios[1] + 8 * ratios[2] - ratios[3]) / (12 * step)
    density = np.exp((wide - 1) * np.log(wide_x) - wide_x - scipy.special.gammaln(wide))
    with config.enable_x64(True):
        for function, expected in [(op.igammac, upper), (op.igamma_grad_a, slope), (op.random_gamma_grad, -slope / density)]:
            (found,) = run(stage(lambda a, x, function=function: [function(a, x)], [get_aval(a), get_aval(x)]), a, x)
            assert found.dtype == dtype
            np.testing.assert_allclose(found, expected, rtol=digits)


@pytest.mark.parametrize("dtype, eps", [(np.float16, 2**-10), (bfloat16, 2**-7)])
@pytest.mark.parametrize("function, low, high", [ONE[0], ONE[2], ONE[5]], ids=["erf", "erf_inv", "bessel_i0e"])
def test_narrow_floats(function, low, high, dtype, eps):
    check(lambda x: [function(x)], np.linspace(low + 0.05, high - 0.05, 11).astype(dtype), rtol=4 * eps, atol=eps)


def test_lgamma_of_single_precision_has_all_digits():
    """Near its zeros too, of which 1 and 2 give the factorials of 0 and 1; an eighth of a unit is the rounding of the float64 beside it."""
    x = np.float32([1, 2, 3, 6, 0.1, 0.999999, 1.0000001, 1.3, 1.9999999, 2.0000002, 2.5, 17.5, 40, -1.5, -2.4570248, -0.3, 1e-30, 1e30])
    expected = np.array([math.lgamma(float(v)) for v in x])
    (found,) = run(stage(lambda x: [op.lgamma(x)], [get_aval(x)]), x)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, rtol=0.625 * np.finfo(np.float32).eps, atol=1e-14)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_incomplete_gamma_functions_of_numbers_whose_square_overflows(dtype):
    """The numerators of the continued fraction were infinite there, and the result NaN."""
    x = np.array([1e10, 1e30, 3e38] if dtype == np.float32 else [1e76, 1e100, 1e308], dtype)
    a = np.array([0.01, 2.0, 100.0], dtype)
    with config.enable_x64(True):
        for function, expected in [(op.igamma, 1), (op.igammac, 0), (op.igamma_grad_a, 0)]:
            (found,) = run(stage(lambda a, x, function=function: [function(a, x)], [get_aval(a), get_aval(x)]), a, x)
            np.testing.assert_array_equal(found, np.full(3, expected))
