"""Special functions against SciPy, closed forms and published values."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from laminax_ir.functions.special_programs import special_program
from laminax_ir.ops import special as op
from laminax_ir.options import config
from laminax_ir.recording.staging import stage
from laminax_ir.reference.evaluate import evaluate
from laminax_ir.types.avals import ShapedArray

scipy_special = pytest.importorskip("scipy.special")
f64 = np.float64

# function, the oracle, and the range its operands are drawn from
ONE_OPERAND = [
    (op.erf, scipy_special.erf, (-6, 6)),
    (op.erfc, scipy_special.erfc, (-6, 25)),
    (op.erf_inv, scipy_special.erfinv, (-1, 1)),
    (op.lgamma, scipy_special.gammaln, (0, 1e3)),
    (op.digamma, scipy_special.digamma, (1e-3, 1e6)),
    (op.bessel_i0e, scipy_special.i0e, (-1e3, 1e3)),
    (op.bessel_i1e, scipy_special.i1e, (-1e3, 1e3)),
]
MORE_OPERANDS = [
    (op.zeta, scipy_special.zeta, [(1.05, 30), (0.01, 50)]),
    (op.igamma, scipy_special.gammainc, [(0.01, 50), (0, 80)]),
    (op.igammac, scipy_special.gammaincc, [(0.01, 50), (0, 80)]),
    (op.betainc, scipy_special.betainc, [(0.1, 20), (0.1, 20), (0, 1)]),
]


def arrays(low: float, high: float, shape, dtype=f64):
    return hnp.arrays(dtype, shape, elements=st.floats(low, high, width=8 * np.dtype(dtype).itemsize))


shapes = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)


@pytest.mark.parametrize("function, oracle, bounds", ONE_OPERAND, ids=lambda x: getattr(x, "__name__", None))
@settings(derandomize=True, deadline=None, max_examples=20)
@given(st.data())
def test_one_operand(function, oracle, bounds, data):
    x = data.draw(arrays(*bounds, data.draw(shapes)))
    with config.enable_x64(True):
        # Both sum different series in float64: a few hundred ulp between them; digamma has a zero at 1.46.
        np.testing.assert_allclose(function(x), oracle(x), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("function, oracle, bounds", MORE_OPERANDS, ids=lambda x: getattr(x, "__name__", None))
@settings(derandomize=True, deadline=None, max_examples=20)
@given(st.data())
def test_more_operands(function, oracle, bounds, data):
    shape = data.draw(shapes)
    operands = [data.draw(arrays(*b, shape)) for b in bounds]
    with config.enable_x64(True):
        np.testing.assert_allclose(function(*operands), oracle(*operands), rtol=1e-12, atol=1e-300)


@settings(derandomize=True, deadline=None, max_examples=20)
@given(st.integers(0, 6), arrays(0.05, 40, (5,)))
def test_polygamma(order, x):
    with config.enable_x64(True):
        np.testing.assert_allclose(op.polygamma(f64(order), x), scipy_special.polygamma(order, x), rtol=1e-11)


def test_igamma_grad_a_at_one():
    # Gamma(a, x) has the derivative exp(-x) log(x) + E1(x) in a at a = 1, and digamma(1) is minus Euler's constant.
    x = np.array([0.1, 0.5, 1.0, 2.0, 5.0, 12.0])
    expected = np.exp(-x) * (scipy_special.digamma(1) - np.log(x)) - scipy_special.exp1(x)
    with config.enable_x64(True):
        np.testing.assert_allclose(op.igamma_grad_a(f64(1), x), expected, rtol=1e-10)


def test_random_gamma_grad_is_the_derivative_of_the_quantile():
    a, p, h = np.array([0.3, 1.0, 2.5, 20.0]), np.array([0.1, 0.5, 0.9, 0.4]), 1e-5
    x = scipy_special.gammaincinv(a, p)
    expected = (scipy_special.gammaincinv(a + h, p) - scipy_special.gammaincinv(a - h, p)) / (2 * h)
    with config.enable_x64(True):
        np.testing.assert_allclose(op.random_gamma_grad(a, x), expected, rtol=1e-7)  # the quotient's own error


inf, nan = np.inf, np.nan
SPECIAL_VALUES = [
    (op.erf, [([0.0], 0), ([inf], 1), ([-inf], -1), ([nan], nan)]),
    (op.erfc, [([inf], 0), ([-inf], 2), ([0.0], 1)]),
    (op.erf_inv, [([1.0], inf), ([-1.0], -inf), ([1.1], nan), ([0.0], 0), ([nan], nan)]),
    (op.lgamma, [([0.0], inf), ([-1.0], inf), ([-inf], inf), ([inf], inf), ([nan], nan), ([1.0], 0)]),
    (op.digamma, [([0.0], nan), ([-1.0], nan), ([inf], inf), ([-inf], nan), ([nan], nan), ([1.0], -0.5772156649015329)]),
    (op.zeta, [([1.0, 2.0], inf), ([0.5, 2.0], nan), ([2.0, -1.0], inf), ([3.0, 0.0], nan), ([2.5, -1.5], nan),
               ([2.0, 1.0], np.pi**2 / 6), ([2.0, -1.5], np.pi**2 / 2 + 4 + 4 / 9)]),
    (op.polygamma, [([1.5, 1.0], nan), ([-1.0, 1.0], nan), ([1.0, 0.0], inf), ([1.0, 1.0], np.pi**2 / 6)]),
    (op.igamma, [([0.0, 0.0], nan), ([0.0, 1.0], 1), ([1.0, 0.0], 0), ([-1.0, 1.0], nan), ([1.0, -1.0], nan),
                 ([1.0, inf], 1), ([nan, 1.0], nan)]),
    (op.igammac, [([0.0, 1.0], 0), ([1.0, 0.0], 1), ([1.0, inf], 0), ([inf, 1.0], 1), ([-1.0, 1.0], nan)]),
    (op.igamma, [([inf, 1.0], 0), ([inf, inf], nan)]),
    *[(function, [([0.01, 1e300], value), ([2.0, 1e90], value), ([100.0, 1e200], value)])
      for function, value in ((op.igamma, 1), (op.igammac, 0), (op.igamma_grad_a, 0))],
    (op.betainc, [([1.0, 0.0, 0.0], 0), ([1.0, 0.0, 1.0], 1), ([inf, 2.0, 0.5], 0), ([2.0, inf, 0.5], 1), ([0.0, 0.0, 0.5], nan),
                  ([inf, inf, 0.5], nan), ([0.0, inf, 1.0], 1)]),
    (op.betainc, [([1.0, 1.0, 0.0], 0), ([1.0, 1.0, 1.0], 1), ([1.0, 1.0, 1.5], nan), ([-1.0, 1.0, 0.5], nan)]),
    (op.bessel_i0e, [([0.0], 1), ([inf], 0)]),
    (op.bessel_i1e, [([0.0], 0)]),
]


@pytest.mark.parametrize("function, operands, expected",
                         [(f, x, y) for f, cases in SPECIAL_VALUES for x, y in cases])
def test_special_values(function, operands, expected):
    with config.enable_x64(True):
        np.testing.assert_allclose(function(*map(f64, operands)), expected, rtol=1e-13)


def test_reflection_of_lgamma_and_digamma():
    x = np.array([-0.3, -2.7, 0.2, -10.5])
    with config.enable_x64(True):
        np.testing.assert_allclose(op.lgamma(x) + op.lgamma(1 - x), np.log(np.pi / np.abs(np.sin(np.pi * x))), rtol=1e-12)
        np.testing.assert_allclose(op.digamma(1 - x) - op.digamma(x), np.pi / np.tan(np.pi * x), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32])
def test_dtypes_are_kept(dtype):
    x = np.array([0.25, 0.5], dtype)
    with config.enable_x64(True):
        for function, oracle, _ in ONE_OPERAND:
            result = function(x)
            assert result.dtype == dtype
            np.testing.assert_array_equal(result, oracle(x.astype(f64)).astype(dtype))


def test_scalars_take_the_dtype_of_the_array():
    closed = stage(lambda x: [op.igamma(2, x), op.polygamma(1, x)], [ShapedArray((3,), np.float32)])
    assert [aval.str_short() for aval in closed.out_avals] == ["f32[3]", "f32[3]"]
    assert str(closed).count("2.0:f32[]") == 1


PROGRAMS = [
    (op.bessel_i0e_p, [(-50, 50)]), (op.igamma_p, [(0.05, 40), (0, 60)]), (op.igammac_p, [(0.05, 40), (0, 60)]),
    (op.igamma_grad_a_p, [(0.05, 40), (0.01, 60)]), (op.random_gamma_grad_p, [(0.05, 40), (0.01, 60)]),
    (op.regularized_incomplete_beta_p, [(0.1, 20), (0.1, 20), (0, 1)]),
]


@pytest.mark.parametrize("primitive, bounds", PROGRAMS, ids=[str(case[0]) for case in PROGRAMS])
def test_programs_agree_with_the_reference(primitive, bounds):
    rng = np.random.default_rng(0)
    operands = [rng.uniform(*b, size=40) for b in bounds]
    with config.enable_x64(True):
        program = special_program(primitive, ShapedArray((40,), f64))
        # Powers of x and a up to 40 lose two digits; the reference of the derivatives is a difference quotient.
        np.testing.assert_allclose(evaluate(program, *operands)[0], primitive.bind(*operands), rtol=1e-8, atol=1e-13)


@pytest.mark.parametrize("call, message", [
    (lambda: op.erf(np.int32(1)), "erf does not accept dtype int32"),
    (lambda: op.lgamma(np.complex64(1)), "lgamma does not accept dtype complex64"),
    (lambda: op.igamma(np.float32(1), np.float16(1)), "igamma requires arguments to have the same dtypes"),
    (lambda: op.zeta(np.zeros(2, np.float32), np.zeros(3, np.float32)), "zeta got incompatible shapes .* 2, 3"),
    (lambda: op.betainc(np.zeros(2, np.float32), 1.0, np.zeros((1, 2), np.float32)), "same number of dimensions"),
    (lambda: op.random_gamma_grad(np.float32(1), np.float32(1), dtype=np.float16), "dtype is .*float16"),
])
def test_wrong_calls(call, message):
    with pytest.raises(TypeError, match=message):
        call()
