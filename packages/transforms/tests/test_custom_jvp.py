"""`custom_jvp` on pytrees: whose rule runs, what it meets, what it may return.

Rules are wrong on purpose by a factor, so that one sees whether they ran; expected values are closed formulas with that factor.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from custom_rule_cases import WRAPPINGS, X, jit, scaled_product, total, x64_and_checked  # noqa: F401  (x64_and_checked: for all tests here)

from laminax_ir.ops import elementwise as op
from laminax_transforms import SymbolicZero, custom_jvp, custom_vjp, grad, jvp, linearize, vmap
from laminax_transforms.custom.custom_batching import custom_vmap


@pytest.mark.parametrize("wrap", WRAPPINGS.values(), ids=WRAPPINGS)
def test_the_rule_of_custom_jvp_is_used_everywhere(wrap):
    f = wrap(scaled_product())
    x, y = 0.3, 2.0
    want = 10 * np.cos(x) * y, np.sin(x)
    np.testing.assert_allclose(f(x, y), np.sin(x) * y)
    np.testing.assert_allclose(grad(f, (0, 1))(x, y), want)
    np.testing.assert_allclose(jvp(f, (x, y), (1.0, 3.0))[1], want[0] + 3 * want[1])
    np.testing.assert_allclose(linearize(f, x, y)[1](1.0, 3.0), want[0] + 3 * want[1])
    np.testing.assert_allclose(vmap(grad(f), (0, None))(X, y), 10 * np.cos(X) * y)
    np.testing.assert_allclose(grad(lambda v: total(vmap(f, (0, None))(v, y)))(X), 10 * np.cos(X) * y)
    np.testing.assert_allclose(vmap(lambda v, t: jvp(f, (v, y), (t, 0.0))[1])(X, X), 10 * np.cos(X) * y * X)
    np.testing.assert_allclose(grad(grad(f))(x, y), -10 * np.sin(x) * y)


def test_keyword_arguments_and_defaults_are_resolved():
    @custom_jvp
    def f(x, scale=3.0):
        return x * scale

    f.defjvps(lambda t, result, x, scale: 100.0 * scale * t, None)
    assert float(f(2.0)) == 6 and float(f(scale=1.0, x=2.0)) == 2
    assert float(grad(lambda x: f(x))(2.0)) == 300 and float(grad(lambda x: f(scale=1.0, x=x))(2.0)) == 100
    with pytest.raises(TypeError, match=r"input arguments to the custom_jvp-decorated function f\(x, scale=3.0\).*\n.*unexpected keyword"):
        f(2.0, other=1)


@pytest.mark.parametrize("decorator", [custom_jvp, custom_vjp, custom_vmap])
def test_arguments_without_a_position_are_refused(decorator):
    @decorator
    def f(x, y, *, z=None):
        return x

    f.jvp = f.fwd = f.bwd = f.vmap_rule = print
    of_f = rf"The input arguments to the {decorator.__name__}-decorated function f\(x, y, \*, z=None\).*\n"
    with pytest.raises(TypeError, match=of_f + "missing a required argument: 'y'"):
        f(1.0)
    with pytest.raises(TypeError, match=of_f + "The following keyword arguments could not be resolved to positions: z"):
        f(1.0, 2.0, z=3.0)


def test_a_parameter_without_a_position_keeps_its_default():
    def f(x, *, factor=2.0):
        return x * factor

    forward = custom_jvp(f)
    forward.defjvp(lambda primals, tangents: (forward(*primals), 7.0 * tangents[0]))
    backward = custom_vjp(f)
    backward.defvjp(lambda x: (f(x), None), lambda _, ct: (5.0 * ct,))
    assert float(forward(3.0)) == float(backward(3.0)) == 6
    assert float(grad(forward)(3.0)) == 7 and float(grad(backward)(3.0)) == 5


def test_a_partial_function_is_one_of_the_arguments_that_are_left():
    f = custom_jvp(partial(lambda x, y, a: x + y * a, a=3.0))
    f.defjvp(lambda primals, tangents: (f(*primals), 10.0 * tangents[1]))
    assert float(f(1.0, 2.0)) == 7 and [float(g) for g in grad(f, (0, 1))(1.0, 2.0)] == [0, 10]
    with pytest.raises(TypeError, match="could not be resolved to positions: y"):
        f(1.0, y=2.0)


def test_defjvps_sums_over_arguments():
    @custom_jvp
    def f(x, y):
        return x * x * y

    f.defjvps(lambda t, result, x, y: 20.0 * x * y * t, lambda t, result, x, y: result / y * t)
    np.testing.assert_allclose(grad(f, (0, 1))(3.0, 2.0), (120.0, 9.0))
    f.defjvps(None, None)
    np.testing.assert_allclose(grad(f, (0, 1))(3.0, 2.0), (0.0, 0.0))


def test_arguments_that_are_not_differentiated_come_first():
    @partial(custom_jvp, nondiff_argnums=(0, 2))
    def apply(fun, x, n):
        return fun(x) * n

    @apply.defjvp
    def apply_jvp(fun, n, primals, tangents):
        return apply(fun, primals[0], n), 7.0 * n * tangents[0]

    assert float(grad(lambda x: apply(op.sin, x, 3))(0.5)) == 21
    np.testing.assert_array_equal(vmap(grad(lambda x: apply(op.sin, x, 3)))(X), [21, 21, 21])
    assert float(jit(lambda x, n: grad(lambda v: apply(op.sin, v, n))(x))(0.5, 3.0)) == 21  # a traced one is a constant
    assert float(grad(lambda n: apply(op.sin, 0.5, n))(3.0)) == 0

    @partial(custom_jvp, nondiff_argnames="n")
    def named(x, n):
        return x * n

    named.defjvp(lambda n, primals, tangents: (named(primals[0], n), 7.0 * tangents[0]))
    assert float(grad(lambda x: named(x, n=3))(0.5)) == 7
    with pytest.raises(ValueError, match=r"nondiff_argnames \['m'\] are not parameters of .*\['x'\]"):
        custom_jvp(lambda x: x, nondiff_argnames="m")
    with pytest.raises(TypeError, match="defjvps does not support nondiff_argnums"):
        named.defjvps(None)


@pytest.mark.parametrize("wrap", [lambda f: f, jit], ids=["", "jit"])
def test_symbolic_zeros_of_custom_jvp(wrap):
    seen = []

    @custom_jvp
    def f(x, y):
        return x * y, y

    def rule(primals, tangents):
        seen.append([type(t) is SymbolicZero for t in tangents])
        (x, y), (x_dot, y_dot) = primals, tangents
        terms = [t * v for t, v in ((x_dot, y), (y_dot, x)) if type(t) is not SymbolicZero]
        assert all((t.shape, t.dtype) == ((), np.dtype(float)) for t in tangents)
        return f(x, y), (sum(terms[1:], terms[0]), y_dot)

    f.defjvp(rule, symbolic_zeros=True)
    assert float(grad(wrap(lambda x: f(x, 2.0)[0]))(3.0)) == 2 and seen.pop() == [False, True]
    assert float(jvp(wrap(lambda y: f(3.0, y)[0]), (2.0,), (1.0,))[1]) == 3 and seen.pop() == [True, False]
    assert float(jvp(wrap(lambda x: f(x, 2.0)[1]), (2.0,), (1.0,))[1]) == 0
    np.testing.assert_array_equal(vmap(grad(wrap(lambda x: f(x, 2.0)[0])))(X), [2, 2, 2])


def test_pytrees_and_integers():
    @custom_jvp
    def f(tree, n):
        return {"product": tree["a"] * tree["b"] * n, "count": n}

    @f.defjvp
    def f_jvp(primals, tangents):
        assert tangents[1].dtype == np.dtype([("float0", "V")]) or "float0" in str(tangents[1].dtype)
        out = f(*primals)
        return out, {"product": 100.0 * tangents[0]["a"], "count": tangents[1]}

    gradient = grad(lambda tree: f(tree, 3)["product"])({"a": 2.0, "b": 5.0})
    assert (float(gradient["a"]), float(gradient["b"])) == (100, 0)


@pytest.mark.parametrize("rule, error, message", [
    (lambda p, t: p[0], TypeError, r"rule <lambda> for function twice must produce a pair .*, but got 1.0"),
    (lambda p, t: (p[0], (t[0],)), TypeError, r"<lambda> for function twice must produce primal and tangent outputs with equal "
                                              r"container.*\*.*\(\*,\)"),
    (lambda p, t: (p[0], np.ones(3)), TypeError,
     r"Expected float64\[\] \(tangent type of float64\[\]\) but got float64\[3\].*for function twice"),
    (lambda p, t: (p[0], np.float32(1)), TypeError, r"Expected float64\[\] .* but got float32\[\]"),
    (lambda p, t: (p[0], None), TypeError, "equal container"),
    (lambda p, t: (p[0], t[0] * t[0]), TypeError, "mul: both operands depend on the tangents.*must be linear"),
], ids=range(6))
def test_what_a_jvp_rule_must_not_return(rule, error, message):
    @custom_jvp
    def twice(x):
        return x * 2.0

    twice.defjvp(rule)
    with pytest.raises((error, NotImplementedError), match=message):
        grad(twice)(1.0)


def test_misuse_of_custom_functions():
    with pytest.raises(AttributeError, match="No JVP defined for custom_jvp function .* using defjvp"):
        custom_jvp(lambda x: x)(1.0)
    with pytest.raises(AttributeError, match="No VJP defined for custom_vjp function .* using defvjp"):
        custom_vjp(lambda x: x)(1.0)
    with pytest.raises(TypeError, match=r"custom_jvp f: the argument\[0\] is not an array: 'text'.*nondiff_argnums"):
        scaled_product()("text", 1.0)
