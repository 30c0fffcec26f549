"""The type checker: whether a jaxpr is well formed.

Every variable is bound once and before it is used, and every equation has the result types and the effects that the rules of its primitive
give. The check runs the rules again, so it catches a transformation that made an equation by hand and got a type wrong. With the option
`check` (LAMINAX_CHECK=1) each program is checked as soon as it is traced. How the operands of calls meet the parameters of the programs
that are called is said by the calls (`check_rules.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Iterable, Sequence

import numpy as np

from laminax_ir.programs.check_rules import check_rules
from laminax_ir.programs.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var, joined_effects
from laminax_ir.programs.primitive import Primitive, Trait
from laminax_ir.programs.result_types import typed_results
from laminax_ir.tracing import source
from laminax_ir.tracing.explicit_axes import is_resolving
from laminax_ir.tracing.manual_axes import running_along
from laminax_ir.types import dtypes
from laminax_ir.types.avals import ShapedArray, aval_in, get_aval, is_array_like
from laminax_ir.types.errors import JaxprTypeError
from laminax_ir.types.hi_types import HiType
from laminax_ir.types.ref_types import AbstractRef
from laminax_ir.types.type_shardings import in_use

if TYPE_CHECKING:
    from laminax_ir.programs.printer import Printer

def check_jaxpr(jaxpr: Jaxpr | ClosedJaxpr) -> None:
    """Checks a jaxpr and the jaxprs in it.

    Args:
      jaxpr: the program; the constants of a `ClosedJaxpr` are checked against its constvars.

    Raises:
      JaxprTypeError: if it is malformed; the message shows the offending equation.

    Example:
      >>> check_jaxpr(stage(lambda x: [x * 2.0], [ShapedArray((3,), np.dtype("float32"))]))
    """
    _Checker().check(jaxpr, ())


class _Checker:
    """One check; remembers the jaxprs that passed, since a program may call one many times."""

    def __init__(self) -> None:
        self._passed: set[Jaxpr] = set()

    def check(self, program: Jaxpr | ClosedJaxpr, path: tuple[str, ...]) -> None:
        jaxpr = program.jaxpr if isinstance(program, ClosedJaxpr) else program
        if isinstance(program, ClosedJaxpr):
            _report(jaxpr, None, path, _constant_faults(program))
        if jaxpr in self._passed:
            return
        bound: set[Var] = set()
        _report(jaxpr, None, path, _binder_faults("constvar", jaxpr.constvars, bound))
        _report(jaxpr, None, path, _binder_faults("parameter", jaxpr.invars, bound))
        for eqn in jaxpr.eqns:
            _report(jaxpr, eqn, path, _operand_faults("operand", jaxpr, eqn.invars, bound))
            _report(jaxpr, eqn, path, _binder_faults("result", eqn.outvars, bound))
            _report(jaxpr, eqn, path, _parameter_faults(eqn))
            mesh = eqn.params["mesh"] if Trait.RUNS_PER_DEVICE in eqn.primitive.traits else None
            with running_along(_named_axes(eqn), eqn.params.get("check_vma", False), mesh, eqn.params.get("unchecked_axes", ())):
                for inner in _called(eqn):
                    self.check(inner, (*path, f"called by {eqn.primitive}"))
            _report(jaxpr, eqn, path, _rule_faults(jaxpr, eqn))
        _report(jaxpr, None, path, _operand_faults("returned value", jaxpr, jaxpr.outvars, bound))
        if missing := joined_effects(jaxpr.eqns) - jaxpr.effects:
            _report(jaxpr, None, path,
                    ["Equation effect not present in jaxpr effects: its equations have effects that it does not declare: "
                     + _listed(missing)])
        self._passed.add(jaxpr)


def _called(eqn: JaxprEqn) -> Iterable[Jaxpr | ClosedJaxpr]:
    for value in eqn.params.values():
        for item in value if isinstance(value, (tuple, list)) else (value,):
            if isinstance(item, (Jaxpr, ClosedJaxpr)):
                yield item


def _named_axes(eqn: JaxprEqn) -> list[tuple[Any, int]]:
    """The axes that a program per device runs along, which its collectives name."""
    return [(name, eqn.params["mesh"].shape[name]) for name in eqn.params.get("manual_axes", ())]


def _report(jaxpr: Jaxpr, eqn: JaxprEqn | None, path: Sequence[str], faults: Iterable[str]) -> None:
    for fault in faults:
        where = f", {', '.join(reversed(path))}" if path else ""
        name = jaxpr.debug_info if isinstance(jaxpr.debug_info, str) else "the program"
        made = source.summarize(eqn.source_info) if eqn is not None else ""
        raise JaxprTypeError(f"malformed jaxpr of {name}{where}: {fault}"
                             + (f"\n\nin equation:\n\n  {_shown_eqn(jaxpr, eqn)}" if eqn is not None else "")
                             + (f"\n\nfrom source: {made}" if made else "") + f"\n\nwhile checking jaxpr:\n\n  {_shown_jaxpr(jaxpr)}")


def _shown_jaxpr(jaxpr: Jaxpr, most: int = 20) -> str:
    try:
        lines = str(jaxpr).split("\n")
    except Exception:  # too malformed to be printed
        lines = [f"(a jaxpr of {len(jaxpr.eqns)} equations that cannot be printed)"]
    return "\n  ".join(lines if len(lines) <= most else [*lines[:most // 2], "...", *lines[-most // 2:]])


def _shown_eqn(jaxpr: Jaxpr, eqn: JaxprEqn) -> str:
    """The equation, in the names that printing the whole program gives."""
    from laminax_ir.programs.layout import render
    try:
        return render(_printer_of(jaxpr).equation(eqn)).replace("\n", "\n  ")
    except Exception:  # too malformed to be printed
        return f"... = {eqn.primitive} ...  (which cannot be printed)"


def _name(jaxpr: Jaxpr, var: Var) -> str:
    """The variable's name in the print of the whole program."""
    try:
        return _printer_of(jaxpr).name(var)
    except Exception:  # too malformed to be printed
        return "?"


def _printer_of(jaxpr: Jaxpr) -> Printer:
    """A printer that has given names to the program's variables."""
    from laminax_ir.programs.printer import Options, Printer
    printer = Printer(Options())
    printer.jaxpr(jaxpr)
    return printer


def _binder_faults(what: str, binders: Sequence[Any], bound: set[Var]) -> Iterable[str]:
    for var in binders:
        if not isinstance(var, Var):
            yield f"a {what} must be a variable, got {var!r}"
        elif not isinstance(var.aval, (ShapedArray, AbstractRef, HiType)):
            yield f"a {what} has the type {var.aval!r}, which is not an aval"
        elif var in bound:
            yield f"a {what} of type {var.aval.str_short()} is bound a second time"
        else:
            bound.add(var)


def _operand_faults(what: str, jaxpr: Jaxpr, atoms: Sequence[Any], bound: set[Var]) -> Iterable[str]:
    for i, atom in enumerate(atoms):
        if type(atom) is Literal:
            yield from _literal_faults(atom)
        elif not isinstance(atom, Var):
            yield f"{what} {i} is neither a variable nor a literal: {atom!r}"
        elif atom not in bound:
            used = f"{what} {i} of type {atom.aval.str_short()}"
            if any(atom in eqn.outvars for eqn in jaxpr.eqns):
                yield f"{used}: Variable '{_name(jaxpr, atom)}' is used before it is bound"
            else:
                yield f"{used}: Variable '{_name(jaxpr, atom)}' not defined"


_KINDS = {bool: np.bool_, int: dtypes.integer, float: dtypes.floating, complex: dtypes.complexfloating}


def _literal_faults(literal: Literal) -> Iterable[str]:
    aval = literal.aval
    if aval.shape != ():
        yield f"a literal must be a scalar, got one of type {aval.str_short()}"
    elif not is_array_like(literal.val) or np.shape(literal.val) != ():
        yield f"the value of a literal must be a scalar, got {literal.val!r}"
    elif type(literal.val) in _KINDS:
        if not dtypes.issubdtype(aval.dtype, _KINDS[type(literal.val)]):
            yield f"the literal {literal.val!r} cannot have the type {aval.str_short()}"
    elif get_aval(literal.val).dtype != aval.dtype and getattr(literal.val, "dtype", None) != aval.dtype:
        yield f"the literal {literal.val!r} of dtype {get_aval(literal.val).dtype} cannot have the type {aval.str_short()}"


def _constant_faults(closed: ClosedJaxpr) -> Iterable[str]:
    if len(closed.consts) != len(closed.jaxpr.constvars):
        yield f"there are {len(closed.consts)} constants for {len(closed.jaxpr.constvars)} constvars"
    for i, (var, const) in enumerate(zip(closed.jaxpr.constvars, closed.consts)):
        aval = get_aval(const)
        if isinstance(aval, HiType) or isinstance(var.aval, HiType):
            is_wrong = aval is not var.aval
        else:
            is_wrong = (aval.shape, aval.dtype) != (var.aval.shape, var.aval.dtype)
        if is_wrong:
            yield f"constant {i} has the type {aval.str_short()}, its constvar {var.aval.str_short()}"


def _parameter_faults(eqn: JaxprEqn) -> Iterable[str]:
    """The faults that the primitive's own check rule finds, if it has one."""
    rule = check_rules.find(eqn.primitive)
    if rule is not None:
        yield from rule([atom.aval for atom in eqn.invars], [var.aval for var in eqn.outvars], **eqn.params)


def _rule_faults(jaxpr: Jaxpr, eqn: JaxprEqn) -> Iterable[str]:
    """How the equation differs from the result types and effects that the rules of its primitive give."""
    primitive, in_avals = eqn.primitive, [atom.aval for atom in eqn.invars]
    out_avals = [var.aval for var in eqn.outvars]
    if not primitive.has_shape_rule:
        yield f"the primitive {primitive} has no shape rule"
        return
    try:
        expected = _result_types(primitive, in_avals, out_avals, eqn.params)
        effects = frozenset(primitive.effects_rule(*in_avals, **eqn.params)) if primitive.effects_rule else frozenset()
    except Exception as error:  # a user's rule may raise anything
        yield f"the rules of {primitive} refuse the operands: {type(error).__name__}: {error}"
        return
    if len(expected) != len(out_avals):
        yield f"{primitive} has {len(expected)} results, the equation {len(out_avals)}"
    for i, (want, have) in enumerate(zip(expected, out_avals)):
        if want is not have and _without_sharding(want) is not _without_sharding(have):
            which = f"result {i} of {primitive}" if len(expected) > 1 else f"the result of {primitive}"
            yield (f"{which}: Value for variable '{_name(jaxpr, eqn.outvars[i])}' inconsistently typed as {_full_type(want, have)} for "
                   f"let-binder of type {_full_type(have, want)}")
    if effects != eqn.effects:
        yield f"{primitive} has the effects {_listed(effects)}, the equation says {_listed(eqn.effects)}"


def _result_types(primitive: Primitive, in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray],
                  params: dict[str, Any]) -> list[ShapedArray]:
    """The types from the rules; shardings over explicit mesh axes do not count, since they depend on where the program is traced."""
    if in_use and any(aval._plain is not None for aval in (*in_avals, *out_avals)):
        with is_resolving(True):
            return typed_results(primitive, in_avals, params)
    result = primitive.shape_rule(*in_avals, **params)
    return list(result) if primitive.multiple_results else [result]


def _without_sharding(aval: Any) -> ShapedArray:
    return aval if aval._split is None else aval_in(aval._plain, aval.memory_space)


def _full_type(aval: ShapedArray, other: ShapedArray) -> str:
    """The type as programs print it; in full where the printed forms of the two types are the same."""
    return aval.str_short() if aval.str_short() != other.str_short() else str(aval)


def _listed(effects: Iterable[Any]) -> str:
    return "{" + ", ".join(sorted(map(str, effects))) + "}"
