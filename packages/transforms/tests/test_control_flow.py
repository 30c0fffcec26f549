"""Derivatives and batching of control flow, against the loops written out, differences and inner products."""

import functools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numeric_checks import check_derivatives, check_vmap

from laminax_ir.key_arrays.keys import PRNGKeyArray
from laminax_ir.ops import elementwise as op
from laminax_ir.ops.callbacks import debug_callback, io_callback
from laminax_ir.ops.contraction import dot_general
from laminax_ir.ops.control_flow import cond, switch
from laminax_ir.ops.loops import fori_loop, scan, while_loop
from laminax_ir.ops.random_bits import random_bits
from laminax_ir.ops.reduction import reduce_or, reduce_sum
from laminax_ir.options import config
from laminax_ir.programs.check import check_jaxpr
from laminax_ir.programs.jaxpr import subjaxprs
from laminax_ir.programs.primitive import Primitive
from laminax_ir.pytrees.pytree import tree_flatten, tree_map
from laminax_ir.recording.staging import stage
from laminax_ir.reference.evaluate import reference_rule
from laminax_ir.types.avals import get_aval
from laminax_transforms import custom_jvp, custom_vjp, grad, jvp, linear_transpose, linearize, value_and_grad, vjp, vmap
from laminax_transforms.base.registry import batching_rule
from laminax_transforms.batching.batch_axes import Axis
from laminax_transforms.batching.mapping import map as lax_map
from laminax_transforms.differentiation.dependence import batched_results, tangent_results

f32 = np.float32
RNG = np.random.default_rng(0)
W = RNG.normal(size=(3, 3)) / 2
XS = RNG.normal(size=(4, 3))
C = RNG.normal(size=3)


def matvec(w, x):
    return dot_general(w, x, (((1,), (0,)), ((), ())))


def total(x):
    return reduce_sum(x, tuple(range(len(x.shape))))


def traced(fun, *args):
    closed = stage(lambda *xs: tree_flatten(fun(*xs))[0], [get_aval(x) for x in args])
    check_jaxpr(closed)
    return closed


# A family of loops, written with scan and in Python

STEPS = {
    "recurrent": lambda w, c, x: (op.tanh(matvec(w, c) + x), op.sin(c) * x),
    "carry unused by results": lambda w, c, x: (c * op.cos(x), x * x),
    "constants hoisted": lambda w, c, x: (matvec(op.sin(w), c) + x, total(op.exp(w)) * c),
    "linear": lambda w, c, x: (c * 2.0 + x, c - x),
    "result is the carry": lambda w, c, x: (op.sin(c) * x, op.sin(c) * x),
    "carry forgotten": lambda w, c, x: (x, op.sin(x)),
    "carry passed through": lambda w, c, x: (c, matvec(w, x) * c),
    "result without derivative": lambda w, c, x: (op.sin(c) * x, op.floor(c) + 0 * x),
}


def with_scan(step, w, c, xs, **how):
    return scan(lambda c, x: step(w, c, x), c, xs, **how)


def in_python(step, w, c, xs, reverse=False):
    from laminax_ir.ops.shape import concatenate, expand_dims
    from laminax_ir.ops.slicing import index_in_dim
    ys = []
    order = range(xs.shape[0])
    for i in reversed(order) if reverse else order:
        c, y = step(w, c, index_in_dim(xs, i, keepdims=False))
        ys.append(y)
    return c, concatenate([expand_dims(y, (0,)) for y in (ys[::-1] if reverse else ys)], 0)


def scalar_of(loop, step, **how):
    def f(w, c, xs):
        carry, ys = loop(step, w, c, xs, **how)
        return total(op.sin(carry)) + total(ys * ys)
    return f


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("reverse", [False, True])
def test_derivatives_of_scan(name, reverse):
    check_derivatives(scalar_of(with_scan, STEPS[name], reverse=reverse), W, C, XS, order=2)


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("wrt", [(0,), (1,), (2,), (0, 2)])
@pytest.mark.parametrize("in_two", [False, True])
def test_gradients_of_scan_are_those_of_the_loop(name, wrt, in_two):
    with config.enable_x64(True):
        value, gradients = value_and_grad(scalar_of(with_scan, STEPS[name], _split_transpose=in_two), wrt)(W, C, XS)
        expected, expected_gradients = value_and_grad(scalar_of(in_python, STEPS[name]), wrt)(W, C, XS)
        np.testing.assert_allclose(value, expected, rtol=1e-12)
        for g, e in zip(gradients, expected_gradients):
            np.testing.assert_allclose(g, e, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("transform", ["jvp", "linearize", "vjp", "grad of grad", "vmap of grad", "grad of vmap", "jvp of grad"])
def test_transformed_programs_are_well_formed(transform):
    f = scalar_of(with_scan, STEPS["constants hoisted"])
    batch = np.stack([C, C + 1])
    program = {
        "jvp": lambda w, c, xs: jvp(f, (w, c, xs), (w, c, xs)),
        "linearize": lambda w, c, xs: linearize(f, w, c, xs)[1](w, c, xs),
        "vjp": lambda w, c, xs: vjp(f, w, c, xs)[1](1.0),
        "grad of grad": lambda w, c, xs: grad(lambda v: total(grad(f)(v, c, xs)))(w),
        "vmap of grad": lambda w, c, xs: vmap(grad(f), in_axes=(None, 0, None))(w, batch, xs),
        "grad of vmap": lambda w, c, xs: grad(lambda w: total(vmap(f, in_axes=(None, 0, None))(w, batch, xs)))(w),
        "jvp of grad": lambda w, c, xs: jvp(lambda w: grad(f)(w, c, xs), (w,), (w,)),
    }[transform]
    with config.enable_x64(True):
        traced(program, W, C, XS)


def test_integers_and_keys_go_round_in_the_carry():
    key = PRNGKeyArray("threefry2x32", np.array([0, 7], np.uint32))

    def f(x):
        def step(carry, _):
            i, key, c = carry
            bits = op.convert_element_type(random_bits(key, 32, ()), np.float64) * 2.0 ** -32
            return (i + 1, key, op.sin(c * x) + bits * op.convert_element_type(i, np.float64)), i
        (i, _, c), _ = scan(step, (0, key, x), None, length=4)
        return c * op.convert_element_type(i, np.float64)

    with config.enable_x64(True):
        x, h = 0.7, 1e-5
        np.testing.assert_allclose(grad(f)(x), (f(x + h) - f(x - h)) / (2 * h), rtol=1e-8)


def test_fori_loop_is_differentiable_in_reverse():
    def f(x, n):
        return fori_loop(1, n, lambda i, c: op.sin(c) * x * i, x)

    with config.enable_x64(True):
        x, h = 0.7, 1e-5
        np.testing.assert_allclose(grad(f)(x, 5), (f(x + h, 5) - f(x - h, 5)) / (2 * h), rtol=1e-7)
        # The bounds are known while differentiating, though the argument they are computed from is differentiated.
        assert grad(lambda x: fori_loop(0, op.convert_element_type(x, np.int32), lambda i, c: c * x, x))(2.0) == 12.0


def test_a_counter_in_a_linear_loop_is_computed_before_its_transpose():
    def f(x):  # linear in x: sum of i**2 * x
        return fori_loop(0, 4, lambda i, c: c + op.convert_element_type(i * i, np.float64) * x, op.mul(x, 0.0))

    with config.enable_x64(True):
        x = np.ones(2)
        (ct,) = linear_transpose(f, x)(np.array([1.0, 2.0]))
        np.testing.assert_allclose(ct, [14.0, 28.0])


def test_linear_scan_with_a_fixed_carry_and_results():
    scale = np.arange(1.0, 4.0)

    def f(x, ys):
        def step(carry, y):
            factor, c = carry
            return (factor * 2.0, c * factor + y), (c * factor, factor)
        (_, c), (stacked, _) = scan(step, (1.0, x), ys)
        return c, total(stacked * scale)

    with config.enable_x64(True):
        x, ys = 2.0, np.array([1.0, -1.0, 3.0])
        outs = f(x, ys)
        cts = linear_transpose(f, x, ys)((1.0, 0.5))
        np.testing.assert_allclose(float(cts[0]) * x + np.dot(cts[1], ys), float(outs[0]) + 0.5 * float(outs[1]))


def test_custom_rules_inside_loops():
    @custom_jvp
    def doubled_slope(x):
        return op.sin(x)

    doubled_slope.defjvp(lambda primals, tangents: (op.sin(primals[0]), 2 * tangents[0] * op.cos(primals[0])))

    @custom_vjp
    def tripled_slope(x, scale):
        return op.sin(x) * scale

    tripled_slope.defvjp(lambda x, scale: (op.sin(x) * scale, (x, scale)),
                         lambda saved, ct: (3 * ct * op.cos(saved[0]) * saved[1], ct * op.sin(saved[0])))

    def f(x, w):
        def step(c, t):
            return tripled_slope(doubled_slope(c) * t, w), c
        return total(scan(step, x, np.array([1.0, 2.0, 0.5]))[1])

    def by_hand(x, w):
        value, slope, total_slope, total_value = x, 1.0, 0.0, 0.0
        for t in (1.0, 2.0, 0.5):
            total_value, total_slope = total_value + value, total_slope + slope
            inner = np.sin(value) * t
            slope, value = slope * 2 * np.cos(value) * t * 3 * np.cos(inner) * w, np.sin(inner) * w
        return total_value, total_slope

    with config.enable_x64(True):
        value, slope = value_and_grad(f)(0.4, 1.3)
        np.testing.assert_allclose([value, slope], by_hand(0.4, 1.3), rtol=1e-12)
        np.testing.assert_allclose(vmap(grad(f), in_axes=(0, None))(np.array([0.4, 0.5]), 1.3),
                                   [by_hand(0.4, 1.3)[1], by_hand(0.5, 1.3)[1]], rtol=1e-12)


# What a differentiated scan costs


def scans(closed):
    return [eqn for eqn in closed.eqns if eqn.primitive.name == "scan"]


def test_residuals_are_stacked_once_and_invariant_ones_not_at_all():
    def f(w, xs):
        def step(c, x):
            c = op.tanh(matvec(op.sin(w), c) * x)
            return c, c
        return total(scan(step, C, xs)[1])

    forward, backward = scans(traced(grad(f, (0, 1)), W, XS))
    # Stacked: the result y, which the user asked for; of the step, the incoming carry, the product, and 1 - tanh**2.
    # Not stacked: w, sin(w), cos(w), and xs, which is there already.
    stacked = [v.aval.shape for v in forward.outvars[1:]]
    assert stacked == [(4, 3)] * 4
    assert [eqn.primitive.name for eqn in subjaxprs(forward)[0].eqns].count("sin") == 0  # hoisted
    carried = backward.params["num_carry"]
    assert carried == 2  # the sum for w, and the cotangent of the carry
    assert [eqn.primitive.name for eqn in subjaxprs(backward)[0].eqns].count("cos") == 0
    big = [v for v in backward.invars if v.aval.shape == (4, 3, 3)]
    assert not big


def test_a_split_transpose_sums_the_cotangents_of_constants_after_the_loop():
    def f(w, xs):
        return total(op.sin(scan(lambda c, x: (op.tanh(matvec(w, c) + x), None), C, xs, _split_transpose=True)[0]))

    program = traced(grad(f, (0, 1)), W, XS)
    _, backward = scans(program)
    assert backward.params["num_carry"] == 1  # no sum for w
    inside = [eqn.primitive.name for eqn in subjaxprs(backward)[0].eqns]
    after = [eqn.primitive.name for eqn in program.eqns[program.eqns.index(backward) + 1:]]
    assert inside.count("dot_general") == 1 and after.count("dot_general") == 1  # for the carry; for w, of all steps
    check_derivatives(f, W, XS, order=2)
    check_vmap(grad(f, (0, 1)), (W, np.stack([XS, XS + 1, -XS])), (None, 0))


def test_differentiated_and_batched_once_per_body():
    count = []

    def step(c, x):
        count.append(1)
        return op.sin(c) * x, c

    def f(c, xs):
        return total(scan(step, c, xs)[1])

    closed = traced(lambda c, xs: [grad(f)(c, xs), grad(f)(c, xs * 2.0)], C, XS)
    assert len(count) == 1
    first, second, third, fourth = scans(closed)
    assert first.params["jaxpr"] is third.params["jaxpr"] and second.params["jaxpr"] is fourth.params["jaxpr"]
    closed = traced(lambda c, xs: [vmap(f)(c, xs), vmap(f)(c, xs * 2.0)], XS, np.stack([XS] * 4))
    assert len(count) == 1 and len({id(eqn.params["jaxpr"]) for eqn in scans(closed)}) == 1


def test_only_what_is_needed_has_tangents():
    def f(x, y):
        (a, b), ys = scan(lambda c, t: ((c[0] * y, c[1] * x), op.floor(c[1])), (1.0, 1.0), None, length=3)
        return a, b

    forward = scans(traced(lambda x, y: jvp(lambda x: f(x, y), (x,), (x,)), 1.0, 2.0))[0]
    assert forward.params["num_carry"] == 3  # b has a tangent, a has none
    backward = scans(traced(lambda x, y: vjp(lambda x: f(x, y)[0], x)[1](1.0), 1.0, 2.0))
    assert len(backward) == 1  # the result does not depend on x: there is nothing to go back through


def test_derivatives_of_weakly_typed_values_are_weakly_typed():
    f = lambda x: total(scan(lambda c, t: (c * 2.0 + x, c), x, None, length=3)[1])  # noqa: E731
    closed = traced(lambda x: [grad(f)(x), jvp(f, (x,), (x,))[1]], 2.0)
    assert [aval.weak_type for aval in closed.out_avals] == [True, True]


def test_dependence():
    closed = stage(lambda x, n: [op.sin(x), op.floor(x), op.convert_element_type(x, np.int32), op.stop_gradient_one(x), n + n],
                   [get_aval(1.0), get_aval(1)])
    assert tangent_results(closed, (True, True)) == (True, False, False, False, False)
    assert batched_results(closed, (True, False), Axis(2)) == (True, True, True, True, False)


def test_a_users_rule_may_put_examples_together():
    """A loop that goes on for all while any example does, as equinox's, is not masked: what it counts is one number."""
    any_p, shared_p = Primitive("any_example"), Primitive("shared")
    for primitive in any_p, shared_p:
        reference_rule(primitive)(lambda x: x)
        primitive.def_abstract_eval(lambda x: x)
    batching_rule(any_p)(lambda operands, axes: (reduce_or(operands[0], axes), None))

    @batching_rule(shared_p)
    def refuse(operands, axes):
        raise AssertionError("the counter is mapped")

    def count(x):
        n, x = while_loop(lambda c: any_p.bind(c[1] < 100.0), lambda c: (shared_p.bind(c[0]) + 1, c[1] * 2.0), (0, x))
        return n, x

    xs = np.array([3.0, 60.0, 200.0])
    n, ys = vmap(count, out_axes=(None, 0))(xs)
    assert n == 6  # 3 * 2 ** 6 is the first that is 100 or more
    np.testing.assert_array_equal(ys, xs * 64)


# Branches

BRANCHES = [lambda x, y: op.sin(x) * y, lambda x, y: op.exp(op.cos(y)) + 0 * x, lambda x, y: x, lambda x, y: op.floor(y) * 0.5 + 0 * x]


@pytest.mark.parametrize("index", range(4))
def test_derivatives_of_switch(index):
    check_derivatives(lambda x, y: switch(np.int32(index), BRANCHES, x, y), C, C + 0.3)


@pytest.mark.parametrize("pred", [True, False])
def test_derivatives_of_cond_with_captured_values(pred):
    check_derivatives(lambda x, y: cond(pred, lambda: op.sin(x) * y, lambda: op.exp(x) * 2.0), C, C + 1)


def test_residuals_of_branches_share_their_places():
    def f(i, x):
        return total(switch(i, [lambda x: op.sin(x), lambda x: op.tanh(x), lambda x: x * 2.0, lambda x: op.exp(x)], x))

    closed = traced(lambda i, x: grad(f, 1)(i, x), np.int32(0), C.astype(f32))
    forward, backward = [eqn for eqn in closed.eqns if eqn.primitive.name == "cond"]
    # sin saves cos(x), tanh 1 - y**2; exp is its own residual: the result and one saved array.
    assert len(forward.outvars) == 2


def test_gradient_of_cond_takes_the_predicate_from_the_argument():
    f = lambda x: cond(x > 1, lambda: x * x, lambda: 3 * x)  # noqa: E731
    assert grad(f)(2.0) == 4.0 and grad(f)(0.5) == 3.0
    np.testing.assert_array_equal(vmap(grad(f))(np.array([2.0, 0.5], f32)), [4, 3])


# Batching


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("in_axes", [(0, 0, 0), (None, 0, None), (0, None, None), (None, None, 2), (1, 1, 1)])
def test_vmap_of_scan(name, in_axes):
    size = 2
    args = [x if a is None else np.stack([x * (1 + i) for i in range(size)], axis=a).astype(f32)
            for x, a in zip((W.astype(f32), C.astype(f32), XS.astype(f32)), in_axes)]
    check_vmap(lambda w, c, xs: list(with_scan(STEPS[name], w, c, xs, reverse=True)), args, in_axes, rtol=1e-4)


@pytest.mark.parametrize("in_axes", [(0, 0), (0, None), (None, 0)])
def test_vmap_of_while_loop(in_axes):
    def f(x, n):  # examples run for different numbers of steps
        return list(while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, c[1] * x, c[2]), (0, x, x)))

    x = np.array([1.5, 2.0, -1.0], f32)
    n = np.array([0, 5, 3], np.int32)
    check_vmap(f, [x if in_axes[0] == 0 else x[1], n if in_axes[1] == 0 else n[1]], in_axes)


def test_vmap_of_a_loop_whose_condition_is_shared_stays_unmasked():
    closed = traced(vmap(lambda x: while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * x), (0, x))[1]), C.astype(f32))
    (loop,) = [eqn for eqn in closed.eqns if eqn.primitive.name == "while"]
    assert [v.aval.shape for v in loop.outvars] == [(), (3,)]


def test_vmap_of_a_loop_with_mapped_constants_of_the_condition():
    check_vmap(lambda n, x: fori_loop(0, n, lambda i, c: c + x * i, x), [np.array([0, 1, 4], np.int32), f32(2)], (0, None))


@pytest.mark.parametrize("in_axes", [(0, 0, 0), (0, None, None), (None, 0, None), (None, None, 0)])
@pytest.mark.parametrize("out_axes", [0, -1])
def test_vmap_of_switch(in_axes, out_axes):
    values = (np.array([2, 0, 1], np.int32), XS[:3].astype(f32), XS[1:].astype(f32))
    args = [v if a == 0 else v[1] for v, a in zip(values, in_axes)]
    check_vmap(lambda i, x, y: switch(i, BRANCHES[:3], x, y), args, in_axes, out_axes=out_axes if out_axes == 0 else 1)


def _kept_by_a_scan(x, y):
    kept, doubled = scan(lambda c, s: (c, s * 2), y, np.arange(3, dtype=f32))[0], y * 2
    return x * doubled, kept, y


@pytest.mark.parametrize("branch", [lambda x, y: (x * 3 + y, y, y), _kept_by_a_scan])
@pytest.mark.parametrize("pick", [lambda i, *args: cond(i > 0, *args), lambda i, f, g, x, y: switch(i, [f, g, f], x, y)])
def test_an_operand_that_all_branches_hand_through_is_not_mapped(branch, pick):
    x, y = np.arange(3, dtype=f32), np.arange(2, dtype=f32) + 5

    def fun(i, x):
        return pick(i, lambda x, y: (x * y, y, y * 1), branch, x, y)
    index = np.array([0, 1, 0])
    products, kept, mixed = vmap(fun, out_axes=(0, None, 0))(index, x)
    loop = [fun(i, each) for i, each in zip(index, x)]
    np.testing.assert_array_equal(products, np.stack([each[0] for each in loop]))
    np.testing.assert_array_equal(kept, y)
    np.testing.assert_array_equal(mixed, np.stack([each[2] for each in loop]))
    with pytest.raises(ValueError, match="depends on the mapped axis"):
        vmap(fun, out_axes=(0, None, None))(index, x)
    swapped = vmap(lambda i: cond(i > 0, lambda a, b: (a, b), lambda a, b: (b, a), f32(1), f32(2)))(index)
    np.testing.assert_array_equal(swapped, [[2, 1, 2], [1, 2, 1]])


def test_vmap_of_branches_with_results_of_their_own_dependence():
    check_vmap(lambda i, x: list(switch(i, [lambda: (x, 1.0), lambda: (2 * x, 2.0)])), [np.int32(1), C.astype(f32)], (None, 0))


def test_an_infinite_derivative_in_the_other_branch_does_no_harm():
    f = lambda x: cond(x > 0, lambda x: op.log(x), lambda x: 0.0 * x, x)  # noqa: E731
    x = np.array([2.0, 0.0], f32)
    np.testing.assert_array_equal(grad(lambda x: total(vmap(f)(x)))(x), [0.5, 0.0])


def test_effects_of_examples_that_take_another_way():
    seen = []

    def noisy(callback, x):
        callback(lambda v: seen.append(float(v)), x)
        return x

    x = np.array([1.0, -1.0], f32)
    debug = functools.partial(noisy, debug_callback)
    vmap(lambda x: cond(x > 0, debug, lambda x: x, x))(x)
    assert sorted(seen) == [-1.0, 1.0]  # debugging may see too much; other effects may not happen that did not ask for it
    io = functools.partial(noisy, lambda f, v: io_callback(f, None, v))
    with pytest.raises(NotImplementedError, match="vmap of cond: the predicate is batched and a branch has IO effects"):
        vmap(lambda x: cond(x > 0, io, lambda x: x, x))(x)
    with pytest.raises(NotImplementedError, match="vmap of while_loop: the condition is batched and the loop has IO effects"):
        vmap(lambda x: while_loop(lambda c: c < 3, lambda c: io(c) + 1, x))(x)


@pytest.mark.parametrize("batch_size", [None, 1, 2, 4, 5, 9])
def test_map(batch_size):
    xs = (np.arange(5, dtype=f32), np.arange(10, dtype=f32).reshape(5, 2))
    out = lax_map(lambda x: {"sum": x[0] + x[1], "first": x[0] * 2}, xs, batch_size=batch_size)
    np.testing.assert_array_equal(out["sum"], xs[0][:, None] + xs[1])
    np.testing.assert_array_equal(out["first"], xs[0] * 2)


def test_map_errors():
    with pytest.raises(TypeError, match="f argument should be a callable"):
        lax_map(3, C)
    with pytest.raises(ValueError, match="batch_size must be positive"):
        lax_map(lambda x: x, C, batch_size=-1)
    with pytest.raises(ValueError, match="different leading axis sizes"):
        lax_map(lambda x: x, (C, C[:2]), batch_size=2)


# while


def collatz_like(x, n):
    return while_loop(lambda c: c[0] < n, lambda c: (c[0] * 1.7, op.sin(c[1]) * x), (x, x))[1]


@pytest.mark.parametrize("mode", ["jvp", "linearize"])
def test_forward_mode_of_while_loop(mode):
    with config.enable_x64(True):
        x, n, h = 0.9, 20.0, 1e-6
        expected = (collatz_like(x + h, n) - collatz_like(x - h, n)) / (2 * h)
        if mode == "jvp":
            result, tangent = jvp(collatz_like, (x, n), (1.0, 1.0))
        else:
            result, f_jvp = linearize(collatz_like, x, n)
            tangent = f_jvp(1.0, 1.0)
        np.testing.assert_allclose(result, collatz_like(x, n), rtol=1e-14)
        np.testing.assert_allclose(tangent, expected, rtol=1e-7)
        second = jvp(lambda x: jvp(lambda x: collatz_like(x, n), (x,), (1.0,))[1], (x,), (1.0,))[1]
        first = lambda x: jvp(lambda x: collatz_like(x, n), (x,), (1.0,))[1]  # noqa: E731
        np.testing.assert_allclose(second, (first(x + h) - first(x - h)) / (2 * h), rtol=1e-6)


def test_reverse_mode_of_while_loop_says_what_to_use():
    with pytest.raises(ValueError, match="Reverse-mode differentiation does not work for lax.while_loop or lax.fori_loop with "
                                         "dynamic start/stop values. Try using lax.scan, or using fori_loop with static start/stop"):
        grad(collatz_like)(0.9, 20.0)
    traced_bound = lambda x, n: fori_loop(0, n, lambda i, c: c * x, x)  # noqa: E731
    with pytest.raises(ValueError, match="Reverse-mode differentiation does not work"):
        traced(grad(traced_bound), 1.0, 3)


def test_reverse_mode_beside_a_while_loop_that_needs_no_derivative():
    def f(x):
        steps = while_loop(lambda c: c < 10, lambda c: c * 2, 1)
        rounded = while_loop(lambda c: c < 10.0, lambda c: c * 2, op.stop_gradient_one(x))
        return x * x * op.convert_element_type(steps, np.float32) + 0 * rounded

    assert grad(f)(f32(3)) == 6 * 16


# Any of it in any of it


def nested(x, ys):
    """A scan of conds of fori_loops: what a solver with events looks like."""
    def step(carry, y):
        new = cond(total(carry) > 0.317, lambda c: fori_loop(0, 3, lambda i, v: op.sin(v) * y + i, c), lambda c: c * y - 0.1, carry)
        return new, scan(lambda a, b: (a * b, a + b), y, new * new)[1]
    carry, results = scan(step, x, ys)
    return total(carry * carry) + total(op.tanh(results))


TRANSFORMS = {
    "jvp": lambda f: lambda x, ys: jvp(f, (x, ys), (op.cos(x), ys * 0.5))[1],
    "grad": lambda f: lambda x, ys: total(op.sin(grad(f)(x, ys))),
    "vjp": lambda f: lambda x, ys: total(vjp(f, x, ys)[1](0.7)[1]),
    "vmap": lambda f: lambda x, ys: total(vmap(lambda s: f(x * s, ys))(np.array([0.5, 1.0]))),
    "vmap over ys": lambda f: lambda x, ys: total(vmap(lambda s: f(x, ys * s), out_axes=0)(np.array([1.0, 0.3]))),
    "linearize": lambda f: lambda x, ys: linearize(f, x, ys)[1](op.sin(x), ys),
    "scan": lambda f: lambda x, ys: scan(lambda c, s: (c + f(x * s, ys), None), 0.0 * total(x), np.array([0.5, 1.0]))[0],
}


@settings(max_examples=25, deadline=None, derandomize=True)
@given(st.lists(st.sampled_from(sorted(TRANSFORMS)), min_size=1, max_size=3))
def test_compositions_agree_with_the_unrolled_program(names):
    """The same transformations of the same program, with every loop and branch run in Python."""
    x, ys = np.array([0.2, 0.4]), np.array([[0.9], [-0.8], [1.1]])
    f = functools.reduce(lambda f, name: TRANSFORMS[name](f), names, nested)
    with config.enable_x64(True):
        result = f(x, ys)
        closed = traced(f, x, ys)
        from laminax_ir.reference.evaluate import evaluate
        np.testing.assert_allclose(result, evaluate(closed, x, ys)[0], rtol=1e-9)
        if "scan" not in names and not any("vmap" in n for n in names):  # under these even Python's branches are traced
            with config.disable_jit(True):
                np.testing.assert_allclose(result, f(x, ys), rtol=1e-9)
        h = 1e-6
        numeric = (f(x + h, ys) - f(x - h, ys)) / (2 * h)
        np.testing.assert_allclose(jvp(lambda x: f(x, ys), (x,), (np.ones(2),))[1], numeric, rtol=1e-4, atol=1e-5)
        assert tree_map(np.shape, result) == ()
