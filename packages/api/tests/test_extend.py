"""An operation of the user's own, with every rule, through every transformation."""

import numpy as np
import pytest

import laminax
import laminax.numpy as jnp
from laminax import extend

cube_p = extend.Primitive("cube_of_tests")


def cube(x):
    return cube_p.bind(x)


@extend.shape_rule(cube_p)
def _cube_shape(x):
    return x


@extend.lowering_rule(cube_p)
def _lower_cube(ctx, x):
    return ctx.emit("stablehlo.multiply", [x, ctx.emit("stablehlo.multiply", [x, x])])


@extend.reference_rule(cube_p)
def _cube_of_numpy(x):
    return x ** 3


extend.define_jvp(cube_p, lambda tangent, result, x: tangent * (3 * x * x))


@extend.batching_rule(cube_p)
def _cube_batch(operands, batch_axes):
    return cube_p.bind(*operands), batch_axes[0]


def test_a_primitive_evaluates_compiles_differentiates_and_maps():
    x = np.linspace(-2, 2, 5, dtype=np.float32)
    np.testing.assert_allclose(cube(jnp.array(x)), x ** 3, rtol=1e-6)
    np.testing.assert_allclose(laminax.jit(cube)(x), x ** 3, rtol=1e-6)
    np.testing.assert_allclose(laminax.vmap(laminax.grad(cube))(x), 3 * x ** 2, rtol=1e-6)
    np.testing.assert_allclose(laminax.jit(laminax.vmap(laminax.grad(laminax.grad(cube))))(x), 6 * x, rtol=1e-6)


def test_a_primitive_shows_in_the_jaxpr():
    assert "cube_of_tests a" in str(laminax.make_jaxpr(cube)(1.0))


def test_a_missing_rule_is_named():
    plain_p = extend.Primitive("plain_of_tests")
    extend.shape_rule(plain_p)(lambda x: x)
    with pytest.raises(NotImplementedError, match="Lowering rule for primitive 'plain_of_tests' not found"):
        laminax.jit(plain_p.bind)(1.0)
    with pytest.raises(NotImplementedError, match="Differentiation rule for 'plain_of_tests' not implemented"):
        laminax.make_jaxpr(laminax.grad(plain_p.bind))(1.0)


def test_a_second_rule_is_refused():
    with pytest.raises(ValueError, match="cube_of_tests: a second"):
        extend.lowering_rule(cube_p)(lambda ctx, x: x)


def test_a_jaxpr_can_be_run_and_checked():
    closed = laminax.make_jaxpr(lambda x, y: (jnp.sin(x) * y, y))(1.0, 2.0)
    laminax.core.check_jaxpr(closed)
    np.testing.assert_allclose(laminax.core.jaxpr_as_fun(closed)(0.5, 3.0)[0], np.sin(0.5) * 3, rtol=1e-6)
    np.testing.assert_allclose(laminax.core.eval_jaxpr(closed.jaxpr, closed.consts, 0.5, 3.0)[1], 3.0)
