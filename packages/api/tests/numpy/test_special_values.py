"""Infinities, NaN and signed zeros in elementary functions, against NumPy, whose complex functions follow annex G of C99."""

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
