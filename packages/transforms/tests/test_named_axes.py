"""`reduce_axes` over an axis of devices: the sums that are left in the program are those over shared values."""

from __future__ import annotations

import numpy as np
import pytest

from laminax_ir.ops.calls import call_jaxpr
from laminax_ir.ops.collectives import all_gather, axis_index, psum
from laminax_ir.ops.elementwise import convert_element_type, sin
from laminax_ir.ops.loops import scan
from laminax_ir.ops.reduction import reduce_sum
from laminax_ir.recording.evaluation import jaxpr_as_fun
from laminax_ir.recording.staging import stage
from laminax_ir.tracing.trace import extend_axis_env
from laminax_ir.types.avals import get_aval
from laminax_transforms import grad, vmap
from laminax_transforms.batching.named_axes import resolve_shared_sums

W = np.float32([0.5, -1.0, 2.0])
BATCH = np.random.default_rng(5).normal(size=(4, 3)).astype(np.float32)


def loss(w, x):
    return reduce_sum(sin(w * x), (0,))


def resolved(fun, varies, *args):
    with extend_axis_env(("batch", 4)):
        closed = stage(lambda *xs: list(fun(*xs)), [get_aval(x) for x in args])
        return resolve_shared_sums(closed, "batch", varies)


def names(closed):
    return [eqn.primitive.name for eqn in closed.eqns]


def on_all(closed, in_axes, *args):
    """The program of one participant on all of them, by vmap."""
    return vmap(jaxpr_as_fun(closed), in_axes=in_axes, axis_name="batch")(*args)


def test_shared_values_are_summed_over_and_others_are_not():
    g = grad(loss, argnums=(0, 1), reduce_axes=("batch",))
    closed = resolved(g, [False, True], W, BATCH[0])
    assert names(closed).count("psum") == 1 and "psum_shared" not in names(closed)
    w_grad, x_grad = on_all(closed, (None, 0), W, BATCH)
    np.testing.assert_allclose(w_grad, np.stack([(np.cos(W * BATCH) * BATCH).sum(0)] * 4), rtol=1e-5)
    np.testing.assert_allclose(x_grad, np.cos(W * BATCH) * W, rtol=1e-5)
    assert "psum" not in names(resolved(g, [True, True], W, BATCH[0]))
    assert "psum" not in names(resolved(g, [False, False], W, BATCH[0]))  # everybody has the same gradient


def test_through_calls():
    def g(w, x):
        inner = stage(lambda w, x: [grad(loss, reduce_axes=("batch",))(w, x)], [get_aval(w), get_aval(x)])
        return call_jaxpr(inner, w, x, name="inner")

    closed = resolved(g, [False, True], W, BATCH[0])
    np.testing.assert_allclose(on_all(closed, (None, 0), W, BATCH)[0][0], (np.cos(W * BATCH) * BATCH).sum(0), rtol=1e-5)


def test_what_varies():
    def g(w):
        x = w * convert_element_type(axis_index("batch"), np.float32)  # varies, though no input does
        shared = psum(x, "batch")
        everyone = reduce_sum(all_gather(x, "batch"), (0,))
        return [grad(loss, reduce_axes=("batch",))(value, x) for value in (x, shared, everyone)]

    assert names(resolved(g, [False], W)).count("psum") == 1 + 2


def test_a_program_without_such_sums_is_left_alone():
    with extend_axis_env(("batch", 4)):
        closed = stage(lambda x: [psum(x, "batch")], [get_aval(W)])
        assert resolve_shared_sums(closed, "batch", [True]) is closed


def test_inside_of_a_loop():
    def g(w, x):
        return [scan(lambda c, _: (c + grad(loss, reduce_axes=("batch",))(w, x), None), w, None, length=2)[0]]

    with pytest.raises(NotImplementedError, match="reduce_axes='batch' inside of scan is not supported"):
        resolved(g, [False, True], W, BATCH[0])
