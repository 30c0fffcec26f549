"""Traces and tracers: which trace is current, and what a tracer answers when Python asks for a value."""

from __future__ import annotations

import copy
import operator
import threading

import numpy as np
import pytest

from laminax_ir import operators  # noqa: F401  (arithmetic on tracers)
from laminax_ir import trace as trace_module
from laminax_ir.avals import ShapedArray, get_aval, is_array_like
from laminax_ir.errors import (
    ConcretizationTypeError, TracerArrayConversionError, TracerBoolConversionError, TracerIntegerConversionError,
)
from laminax_ir.ops import elementwise as op
from laminax_ir.staging import StagingTrace, stage
from laminax_ir.trace import Trace, current_trace, eval_trace, is_tracing, name_scope, set_evaluator, state


def traced(question, shape=(), dtype=np.float32):
    """What a staged value of this shape answers."""
    answers = []
    stage(lambda x: [answers.append(question(x)) or x], [ShapedArray(shape, np.dtype(dtype))], "f")
    return answers[0]


def test_the_current_trace_is_restored():
    outer, inner = Trace(), Trace()
    with current_trace(outer):
        with pytest.raises(ValueError), current_trace(inner):
            assert state.trace is inner
            raise ValueError
        assert state.trace is outer and is_tracing()
    assert state.trace is eval_trace and not is_tracing()


def test_each_thread_has_its_own_trace():
    seen = []
    with current_trace(Trace()):
        thread = threading.Thread(target=lambda: seen.append(state.trace))
        thread.start()
        thread.join()
    assert seen == [eval_trace]


def test_the_hook_hears_when_tracing_starts_and_stops(monkeypatch):
    heard = []
    monkeypatch.setattr(trace_module, "_tracing_hook", heard.append)
    with current_trace(Trace()), current_trace(Trace()):
        assert heard == [True]
    assert heard == [True, False]


def test_an_evaluator_can_be_installed():
    before = eval_trace.evaluate
    try:
        set_evaluator(lambda primitive, operands, params: (primitive.name, operands, params))
        assert op.add(1, 2) == ("add", (1, 2), {})
    finally:
        set_evaluator(before)
    assert float(op.add(1.0, 2.0)) == 3


def test_name_scopes_nest():
    with name_scope("a"), name_scope("b"):
        assert state.name_stack == ("a", "b")
    assert state.name_stack == ()


def test_attributes():
    assert traced(lambda x: (x.shape, x.ndim, x.size, x.dtype, x.weak_type, len(x)), (2, 3)) == ((2, 3), 2, 6, np.dtype(np.float32), False, 2)
    assert traced(lambda x: get_aval(x) is x.aval and is_array_like(x))
    assert traced(repr, (2,)) == "Traced<f32[2]>with<StagingTrace>"
    assert traced(lambda x: f"{x:>40}").strip() == "Traced<f32[]>with<StagingTrace>"
    assert traced(lambda x: copy.copy(x) is x and copy.deepcopy([x])[0] is x)
    with pytest.raises(TypeError, match=r"len\(\) of a scalar"):
        traced(len)
    with pytest.raises(TypeError, match="unhashable"):
        traced(hash)


@pytest.mark.parametrize("question, error, message", [
    (bool, TracerBoolConversionError, r"the truth value of a traced array was asked for: f32\[\], an argument of f\..*where, lax\.cond.*static_argnums"),
    (lambda x: 1 if x > 0 else 2, TracerBoolConversionError, r"bool\[\], made by gt at test_trace\.py:\d+ in <lambda>"),
    (lambda x: not x, TracerBoolConversionError, "truth value"),
    (int, TracerIntegerConversionError, r"the int\(\) value of a traced array.*argument of f.*static"),
    (operator.index, TracerIntegerConversionError, "an integer index of a traced array"),
    (lambda x: [1, 2][x], TracerIntegerConversionError, "an integer index"),
    (range, TracerIntegerConversionError, "an integer index"),
    (float, ConcretizationTypeError, r"the float\(\) value"),
    (complex, ConcretizationTypeError, r"the complex\(\) value"),
    (np.asarray, TracerArrayConversionError, r"NumPy asked for the values of a traced array, f32\[\].*laminax\.numpy function"),
    (np.sin, TracerArrayConversionError, "NumPy asked for the values"),
    (lambda x: np.ones(3) @ [x, x, x], TracerArrayConversionError, "NumPy asked for the values"),
], ids=range(12))
def test_conversions_of_a_traced_value_are_refused_with_advice(question, error, message):
    with pytest.raises(error, match=message):
        traced(question)


def test_conversion_errors_are_type_errors():
    for error in (TracerBoolConversionError, TracerIntegerConversionError, TracerArrayConversionError):
        assert issubclass(error, TypeError)


def test_names_of_arguments():
    assert Trace().describe_argument(0) == "an argument"
    assert Trace("grad(f)").describe_argument(0) == "an argument of grad(f)"
    assert Trace("f", ["x", "y"]).describe_argument(1) == "argument y of f"
    assert Trace("f", lambda i: f"args[{i}]").describe_argument(1) == "argument args[1] of f"
    assert StagingTrace("f", ["x"]).name == "f"
