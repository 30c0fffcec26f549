"""Policies of checkpoint that save values in the host's memory: same derivatives, and saved there, also for loops and branches."""

from __future__ import annotations

import numpy as np
import pytest

from laminax_ir.ops.contraction import dot
from laminax_ir.ops.control_flow import cond
from laminax_ir.ops.elementwise import cos, exp, gt, sin, tanh
from laminax_ir.ops.loops import scan
from laminax_ir.ops.reduction import reduce_sum
from laminax_ir.programs.check import check_jaxpr
from laminax_ir.recording.staging import stage
from laminax_ir.types.avals import get_aval
from laminax_ir.types.memory_spaces import MemorySpace
from laminax_transforms import checkpoint, checkpoint_name, checkpoint_policies, grad, hessian, saved_residuals, vmap
from laminax_transforms.rematerializing.rematerialization import Offloadable

X = np.array([0.3, -1.2, 2.0])
XS = np.linspace(-1.0, 1.5, 9).reshape(3, 3)


def offload(prim, *_, **__):
    return Offloadable("device", "pinned_host")


NAMED = checkpoint_policies.save_and_offload_only_these_names(
    names_which_can_be_saved=["kept"], names_which_can_be_offloaded=["moved"], offload_src="device", offload_dst="pinned_host")
PRODUCTS = checkpoint_policies.offload_dot_with_no_batch_dims("device", "pinned_host")
EITHER = checkpoint_policies.save_from_both_policies(checkpoint_policies.nothing_saveable, offload)


def chain(x):
    x = checkpoint_name(sin(x), "kept")
    x = checkpoint_name(sin(dot(XS, x)), "moved")
    return reduce_sum(sin(exp(x)), (0,))


def loop(x):
    def step(c, row):
        c = checkpoint_name(tanh(dot(XS, c)) + row, "moved")
        return checkpoint_name(sin(c), "kept"), cos(c)

    last, rows = scan(step, x, XS)
    return reduce_sum(last, (0,)) + reduce_sum(rows, (0, 1))


def branches(x):
    one = reduce_sum(x, (0,))
    y = cond(gt(one, 0.0), lambda x: sin(checkpoint_name(sin(x), "moved")), lambda x: exp(checkpoint_name(cos(x), "kept")), x)
    return reduce_sum(y * y, (0,))


@pytest.mark.parametrize("policy", [offload, NAMED, PRODUCTS, EITHER])
@pytest.mark.parametrize("fun", [chain, loop, branches])
def test_same_derivatives(fun, policy):
    moved = checkpoint(fun, policy=policy)
    # The tolerance is some roundings of float32, since sums are made in another order.
    for x in (X, -X):
        np.testing.assert_allclose(moved(x), fun(x), rtol=1e-5)
        np.testing.assert_allclose(grad(moved)(x), grad(fun)(x), rtol=1e-5)
        np.testing.assert_allclose(hessian(moved)(x), hessian(fun)(x), rtol=1e-5)
    np.testing.assert_allclose(vmap(grad(moved))(XS), vmap(grad(fun))(XS), rtol=1e-5)
    check_jaxpr(stage(lambda x: [grad(moved)(x)], [get_aval(X)]))


@pytest.mark.parametrize("fun, policy, here, there", [
    (chain, NAMED, [(3,)], [(3,)]), (chain, PRODUCTS, [], [(3,)]), (loop, NAMED, [(3, 3)], [(3, 3)]), (branches, NAMED, [(3,)], [(3,)])])
def test_where_values_are_saved(fun, policy, here, there):
    kept = [aval for aval, where in saved_residuals(checkpoint(fun, policy=policy), X)
            if "argument" not in where and "constant" not in where]
    spaces = {space: [aval.shape for aval in kept if aval.memory_space is space and aval.shape] for space in MemorySpace}
    assert spaces[MemorySpace.Host] == there and len(spaces[MemorySpace.Device]) >= len(here)


@pytest.mark.parametrize("call, error, message", [
    (lambda: checkpoint_policies.save_and_offload_only_these_names(
        names_which_can_be_saved=["y"], names_which_can_be_offloaded=["y", "w"], offload_src="device", offload_dst="pinned_host"),
     ValueError, "The names should be exclusive and should not intersect .* got 'y' in both. Leave it out of one"),
    (lambda: checkpoint_policies.save_and_offload_only_these_names(
        names_which_can_be_saved=[3], names_which_can_be_offloaded=[], offload_src="device", offload_dst="pinned_host"),
     TypeError, "save_and_offload_only_these_names: names must be strings"),
    (lambda: grad(checkpoint(chain, policy=lambda *_, **__: Offloadable("device", "disk")))(X), ValueError,
     "moved from 'device' to 'disk'. Offloadable takes the kinds of memory 'device' and 'pinned_host'; correct dst"),
    (lambda: grad(checkpoint(chain, policy=lambda *_, **__: Offloadable("pinned_host", "device")))(X), ValueError,
     r"and it is f\d\d\[3\], which is not in 'pinned_host'. Correct src"),
])
def test_wrong_policies(call, error, message):
    with pytest.raises(error, match=message):
        call()
