"""The primitives of control flow: cond, while and scan, and how the jaxprs they hold are called.

  cond[branches](index, *operands)               runs branches[index]
  while[cond_jaxpr, body_jaxpr](*consts, *carry) runs the body as long as the condition holds
  scan[jaxpr](*consts, *carry, *xs)              runs the jaxpr once per slice of xs, and stacks what it returns

The jaxprs have no constants: what a function closed over is among the operands, so one jaxpr serves every call. The
functions that users call are in `control_flow`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Sequence

import numpy as np

from laminax_ir.ops.calls import bind_program
from laminax_ir.ops.elementwise_avals import joined_named_shape
from laminax_ir.programs.check_rules import check_rule
from laminax_ir.programs.dce import dce_closed_jaxpr, dce_rule
from laminax_ir.programs.effects import Effect, check_allowed, control_flow_allowed_effects
from laminax_ir.programs.jaxpr import ClosedJaxpr, DropVar, JaxprEqn, Var
from laminax_ir.programs.primitive import Primitive, Trait, effects_rule, shape_rule
from laminax_ir.programs.printer_params import hide_params
from laminax_ir.tracing.explicit_axes import is_resolving
from laminax_ir.tracing.trace import state
from laminax_ir.types.avals import ShapedArray, get_aval, insert_axis, remove_axis
from laminax_ir.types.errors import ShapeError
from laminax_ir.types.hi_types import HiType
from laminax_ir.types.type_shardings import in_use

cond_p = Primitive("cond", multiple_results=True, family="control_flow", traits=(Trait.TYPES_ITS_RESULTS, Trait.PASSES_STASHES))
while_p = Primitive("while", multiple_results=True, family="control_flow", traits=(Trait.TYPES_ITS_RESULTS,))
scan_p = Primitive("scan", multiple_results=True, family="control_flow", traits=(Trait.TYPES_ITS_RESULTS, Trait.PASSES_STASHES))
platform_index_p = Primitive("platform_index", family="control_flow", traits=(Trait.TYPES_ITS_RESULTS,))

hide_params(scan_p, linear=..., _split_transpose=False)


@shape_rule(cond_p)
def _cond_shape(index: ShapedArray, *operands: ShapedArray, branches: tuple[ClosedJaxpr, ...],
                branches_platforms: tuple[tuple[str | None, ...], ...] | None = None) -> list[ShapedArray]:
    if index.shape or index.dtype != np.int32:
        raise ShapeError(f"cond: the branch index must be an int32 scalar, got {index.str_short()}")
    if not branches:
        raise ValueError("cond: at least one branch is needed")
    for branch in branches:
        _check_operands("cond: the operands of a branch", branch.in_avals, operands)
    first, *others = [branch.out_avals for branch in branches]
    for outs in others:
        _check_operands("cond: the results of the branches", first, outs)
    results = [avals[0] if all(a is avals[0] for a in avals) else _joined(avals) for avals in zip(first, *others)]
    return [_varying_like(r, index) for r in results] if index._named else results


def _joined(avals: Sequence[ShapedArray]) -> ShapedArray:
    """The result's aval where branches differ in no more than weak types and named axes: weak only if all are."""
    return avals[0].update(weak_type=all(a.weak_type for a in avals), named_shape=joined_named_shape(avals))


def _varying_like(result: ShapedArray, decisive: ShapedArray) -> ShapedArray:
    """The aval of a result that depends on the choice of a branch, or on the number of steps: it varies along the axes that these do."""
    return result.update(named_shape=joined_named_shape((result, decisive)))


def _check_operands(what: str, expected: Sequence[ShapedArray], given: Sequence[ShapedArray]) -> None:
    if len(expected) == len(given):
        for a, b in zip(expected, given):
            if a is not b and not same_type(a, b):
                break
        else:
            return
    raise ShapeError(f"{what} do not fit: expected ({', '.join(a.str_short() for a in expected)}), "
                     f"got ({', '.join(a.str_short() for a in given)})")


def same_type(a: ShapedArray, b: ShapedArray) -> bool:
    """Whether two avals have the same shape and dtype, and are split alike and in the same memory; weak types may differ."""
    if a is b:
        return True
    if isinstance(a, HiType) or isinstance(b, HiType):
        return False  # of these there is one for each type
    return a.dtype == b.dtype and a.shape == b.shape and (not in_use or _is_split_alike(a, b))


def _is_split_alike(a: ShapedArray, b: ShapedArray) -> bool:
    if a.memory_space is not b.memory_space:
        return False
    first, second = getattr(a, "_split", None), getattr(b, "_split", None)
    if first == second:
        return True
    return is_resolving.value or all(split is None or split.is_whole for split in (first, second))


@effects_rule(cond_p)
def _cond_effects(*_avals: ShapedArray, branches: tuple[ClosedJaxpr, ...], **_params: Any) -> frozenset[Effect]:
    return _allowed("cond", frozenset().union(*[branch.effects for branch in branches]))


@shape_rule(while_p)
def _while_shape(*operands: ShapedArray, cond_jaxpr: ClosedJaxpr, body_jaxpr: ClosedJaxpr, cond_nconsts: int,
                 body_nconsts: int) -> list[ShapedArray]:
    carry = operands[cond_nconsts + body_nconsts:]
    _check_operands("while: the operands of the condition", cond_jaxpr.in_avals, (*operands[:cond_nconsts], *carry))
    _check_operands("while: the operands of the body", body_jaxpr.in_avals, operands[cond_nconsts:])
    _check_operands("while: the results of the body", carry, body_jaxpr.out_avals)
    if len(cond_jaxpr.out_avals) != 1 or cond_jaxpr.out_avals[0].shape or cond_jaxpr.out_avals[0].dtype != np.bool_:
        raise ShapeError("while: the condition must return one boolean scalar, got "
                         f"({', '.join(a.str_short() for a in cond_jaxpr.out_avals)})")
    (condition,) = cond_jaxpr.out_avals
    return [_varying_like(r, condition) for r in body_jaxpr.out_avals] if condition._named else body_jaxpr.out_avals


@effects_rule(while_p)
def _while_effects(*_avals: ShapedArray, cond_jaxpr: ClosedJaxpr, body_jaxpr: ClosedJaxpr, **_params: Any) -> frozenset[Effect]:
    return _allowed("while_loop", cond_jaxpr.effects | body_jaxpr.effects)


@shape_rule(scan_p)
def _scan_shape(*operands: ShapedArray, jaxpr: ClosedJaxpr, length: int, reverse: bool, unroll: int, num_consts: int,
                num_carry: int, linear: tuple[bool, ...], _split_transpose: bool) -> list[ShapedArray]:
    fixed = num_consts + num_carry
    for x in operands[fixed:]:
        if not isinstance(x, HiType) and (not x.shape or x.shape[0] != length):
            raise ShapeError(f"scan: the scanned operands must have a leading axis of size {length}, got {x.str_short()}")
    _check_operands("scan: the operands of the body", jaxpr.in_avals,
                    (*operands[:fixed], *[without_leading_axis(x, length) for x in operands[fixed:]]))
    outs = jaxpr.out_avals
    _check_operands("scan: the carry that the body returns", operands[num_consts:fixed], outs[:num_carry])
    return [*outs[:num_carry], *[with_leading_axis(y, length) for y in outs[num_carry:]]]


@effects_rule(scan_p)
def _scan_effects(*_avals: ShapedArray, jaxpr: ClosedJaxpr, **_params: Any) -> frozenset[Effect]:
    return _allowed("scan", jaxpr.effects)


def _allowed(operation: str, effects: frozenset[Effect]) -> frozenset[Effect]:
    if effects:
        check_allowed(effects, control_flow_allowed_effects, operation, "control_flow_allowed_effects")
    return effects


def without_leading_axis(x: ShapedArray, length: int) -> ShapedArray:
    """The aval of one slice along the leading axis."""
    if isinstance(x, HiType):
        return x.dec_rank(length, x.leading_axis_spec())
    return remove_axis(x, 0) if type(x) is ShapedArray else x.update(shape=x.shape[1:])


def with_leading_axis(x: ShapedArray, length: int) -> ShapedArray:
    """The aval of values of this type that are stacked along a new leading axis."""
    return x.inc_rank(length, x.leading_axis_spec()) if isinstance(x, HiType) else insert_axis(x, 0, length)


def bind_scan(jaxpr: ClosedJaxpr, consts: Sequence[Any], carry: Sequence[Any], xs: Sequence[Any], *, length: int,
              reverse: bool = False, unroll: int = 1, linear: Sequence[bool] | None = None, split_transpose: bool = False) -> list[Any]:
    """Binds a scan of a jaxpr without constants; returns the final carry and the stacked results.

    Args:
      jaxpr: `(*consts, *carry, *slices of xs) -> (*carry, *ys)`.
      linear: which operands the program is linear in, as a note for readers of the equation; none by default.
      split_transpose: whether the backward pass is a loop over the carry alone, and a map over the rest.
    """
    operands = (*consts, *carry, *xs)
    params = {
        "jaxpr": jaxpr, "length": length, "reverse": reverse, "unroll": unroll, "num_consts": len(consts),
        "num_carry": len(carry), "linear": (False,) * len(operands) if linear is None else tuple(linear),
        "_split_transpose": split_transpose}
    return bind_program(scan_p, jaxpr.effects, operands, params) if jaxpr.effects else state.trace.process(scan_p, operands, params)


@shape_rule(platform_index_p)
def _platform_index_shape(*, platforms: tuple[tuple[str, ...] | None, ...]) -> ShapedArray:
    return ShapedArray((), np.int32)


def common_constants(programs: Sequence[ClosedJaxpr]) -> tuple[list[Any], tuple[ClosedJaxpr, ...]]:
    """Programs of the same parameters as branches: each constant of any of them, once, and jaxprs that take all of them first."""
    if not any(program.consts for program in programs):
        return [], tuple(programs)
    consts = list({id(c): c for program in programs for c in program.consts}.values())
    avals = [get_aval(c) for c in consts]
    jaxprs = []
    for program in programs:
        jaxpr = program.jaxpr
        own = {id(c): var for c, var in zip(program.consts, jaxpr.constvars)}
        leading = [own[id(c)] if id(c) in own else Var(aval) for c, aval in zip(consts, avals)]
        jaxprs.append(ClosedJaxpr(jaxpr.replace(constvars=[], invars=[*leading, *jaxpr.invars])))
    return consts, tuple(jaxprs)


# The kinds of parameters, which the type checker asks before it runs the rules above


@check_rule(cond_p)
def _cond_faults(_in_avals: Sequence[ShapedArray], _out_avals: Sequence[ShapedArray], *, branches: Any, **_params: Any) -> Iterator[Any]:
    if not (isinstance(branches, tuple) and all(isinstance(branch, ClosedJaxpr) for branch in branches)):
        yield _parameter_fault("cond", "branches", branches, "tuple of ClosedJaxpr")
    for i, branch in enumerate(branches[1:], 1):
        if len(branch.in_avals) != len(branches[0].in_avals):
            yield f"cond branch 0 takes {len(branches[0].in_avals)} inputs, branch {i} takes {len(branch.in_avals)}"


@check_rule(while_p)
def _while_faults(_in_avals: Sequence[ShapedArray], _out_avals: Sequence[ShapedArray], **params: Any) -> Iterator[Any]:
    yield from _parameter_faults("while", params, jaxprs=("cond_jaxpr", "body_jaxpr"), counts=("cond_nconsts", "body_nconsts"))


@check_rule(scan_p)
def _scan_faults(_in_avals: Sequence[ShapedArray], _out_avals: Sequence[ShapedArray], **params: Any) -> Iterator[Any]:
    yield from _parameter_faults("scan", params, jaxprs=("jaxpr",), counts=("length", "num_consts", "num_carry"),
                                 switches=("reverse", "_split_transpose"))
    if type(params["unroll"]) is not int or params["unroll"] < 1:
        yield _parameter_fault("scan", "unroll", params["unroll"], "positive int")
    linear = params["linear"]
    if not (isinstance(linear, tuple) and all(type(flag) is bool for flag in linear)):
        yield _parameter_fault("scan", "linear", linear, "tuple of bool")


def _parameter_faults(operation: str, params: dict[str, Any], jaxprs: Sequence[str], counts: Sequence[str],
                      switches: Sequence[str] = ()) -> Iterator[Any]:
    for name in jaxprs:
        if not isinstance(params[name], ClosedJaxpr):
            yield _parameter_fault(operation, name, params[name], "ClosedJaxpr")
    for name in counts:
        if type(params[name]) is not int or params[name] < 0:
            yield _parameter_fault(operation, name, params[name], "non-negative int")
    for name in switches:
        if type(params[name]) is not bool:
            yield _parameter_fault(operation, name, params[name], "bool")


def _parameter_fault(operation: str, name: str, value: Any, required: str) -> str:
    text = str(value)
    return (f"invalid {operation} param {name} of type {type(value).__name__}, {required} required:"
            + ("\n" if "\n" in text else " ") + text)


# Dead code: operands that no wanted result needs


@dce_rule(cond_p)
def _cond_dce(used_outputs: Sequence[bool], eqn: JaxprEqn) -> tuple[list[bool], JaxprEqn]:
    branches = eqn.params["branches"]
    needed = [any(column) for column in zip(*[dce_closed_jaxpr(branch, used_outputs)[1] for branch in branches])]
    branches = tuple([dce_closed_jaxpr(branch, used_outputs, needed)[0] for branch in branches])
    return [True, *needed], _thinned(eqn, [True, *needed], used_outputs, branches=branches)


def _thinned(eqn: JaxprEqn, used_inputs: Sequence[bool], used_outputs: Sequence[bool], **params: Any) -> JaxprEqn:
    return eqn.replace(invars=[v for v, used in zip(eqn.invars, used_inputs) if used],
                       outvars=[v for v, used in zip(eqn.outvars, used_outputs) if used], params={**eqn.params, **params})


@dce_rule(while_p)
def _while_dce(used_outputs: Sequence[bool], eqn: JaxprEqn) -> tuple[list[bool], JaxprEqn]:
    cond_count, body_count = eqn.params["cond_nconsts"], eqn.params["body_nconsts"]
    carry = list(used_outputs)
    while True:  # until the carried values that are needed need no others
        condition, cond_used = dce_closed_jaxpr(eqn.params["cond_jaxpr"], [True], [False] * cond_count + carry)
        body, body_used = dce_closed_jaxpr(eqn.params["body_jaxpr"], carry, [False] * body_count + carry)
        needed = [a or b for a, b in zip(cond_used[cond_count:], body_used[body_count:])]
        if needed == carry:
            break
        carry = needed
    used_inputs = [*cond_used[:cond_count], *body_used[:body_count], *carry]
    return used_inputs, _thinned(
        eqn.replace(outvars=_with_dropped(eqn.outvars, used_outputs)), used_inputs, carry, cond_jaxpr=condition, body_jaxpr=body,
        cond_nconsts=sum(cond_used[:cond_count]), body_nconsts=sum(body_used[:body_count]))


def _with_dropped(outvars: Sequence[Var], used: Sequence[bool]) -> list[Var]:
    """Results that the loop carries for its own sake."""
    return [v if wanted else DropVar(v.aval) for v, wanted in zip(outvars, used)]


@dce_rule(scan_p)
def _scan_dce(used_outputs: Sequence[bool], eqn: JaxprEqn) -> tuple[list[bool], JaxprEqn]:
    params = eqn.params
    consts, count = params["num_consts"], params["num_carry"]
    carry, ys = list(used_outputs[:count]), list(used_outputs[count:])
    while True:
        keep = [False] * consts + carry + [False] * (len(eqn.invars) - consts - count)
        body, used_inputs = dce_closed_jaxpr(params["jaxpr"], carry + ys, keep)
        needed = used_inputs[consts:consts + count]
        if needed == carry:
            break
        carry = needed
    return used_inputs, _thinned(
        eqn.replace(outvars=_with_dropped(eqn.outvars, used_outputs)), used_inputs, carry + ys, jaxpr=body,
        num_consts=sum(used_inputs[:consts]), num_carry=sum(carry),
        linear=tuple(x for x, used in zip(params["linear"], used_inputs) if used))
