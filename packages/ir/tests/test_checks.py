"""Checks: what is stated of values and in programs, and calls that state nothing."""

import numpy as np
import pytest

from laminax_ir.ops import elementwise as op
from laminax_ir.ops.checks import FailedCheckError, OOBError, check, check_effect, check_p, debug_check, note_index
from laminax_ir.recording.staging import stage
from laminax_ir.reference.evaluate import evaluate
from laminax_ir.types.avals import ShapedArray

F32 = ShapedArray((), np.float32)


def test_a_program_keeps_what_it_checks():
    def fun(x):
        check(op.gt(x, np.float32(0)), "{} of {name}", x, name=x)
        debug_check(op.lt(x, np.float32(9)), "not looked at")
        note_index((4, 3), 1, 7)
        return [x]

    closed = stage(fun, [F32])
    assert closed.effects == {check_effect}
    found = [eqn.params for eqn in closed.eqns if eqn.primitive is check_p]
    assert [params["debug"] for params in found] == [False, True, True] and found[2]["site"].category is OOBError
    assert evaluate(closed, np.float32(10)) == [10]
    with pytest.raises(FailedCheckError, match=r"^-1.0 of -1.0 \(`check` failed\)$"):
        evaluate(closed, np.float32(-1))


def test_an_index_is_named_with_its_axis():
    closed = stage(lambda: note_index((4, 3), 1, 7) or [], [])
    (eqn,) = closed.eqns
    text = eqn.params["site"].text([eqn.invars[1].val if hasattr(eqn.invars[1], "val") else closed.consts[0]])
    assert "array of shape (4, 3): index 7 is out of bounds for axis 1 with size 3" in text


@pytest.mark.parametrize("args, kwargs, message", [
    ((np.ones(2, bool), "m"), {}, "check takes a scalar pred as argument"),
    ((np.float32(1), "m"), {}, "check takes a scalar pred as argument"),
    (("yes", "m"), {}, "check takes a scalar pred as argument, got 'yes'"),
    ((True, 3), {}, "the message must be a string, got 3"),
    ((True, "{}", "text"), {}, "need to be PyTrees of arrays, but got 'text'"),
    ((True, "{a}"), {"a": object}, "need to be PyTrees of arrays"),
])
def test_wrong_calls(args, kwargs, message):
    with pytest.raises(TypeError, match=message):
        check(*args, **kwargs)
