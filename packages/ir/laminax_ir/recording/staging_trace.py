"""The staging trace, which records a Python function as a jaxpr.

It records each operation as an equation. Arrays that the function closes over become
constvars, scalars become literals; a tracer of an enclosing trace becomes a constvar whose value is that
tracer, which whoever binds the jaxpr passes along.
"""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Any, Callable, Iterable, Sequence

import numpy as np

from laminax_ir.options import config
from laminax_ir.programs.effects import has_refs
from laminax_ir.programs.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var, no_effects
from laminax_ir.programs.primitive import Primitive
from laminax_ir.programs.result_types import typed_results
from laminax_ir.recording.origins import why_unknown
from laminax_ir.refs import staged_refs
from laminax_ir.refs.refs import Ref, refuse_in_operation
from laminax_ir.symbolic.symbolic_dims import SymbolicDim
from laminax_ir.symbolic.symbolic_values import dim_as_value_p
from laminax_ir.tracing import source
from laminax_ir.tracing.explicit_axes import explicit_mesh
from laminax_ir.tracing.leaks import check_for_leaks, leaked_tracer_error
from laminax_ir.tracing.name_stacks import no_names
from laminax_ir.tracing.operation_attributes import attributes_around, names_of_programs
from laminax_ir.tracing.trace import Trace, Tracer, at_work, state
from laminax_ir.types import canonical_dtypes, dtypes
from laminax_ir.types.avals import ShapedArray, get_aval, split_aval
from laminax_ir.types.partition_specs import PartitionSpec
from laminax_ir.types.ref_types import AbstractRef
from laminax_ir.types.type_shardings import TypeSharding, in_use

if TYPE_CHECKING:
    from laminax_ir.types.annotations import ArrayLike

_new = object.__new__


class StagedTracer(Tracer):
    """A value of a program being recorded; `var` names it there, or is the constant that it is."""

    __slots__ = ("variable", "eqn")

    _trace: StagingTrace

    def __init__(self, trace: StagingTrace, aval: ShapedArray, var: Var | Literal, eqn: JaxprEqn | None) -> None:
        self._trace = trace
        self.aval = aval
        self.variable = var
        self.eqn = eqn

    def concrete_value(self) -> Any:
        return self._trace.value_of(self.variable)

    def demanded_value(self) -> Any:
        return self._trace.demanded_value_of(self.variable)

    def __repr__(self) -> str:
        return self._trace.text_of(self)

    def origin(self) -> tuple[str, str]:
        if self.eqn is None:
            return self._trace.describe_input(self.variable), ""
        return f"made by {self.eqn.primitive}", source.summarize(self.eqn.source_info)

    def why_unknown(self) -> str:
        return self._trace.why_unknown(self)


class StagingTrace(Trace):
    """Records operations. Arguments are those of `Trace`.

    Once `is_explicit` is set, types have shardings over explicit mesh axes, and memory spaces. It is set if the mesh has such axes when the
    recording begins, or as soon as a value has such a type.
    """

    __slots__ = ("eqns", "invars", "constants", "parent", "has_outer_refs", "is_explicit")

    records_refs = True
    known_as = "DynamicJaxprTrace"  # the name that users know from JAX's messages

    def __init__(self, name: str = "<unnamed>", argument_names: Sequence[str] | Callable[[int], str] | None = None) -> None:
        super().__init__(name, argument_names)
        self.eqns: list[JaxprEqn] = []
        self.invars: list[Var] = []
        self.constants: dict[int, tuple[Var, Any, Any]] = {}  # by identity; a tracer for each that is no reference
        self.parent: Trace = state.trace
        self.has_outer_refs: bool = False  # as a parameter or a constant
        self.is_explicit = bool(in_use) and explicit_mesh() is not None or not config.auto_pcast.value

    def new_input(self, aval: ShapedArray | AbstractRef) -> Any:
        """A tracer for a further parameter; a reference for one of such a type."""
        if in_use:
            aval = self._typed_input(aval)
        var = Var(aval)
        self.invars.append(var)
        if isinstance(aval, AbstractRef):
            return staged_refs.input_ref(self, var)
        return StagedTracer(self, aval, var, None)

    def _typed_input(self, aval: Any) -> Any:
        """The type of a parameter where the mesh has explicit axes: without a sharding of its own, it is whole on each device."""
        if aval._plain is not None:
            self.is_explicit = True
        mesh = explicit_mesh() if self.is_explicit else None
        if mesh is not None and type(aval) is ShapedArray and aval._split is None:
            return split_aval(aval, TypeSharding(mesh, PartitionSpec()))
        return aval

    def record_new_ref(self, value: Any, aval: AbstractRef) -> Ref:
        """Records that a reference is made."""
        return staged_refs.new_ref(self, value, aval)

    def record_ref(self, operation: str, ref: Any, places: tuple[Any, ...], value: Any = None) -> Any:
        """Records `get`, `swap`, `addupdate` or `freeze` of a reference."""
        return staged_refs.record(self, operation, ref, places, value)

    def value_of(self, var: Var | Literal) -> Any | None:
        """The value of a variable while recording; a subclass may know it."""
        return None

    def demanded_value_of(self, var: Var | Literal) -> Any | None:
        """The value of a variable that the function cannot go on without; a subclass may compute it."""
        return self.value_of(var)

    def text_of(self, tracer: StagedTracer) -> str:
        """What is printed of a tracer."""
        return f"JitTracer({tracer.aval})"

    def why_unknown(self, tracer: StagedTracer) -> str:
        """Why the value of a tracer is not known, in a sentence for messages."""
        return why_unknown(tracer)

    def describe_input(self, var: Var | Literal) -> str:
        """An argument or a closed-over value, for messages."""
        if var in self.invars:
            return self.describe_argument(self.invars.index(var))
        return f"a value that {self.name} closed over"

    def process(self, primitive: Primitive, operands: Sequence[Any], params: dict[str, Any]) -> Any:
        if self.is_explicit:
            return self._process_explicitly(primitive, operands, params)
        invars: list[Any] = []
        avals: list[Any] = []
        try:
            for x in operands:
                if type(x) is StagedTracer and x._trace is self:
                    invars.append(x.variable)
                else:
                    x = self._lifted(x)
                    invars.append(x)
                avals.append(x.aval)
        except _BecameExplicit:
            return self.process(primitive, operands, params)
        result = primitive.shape_rule(*avals, **params)
        rule = primitive.effects_rule
        effects = no_effects if rule is None else frozenset(rule(*avals, **params))
        origin = state.source
        if origin is None:
            origin = source.current()
        if not primitive.multiple_results:
            # Three small objects per equation: their constructors in Python would take a tenth of its time.
            var = _new(Var)
            var.aval = result
            eqn = _new(JaxprEqn)
            eqn.invars = invars
            eqn.outvars = [var]
            eqn.primitive = primitive
            eqn.params = params
            eqn.effects = effects
            eqn.source_info = origin
            self.eqns.append(eqn)
            tracer = _new(StagedTracer)
            tracer._trace = self
            tracer.aval = result
            tracer.variable = var
            tracer.eqn = eqn
            return tracer
        outvars = [Var(aval) for aval in result]
        eqn = JaxprEqn(invars, outvars, primitive, params, effects, origin)
        self.eqns.append(eqn)
        return self.results_of(eqn)

    def _process_explicitly(self, primitive: Primitive, operands: Sequence[Any], params: dict[str, Any]) -> Any:
        """`process` where types have shardings or memory spaces."""
        atoms = [x.variable if type(x) is StagedTracer and x._trace is self else self.lift(x) for x in operands]
        avals = [atom.aval for atom in atoms]
        rule = primitive.effects_rule
        effects = no_effects if rule is None else frozenset(rule(*avals, **params))
        outvars = [Var(aval) for aval in typed_results(primitive, avals, params)]
        eqn = JaxprEqn(atoms, outvars, primitive, params, effects, state.source or source.current())
        self.eqns.append(eqn)
        results = self.results_of(eqn)
        return results if primitive.multiple_results else results[0]

    def results_of(self, eqn: JaxprEqn) -> list[StagedTracer]:
        """The tracers that stand for the results of an equation."""
        return [StagedTracer(self, var.aval, var, eqn) for var in eqn.outvars]

    def process_custom_jvp(self, call: Any) -> Any:
        return self.process(*call.stage())

    def process_custom_vjp(self, call: Any) -> Any:
        primitive, operands, params = call.stage()
        if not has_refs(params["call_jaxpr"].effects):
            return self.process(primitive, operands, params)
        return staged_refs.call_with_refs(self, primitive, operands, params)

    def constant(self, value: Any) -> Any:
        if isinstance(value, Tracer):
            return value
        atom = self.lift(value)
        return StagedTracer(self, atom.aval, atom, None)

    def lift(self, value: Any) -> Literal | Var:
        """The atom for an operand that is not this trace's own tracer."""
        try:
            return self._lifted(value)
        except _BecameExplicit:
            return self._lifted(value)

    def _lifted(self, value: Any) -> Literal | Var:
        """`lift`; it is left with `_BecameExplicit`, once, when this trace begins to record shardings and memories."""
        if type(value) in _python_scalars:
            return Literal(value, get_aval(value))
        if isinstance(value, Tracer):
            if value._trace.ended:
                raise leaked_tracer_error(value)
            if type(value) is StagedTracer and value._trace is self:
                return value.variable
            return self._constant(value, value.aval).variable
        aval = get_aval(value)
        if type(aval) is ShapedArray and aval.shape == ():
            if type(value) in literal_types:
                return Literal(value, aval)
            if type(value) is np.ndarray:  # the scalar in it, since somebody may write to the array
                return Literal(value[()], aval)
            if type(value) is SymbolicDim:
                return self.process(dim_as_value_p, (), {"dim": value}).variable
        return self._constant(value, aval).variable

    def _constant(self, value: ArrayLike, aval: ShapedArray) -> StagedTracer:
        entry = self.constants.get(id(value))
        if entry is None:
            if type(aval) is AbstractRef:
                raise refuse_in_operation(value)
            var = Var(aval)
            entry = self.constants[id(value)] = (var, value, StagedTracer(self, aval, var, None))
            if aval._plain is not None and not self.is_explicit:
                self.is_explicit = True
                raise _BecameExplicit
        return entry[2]

    def finish(self, outputs: Iterable[Any]) -> ClosedJaxpr:
        """Ends the recording; `outputs` are the function's results, tracers or constants."""
        outvars = [x.variable if type(x) is StagedTracer and x._trace is self else self.lift(x) for x in outputs]
        constvars = [var for var, _, _ in self.constants.values()]
        consts = [value for _, value, _ in self.constants.values()]
        self.ended = True
        self.constants = {}  # their tracers point back here: without the cycle, the values die with the last program that has them
        effects = None
        if self.has_outer_refs:
            effects = staged_refs.effects_of(self)
        return ClosedJaxpr(Jaxpr(constvars, self.invars, outvars, self.eqns, effects, self.name), consts)


class _BecameExplicit(Exception):
    """A trace has met a value whose type has a sharding or a memory space; it records such types from now on."""


def record_explicitly() -> None:
    """Has the traces at work record shardings and memories from now on, for a mesh with explicit axes or a value moved to other memory."""
    trace: Trace | None = state.trace
    while trace is not None:
        if isinstance(trace, StagingTrace):
            trace.is_explicit = True
        trace = getattr(trace, "parent", None)


_python_scalars = frozenset((bool, int, float, complex))

# Types whose rank-0 values are written into the program; the runtime adds its array type.
literal_types: set[type[Any]] = set(_python_scalars)
literal_types.update(dtype.type for dtype in canonical_dtypes.supported_dtypes if dtype != canonical_dtypes.float0)
literal_types.update((np.longlong, np.ulonglong))  # NumPy has two 64-bit integer types
literal_types.update(dtype.type for dtype in dtypes.supported_dtypes)


def record_program(fun: Callable[..., Iterable[Any]], in_avals: Sequence[ShapedArray], name: str | None = None,
                   argument_names: Sequence[str] | Callable[[int], str] | None = None,
                   trace_type: Callable[..., StagingTrace] = StagingTrace) -> ClosedJaxpr:
    """Traces a flat function to a jaxpr, in which references stay what they are; `staging.stage` is the same without them.

    Args:
      fun: takes one value per aval and returns a sequence of values.
      in_avals: the avals of the arguments.
      name: the function's name, for messages.
      argument_names: what messages call the arguments, or a function from an index to that.
      trace_type: the class of the trace that records, or what makes one.

    Raises:
      LeakedTracerError: if the function uses a tracer of a finished trace, or, with the option
        `check_leaks`, keeps one of its own.
    """
    trace = trace_type(name or str(getattr(fun, "__name__", "<unnamed>")), argument_names)
    # those there are now are the caller's; the program may have others
    names = names_of_programs() if attributes_around.value else no_names
    collects = gc.isenabled()  # as in `paused_collection`, which would cost more here
    try:
        gc.disable()
        with at_work(trace):
            state.name_stack = names
            tracers = [trace.new_input(aval) for aval in in_avals]
            outputs = fun(*tracers)
            closed = trace.finish(outputs)
    finally:
        if collects:
            gc.enable()
    if config.check.value:
        from laminax_ir.programs.check import check_jaxpr
        check_jaxpr(closed)
    if config.check_leaks.value:
        del tracers, outputs
        check_for_leaks(trace)
    return closed
