"""Attributes of operations for the compiler: which ones an equation gets from the blocks it is made in."""

import numpy as np

from laminax_ir.ops import elementwise as op
from laminax_ir.options.ambient import trace_key
from laminax_ir.recording.evaluation import jaxpr_as_fun
from laminax_ir.recording.staging import stage
from laminax_ir.tracing.name_stacks import scope_path
from laminax_ir.tracing.operation_attributes import attributes_of, changed_attributes
from laminax_ir.tracing.trace import name_scope
from laminax_ir.types.avals import ShapedArray

F32 = ShapedArray((2,), np.float32)


def of_equations(closed):
    return [attributes_of(eqn.source_info.name_stack) for eqn in closed.eqns]


def test_blocks_add_up():
    def fun(x):
        with changed_attributes({"a": 1, "b": True}):
            y = op.sin(x)
            with changed_attributes({"a": "one", "c": 2.5}):
                y = op.cos(y)
            with changed_attributes({"a": None}):
                return [op.neg(op.exp(y))]

    expected = [{"a": "1", "b": "true"}, {"a": "one", "b": "true", "c": "2.5"}, {"b": "true"}, {"b": "true"}]
    assert of_equations(stage(fun, [F32])) == expected
    with changed_attributes({"a": "outer", "d": "outer"}):
        assert of_equations(stage(fun, [F32])) == [{"d": "outer", **attributes} for attributes in expected]
    assert of_equations(stage(fun, [F32])) == expected


def test_programs_have_those_of_the_block_that_they_are_evaluated_in():
    def fun(x):
        with changed_attributes({"a": 1}):
            return [op.cos(op.sin(x))]

    inner = jaxpr_as_fun(stage(fun, [F32]))

    def outer(x):
        with changed_attributes({"a": 2, "b": 2}):
            return inner(x)

    assert of_equations(stage(outer, [F32])) == [{"a": "1", "b": "2"}] * 2


def test_names_of_operations_are_as_without():
    def fun(x):
        with name_scope("layer"), changed_attributes({"a": 1}):
            return [op.sin(x)]

    (eqn,) = stage(fun, [F32]).eqns
    assert scope_path("", eqn.source_info.name_stack, "sin") == "layer/sin" and str(eqn.source_info.name_stack) == "layer"


def test_caches_tell_programs_apart_by_them():
    before = trace_key()
    with changed_attributes({"a": 1}):
        first = trace_key()
        with changed_attributes({"a": None}):
            assert trace_key() is before
    with changed_attributes({"a": "1"}):
        assert trace_key() is first is not before
    assert trace_key() is before
