"""Derivatives and batching of elementwise operations.

Oracles: central differences and adjoints (`numeric_checks`), closed formulas at the hard places, loops for `vmap`.
"""

from __future__ import annotations

import numpy as np
import pytest
from numeric_checks import check_derivatives, check_vmap

from laminax_ir.ops import elementwise as op
from laminax_ir.ops.reduction import reduce_sum
from laminax_ir.options.config import enable_x64
from laminax_ir.recording.staging import stage
from laminax_ir.reference.evaluate import evaluate
from laminax_ir.types.avals import get_aval
from laminax_transforms import grad, jvp, linearize, vjp, vmap

X = np.array([-0.7, -0.2, 0.3, 0.8])  # inside (-1, 1), away from the kinks at 0 and the halves
ANY = [op.neg, op.abs, op.sign, op.floor, op.ceil, op.exp, op.exp2, op.expm1, op.logistic, op.sin, op.cos, op.tan, op.asin,
       op.acos, op.atan, op.sinh, op.cosh, op.tanh, op.asinh, op.atanh, op.square, op.cbrt, op.copy, op.round]
POSITIVE = [op.log, op.sqrt, op.rsqrt, op.log1p]


@pytest.mark.parametrize("fun", ANY, ids=lambda f: f.__name__)
def test_unary(fun):
    check_derivatives(fun, X)
    check_derivatives(fun, np.array(0.4))


@pytest.mark.parametrize("fun", POSITIVE, ids=lambda f: f.__name__)
def test_unary_of_positive_numbers(fun):
    check_derivatives(fun, np.abs(X) + 0.5)


def test_acosh():
    check_derivatives(op.acosh, np.abs(X) + 1.3)


Z = np.array([0.3 + 0.2j, -0.5 + 0.4j, 0.1 - 0.7j])
COMPLEX = [op.neg, op.exp, op.exp2, op.expm1, op.log, op.log1p, op.logistic, op.sin, op.cos, op.tan, op.asin, op.acos, op.atan, op.sinh,
           op.cosh, op.tanh, op.asinh, op.acosh, op.atanh, op.sqrt, op.rsqrt, op.square, op.sign, op.abs, op.real, op.imag, op.conj]


@pytest.mark.parametrize("fun", COMPLEX, ids=lambda f: f.__name__)
def test_unary_complex(fun):
    """The differential is real-linear; for the pairing below it is enough to take real parts of the result."""
    with enable_x64():
        rng = np.random.default_rng(0)
        d = rng.normal(size=3) + 1j * rng.normal(size=3)
        step = 1e-5
        want = (np.asarray(fun(Z + step * d)) - np.asarray(fun(Z - step * d))) / (2 * step)
        result, tangent = jvp(fun, (Z,), (d,))
        np.testing.assert_allclose(tangent, want, rtol=1e-6, atol=1e-8)
        assert np.asarray(tangent).dtype == np.asarray(result).dtype
        result, pullback = vjp(fun, Z)
        ct = rng.normal(size=3).astype(np.asarray(result).dtype)
        if np.asarray(result).dtype.kind == "c":
            ct = ct + 1j * rng.normal(size=3)
        (z_ct,) = pullback(ct)
        # Re<ct, J d> == Re<J^T ct, d> in the bilinear pairing
        np.testing.assert_allclose(np.sum(z_ct * d).real, np.sum(ct * tangent).real, rtol=1e-8)


BINARY = [op.add, op.sub, op.mul, op.div, op.max, op.min, op.atan2, op.rem, op.pow]
SHAPES = [((3,), (3,)), ((), (3,)), ((3,), ()), ((2, 1), (1, 3)), ((2, 3), (1, 3)), ((1, 1), (2, 2)), ((), ()), ((0, 2), (1, 2))]


@pytest.mark.parametrize("shapes", SHAPES, ids=str)
@pytest.mark.parametrize("fun", BINARY, ids=lambda f: f.__name__)
def test_binary_with_broadcasting(fun, shapes):
    rng = np.random.default_rng(3)
    x, y = rng.uniform(1.1, 2.9, shapes[0]), rng.uniform(0.6, 1.0, shapes[1]) + (0.0 if fun is op.rem else 0.3)
    check_derivatives(fun, x, y)
    check_derivatives(lambda a: fun(a, a), np.abs(x) + 0.1) if fun not in (op.max, op.min, op.rem) else None


def test_powers_of_complex_numbers():
    check_derivatives(lambda z: op.pow(z, 2.5 + 0j), Z)
    check_derivatives(op.pow, Z + 1.0, Z * 2.0)


def test_the_derivative_of_a_known_power_has_a_known_exponent():
    """Not a difference that the compiler finds out: x**1.5 in the derivative of x**2.5 has kernels of its own."""
    closed = stage(lambda x: [grad(lambda x: reduce_sum(op.pow(x, 2.5), (0,)))(x)], [get_aval(np.float32([1, 4]))])
    powers = [eqn for eqn in closed.jaxpr.eqns if eqn.primitive is op.pow_p]
    assert [getattr(eqn.invars[1], "val", None) for eqn in powers] == [2.5, 1.5]
    np.testing.assert_array_equal(evaluate(closed, np.float32([1, 4]))[0], np.float32([2.5, 20]))


def test_complex_binary():
    rng = np.random.default_rng(0)
    x, y = (rng.normal(size=3) + 1j * rng.normal(size=3) for _ in range(2))
    for fun in (op.add, op.sub, op.mul, op.div):
        check_derivatives(fun, x, y)
    with enable_x64():
        ct = rng.normal(size=3) + 1j * rng.normal(size=3)
        # Re(ct (dx + i dy)) = Re(ct) dx - Im(ct) dy
        x_ct, y_ct = vjp(op.complex, x.real, x.imag)[1](ct)
        np.testing.assert_array_equal(x_ct, ct.real)
        np.testing.assert_array_equal(y_ct, -ct.imag)


@pytest.mark.parametrize("y", [-3, -1, 0, 1, 2, 3, 7])
def test_integer_pow(y):
    check_derivatives(lambda x: op.integer_pow(x, y), X)
    check_derivatives(lambda x: op.pow(x, np.int32(y)), X)


def test_choice():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 3)), rng.normal(size=(2, 3))
    mask = rng.normal(size=(2, 3)) > 0
    check_derivatives(lambda a, b: op.select(mask, a, b), x, y)
    check_derivatives(lambda a, b: op.select(np.bool_(True), a, b), x, y)
    check_derivatives(lambda a, b: op.select_n(np.array([[0, 1, 2], [2, 1, 0]], np.int32), a, b, op.mul(a, b)), x, y)
    check_derivatives(lambda low, a, high: op.clamp(low, a, high), np.array(-0.5), x, np.array(0.6))
    check_derivatives(lambda low, a, high: op.clamp(low, a, high), x - 0.3, np.zeros((2, 3)), x + 0.4)


def test_conversions():
    x = np.array([0.5, 1.25, -2.0], np.float32)
    value, tangent = jvp(lambda a: op.convert_element_type(a, "bfloat16"), (x,), (x,))
    assert tangent.dtype == value.dtype and tangent.astype(float).tolist() == [0.5, 1.25, -2.0]
    (ct,) = vjp(lambda a: op.convert_element_type(a, np.float16), x)[1](np.array([1, 2, 4], np.float16))
    assert ct.dtype == np.float32 and ct.tolist() == [1, 2, 4]
    assert grad(lambda a: reduce_sum(op.convert_element_type(op.convert_element_type(a, np.int32), np.float32),
                                     (0,)))(x).tolist() == [0, 0, 0]
    z_ct, = vjp(lambda a: op.convert_element_type(a, np.complex64), x)[1](np.array([1 + 2j, 3j, 4], np.complex64))
    assert z_ct.dtype == np.float32 and z_ct.tolist() == [1, 0, 4]
    np.testing.assert_array_equal(vjp(lambda a: op.reduce_precision(a, 8, 7), x)[1](x)[0], x)


# The hard places: what JAX documents, from its formulas.


def d(fun, x):
    with enable_x64():
        return float(grad(fun)(np.float64(x)))


@pytest.mark.parametrize("fun, at, want", [
    (lambda x: op.max(x, 1.0), 1.0, 0.5), (lambda x: op.min(x, 1.0), 1.0, 0.5), (lambda x: op.max(x, x), 2.0, 1.0),
    (op.abs, 0.0, 1.0), (op.abs, -0.0, 1.0), (op.abs, -2.0, -1.0), (op.sign, 0.0, 0.0), (op.sqrt, 0.0, np.inf), (op.log, 0.0, np.inf),
    (op.rsqrt, 0.0, -np.inf),
    (lambda x: op.pow(x, 0.0), 0.0, np.nan), (lambda x: op.pow(x, 1.0), 0.0, 1.0), (lambda x: op.pow(x, 2.0), 0.0, 0.0),
    (lambda x: op.pow(x, 0.0), 3.0, 0.0), (lambda x: op.integer_pow(x, 0), 0.0, 0.0), (lambda x: op.integer_pow(x, 1), 0.0, 1.0),
    (lambda x: op.integer_pow(x, 2), 0.0, 0.0), (lambda y: op.pow(0.0, y), 2.0, 0.0), (lambda y: op.pow(0.0, y), 0.0, 0.0),
    (lambda y: op.pow(1.0, y), 5.0, 0.0), (lambda x: op.pow(x, 3.0), -2.0, 12.0),
    (lambda x: op.clamp(0.0, x, 1.0), 0.5, 1.0), (lambda x: op.clamp(0.0, x, 1.0), 2.0, 0.0),
    (lambda x: op.clamp(x, 0.0, 1.0), 0.5, 1.0), (lambda x: op.clamp(x, 0.0, 1.0), 2.0, 0.0), (lambda x: op.clamp(3.0, 2.0, x), 1.0, 1.0),
    (lambda x: op.clamp(x, 2.0, 1.0), 3.0, 0.0),
    (lambda x: op.pow(x, 3), -2.0, 12.0), (lambda x: op.pow(x, 0), 0.0, 0.0), (lambda x: op.pow(x, np.int32(-1)), 2.0, -0.25),
    (lambda x: op.clamp(0.0, x, 1.0), 0.0, 0.0), (lambda x: op.clamp(0.0, x, 1.0), 1.0, 0.0),
    (lambda x: op.select(op.gt(x, 0.0), op.log(op.select(op.gt(x, 0.0), x, 1.0 + 0 * x)), 0.0 * x), -1.0, 0.0),
    (lambda x: x ** 0, 0.0, 0.0), (lambda x: op.square(x), 0.0, 0.0), (lambda x: op.logistic(x), -1000.0, 0.0),
    (lambda x: op.tanh(x), 50.0, 0.0), (lambda x: op.floor(x), 0.5, 0.0), (lambda x: op.stop_gradient_one(x) * x, 3.0, 3.0),
    (lambda x: op.atan2(x, 0.0), 1.0, 0.0), (lambda x: op.rem(x, 3.0), 7.0, 1.0),
], ids=lambda v: "" if callable(v) else str(v))
def test_hard_places(fun, at, want):
    with np.errstate(all="ignore"):
        np.testing.assert_equal(d(fun, at), want)


def test_complex_sign_at_zero():
    """Its derivative was NaN there, and with it the second ones of all that takes an absolute value, such as a power spectrum."""
    with enable_x64():
        for tangent in (1.0 + 0.0j, 1.0j):
            assert jvp(op.sign, (np.complex128(0),), (np.complex128(tangent),)) == (0, 0)
            second = jvp(grad(lambda z: op.square(op.abs(z))), (np.complex128(0),), (np.complex128(tangent),))[1]
            assert np.isfinite(second)


def test_second_derivatives_at_hard_places():
    assert d(grad(lambda x: op.integer_pow(x, 2)), 0.0) == 2.0
    assert d(grad(lambda x: op.pow(x, 2.0)), 0.0) == 2.0
    for y, mixed in ((0.0, 1 / 4), (1.0, 1 + np.log(4)), (2.0, 4 + 8 * np.log(4))):  # x**(y-1) (1 + y log x); was 1 at y == 0
        np.testing.assert_allclose(d(lambda y: grad(op.pow)(np.float64(4), y), y), mixed, rtol=1e-14)
        np.testing.assert_allclose(d(lambda x: grad(op.pow, 1)(x, np.float64(y)), 4.0), mixed, rtol=1e-14)  # noqa: B023
    assert d(grad(lambda x: op.integer_pow(x, 3)), 0.0) == 0.0
    assert d(grad(grad(lambda x: op.integer_pow(x, 3))), 0.0) == 6.0
    assert d(grad(op.abs), 1.0) == 0.0


def test_a_nan_in_the_branch_not_taken_stays_out_when_its_argument_is_safe():
    """The known trap: `where` alone does not hide a NaN derivative; a safe argument inside does."""
    def trap(x):
        return op.select(op.gt(x, 0.0), op.sqrt(x), op.mul(x, 0.0))

    def safe(x):
        inside = op.select(op.gt(x, 0.0), x, op.add(op.mul(x, 0.0), 1.0))
        return op.select(op.gt(x, 0.0), op.sqrt(inside), op.mul(x, 0.0))

    with np.errstate(all="ignore"):
        assert np.isnan(d(trap, 0.0))
    assert d(safe, 0.0) == 0.0


def test_linear_operations_are_linear_programs():
    """`linearize` at one point answers for every direction without evaluating the function again."""
    calls = []

    def fun(x):
        calls.append(1)
        return op.sin(x) * x

    with enable_x64():
        value, f_jvp = linearize(fun, X)
        for direction in np.eye(4):
            np.testing.assert_allclose(f_jvp(direction), (np.cos(X) * X + np.sin(X)) * direction, rtol=1e-12)
    assert len(calls) == 1


# Batching

UNARY_TO_BATCH = [op.neg, op.sin, op.sign, op.is_finite, op.logistic, op.copy, lambda x: op.integer_pow(x, 3), op.real, op.conj]


@pytest.mark.parametrize("in_axis, out_axis", [(0, 0), (1, 0), (2, 1), (-1, 2)])
@pytest.mark.parametrize("fun", UNARY_TO_BATCH, ids=range(len(UNARY_TO_BATCH)))
def test_vmap_unary(fun, in_axis, out_axis):
    x = np.random.default_rng(0).normal(size=(2, 3, 4)).astype(np.float32)
    if fun is op.real:
        x = x.astype(np.complex64) * (1 + 2j)
    check_vmap(fun, (x,), (in_axis,), out_axis)


CASES = [  # shapes of one example, batch axes
    (((3,), (3,)), (0, 0)), (((3,), (3,)), (0, 1)), (((3,), (3,)), (1, None)), (((3,), (3,)), (None, 0)),
    (((), (3,)), (0, None)), (((), (3,)), (0, 1)), (((), ()), (0, 0)), (((), ()), (None, 0)), (((1, 3), (2, 1)), (2, 0)),
    (((1, 3), (2, 1)), (0, None)), (((2, 3), ()), (None, 0)), (((2, 3), ()), (1, 0)), (((0,), (0,)), (0, 1)), (((0,), ()), (1, 0)),
]


@pytest.mark.parametrize("fun", [op.add, op.div, op.max, op.pow, op.lt, op.atan2], ids=lambda f: f.__name__)
@pytest.mark.parametrize("shapes, axes", CASES, ids=str)
def test_vmap_binary(fun, shapes, axes):
    rng = np.random.default_rng(0)
    args = [rng.uniform(0.5, 2, size=s if a is None else (*s[:a], 5, *s[a:])).astype(np.float32) for s, a in zip(shapes, axes)]
    check_vmap(fun, args, axes)


@pytest.mark.parametrize("axes", [(0, 0, 0), (None, 0, 1), (0, None, None), (0, 1, None), (None, None, 0)], ids=str)
@pytest.mark.parametrize("shape", [(), (3,), (2, 3)], ids=str)
@pytest.mark.parametrize("scalar_pred", [True, False])
def test_vmap_select(shape, axes, scalar_pred):
    rng = np.random.default_rng(0)
    if max((a or 0) for a in axes) > len(shape):
        pytest.skip("no such axis")
    shapes = [() if scalar_pred else shape, shape, shape]
    if scalar_pred and axes[0]:
        pytest.skip("no such axis")
    args = [rng.normal(size=s if a is None else (*s[:a], 4, *s[a:])).astype(np.float32) for s, a in zip(shapes, axes)]
    check_vmap(lambda p, x, y: op.select(op.gt(p, 0.0), x, y), args, axes)


@pytest.mark.parametrize("axes", [(None, 0, None), (0, 0, None), (0, None, 0), (None, 1, 0), (0, 0, 0), (None, None, 0)], ids=str)
@pytest.mark.parametrize("bounds", ["scalar", "full"])
def test_vmap_clamp(axes, bounds):
    rng = np.random.default_rng(0)
    shapes = [() if bounds == "scalar" else (3,), (3,), () if bounds == "scalar" else (3,)]
    args = [rng.normal(size=s if a is None else (*s[:a], 4, *s[a:])).astype(np.float32) + offset
            for s, a, offset in zip(shapes, axes, (-0.5, 0, 0.5))]
    check_vmap(op.clamp, args, axes)


def test_vmap_bitcast_that_changes_the_width():
    x = np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32)
    for axis in (0, 1):
        check_vmap(lambda v: op.bitcast_convert_type(v, np.uint16), (x,), (axis,))
        check_vmap(lambda v: op.bitcast_convert_type(op.bitcast_convert_type(v, np.uint16), np.uint32), (x,), (axis,))


def test_vmap_of_several_results():
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    check_vmap(lambda a, b: op.optimization_barrier_flat(a, b), (x, x[0]), (0, None))


def test_a_barrier_around_values_without_tangents():
    """Integers, constants and unused results, which have no tangent or no cotangent."""
    def fun(x):
        y, _, three, unused = op.optimization_barrier_flat(op.sin(x), np.int32(2), 3.0, op.cos(x))
        return op.mul(y, three)

    check_derivatives(fun, X)
    staged = stage(lambda x: [grad(lambda x: reduce_sum(fun(x), (0,)))(x)], [get_aval(X)])
    np.testing.assert_allclose(evaluate(staged, X)[0], 3 * np.cos(X))


def test_vmap_of_grad_and_grad_of_vmap():
    rng = np.random.default_rng(0)
    w, x = rng.normal(size=(3,)), rng.normal(size=(5, 3))
    with enable_x64():
        def loss(w, x):
            return reduce_sum(op.tanh(op.mul(w, x)), (0,))

        closed_form = x / np.cosh(w * x) ** 2  # d tanh(wx)/dw
        np.testing.assert_allclose(vmap(grad(loss), in_axes=(None, 0))(w, x), closed_form, rtol=1e-12)
        total = grad(lambda w: reduce_sum(vmap(loss, in_axes=(None, 0))(w, x), (0,)))(w)
        np.testing.assert_allclose(total, closed_form.sum(0), rtol=1e-12)
        check_derivatives(lambda w, x: vmap(loss, in_axes=(None, 0))(w, x), w, x)


def test_the_high_half_of_a_product_is_batched_and_has_no_derivative():
    x = np.array([2**30, -5, 7], np.int32)
    check_vmap(lambda x, y: op.mulhi(x, y), [x, x[::-1].copy()], [0, 0])
    check_vmap(lambda x: op.mulhi(x, 2**20), [x], [0])
    assert not np.any(jvp(lambda y: op.mulhi(op.convert_element_type(y, np.int32), 3) * 1.0, (np.ones(3),), (np.ones(3),))[1])


@pytest.mark.parametrize("extremum, one_sided", [(op.max, np.greater), (op.min, np.less)])
def test_the_derivative_of_an_extremum_compares_operands_and_does_not_keep_the_result(extremum, one_sided):
    """1 where the operand is beyond the other, 1/2 in a tie (of zeros of both signs too), 0 where either is NaN."""
    x = np.array([1, 2, 3, 0.0, -np.inf, np.nan, 5, np.inf], np.float32)
    y = np.array([2, 2, 1, -0.0, -np.inf, 1, np.nan, 7], np.float32)
    expected = np.where(one_sided(x, y), 1, np.where(x == y, 0.5, 0)).astype(np.float32)
    ones, zeros = np.ones_like(x), np.zeros_like(x)
    np.testing.assert_array_equal(jvp(extremum, (x, y), (ones, zeros))[1], expected)
    with_result = stage(lambda x, t: [*jvp(lambda x: extremum(x, y), (x,), (t,))], [get_aval(x)] * 2)
    made = {v for eqn in with_result.eqns if eqn.primitive.name in ("max", "min") for v in eqn.outvars}
    assert made and not any(v in made for eqn in with_result.eqns for v in eqn.invars if type(v).__name__ == "Var")


@pytest.mark.parametrize("x", [-40.0, -17.0, -1e-3, 0.0, 2.0])
def test_the_derivative_of_expm1_keeps_its_digits(x):
    """It is exp(x), and not what is left of it in (exp(x) - 1) + 1."""
    np.testing.assert_allclose(grad(op.expm1)(np.float32(x)), np.exp(x), rtol=3e-7)
    np.testing.assert_allclose(grad(grad(op.expm1))(np.float32(x)), np.exp(x), rtol=3e-7)
