"""Hints change no value; what they are for shows in programs."""

import numpy as np

from laminax_ir.ops import elementwise as op
from laminax_ir.ops.hints import dce_sink, keep_effect, with_xla_metadata
from laminax_ir.ops.hints import stage as staged_value
from laminax_ir.programs.dce import dce_jaxpr
from laminax_ir.recording.staging import stage
from laminax_ir.reference.evaluate import evaluate
from laminax_ir.tracing.trace import Tracer
from laminax_ir.types.avals import ShapedArray, get_aval

F32 = ShapedArray((2,), np.float32)


def test_stage_makes_a_constant_a_value_of_the_trace():
    seen = []

    def fun(x):
        seen.extend([staged_value(x) is x, isinstance(staged_value(2.0), Tracer), get_aval(staged_value(2.0)).weak_type])
        return [staged_value(np.arange(2, dtype=np.float32)) + x]

    closed = stage(fun, [F32])
    assert seen == [True, True, True]
    np.testing.assert_array_equal(evaluate(closed, np.ones(2, np.float32))[0], [1, 2])
    np.testing.assert_array_equal(staged_value(np.arange(3)), np.arange(3))


def test_a_sink_keeps_what_leads_to_it():
    def fun(x):
        op.cos(x)
        dce_sink({"a": op.sin(x), "b": [x]}, prevent_mlir_dce=True)
        return [x]

    closed = stage(fun, [F32])
    assert closed.effects == {keep_effect}
    thinned, _ = dce_jaxpr(closed.jaxpr, [True])
    assert [eqn.primitive.name for eqn in thinned.eqns] == ["sin", "dce_sink", "dce_sink"]
    assert "dce_sink[prevent_mlir_dce=True] b" in str(thinned) and evaluate(closed, np.ones(2, np.float32))[0].tolist() == [1, 1]
    assert dce_sink(np.ones(2)) is None


def test_metadata_of_values():
    closed = stage(lambda x: list(with_xla_metadata({"a": op.sin(x), "b": x}, second="x", first=True).values()), [F32])
    assert [eqn.params for eqn in closed.eqns[1:]] == [{"xla_metadata_kvs": (("first", True), ("second", "x"))}] * 2
    assert [v.aval for v in closed.jaxpr.outvars] == [F32, F32]
    x = np.array([0.5, 2.0], np.float32)
    np.testing.assert_array_equal(evaluate(closed, x)[1], x)
