"""Traces and tracers: which trace is current, and what a tracer answers when Python asks for a value."""

from __future__ import annotations

import copy
import operator
import threading

import numpy as np
import pytest

from laminax_ir.ops import elementwise as op
from laminax_ir.recording.staging import stage
from laminax_ir.recording.staging_trace import StagingTrace
from laminax_ir.tracing import trace as trace_module
from laminax_ir.tracing.trace import (
    Trace,
    Tracer,
    current_trace,
    eval_trace,
    is_tracing,
    name_scope,
    set_evaluator,
    state,
    tracing_threads,
)
from laminax_ir.types.avals import ShapedArray, get_aval, is_array_like
from laminax_ir.types.errors import (
    ConcretizationTypeError,
    TracerArrayConversionError,
    TracerBoolConversionError,
    TracerIntegerConversionError,
)


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


def test_threads_that_trace_are_known():
    def another():
        with current_trace(Trace()):
            seen.append(len(tracing_threads))

    seen = []
    with current_trace(Trace()), current_trace(Trace()):
        assert len(tracing_threads) == 1
        thread = threading.Thread(target=another)
        thread.start()
        thread.join()
        with current_trace(eval_trace):
            seen.append(len(tracing_threads))
        assert len(tracing_threads) == 1
    assert seen == [2, 0] and not tracing_threads


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
        assert state.name_stack == ("a", "b") and str(state.name_stack) == "a/b"
    assert state.name_stack == () and str(state.name_stack) == ""


def test_attributes():
    assert (traced(lambda x: (x.shape, x.ndim, x.size, x.dtype, x.weak_type, len(x)), (2, 3))
            == ((2, 3), 2, 6, np.dtype(np.float32), False, 2))
    assert traced(lambda x: get_aval(x) is x.aval and is_array_like(x))
    assert traced(repr, (2,)) == "JitTracer(float32[2])"
    assert traced(lambda x: f"{x:>40}").strip() == "JitTracer(float32[])"
    assert traced(lambda x: copy.copy(x) is x and copy.deepcopy([x])[0] is x)
    with pytest.raises(TypeError, match=r"len\(\) of unsized object"):
        traced(len)
    with pytest.raises(TypeError, match="unhashable"):
        traced(hash)


@pytest.mark.parametrize("question, error, message", [
    (bool, TracerBoolConversionError,
     r"boolean conversion of traced array with shape f32\[\]\.\nIt is an argument of f\..*where, lax\.cond.*static_argnums"),
    (lambda x: 1 if x > 0 else 2, TracerBoolConversionError, r"shape bool\[\]\.\nIt is made by gt at test_trace\.py:\d+ in <lambda>"),
    (lambda x: not x, TracerBoolConversionError, "boolean conversion"),
    (int, ConcretizationTypeError, r"concrete value is expected: traced array with shape f32.*\n.*argument of f.*static.*astype\(int\)"),
    (lambda x: operator.index(op.sign(op.convert_element_type(x, np.int32))), TracerIntegerConversionError,
     r"The __index__\(\) method was called on traced array with shape i32\[\]"),
    (lambda x: [1, 2][x], TypeError, r"Only integer scalar arrays can be converted to a scalar index. Got f32\[\]"),
    (lambda x: range(op.lt(x, 1)), TypeError, "Only integer scalar arrays can be converted to a scalar index"),
    (float, ConcretizationTypeError, r"concrete value is expected.*\n.*astype\(float\)"),
    (complex, ConcretizationTypeError, r"concrete value is expected.*\n.*astype\(complex\)"),
    (np.asarray, TracerArrayConversionError, r"__array__\(\) was called on traced array with shape f32\[\].*\n.*laminax\.numpy function"),
    (np.sin, TracerArrayConversionError, r"__array__\(\) was called"),
    (lambda x: np.ones(3) @ [x, x, x], TracerArrayConversionError, r"__array__\(\) was called"),
], ids=range(12))
def test_conversions_of_a_traced_value_are_refused_with_advice(question, error, message):
    with pytest.raises(error, match=message):
        traced(question)


@pytest.mark.parametrize("shape", [(3,), (0,)])
def test_arrays_that_are_no_scalars_are_refused_whatever_their_values(shape):
    with pytest.raises(ValueError,
                       match="of an array with more than one element is ambiguous" if shape == (3,) else "of an empty array is"):
        traced(bool, shape)
    for kind in (int, float, complex):
        with pytest.raises(TypeError, match=f"Only scalar arrays can be converted to Python scalars; got arr.ndim=1, shape .{shape[0]},"):
            traced(kind, shape)
    with pytest.raises(TypeError, match="Only integer scalar arrays can be converted to a scalar index"):
        traced(operator.index, shape, np.int32)


def test_conversion_errors_are_type_errors():
    for error in (TracerBoolConversionError, TracerIntegerConversionError, TracerArrayConversionError):
        assert issubclass(error, TypeError)


def test_names_of_arguments():
    assert Trace().describe_argument(0) == "an argument"
    assert Trace("grad(f)").describe_argument(0) == "an argument of grad(f)"
    assert Trace("f", ["x", "y"]).describe_argument(1) == "argument y of f"
    assert Trace("f", lambda i: f"args[{i}]").describe_argument(1) == "argument args[1] of f"
    assert StagingTrace("f", ["x"]).name == "f"


def test_a_tracer_of_a_users_own_is_made_of_its_trace_and_its_type():
    class Labelled(Tracer):
        __slots__ = ("label",)

        def __init__(self, trace, aval, label):
            super().__init__(trace, aval)
            self.label = label

    x = Labelled(None, ShapedArray((2, 3), np.dtype("float32")), "weights")
    assert (x.shape, x.dtype.name, x.ndim, x.label) == ((2, 3), "float32", 2, "weights")
    with pytest.raises(AttributeError, match="no attribute 'colour'"):
        x.colour
    with pytest.raises(AttributeError, match="aval"):
        Labelled.__new__(Labelled).colour
