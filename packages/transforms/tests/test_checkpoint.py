"""Checkpointing: the same values and derivatives, with what is kept counted in the programs."""

from __future__ import annotations

import numpy as np
import pytest

from laminax_ir.ops.calls import call_jaxpr, checkpoint_p
from laminax_ir.ops.contraction import dot, dot_general
from laminax_ir.ops.elementwise import cos, exp, mul, sin, tanh
from laminax_ir.ops.loops import scan
from laminax_ir.ops.reduction import reduce_sum
from laminax_ir.programs.check import check_jaxpr
from laminax_ir.programs.primitive import Primitive, Trait
from laminax_ir.recording.staging import stage
from laminax_ir.types.avals import get_aval
from laminax_ir.types.errors import ConcretizationTypeError
from laminax_transforms import (
    checkpoint,
    checkpoint_name,
    checkpoint_policies,
    custom_jvp,
    custom_vjp,
    grad,
    hessian,
    jvp,
    linearize,
    print_saved_residuals,
    remat,
    saved_residuals,
    value_and_grad,
    vjp,
    vmap,
)

X = np.float32([0.3, -1.2, 2.0])


def jaxpr_of(fun, *args):
    closed = stage(lambda *xs: [fun(*xs)], [get_aval(x) for x in args])
    check_jaxpr(closed)
    return closed


def jit(fun):
    def call(*args):
        return call_jaxpr(jaxpr_of(fun, *args), *args, name="f")[0]
    return call


def total(x):
    return reduce_sum(x, tuple(range(get_aval(x).ndim)))


def count(fun, *args) -> int:
    """How many values are kept that are not arguments."""
    return sum("argument" not in where for _, where in saved_residuals(fun, *args))


# Values and derivatives


def body(x, y):
    z = sin(x * y)
    return tanh(z * x) + z


@pytest.mark.parametrize("policy", [None, "everything_saveable", "nothing_saveable", "dots_saveable"])
@pytest.mark.parametrize("prevent_cse", [True, False])
def test_same_values_and_derivatives(policy, prevent_cse):
    f = checkpoint(body, prevent_cse=prevent_cse, policy=policy and getattr(checkpoint_policies, policy))
    y, v = np.cos(X), np.sin(X)
    np.testing.assert_array_equal(f(X, y), body(X, y))
    for plain, other in [
        (jvp(body, (X, y), (v, X)), jvp(f, (X, y), (v, X))),
        (grad(lambda x: total(body(x, y)))(X), grad(lambda x: total(f(x, y)))(X)),
        (vjp(body, X, y)[1](v), vjp(f, X, y)[1](v)),
        (linearize(body, X, y)[1](v, X), linearize(f, X, y)[1](v, X)),
        (vmap(body, in_axes=(0, None))(X, y[0]), vmap(f, in_axes=(0, None))(X, y[0])),
        (hessian(lambda x: total(body(x, y)))(X), hessian(lambda x: total(f(x, y)))(X)),
        (vmap(grad(body))(X, y), vmap(grad(f))(X, y)),
        (grad(lambda x: total(vmap(body)(x, y)))(X), grad(lambda x: total(vmap(f)(x, y)))(X)),
        (jit(lambda x: grad(lambda x: total(body(x, y)))(x))(X), jit(lambda x: grad(lambda x: total(f(x, y)))(x))(X)),
        (grad(grad(lambda x: body(x, 0.5)))(np.float32(0.7)), grad(grad(lambda x: f(x, 0.5)))(np.float32(0.7))),
        (grad(lambda x: total(jit(body)(x, y)))(X), grad(lambda x: total(jit(f)(x, y)))(X)),
    ]:
        np.testing.assert_allclose(np.asarray(other), np.asarray(plain), rtol=2e-6, atol=1e-6)


def test_the_documented_example():
    @checkpoint
    def g(x):
        return sin(sin(x))

    np.testing.assert_allclose(grad(g)(2.0), np.cos(np.sin(2.0)) * np.cos(2.0), rtol=1e-6)
    np.testing.assert_allclose(grad(remat(lambda x: sin(sin(x))))(2.0), np.cos(np.sin(2.0)) * np.cos(2.0), rtol=1e-6)
    assert checkpoint(prevent_cse=False)(lambda x: x)(3.0) == 3.0


def test_recursive_checkpointing():
    def recursive_checkpoint(funs):
        if len(funs) == 1:
            return funs[0]
        f1 = recursive_checkpoint(funs[:len(funs) // 2])
        f2 = recursive_checkpoint(funs[len(funs) // 2:])
        return lambda x: f1(checkpoint(f2)(x))

    f = recursive_checkpoint([sin] * 8)
    x, want, factor = 0.9, 0.9, 1.0
    for _ in range(8):
        want, factor = np.sin(want), factor * np.cos(want)
    value, slope = value_and_grad(f)(x)
    np.testing.assert_allclose([value, slope], [want, factor], rtol=1e-5)


def test_closed_over_values_are_differentiated():
    def f(x, w):
        return checkpoint(lambda y: sin(y * w))(x) * w

    x, w = np.float32(0.4), np.float32(1.7)
    np.testing.assert_allclose(grad(f, argnums=1)(x, w), np.cos(x * w) * x * w + np.sin(x * w), rtol=1e-6)


def test_structures():
    @checkpoint
    def f(tree, *, scale):
        return {"out": tree["a"] * scale, "same": tree["b"]}

    out, pullback = vjp(lambda a: f({"a": a, "b": np.int32(3)}, scale=2.0), X)
    np.testing.assert_allclose(out["out"], 2 * X)
    assert out["same"] == 3


def test_static_arguments():
    def power(x, n, *, negate=False):
        assert isinstance(n, int) and isinstance(negate, bool)
        for _ in range(n):
            x = x * x
        return -x if negate else x

    f = checkpoint(power, static_argnums=1, static_argnames="negate")
    np.testing.assert_allclose(grad(lambda x: f(x, 2, negate=True))(np.float32(1.5)), -4 * 1.5**3, rtol=1e-6)
    np.testing.assert_allclose(grad(lambda x: f(x, 1))(np.float32(1.5)), 3.0, rtol=1e-6)
    np.testing.assert_allclose(grad(lambda n, x: checkpoint(power, static_argnums=(-1,))(x, 2), argnums=1)(0.0, np.float32(1.5)),
                               4 * 1.5**3, rtol=1e-6)


def test_a_function_is_traced_once():
    calls = []

    @checkpoint
    def layer(x):
        calls.append(1)
        return sin(x)

    def chain(x):
        for _ in range(10):
            x = layer(x)
        return x

    closed = jaxpr_of(grad(chain), np.float32(1))
    assert len(calls) == 1
    programs = {id(e.params["jaxpr"]) for e in closed.eqns if e.primitive is checkpoint_p}
    assert len(programs) == 2  # the function and the transpose of its derivative, ten calls each


def test_custom_rules_are_kept():
    @custom_jvp
    def f(x):
        return x * x

    f.defjvps(lambda t, y, x: 10.0 * t)

    @custom_vjp
    def g(x):
        return x * x

    g.defvjp(lambda x: (x * x, x), lambda x, ct: (100.0 * x * ct,))
    assert grad(checkpoint(lambda x: f(x) + g(x)))(np.float32(2)) == 210
    saving = checkpoint(lambda x: f(x) + g(x), policy=checkpoint_policies.everything_saveable)
    assert grad(saving)(np.float32(2)) == 210


@pytest.mark.parametrize("policy", [None, checkpoint_policies.everything_saveable, lambda prim, *_, **__: prim.name == "sin"])
@pytest.mark.parametrize("call", [lambda f, x: f(x), lambda f, x: scan(lambda c, _: (f(c), None), x, None, length=1)[0]],
                         ids=["call", "scan"])
def test_forward_over_reverse_mode_through_a_reverse_rule(policy, call):
    """Of the function that was differentiated the rule has run; what it consists of has a derivative in forward mode."""
    @custom_vjp
    def f(x):
        return sin(x)

    f.defvjp(lambda x: (sin(x), (x, exp(x))), lambda residuals, ct: (ct * cos(residuals[0]) * residuals[1],))
    x = np.float32(0.4)
    slope = grad(checkpoint(lambda x: call(f, x) * x, policy=policy))
    want = np.cos(x) * np.exp(x) * x + np.sin(x)
    curvature = (np.cos(x) - np.sin(x)) * np.exp(x) * x + np.cos(x) * np.exp(x) + np.cos(x)
    np.testing.assert_allclose(jvp(slope, (x,), (np.float32(1),)), (want, curvature), rtol=1e-5)


def test_in_a_scan():
    def step(c, x):
        return sin(c * x), cos(c)

    def loss(step, c, xs):
        last, ys = scan(step, c, xs)
        return last + total(ys)

    c = np.float32(0.5)
    want = grad(lambda c, xs: loss(step, c, xs), argnums=(0, 1))(c, X)
    out = grad(lambda c, xs: loss(checkpoint(step, prevent_cse=False), c, xs), argnums=(0, 1))(c, X)
    for a, b in zip(out, want):
        np.testing.assert_allclose(a, b, rtol=1e-5)


# What is kept


def chain(layer, depth):
    def f(x):
        for _ in range(depth):
            x = layer(x)
        return x
    return f


def layer(x):
    return sin(exp(sin(x)) * x)


def test_a_chain_of_64_layers():
    """Each layer alone keeps several values, checkpointed its input only, and blocks of eight keep eight inputs in all."""
    x = np.float32(0.1)
    assert count(chain(layer, 64), x) == 255  # cos x, exp(sin x), its product's cosine, and x itself but for the first
    assert count(chain(checkpoint(layer), 64), x) == 63  # the first layer's input is the argument
    assert count(chain(checkpoint(chain(layer, 8)), 8), x) == 7
    assert count(chain(checkpoint(chain(checkpoint(layer), 8)), 8), x) == 7
    assert count(checkpoint(chain(layer, 64)), x) == 0
    want = grad(chain(layer, 64))(x)
    for f in (chain(checkpoint(layer), 64), chain(checkpoint(chain(layer, 8)), 8), checkpoint(chain(layer, 64))):
        np.testing.assert_allclose(grad(f)(x), want, rtol=1e-4)


A = np.eye(3, dtype=np.float32)


def mlp(w1, w2, x):
    y = checkpoint_name(sin(dot(x, w1)), "y")
    z = checkpoint_name(sin(dot(y, w2)), "z")
    return total(sin(z))


P = checkpoint_policies


@pytest.mark.parametrize("policy, kept", [
    (None, []),
    (P.nothing_saveable, []),
    (P.dots_saveable, ["output of dot_general"] * 2),
    (P.checkpoint_dots, ["output of dot_general"] * 2),
    (P.dots_with_no_batch_dims_saveable, ["output of dot_general"] * 2),
    (P.everything_saveable, ["output of cos", "named 'y'", "output of cos", "output of cos"]),
    (P.save_only_these_names("y"), ["named 'y'"]),
    (P.save_only_these_names("y", "z"), ["named 'y'", "named 'z'"]),
    (P.save_only_these_names("other"), []),
    (P.save_any_names_but_these("y"), ["named 'z'"]),
    (P.save_anything_except_these_names("y"), ["output of sin", "output of cos", "output of cos", "output of cos"]),
    (P.save_from_both_policies(P.save_only_these_names("z"), P.dots_saveable),
     ["output of dot_general", "output of dot_general", "named 'z'"]),
])
def test_policies(policy, kept):
    f = checkpoint(mlp, policy=policy)
    found = [where.partition(" from ")[0] for _, where in saved_residuals(f, A, 2 * A, A)]
    assert found[3:] == kept  # after the three arguments
    want = grad(mlp, argnums=(0, 1, 2))(A, 2 * A, A)
    for a, b in zip(grad(f, argnums=(0, 1, 2))(A, 2 * A, A), want):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
    # Nested calls are looked into.
    inside = [where.partition(" from ")[0] for _, where in saved_residuals(checkpoint(jit(mlp), policy=policy), A, 2 * A, A)]
    assert inside[3:] == kept


def test_products_with_batch_dimensions():
    def f(x, y):
        return total(sin(dot_general(sin(x), y, (((2,), (1,)), ((0,), (0,))))))

    x = np.ones((2, 3, 3), np.float32)
    assert count(checkpoint(f, policy=P.dots_with_no_batch_dims_saveable), x, x) == 0
    assert count(checkpoint(f, policy=P.dots_saveable), x, x) == 1


def test_saved_values_are_not_recomputed():
    f = checkpoint(mlp, policy=P.everything_saveable)
    backward = [e for e in jaxpr_of(grad(f), A, A, A).eqns if e.primitive is checkpoint_p][-1]
    assert not {"sin", "cos"} & {e.primitive.name for e in backward.params["jaxpr"].eqns}
    backward = [e for e in jaxpr_of(grad(checkpoint(mlp)), A, A, A).eqns if e.primitive is checkpoint_p][-1]
    assert {"sin", "cos"} <= {e.primitive.name for e in backward.params["jaxpr"].eqns}
    assert backward.params["differentiated"] and backward.params["prevent_cse"]


def test_print_saved_residuals(capsys):
    c = np.float32([1, 2, 3])

    def f(params, x):
        y = checkpoint_name(sin(params["w"] * x), "y")
        return total(exp(y) * c)

    print_saved_residuals(f, {"w": X, "unused": X}, X)
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == ["f32[3] from a constant", "f32[3] from the argument params['w']", "f32[3] from the argument x"]
    assert any(line.startswith("f32[3] output of cos from test_checkpoint.py:") and line.endswith("in f") for line in lines)
    assert [line.split(" from ")[0] for line in lines[3:]] == ["f32[3] output of cos", "f32[3] output of exp"]
    print_saved_residuals(checkpoint(f, policy=P.save_only_these_names("y")), {"w": X}, X)
    assert any(line.startswith("f32[3] named 'y' from test_checkpoint.py:") and line.endswith(" in f")
               for line in capsys.readouterr().out.splitlines())


@pytest.mark.parametrize("flags, expected", [
    ((True, False), [True, False]), (((True, False), True), [True, False, True]), ((False, (True,)), [False, True]),
])
def test_cse_is_prevented_for_some_arguments(flags, expected):
    """The flags follow the arguments into the derivative, where those of residuals and cotangents are set."""
    def f(x, y):
        x, y = [v if isinstance(v, tuple) else (v,) for v in (x, y)]
        return total(sin(x[0] * x[-1]) * exp(y[0]))

    args = [(X, X) if isinstance(flag, tuple) and len(flag) == 2 else (X,) if isinstance(flag, tuple) else X for flag in flags]
    checked = checkpoint(f, prevent_cse=flags)
    leaves = [leaf for x in args for leaf in (x if isinstance(x, tuple) else (x,))]

    def flat(*leaves):
        found = iter(leaves)
        return checked(*[tuple(next(found) for _ in x) if isinstance(x, tuple) else next(found) for x in args])

    (call,) = jaxpr_of(flat, *leaves).eqns
    assert list(call.params["prevent_cse"]) == expected
    first, again = [e for e in jaxpr_of(lambda *xs: grad(flat)(*xs), *leaves).eqns if e.primitive is checkpoint_p]
    assert list(again.params["prevent_cse"]) == [*expected, True]  # the last one is the cotangent
    np.testing.assert_allclose(grad(flat)(*leaves), grad(lambda *xs: f(*[xs[0], xs[-1]] if len(xs) == 2 else [xs[:2], xs[2]]))(*leaves),
                               rtol=1e-6)
    batched = jaxpr_of(lambda *xs: total(vmap(flat)(*xs)), *[np.stack([x, x]) for x in leaves]).eqns[0]
    assert list(batched.params["prevent_cse"]) == expected


@pytest.mark.parametrize("flags", [({"W": False, "x": True},), ((False, True),)])
def test_a_tuple_of_flags_stands_for_a_container_of_as_many(flags):
    layer = checkpoint(lambda tree: sin(tree["x"] * tree["W"]), prevent_cse=flags)
    (call,) = jaxpr_of(lambda W, x: layer({"W": W, "x": x}), X, X).eqns
    assert list(call.params["prevent_cse"]) == [False, True]


@pytest.mark.parametrize("flags, error, message", [
    ("yes", TypeError, "prevent_cse must be a bool or a tuple of bools, one per traced argument, got 'yes'"),
    ((True, 1), TypeError, r"checkpoint\(f\): prevent_cse must be a bool or a tuple of bools"),
    ((True,), ValueError, r"checkpoint\(f\): prevent_cse=\(True,\) must be a tree prefix of the traced arguments"),
])
def test_wrong_flags(flags, error, message):
    def f(x, y):
        return x * y

    with pytest.raises(error, match=message):
        checkpoint(f, prevent_cse=flags)(1.0, 2.0)


# Control flow on values


def test_concrete():
    def f(x):
        return sin(x) if x > 0 else cos(x) * 2.0

    g = checkpoint(f, concrete=True)
    np.testing.assert_allclose(grad(g)(np.float32(0.5)), np.cos(0.5), rtol=1e-6)
    np.testing.assert_allclose(grad(g)(np.float32(-0.5)), 2 * np.sin(0.5), rtol=1e-6)
    np.testing.assert_allclose(grad(lambda x: g(g(x) * 2.0))(np.float32(0.5)), np.cos(2 * np.sin(0.5)) * 2 * np.cos(0.5), rtol=1e-6)
    with pytest.raises(ConcretizationTypeError, match="lax.cond"):
        grad(checkpoint(f))(np.float32(0.5))
    with pytest.raises(ConcretizationTypeError):
        jaxpr_of(g, np.float32(0.5))


@pytest.mark.parametrize("call, error, message", [
    (lambda: checkpoint(3), TypeError, "checkpoint: Expected a callable value, got 3"),
    (lambda: checkpoint(sin, prevent_cse="yes"), TypeError, "prevent_cse must be a bool"),
    (lambda: checkpoint(sin, concrete=1), TypeError, "concrete must be a bool"),
    (lambda: checkpoint(sin, policy="dots"), TypeError, "policy must be a callable, such as those of checkpoint_policies"),
    (lambda: grad(checkpoint(lambda x: "text"))(1.0), TypeError, "the result of <lambda> is not an array: got 'text'"),
    (lambda: grad(lambda x: checkpoint(lambda x, y: x)(x, "text"))(1.0), TypeError, "is not an array: got 'text'"),
    (lambda: grad(lambda x: checkpoint(sin, static_argnums=4)(x))(1.0), ValueError, "static_argnums"),
    (lambda: checkpoint_name(X, 3), TypeError, "the name must be a string, got 3"),
    (lambda: P.save_only_these_names(["a"]), TypeError, "names must be strings"),
    (lambda: grad(checkpoint(sin, policy=lambda *_, **__: "yes"))(1.0), TypeError,
     "the policy must return a bool, .* got 'yes' for the result of cos"),
])
def test_wrong_calls(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_multiplication_is_linear_in_the_tangent_only():
    """The derivative's program multiplies recomputed values; its transpose sums over both uses of an input."""
    f = checkpoint(lambda x: mul(x, sin(x)))
    np.testing.assert_allclose(grad(f)(np.float32(0.3)), np.sin(0.3) + 0.3 * np.cos(0.3), rtol=1e-6)


def test_what_a_policy_saves_is_no_matter_of_names():
    """A user's operation was kept for being called like a convolution."""
    mine = Primitive("conv_general_dilated")
    assert not checkpoint_policies.dots_saveable(mine)
    assert checkpoint_policies.dots_saveable(Primitive("mine", traits=(Trait.CONTRACTION,)))
