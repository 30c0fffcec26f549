"""The type checker on equations that hold jaxprs: loops, branches, calls with rules of their own.

Each case breaks one thing of a program that tracing made and that passes.
"""

from __future__ import annotations

import re

import numpy as np
import pytest

from laminax_ir.ops import elementwise as op
from laminax_ir.ops.calls import CustomJVPCall, CustomVJPCall, bind_checkpoint
from laminax_ir.ops.control_flow import cond, switch
from laminax_ir.ops.loops import scan, while_loop
from laminax_ir.ops.shape import iota
from laminax_ir.programs.check import check_jaxpr
from laminax_ir.programs.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var
from laminax_ir.recording.staging import stage
from laminax_ir.types.avals import ShapedArray
from laminax_ir.types.errors import JaxprTypeError


def aval(shape=(), dtype=np.float32):
    return ShapedArray(shape, np.dtype(dtype))


F, V, I = aval(), aval((3,)), aval((), np.int32)  # noqa: E741
HALF = stage(lambda x: [op.mul(x, np.float32(0.5))], [F])
INT = stage(lambda x: [op.convert_element_type(x, np.int32)], [F])  # a result of another dtype
TWO = stage(lambda x: [x, x], [F])
VECTOR = stage(lambda x: [op.neg(x)], [V])


def unbound():
    """A program that returns a variable nobody binds."""
    return ClosedJaxpr(Jaxpr([], [Var(F)], [Var(F)], []))


def programs():
    """One equation of each kind, each around a program f32[] -> f32[]."""
    half = lambda x: op.mul(x, np.float32(0.5))  # noqa: E731
    return {
        "scan": stage(lambda c, xs: scan(lambda c, x: (op.add(c, x), op.mul(c, x)), c, xs), [F, V]),
        "while": stage(lambda x: [while_loop(lambda x: op.gt(x, np.float32(1)), half, x)], [F]),
        "cond": stage(lambda i, x: [switch(i, [half, op.neg, op.sin], x)], [I, F]),
        "custom_jvp_call": stage(lambda x: CustomJVPCall(lambda x: [half(x)], None, [x], "half").bind(), [F]),
        "custom_vjp_call": stage(lambda x: CustomVJPCall(lambda x: [half(x)], None, None, [x], "half").bind(), [F]),
        "checkpoint": stage(lambda x: bind_checkpoint(HALF, x, name="half", prevent_cse=True, policy=None), [F]),
    }


def broken(name, **changes):
    """The program with parameters of its equation replaced, or its operands (`invars`) or results (`outvars`)."""
    closed = programs()[name]
    (eqn,) = [eqn for eqn in closed.eqns if eqn.primitive.name == name]
    fields = {key: changes.pop(key) for key in ("invars", "outvars", "effects") if key in changes}
    new = eqn.replace(params={**eqn.params, **changes}, **fields)
    return ClosedJaxpr(closed.jaxpr.replace(eqns=[new if e is eqn else e for e in closed.eqns]), closed.consts)


BODY = stage(lambda c, x: [op.add(c, x), op.mul(c, x)], [F, F])
MALFORMED = {
    "scan": [
        (dict(jaxpr=HALF), "the operands of the body do not fit"),
        (dict(jaxpr=stage(lambda c, x: [op.convert_element_type(c, np.int32), x], [F, F])), r"the carry that the body returns do not fit"),
        (dict(jaxpr=stage(lambda c, x: [c], [F, F])), "scan has 1 results, the equation 2"),
        (dict(length=4), r"a leading axis of size 4, got f32\[3\]"),
        (dict(num_carry=2), "the operands of the body do not fit"),
        (dict(num_carry=0), "a leading axis of size 3, got f32"),
        (dict(jaxpr=ClosedJaxpr(BODY.jaxpr.replace(eqns=[]))), "called by scan: returned value 0.*not defined"),
    ],
    "while": [
        (dict(body_jaxpr=INT), r"the results of the body do not fit"),
        (dict(body_jaxpr=TWO), r"the results of the body do not fit"),
        (dict(body_jaxpr=VECTOR), r"the operands of the body do not fit"),
        (dict(cond_jaxpr=HALF), "the condition must return one boolean scalar"),
        (dict(cond_jaxpr=VECTOR), "the operands of the condition do not fit"),
        (dict(body_nconsts=1), "the operands of the condition do not fit"),
        (dict(body_jaxpr=unbound()), "called by while: returned value 0.*not defined"),
    ],
    "cond": [
        (dict(branches=(HALF, VECTOR, HALF)), "the operands of a branch do not fit"),
        (dict(branches=(HALF, INT, HALF)), "the results of the branches do not fit"),
        (dict(branches=(HALF, TWO, HALF)), "the results of the branches do not fit"),
        (dict(branches=()), "at least one branch is needed"),
        (dict(branches=(HALF, HALF, ClosedJaxpr(Jaxpr([], [], [Literal(1.0)], [])))), "cond branch 0 takes 1 inputs, branch 2 takes 0"),
        (dict(branches=(HALF, unbound(), HALF)), "called by cond: returned value 0.*not defined"),
    ],
    "custom_jvp_call": [
        (dict(call_jaxpr=VECTOR), r"operand 0 has the type f32\[\], the parameter of the function half f32\[3\]"),
        (dict(call_jaxpr=INT),
         r"the result of custom_jvp_call: Value for variable '\w+' inconsistently typed as i32\[\] for let-binder of type f32\[\]"),
        (dict(call_jaxpr=TWO), "custom_jvp_call has 2 results, the equation 1"),
        (dict(call_jaxpr=unbound()), "called by custom_jvp_call: returned value 0"),
    ],
    "custom_vjp_call": [
        (dict(call_jaxpr=VECTOR), "the parameter of the function half"),
        (dict(call_jaxpr=TWO), "custom_vjp_call has 2 results, the equation 1"),
        (dict(call_jaxpr=unbound()), "called by custom_vjp_call: returned value 0"),
    ],
    "checkpoint": [
        (dict(jaxpr=VECTOR), "the parameter of the function half"),
        (dict(jaxpr=INT), r"the result of checkpoint: Value for variable .* inconsistently typed as i32\[\]"),
        (dict(invars=[]), "takes 1 operands, the equation has 0"),
        (dict(effects=frozenset({"noise"})), r"checkpoint has the effects \{\}, the equation says \{noise\}"),
        (dict(jaxpr=unbound()), "called by checkpoint: returned value 0"),
    ],
}


@pytest.mark.parametrize("name, parameter, value, message", [
    ("scan", "reverse", 4, "invalid scan param reverse of type int, bool required: 4"),
    ("scan", "num_consts", -3, "invalid scan param num_consts of type int, non-negative int required: -3"),
    ("scan", "num_carry", 1.0, "invalid scan param num_carry of type float, non-negative int required: 1.0"),
    ("scan", "unroll", 0, "invalid scan param unroll of type int, positive int required: 0"),
    ("scan", "linear", (0, 1), "invalid scan param linear of type tuple, tuple of bool required: (0, 1)"),
    ("while", "body_nconsts", -1, "invalid while param body_nconsts of type int, non-negative int required: -1"),
    ("while", "cond_jaxpr", None, "invalid while param cond_jaxpr of type NoneType, ClosedJaxpr required: None"),
    ("cond", "branches", (4, 2), "invalid cond param branches of type tuple, tuple of ClosedJaxpr required: (4, 2)"),
    ("cond", "branches", "two\nlines", "invalid cond param branches of type str, tuple of ClosedJaxpr required:\ntwo\nlines"),
])
def test_parameters_of_the_wrong_kind_are_named(name, parameter, value, message):
    with pytest.raises(JaxprTypeError, match=re.escape(message)):
        check_jaxpr(broken(name, **{parameter: value}))


def test_what_tracing_makes_passes():
    for name, closed in programs().items():
        assert name in [eqn.primitive.name for eqn in closed.eqns]
        check_jaxpr(closed)


@pytest.mark.parametrize("name, changes, message", [(name, *case) for name, cases in MALFORMED.items() for case in cases])
def test_malformed_bodies_are_refused(name, changes, message):
    with pytest.raises(JaxprTypeError) as caught:
        check_jaxpr(broken(name, **changes))
    assert re.search(f"(?s){message}", str(caught.value)), str(caught.value)
    assert "malformed jaxpr of" in str(caught.value)


def test_an_index_that_is_not_an_integer_is_refused():
    closed = programs()["cond"]
    x = Var(F)
    eqn = next(eqn for eqn in closed.eqns if eqn.primitive.name == "cond")
    wrong = eqn.replace(invars=[x, x])
    with pytest.raises(JaxprTypeError, match="the branch index must be an int32 scalar"):
        check_jaxpr(Jaxpr([], [x], wrong.outvars, [wrong]))


def test_nested_malformed_programs_are_found_with_their_path():
    inner = ClosedJaxpr(HALF.jaxpr.replace(eqns=[HALF.eqns[0].replace(primitive=op.not_p)]))
    x, y = Var(F), Var(F)
    params = {"jaxpr": inner, "name": "f", "prevent_cse": True, "policy": None, "differentiated": False}
    from laminax_ir.ops.calls import checkpoint_p
    outer = ClosedJaxpr(Jaxpr([], [x], [y], [JaxprEqn([x], [y], checkpoint_p, params)]))
    with pytest.raises(JaxprTypeError, match="called by checkpoint, called by cond"):
        check_jaxpr(broken("cond", branches=(outer, outer, outer)))


def test_cond_and_iota_without_operands_pass():
    check_jaxpr(stage(lambda p: [cond(p, lambda: iota(np.int32, 3), lambda: op.neg(iota(np.int32, 3)))], [aval((), bool)]))
