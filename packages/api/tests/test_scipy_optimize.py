"""laminax.scipy.optimize against minima in closed form and SciPy's."""

import numpy as np
import pytest
import scipy.optimize

import laminax
import laminax.numpy as jnp
from laminax.scipy.optimize import minimize


@pytest.fixture(autouse=True)
def double_precision():
    with laminax.enable_x64(True):
        yield


def rosenbrock(x):
    return jnp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def test_minima():
    for fun, x0 in ((rosenbrock, np.array([-1.2, 1.0, 0.5])), (lambda x: jnp.sum(jnp.cosh(x - 1)), np.zeros(4)),
                    (lambda x: jnp.sum(x ** 4) + jnp.sum(x ** 2), np.full(2, 30.0))):
        result = minimize(fun, x0, method="BFGS", tol=1e-7)
        reference = scipy.optimize.minimize(lambda x: float(fun(jnp.asarray(x))), x0, method="BFGS", tol=1e-6)
        assert result.success and result.status == 0 and 0 < result.nit < 200 and result.nfev >= result.nit
        np.testing.assert_allclose(result.x, reference.x, atol=1e-4)
        assert np.abs(result.jac).max() < 1e-7


def test_the_hessian_of_a_quadratic_function_is_found():
    a = np.array([[3.0, 1], [1, 2]])
    result = minimize(lambda x, b: x @ jnp.asarray(a) @ x / 2 - b @ x, np.zeros(2), (np.array([1.0, 2]),), method="bfgs", tol=1e-9)
    np.testing.assert_allclose(result.x, np.linalg.solve(a, [1, 2]), atol=1e-8)
    np.testing.assert_allclose(result.hess_inv, np.linalg.inv(a), atol=1e-3)


def test_the_search_stops():
    result = minimize(rosenbrock, np.array([-1.2, 1.0]), method="BFGS", options={"maxiter": 2})
    assert not result.success and result.status == 1 and result.nit == 2
    default = minimize(rosenbrock, np.array([-1.2, 1.0]), method="BFGS", options={"maxiter": None, "norm": None})
    assert default.success and default.nit == minimize(rosenbrock, np.array([-1.2, 1.0]), method="BFGS").nit
    at_once = minimize(lambda x: jnp.sum(x ** 2), np.zeros(2), method="BFGS")
    assert at_once.success and at_once.nit == 0


def test_under_jit_and_vmap():
    starts = np.array([[-1.2, 1.0], [0.0, 0.0]])
    found = laminax.jit(laminax.vmap(lambda x: minimize(rosenbrock, x, method="BFGS").x))(starts)
    np.testing.assert_allclose(found, np.ones((2, 2)), atol=1e-3)


@pytest.mark.parametrize("call, error, message", [
    (lambda: minimize(rosenbrock, np.zeros(2), method="Nelder-Mead"), ValueError,
     "method must be 'BFGS' or 'l-bfgs-.*', got 'Nelder-Mead'"),
    (lambda: minimize(rosenbrock, np.zeros((2, 2)), method="BFGS"), ValueError, "x0 must be a vector"),
    (lambda: minimize(rosenbrock, np.zeros(2), 3, method="BFGS"), TypeError, "args 3 must be a tuple"),
    (lambda: minimize(rosenbrock, np.zeros(2), method="BFGS", options={"speed": 1}), ValueError, r"unknown options \['speed'\]"),
])
def test_refusals(call, error, message):
    with pytest.raises(error, match=message):
        call()


LIMITED = "l-bfgs-experimental-do-not-rely-on-this"


def test_minima_with_limited_memory():
    for fun, x0, options in ((rosenbrock, np.linspace(-1, 1, 6), {"maxcor": 4}),
                             (lambda x: jnp.sum(x ** 4) + jnp.sum(x ** 2), np.full(2, 30.0), {"norm": 2})):
        result = minimize(fun, x0, method=LIMITED, tol=1e-7, options={"ftol": 0.0} | options)
        reference = scipy.optimize.minimize(lambda x: float(fun(jnp.asarray(x))), x0, method="L-BFGS-B", tol=1e-12)
        assert result.success and result.status == 0 and result.hess_inv is None and 0 < result.nit < 200 * len(x0)
        np.testing.assert_allclose(result.x, reference.x, atol=1e-3)
        assert np.abs(result.jac).max() < 1e-7
    assert result.nfev < 60  # a matrix of the last steps makes few evaluations do; gradient descent takes hundreds


def test_limited_memory_that_holds_all_steps_finds_the_minimum_of_a_quadratic_function_in_few():
    """With as many pairs as axes the method ends like conjugate gradients do: Nocedal and Wright, section 7.2."""
    a = np.diag([1.0, 10, 100]) + 0.5
    result = minimize(lambda x: x @ jnp.asarray(a) @ x / 2 - x.sum(), np.zeros(3), method="L-BFGS-experimental-do-not-rely-on-this",
                      tol=1e-9, options={"ftol": 0.0})
    np.testing.assert_allclose(result.x, np.linalg.solve(a, np.ones(3)), atol=1e-9)
    assert result.nit < 20


@pytest.mark.parametrize("options, status",
                         [({"maxiter": 2}, 1), ({"maxfun": 3}, 2), ({"maxgrad": 3}, 3), ({"ftol": 1e6}, 4), ({"maxiter": 0}, 1)])
def test_why_the_search_with_limited_memory_stops(options, status):
    result = minimize(rosenbrock, np.array([-1.2, 1.0]), method=LIMITED, options=options)
    assert not result.success and result.status == status and result.fun <= rosenbrock(np.array([-1.2, 1.0]))


def test_limited_memory_under_vmap_and_from_a_minimum():
    starts = np.array([[-1.2, 1.0], [0.5, 0.5], [1.0, 1.0]])
    together = laminax.vmap(lambda x: minimize(rosenbrock, x, method=LIMITED))(starts)
    assert together.success.all() and together.nit[2] == 0
    np.testing.assert_allclose(together.x, np.ones((3, 2)), atol=1e-4)
    flat = minimize(lambda x: -jnp.abs(x).sum(), np.ones(2), method=LIMITED, options={"maxiter": 3})  # no minimum: curvature is 0
    assert not flat.success and np.isfinite(flat.x).all()


@pytest.mark.parametrize("method", ["BFGS", "l-bfgs-experimental-do-not-rely-on-this"])
@pytest.mark.parametrize("promotion", ["standard", "strict"])
def test_of_complex_vectors(method, promotion):
    goal = np.array([1.0, 2 - 3j, -5j])

    def squares(z):
        return jnp.sum(jnp.abs(z - goal) ** 2) + jnp.sum(z.real ** 4)

    def of_parts(parts):  # the same in NumPy's own numbers
        z = parts[:3] + 1j * parts[3:]
        return np.sum(np.abs(z - goal) ** 2) + np.sum(z.real ** 4)
    with laminax.numpy_dtype_promotion(promotion):
        result = laminax.jit(lambda z: minimize(squares, z, method=method, tol=1e-7))(np.full(3, 1 + 1j))
    reference = scipy.optimize.minimize(of_parts, np.ones(6), method="BFGS", tol=1e-8).x
    np.testing.assert_allclose(result.x, reference[:3] + 1j * reference[3:], atol=1e-5)
    assert result.x.dtype == result.jac.dtype == np.complex128 and result.fun.dtype == np.float64
    stopped = minimize(squares, np.full(3, 1 + 1j), method=method, options={"maxiter": 1})
    np.testing.assert_allclose(stopped.jac, laminax.grad(squares)(stopped.x), rtol=1e-9)
