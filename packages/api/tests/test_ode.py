"""laminax.experimental.ode against solutions in closed form, and derivatives against differences."""

import numpy as np
import pytest

import laminax
import laminax.numpy as jnp
from laminax.experimental.ode import odeint
from laminax.testing import check_grads

TIMES = np.array([0.0, 0.3, 1.0, 2.5])


@pytest.fixture(autouse=True)
def double_precision():
    with laminax.enable_x64(True):
        yield


def test_solutions():
    y = odeint(lambda y, t: -y, 1.0, TIMES)
    np.testing.assert_allclose(y, np.exp(-TIMES), rtol=1e-7)
    y = odeint(lambda y, t, w: {"x": y["v"], "v": -w ** 2 * y["x"]}, {"x": 1.0, "v": np.zeros(())}, TIMES, 3.0)
    np.testing.assert_allclose(y["x"], np.cos(3 * TIMES), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(y["v"], -3 * np.sin(3 * TIMES), rtol=1e-6, atol=1e-6)
    y = odeint(lambda y, t: jnp.cos(t) * y, np.array([1.0, 2.0]), TIMES)
    np.testing.assert_allclose(y, np.exp(np.sin(TIMES))[:, None] * [1, 2], rtol=1e-7)
    y = odeint(lambda y, t: 1j * y, 1 + 0j, TIMES)
    np.testing.assert_allclose(y, np.exp(1j * TIMES), rtol=1e-7)


def test_tolerances_and_steps():
    loose = np.asarray(odeint(lambda y, t: -y, 1.0, TIMES, rtol=1e-3, atol=1e-3))
    assert 1e-8 < abs(loose - np.exp(-TIMES)).max() < 1e-2
    assert abs(np.asarray(odeint(lambda y, t: -y, 1.0, TIMES, mxstep=1)) - np.exp(-TIMES)).max() > 1e-3
    short = np.asarray(odeint(lambda y, t: -y, 1.0, TIMES, rtol=1e-3, atol=1e-3, hmax=0.02))
    assert abs(short - np.exp(-TIMES)).max() < 1e-9


def test_derivatives_by_the_adjoint_equation():
    scale = jnp.array([0.5, 1.5])

    def solve(y0, ts, w):
        return odeint(lambda y, t, w: -w * y * scale + jnp.sin(t), y0, ts, w)  # scale is closed over
    check_grads(solve, (np.array([1.0, 2.0]), TIMES, 0.7), order=1, modes=["rev"], rtol=1e-5, atol=1e-5)
    gradient = laminax.jit(laminax.grad(lambda s: odeint(lambda y, t: s * y, 1.0, TIMES)[-1]))(0.4)
    np.testing.assert_allclose(gradient, 2.5 * np.exp(0.4 * 2.5), rtol=1e-6)


def test_second_derivatives_by_the_adjoint_of_the_adjoint():
    def last(y0, end, k):
        return odeint(lambda y, t, k: -k * y, y0, jnp.array([0.0, 1.0]) * end, k)[-1]

    y0, end, k = 1.3, 0.8, 0.6  # y0 exp(-k end)
    second = laminax.jacrev(laminax.jacrev(last, (0, 1, 2)), (0, 1, 2))(y0, end, k)
    y = y0 * np.exp(-k * end)
    expected = [[0, -k * y / y0, -end * y / y0], [-k * y / y0, k**2 * y, (k * end - 1) * y], [-end * y / y0, (k * end - 1) * y, end**2 * y]]
    np.testing.assert_allclose(np.array(second), expected, rtol=1e-5, atol=1e-6)


def test_integer_arguments_and_vmap():
    y = laminax.grad(lambda y0: odeint(lambda y, t, n: -n * y, y0, TIMES, 2)[-1])(1.0)
    np.testing.assert_allclose(y, np.exp(-5.0), rtol=1e-6)
    rates = np.array([0.5, 1.0, 3.0])
    y = laminax.vmap(lambda r: odeint(lambda y, t: -r * y, 1.0, TIMES))(rates)
    np.testing.assert_allclose(y, np.exp(-np.outer(rates, TIMES)), rtol=1e-6)


@pytest.mark.parametrize("call, message", [
    (lambda: odeint(lambda y, t, f: -y, 1.0, TIMES, "x"), "must be arrays or scalars, got <class 'str'>"),
    (lambda: odeint(lambda y, t: -y, 1.0, 2.0), "t must be a vector of times"),
    (lambda: odeint(lambda y, t: jnp.ones(2) * y, 1.0, TIMES), "func must return a value like y0"),
])
def test_refusals(call, message):
    with pytest.raises(TypeError, match=message):
        call()
