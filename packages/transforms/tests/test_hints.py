"""Hints are linear or without tangents, and hold of the batch."""

import numpy as np
from numeric_checks import check_derivatives, check_vmap

from laminax_ir.ops import elementwise as op
from laminax_ir.ops.hints import dce_sink, stage_p, todense, with_xla_metadata
from laminax_ir.recording.staging import stage
from laminax_ir.tracing.operation_attributes import attributes_of, changed_attributes
from laminax_ir.types.avals import ShapedArray
from laminax_transforms import grad, vmap


def test_stage():
    x = np.array([0.5, 1.5])
    check_derivatives(lambda x: stage_p.bind(op.sin(x)) * stage_p.bind(2.0), x)
    check_vmap(lambda x: stage_p.bind(op.sin(x)), [x], [0])
    check_derivatives(lambda x: todense(op.sin(x)) * todense(2.0), x)
    check_vmap(lambda x: todense(op.sin(x)), [x], [0])


def test_a_sink_keeps_the_primal():
    def fun(x):
        dce_sink(op.sin(x))
        return x * x

    closed = stage(lambda x: [vmap(grad(fun))(x)], [ShapedArray((3,), np.float32)])
    sinks = [eqn for eqn in closed.eqns if eqn.primitive.name == "dce_sink"]
    assert [eqn.invars[0].aval.shape for eqn in sinks] == [(3,)] and "sin" in [eqn.primitive.name for eqn in closed.eqns]
    np.testing.assert_allclose(vmap(grad(fun))(np.arange(3.0)), [0, 2, 4])


def test_metadata_of_values():
    x = np.array([0.5, 1.5])
    check_derivatives(lambda x: with_xla_metadata(op.sin(x), layer=1) * with_xla_metadata(2.0, layer=2), x)
    check_vmap(lambda x: with_xla_metadata(op.sin(x), layer=1), [x], [0])


def test_derivatives_and_batches_have_the_attributes_of_the_operation():
    def fun(x):
        with changed_attributes({"layer": "1"}):
            y = op.sin(x)
        return op.exp(y)

    closed = stage(lambda x: [vmap(grad(fun))(x)], [ShapedArray((3,), np.float32)])
    attributes = [(eqn.primitive.name, attributes_of(eqn.source_info.name_stack)) for eqn in closed.eqns]
    assert ("sin", {"layer": "1"}) in attributes and ("cos", {"layer": "1"}) in attributes and ("exp", {}) in attributes
    assert attributes[-1] == ("mul", {"layer": "1"})  # the cotangent times the cosine
