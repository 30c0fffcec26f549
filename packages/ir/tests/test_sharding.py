"""Placement operations: their value is their operand, and programs can be asked for the shardings in them."""

from types import SimpleNamespace

import numpy as np

from laminax_ir.ops.calls import call_jaxpr
from laminax_ir.ops.control_flow import cond
from laminax_ir.ops.placements import shardings_in
from laminax_ir.ops.sharding import device_put_p, sharding_constraint_p
from laminax_ir.recording.staging import stage
from laminax_ir.types.avals import ShapedArray


def test_placement_does_not_change_a_value():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2, 3)).astype(np.float32)
    for primitive in (sharding_constraint_p, device_put_p):
        np.testing.assert_array_equal(primitive.bind(x, sharding=None), x)


def test_shardings_are_found_in_nested_programs():
    a, b, c = (SimpleNamespace(name=name) for name in "abc")
    scalar = ShapedArray((), np.float32)
    inner = stage(lambda x: [sharding_constraint_p.bind(x, sharding=b)], [scalar])

    def fun(x):
        x = device_put_p.bind(x, sharding=a)
        (x,) = call_jaxpr(inner, x, name="inner")
        return [cond(x > 0, lambda y: sharding_constraint_p.bind(y, sharding=c), lambda y: y, x)]

    found = shardings_in(stage(fun, [scalar]))
    assert [sharding for sharding, _ in found] == [a, b, c]
    assert [eqn.primitive for _, eqn in found] == [device_put_p, sharding_constraint_p, sharding_constraint_p]
