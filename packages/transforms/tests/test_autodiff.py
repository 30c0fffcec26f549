"""`jvp`, `linearize`, `vjp`, `grad`, `value_and_grad`, `linear_transpose` on pytrees: results, nesting, and what they refuse.

Oracles: closed formulas, central differences, and the algebra of derivatives.
"""

from __future__ import annotations

import weakref

import numpy as np
import pytest
from numeric_checks import check_derivatives

from laminax_ir.ops import elementwise as op
from laminax_ir.ops.contraction import dot
from laminax_ir.ops.reduction import reduce_sum
from laminax_ir.options.config import check_leaks, enable_x64
from laminax_ir.pytrees.pytree import tree_flatten, tree_map, tree_unflatten
from laminax_ir.recording.staging import stage
from laminax_ir.reference.evaluate import evaluate
from laminax_ir.types import dtypes
from laminax_ir.types.avals import ShapedArray, get_aval
from laminax_ir.types.errors import ConcretizationTypeError, LeakedTracerError
from laminax_transforms import custom_vjp, fwd_and_bwd, grad, jacfwd, jacrev, jvp, linear_transpose, linearize, value_and_grad, vjp, vmap
from laminax_transforms.differentiation.differentiation import linear_program_of


@pytest.fixture(autouse=True)
def x64():
    with enable_x64():
        yield


def total(x):
    return reduce_sum(x, tuple(range(len(x.shape))))


X = np.array([0.3, -1.2, 2.0])


def loss(params, batch):
    hidden = op.tanh(params["w"] * batch["x"] + params["b"])
    return total(hidden * hidden)


@pytest.mark.parametrize("wrong", ["batch", 3])
@pytest.mark.parametrize("transform", [
    lambda axes: grad(op.sin, reduce_axes=axes), lambda axes: value_and_grad(op.sin, reduce_axes=axes),
    lambda axes: vjp(op.sin, 1.0, reduce_axes=axes), lambda axes: linear_transpose(op.neg, 1.0, reduce_axes=axes)])
def test_reduce_axes_is_a_sequence_of_names(transform, wrong):
    with pytest.raises(TypeError, match=f"reduce_axes must be a sequence of axis names, .*got {wrong!r}"):
        transform(wrong)


PARAMS = {"w": np.array([0.5, -1.0, 2.0]), "b": np.array(0.1)}
BATCH = {"x": X}


def loss_by_hand(params, batch):
    h = np.tanh(params["w"] * batch["x"] + params["b"])
    outer = 2 * h * (1 - h * h)
    return np.sum(h * h), {"w": outer * batch["x"], "b": np.sum(outer)}


# Results


def test_grad_has_the_structure_of_its_argument():
    gradient = grad(loss)(PARAMS, BATCH)
    _, want = loss_by_hand(PARAMS, BATCH)
    assert sorted(gradient) == ["b", "w"]
    for key in want:
        np.testing.assert_allclose(gradient[key], want[key], rtol=1e-12)
        assert np.shape(gradient[key]) == np.shape(PARAMS[key])


@pytest.mark.parametrize("argnums, count", [(0, None), (1, None), ((0, 1), 2), ([1], 1), ((-1, 0), 2), (np.int64(1), None)])
def test_argnums(argnums, count):
    def f(x, y):
        return total(x * x * y)

    x, y = X, X + 5
    want = [2 * x * y, x * x]
    got = grad(f, argnums)(x, y)
    if count is None:
        np.testing.assert_allclose(got, want[argnums])
    else:
        assert isinstance(got, tuple) and len(got) == count
        for i, g in zip(argnums, got):
            np.testing.assert_allclose(g, want[i])


def test_value_and_grad_and_aux():
    value, gradient = value_and_grad(loss)(PARAMS, BATCH)
    want_value, want = loss_by_hand(PARAMS, BATCH)
    np.testing.assert_allclose(value, want_value)
    np.testing.assert_allclose(gradient["w"], want["w"])

    def with_aux(x):
        return total(x * x), {"twice": 2 * x, "note": "text", "none": None}

    (value, aux), gradient = value_and_grad(with_aux, has_aux=True)(X)
    np.testing.assert_allclose(gradient, 2 * X)
    assert type(aux["twice"]) is np.ndarray and aux["note"] == "text"
    np.testing.assert_allclose(aux["twice"], 2 * X)
    gradient, aux = grad(with_aux, has_aux=True)(X)
    np.testing.assert_allclose(aux["twice"], 2 * X)


@pytest.mark.parametrize("transform", [
    lambda f: jvp(f, (X,), (X,), has_aux=True)[-1], lambda f: vjp(f, X, has_aux=True)[-1],
    lambda f: linearize(f, X, has_aux=True)[-1], lambda f: grad(lambda x: (total(f(x)[0]), f(x)[1]), has_aux=True)(X)[-1],
], ids=["jvp", "vjp", "linearize", "grad"])
def test_auxiliary_data_are_values_not_tracers(transform):
    """They came back as tracers of the finished trace once."""
    aux = transform(lambda x: (x * x, (op.sin(x), 3)))
    assert type(aux[0]) is np.ndarray and aux[1] == 3
    np.testing.assert_allclose(aux[0], np.sin(X))


def test_jvp_and_vjp_are_adjoint():
    rng = np.random.default_rng(0)

    def f(tree):
        return {"out": op.sin(tree["a"]) * tree["b"], "same": tree["a"]}, total(tree["b"])

    primal = {"a": X, "b": rng.normal(size=3)}
    tangent = tree_map(lambda x: rng.normal(size=np.shape(x)), primal)
    result, out_tangent = jvp(f, (primal,), (tangent,))
    same, pullback = vjp(f, primal)
    ct = tree_map(lambda x: np.asarray(rng.normal(size=np.shape(x))), result)
    (primal_ct,) = pullback(ct)
    pairing = lambda a, b: sum(np.sum(x * y) for x, y in zip(tree_flatten(a)[0], tree_flatten(b)[0]))  # noqa: E731
    np.testing.assert_allclose(pairing(ct, out_tangent), pairing(primal_ct, tangent), rtol=1e-12)
    assert tree_flatten(result)[1] == tree_flatten(out_tangent)[1] == tree_flatten(same)[1]


def test_linearize_is_jvp_at_a_point():
    value, f_jvp = linearize(loss, PARAMS, BATCH)
    tangents = (tree_map(np.ones_like, PARAMS), tree_map(np.ones_like, BATCH))
    want_value, want = jvp(loss, (PARAMS, BATCH), tangents)
    np.testing.assert_allclose(value, want_value)
    np.testing.assert_allclose(f_jvp(*tangents), want)


def test_the_pullback_is_a_pytree_of_residuals():
    def f(x, y):
        return op.sin(x) * y

    result, pullback = vjp(f, X, X + 1)
    leaves, treedef = tree_flatten(pullback)
    assert leaves and all(isinstance(leaf, np.ndarray) for leaf in leaves)
    doubled = tree_unflatten(treedef, [2 * leaf for leaf in leaves])
    plain, scaled = pullback(np.ones(3)), doubled(np.ones(3))
    np.testing.assert_allclose(plain[0], np.cos(X) * (X + 1))
    assert not np.allclose(plain[0], scaled[0])


def test_what_linearize_and_linear_transpose_return_are_pytrees_of_residuals():
    for function, argument, want in [(linearize(lambda x: op.sin(x) * X, X)[1], X, X * X * np.cos(X)),
                                     (linear_transpose(lambda x: x * (X + 1), X), X, (X * (X + 1),))]:
        leaves, treedef = tree_flatten(function)
        assert leaves and all(isinstance(leaf, np.ndarray) for leaf in leaves)
        np.testing.assert_allclose(tree_unflatten(treedef, leaves)(argument), want)
        again, same = tree_flatten(tree_unflatten(treedef, [0 * leaf for leaf in leaves]))
        assert same == treedef and not any(np.any(leaf) for leaf in again)


def test_a_pullback_takes_one_cotangent():
    def pair(x):
        return x, 2 * x

    _, pullback = vjp(pair, 1.0)
    with pytest.raises(TypeError, match="returned by vjp applied to pair was called with 2 arguments; it takes one, .*If the result is a "
                                        "tuple"):
        pullback(1.0, 1.0)


def test_linear_transpose():
    def f(x, y):
        return 3.0 * x + op.neg(y), total(x)

    cts = linear_transpose(f, X, ShapedArray((3,), np.dtype(float)))((np.array([1.0, 2, 3]), np.array(10.0)))
    np.testing.assert_allclose(cts[0], 3 * np.array([1.0, 2, 3]) + 10)
    np.testing.assert_allclose(cts[1], [-1, -2, -3])


@pytest.mark.parametrize("x", [2.0, np.float32(2), np.array(2.0, np.float16), 2 + 0j], ids=repr)
def test_gradients_have_the_dtype_of_the_argument(x):
    holomorphic = isinstance(x, complex)
    gradient = grad(lambda v: v * v, holomorphic=holomorphic)(x)
    assert np.asarray(gradient).dtype == np.asarray(x).dtype and complex(gradient) == 4


def test_the_derivative_of_a_real_function_of_a_complex_number():
    """df/dx - i df/dy, the convention that JAX documents."""
    z = 0.5 + 1.5j
    gradient = grad(lambda v: op.real(v * v * v))(z)
    want = 3 * z**2  # f = Re z^3: df/dx = Re 3z^2, df/dy = -Im 3z^2
    np.testing.assert_allclose(gradient, want)


def test_integers_have_float0_tangents():
    (value, tangent) = jvp(lambda x, n: x * op.convert_element_type(n, float), (2.0, 3), (1.0, np.zeros((), dtypes.float0)))
    assert (float(value), float(tangent)) == (6.0, 3.0)
    _, pullback = vjp(lambda x, n: x * op.convert_element_type(n, float), 2.0, np.array([1, 2]))
    x_ct, n_ct = pullback(np.ones(2))
    assert float(x_ct) == 3.0 and n_ct.dtype == dtypes.float0 and n_ct.shape == (2,)
    gradient = grad(lambda n: op.convert_element_type(n, float) * 2, allow_int=True)(3)
    assert gradient.dtype == dtypes.float0
    _, out_tangent = jvp(lambda x: op.convert_element_type(x, np.int32), (2.5,), (1.0,))
    assert out_tangent.dtype == dtypes.float0


def test_unused_forwarded_and_constant_values():
    def f(x, unused):
        return x, 7.0, op.sin(1.0), x

    result, pullback = vjp(f, X, X)
    x_ct, unused_ct = pullback((np.ones(3), np.array(1.0), np.array(1.0), 2 * np.ones(3)))
    np.testing.assert_array_equal(x_ct, 3 * np.ones(3))
    np.testing.assert_array_equal(unused_ct, np.zeros(3))
    _, tangents = jvp(f, (X, X), (X, X))
    np.testing.assert_array_equal(tangents[0], X)
    assert float(tangents[1]) == float(tangents[2]) == 0


def test_a_value_used_many_times_collects_its_cotangents():
    def f(x):
        y = op.sin(x)
        return total(y * y + y + 2.0 * y)

    np.testing.assert_allclose(grad(f)(X), (2 * np.sin(X) + 3) * np.cos(X), rtol=1e-12)


# Nesting


def test_high_orders():
    f = lambda x: op.sin(x) * x  # noqa: E731
    derivative, x = f, 0.7
    for order in range(5):
        # (x sin x)^(n) = x sin(x + n pi/2) + n sin(x + (n-1) pi/2)
        want = x * np.sin(x + order * np.pi / 2) + order * np.sin(x + (order - 1) * np.pi / 2)
        np.testing.assert_allclose(derivative(x), want, rtol=1e-12)
        derivative = grad(derivative)


def test_all_orders_of_nesting_agree():
    def f(x):
        return total(op.exp(op.sin(x)) * x)

    v = np.array([1.0, -0.5, 2.0])
    forward_over_reverse = jvp(grad(f), (X,), (v,))[1]
    reverse_over_forward = grad(lambda x: jvp(f, (x,), (v,))[1])(X)
    reverse_over_reverse = grad(lambda x: total(grad(f)(x) * v))(X)
    s, c = np.sin(X), np.cos(X)
    want = np.exp(s) * ((c * c - s) * X + 2 * c) * v  # (x e^s)'' = e^s ((c^2 - s) x + 2c)
    for got in (forward_over_reverse, reverse_over_forward, reverse_over_reverse):
        np.testing.assert_allclose(got, want, rtol=1e-12)
    check_derivatives(f, X)


def test_perturbation_confusion():
    """d/dx [x * d/dy (x + y)] = 1: the tangents of the two levels must not be mixed up."""
    assert float(grad(lambda x: x * grad(lambda y: x + y)(1.0))(1.0)) == 1.0
    assert float(jvp(lambda x: x * jvp(lambda y: x + y, (1.0,), (1.0,))[1], (1.0,), (1.0,))[1]) == 1.0
    assert float(grad(lambda x: x * jvp(lambda y: x * y, (3.0,), (1.0,))[1])(5.0)) == 10.0
    assert float(jvp(lambda x: x * grad(lambda y: x * y)(3.0), (5.0,), (1.0,))[1]) == 10.0
    assert float(grad(lambda x: grad(lambda y: x * x * y * y)(x))(3.0)) == 3 * 2 * 9  # d/dx 2 x^2 * x = 6 x^2


def test_a_closed_over_outer_value_is_differentiated():
    def f(x):
        inner = grad(lambda y: total(op.sin(x) * y * y))(X)  # 2 y sin x
        return total(inner)

    np.testing.assert_allclose(grad(f)(X), 2 * X * np.cos(X), rtol=1e-12)


def test_vmap_of_grad_is_a_loop():
    def f(w, x):
        return total(op.tanh(w * x))

    w, xs = np.random.default_rng(0).normal(size=(2, 4, 3))
    got = vmap(grad(f))(w, xs)
    np.testing.assert_allclose(got, [grad(f)(a, b) for a, b in zip(w, xs)], rtol=1e-12)
    np.testing.assert_allclose(vmap(grad(f), in_axes=(None, 0))(w[0], xs), [grad(f)(w[0], b) for b in xs], rtol=1e-12)
    per_example = grad(lambda a: total(vmap(f)(a, xs)))(w)
    np.testing.assert_allclose(per_example, got, rtol=1e-12)


def test_staged_derivatives_are_the_eager_ones():
    closed = stage(lambda x: [grad(lambda y: total(op.sin(y) * y))(x), *jvp(op.tanh, (x,), (2 * x,))], [ShapedArray((3,), np.dtype(float))])
    got = evaluate(closed, X)
    np.testing.assert_allclose(got[0], np.cos(X) * X + np.sin(X))
    np.testing.assert_allclose(got[2], 2 * X / np.cosh(X) ** 2)


def test_python_control_flow_on_values_works_outside_staging():
    def f(x):
        return x * x if x > 0 else -x

    assert float(grad(f)(3.0)) == 6.0 and float(grad(f)(-3.0)) == -1.0
    assert float(grad(lambda x: x ** int(x))(2.0)) == 4.0
    with pytest.raises(ConcretizationTypeError, match=r"float\(\) of it would leave its derivative out"):
        grad(lambda x: x * float(x))(2.0)


# Errors


@pytest.mark.parametrize("argnums", [{0}, 0.0, "0", (0, 1.5), None, True], ids=repr)
def test_argnums_of_another_type(argnums):
    with pytest.raises(TypeError, match="argnums must be an integer or a tuple or list of integers, got"):
        grad(lambda x: x, argnums)


def test_argnums_out_of_range():
    with pytest.raises(TypeError, match=r"grad\(f\): differentiating with respect to argnums=2 requires at least 3 positional arguments.* "
                                        r"but got only 1"):
        def f(x, y=1, z=2):
            return x
        grad(f, 2)(1.0)


def test_results_that_are_not_scalars():
    with pytest.raises(TypeError, match=r"(?s)only defined for scalar-output functions.*shape: \(3,\).*grad\(f\).*jacrev"):
        def f(x):
            return x * 2
        grad(f)(X)
    with pytest.raises(TypeError, match="(?s)only defined for scalar-output functions.*has_aux=True"):
        grad(lambda x: (total(x), x))(X)
    with pytest.raises(TypeError, match=r"requires real-valued outputs.*got int64\."):
        grad(lambda x: op.convert_element_type(total(x), np.int64))(X)
    with pytest.raises(TypeError, match="requires real-valued outputs.*holomorphic=True"):
        grad(lambda z: z * z)(1 + 1j)
    with pytest.raises(TypeError, match="the result of f.* is not an array: got 'text'"):
        def f(x):
            return "text"
        grad(f)(1.0)


def test_arguments_that_cannot_be_differentiated():
    with pytest.raises(TypeError, match=r"requires real- or complex-valued inputs.*got int64: argument 0 is i64\[\].*allow_int"):
        grad(lambda x: x * 1.0)(3)
    with pytest.raises(TypeError, match=r"argument 1\['n'\] is i64\[2\]"):
        grad(lambda x, t: x, argnums=(0, 1))(1.0, {"n": np.array([1, 2])})
    with pytest.raises(TypeError, match=r"argument 0\['name'\], 'relu' of type <class 'str'> is not a valid JAX type"):
        grad(lambda t: t["w"])({"w": 1.0, "name": "relu"})
    with pytest.raises(TypeError, match=r"argument 0, array\(\[1, 2\], dtype=object\) of type .* is not a valid JAX type"):
        grad(lambda x: x)(np.array([1, 2], dtype=object))
    with pytest.raises(TypeError, match="holomorphic=True requires inputs with complex dtype"):
        grad(lambda x: x, holomorphic=True)(1.0)
    with pytest.raises(TypeError, match="grad: Expected a callable value, got 3"):
        grad(3)
    with pytest.raises(TypeError, match="with has_aux=True, .* must return a pair .*, a two-element tuple, got"):
        grad(lambda x: x, has_aux=True)(1.0)


@pytest.mark.parametrize("primals, tangents, error, message", [
    (1.0, 1.0, TypeError, "must be tuples or lists; found float and float"),
    ((1.0,), [1.0], TypeError, "must have the same tree structure; primals is a tuple .* tangents is a list"),
    ((1.0,), (1.0, 2.0), TypeError, "must have the same tree structure"),
    (({"w": X},), ({"w": X[:2]},), ValueError, r"different primal and tangent shapes\. tangents\[0\]\['w'\]: a tangent must have the shape "
                                               r"and dtype of its primal, f64\[3\]; got f64\[2\]"),
    ((X,), (X.astype(np.float32),), TypeError, r"do not match\..*f64\[3\]; got f32\[3\]"),
    ((np.array([1, 2]),), (np.array([1, 2]),), TypeError, r"the tangent of i64\[2\] must be float0\[2\]"),
    (("text",), ("text",), TypeError, r"primals\[0\] is not an array: got 'text'"),
], ids=range(7))
def test_jvp_refuses_tangents_that_do_not_fit(primals, tangents, error, message):
    with pytest.raises(error, match=message):
        jvp(lambda x: x, primals, tangents)


def test_vjp_refuses_cotangents_that_do_not_fit():
    _, pullback = vjp(lambda x: {"y": x * 2, "z": x}, X)
    with pytest.raises(ValueError, match="unexpected tree structure: the cotangent must have the structure of the function's result"):
        pullback(X)
    with pytest.raises(ValueError, match=r"unexpected JAX type: the cotangent\['z'\] must have the shape and dtype of the result, "
                                         r"f64\[3\]; got f64\[2\]"):
        pullback({"y": X, "z": X[:2]})


def test_a_linearized_function_refuses_tangents_that_do_not_fit():
    _, f_jvp = linearize(lambda t: t["w"] * 2, {"w": X})
    with pytest.raises(TypeError, match="linearized function: the tangents must have the structure"):
        f_jvp({"w": X}, X)
    with pytest.raises(ValueError, match=r"tangent values inconsistent with the original.*tangents\[0\]\['w'\]: .* f64\[3\]; got f64\[1\]"):
        f_jvp({"w": X[:1]})
    with pytest.raises(ValueError, match=r"f64\[3\]; got f32\[3\]"):
        f_jvp({"w": X.astype(np.float32)})


@pytest.mark.parametrize("call", [
    lambda: jvp(lambda t: t["w"][0], ({"w": [X, X]},), ({"w": [X, {"b": X}]},)),
    lambda: vjp(lambda x: {"w": [x, x]}, X)[1]({"w": [X, {"b": X}]}),
    lambda: linearize(lambda t: t["w"][0], {"w": [X, X]})[1]({"w": [X, {"b": X}]}),
    lambda: linear_transpose(lambda x: {"w": [x, x]}, X)({"w": [X, {"b": X}]}),
], ids=["jvp", "vjp", "linearize", "linear_transpose"])
def test_another_structure_of_tangents_or_cotangents_is_shown_by_its_path(call):
    with pytest.raises((TypeError, ValueError), match=r"must have the .*structure.*\['w'\]\[1\] is a leaf.*\['w'\]\[1\] is a dict.*'b'"):
        call()


def test_functions_that_are_not_linear_are_not_transposed():
    with pytest.raises((TypeError, NotImplementedError), match="sin"):
        linear_transpose(op.sin, X)(X)
    for to_integers, x in ((lambda x: op.convert_element_type(x, np.float64), np.array([1, 2])),
                           (lambda x: op.convert_element_type(x, np.int64), X)):
        with pytest.raises(TypeError, match=r"only supports .* integer -> integer functions, but <lambda> is \['(int|float)64'\] -> "
                                            r"\['(int|float)64'\]"):
            linear_transpose(to_integers, x)
    with pytest.raises(TypeError, match=r"linear_transpose: cotangent type does not match: the cotangent\['y'\] must have the shape and "
                                        r"dtype of the result, f64\[3\]; got f64\[2\]"):
        linear_transpose(lambda x: {"y": 2.0 * x}, X)({"y": X[:2]})


def test_linear_functions_of_integers_are_transposed():
    matrix = np.array([[1, 2, 3], [-4, 5, 6]])
    (ct,) = linear_transpose(lambda x: dot(matrix, x), np.array([0, 0, 0]))(np.array([7, -1]))
    np.testing.assert_array_equal(ct, matrix.T @ [7, -1])
    assert ct.dtype == np.int64


def test_forward_and_backward_pass_as_two_functions():
    def f(tree, n, w, *, scale=1.0):
        return {"y": scale * n * tree["x"] * w}, {"aux": n}

    fwd, bwd = fwd_and_bwd(f, (2, 0), has_aux=True)
    y, residuals, aux = fwd({"x": X}, 3, 2.0, scale=0.5)
    np.testing.assert_array_equal(y["y"], 3 * X)
    w_ct, tree_ct = bwd(residuals, {"y": np.ones(3)})
    np.testing.assert_allclose(w_ct, 1.5 * X.sum())
    np.testing.assert_allclose(tree_ct["x"], [3, 3, 3])
    assert aux == {"aux": 3}
    fwd, bwd = fwd_and_bwd(op.sin, -1)
    assert bwd(fwd(0.5)[1], 2.0) == 2 * np.cos(0.5)


def test_the_residuals_of_a_forward_pass_are_arguments_of_the_backward_pass():
    """The backward pass is staged on their avals, once for all values."""
    fwd, bwd = fwd_and_bwd(lambda x, w: op.sin(x * w), (0, 1))
    leaves, tree = tree_flatten(fwd(X, 2.0)[1])
    staged = stage(lambda ct, *values: tree_flatten(bwd(tree_unflatten(tree, values), ct))[0], [get_aval(X), *map(get_aval, leaves)])
    other_leaves, other_tree = tree_flatten(fwd(X + 1, 3.0)[1])
    x_ct, w_ct = evaluate(staged, np.ones(3), *other_leaves)
    np.testing.assert_allclose(x_ct, 3 * np.cos(3 * (X + 1)))
    np.testing.assert_allclose(w_ct, np.sum((X + 1) * np.cos(3 * (X + 1))))


def test_forward_and_backward_pass_check_their_arguments():
    with pytest.raises(TypeError, match="fwd_and_bwd: Expected a callable value, got 3"):
        fwd_and_bwd(3, 0)
    with pytest.raises(TypeError, match="fwd_and_bwd: argnums must be an integer"):
        fwd_and_bwd(op.sin, "x")
    with pytest.raises(ValueError, match="argnums=3 requires at least 4 positional arguments .* but got only 1 positional"):
        fwd_and_bwd(op.sin, 3)[0](1.0)
    fwd, bwd = fwd_and_bwd(op.sin, 0)
    with pytest.raises(ValueError, match=r"f64\[\]; got f64\[3\]"):
        bwd(fwd(1.0)[1], X)


@pytest.mark.parametrize("transform", [grad, value_and_grad, jacfwd, jacrev])
def test_an_argument_is_differentiated_once(transform):
    with pytest.raises(TypeError, match=r"argnums=\(0, -2\) names an argument of 2 twice"):
        transform(lambda x, y: x * y, (0, -2))(1.0, 2.0)


def test_the_seed_of_a_weak_result_is_weak_in_a_rule():
    """As a literal of the program it was a NumPy scalar, which operators took for a strongly typed one."""
    @custom_vjp
    def product(x, n):
        return x * n

    product.defvjp(lambda x, n: (x * n, n), lambda n, ct: (ct * n, None))
    weak = ShapedArray((), np.float64, True), ShapedArray((), np.int64, True)
    staged = stage(lambda x, n: [grad(product)(x, n)], weak)
    assert staged.out_avals == [weak[0]]


@pytest.mark.parametrize("fun", [lambda x: total(x * X), lambda x: op.sin(x) * np.float64(2), lambda x: np.float64(3), lambda x: x * x],
                         ids=["array", "scalar", "constant", "weak"])
def test_derivatives_are_weak_where_arguments_are(fun):
    """Also where strongly typed values came into their computation; they stay strong for a strong argument."""
    for weak in (True, False):
        aval = ShapedArray((), np.float64, weak)
        for derivative in (grad(fun), lambda x: value_and_grad(fun)(x)[1], jacrev(fun)):
            assert stage(lambda x: [derivative(x)], [aval]).out_avals == [aval]  # noqa: B023
        one = np.float64(1) if weak else 1.0  # the other kind than that of the argument
        for tangent in (lambda x: jvp(op.sin, (x,), (one,))[1], lambda x: linearize(op.sin, x)[1](one)):  # noqa: B023
            assert stage(lambda x: [tangent(x)], [aval]).out_avals == [aval]  # noqa: B023


def test_a_leaked_tracer_says_where_it_was_made_and_used():
    kept = []

    def leaky(x):
        kept.append(op.sin(x))
        return total(x)

    grad(leaky)(X)

    def user():
        return op.cos(kept[0])

    with pytest.raises(LeakedTracerError, match=r"(?s)value traced by grad\(leaky\) was used after that trace had ended.*"
                                                r"float64\[3\], which was created on line test_autodiff.py:\d+ in leaky, and used at "
                                                r"test_autodiff.py:\d+ in user"):
        user()
    kept.clear()
    with check_leaks(), pytest.raises(LeakedTracerError, match=r"(?s)grad\(leaky\) is still alive.*in leaky; kept by a list"):
        grad(leaky)(X)
    with check_leaks():
        kept.clear()
        grad(lambda x: total(x * grad(lambda y: total(y * x))(x)))(X)


def test_a_failing_function_ends_its_trace():
    kept = []

    def f(x):
        kept.append(x)
        raise RuntimeError("mine")

    for transform in (lambda: grad(f)(1.0), lambda: jvp(f, (1.0,), (1.0,)), lambda: vmap(f)(X)):
        with pytest.raises(RuntimeError, match="mine"):
            transform()
        with pytest.raises(LeakedTracerError, match=r"f\) was used after that trace had ended"):
            op.sin(kept[-1])
    assert float(op.sin(0.0)) == 0  # and the evaluator is current again


def test_a_gradient_lets_residuals_go_on_its_way_back():
    class Residual(np.ndarray):
        """An array that can be referred to weakly."""

    def linear(x):
        for i in range(4):
            x = op.mul(x, np.full(3, i + 1.0, np.float32).view(Residual))
        return [x]

    ones = np.ones(3, np.float32)
    program = linear_program_of(linear, [get_aval(ones)])
    residuals = [weakref.ref(x) for x in program.residuals()]
    expected = np.full(3, 24, np.float32)
    np.testing.assert_array_equal(program.transpose([ones])[0], expected)
    assert len(residuals) == 4 and all(ref() is not None for ref in residuals)  # it may be used again
    np.testing.assert_array_equal(program.transpose([ones], used_up=True)[0], expected)
    assert all(ref() is None for ref in residuals)
