"""Solvers differentiated through the equation they solve.

Oracles: `numpy.linalg.solve` and closed formulas for values, central differences for derivatives, a loop for vmap.
"""

from __future__ import annotations

import numpy as np
import pytest
from numeric_checks import check_derivatives, check_vmap

from laminax_ir.ops import elementwise as op
from laminax_ir.ops.contraction import dot
from laminax_ir.ops.linalg import cholesky, triangular_solve
from laminax_ir.ops.linear_solve import custom_linear_solve_p
from laminax_ir.ops.loops import while_loop
from laminax_ir.ops.reduction import reduce_sum
from laminax_ir.ops.shape import expand_dims, squeeze, transpose
from laminax_ir.ops.slicing import slice_in_dim
from laminax_ir.options.config import check, check_leaks, enable_x64
from laminax_ir.programs.check import check_jaxpr
from laminax_ir.programs.jaxpr import ClosedJaxpr
from laminax_ir.recording.staging import stage
from laminax_ir.reference.evaluate import evaluate
from laminax_ir.types.avals import ShapedArray, get_aval
from laminax_ir.types.errors import JaxprTypeError, ShapeError
from laminax_transforms import grad, jvp, vjp, vmap
from laminax_transforms.custom.custom_solve import custom_linear_solve, custom_root


@pytest.fixture(autouse=True)
def x64_and_checked():
    with enable_x64(), check():
        yield


rng = np.random.default_rng(0)
A = rng.normal(size=(3, 3)) + 4 * np.eye(3)
B = rng.normal(size=3)


def jacobi(matvec, diagonal, b):
    """Solves a diagonally dominant system by iteration: a while loop, which reverse mode cannot go through."""
    def step(state):
        x, _ = state
        update = op.div(op.sub(b, matvec(x)), diagonal)
        return op.add(x, update), reduce_sum(op.abs(update), axes=(0,))
    return while_loop(lambda state: state[1] > 1e-13, step, (b * 0.0, np.float64(1.0)))[0]


def solve(a, b):
    diagonal = reduce_sum(a * np.eye(3), axes=(1,))
    return custom_linear_solve(lambda x: dot(a, x), b, lambda mv, b: jacobi(mv, diagonal, b),
                               lambda vm, b: jacobi(vm, diagonal, b))


def test_values_and_derivatives_of_both_modes_through_a_while_loop():
    np.testing.assert_allclose(solve(A, B), np.linalg.solve(A, B), rtol=1e-10)
    check_derivatives(solve, A, B)


@pytest.mark.parametrize("in_axes", [(0, 0), (0, None), (None, 0), (2, 1)])
def test_vmap_is_a_loop(in_axes):
    batches = np.stack([A, A + 0.3, A.T], in_axes[0] or 0), np.stack([B, 2 * B, B - 1], in_axes[1] or 0)
    check_vmap(solve, [x if axis is not None else one for x, one, axis in zip(batches, (A, B), in_axes)], in_axes)


def test_gradient_of_a_batch():
    bs = np.stack([B, 2 * B])
    got = grad(lambda a: reduce_sum(vmap(solve, in_axes=(None, 0))(a, bs), axes=(0, 1)))(A)
    # d/dA of sum(A^-1 b) is -A^-T 1 x^T, summed over the batch
    expected = -sum(np.outer(np.linalg.solve(A.T, np.ones(3)), np.linalg.solve(A, b)) for b in bs)
    np.testing.assert_allclose(got, expected, rtol=1e-8)


def test_a_symmetric_solve_needs_no_transpose():
    spd = A @ A.T

    def direct(a, b):
        a = (a + transpose(a, (1, 0))) * 0.5

        def by_cholesky(_matvec, b):
            factor = cholesky(a)
            half = triangular_solve(factor, expand_dims(b, (1,)), left_side=True, lower=True)
            return squeeze(triangular_solve(factor, half, left_side=True, lower=True, transpose_a=True), (1,))

        return custom_linear_solve(lambda x: dot(a, x), b, by_cholesky, by_cholesky, symmetric=True)

    np.testing.assert_allclose(direct(spd, B), np.linalg.solve(spd, B), rtol=1e-10)
    check_derivatives(direct, spd, B)


def test_auxiliary_results_have_no_derivative():
    def f(a, b):
        return custom_linear_solve(lambda x: a * x, b, lambda mv, b: (b / a, {"steps": np.int32(7), "b": b}),
                                   lambda mv, b: (b / a, {"steps": np.int32(1), "b": b}), has_aux=True)

    (x, aux), (x_dot, aux_dot) = jvp(f, (2.0, 3.0), (0.0, 1.0))
    assert (float(x), int(aux["steps"]), float(x_dot), float(aux_dot["b"])) == (1.5, 7, 0.5, 0.0)
    np.testing.assert_allclose(grad(lambda b: f(np.float64(2.0), b)[0])(3.0), 0.5)
    x, aux = vmap(f, in_axes=(None, 0))(2.0, np.array([1.0, 2.0]))
    np.testing.assert_array_equal(aux["b"], [1, 2])
    np.testing.assert_array_equal(x, [0.5, 1])


def test_pytrees():
    b = {"u": B, "v": np.float64(3.0)}
    matrix = lambda x: {"u": x["u"] * 2.0, "v": x["v"] * 4.0}  # noqa: E731
    inverse = lambda _, b: {"u": b["u"] / 2.0, "v": b["v"] / 4.0}  # noqa: E731
    x, pullback = vjp(lambda b: custom_linear_solve(matrix, b, inverse, inverse), b)
    np.testing.assert_allclose(x["u"], B / 2)
    (ct,) = pullback({"u": np.ones(3), "v": np.float64(1.0)})
    np.testing.assert_allclose(ct["u"], 0.5)
    np.testing.assert_allclose(ct["v"], 0.25)


def test_reverse_mode_without_transpose_solve_says_what_is_missing():
    f = lambda b: custom_linear_solve(lambda x: 2.0 * x, b, lambda _, b: b / 2.0)  # noqa: E731
    np.testing.assert_allclose(jvp(f, (3.0,), (1.0,))[1], 0.5)
    with pytest.raises(TypeError, match="transpose_solve required"):
        grad(f)(3.0)


def test_the_solver_of_a_symmetric_map_solves_with_its_transpose_too():
    symmetric = A + A.T
    f = lambda b: custom_linear_solve(lambda x: dot(symmetric, x), b, lambda _, b: dot(np.linalg.inv(symmetric), b), symmetric=True)  # noqa: E731
    np.testing.assert_allclose(vjp(f, B)[1](A[0])[0], np.linalg.solve(symmetric, A[0]), rtol=1e-10)


@pytest.mark.parametrize("matvec, solver, error, message", [
    (lambda x: slice_in_dim(x, 0, 2), lambda _, b: b, ValueError, r"matvec\(\) output shapes must be .* f64\[3\]; got f64\[2\]"),
    (lambda x: (x, x), lambda _, b: b, TypeError, r"matvec\(\) output pytree structure must be that of its argument, .*\*.*got .*\(\*, "
                                                  r"\*\)"),
    (lambda x: x, lambda _, b: op.convert_element_type(b, np.float32), TypeError,
     r"solve\(\) output dtypes must be .* f64\[3\]; got f32\[3\]"),
    (3.0, lambda _, b: b, TypeError, "matvec must be a function, got 3.0"),
])
def test_malformed_calls(matvec, solver, error, message):
    with pytest.raises(error, match=message):
        custom_linear_solve(matvec, B, solver)
    with pytest.raises(TypeError, match=r"transpose_solve\(\) output pytree"):
        custom_linear_solve(lambda x: x, B, lambda _, b: b, lambda _, b: [b])


def test_a_solver_must_return_a_pair_with_has_aux():
    with pytest.raises(TypeError, match=r"solve must return a pair \(solution, aux\)"):
        custom_linear_solve(lambda x: x, B, lambda _, b: b, has_aux=True)


def test_the_checker_and_the_shape_rule_refuse_programs_that_do_not_fit():
    closed = stage(lambda a, b: [solve(a, b)], [get_aval(A), get_aval(B)])
    (eqn,) = [eqn for eqn in closed.eqns if eqn.primitive is custom_linear_solve_p]
    check_jaxpr(closed)
    jaxprs = eqn.params["jaxprs"]
    scalar = stage(lambda *args: [reduce_sum(args[-1], axes=(0,))], jaxprs.matvec.in_avals)
    for wrong, message in [(jaxprs._replace(matvec=scalar), "matvec returns"), (jaxprs._replace(solve=None), "solve is missing"),
                           (jaxprs._replace(vecmat=jaxprs.solve), "vecmat takes")]:
        broken = [e.replace(params={**e.params, "jaxprs": wrong}) if e is eqn else e for e in closed.eqns]
        with pytest.raises(JaxprTypeError, match=message):
            check_jaxpr(ClosedJaxpr(closed.jaxpr.replace(eqns=broken), closed.consts))
        with pytest.raises(ShapeError, match=f"custom_linear_solve: {message}"):
            custom_linear_solve_p.shape_rule(*[v.aval for v in eqn.invars], **{**eqn.params, "jaxprs": wrong})


# custom_root


def newton(f, x):
    def step(state):
        x, _ = state
        value, slope = jvp(f, (x,), (op.add(op.mul(x, 0.0), 1.0),))
        return op.sub(x, op.div(value, slope)), value
    return while_loop(lambda state: op.abs(state[1]) > 1e-13, step, (x, np.float64(1.0)))[0]


def cube_root(a):
    return custom_root(lambda x: x * x * x - a, np.float64(1.0), newton, lambda g, y: y / g(1.0))


def test_a_root_is_differentiated_by_the_implicit_function_theorem():
    np.testing.assert_allclose(cube_root(np.float64(8.0)), 2.0, rtol=1e-12)
    np.testing.assert_allclose(grad(cube_root)(8.0), 1 / 12, rtol=1e-10)  # a^(-2/3) / 3
    np.testing.assert_allclose(grad(grad(cube_root))(8.0), -2 / 9 * 8.0 ** (-5 / 3), rtol=1e-10)
    check_derivatives(cube_root, np.float64(3.0))
    check_vmap(cube_root, [np.array([1.0, 8.0, 27.0])], (0,))
    np.testing.assert_allclose(vmap(grad(cube_root))(np.array([1.0, 8.0])), [1 / 3, 1 / 12], rtol=1e-10)


def test_a_root_of_a_system_with_auxiliary_data():
    def f(a):
        def residual(x):
            return dot(a, x) + x * x * x - B

        def solver(f, x0):
            x = x0
            for _ in range(60):
                x = x - f(x) * 0.15
            return x, np.int32(60)

        def tangent_solve(g, y):
            return custom_linear_solve(g, y, lambda mv, b: _gradient_descent(mv, b), lambda mv, b: _gradient_descent(mv, b))

        return custom_root(residual, np.zeros(3), solver, tangent_solve, has_aux=True)

    root, steps = f(A)
    assert steps == 60
    np.testing.assert_allclose(A @ root + root ** 3, B, atol=1e-8)
    check_derivatives(lambda a: f(a)[0], A, order=1, rtol=1e-4, atol=1e-5)


def _gradient_descent(matvec, b):
    x = b * 0.0
    for _ in range(60):
        x = x + (b - matvec(x)) * 0.15
    return x


def test_the_initial_guess_has_no_derivative():
    f = lambda x0: custom_root(lambda x: x * 2.0 - 1.0, x0, lambda f, x: x - f(x) / 2.0, lambda g, y: y / g(1.0))  # noqa: E731
    assert float(grad(f)(3.0)) == 0.0


def test_a_root_function_of_another_shape_is_refused():
    with pytest.raises(ValueError, match=r"custom_root: f\(\) output shapes must be those of its argument, f64\[2\]; got f64\[1\]"):
        custom_root(lambda x: slice_in_dim(x, 0, 1), np.zeros(2), lambda f, x: x, lambda g, y: y)
    with pytest.raises(TypeError, match=r"tangent_solve\(\) output pytree structure must be that of the root"):
        custom_root(lambda x: x, np.zeros(2), lambda f, x: x, lambda g, y: [y])


def test_the_rule_of_a_recorded_root_does_not_keep_its_constants():
    """It used to: leak checking took the values that the function closes over for leaks."""
    def root(a):
        return custom_root(lambda x: x ** 2 - a, 1.0, lambda f, x: op.sqrt(a), lambda g, y: y / g(1.0))

    with check_leaks():
        closed = stage(lambda a: [grad(root)(a)], [ShapedArray((), np.float64)])
    np.testing.assert_allclose(evaluate(closed, np.float64(4.0))[0], 0.25)
