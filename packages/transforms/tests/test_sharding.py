"""Placement under transformations: derivatives are placed alike, and a batch axis finds its place in the spec."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from laminax_ir.ops.placements import shardings_in
from laminax_ir.ops.reduction import reduce_sum
from laminax_ir.ops.sharding import device_put_p, sharding_constraint_p
from laminax_ir.recording.staging import stage
from laminax_ir.types.abstract_meshes import AbstractMesh, AxisType
from laminax_ir.types.avals import ShapedArray
from laminax_ir.types.partition_specs import UNCONSTRAINED, P
from laminax_transforms import grad, jvp, vmap


@dataclass(frozen=True)
class Split:
    """What programs need of a sharding."""
    mesh: AbstractMesh
    spec: P
    num_devices: int = 8

    def update(self, spec):
        return replace(self, spec=spec)


MESH = AbstractMesh((4, 2), ("x", "y"), AxisType.Auto)


def placed(x, *spec, primitive=sharding_constraint_p):
    return primitive.bind(x, sharding=Split(MESH, P(*spec)))


@pytest.mark.parametrize("primitive", [sharding_constraint_p, device_put_p])
def test_derivatives_go_through(primitive):
    rng = np.random.default_rng(0)
    x, x_dot = rng.normal(size=(2, 4, 4)).astype(np.float32)

    def f(x):
        return reduce_sum(placed(x * x, "x", primitive=primitive) * x, (0, 1))

    _, tangent = jvp(f, (x,), (x_dot,))
    np.testing.assert_allclose(tangent, np.sum(3 * x**2 * x_dot), rtol=1e-5)  # float32
    np.testing.assert_allclose(grad(f)(x), 3 * x**2, rtol=1e-5)


def test_cotangents_are_placed_like_the_values():
    aval = ShapedArray((4,), np.float32)
    program = stage(lambda x: [grad(lambda x: reduce_sum(placed(x, "x") * placed(x, "y"), (0,)))(x)], [aval])
    assert sorted(str(s.spec) for s, _ in shardings_in(program)) == ["P('x',)", "P('x',)", "P('y',)", "P('y',)"]


@pytest.mark.parametrize("in_axis, spec, options, expected", [
    (0, ("y",), {}, P(UNCONSTRAINED, "y")),
    (1, ("y",), {}, P("y", UNCONSTRAINED)),
    (0, ("y",), {"spmd_axis_name": "x"}, P("x", "y")),
    (1, (), {"spmd_axis_name": "x"}, P(None, "x")),
    (0, (None,), {"spmd_axis_name": ("x", "y")}, P(("x", "y"), None)),
])
def test_the_batch_axis_in_the_spec(in_axis, spec, options, expected):
    aval = ShapedArray((4, 4), np.float32)
    program = stage(lambda x: [vmap(lambda row: placed(row, *spec), in_axis, in_axis, **options)(x)], [aval])
    ((sharding, _),) = shardings_in(program)
    assert sharding.spec == expected
    x = np.arange(16.0).reshape(4, 4)
    np.testing.assert_array_equal(vmap(lambda row: placed(row, *spec) * 2, in_axis, in_axis, **options)(x), x * 2)


def test_nested_vmaps_take_different_mesh_axes():
    aval = ShapedArray((4, 2, 8), np.float32)
    program = stage(lambda x: [vmap(vmap(lambda x: placed(x), spmd_axis_name="y"), spmd_axis_name="x")(x)], [aval])
    assert shardings_in(program)[0][0].spec == P("x", "y", None)


def test_errors():
    x = np.zeros((4, 4))
    with pytest.raises(ValueError, match=r"spmd_axis_name='x' names mesh axes that split other axes already: \['x'\]"):
        vmap(lambda row: placed(row, "x"), spmd_axis_name="x")(x)

    class Tiles:
        num_devices = 8

    with pytest.raises(NotImplementedError, match="Use a NamedSharding"):
        vmap(lambda row: sharding_constraint_p.bind(row, sharding=Tiles()))(x)
