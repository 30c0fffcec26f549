"""Differentiation of flat functions: forward mode, linearization, reverse mode.

A dual tracer carries a primal and a tangent. In forward mode the tangent is a value of the parent trace and a
rule runs in the parent; in linearization it is a linear tracer and the rule runs under the tangent trace,
which records the tangent part. Both share one interpreter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Mapping, Sequence, cast

from laminax_ir.options import config
from laminax_ir.programs.primitive import Primitive
from laminax_ir.refs.refs import ValueRef, read
from laminax_ir.tracing import source
from laminax_ir.tracing.leaks import check_for_leaks
from laminax_ir.tracing.manual_axes import checked_axes
from laminax_ir.tracing.name_stacks import JVP
from laminax_ir.tracing.trace import Trace, Tracer, at_work, current_trace, state
from laminax_ir.types.avals import ShapedArray, get_aval
from laminax_transforms.base.registry import jvp_rules, linearize_rules
from laminax_transforms.base.zeros import ZERO, tangent_type
from laminax_transforms.differentiation.custom_vjp_tangents import linearize_custom_vjp
from laminax_transforms.differentiation.differentiated_refs import differentiated_write_error
from laminax_transforms.differentiation.linear import LinearProgram, LinearTracer, TangentTrace
from laminax_transforms.differentiation.stashed_refs import way_in, way_out
from laminax_transforms.differentiation.varying import tangents_like

if TYPE_CHECKING:
    from laminax_ir.types.annotations import ArrayLike


class DualTracer(Tracer):
    """A primal with its tangent, both values of the traces below."""

    __slots__ = ("primal", "tangent")
    carries_derivative = True

    def __init__(self, trace: JVPTrace, primal: ArrayLike, tangent: ArrayLike) -> None:
        self._trace = trace
        self.primal = primal
        self.tangent = tangent
        self.aval = primal.aval if isinstance(primal, Tracer) else get_aval(primal)

    def concrete_value(self) -> Any:
        primal = self.primal
        return primal.concrete_value() if isinstance(primal, Tracer) else primal

    def demanded_value(self) -> Any:
        primal = self.primal
        return primal.demanded_value() if isinstance(primal, Tracer) else primal

    def why_unknown(self) -> str:
        return self.primal.why_unknown() if isinstance(self.primal, Tracer) else super().why_unknown()

    def origin(self) -> tuple[str, str]:
        if type(self.tangent) is LinearTracer:
            return self.tangent.origin()
        return self.primal.origin() if isinstance(self.primal, Tracer) else ("", "")

    def __repr__(self) -> str:
        if type(self.tangent) is LinearTracer:
            return f"GradTracer(primal={self.primal}, typeof(tangent)={self.tangent.aval.str_short()})"
        return f"JVPTracer(primal={self.primal}, tangent={self.tangent})"


class JVPTrace(Trace):
    """Forward mode: computes primals and tangents side by side in the parent trace."""

    __slots__ = ("parent", "rule_trace")

    is_recorded = True  # operations on values without a tangent belong to the parent trace
    rules: Mapping[Any, Callable[..., Any]] = jvp_rules  # `rules[primitive](primals, tangents, params)` is result and tangent

    def __init__(self, parent: Trace, name: str = "") -> None:
        super().__init__(name)
        self.parent: Trace = parent
        self.rule_trace: Trace = parent

    def process(self, primitive: Primitive, operands: Sequence[Any], params: dict[str, Any]) -> Any:
        primals = []
        tangents = []
        active = False
        for x in operands:
            if type(x) is DualTracer and x._trace is self:
                primals.append(x.primal)
                tangents.append(x.tangent)
                active = True
            else:
                primals.append(x)
                tangents.append(ZERO)
        if not active:
            return self.parent.process(primitive, operands, params)
        previous, origin = state.trace, state.source
        state.trace = self.rule_trace
        if origin is None:  # the operations of the rule get the source line of this operation, which is looked up once
            state.source = source.current()
        try:
            result, tangent = self.rules[primitive](primals, tangents, params)
        finally:
            state.trace = previous
            state.source = origin
        if not primitive.multiple_results:
            return result if tangent is ZERO else DualTracer(self, result, tangent)
        return [r if t is ZERO else DualTracer(self, r, t) for r, t in zip(result, tangent)]

    def ref_error(self, ref: Any, adds: bool) -> Any:
        return differentiated_write_error(ref, adds)

    def split(self, x: Any) -> tuple[Any, Any]:
        """Primal and tangent of any value."""
        return (x.primal, x.tangent) if type(x) is DualTracer and x._trace is self else (x, ZERO)

    def primal(self, x: Any) -> Any:
        """The primal of a dual value; any other value as it is."""
        return x.primal if type(x) is DualTracer and x._trace is self else x

    def join(self, primal: Any, tangent: Any) -> Any:
        """The dual value; just the primal when the tangent is zero."""
        return primal if tangent is ZERO else DualTracer(self, primal, tangent)

    def process_custom_jvp(self, call: Any) -> Any:
        primals, tangents = self._split_all(call.operands)
        if all(t is ZERO for t in tangents):
            with current_trace(self.parent):
                return self.parent.process_custom_jvp(call)
        with current_trace(self.rule_trace):
            results, out_tangents = call.jvp(primals, tangents)
        return [self.join(r, t) for r, t in zip(results, out_tangents)]

    def process_custom_vjp(self, call: Any) -> Any:
        if call.has_ref_of(self):  # what is in such a reference may have a tangent
            return call.bind_without_refs()
        primals, tangents = self._split_all(call.operands)
        if all(t is ZERO for t in tangents):
            with current_trace(self.parent):
                return self.parent.process_custom_vjp(call)
        with current_trace(self.rule_trace):  # forward mode fails only where these tangents are computed
            results, out_tangents = linearize_custom_vjp(call, primals, tangents)
        return [self.join(r, t) for r, t in zip(results, out_tangents)]

    def _split_all(self, operands: Sequence[Any]) -> tuple[Any, Any]:
        pairs = [self.split(x) for x in operands]
        return [p for p, _ in pairs], [t for _, t in pairs]


class _LinearizationRules(dict):
    """A primitive's linearization rule where it has one, else its JVP rule; found when first asked for."""

    def __missing__(self, primitive: Primitive) -> Callable[..., Any]:
        special = linearize_rules.find(primitive)
        rule = self[primitive] = jvp_rules[primitive] if special is None else special
        return rule


class LinearizeTrace(JVPTrace):
    """Linearization: primals go to the parent trace, tangents onto a tape."""

    __slots__ = ()

    rules = _LinearizationRules()
    keeps_stashes = True

    def __init__(self, parent: Trace, name: str = "", argument_names: Callable[[int], str] | None = None) -> None:
        super().__init__(parent, name)
        self.rule_trace = TangentTrace(parent, name, argument_names)

    def process_stashes(self, rule: Any, operands: Sequence[Any], params: dict[str, Any], places: Sequence[int]) -> Any:
        """The references at these places get tangents, whose cotangents are what is in them while the backward pass runs."""
        if all(self.split(x)[1] is ZERO for x in operands):
            return rule(operands, params)
        tape, given = cast(TangentTrace, self.rule_trace), list(operands)
        for i in places:
            ref = operands[i]
            given[i] = ValueRef(self, ref.aval, self.join(read(ref), way_out(tape, ref)))
        results = rule(given, params)
        for i in places:
            way_in(tape, operands[i], self.split(given[i].value)[1])
        return results


def jvp_flat(fun: Callable[..., Sequence[Any]], primals: Sequence[Any], tangents: Sequence[Any], name: str = "") \
        -> tuple[list[Any], list[Any]]:
    """Forward mode on a flat function.

    Args:
      fun: takes and returns flat sequences of values.
      primals: the point.
      tangents: the direction; entries may be `ZERO`.
      name: what is being differentiated, for messages: `jvp(f)`.

    Returns:
      The results and their tangents, which may be `ZERO`.
    """
    if type(state.trace) is TangentTrace and any(type(t) is LinearTracer for t in tangents):
        # Inside a derivative rule. Forward mode would make primals and tangents results of one call, and the tape would take
        # all of them for linear; linearization separates primals and tangents.
        results, program = linearize_flat(fun, primals, [t is not ZERO for t in tangents], name)
        return results, program.apply([t for t in tangents if t is not ZERO])
    trace = JVPTrace(state.trace, name)
    with at_work(trace, JVP):
        outputs = fun(*[trace.join(p, t) for p, t in zip(primals, tangents)])
        pairs = [trace.split(x) for x in outputs]
    if config.check_leaks.value:
        del outputs
        check_for_leaks(trace)
    return [p for p, _ in pairs], [t for _, t in pairs]


def linearize_flat(fun: Callable[..., Sequence[Any]], primals: Sequence[Any],
                   is_differentiated: Sequence[bool] | None = None, name: str = "",
                   argument_names: Callable[[int], str] | None = None) -> tuple[list[Any], LinearProgram]:
    """Linearizes a flat function at a point.

    Args:
      fun: takes and returns flat sequences of values.
      primals: the point.
      is_differentiated: which arguments have tangents; all by default.
      name: what is being differentiated, for messages: `grad(loss)`.
      argument_names: from the index of an argument to its name in messages.

    Returns:
      The results, and the linear program from the tangents of the differentiated arguments to the tangents
      of all results.
    """
    mask = [True] * len(primals) if is_differentiated is None else is_differentiated
    trace = LinearizeTrace(state.trace, name, argument_names and
                           (lambda i: argument_names([k for k, has in enumerate(mask) if has][i])))
    tangent_trace = cast(TangentTrace, trace.rule_trace)
    inputs = []
    arguments = []
    for x, differentiated in zip(primals, mask):
        if differentiated:
            inputs.append(tangent_trace.new_input(tangent_type(get_aval(x))))
            arguments.append(DualTracer(trace, x, inputs[-1]))
        else:
            arguments.append(x)
    with at_work(trace, JVP):
        outputs = fun(*arguments)
        pairs = [trace.split(x) for x in outputs]
    if checked_axes():  # inside of a program per device
        with current_trace(tangent_trace):
            pairs = tangents_like(pairs)
    if config.check_leaks.value:
        del outputs, arguments
        check_for_leaks(trace)
    return [p for p, _ in pairs], tangent_trace.program(inputs, [t for _, t in pairs])


def linear_program_of(fun: Callable[..., Sequence[Any]], in_avals: Sequence[ShapedArray]) -> LinearProgram:
    """Records a flat function that is linear in all its arguments."""
    trace = TangentTrace(state.trace)
    inputs = [trace.new_input(aval) for aval in in_avals]
    with current_trace(trace):
        outputs = fun(*inputs)
    return trace.program(inputs, outputs)
