"""What pullbacks and linearized functions have saved: `args_res`, `opaque_residuals`, `func` and `args`.

Oracles: the function's derivative in closed form, with other arguments in the places of those that were saved.
"""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

from laminax_ir.ops import elementwise as op
from laminax_ir.ops.contraction import dot
from laminax_ir.pytrees.pytree import tree_flatten, tree_unflatten
from laminax_transforms import linearize, vjp
from laminax_transforms.differentiation.saved_values import NotNeeded, NotSaveable

W = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], np.float32)
B = np.array([0.5, -0.5], np.float32)
X = np.array([1.0, -1.0, 2.0], np.float32)
CT = np.array([1.0, 10.0], np.float32)


def layer(params, x):
    return op.mul(op.sin(op.add(dot(x, params["w"]), params["b"])), params["scale"])


def params(factor=1):
    return {"w": W * factor, "b": B, "scale": np.array([2.0, 3.0], np.float32)}


def pullback():
    return vjp(layer, params(), X)[1]


def expected(w):
    """The cotangent of x, where w is in the place of the weights when the pullback runs."""
    return w @ (np.cos(X @ W + B) * params()["scale"] * CT)


def test_arguments_that_are_saved_as_they_are_lie_in_their_places():
    args_res = pullback().args_res
    assert isinstance(args_res, list) and args_res[0]["b"] == NotNeeded()
    np.testing.assert_array_equal(args_res[0]["w"], W)
    np.testing.assert_array_equal(args_res[0]["scale"], [2, 3])
    np.testing.assert_array_equal(args_res[1], X)


def test_the_other_values_are_opaque():
    z = X @ W + B
    found = sorted(tuple(map(float, np.round(x, 4))) for x in pullback().opaque_residuals)
    assert found == sorted(tuple(map(float, np.round(x, 4))) for x in (np.sin(z), np.cos(z)))


def test_an_argument_is_taken_out_and_put_back():
    run = pullback()
    saved, run.args_res[0] = run.args_res[0], None
    with pytest.raises(ValueError, match=r"vjp\(layer\): .*restoring.*: args_res\[0\] lacks a value .* Put the argument back"):
        run(CT)
    leaves, structure = tree_flatten(run)  # as a loop does with its results, which are then smaller
    assert not any(np.shape(x) == np.shape(W) for x in leaves)
    copy = tree_unflatten(structure, leaves)
    with pytest.raises(ValueError, match=r"args_res\[0\] lacks a value"):
        copy(CT)
    copy.args_res[0] = params(5)
    np.testing.assert_allclose(copy(CT)[1], expected(W * 5), rtol=1e-5)
    run.args_res[0] = saved
    np.testing.assert_allclose(run(CT)[1], expected(W), rtol=1e-5)
    run.args_res[0] = params(7)  # where only what is saved counts
    np.testing.assert_allclose(run(CT)[1], expected(W * 7), rtol=1e-5)
    run.args_res = [params(), X]
    np.testing.assert_allclose(run(CT)[1], expected(W), rtol=1e-5)


def test_what_is_not_needed_may_be_anything():
    run = vjp(lambda x, y: op.add(op.sin(x), y), X, X)[1]
    assert run.args_res == [NotNeeded(), NotNeeded()]
    run.args_res[1] = None
    np.testing.assert_allclose(run(X)[0], np.cos(X) * X, rtol=1e-6)


def test_opaque_residuals_may_be_changed():
    run = vjp(op.sin, X)[1]
    (cosine,) = run.opaque_residuals
    np.testing.assert_allclose(cosine, np.cos(X), rtol=1e-6)
    run.opaque_residuals[0] = np.ones(3, np.float32)
    np.testing.assert_array_equal(run(X)[0], X)
    run.opaque_residuals = []
    with pytest.raises(ValueError, match="opaque_residuals must have the 1 values"):
        run(X)


def test_a_pullback_that_was_taken_apart_knows_its_arguments():
    leaves, structure = tree_flatten(pullback())
    run = tree_unflatten(structure, [x * 2 if np.shape(x) == np.shape(W) else x for x in leaves])
    np.testing.assert_array_equal(run.args_res[0]["w"], W * 2)
    np.testing.assert_allclose(run(CT)[1], expected(W * 2), rtol=1e-5)
    changed = pullback()
    changed.args_res[0]["w"] = W * 3
    leaves, structure = tree_flatten(changed)
    again = tree_unflatten(structure, leaves)
    np.testing.assert_allclose(again(CT)[1], expected(W * 3), rtol=1e-5)
    np.testing.assert_array_equal(again.args_res[0]["w"], W * 3)


def test_a_linearized_function_is_a_function_of_its_residuals():
    f_jvp = linearize(op.sin, X)[1]
    ((cosine,),) = f_jvp.args
    np.testing.assert_allclose(cosine, np.cos(X), rtol=1e-6)
    assert f_jvp.keywords == {}
    np.testing.assert_allclose(f_jvp.func(*f_jvp.args, X), np.cos(X) * X, rtol=1e-6)
    np.testing.assert_array_equal(f_jvp.func([np.ones(3, np.float32)], X), X)


@pytest.mark.parametrize("saveable, has", [(False, (False, False, False)), ((False, True), (False, False, True)),
                                           (((True, True, False), True), (False, True, True))])  # w, scale, x
def test_arguments_that_may_not_be_saved_are_put_back_before_the_call(saveable, has):
    run = vjp(layer, params(), X, saveable_args=saveable)[1]
    leaves, structure = tree_flatten(run)
    assert len(leaves) == 2 + sum(has) and not any(x is y for x in leaves for y in (W, X) if not any(has))
    for pulled in (run, tree_unflatten(structure, leaves)):
        saved = [pulled.args_res[0]["w"], pulled.args_res[0]["scale"], pulled.args_res[1]]
        assert [not isinstance(x, NotSaveable) for x in saved] == list(has) and pulled.args_res[0]["b"] == NotNeeded()
        with pytest.raises(ValueError, match=r"applied before restoring its not-saveable residuals.*args_res\[0\]"):
            pulled(CT)
        pulled.args_res = [params(), X]
        np.testing.assert_allclose(pulled(CT)[1], expected(W), rtol=1e-5)


def test_saveable_args_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="saveable_args has 1 children while the values have 2"):
        vjp(layer, params(), X, saveable_args=(True,))


def test_an_argument_that_is_not_saved_is_let_go():
    class Argument(np.ndarray):
        """An array that can be referred to weakly."""

    x = (X * 1).view(Argument)
    run = vjp(lambda x: op.mul(x, x), x, saveable_args=False)[1]
    gone = weakref.ref(x)
    del x
    gc.collect()
    assert gone() is None and run.args_res == [NotSaveable()]


def test_the_program_of_a_linearized_function_is_the_first_argument_of_its_func():
    f_jvp = linearize(lambda x: (op.mul(op.sin(x), x), x, op.stop_gradient_p.bind(x)), X)[1]
    jaxpr = f_jvp.func.args[0]
    assert len(jaxpr.invars) == len(f_jvp.args[0]) + 1 and "sin" not in str(jaxpr)
    for found, expected in zip(f_jvp.func(*f_jvp.args, X), (np.cos(X) * X * X + np.sin(X) * X, X, 0 * X)):
        np.testing.assert_allclose(found, expected, rtol=1e-5)
