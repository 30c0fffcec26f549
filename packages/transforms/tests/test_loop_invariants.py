"""Values that a loop carries and never changes: not stacked for the derivative, and differentiable through a while loop."""

from __future__ import annotations

import numpy as np
import pytest
from numeric_checks import check_derivatives, check_vmap

from laminax_ir.ops import elementwise as op
from laminax_ir.ops import loops
from laminax_ir.ops.reduction import reduce_sum
from laminax_ir.options.config import enable_x64
from laminax_ir.recording.staging import stage
from laminax_ir.reference.evaluate import evaluate
from laminax_ir.types.avals import ShapedArray, get_aval
from laminax_transforms import grad, jvp, vmap

X, W = np.array([0.3, -0.4, 0.7]), np.array([1.1, 0.9, -0.8])


@pytest.fixture(autouse=True)
def x64():
    with enable_x64():
        yield


def scanned(x, w):
    """Carries the weights, and stacks them too; what stays the same is not next to each other."""
    def body(carry, a):
        w, x, one = carry
        x = op.sin(x * w) + a * one
        return (w, x, one), w * x
    (_, x, one), ys = loops.scan(body, (w, x, w * 0.0 + 1.0), np.arange(4.0))
    return x * one + reduce_sum(ys, (0,))


def loop_by_hand(x, w):
    ys = 0.0
    for a in np.arange(4.0):
        x = np.sin(x * w) + a
        ys = ys + w * x
    return x + ys


def repeated(x, w):
    """While loop: the weights and the bound, which the condition reads, stay; the number of steps depends on the data."""
    def body(carry):
        value, w, bound, steps = carry
        return value * 1.5 + 0.1, w, bound, steps + 1
    value, w, bound, steps = loops.while_loop(lambda c: reduce_sum(c[0], (0,)) < c[2], body,
                                              (x * 0.0 + 0.1, w, reduce_sum(w, (0,)) + 6.0, 0))
    return value, w * x, bound, steps


def test_values_are_those_of_the_loop():
    np.testing.assert_allclose(scanned(X, W), loop_by_hand(X, W), rtol=1e-12)
    np.testing.assert_allclose(evaluate(stage(lambda x, w: [scanned(x, w)], [get_aval(X), get_aval(W)]), X, W)[0], loop_by_hand(X, W),
                               rtol=1e-12)


def test_derivatives_and_batches():
    check_derivatives(scanned, X, W)
    check_vmap(scanned, (np.stack([X, W]), W), (0, None))
    check_vmap(scanned, (X, np.stack([X, W])), (None, 0))
    check_vmap(lambda x, w: grad(lambda w: reduce_sum(scanned(x, w), (0,)))(w), (X, np.stack([X, W])), (None, 0))


def test_what_a_scan_passes_on_is_a_constant_and_is_not_stacked():
    matrix = ShapedArray((50, 50), np.float64)

    def chain(x, w):
        (x, _), _ = loops.scan(lambda c, _: ((op.sin(c[0] * c[1]), c[1]), None), (x, w), None, length=7)
        return reduce_sum(x, (0, 1))

    program = stage(lambda x, w: list(grad(chain, (0, 1))(x, w)), [matrix, matrix])
    forward = next(eqn for eqn in program.eqns if str(eqn.primitive) == "scan")
    assert (forward.params["num_consts"], forward.params["num_carry"]) == (1, 1)
    stacked = [v.aval for v in forward.outvars if v.aval.shape == (7, 50, 50)]
    assert len(stacked) == 2  # the carry of each step and the sine's slope; w itself is there already


def test_reverse_mode_knows_what_a_while_loop_passes_on():
    def passed_on(x, w):
        _, product, bound, _ = repeated(x, w)
        return reduce_sum(product, (0,)) + 3.0 * bound

    for wrap in (lambda f: f, lambda f: lambda *xs: evaluate(stage(lambda *ys: list(f(*ys)), [get_aval(x) for x in xs]), *xs)):
        x_ct, w_ct = wrap(grad(passed_on, (0, 1)))(X, W)
        np.testing.assert_allclose(x_ct, W)
        np.testing.assert_allclose(w_ct, X + 3)
    with pytest.raises(ValueError, match="Reverse-mode differentiation does not work"):
        grad(lambda x: reduce_sum(loops.while_loop(lambda c: reduce_sum(c[0], (0,)) < 9.0, lambda c: (c[0] * c[1], c[1]), (x, W))[0],
                                  (0,)))(np.full(3, 1.1))


def test_a_while_loop_with_invariants_in_forward_mode_and_in_batches():
    (value, product, _, steps), (_, product_dot, bound_dot, _) = jvp(repeated, (X, W), (np.ones(3), W))
    np.testing.assert_allclose(product_dot, X * W + W)
    np.testing.assert_allclose(bound_dot, W.sum())
    expected, count = np.full(3, 0.1), 0
    while expected.sum() < W.sum() + 6:
        expected, count = expected * 1.5 + 0.1, count + 1
    np.testing.assert_allclose(value, expected)
    assert steps == count
    bounds = np.stack([W, 3 * W, 9 * W])  # of each example its own number of steps
    found = vmap(lambda w: repeated(X, w))(bounds)
    for i, w in enumerate(bounds):
        for result, wanted in zip(found, repeated(X, w)):
            np.testing.assert_allclose(result[i], wanted)


def test_what_was_not_an_array_stays_in_the_carry_and_becomes_one():
    program = stage(lambda x: list(loops.scan(lambda c, _: ((c[0] * c[1], c[1], c[2]), None), (x, 2.0, np.ones(3)), None, length=2)[0]),
                    [get_aval(X)])
    assert program.eqns[-1].params["num_carry"] == 3
    assert [aval.shape for aval in program.out_avals] == [(3,), (), (3,)]


def test_a_function_of_invariants_is_transformed_once():
    """The program without them is the same one each time, so that what was made of it is found again."""
    def body(carry, _):
        return (op.sin(carry[0] * carry[1]), carry[1]), None

    def twice(x, w):
        return loops.scan(body, loops.scan(body, (x, w), None, length=2)[0], None, length=2)[0][0]

    first, second = (eqn.params["jaxpr"] for eqn in stage(lambda x, w: [twice(x, w)], [get_aval(X), get_aval(W)]).eqns)
    assert first is second
