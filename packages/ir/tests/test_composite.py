"""Composites mean their decomposition, and keep a name and attributes in programs."""

import numpy as np
import pytest

from laminax_ir.ops import elementwise as op
from laminax_ir.ops.callbacks import debug_callback
from laminax_ir.ops.composite import ArrayAttribute, composite
from laminax_ir.programs.check import check_jaxpr
from laminax_ir.recording.staging import stage
from laminax_ir.reference.evaluate import evaluate
from laminax_ir.types.avals import ShapedArray
from laminax_ir.types.errors import UnexpectedTracerError

F32 = ShapedArray((2, 3), np.float32)
X = np.arange(6, dtype=np.float32).reshape(2, 3)


def staged(fun):
    closed = stage(lambda x: [fun(x)], [F32])
    check_jaxpr(closed)
    return closed


def scaled(x, *, factor=1, note=None):
    """x times a number."""
    return op.mul(x, np.float32(factor))


def test_values_and_programs():
    tripled = composite(scaled, "my.scaled", version=2)
    assert tripled.__doc__ == scaled.__doc__
    np.testing.assert_array_equal(tripled(X, factor=3), 3 * X)
    closed = staged(lambda x: tripled(x, factor=3, note=None))
    np.testing.assert_array_equal(evaluate(closed, X)[0], 3 * X)
    (eqn,) = closed.eqns
    assert (eqn.params["name"], eqn.params["version"], eqn.params["attributes"]) == ("my.scaled", 2, (("factor", 3),))
    assert "composite[" in str(closed) and "name=my.scaled" in str(closed) and "mul c 3.0:f32[]" in str(closed)


def test_pytrees_and_constants():
    fun = composite(lambda tree, y: {"sum": tree["a"] + y + X, "same": tree["a"]}, "my.sum")
    result = fun({"a": X}, np.float32(1))
    np.testing.assert_array_equal(result["sum"], 2 * X + 1)
    np.testing.assert_array_equal(result["same"], X)
    closed = stage(lambda x: [fun({"a": x}, 1.0)["sum"]], [F32])
    assert len(closed.eqns[0].invars) == 3  # the array that it closes over comes first
    np.testing.assert_array_equal(evaluate(closed, X)[0], 2 * X + 1)


def test_equal_attributes_of_other_types_are_others():
    seen = []
    fun = composite(lambda x, *, note: (seen.append(type(note)), x)[1], "my.note")
    attributes = [staged(lambda x: fun(x, note=note)).eqns[0].params["attributes"][0][1] for note in (1, 1.0, True, 1)]
    assert seen == [int, float, bool] and [type(a) for a in attributes] == [int, float, bool, int]
    fun(X, note=np.float32(1)), fun(X, note=np.array([1.0])), fun(X, note=[1, "a"]), fun(X, note={"b": 2, "a": [True]})
    array = staged(lambda x: fun(x, note=np.array([[1, 2]], np.int8))).eqns[0].params["attributes"][0][1]
    assert isinstance(array, ArrayAttribute) and array.array().dtype == np.int8 and array.array().tolist() == [[1, 2]]


FUN = composite(scaled, "my.scaled")


@pytest.mark.parametrize("call, error, message", [
    (lambda: composite(scaled, 3), TypeError, "name must be a string, got 3"),
    (lambda: FUN("x"), TypeError, "composite my.scaled: positional arguments are arrays, got 'x'.*keyword"),
    (lambda: FUN(X, note=object()), TypeError, "the attribute note must be a bool"),
    (lambda: FUN(X, note={1: 2}), TypeError, "the attribute note must be"),
    (lambda: FUN(X, note={"a": {"b": None}}), TypeError, r"the attribute note\['a'\]\['b'\]"),
    (lambda: staged(lambda x: FUN(x, factor=x)), UnexpectedTracerError, r"the attribute factor is a traced value, f32\[2,3\]"),
    (lambda: staged(lambda x: composite(lambda y: y + x, "my.sum")(X)), UnexpectedTracerError,
     "Found a JAX Tracer as a constant in the decomposition for the composite op 'my.sum': it closes over a traced value"),
    (lambda: composite(lambda x: (debug_callback(print, x), x)[1], "my.loud")(X), NotImplementedError, "has the effects {Debug}"),
])
def test_malformed_calls(call, error, message):
    with pytest.raises(error, match=message):
        call()
