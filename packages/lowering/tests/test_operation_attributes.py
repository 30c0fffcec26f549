"""Attributes that users give to operations, in StableHLO: where in an operation's text they go, and which programs differ by them."""

import re

import numpy as np
import pytest

from laminax_ir.ops import elementwise as op
from laminax_ir.ops import reduction
from laminax_ir.ops.calls import call_jaxpr
from laminax_ir.ops.hints import with_xla_metadata
from laminax_ir.ops.loops import while_loop
from laminax_ir.recording.staging import stage
from laminax_ir.tracing.operation_attributes import changed_attributes
from laminax_ir.types.avals import ShapedArray
from laminax_lowering import lower
from laminax_lowering.writing.operation_attributes import _with_attributes

F32 = ShapedArray((2,), np.float32)


@pytest.mark.parametrize("line, expected", [
    ('%1 = "stablehlo.sine"(%0) : (tensor<f32>) -> tensor<f32> loc(#loc1)',
     '%1 = "stablehlo.sine"(%0) {mhlo.frontend_attributes = {a = "1"}} : (tensor<f32>) -> tensor<f32> loc(#loc1)'),
    ('%1:2 = "x.y"(%0) ({\n^bb0(%2: i32):\n"r"() {s = "}) {"} : () -> ()\n}, {\n}) {k = 1 : i32} : (i32) -> (i32, i32)',
     '%1:2 = "x.y"(%0) ({\n^bb0(%2: i32):\n"r"() {s = "}) {"} : () -> ()\n}, {\n}) {k = 1 : i32, mhlo.frontend_attributes = {a = "1"}} : '
     '(i32) -> (i32, i32)'),
    ('%1 = func.call @f(%0) {mhlo.frontend_attributes = {inlineable = "false"}} : (i32) -> (i32)',
     '%1 = func.call @f(%0) {mhlo.frontend_attributes = {a = "1", inlineable = "false"}} : (i32) -> (i32)'),
    ('%1 = func.call @f(%0) {mhlo.frontend_attributes = {a = "0"}} : (i32) -> (i32)',
     '%1 = func.call @f(%0) {mhlo.frontend_attributes = {a = "0"}} : (i32) -> (i32)'),
    ("%1 = sdy.sharding_constraint %0 <@mesh, []> : tensor<f32>", "%1 = sdy.sharding_constraint %0 <@mesh, []> : tensor<f32>"),
])
def test_where_in_an_operation_they_go(line, expected):
    assert _with_attributes(line, {"a": "1"}) == expected


def lines_of(closed, *operations):
    text = lower(closed).text
    return [next(line for line in text.splitlines() if f'"stablehlo.{name}"' in line) for name in operations]


def test_operations_of_a_block_have_them():
    def fun(x):
        with changed_attributes({"a": 'quoted "b"', "odd name": 1}):
            y = op.sin(x)
        return [op.cos(y)]

    sine, cosine = lines_of(stage(fun, [F32]), "sine", "cosine")
    assert '{mhlo.frontend_attributes = {a = "quoted \\22b\\22", "odd name" = "1"}}' in sine and "frontend" not in cosine


def test_the_operation_that_computes_a_value_has_them_beside_its_own():
    def fun(x):
        with changed_attributes({"a": 1, "b": 1}):
            y = reduction.reduce_sum(x, (0,))
        with_xla_metadata(x, c=3)  # a parameter, which no operation computes
        return [with_xla_metadata(y, b=2, c=3)]

    text = lower(stage(fun, [F32])).text
    assert text.count("frontend_attributes") == 1
    assert re.search(r'\}\) \{dimensions = .*, mhlo.frontend_attributes = \{c = "3", a = "1", b = "1"\}\} :', text)


def test_loops_and_what_is_inside_of_them():
    def body(x):
        with changed_attributes({"a": "body"}):
            return op.sin(x)

    def fun(x):
        with changed_attributes({"a": "loop", "b": "loop"}):
            return [while_loop(lambda x: op.lt(reduction.reduce_sum(x, (0,)), np.float32(1)), body, x)]

    text = lower(stage(fun, [F32])).text
    assert re.search(r'stablehlo.sine"\(\S+\) \{mhlo.frontend_attributes = \{a = "body", b = "loop"\}\}', text)
    assert re.search(r'^\}\) \{mhlo.frontend_attributes = \{a = "loop", b = "loop"\}\} :', text, re.MULTILINE)


def test_programs_that_differ_in_them_are_not_one_function():
    def program(layer):
        def fun(x):
            with changed_attributes({"layer": layer}):
                return [op.sin(op.cos(x))]
        return stage(fun, [F32])

    programs = [program(1), program(2), program(1)]
    text = lower(stage(lambda x: [y for closed in programs for y in call_jaxpr(closed, x, name="f")], [F32])).text
    bodies = re.findall(r'stablehlo.sine"\(\S+\) \{mhlo.frontend_attributes = \{layer = "(\d)"\}\}', text)
    assert text.count("func.call") == 2 and sorted(bodies) == ["1", "2"]  # the first and the last are one function
