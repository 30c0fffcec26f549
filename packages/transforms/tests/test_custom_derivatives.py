"""`closure_convert`, and functions with rules of their own under other transformations and beside each other.

Rules are wrong on purpose by a factor, so that one sees whether they ran; expected values are closed formulas with that factor.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from custom_rule_cases import X, jit, total, x64_and_checked  # noqa: F401  (x64_and_checked: for all tests here)

from laminax_ir.ops import collectives, loops
from laminax_ir.ops import elementwise as op
from laminax_ir.options.config import check_leaks
from laminax_ir.recording.staging import stage
from laminax_ir.reference.evaluate import evaluate
from laminax_ir.types.avals import ShapedArray
from laminax_transforms import closure_convert, custom_jvp, custom_vjp, grad, jvp, stop_gradient, vjp, vmap
from laminax_transforms.custom.custom_batching import custom_vmap

# closure_convert


def test_closure_convert_makes_closed_over_values_arguments():
    def integrate(fun, x):
        converted, consts = closure_convert(fun, x)
        return with_rule(converted, x, *consts)

    @partial(custom_vjp, nondiff_argnums=(0,))
    def with_rule(fun, x, *consts):
        return fun(x, *consts)

    def fwd(fun, x, *consts):
        return fun(x, *consts), (x, consts)

    def bwd(fun, res, ct):
        x, consts = res
        return tuple(10.0 * c for c in vjp(fun, x, *consts)[1](ct))

    with_rule.defvjp(fwd, bwd)
    want = 10 * 2 * 3.0 * 2.0
    assert float(grad(lambda w: integrate(lambda x: x * w * w, 2.0))(3.0)) == want
    closed = stage(lambda w: [grad(lambda v: integrate(lambda x: x * v * v, 2.0))(w)], [ShapedArray((), np.dtype(float))])
    assert float(evaluate(closed, 3.0)[0]) == want
    np.testing.assert_allclose(vmap(grad(lambda w: integrate(lambda x: x * w * w, 2.0)))(X), 40 * X)


def test_closure_convert_hoists_only_what_can_be_differentiated():
    converted, consts = closure_convert(lambda x: {"out": x * X}, 2.0)
    assert consts == []
    np.testing.assert_allclose(converted(3.0)["out"], 3 * X)

    def check_hoisted(n, w):
        converted, consts = closure_convert(lambda x: x * op.convert_element_type(n, float) * w, 2.0)
        assert len(consts) == 1
        with pytest.raises(TypeError, match="The inputs to the closure produced by closure_convert must have the structure"):
            converted((2.0, 3.0), *consts)
        with pytest.raises(TypeError, match="followed by the 1 values that it closed over"):
            converted(2.0, consts, *consts)
        return [converted(4.0, *consts)]

    closed = stage(check_hoisted, [ShapedArray((), np.dtype(np.int64)), ShapedArray((), np.dtype(float))])
    assert float(evaluate(closed, 3, 5.0)[0]) == 60


def test_stop_gradient_of_pytrees():
    assert stop_gradient({"x": 3.0, "n": 2, "none": None}) == {"x": 3.0, "n": 2, "none": None}
    with pytest.raises(TypeError, match=r"stop_gradient: x\['name'\] is not .*'text' of type str"):
        stop_gradient({"x": 3.0, "name": "text"})
    assert float(grad(lambda x: x * stop_gradient({"x": x})["x"])(3.0)) == 3
    assert float(jvp(stop_gradient, (3.0,), (1.0,))[1]) == 0
    assert vmap(grad(lambda x: x * stop_gradient(x)))(X).tolist() == X.tolist()


# Values that are mapped outside


@pytest.mark.parametrize("decorate", ["jvp", "vjp"])
def test_functions_and_rules_close_over_mapped_values(decorate):
    """The function is called on values that are not mapped, or on some that are; what it closed over once counted as leaked."""
    def scaled(factor, y):
        if decorate == "jvp":
            f = custom_jvp(lambda y: factor * op.sin(y))
            f.defjvp(lambda primals, tangents: (f(*primals), 10.0 * factor * op.cos(primals[0]) * tangents[0]))
        else:
            f = custom_vjp(lambda y: factor * op.sin(y))
            f.defvjp(lambda y: (f(y), (factor, y)), lambda res, ct: (10.0 * res[0] * op.cos(res[1]) * ct,))
        return f(y)

    mapped, nested = vmap(scaled, (0, None)), vmap(vmap(scaled, (None, 0)), (0, None))
    for wrap in (lambda f: f, jit):
        np.testing.assert_allclose(wrap(mapped)(X, 0.3), X * np.sin(0.3))
        np.testing.assert_allclose(vmap(lambda a, y: wrap(lambda y: scaled(a, y))(y))(X, X), X * np.sin(X))
        np.testing.assert_allclose(wrap(nested)(X, X), np.outer(X, np.sin(X)))
        np.testing.assert_allclose(wrap(grad(lambda y: total(mapped(X, y))))(0.3), 10 * np.sum(X) * np.cos(0.3))
        np.testing.assert_allclose(wrap(grad(lambda y: total(nested(X, y))))(X), 10 * np.sum(X) * np.cos(X))
        np.testing.assert_allclose(vmap(lambda a: wrap(grad(lambda y: scaled(a, y)))(0.3))(X), 10 * X * np.cos(0.3))


def test_a_traced_argument_that_is_not_differentiated_may_be_mapped():
    @partial(custom_jvp, nondiff_argnums=(0,))
    def f(n, x):
        return n * x

    f.defjvp(lambda n, primals, tangents: (f(n, *primals), 7.0 * n * tangents[0]))
    np.testing.assert_allclose(jvp(lambda x: vmap(f)(X, x), (X,), (X,))[1], 7 * X * X)
    np.testing.assert_allclose(vmap(grad(lambda n, x: f(n, x), 1), (0, None))(X, 2.0), 7 * X)


@pytest.mark.parametrize("decorate", ["jvp", "vjp"])
def test_a_call_that_depends_on_no_example_stays_one_call(decorate):
    """Its result, and the cotangent of its operand, have no mapped axis: the cotangent is not counted once per example."""
    if decorate == "jvp":
        f = custom_jvp(lambda x: collectives.psum(x, "i"))
        f.defjvp(lambda primals, tangents: (f(*primals), 10.0 * tangents[0]))
    else:
        f = custom_vjp(lambda x: collectives.psum(x, "i"))
        f.defvjp(lambda x: (f(x), None), lambda _, ct: (10.0 * ct,))
    shared = vmap(lambda _, x: f(x), in_axes=(0, None), out_axes=None, axis_name="i")
    assert float(shared(X, 2.0)) == 6
    assert float(grad(lambda x: shared(X, x))(2.0)) == 10
    assert float(grad(lambda x: jit(lambda x: shared(X, x))(x))(2.0)) == 10


# Several kinds of rules


def test_a_function_has_rules_of_several_kinds_in_any_order_of_the_decorators():
    @custom_vjp
    @custom_vmap
    def f(x):
        return op.sin(x)

    @custom_vmap
    @custom_jvp
    def g(x):
        return op.sin(x)

    f.def_vmap(lambda size, mapped, x: (3.0 * op.sin(x), mapped[0]))
    f.defvjp(lambda x: (op.sin(x), x), lambda x, ct: (10.0 * ct * op.cos(x),))
    g.def_vmap(lambda size, mapped, x: (3.0 * op.sin(x), mapped[0]))
    g.defjvp(lambda primals, tangents: (op.sin(*primals), 10.0 * tangents[0] * op.cos(*primals)))
    for h in (f, g):
        assert h.__name__ in ("f", "g") and float(h(0.5)) == np.sin(0.5)
        np.testing.assert_allclose(vmap(h)(X), 3 * np.sin(X))
        np.testing.assert_allclose(grad(h)(0.5), 10 * np.cos(0.5))
        with pytest.raises(AttributeError, match="object has no attribute 'def_transposed'"):
            h.def_transposed  # noqa: B018


# What rules hold on to


@pytest.mark.parametrize("transformed", [
    lambda f: lambda x: f(x[0]), lambda f: lambda x: grad(f)(x[0]), lambda f: vmap(f), lambda f: vmap(grad(f)),
    lambda f: lambda x: grad(lambda y: total(vmap(f)(y)))(x), lambda f: lambda x: jit(vmap(grad(f)))(x)])
@pytest.mark.parametrize("decorate", ["jvp", "vjp"])
def test_the_rules_of_a_recorded_call_do_not_keep_its_operands(transformed, decorate):
    """They used to: the equation of a call in the body of a scan kept that body's tracers, which counted as leaks."""
    if decorate == "jvp":
        sine = custom_jvp(lambda x: op.sin(x))
        sine.defjvp(lambda primals, tangents: (sine(*primals), tangents[0] * op.cos(*primals)))
    else:
        sine = custom_vjp(lambda x: op.sin(x))
        sine.defvjp(lambda x: (sine(x), x), lambda x, ct: (ct * op.cos(x),))

    def looped(x):
        return loops.scan(lambda c, a: (sine(c) * a, None), x, np.ones(3))[0]

    def plain(x):
        return op.sin(op.sin(op.sin(x)))

    with check_leaks():
        found = transformed(looped)(X)
    np.testing.assert_allclose(found, transformed(plain)(X), rtol=1e-12)
