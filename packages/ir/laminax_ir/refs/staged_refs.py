"""References while a program is recorded: they are variables of the program, and operations on them are equations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn, Sequence

from laminax_ir.programs.effects import Effect, ref_effect
from laminax_ir.programs.jaxpr import JaxprEqn, Literal, Var, joined_effects, no_effects
from laminax_ir.programs.primitive import Primitive
from laminax_ir.refs.ref_indexing import Place, without_arrays
from laminax_ir.refs.ref_primitives import addupdate_p, freeze_p, get_p, new_ref_p, swap_p
from laminax_ir.refs.refs import Ref, not_owned_error
from laminax_ir.tracing import source
from laminax_ir.tracing.trace import state
from laminax_ir.types.ref_types import AbstractRef

if TYPE_CHECKING:  # which uses this module
    from laminax_ir.recording.staging_trace import StagingTrace


class StagedRef(Ref):
    """A reference of a program being recorded; `var` names it there."""

    __slots__ = ("variable", "eqn")

    _trace: StagingTrace

    def __init__(self, trace: StagingTrace, var: Var, eqn: JaxprEqn | None) -> None:
        self._trace = trace
        self.aval = var.aval
        self.variable = var
        self.eqn = eqn

    def origin(self) -> str:
        if self.eqn is not None:
            return f"created on line {source.summarize(self.eqn.source_info)}"
        if self.variable in self._trace.invars:
            described = self._trace.describe_argument(self._trace.invars.index(self.variable)).partition(" of ")[0]
            return f"passed in as {'the ' if described.startswith('argument') else ''}{described}"
        return ""

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"cannot pickle {self!r}, which belongs to a trace of this process")


def input_ref(trace: StagingTrace, var: Var) -> StagedRef:
    """The reference for a parameter of a reference's type."""
    trace.has_outer_refs = True
    return StagedRef(trace, var, None)


def new_ref(trace: StagingTrace, value: Any, aval: AbstractRef) -> StagedRef:
    """Records that a reference is made."""
    eqn = _record(trace, [_atom(trace, value)], [Var(aval)], new_ref_p, {"kind": aval.kind, "memory_space": None})
    return StagedRef(trace, eqn.outvars[0], eqn)


def record(trace: StagingTrace, operation: str, ref: Ref, places: tuple[Place, ...], value: Any) -> Any:
    """Records an operation on one reference; returns its result."""
    if operation == "freeze":
        if not isinstance(ref, StagedRef) or ref._trace is not trace or ref.eqn is None:
            raise not_owned_error("freeze", ref)
        return call_with_refs(trace, freeze_p, (ref,), {})
    primitive = {"get": get_p, "swap": swap_p, "addupdate": addupdate_p}[operation]
    values = () if operation == "get" else (value,)
    arrays = [x for place in places for x in place.arrays]
    return call_with_refs(trace, primitive, (ref, *values, *arrays), {"places": without_arrays(places)})


def call_with_refs(trace: StagingTrace, primitive: Primitive, operands: Sequence[Any], params: dict[str, Any]) -> Any:
    """Records an operation some of whose operands are references."""
    atoms = [_atom(trace, x) for x in operands]
    result = primitive.shape_rule(*[x.aval for x in atoms], **params)
    avals = result if primitive.multiple_results else [result]
    eqn = _record(trace, atoms, [Var(aval) for aval in avals], primitive, params)
    outs = trace.results_of(eqn)
    return outs if primitive.multiple_results else outs[0]


def _record(trace: StagingTrace, invars: list, outvars: list[Var], primitive: Primitive, params: dict[str, Any]) -> JaxprEqn:
    rule = primitive.effects_rule
    effects = no_effects if rule is None else frozenset(rule(*[x.aval for x in invars], **params))
    eqn = JaxprEqn(invars, outvars, primitive, params, effects, state.source or source.current(3))
    trace.eqns.append(eqn)
    return eqn


def _atom(trace: StagingTrace, x: Any) -> Literal | Var:
    """The atom for an operand, which may be a reference: of this program, or one that it closes over."""
    if not isinstance(x, Ref):
        return trace.lift(x)
    if isinstance(x, StagedRef) and x._trace is trace:
        return x.variable
    key = ~id(x)  # no operand has this key
    entry = trace.constants.get(key)
    if entry is None:
        trace.has_outer_refs = True
        entry = trace.constants[key] = (Var(x.aval), x, None)
    return entry[0]


def effects_of(trace: StagingTrace) -> frozenset[Effect]:
    """The effects of a program that uses references which it does not own."""
    return joined_effects(trace.eqns) | {ref_effect}
