"""Errors about arguments name the operation at work and its argument."""

import numpy as np
import pytest

from laminax_ir.ops import elementwise as op
from laminax_ir.ops import indexing, reduction, shape
from laminax_ir.ops.calls import custom_vjp_tangent_p
from laminax_ir.ops.loops import scan
from laminax_ir.recording.staging import stage
from laminax_ir.types.arguments import as_int, called_with
from laminax_ir.types.avals import ShapedArray
from laminax_ir.types.errors import TracerIntegerConversionError

X = np.ones((2, 3), np.float32)


@pytest.mark.parametrize("value, expected", [(3, 3), (True, 1), (np.int8(-2), -2), (np.array(5), 5)])
def test_integers_of_any_kind(value, expected):
    assert as_int("f", "n", value) == expected and type(as_int("f", "n", value)) is int


@pytest.mark.parametrize("value, shown", [(1.5, "1.5 of type float"), ("x", "'x' of type str"), (None, "None of type NoneType")])
def test_what_is_no_integer(value, shown):
    with pytest.raises(TypeError, match=f"^f: n must be an integer, got {shown}, which cannot be interpreted as an integer$"):
        as_int("f", "n", value)


def test_a_traced_integer_has_its_own_error():
    with pytest.raises(TracerIntegerConversionError):
        stage(lambda n: [shape.split(X, (1, 1), n)], [ShapedArray((), np.int32)])


def test_nobody_was_called():
    assert called_with("x") == ""


@pytest.mark.parametrize("call, message", [
    (lambda: reduction.reduce_sum("x", (0,)), "^reduce_sum: operand: a value of type builtins.str is not an array: 'x'"),
    (lambda: op.add(X, "x"), "^add: y: a value of type"),
    (lambda: op.add(X, np.array(["x"])), "^add: y: Arrays cannot have the dtype <U1"),
    (lambda: indexing.scatter_add(X, "x", X, indexing.ScatterDimensionNumbers((1,), (0,), (0,))),
     "^scatter_add: scatter_indices: a value of type"),
    (lambda: op.select_n(np.bool_(True), X, "x"), "^select_n: a value of type"),  # one of several, without a name
    (lambda: shape.iota("no dtype", 3), "^iota: dtype: data type 'no dtype' not understood"),
    (lambda: shape.full((2,), 1, object), "^full: dtype: Arrays cannot have the dtype object"),
])
def test_the_operation_is_named(call, message):
    with pytest.raises(TypeError, match=message):
        call()


def test_of_nested_operations_the_one_that_the_user_wrote_is_named():
    """Not the loop whose body it is in, and not the operation that it is made of."""
    with pytest.raises(TypeError, match="^add: y: a value of type"):
        scan(lambda c, x: (op.add(c, "x"), None), np.float32(0), X)
    with pytest.raises(TypeError, match="^full_like: dtype: data type 'no dtype' not understood"):
        shape.full_like(X, 1, "no dtype")


def test_the_tangent_of_a_custom_vjp_function_cannot_be_evaluated():
    with pytest.raises(TypeError, match=r"can't apply forward-mode autodiff \(jvp\) to a custom_vjp function: f"):
        custom_vjp_tangent_p.bind(X, out_avals=[ShapedArray((2, 3), np.float32)], name="f")
