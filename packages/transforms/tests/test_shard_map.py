"""Programs per device under transformations. On a mesh of one device they are evaluated; what is split over more is seen in the specs."""

from __future__ import annotations

import numpy as np
import pytest

from laminax_ir.ops import elementwise as op
from laminax_ir.ops.collectives import psum_p
from laminax_ir.ops.reduction import reduce_sum
from laminax_ir.ops.shard_map import bind_shard_map, local_aval, shard_map_p
from laminax_ir.pytrees.pytree import tree_leaves
from laminax_ir.recording.staging import stage
from laminax_ir.tracing.manual_axes import running_along
from laminax_ir.tracing.trace import extend_axis_env
from laminax_ir.types.abstract_meshes import AbstractMesh, AxisType
from laminax_ir.types.avals import ShapedArray, get_aval
from laminax_ir.types.partition_specs import P
from laminax_transforms import grad, jvp, vmap

ONE, MANY = AbstractMesh((1,), ("i",), AxisType.Auto), AbstractMesh((4,), ("i",), AxisType.Auto)


def per_device(fun, mesh, in_specs, out_specs):
    """The function of wholes of a function of parts."""
    def mapped(*args):
        avals = [local_aval(get_aval(x), spec, mesh) for x, spec in zip(args, in_specs)]
        with extend_axis_env(*mesh.shape_tuple):
            closed = stage(lambda *xs: [fun(*xs)], avals)
        (result,) = bind_shard_map(closed, *args, mesh=mesh, in_specs=in_specs, out_specs=[out_specs], manual_axes=("i",))
        return result

    return mapped


def total(x):
    return psum_p.bind(x, axes=("i",), axis_index_groups=None)


def product(x, w):
    return op.mul(op.sin(x), total(op.mul(x, w)))


def test_derivatives_on_one_device():
    x, w, x_dot = (np.random.default_rng(i).normal(size=(4,)).astype(np.float32) for i in range(3))
    f = per_device(product, ONE, [P("i"), P()], P("i"))
    np.testing.assert_allclose(f(x, w), np.sin(x) * x * w, rtol=1e-6)
    expected = (np.cos(x) * x + np.sin(x)) * w  # by hand
    _, tangent = jvp(lambda x: f(x, w), (x,), (x_dot,))
    np.testing.assert_allclose(tangent, expected * x_dot, rtol=1e-5)
    gradient = grad(lambda x, w: reduce_sum(f(x, w), (0,)), argnums=(0, 1))(x, w)
    np.testing.assert_allclose(gradient[0], expected, rtol=1e-5)
    np.testing.assert_allclose(gradient[1], np.sin(x) * x, rtol=1e-5)
    batch = np.stack([x, w, x_dot])
    np.testing.assert_allclose(vmap(f, (0, None))(batch, w), np.stack([np.sin(b) * b * w for b in batch]), rtol=1e-6)
    np.testing.assert_allclose(vmap(f, (None, 1), 1)(x, batch.T), np.stack([np.sin(x) * x * b for b in batch], 1), rtol=1e-6)


def equations(fun, *shapes):
    program = stage(lambda *xs: tree_leaves(fun(*xs)), [ShapedArray(shape, np.float32) for shape in shapes])
    return [eqn for eqn in program.eqns if eqn.primitive is shard_map_p]


def test_what_the_linear_part_needs_is_split_over_the_devices():
    f = per_device(product, MANY, [P("i"), P()], P("i"))
    primal, adjoint = equations(grad(lambda x, w: reduce_sum(f(x, w), (0,)), argnums=(0, 1)), (8,), (2,))
    assert primal.params["out_specs"][0] == P("i") and set(primal.params["out_specs"][1:]) == {P("i")}
    for saved in primal.outvars[1:]:
        assert saved.aval.shape[0] == 4  # one value per device, along an axis in front
    assert adjoint.params["out_specs"] == (P("i"), P())
    assert [v.aval.shape for v in adjoint.outvars] == [(8,), (2,)]
    sums = [eqn for eqn in adjoint.params["jaxpr"].eqns if eqn.primitive is psum_p]
    assert len(sums) == 2  # the transpose of the sum, and the sum over the devices of what w is needed for


def test_a_result_that_all_devices_share():
    f = per_device(lambda x: total(op.mul(x, x)), MANY, [P("i")], P())
    program = stage(lambda x: [grad(lambda x: reduce_sum(f(x), (0,)))(x)], [ShapedArray((8,), np.float32)])
    assert op.div_p in [eqn.primitive for eqn in program.eqns]  # each device's share of the cotangent


@pytest.mark.parametrize("in_axes, specs", [((0, 0), [P(None, "i"), P(None)]), ((1, None), [P("i", None), P()])])
def test_batches_are_whole_on_every_device(in_axes, specs):
    f = per_device(product, MANY, [P("i"), P()], P("i"))
    shapes = [(3, 8) if axis == 0 else (8, 3) for axis in in_axes[:1]] + [(3, 2) if in_axes[1] == 0 else (2,)]
    (eqn,) = equations(lambda x, w: vmap(f, in_axes)(x, w), *shapes)
    assert list(eqn.params["in_specs"]) == specs


GRID = AbstractMesh((4, 2), ("i", "j"), AxisType.Auto)


def along(*manual_axes):
    """A program per device on a grid, on an operand that is split along j and one that is whole, and its axes."""
    def bound(fun):
        def mapped(x, w):
            avals = [local_aval(get_aval(x), P("j"), GRID), get_aval(w)]
            with running_along([(name, GRID.shape[name]) for name in manual_axes], True):
                closed = stage(lambda *xs: [fun(*xs)], [avals[0].update(named_shape={"j": 2}), avals[1]])
            return bind_shard_map(closed, x, w, mesh=GRID, in_specs=[P("j"), P()], out_specs=[P("j")], manual_axes=manual_axes,
                                  check_vma=True)[0]
        return mapped
    return bound


@pytest.mark.parametrize("in_axes, specs", [((0, 0), [P("i", "j"), P("i")]), ((1, None), [P("j", "i"), P()])])
def test_devices_share_a_batch(in_axes, specs):
    f = along("i", "j")(lambda x, w: op.mul(op.sin(x), w))
    shapes = [(8, 6) if in_axes[0] == 0 else (6, 8), (8, 3) if in_axes[1] == 0 else (3,)]
    (eqn,) = equations(vmap(f, in_axes, spmd_axis_name="i"), *shapes)
    assert (list(eqn.params["in_specs"]) == specs
            and [v.aval.size for v in eqn.params["jaxpr"].jaxpr.invars] == [6, 6 if in_axes[1] == 0 else 3])
    *_, adjoint = equations(lambda x, w: grad(lambda x, w: reduce_sum(vmap(f, in_axes, spmd_axis_name="i")(x, w), (0, 1)), (0, 1))(x, w),
                            *shapes)
    sums = [eqn.params["axes"] for eqn in adjoint.params["jaxpr"].eqns if eqn.primitive is psum_p]
    # w is one value on the devices that share the batch, or one per example
    assert sorted(sums) == ([("j",)] if in_axes[1] == 0 else [("i",), ("j",)])
    assert adjoint.params["out_specs"] == tuple(specs)


def test_a_batch_over_an_axis_that_the_program_does_not_run_along_is_whole():
    (eqn,) = equations(vmap(along("j")(op.mul), (0, None), spmd_axis_name="i"), (8, 6), (3,))
    assert eqn.params["in_specs"] == (P(None, "j"), P())


@pytest.mark.parametrize("error, match, fun, size, name", [
    (ValueError, r"spmd_axis_name cannot appear in shard_map in_specs, and does in P\('j',\)", op.mul, 8, "j"),
    (ValueError, r"the batch has size 6, which is not divisible by the 4 devices along \('i',\). Pad the batch to 8", op.mul, 6, "i"),
    (NotImplementedError, "psum inside, along one of .'i'., is not supported",
     lambda x, w: psum_p.bind(x, axes=("i",), axis_index_groups=None), 8, "i"),
])
def test_devices_that_cannot_share_a_batch(error, match, fun, size, name):
    with pytest.raises(error, match=match):
        equations(vmap(along("i", "j")(fun), (0, None), spmd_axis_name=name), (size, 6), (3,))
