"""Discharge: programs with references as programs of arrays.

In the pure program each reference of the caller becomes a parameter for the array in it and, if it is written to, a further result. The
program is recorded once more for that, with references that hold values of the program: reading gives the value, writing replaces it.
Calls, loops and branches get pure programs too; a loop carries the arrays that it writes to.

`bind_with_refs` binds an operation that has references among its operands. While a program is recorded, the operation is recorded as it is;
under every other trace the arrays are read, the pure operation is bound and the new arrays are written back, so that transformations,
lowering and evaluation meet pure operations only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, NamedTuple, Sequence, cast

from laminax_ir.programs.effects import has_refs
from laminax_ir.programs.jaxpr import ClosedJaxpr, Jaxpr, Literal, Var
from laminax_ir.programs.primitive import Primitive, RuleTable
from laminax_ir.recording.staging_trace import StagingTrace, record_program
from laminax_ir.refs import ref_indexing
from laminax_ir.refs import ref_primitives as ops
from laminax_ir.refs.refs import Ref, ValueRef, freeze, new_ref, read, values_in, write, write_back
from laminax_ir.refs.staged_refs import call_with_refs
from laminax_ir.tracing.name_stacks import NameStack, Transform, no_names
from laminax_ir.tracing.trace import state
from laminax_ir.types.avals import ShapedArray
from laminax_ir.types.ref_types import AbstractRef

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array


class DischargingTrace(StagingTrace):
    """Records a program without references: a reference that is made in it holds a value of the program."""

    __slots__ = ()

    records_refs = False

    def process_custom_vjp(self, call: Any) -> list[Any]:
        if any(isinstance(x, Ref) for x in call.operands):
            return call.bind_without_refs()
        return self.process(*call.stage(DischargingTrace))


class PureProgram(NamedTuple):
    """A program with references in the form without them.

    Args:
      closed: takes arrays in the places of references; returns what the program returns, then the last value of each
        reference that it writes to.
      written: for each parameter, whether it is a reference that is written to.
    """
    closed: ClosedJaxpr
    written: tuple[bool, ...]

    @property
    def results(self) -> list[Any]:
        """The variables of what the program itself returns."""
        outvars = self.closed.jaxpr.outvars
        return outvars[:len(outvars) - sum(self.written)]

    def may_overwrite(self) -> tuple[bool, ...]:
        """For each parameter, whether the array in it may be overwritten by its new value: it is read, and written to."""
        jaxpr = self.closed.jaxpr
        read = {v for eqn in jaxpr.eqns for v in eqn.invars if type(v) is Var}
        return tuple([is_written and v in read for v, is_written in zip(jaxpr.invars, self.written)])

    def last_values(self) -> list[Any]:
        """For each parameter the variable of its last value: the parameter's own variable, if it is not written to."""
        finals = iter(self.closed.jaxpr.outvars[len(self.results):])
        return [next(finals) if is_written else v for v, is_written in zip(self.closed.jaxpr.invars, self.written)]


def discharged(closed: ClosedJaxpr) -> PureProgram:
    """The pure program of a program whose constants are no references; remembered for as long as `closed` lives."""
    found = closed.derived.get(("pure",))
    return closed.remember(("pure",), _discharge(closed)) if found is None else found


def _discharge(closed: ClosedJaxpr) -> PureProgram:
    written: list[bool] = []

    def fun(*values: Any) -> Any:
        args = [ValueRef(state.trace, v.aval, x) if isinstance(v.aval, AbstractRef) else x for v, x in zip(closed.jaxpr.invars, values)]
        results = eval_with_refs(closed.jaxpr, closed.consts, *args)
        written.extend(isinstance(arg, ValueRef) and arg.value is not x for arg, x in zip(args, values))
        return [*results, *[arg.value for arg, is_written in zip(args, written) if is_written]]

    avals = [inner_aval(aval) for aval in closed.in_avals]
    return PureProgram(record_program(fun, avals, closed.jaxpr.debug_info, trace_type=DischargingTrace), tuple(written))


def inner_aval(aval: ShapedArray | AbstractRef) -> ShapedArray:
    """The type of the array in a reference, or of the array."""
    return aval.inner_aval if isinstance(aval, AbstractRef) else aval


def without_refs(closed: ClosedJaxpr) -> ClosedJaxpr:
    """The pure program of a program that has no references but those that it makes.

    Raises:
      NotImplementedError: if it takes or closes over one.
    """
    outer = [v.aval for v in (*closed.jaxpr.constvars, *closed.jaxpr.invars) if isinstance(v.aval, AbstractRef)]
    if outer:
        raise NotImplementedError(f"{closed.jaxpr.debug_info or 'a traced function'} has a reference of its caller, {outer[0]}, "
                                  "which is not supported for functions of this kind. Read it before, hand over the array, "
                                  "return the new value, and write it afterwards; or make the reference in the function.")
    return discharged(closed).closed


def discharged_with_constants(closed: ClosedJaxpr) -> tuple[PureProgram, list[Ref]]:
    """The pure program of any program, and the references among its constants, which are the last parameters of the pure program."""
    program, closed_over = _with_refs_as_parameters(closed)
    return discharged(program), closed_over


def _with_refs_as_parameters(closed: ClosedJaxpr) -> tuple[ClosedJaxpr, list[Ref]]:
    """A program with the references that it closes over as further parameters, and these references."""
    refs = [c for c in closed.consts if isinstance(c, Ref)]
    if not refs:
        return closed, refs
    found = closed.derived.get(("references as parameters",))
    if found is None:
        jaxpr = closed.jaxpr
        is_ref = [isinstance(c, Ref) for c in closed.consts]
        found = closed.remember(("references as parameters",), ClosedJaxpr(
            Jaxpr([v for v, has in zip(jaxpr.constvars, is_ref) if not has],
                  [*jaxpr.invars, *[v for v, has in zip(jaxpr.constvars, is_ref) if has]], jaxpr.outvars, jaxpr.eqns, jaxpr.effects,
                  jaxpr.debug_info),
            [c for c, has in zip(closed.consts, is_ref) if not has]))
    return found, refs


def pure_program(closed: ClosedJaxpr, args: Sequence[Any]) -> tuple[ClosedJaxpr, list[Any], Callable[[Sequence[Any]], list[Any]]]:
    """A program with references as a pure one, for one run of it.

    Args:
      closed: the program; its constants may be references.
      args: its arguments, some of them references.

    Returns:
      The pure program, its arguments, and a function that takes its results, writes the references' last values, and returns the other
      results.
    """
    pure, closed_over = discharged_with_constants(closed)
    operands = [*args, *closed_over]

    def split_results(outs: Sequence[Any]) -> list[Any]:
        count = len(pure.results)
        write_back(operands, pure.written, outs[count:])
        return list(outs[:count])

    return pure.closed, values_in(operands), split_results


def eval_with_refs(jaxpr: Jaxpr, consts: Sequence[Any], *args: Any) -> list[Any]:
    """`eval_jaxpr` for a program with references: arguments, constants, or made in it."""
    env: dict[Any, Any] = dict(zip(jaxpr.constvars, consts))
    env.update(zip(jaxpr.invars, args))
    previous = state.source
    names = state.name_stack if any(type(name) is not Transform for name in state.name_stack) else no_names
    try:
        for eqn in jaxpr.eqns:
            operands = [v.val if type(v) is Literal else env[v] for v in eqn.invars]
            if previous is None:
                origin = eqn.source_info
                state.source = None if origin.code is None else origin if not names else \
                    origin._replace(name_stack=NameStack((*names, *origin.name_stack)))
            bind = bind_with_refs if eqn.effects and has_refs(eqn.effects) else state.trace.process
            result = bind(eqn.primitive, operands, eqn.params)
            env.update(zip(eqn.outvars, result if eqn.primitive.multiple_results else (result,)))
    finally:
        state.source = previous
    return [v.val if type(v) is Literal else env[v] for v in jaxpr.outvars]


# Rules: `rule(operands, params)` does an operation on references, or one that runs programs which have some, under a trace that does not
# record references. Those of operations that run programs are in `discharge_rules`.
discharge_rules = RuleTable("discharge", "laminax_ir.discharge_rules")


def bind_with_refs(primitive: Primitive, operands: Sequence[Any], params: dict[str, Any]) -> Any:
    """Binds an operation on references, or one that runs programs which have some.

    Raises:
      NotImplementedError: if the operation runs programs, and none may use references that it does not own.
    """
    trace = state.trace
    rule = discharge_rules.find(primitive)
    if rule is None:
        return trace.process(primitive, operands, {key: without_refs(x) if isinstance(x, ClosedJaxpr) else x for key, x in params.items()})
    if not trace.records_refs:
        return rule(operands, params)
    if primitive is ops.new_ref_p:
        return new_ref(*operands, kind=params["kind"])
    return call_with_refs(cast(StagingTrace, trace), primitive, operands, params)


@discharge_rules(ops.new_ref_p)
def _new_ref(operands: Sequence[Any], params: dict[str, Any]) -> Any:
    return new_ref(*operands, kind=params["kind"])


@discharge_rules(ops.freeze_p)
def _freeze(operands: Sequence[Any], params: dict[str, Any]) -> Any:
    return freeze(*operands)


@discharge_rules(ops.get_p)
def _get(operands: Sequence[Any], params: dict[str, Any]) -> Array:
    ref, *indices = operands
    return read(ref, ref_indexing.with_arrays(params["places"], indices))


@discharge_rules(ops.swap_p)
def _swap(operands: Sequence[Any], params: dict[str, Any]) -> Array:
    ref, value, *indices = operands
    return write("ref_swap", ref, ref_indexing.with_arrays(params["places"], indices), value, returns_old=True)


@discharge_rules(ops.addupdate_p)
def _addupdate(operands: Sequence[Any], params: dict[str, Any]) -> list[Any]:
    ref, value, *indices = operands
    write("ref_addupdate", ref, ref_indexing.with_arrays(params["places"], indices), value)
    return []


def variant(closed: ClosedJaxpr, key: Any, invars: Callable[[], list[Var]], outvars: Callable[[], list[Any]]) -> ClosedJaxpr:
    """A pure program with other parameters and results; for one key it is one object, since transformations keep answers about it."""
    question = ("variant", key)
    found = closed.derived.get(question)
    return (closed.remember(question, closed.replace(jaxpr=closed.jaxpr.replace(invars=invars(), outvars=outvars())))
            if found is None else found)
