"""How many bytes derivatives keep between the forward and the backward pass, counted by hand."""

from __future__ import annotations

import numpy as np
import pytest

import laminax
import laminax.numpy as jnp
from laminax import nn
from laminax.ad_checkpoint import saved_residuals

N = 1024
ARRAY, MASK, SCALAR = 4 * N, N, 4


def kept(fun, *args) -> int:
    """The bytes of what is saved for the derivative, arguments among it."""
    return sum(int(np.prod(aval.shape)) * aval.dtype.itemsize for aval, _ in saved_residuals(fun, *args))


def x() -> np.ndarray:
    return np.linspace(0.1, 0.9, N, dtype=np.float32)


@pytest.mark.parametrize("fun, expected", [
    (jnp.tanh, ARRAY),  # 1 - y**2
    (nn.tanh, ARRAY),
    (nn.gelu, 4 * ARRAY),  # x, the weight that x gets, 1 - tanh**2, and 3 x**2
    (nn.log1mexp, ARRAY),  # exp(x) - 1
    (nn.softmax, ARRAY + SCALAR),  # the exponentials and their sum
    (lambda x: x / jnp.linalg.norm(x), ARRAY + 2 * SCALAR),  # x, the norm, and half its inverse
    (lambda x: x / jnp.sum(x), ARRAY + SCALAR),
    (lambda x: jnp.hypot(2 * x, 3 * x), 2 * ARRAY),  # the direction
    (lambda x: jnp.abs(jnp.sin(x)), MASK + ARRAY),  # which are not negative, and the cosine
    (nn.relu, MASK),  # which are positive; the zeros for the others are made again
    (nn.elu, MASK + ARRAY),  # and exp(x)
    (nn.selu, MASK + ARRAY),
    (nn.celu, 3 * ARRAY),  # exp of the negative part over alpha, and how max and min share the derivative
    (jnp.spacing, 0),
    (lambda x: jnp.floor_divide(x, 0.3 * x), 0),
    (lambda x: jnp.linspace(x, 2 * x, 50), 2 * 49 * SCALAR),  # how much of either end there is in each number
    (lambda x: jnp.var(x, where=x > 0.5), MASK + ARRAY + SCALAR * 2 + 1),  # the mask, twice x - mean, two counts, and whether there is any
    (jnp.nanvar, 2 * MASK + ARRAY + SCALAR * 2 + 1),  # the two masks are each other's opposites
], ids=["numpy.tanh", "nn.tanh", "gelu", "log1mexp", "softmax", "normalized", "over sum", "hypot", "abs", "relu", "elu", "selu", "celu",
        "spacing", "floor_divide", "linspace", "var", "nanvar"])
def test_what_a_derivative_keeps(fun, expected):
    assert kept(fun, x()) <= expected


def test_what_vjp_of_a_jitted_function_holds_is_what_is_said_to_be_kept():
    _, vjp = laminax.vjp(laminax.jit(lambda x: nn.selu(2 * x)), x())
    assert sum(leaf.nbytes for leaf in laminax.tree_util.tree_leaves(vjp)) == MASK + ARRAY


@pytest.mark.parametrize("number", [1e-25, 1.0, 1e25])
def test_a_quotient_by_a_number_has_its_derivative_where_the_number_squared_is_no_number(number):
    values, y = x() * number, np.float32(number)
    np.testing.assert_allclose(laminax.grad(lambda y: jnp.sum(values / y))(y) * y, -np.sum(x()), rtol=1e-5)  # -sum(x) / y**2, times y**2


@pytest.mark.parametrize("point", [(3.0, 4.0), (-5.0, 5.0), (5.0, 5.0), (1e-30, 1e-30), (1e30, 1e30), (2e-25, -1e-25), (0.0, 3.0)])
def test_hypot_has_the_derivatives_of_a_length(point):
    """Those of sqrt(x**2 + y**2) by the rule of powers, in float64; second ones were 0 in a tie, and infinite for small numbers."""
    a, b = np.float64(np.float32(point))
    length = np.hypot(a, b)
    first = laminax.grad(jnp.hypot, (0, 1))(*np.float32(point))
    np.testing.assert_allclose(first, [a / length, b / length], rtol=4e-7)
    second = laminax.hessian(jnp.hypot, (0, 1))(*np.float32(point))
    expected = np.array([[(b / length)**2, -a / length * b / length], [-a / length * b / length, (a / length)**2]]) / length
    np.testing.assert_allclose(np.float64(second), expected, rtol=3e-6)


def test_hypot_has_no_derivative_at_the_origin_and_that_of_its_direction_at_infinity():
    slope = laminax.grad(jnp.hypot, (0, 1))
    assert np.isnan(slope(0.0, 0.0)).all()
    np.testing.assert_array_equal(slope(np.inf, 1.0), [np.nan, 0.0])  # the angle is 0, its cosine inf / inf


def test_log1mexp_has_the_derivatives_of_its_formula_everywhere():
    points = np.array([1e-3, 0.5, 0.69, 0.7, 3.0, 20.0])
    first = laminax.vmap(laminax.grad(nn.log1mexp))(np.float32(points))
    np.testing.assert_allclose(first, 1 / np.expm1(np.float64(np.float32(points))), rtol=4e-7)
    second = laminax.vmap(laminax.grad(laminax.grad(nn.log1mexp)))(np.float32(points))
    p = np.float64(np.float32(points))
    np.testing.assert_allclose(second, -np.exp(p) / np.expm1(p)**2, rtol=2e-6)
    assert laminax.grad(nn.log1mexp)(0.0) == np.inf and laminax.grad(nn.log1mexp)(np.float32(np.inf)) == 0


def test_what_is_constant_between_steps_has_derivative_zero_also_where_there_is_no_step():
    for x1, x2 in [(7.0, 2.0), (7.0, 0.0), (np.inf, 2.0), (np.nan, 1.0)]:  # the second one had infinite derivatives
        assert laminax.grad(jnp.floor_divide, (0, 1))(np.float32(x1), np.float32(x2)) == (0, 0)
    assert laminax.grad(jnp.spacing)(np.float32(3)) == 0  # it was -1


def test_what_is_saved_of_functions_of_scalars_can_be_seen_and_changed():
    """Scalars too, which are numbers in the pullback's program; the 2 of the function itself is none."""
    for of in (lambda f: f, laminax.jit):
        run = of(lambda x: laminax.vjp(lambda x: 2 * jnp.sin(x), x)[1])(3.0)
        np.testing.assert_allclose([float(value) for value in run.opaque_residuals], [np.cos(3.0)], rtol=1e-6)
        run.opaque_residuals = [jnp.float32(0.25)]
        assert run(1.0)[0] == 0.5


def test_a_program_without_its_constants_is_not_run():
    closed = laminax.make_jaxpr(lambda x: x * np.arange(3.0))(1.0)
    assert laminax.core.eval_jaxpr(closed.jaxpr, closed.consts, 2.0)[0].tolist() == [0, 2, 4]
    with pytest.raises(TypeError, match="eval_jaxpr: the jaxpr has 1 constants, got the values of 0"):
        laminax.core.eval_jaxpr(closed.jaxpr, [], 2.0)
