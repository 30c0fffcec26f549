"""Hints are linear or without tangents, and hold of the batch."""

import numpy as np
from numeric_checks import check_derivatives, check_vmap

from laminax_ir.avals import ShapedArray
from laminax_ir.ops import elementwise as op
from laminax_ir.ops.hints import dce_sink, stage_p
from laminax_ir.staging import stage
from laminax_transforms import grad, vmap


def test_stage():
    x = np.array([0.5, 1.5])
    check_derivatives(lambda x: stage_p.bind(op.sin(x)) * stage_p.bind(2.0), x)
    check_vmap(lambda x: stage_p.bind(op.sin(x)), [x], [0])


def test_a_sink_keeps_the_primal():
    def fun(x):
        dce_sink(op.sin(x))
        return x * x

    closed = stage(lambda x: [vmap(grad(fun))(x)], [ShapedArray((3,), np.float32)])
    sinks = [eqn for eqn in closed.eqns if eqn.primitive.name == "dce_sink"]
    assert [eqn.invars[0].aval.shape for eqn in sinks] == [(3,)] and "sin" in [eqn.primitive.name for eqn in closed.eqns]
    np.testing.assert_allclose(vmap(grad(fun))(np.arange(3.0)), [0, 2, 4])
