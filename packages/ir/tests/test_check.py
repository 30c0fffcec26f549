"""The type checker: well-formed programs pass, and each way of being malformed is refused with the equation shown."""

from __future__ import annotations

import numpy as np
import pytest

from laminax_ir.ops import elementwise as op
from laminax_ir.ops.calls import CustomJVPCall, call_jaxpr, jit_p
from laminax_ir.options.config import check
from laminax_ir.programs.check import check_jaxpr
from laminax_ir.programs.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var
from laminax_ir.programs.primitive import Primitive, effects_rule, shape_rule
from laminax_ir.recording.staging import stage
from laminax_ir.types.avals import ShapedArray
from laminax_ir.types.errors import JaxprTypeError


def f32(*shape, weak=False):
    return ShapedArray(shape, np.dtype(np.float32), weak)


def i32(*shape):
    return ShapedArray(shape, np.dtype(np.int32))


INNER = stage(lambda x, y: [x + y], [f32(3), f32(3)], "inner")


def test_effects_that_are_left_out_when_a_program_is_changed():
    closed = ClosedJaxpr(noisy_jaxpr(["noise"]), [])
    assert closed.replace(debug_info="other").jaxpr.debug_info == "other" and closed.replace(consts=[]).effects == closed.effects
    with pytest.raises(JaxprTypeError, match="Equation effect not present in jaxpr effects"):
        check_jaxpr(closed.replace(effects=frozenset()))


def good():
    constant = np.ones(3, np.float32)

    def fun(x, n):
        y = call_jaxpr(INNER, op.sin(x), x * 2.0, name="inner")[0]
        z = CustomJVPCall(lambda v: [op.exp(v) * x], None, [y], "g").bind()[0]
        return [y, z + constant, op.select(n > 0, x, x), op.optimization_barrier_flat(x, n)[0], 3.0, x]

    return stage(fun, [f32(3), i32()], "outer")


def test_well_formed_programs_pass():
    closed = good()
    check_jaxpr(closed)
    check_jaxpr(closed.jaxpr)
    check_jaxpr(Jaxpr([], [], [], []))


def changed(**changes) -> Jaxpr:
    return good().jaxpr.replace(**changes)


def with_equation(index, **changes) -> Jaxpr:
    jaxpr = good().jaxpr
    eqns = list(jaxpr.eqns)
    eqns[index] = eqns[index].replace(**changes)
    return jaxpr.replace(eqns=eqns)


def the(name: str) -> int:
    return next(i for i, eqn in enumerate(good().eqns) if eqn.primitive.name == name)


noisy_p = Primitive("noisy")
shape_rule(noisy_p)(lambda x: x)
effects_rule(noisy_p)(lambda x: {"noise"})
bare_p = Primitive("bare")


def noisy_jaxpr(effects, jaxpr_effects=None):
    x, y = Var(f32()), Var(f32())
    return Jaxpr([], [x], [y], [JaxprEqn([x], [y], noisy_p, {}, frozenset(effects))], jaxpr_effects)


def duplicated_binder():
    x = Var(f32())
    return Jaxpr([], [x, x], [x], [])


def assigned_twice():
    jaxpr = good().jaxpr
    return jaxpr.replace(eqns=[*jaxpr.eqns, jaxpr.eqns[0]])


def used_too_early():
    jaxpr = good().jaxpr
    return jaxpr.replace(eqns=jaxpr.eqns[::-1])


def sub_program(**changes):
    """A well-formed program but for the jaxpr it calls."""
    broken = ClosedJaxpr(INNER.jaxpr.replace(**changes))
    return with_equation(the("jit"), params={"jaxpr": broken, "name": "inner", "inline": False})


def literal(value, aval):
    x, y = Var(f32(3)), Var(f32(3))
    return Jaxpr([], [x], [y], [JaxprEqn([x, Literal(value, aval)], [y], op.mul_p, {})])


def sin_of(operand, result, **changes):
    eqn = JaxprEqn([operand], [result], op.sin_p, {}).replace(**changes)
    return Jaxpr([], [operand] if isinstance(operand, Var) else [], [result], [eqn])


MALFORMED = [
    (lambda: with_equation(0, invars=[Var(f32(3))]), r"operand 0 of type f32\[3\]: Variable '\w+' not defined\n\nin equation:.*sin"),
    (used_too_early, r"Variable '\w+' is used before it is bound"),
    (lambda: changed(outvars=[Var(f32(7))]), r"returned value 0 of type f32\[7\]: Variable '\w+' not defined\n\nwhile checking jaxpr:"),
    (duplicated_binder, r"a parameter of type f32\[\] is bound a second time"),
    (assigned_twice, r"a result of type f32\[3\] is bound a second time.*= sin"),
    (lambda: changed(invars=[*good().jaxpr.invars, 3]), "a parameter must be a variable, got 3"),
    (lambda: sin_of(Var(f32(3)), Var(f32(4))),
     r"the result of sin: Value for variable 'b' inconsistently typed as f32\[3\] for let-binder of type f32\[4\].*b:f32\[4\] = sin a"),
    (lambda: sin_of(Var(f32(3)), Var(i32(3))), r"typed as f32\[3\] for let-binder of type i32\[3\]"),
    (lambda: sin_of(Var(f32(3, weak=True)), Var(f32(3))), r"inconsistently typed as ~float32\[3\] for let-binder of type float32\[3\]"),
    (lambda: sin_of(Var(i32(3)), Var(i32(3))), r"the rules of sin refuse the operands: DTypeError: sin does not accept dtype int32"),
    (lambda: sin_of(Var(f32(3)), Var(f32(3)), params={"wrong": 1}, primitive=op.add_p), r"the rules of add refuse the operands: TypeError"),
    (lambda: sin_of(Var(f32(3)), Var(f32(3)), invars=["text"]), "operand 0 is neither a variable nor a literal: 'text'"),
    (lambda: sin_of(Var(f32(3)), Var("nonsense")), "a result has the type 'nonsense', which is not an aval"),
    (lambda: with_equation(the("optimization_barrier"), invars=[Literal(1.0), Literal(2)], outvars=[Var(f32())]),
     "optimization_barrier has 2 results, the equation 1"),
    (lambda: sin_of(Var(f32()), Var(f32()), primitive=bare_p), "the primitive bare has no shape rule"),
    (lambda: noisy_jaxpr([]), r"noisy has the effects \{noise\}, the equation says \{\}"),
    (lambda: noisy_jaxpr(["noise", "more"]), r"has the effects \{noise\}, the equation says \{more, noise\}"),
    (lambda: noisy_jaxpr(["noise"], []),
     r"Equation effect not present in jaxpr effects: its equations have effects that it does not declare: \{noise\}"),
    (lambda: literal(np.ones(3, np.float32), f32(3)), r"a literal must be a scalar, got one of type f32\[3\]"),
    (lambda: literal(np.ones(2, np.float32), f32()), "the value of a literal must be a scalar"),
    (lambda: literal("2", f32()), "the value of a literal must be a scalar, got '2'"),
    (lambda: literal(2, f32()), r"the literal 2 cannot have the type f32\[\]"),
    (lambda: literal(np.int32(2), f32()), r"of dtype int32 cannot have the type f32\[\]"),
    (lambda: sub_program(eqns=[]), r"of inner, called by jit: returned value 0.*not defined"),
    (lambda: sub_program(eqns=[INNER.eqns[0].replace(primitive=op.sin_p)]),
     r"of inner, called by jit: the rules of sin refuse the operands"),
    (lambda: with_equation(the("jit"), invars=[Literal(np.float32(1))]), "takes 2 operands, the equation has 1"),
    (lambda: ClosedJaxpr(Jaxpr([Var(f32(3))], [], [], []), [np.ones(2, np.float32)]),
     r"constant 0 has the type f32\[2\], its constvar f32\[3\]"),
]


@pytest.mark.parametrize("make, message", MALFORMED, ids=range(len(MALFORMED)))
def test_malformed_programs_are_refused(make, message):
    with pytest.raises(JaxprTypeError, match=f"(?s)malformed jaxpr.*({message})"):
        check_jaxpr(make())


def call_of(closed, *avals):
    operands = [Var(aval) for aval in avals]
    results = [Var(aval) for aval in closed.out_avals]
    return Jaxpr([], operands, results, [JaxprEqn(operands, results, jit_p, {"jaxpr": closed, "name": "inner", "inline": False})])


def test_operands_of_a_call_must_fit_its_program():
    check_jaxpr(call_of(INNER, f32(3), f32(3)))
    check_jaxpr(call_of(INNER, f32(3, weak=True), f32(3)))  # a weak type is no difference
    with pytest.raises(JaxprTypeError, match=r"operand 1 has the type f32\[2\], the parameter of the function inner f32\[3\]"):
        check_jaxpr(call_of(INNER, f32(3), f32(2)))
    with pytest.raises(JaxprTypeError, match="the function inner takes 2 operands, the equation has 3"):
        check_jaxpr(call_of(INNER, f32(3), f32(3), f32(3)))


def test_a_wrong_number_of_results():
    x, y = Var(f32(3)), Var(f32(3))
    with pytest.raises(JaxprTypeError, match="sin has 1 results, the equation 2"):
        check_jaxpr(Jaxpr([], [x], [y], [JaxprEqn([x], [y, Var(f32(3))], op.sin_p, {})]))


def test_the_message_shows_the_equation_in_the_names_of_the_program():
    jaxpr = stage(lambda x: [op.sin(op.cos(x))], [f32(3)], "f").jaxpr
    jaxpr.eqns[1] = jaxpr.eqns[1].replace(outvars=[Var(f32(4))])
    with pytest.raises(JaxprTypeError) as caught:
        check_jaxpr(jaxpr)
    assert "\n\nin equation:\n\n  c:f32[4] = sin b\n\nfrom source: test_check.py:" in str(caught.value)
    assert "\n\nwhile checking jaxpr:\n\n  { lambda ; a:f32[3]. let" in str(caught.value)


def test_the_option_checks_what_is_staged():
    wrong_p = Primitive("wrong")
    flip = iter([f32(3), f32(4)])
    shape_rule(wrong_p)(lambda x: next(flip))  # a rule that changes its mind
    with check(), pytest.raises(JaxprTypeError, match=r"malformed jaxpr of f: the result of wrong: Value for variable 'b' inconsistently "
                                                      r"typed as f32\[4\] for let-binder of type f32\[3\]"):
        stage(lambda x: [wrong_p.bind(x)], [f32(3)], "f")
