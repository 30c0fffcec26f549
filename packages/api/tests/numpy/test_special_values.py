"""Infinities, NaN and signed zeros in elementary functions, against NumPy, whose complex functions follow annex G of C99."""

import math

import numpy as np
import pytest

import laminax
import laminax.numpy as jnp

PARTS = (0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, np.nan)
POINTS = np.array([complex(a, b) for a in PARTS for b in PARTS])


def check_equal(found, expected):
    """Equal to float32's rounding, NaN to NaN."""
    for part in ("real", "imag"):
        np.testing.assert_allclose(getattr(np.asarray(found), part), getattr(expected, part), rtol=3e-7)


@pytest.mark.parametrize("run", [lambda f: f, laminax.jit], ids=["eager", "jit"])
@pytest.mark.parametrize("name", ["log2", "log10"])
def test_logarithms_of_complex_infinities_and_zeros_are_scaled_by_their_parts(name, run):
    known = POINTS[~(np.isnan(POINTS) & np.isinf(POINTS))]  # beside a NaN, XLA's logarithm of an infinity is NaN
    with np.errstate(all="ignore"):
        check_equal(run(getattr(jnp, name))(known.astype(np.complex64)), getattr(np, name)(known).astype(np.complex64))


@pytest.mark.parametrize("run", [lambda f: f, laminax.jit], ids=["eager", "jit"])
def test_magnitudes_are_infinite_where_a_part_is(run):
    check_equal(run(jnp.abs)(POINTS.astype(np.complex64)), np.abs(POINTS))


def test_the_cosine_beside_the_imaginary_axis_has_no_imaginary_part():
    points = np.array([complex(0.0, np.nan), complex(-0.0, np.nan)], np.complex64)
    with np.errstate(all="ignore"):
        expected = np.cos(points)
    found = np.asarray(jnp.cos(points))
    np.testing.assert_array_equal(found.imag, expected.imag)
    np.testing.assert_array_equal(np.signbit(found.imag), np.signbit(expected.imag))
    assert np.isnan(found.real).all()


def test_sinc_is_zero_at_infinity_and_at_integers():
    x = np.array([np.inf, -np.inf, 1, 2, -3, 1e8, 0, 0.5, 1.5, -2.25], np.float32)
    expected = np.where(np.isinf(x), 0, np.sinc(np.where(np.isinf(x), 1, x.astype(np.float64))))
    found = np.asarray(jnp.sinc(x))
    np.testing.assert_allclose(found, expected, rtol=3e-7, atol=2e-16)  # atol: NumPy's own sin(pi n) is no exact 0
    assert not found[:6].any()
    assert np.isnan(jnp.sinc(np.float32(np.nan)))
    assert jnp.sinc(complex(np.inf, 1)) == 0 and np.isnan(jnp.sinc(complex(np.inf, np.inf)))


@pytest.mark.parametrize("x, expected", [(0.0, 0), (1.0, -1), (2.0, 1 / 2), (-3.0, 1 / 3), (np.inf, 0)])
def test_the_slope_of_sinc_at_integers(x, expected):
    """cos(pi n) / n, from the quotient rule."""
    np.testing.assert_allclose(laminax.grad(jnp.sinc)(x), expected, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(laminax.jvp(jnp.sinc, (x,), (1.0,))[1], expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("is_wide, rtol", [(False, 2e-6), (True, 1e-12)])
def test_derivatives_of_sinc_near_zero(is_wide, rtol):
    """Those of sum (-1)^k (pi x)^(2k) / (2k + 1)!; the quotient's are differences of numbers up to 1e60 times as large."""
    x = np.array([1e-30, 1e-12, 1e-6, -1e-4, 1e-3, 1e-2, 0.1, -0.3])
    terms = [(-1) ** k * np.pi ** (2 * k) / math.factorial(2 * k + 1) for k in range(25)]
    series = np.polynomial.Polynomial([t for term in terms for t in (term, 0.0)])
    with laminax.enable_x64(is_wide):
        derivative = jnp.sinc
        for order in range(4):
            found = laminax.vmap(derivative)(jnp.asarray(x))
            np.testing.assert_allclose(found, series.deriv(order)(x) if order else series(x), rtol=rtol * 10**order)
            derivative = laminax.grad(derivative)


@pytest.mark.parametrize("transform", [laminax.grad, laminax.jacfwd])
def test_pieces_do_not_disturb_each_others_slopes(transform):
    """The slopes of the logarithm and of the root are infinite at 0, where other pieces count; later conditions come first."""
    def f(x):
        return jnp.piecewise(x, [x >= 0, x > 1, x > 4], [jnp.sin, jnp.log, lambda x: jnp.sqrt(x - 4), 7.0])

    for x, slope in ((-2.0, 0), (0.0, 1), (1.0, np.cos(1)), (2.0, 1 / 2), (4.0, 1 / 4), (8.0, 1 / 4)):
        np.testing.assert_allclose(transform(f)(x), slope, rtol=1e-6)


def test_the_next_number_goes_along_with_the_first():
    """nextafter(x, y) - x is the same for almost all x near by, and depends on y by its side only."""
    for find in (laminax.grad, laminax.jacfwd):
        assert find(jnp.nextafter, 0)(1.5, 2.0) == 1 and find(jnp.nextafter, 1)(1.5, 2.0) == 0
    np.testing.assert_array_equal(laminax.grad(lambda x: jnp.nextafter(x, jnp.zeros(3)).sum())(2.0), 3)


def test_the_spacing_of_float16_goes_to_the_next_greater_number():
    x = np.array([-0.0, 0.0, np.inf, np.nan, 1, -1, -1.5, 65504, -65504, 6e-8, -6e-8, -2], np.float16)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(jnp.spacing(x), np.spacing(x))
    assert jnp.spacing(np.float16(-np.inf)) == np.inf  # the way from -inf to the least number


def test_a_spacing_that_is_a_subnormal_number_is_not_taken_for_zero():
    """The spacing of float32(1e-35) was 0, and that of a subnormal number the number itself."""
    x = np.array([1e-35, -1e-35, 1e-40, -1e-40, 1.1754944e-38, 2e-38, 9.8e-32, 1e-31, 3.4e38, -3.4e38, 1e-45, 1.0, -1.0], np.float32)
    for fun in (jnp.spacing, laminax.jit(jnp.spacing)):
        assert np.asarray(fun(x)).tobytes() == np.spacing(x).tobytes()
    with laminax.enable_x64(True):
        x = np.array([1e-300, -1e-295, 5e-324, 2.3e-308, 1e-291, 1.0, 1.7e308])
        assert np.asarray(jnp.spacing(x)).tobytes() == np.spacing(x).tobytes()


def test_nothing_is_known_of_a_sum_of_exponentials_with_a_NaN():
    for x, y in ((0j, complex(0, np.nan)), (complex(np.nan, 2), 1j)):
        found = np.asarray(jnp.logaddexp(x, y))
        assert np.isnan(found.real) and np.isnan(found.imag)


def test_modf_of_infinities():
    x = np.array([np.inf, -np.inf, np.nan, -2.5, 3.0], np.float32)
    for found, expected in zip(jnp.modf(x), np.modf(x)):
        np.testing.assert_array_equal(found, expected)
    assert np.signbit(jnp.modf(x)[0]).tolist()[:2] == [False, True]
    assert laminax.grad(lambda y: jnp.modf(y)[0])(3.0) == 1.0


@pytest.mark.parametrize("y", [[np.inf, 1.0, 2.0], [1.0, 2.0, -np.inf], [3.0], [], [[np.inf, 1.0], [2.0, 4.0]]])
def test_trapezoid_of_infinite_ends_and_of_no_interval(y):
    y = np.array(y, np.float32)
    np.testing.assert_array_equal(jnp.trapezoid(y), np.trapezoid(y))
    np.testing.assert_array_equal(laminax.vmap(jnp.trapezoid)(y[None])[0], np.trapezoid(y))
