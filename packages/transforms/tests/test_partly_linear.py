"""Derivative rules that compute a value and its tangent in one call."""

from __future__ import annotations

import numpy as np
import pytest

from laminax_ir.ops import control_flow, loops, reduction
from laminax_ir.ops import elementwise as op
from laminax_ir.ops.calls import call_jaxpr
from laminax_ir.options.config import enable_x64
from laminax_ir.recording.staging import stage
from laminax_ir.types.avals import get_aval
from laminax_transforms import checkpoint, custom_jvp, grad, jvp, linearize, vmap


@pytest.fixture(autouse=True, scope="module")
def x64():
    with enable_x64():
        yield


def jit(fun):
    return lambda *args: call_jaxpr(stage(lambda *xs: [fun(*xs)], [get_aval(x) for x in args], "f"), *args, name="f")[0]


def scanned(x):
    """x passed three times through sin, with a counter beside it that has no tangent."""
    (y, _), _ = loops.scan(lambda carry, _: ((op.sin(carry[0]), op.add(carry[1], 1)), None), (x, 0), length=3)
    return y


def chosen(x):
    return control_flow.cond(op.gt(x, 0.0), op.sin, op.cos, x)


FUNCTIONS = {
    "jit": (jit(op.sin), np.sin, np.cos),
    "nested": (jit(lambda x: op.mul(jit(op.sin)(x), x)), lambda x: np.sin(x) * x, lambda x: np.cos(x) * x + np.sin(x)),
    "checkpoint": (checkpoint(op.sin), np.sin, np.cos),
    "scan": (scanned, lambda x: np.sin(np.sin(np.sin(x))),
             lambda x: np.cos(np.sin(np.sin(x))) * np.cos(np.sin(x)) * np.cos(x)),
    "cond": (chosen, lambda x: np.where(x > 0, np.sin(x), np.cos(x)), lambda x: np.where(x > 0, np.cos(x), -np.sin(x))),
}
X = np.array([0.3, -0.8, 1.1])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_rule_may_batch_forward_mode_of_a_call(name):
    # `vmap` binds one call that gives the values and the tangents; on the tape of a linear program the values were taken
    # for tangents, and came out as tracers.
    fun, value, derivative = FUNCTIONS[name]

    @custom_jvp
    def mapped(x):
        return vmap(fun)(x)

    @mapped.defjvp
    def mapped_jvp(primals, tangents):
        return vmap(lambda x, t: jvp(fun, (x,), (t,)))(*primals, *tangents)

    def total(x):
        return reduction.reduce_sum(mapped(x), (0,))

    np.testing.assert_allclose(mapped(X), value(X))
    np.testing.assert_allclose(grad(total)(X), derivative(X))
    result, pushforward = linearize(mapped, X)
    np.testing.assert_allclose(result, value(X))
    np.testing.assert_allclose(pushforward(np.ones(3)), derivative(X))
    np.testing.assert_allclose(grad(lambda x: jit(total)(x))(X), derivative(X))
    second = jvp(grad(total), (X,), (np.ones(3),))[1]
    step = 1e-6
    np.testing.assert_allclose(second, (derivative(X + step) - derivative(X - step)) / (2 * step), rtol=1e-6)
