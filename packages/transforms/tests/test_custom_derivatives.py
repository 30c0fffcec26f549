"""`custom_jvp`, `custom_vjp`, `custom_gradient`, `closure_convert` on pytrees: whose rule runs, what it meets, what it may return.

Rules are wrong on purpose by a factor, so that one sees whether they ran; expected values are closed formulas with that factor.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from laminax_ir.avals import ShapedArray, get_aval
from laminax_ir.config import check, check_leaks, enable_x64
from laminax_ir.dce import dce_jaxpr
from laminax_ir.errors import UnexpectedTracerError
from laminax_ir.jaxpr import eval_jaxpr
from laminax_ir.ops import collectives, control_flow, reduction
from laminax_ir.ops import elementwise as op
from laminax_ir.ops.calls import call_jaxpr
from laminax_ir.reference.evaluate import evaluate
from laminax_ir.staging import stage
from laminax_transforms import (
    SymbolicZero,
    checkpoint,
    closure_convert,
    custom_gradient,
    custom_jvp,
    custom_vjp,
    custom_vjp_primal_tree_values,
    grad,
    jacrev,
    jvp,
    linear_transpose,
    linearize,
    stop_gradient,
    vjp,
    vmap,
)
from laminax_transforms.custom_batching import custom_vmap

X = np.array([0.3, -1.2, 2.0])


@pytest.fixture(autouse=True)
def x64_and_checked():
    with enable_x64(), check():
        yield


def total(x):
    return reduction.reduce_sum(x, tuple(range(len(x.shape))))


def jit(fun):
    cache = {}

    def called(*args):
        avals = tuple(get_aval(x) for x in args)
        if avals not in cache:
            cache[avals] = stage(lambda *xs: [fun(*xs)], avals, "f")
        return call_jaxpr(cache[avals], *args, name="f")[0]

    return called


# custom_jvp


def scaled_product():
    """sin(x) y, whose derivative in x is ten times too large."""
    @custom_jvp
    def f(x, y):
        return op.sin(x) * y

    @f.defjvp
    def f_jvp(primals, tangents):
        (x, y), (x_dot, y_dot) = primals, tangents
        return f(x, y), 10.0 * op.cos(x) * y * x_dot + op.sin(x) * y_dot

    return f


WRAPPINGS = {
    "": lambda f: f, "jit": jit, "checkpoint": checkpoint, "jit jit": lambda f: jit(jit(f)), "jit checkpoint": lambda f: jit(checkpoint(f)),
    "cond": lambda f: lambda x, y: control_flow.cond(y > -1e9, f, lambda a, b: a * b, x, y),
    "scan": lambda f: lambda x, y: control_flow.scan(lambda c, _: (f(x, y), None), x * 0.0, None, length=2)[0],
}


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
    (lambda p, t: (p[0], (t[0],)), TypeError, r"<lambda> for function twice must produce primal and tangent outputs with equal container.*\*.*\(\*,\)"),
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


# custom_vjp


def scaled_vjp():
    @custom_vjp
    def f(x, y):
        return op.sin(x) * y

    f.defvjp(lambda x, y: (op.sin(x) * y, (x, y)), lambda res, ct: (10.0 * op.cos(res[0]) * res[1] * ct, op.sin(res[0]) * ct))
    return f


@pytest.mark.parametrize("wrap", WRAPPINGS.values(), ids=WRAPPINGS)
def test_the_rules_of_custom_vjp_are_used_everywhere(wrap):
    f = wrap(scaled_vjp())
    x, y = 0.3, 2.0
    np.testing.assert_allclose(f(x, y), np.sin(x) * y)
    np.testing.assert_allclose(grad(f, (0, 1))(x, y), (10 * np.cos(x) * y, np.sin(x)))
    np.testing.assert_allclose(vmap(grad(f), (0, None))(X, y), 10 * np.cos(X) * y)
    x_ct, y_ct = grad(lambda v, y: total(vmap(f, (0, None))(v, y)), (0, 1))(X, y)
    np.testing.assert_allclose(x_ct, 10 * np.cos(X) * y)
    np.testing.assert_allclose(y_ct, np.sum(np.sin(X)))
    np.testing.assert_allclose(grad(grad(f))(x, y), -10 * np.sin(x) * y)
    np.testing.assert_allclose(jacrev(jacrev(f))(x, y), -10 * np.sin(x) * y)
    with pytest.raises(TypeError, match=r"can't apply forward-mode autodiff \(jvp\) to a custom_vjp function: f"):
        jvp(f, (x, y), (1.0, 1.0))
    with pytest.raises(TypeError, match=r"can't apply forward-mode autodiff \(jvp\) to a custom_vjp function: f"):
        linearize(f, x, y)[1](1.0, 1.0)
    assert float(jvp(lambda z: f(x, y) * z, (2.0,), (1.0,))[1]) == np.sin(x) * y  # no tangent goes through it


def test_forward_mode_is_refused_where_its_tangents_are_needed():
    f = scaled_vjp()
    staged = stage(lambda x: jvp(f, (x, 2.0), (1.0, 0.0)), [get_aval(0.3)])
    assert [str(eqn.primitive) for eqn in staged.eqns][-1] == "custom_vjp_tangent"
    primal_only, _ = dce_jaxpr(staged.jaxpr, [True, False])
    np.testing.assert_allclose(eval_jaxpr(primal_only, [], 0.3)[0], np.sin(0.3) * 2)
    with pytest.raises(TypeError, match=r"can't apply forward-mode autodiff \(jvp\) to a custom_vjp function: f"):
        eval_jaxpr(staged.jaxpr, staged.consts, 0.3)
    (ct,) = linear_transpose(lambda x_dot: jvp(f, (0.3, 2.0), (x_dot, 0.0))[1], 1.0)(1.0)
    np.testing.assert_allclose(ct, 10 * np.cos(0.3) * 2)
    with pytest.raises(NotImplementedError, match="Differentiation rule for 'custom_vjp_tangent' not implemented"):
        grad(lambda x: jvp(f, (x, 2.0), (1.0, 0.0))[1])(0.3)


@pytest.mark.parametrize("optimize_remat", [False, True])
def test_what_the_forward_pass_of_a_checkpointed_call_runs(optimize_remat):
    """The forward rule, which returns another value here, or, as optimize_remat asks for, the function; and the rule only when
    residuals are needed."""
    f = custom_vjp(lambda x: op.exp(x))
    f.defvjp(lambda x: (op.sin(x), x), lambda x, ct: (10.0 * ct,), optimize_remat=optimize_remat)
    for wrap in (lambda f: f, jit):
        value, pullback = vjp(wrap(checkpoint(f)), 0.3)
        assert float(value) == (np.exp(0.3) if optimize_remat else np.sin(0.3)) and float(pullback(1.0)[0]) == 10
    assert float(vjp(f, 0.3)[0]) == np.sin(0.3)


def test_nondiff_arguments_of_custom_vjp():
    @partial(custom_vjp, nondiff_argnums=(0,))
    def apply(fun, x):
        return fun(x)

    apply.defvjp(lambda fun, x: (fun(x), x), lambda fun, x, ct: (7.0 * fun(x) * ct,))
    assert float(grad(lambda x: apply(op.sin, x))(0.5)) == 7 * np.sin(0.5)
    np.testing.assert_allclose(vmap(grad(lambda x: apply(op.sin, x)))(X), 7 * np.sin(X))
    np.testing.assert_allclose(grad(jit(lambda x: apply(op.sin, x)))(0.5), 7 * np.sin(0.5))


@pytest.mark.parametrize("wrap", [lambda f: f, jit], ids=["", "jit"])
def test_symbolic_zeros_of_custom_vjp(wrap):
    seen = []

    @custom_vjp
    def f(x, y):
        return x * y, 2.0 * y

    def fwd(x, y):
        seen.append((x.perturbed, y.perturbed))
        return (x.value * y.value, 2.0 * y.value), (x.value, y.value)

    def bwd(res, cts):
        seen.append([type(ct) is SymbolicZero for ct in cts])
        return cts[0] * res[1], cts[0] * res[0]

    f.defvjp(fwd, bwd, symbolic_zeros=True)
    assert float(grad(wrap(lambda x: f(x, 2.0)[0]))(3.0)) == 2
    assert seen == [(True, False), [False, True]]


def test_primal_tree_values_strips_the_marks_of_symbolic_zeros():
    @custom_vjp
    def f(tree):
        return tree["a"] * tree["b"]

    def fwd(tree):
        assert tree["a"].perturbed and not tree["b"].perturbed
        values = custom_vjp_primal_tree_values((tree,))[0]
        return values["a"] * values["b"], values

    f.defvjp(fwd, lambda values, ct: ({"a": 7.0 * ct * values["b"], "b": None},), symbolic_zeros=True)
    assert float(grad(lambda a: f({"a": a, "b": 3.0}))(2.0)) == 21
    with pytest.raises(TypeError, match=r"must be CustomVJPPrimal, .*\['a'\] is of type float"):
        custom_vjp_primal_tree_values({"a": 1.0})


def test_each_run_of_the_forward_rule_has_its_own_backward_rule():
    """Residuals of two runs may differ in structure; the backward rule of the first once got those of the last."""
    @custom_vjp
    def f(x, y):
        return x * y

    def fwd(x, y):
        residuals = {"y": y.value} if x.perturbed else [x.value]
        return x.value * y.value, residuals

    def bwd(residuals, ct):
        return (residuals["y"] * ct, None) if isinstance(residuals, dict) else (None, residuals[0] * ct)

    f.defvjp(fwd, bwd, symbolic_zeros=True)
    for call in (f, jit(f), vmap(f), jit(vmap(f))):
        x, c = (X, X + 5) if call is not f else (X[0], X[1])
        gradient = grad(lambda v: total(call(v, c) + 100.0 * call(c, v)))(x)  # noqa: B023
        np.testing.assert_allclose(gradient, 101 * c)


def test_none_stands_for_zeros_of_whole_arguments_and_parts():
    @custom_vjp
    def f(tree, n, unused):
        return tree["a"] * n

    f.defvjp(lambda tree, n, unused: (tree["a"] * n, n), lambda n, ct: ({"a": ct * n, "b": None}, None, None))
    tree = {"a": 2.0, "b": {"c": X, "d": [1.0]}}
    gradient = grad(f)(tree, 3, (X, X))
    assert float(gradient["a"]) == 3 and gradient["b"]["c"].tolist() == [0, 0, 0] and float(gradient["b"]["d"][0]) == 0
    assert grad(f, 2)(tree, 3, (X, X))[1].tolist() == [0, 0, 0]


def test_a_cotangent_takes_the_dtype_of_its_primal():
    @custom_vjp
    def f(x):
        return x * 2.0

    f.defvjp(lambda x: (x * 2.0, None), lambda _, ct: (op.convert_element_type(ct, np.float64) * 2.0,))
    assert grad(f)(np.float32(1)).dtype == np.float32


@pytest.mark.parametrize("fwd, bwd, error, message", [
    (lambda t: t["a"], print, TypeError, "fwd rule <lambda> for function f must produce a pair"),
    (lambda t: (t["a"], "text"), print, TypeError, "residuals must be arrays, got 'text'"),
    (lambda t: (t["a"], None), lambda r, ct: ct, TypeError, "bwd rule <lambda> .*must produce a tuple of length equal"),
    (lambda t: (t["a"], None), lambda r, ct: (ct, ct), TypeError, "bwd rule <lambda> .*must produce a tuple of length equal"),
    (lambda t: (t["a"], None), lambda r, ct: ({"b": ct},), TypeError, r"<lambda> must .*same container.*argument 0 it produced .*'b'.*'a'"),
    (lambda t: (t["a"], None), lambda r, ct: ({"a": (ct, ct)},), TypeError, "same container"),
    (lambda t: (t["a"], None), lambda r, ct: ({"a": X},), ValueError,
     r"at output\[0\]\['a'\] the bwd rule produced an output of type float64\[3\] corresponding to an input of type float64\[\]"),
    (lambda t: (t["a"], None), lambda r, ct: ({"a": 1j},), ValueError, r"an output of type complex128\[\] .* float64\[\]"),
    (lambda t: (t["a"], None), lambda r, ct: (SymbolicZero(get_aval(X)),), ValueError,
     r"SymbolicZero\(float64\[3\]\).*returning a None here"),
], ids=range(9))
def test_what_vjp_rules_must_not_return(fwd, bwd, error, message):
    @custom_vjp
    def f(tree):
        return tree["a"]

    f.defvjp(fwd, bwd)
    with pytest.raises(error, match=message):
        grad(f)({"a": 1.0})


@pytest.mark.parametrize("result, message", [
    (lambda x: (x, x),
     r"container/pytree structure:\n    \(float64\[\], float64\[\]\)\n.* had output container/pytree structure:\n    float64\[\]"),
    (lambda x: np.ones(3), r"shapes/dtypes of:\n    float64\[3\]\n.* had output shapes/dtypes of:\n    float64\[\]"),
])
def test_a_rule_with_another_result_than_the_function(result, message):
    @custom_vjp
    def f(x):
        return x

    f.defvjp(lambda x: (result(x), None), lambda r, ct: (ct,))
    with pytest.raises(TypeError, match=f"fwd rule <lambda> for function f must produce a pair .*first element had {message}"):
        grad(jit(lambda x: f(x)))(1.0)

    @custom_jvp
    def g(x):
        return x

    g.defjvp(lambda primals, tangents: (result(*primals), result(*tangents)))
    with pytest.raises(TypeError, match=f"JVP rule <lambda> for function g must produce a pair .*first element had {message}"):
        jvp(jit(lambda x: g(x)), (1.0,), (1.0,))


def test_one_cotangent_for_a_container_is_that_of_all_its_leaves():
    @custom_vjp
    def f(pair, y):
        return pair[0] * pair[1] * y

    f.defvjp(lambda pair, y: (pair[0] * pair[1] * y, y), lambda y, ct: (7.0 * ct * y, 5.0 * ct))
    assert [[float(x) for x in grad(f)((2.0, 3.0), 4.0)], float(grad(f, 1)((2.0, 3.0), 4.0))] == [[28, 28], 5]


def test_custom_vjp_refuses_traced_arguments_that_are_not_differentiated():
    @partial(custom_vjp, nondiff_argnums=(0,))
    def f(options, x):
        return options["scale"] * x

    f.defvjp(lambda options, x: (f(options, x), None), lambda options, _, ct: (options["scale"] * ct,))
    assert float(grad(lambda x: f({"scale": 3.0}, x))(2.0)) == 3
    for transform in (jit, grad, vmap):
        with pytest.raises(UnexpectedTracerError, match=r"custom_vjp function f: argument 0\['scale'\].* is traced: f64\[\].*as a residual"):
            transform(lambda a: f({"scale": a}, 1.0))(X if transform is vmap else 2.0)


def test_results_that_are_not_needed_are_dropped_with_their_operations():
    @custom_vjp
    def f(x, y):
        return op.sin(x), op.cos(y)

    def bwd(res, cts):
        assert type(cts[0]) is SymbolicZero and type(cts[1]) is not SymbolicZero
        return 10.0 * cts[1], 7.0 * cts[1]

    f.defvjp(lambda x, y: (f(x.value, y.value), None), bwd, symbolic_zeros=True)
    program = stage(lambda x, y: f(x, y), [get_aval(1.0)] * 2, "f")
    thin, _ = dce_jaxpr(program.jaxpr, [False, True])
    assert [str(eqn.primitive) for eqn in thin.eqns[0].params["call_jaxpr"].eqns] == ["cos"]
    for second in (lambda x, y: eval_jaxpr(thin, [], x, y)[0], jit(lambda x, y: eval_jaxpr(thin, [], x, y)[0])):
        assert float(second(0.3, 0.5)) == np.cos(0.5)
        assert [float(g) for g in grad(second, (0, 1))(0.3, 0.5)] == [10, 7]
    np.testing.assert_array_equal(grad(lambda x: total(vmap(lambda x: eval_jaxpr(thin, [], x, x)[0])(x)))(X), np.full(3, 17.0))


# custom_gradient


def test_custom_gradient():
    @custom_gradient
    def f(x):
        return x * x, lambda ct: (100.0 * ct * x,)

    @custom_gradient
    def single(x):
        return x * x, lambda ct: 100.0 * ct * x

    @custom_gradient
    def tree(d, y):
        return {"out": d["a"] * y}, lambda ct: ({"a": 100.0 * ct["out"] * y}, ct["out"] * d["a"])

    assert float(f(3.0)) == 9 and float(grad(f)(3.0)) == 300 and float(grad(single)(3.0)) == 300
    assert float(grad(jit(f))(3.0)) == 300 and vmap(grad(f))(X).tolist() == (100 * X).tolist()
    assert float(grad(grad(f))(3.0)) == 100
    gradient = grad(lambda d, y: tree(d, y)["out"], (0, 1))({"a": 2.0}, 5.0)
    assert (float(gradient[0]["a"]), float(gradient[1])) == (500, 2)
    np.testing.assert_allclose(grad(lambda a: control_flow.scan(lambda c, _: (f(c), None), a, None, length=2)[0])(2.0), 200 * 400)


def test_every_call_of_a_custom_gradient_has_its_own_pullback():
    """The pullback of the last call once served all calls: d(x² + (2x)²) gave 1800 for 1500."""
    @custom_gradient
    def f(x):
        return x * x, lambda ct: (100.0 * ct * x,)

    assert float(grad(lambda x: f(x) + f(2.0 * x))(3.0)) == 100 * 3 + 100 * 6 * 2
    (_, first), (_, second) = vjp(f, 3.0), vjp(f, X)
    assert float(first(1.0)[0]) == 300
    np.testing.assert_allclose(second(X)[0], 100 * X * X)
    shared = jit(lambda x: f(x))
    assert float(grad(lambda x: shared(x) + shared(2.0 * x))(3.0)) == 1500


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
        return control_flow.scan(lambda c, a: (sine(c) * a, None), x, np.ones(3))[0]

    def plain(x):
        return op.sin(op.sin(op.sin(x)))

    with check_leaks():
        found = transformed(looped)(X)
    np.testing.assert_allclose(found, transformed(plain)(X), rtol=1e-12)
