"""Logs of backward rules under transformations: their cotangents and their values are known in closed form."""

from __future__ import annotations

import numpy as np
import pytest

from laminax_ir.ops import elementwise as op
from laminax_ir.ops.control_flow import cond
from laminax_ir.ops.loops import scan
from laminax_ir.recording.staging import stage
from laminax_ir.types.avals import ShapedArray
from laminax_transforms import checkpoint, custom_gradient, custom_vjp, grad, jvp, vjp, vmap

f32 = np.float32
XS = f32([0.3, 1.0, 2.0])


@custom_vjp
def sine(x, scale):
    return op.mul(op.sin(x), scale)


def _sine_bwd(residuals, ct):
    x, scale = residuals
    return (op.mul(op.mul(ct, op.cos(x)), scale), op.mul(ct, op.sin(x))), {"sine": {"ct": ct, "x": x}}


sine.defvjp_with_logs(lambda x, scale: (op.mul(op.sin(x), scale), (x, scale)), _sine_bwd)


def test_logs_come_beside_the_cotangents_and_are_dropped_otherwise():
    _, pull_back = vjp(sine, f32(1), f32(2))
    (x_ct, scale_ct), logs = pull_back.with_logs(f32(3))
    np.testing.assert_allclose([x_ct, scale_ct], [6 * np.cos(1), 3 * np.sin(1)], rtol=1e-6)
    assert logs == {"sine": {"ct": 3, "x": 1}}
    np.testing.assert_allclose(pull_back(f32(3)), [x_ct, scale_ct])
    np.testing.assert_allclose(grad(sine)(f32(1), f32(2)), 2 * np.cos(1), rtol=1e-6)


@pytest.mark.parametrize("wrap", [lambda f: f, checkpoint, lambda f: checkpoint(checkpoint(f))])
def test_a_scan_stacks_the_logs_of_its_steps(wrap):
    step = wrap(lambda c, x: (op.add(op.mul(c, f32(2)), sine(x, f32(5))), None))
    (xs_ct,), logs = vjp(lambda xs: scan(step, f32(0), xs)[0], XS)[1].with_logs(f32(1))
    cts = f32([4, 2, 1])  # the carry is doubled by each later step
    np.testing.assert_allclose(xs_ct, 5 * cts * np.cos(XS), rtol=1e-6)
    np.testing.assert_array_equal(logs["sine"]["ct"], cts)
    np.testing.assert_array_equal(logs["sine"]["x"], XS)


def test_nested_scans_stack_twice():
    def inner(c, xs):
        return op.add(c, scan(lambda c, x: (op.add(c, sine(x, f32(1))), None), f32(0), xs)[0]), None
    xs = np.stack([XS, XS + 1])
    _, logs = vjp(lambda xs: scan(inner, f32(0), xs)[0], xs)[1].with_logs(f32(1))
    np.testing.assert_array_equal(logs["sine"]["x"], xs)


def test_a_batch_logs_all_examples():
    for call in (lambda xs: vjp(lambda x: vmap(sine, (0, None))(x, f32(2)), xs)[1].with_logs(np.ones(3, f32)),
                 lambda xs: vmap(lambda x: vjp(sine, x, f32(2))[1].with_logs(f32(1)))(xs)):
        _, logs = call(XS)
        np.testing.assert_array_equal(logs["sine"]["x"], XS)
        np.testing.assert_array_equal(logs["sine"]["ct"], np.ones(3))


def test_pullbacks_with_logs_are_differentiated_and_staged():
    def logged(x):
        return vjp(sine, x, f32(2))[1].with_logs(f32(1))[1]["sine"]["x"]
    assert jvp(logged, (f32(3),), (f32(7),)) == (3, 7)
    assert grad(lambda x: vjp(sine, x, f32(2))[1](f32(1))[0])(f32(1)) == f32(-2 * np.sin(f32(1)))
    program = stage(lambda x: [logged(x)], [ShapedArray((), f32)])
    assert "backward_log" not in {eqn.primitive.name for eqn in program.eqns}  # they are values of the program


def test_arguments_that_are_not_differentiated_and_logs_that_are_none():
    scaled = custom_vjp(lambda n, x: op.mul(x, f32(n)), nondiff_argnums=(0,))
    scaled.defvjp_with_logs(lambda n, x: (scaled(n, x), None), lambda n, _, ct: ((op.mul(ct, f32(n)),), {"n": ct} if n > 2 else None))
    for n, expected in ((3, {"n": 1}), (2, {})):
        assert vjp(lambda x: scaled(n, x), f32(2))[1].with_logs(f32(1)) == ((n,), expected)


@pytest.mark.parametrize("as_tuple", [True, False])
def test_custom_gradients_log(as_tuple):
    @custom_gradient(with_logs=True)
    def square(x):
        def pull_back(ct):
            x_ct = op.mul(ct, op.mul(x, f32(2)))
            return (x_ct,) if as_tuple else x_ct, {"ct": ct, "x": x}
        return op.mul(x, x), pull_back

    assert grad(square)(f32(3)) == 6
    assert vjp(square, f32(3))[1].with_logs(f32(5)) == ((30,), {"ct": 5, "x": 3})


def _returning(result):
    f = custom_vjp(lambda x: x)
    f.defvjp_with_logs(lambda x: (x, None), lambda _, ct: result(ct))
    return f


def _gradient(result):
    return custom_gradient(lambda x: (x, result), with_logs=True)


@pytest.mark.parametrize("define, source", [(_returning, "defvjp_with_logs"), (_gradient, r"custom_gradient\(with_logs=True\)")])
@pytest.mark.parametrize("result, words", [
    (lambda ct: (ct,), r"must produce a pair \(in_cts, logs\).*Return None for the logs"),
    (lambda ct: ((ct,), [1.0]), "must be None or a dict; got .* of type list"),
])
def test_other_results_are_refused(define, source, result, words):
    with pytest.raises(TypeError, match=f"{source}.*{words}"):
        grad(define(result))(f32(1))


def test_what_is_logged_must_be_arrays():
    with pytest.raises(TypeError, match=r"what it logs must be arrays, got 'no' of type str at \['a'\]"):
        grad(_returning(lambda ct: ((ct,), {"a": "no"})))(f32(1))


def test_keys_are_unique():
    _, pull_back = vjp(lambda x: sine(sine(x, f32(1)), f32(1)), f32(1))
    pull_back(f32(1))
    with pytest.raises(ValueError, match=r"the log keys \['sine'\] of sine were logged before in this backward pass.*unique"):
        pull_back.with_logs(f32(1))


def test_logs_inside_of_branches_are_refused():
    _, pull_back = vjp(lambda x: cond(op.gt(x, f32(0)), lambda x: sine(x, f32(1)), lambda x: x, x), f32(1))
    np.testing.assert_allclose(pull_back(f32(1))[0], np.cos(1), rtol=1e-6)
    with pytest.raises(NotImplementedError, match="with_logs: a backward rule logs inside of cond.*Log outside of it"):
        pull_back.with_logs(f32(1))
