"""Derivatives of special functions against central differences, and vmap against a loop."""

from __future__ import annotations

import numpy as np
import pytest

from laminax_ir.ops import elementwise as ops
from laminax_ir.ops import special as op
from laminax_ir.options import config
from laminax_transforms import grad, jvp, vmap

pytest.importorskip("scipy.special")


@pytest.fixture(autouse=True)
def x64():
    with config.enable_x64(True):
        yield


# function, operands at which it is smooth, the positions that have a derivative
CASES = [
    (op.erf, [np.array([-1.3, 0.0, 0.4])], (0,)),
    (op.erfc, [np.array([-1.3, 0.0, 2.4])], (0,)),
    (op.erf_inv, [np.array([-0.9, 0.0, 0.4])], (0,)),
    (op.lgamma, [np.array([0.3, 2.5, 17.0, -1.4])], (0,)),
    (op.digamma, [np.array([0.3, 2.5, 17.0])], (0,)),
    (op.bessel_i0e, [np.array([-2.0, 0.7, 9.0])], (0,)),
    (op.bessel_i1e, [np.array([-2.0, 0.1, 0.7, 9.0])], (0,)),
    (op.polygamma, [np.array([1.0, 2.0, 3.0]), np.array([0.7, 2.2, 9.0])], (1,)),
    (op.zeta, [np.array([1.5, 2.0, 4.0]), np.array([0.7, 2.2, 9.0])], (1,)),
    (op.igamma, [np.array([0.5, 2.0, 9.0]), np.array([0.7, 2.2, 8.0])], (0, 1)),
    (op.igammac, [np.array([0.5, 2.0, 9.0]), np.array([0.7, 2.2, 8.0])], (0, 1)),
    (op.betainc, [np.array([0.5, 2.0]), np.array([1.5, 3.0]), np.array([0.2, 0.7])], (2,)),
]
names = [case[0].__name__ for case in CASES]


def central(function, operands, position, h):
    def at(step):
        moved = list(operands)
        moved[position] = moved[position] + step
        return function(*moved)
    return (at(h) - at(-h)) / (2 * h)


@pytest.mark.parametrize("function, operands, positions", CASES, ids=names)
def test_derivatives(function, operands, positions):
    h = 1e-5  # the quotient's error is h**2 times a third derivative of order 1 to 100, and 1e-11 of rounding
    for position in positions:
        def of_one(x):
            return function(*operands[:position], x, *operands[position + 1:])

        x = operands[position]
        ones = np.ones_like(x)
        value, tangent = jvp(of_one, (x,), (ones,))
        np.testing.assert_allclose(value, function(*operands))
        np.testing.assert_allclose(tangent, central(function, operands, position, h), rtol=1e-6, atol=1e-9)
        slopes = vmap(grad(function, argnums=position))(*operands)
        np.testing.assert_allclose(slopes, tangent, rtol=1e-12)


def test_bessel_i1e_at_zero():
    # exp(-|x|) I1(x) is x/2 - x|x|/2 + ... : its slope at 0 is 1/2.
    assert grad(op.bessel_i1e)(0.0) == 0.5


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_second_derivatives_of_bessel_functions_close_to_zero(dtype):
    """exp(-|x|) I0(x) is 1 - |x| + 3/4 x**2 - ...; both were infinite where 1/x or 1/x**2 is."""
    x = np.finfo(dtype).smallest_normal / dtype(2)
    assert grad(grad(op.bessel_i0e))(x) == 1.5
    assert -1 <= grad(grad(op.bessel_i1e))(x) <= 0


@pytest.mark.parametrize("function", [ops.asin, ops.acos, ops.atanh])
def test_derivatives_of_inverse_functions_keep_their_digits(function):
    """1 - x**2 cancels close to 1; the derivative of (1 - x) (1 + x) cancels close to 0."""
    slope, x = grad(function), np.float32([1e-6, 0.5, 0.99999994])
    wide = x.astype(np.float64)
    left = (1 - wide) * (1 + wide)
    expected = {ops.asin: left ** -0.5, ops.acos: -left ** -0.5, ops.atanh: 1 / left}[function]
    second = {ops.asin: wide * left ** -1.5, ops.acos: -wide * left ** -1.5, ops.atanh: 2 * wide / left**2}[function]
    with config.enable_x64(False):
        np.testing.assert_allclose(vmap(slope)(x), expected, rtol=1e-6)
        np.testing.assert_allclose(vmap(grad(slope))(x), second, rtol=1e-6)
    if function is ops.atanh:
        assert grad(slope)(np.float32(1)) == np.inf and grad(slope)(np.float32(-1)) == -np.inf


@pytest.mark.parametrize("function, x", [(op.erf, 0.3), (op.erf_inv, 0.3), (op.lgamma, 1.7), (op.digamma, 1.7),
                                         (op.bessel_i0e, 0.8), (op.bessel_i1e, 0.8)])
def test_second_derivatives(function, x):
    slope = grad(function)
    np.testing.assert_allclose(grad(slope)(x), (slope(x + 1e-5) - slope(x - 1e-5)) / 2e-5, rtol=1e-7)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("function", [op.erf, op.erfc])
def test_all_derivatives_of_error_functions_are_0_at_infinity(function, dtype):
    """The second was a product of infinity and 0; NaN stays NaN, and what is far out but not yet 0 is unchanged."""
    order = function
    for _ in range(3):
        order = grad(order)
        for x in (np.inf, -np.inf, np.finfo(dtype).max, np.finfo(dtype).min):
            assert order(dtype(x)) == 0
        assert np.isnan(order(dtype(np.nan)))
    sign = 1 if function is op.erf else -1
    x = 26.5 if dtype == np.float64 else 3.0
    np.testing.assert_allclose(grad(grad(function))(dtype(x)), sign * -4 * x / np.sqrt(np.pi) * np.exp(-x * x),
                               rtol=50 * np.finfo(dtype).eps if dtype != np.float64 else 1e-12)


@pytest.mark.parametrize("function, operands, positions", CASES, ids=names)
def test_vmap_is_the_loop(function, operands, positions):
    expected = np.stack([function(*row) for row in zip(*operands)])
    np.testing.assert_array_equal(vmap(function)(*operands), expected)
    if len(operands) == 2:
        first, second = operands
        np.testing.assert_array_equal(vmap(function, in_axes=(None, 0))(first[0], second),
                                      np.stack([function(first[0], v) for v in second]))


@pytest.mark.parametrize("function, operands, position, error, what", [
    (op.polygamma, (1.0, 2.0), 0, ValueError, "polygamma with respect to m"),
    (op.zeta, (2.0, 2.0), 0, NotImplementedError, "zeta with respect to x"),
    (op.betainc, (1.0, 2.0, 0.5), 1, ValueError, "betainc with respect to b"),
    (op.igamma_grad_a, (1.0, 2.0), 0, NotImplementedError, "igamma_grad_a with respect to a"),
])
def test_refused_derivatives(function, operands, position, error, what):
    with pytest.raises(error, match=f"derivative of {what}"):
        grad(function, argnums=position)(*operands)
