"""Elementwise functions against NumPy, and the dtypes JAX documents for them."""

import numpy as np
import pytest

import laminax
import laminax.numpy as jnp

REAL = np.array([[-2.5, -1.0, -0.0], [0.5, 1.0, 3.75]], np.float32)
INTS = np.array([[-7, -1, 0], [2, 5, 9]], np.int32)


@pytest.mark.parametrize("name", [
    "abs", "arctan", "arcsinh", "cbrt", "ceil", "cos", "cosh", "deg2rad", "degrees", "exp", "exp2", "expm1", "fabs", "floor",
    "isfinite", "isinf", "isnan", "logical_not", "negative", "positive", "radians", "rint", "sign", "signbit", "sin", "sinc", "sinh",
    "square", "tan", "tanh", "trunc", "angle", "conj", "real", "imag"])
def test_unary(name):
    # float32 against NumPy's float32: a few units in the last place
    np.testing.assert_allclose(getattr(jnp, name)(REAL), getattr(np, name)(REAL), rtol=2e-6, atol=1e-6)


@pytest.mark.parametrize("name", ["sqrt", "log", "log2", "log10", "log1p", "arccosh", "reciprocal"])
def test_unary_of_positive(name):
    x = np.array([1.0, 1.5, 30.0], np.float32)
    np.testing.assert_allclose(getattr(jnp, name)(x), getattr(np, name)(x), rtol=2e-6, atol=1e-6)


@pytest.mark.parametrize("name", ["arcsin", "arccos", "arctanh"])
def test_unary_of_the_unit_interval(name):
    x = np.array([-0.9, 0.0, 0.3], np.float32)
    np.testing.assert_allclose(getattr(jnp, name)(x), getattr(np, name)(x), rtol=2e-6, atol=1e-6)


@pytest.mark.parametrize("name", [
    "add", "subtract", "multiply", "divide", "maximum", "minimum", "fmax", "fmin", "arctan2", "hypot", "logaddexp", "logaddexp2",
    "copysign", "heaviside", "equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "logical_and", "logical_or",
    "logical_xor", "floor_divide", "mod", "fmod"])
def test_binary_broadcasts(name):
    y = np.array([1.5, -2.0, 0.25], np.float32)
    np.testing.assert_allclose(getattr(jnp, name)(REAL, y), getattr(np, name)(REAL, y), rtol=2e-6, atol=1e-6)


@pytest.mark.parametrize("name", ["floor_divide", "mod", "fmod", "bitwise_and", "bitwise_or", "bitwise_xor", "gcd", "lcm"])
def test_binary_of_integers(name):
    y = np.array([3, -2, 4], np.int32)
    np.testing.assert_array_equal(getattr(jnp, name)(INTS, y), getattr(np, name)(INTS, y))


def test_nan_goes_through_maximum_and_not_through_fmax():
    x, y = np.array([np.nan, 1.0], np.float32), np.array([2.0, np.nan], np.float32)
    assert np.isnan(jnp.maximum(x, y)).all()
    np.testing.assert_array_equal(jnp.fmax(x, y), [2.0, 1.0])


def test_hypot_does_not_overflow():
    np.testing.assert_allclose(jnp.hypot(np.float32(3e38), np.float32(1e38)), np.hypot(3e38, 1e38), rtol=1e-6)


@pytest.mark.parametrize("exponent", [3, -3, 200, -200])
def test_ldexp_is_exact(exponent):
    x = np.array([1e-30, 1.7, -3.0], np.float32)
    with np.errstate(over="ignore", under="ignore"):
        want = np.ldexp(x, exponent)
    want[np.abs(want) < np.finfo(np.float32).tiny] = 0  # the CPU backend flushes subnormal numbers
    np.testing.assert_array_equal(jnp.ldexp(x, exponent), want)


def test_frexp_and_modf():
    x = np.array([0.0, 1.0, -3.75, 1e20, np.inf], np.float32)
    mantissa, exponent = jnp.frexp(x)
    want_mantissa, want_exponent = np.frexp(x)
    np.testing.assert_array_equal(mantissa, want_mantissa)
    np.testing.assert_array_equal(exponent[:4], want_exponent[:4])
    for got, want in zip(jnp.modf(x[:4]), np.modf(x[:4])):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("decimals", [0, 1, -1])
def test_round_halves_to_even(decimals):
    x = np.array([0.25, 0.5, 1.5, 2.5, -1.5, 15.0, 25.0], np.float32)
    np.testing.assert_allclose(jnp.round(x, decimals), np.round(x, decimals), rtol=1e-6)


def test_dtypes_of_results():
    assert jnp.sin(INTS).dtype == np.float32
    assert jnp.sin(np.float16(1)).dtype == np.float16
    assert (jnp.int8(3) / jnp.int8(2)).dtype == np.float32
    assert jnp.add(np.int8(1), np.uint8(1)).dtype == np.int16
    assert jnp.multiply(np.float16(1), 2.5).dtype == np.float16
    assert jnp.sin(2).weak_type and not jnp.sin(True).weak_type
    # a bool beside a weak number makes a weak one, two bools a strong one
    assert jnp.arctan2(True, 1.0).weak_type and jnp.arctan2(1, True).weak_type and not jnp.arctan2(True, True).weak_type
    assert jnp.floor_divide(True, True).dtype == np.int32


def test_lists_are_refused():
    with pytest.raises(TypeError, match=r"sin requires ndarray or scalar arguments, got <class 'list'> at position 0"):
        jnp.sin([1.0, 2.0])
    with pytest.raises(TypeError, match=r"add requires .* at position 1"):
        jnp.add(1.0, (1, 2))


def test_complex_order_is_lexicographic():
    x, y = np.array([1 + 2j, 1 + 2j]), np.array([1 + 3j, 0 + 9j])
    np.testing.assert_array_equal(jnp.less(x, y), [True, False])
    np.testing.assert_array_equal(jnp.greater_equal(x, y), [False, True])


@pytest.mark.parametrize("point", [(0.3, -0.2), (5.0, 5.0)])
def test_logaddexp_gradient_is_the_softmax(point):
    got = laminax.grad(lambda p: jnp.logaddexp(p[0], p[1]))(np.array(point, np.float32))
    e = np.exp(np.array(point))
    np.testing.assert_allclose(got, e / e.sum(), rtol=1e-5)


def test_logaddexp_gradient_beside_infinity_is_no_nan():
    assert float(laminax.grad(lambda x: jnp.logaddexp(x, -np.inf))(0.0)) == 1.0
    assert float(laminax.grad(jnp.logaddexp)(-np.inf, 0.0)) == 0.0
    assert float(laminax.grad(jnp.logaddexp)(np.inf, 1.0)) == 1.0
    assert np.isnan(laminax.grad(jnp.logaddexp)(-np.inf, -np.inf))  # the weights are 0 / 0


def test_weak_types_of_truth_values_and_gradients():
    assert jnp.logical_xor(2.5, 1.0).weak_type and not jnp.logical_xor(2.5, np.float32(1)).weak_type
    assert jnp.isreal(2.5).weak_type and jnp.isnan(3).weak_type and not jnp.isreal(np.float32(2)).weak_type
    weak = jnp.broadcast_to(jnp.array(1.5), (3,))
    assert jnp.gradient(weak).weak_type and not jnp.gradient(np.ones(3, np.float32)).weak_type
    assert not jnp.isreal(weak).weak_type


def test_sinc_derivatives_at_zero():
    # sinc(x) = 1 - (pi x)^2 / 6 + ...
    first = laminax.grad(jnp.sinc)
    assert float(first(0.0)) == 0.0
    np.testing.assert_allclose(float(laminax.grad(first)(0.0)), -np.pi ** 2 / 3, rtol=1e-5)


def test_where_select_clip_and_nan_to_num():
    x = np.array([np.nan, -np.inf, 2.0, np.inf], np.float32)
    np.testing.assert_array_equal(jnp.where(x > 0, x, 0), np.where(x > 0, x, 0))
    np.testing.assert_array_equal(jnp.nan_to_num(x), np.nan_to_num(x))
    np.testing.assert_array_equal(jnp.clip(INTS, -1, 5), np.clip(INTS, -1, 5))
    np.testing.assert_array_equal(jnp.select([INTS < 0, INTS > 4], [-1, INTS], 7), np.select([INTS < 0, INTS > 4], [-1, INTS], 7))
    with pytest.raises(ValueError, match="both of x and y"):
        jnp.where(INTS > 0, 1)


@pytest.mark.parametrize("tolerance", [{}, {"atol": 1}, {"rtol": 1}, {"atol": 0.5}])
def test_isclose_of_booleans_compares_zeros_and_ones(tolerance):
    a, b = np.array([False, True, False, True]), np.array([True, True, False, False])
    np.testing.assert_array_equal(jnp.isclose(a, b, **tolerance), np.isclose(a, b, **tolerance))


def test_isclose_family():
    a, b = np.array([1.0, np.nan, np.inf]), np.array([1.0 + 1e-7, np.nan, np.inf])
    np.testing.assert_array_equal(jnp.isclose(a, b), np.isclose(a, b))
    np.testing.assert_array_equal(jnp.isclose(a, b, equal_nan=True), np.isclose(a, b, equal_nan=True))
    assert bool(jnp.array_equal(a, a, equal_nan=True)) and not bool(jnp.array_equal(a, a[:2]))


def test_derivatives_of_frexp_and_i0():
    x = np.array([0.3, -5.0, 1e30, 1e-30], np.float32)
    np.testing.assert_allclose(laminax.vmap(laminax.grad(lambda v: jnp.frexp(v)[0]))(x), np.ldexp(1.0, -np.frexp(x)[1]), rtol=1e-6)
    # I0' = I1, which is odd: x/2 + x**3/16 + ...
    assert float(laminax.grad(jnp.i0)(0.0)) == 0.0 and float(laminax.grad(laminax.grad(jnp.i0))(0.0)) == 0.5
    np.testing.assert_allclose(laminax.grad(jnp.i0)(-0.1), -(0.05 + 0.001 / 16), rtol=1e-5)


@pytest.mark.parametrize("exponent", [2, np.int32(2), np.array(2, np.int8)])
def test_integer_exponents_that_are_known_are_repeated_products(exponent):
    eqns = laminax.make_jaxpr(lambda x: jnp.power(x, exponent))(np.int32(1)).eqns
    assert [eqn.primitive.name for eqn in eqns] == ["integer_pow"]
    np.testing.assert_array_equal(jnp.power(INTS, exponent), INTS ** 2)


def test_piecewise_traces_its_functions_once():
    calls = []

    def piece(x):
        calls.append(x)
        return 2 * x

    for start in range(3):
        x = np.arange(start, start + 4.0, dtype=np.float32)
        np.testing.assert_array_equal(jnp.piecewise(x, [x < 2, x > 3], [piece, 7.0]), np.piecewise(x, [x < 2, x > 3], [lambda v: 2 * v, 7]))
    assert len(calls) == 1


def test_operands_that_are_tuples_of_their_own_kind_decide_themselves():
    class Pair(tuple):
        def __rmul__(self, other):
            return Pair(other * x for x in self)

    assert isinstance(jnp.ones(2) * Pair((1.0, 2.0)), Pair)
    with pytest.raises(TypeError, match="unsupported operand type"):
        jnp.ones(2) * (1.0, 2.0)
