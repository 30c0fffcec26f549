"""Recording programs whose types say how values are split over explicit mesh axes, or in which memory they are."""

from __future__ import annotations

from typing import Any, Sequence

from laminax_ir.programs.jaxpr import JaxprEqn, Var, no_effects
from laminax_ir.programs.primitive import Primitive
from laminax_ir.programs.result_types import typed_results
from laminax_ir.recording.staging_trace import StagedTracer, StagingTrace
from laminax_ir.tracing import source
from laminax_ir.tracing.explicit_axes import explicit_mesh
from laminax_ir.tracing.trace import Trace, state
from laminax_ir.types.avals import ShapedArray, split_aval
from laminax_ir.types.partition_specs import PartitionSpec
from laminax_ir.types.ref_types import AbstractRef
from laminax_ir.types.type_shardings import TypeSharding


class ExplicitStagingTrace(StagingTrace):
    """Records operations on values whose types say how they are split over explicit mesh axes."""

    __slots__ = ()

    def new_input(self, aval: ShapedArray | AbstractRef) -> Any:
        mesh = explicit_mesh()
        if mesh is not None and type(aval) is ShapedArray and aval._split is None:
            aval = split_aval(aval, TypeSharding(mesh, PartitionSpec()))
        return super().new_input(aval)

    def process(self, primitive: Primitive, operands: Sequence[Any], params: dict[str, Any]) -> Any:
        atoms = [x.variable if type(x) is StagedTracer and x._trace is self else self.lift(x) for x in operands]
        avals = [atom.aval for atom in atoms]
        rule = primitive.effects_rule
        effects = no_effects if rule is None else frozenset(rule(*avals, **params))
        outvars = [Var(aval) for aval in typed_results(primitive, avals, params)]
        eqn = JaxprEqn(atoms, outvars, primitive, params, effects, state.source or source.current())
        self.eqns.append(eqn)
        results = [StagedTracer(self, var.aval, var, eqn) for var in outvars]
        return results if primitive.multiple_results else results[0]


_explicit_forms: dict[type[StagingTrace], type[StagingTrace]] = {StagingTrace: ExplicitStagingTrace}


def _explicit_form(trace_type: type[StagingTrace]) -> type[StagingTrace]:
    """The trace that records as `trace_type` does, and keeps track of where values are."""
    if issubclass(trace_type, ExplicitStagingTrace):
        return trace_type
    if trace_type not in _explicit_forms:
        _explicit_forms[trace_type] = type(f"Explicit{trace_type.__name__}", (trace_type, ExplicitStagingTrace), {"__slots__": ()})
    return _explicit_forms[trace_type]


def choose_trace_type(trace_type: type[StagingTrace], in_avals: Sequence[ShapedArray]) -> type[StagingTrace]:
    """The trace that records a function of parameters of these types."""
    if explicit_mesh() is None and not any(aval._whole is not None for aval in in_avals):
        return trace_type
    return _explicit_form(trace_type)


def record_explicitly() -> None:
    """Has the traces at work record where values are from now on: the mesh has explicit axes, or a value is moved to other memory, as none was when they began."""
    trace: Trace | None = state.trace
    while trace is not None:
        if isinstance(trace, StagingTrace) and not isinstance(trace, ExplicitStagingTrace):
            trace.__class__ = _explicit_form(type(trace))
        trace = getattr(trace, "parent", None)
