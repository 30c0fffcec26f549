"""Linear programs: recorded by the tangent trace, run forwards or transposed.

While a derivative rule runs, the tangent trace is current. Operations without a tangent among their operands go straight to
the parent trace; the others are linear in the tangents by construction and are recorded on a tape. The parent's values among
their operands are their residuals. `transposition` walks the tape backwards. Source: Radul et al., "You Only Linearize Once", POPL 2023.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Iterable, NamedTuple, Sequence

from laminax_ir.programs.jaxpr import Atom, ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var, no_effects
from laminax_ir.programs.primitive import Primitive
from laminax_ir.programs.result_types import typed_results
from laminax_ir.recording.staging_trace import literal_types
from laminax_ir.tracing import source
from laminax_ir.tracing.explicit_axes import is_resolving
from laminax_ir.tracing.trace import Trace, Tracer, current_trace, state
from laminax_ir.types.avals import ShapedArray, get_aval, type_classes
from laminax_ir.types.type_shardings import in_use
from laminax_transforms.base.zeros import ZERO, adder, zeros_of
from laminax_transforms.differentiation.differentiated_refs import differentiated_write_error
from laminax_transforms.differentiation.partly_linear import as_equation, split_equation
from laminax_transforms.differentiation.transposition import Accumulation, accumulation, transpose_equations

if TYPE_CHECKING:
    from laminax_ir.ops.calls import CustomJVPCall, CustomVJPCall
    from laminax_ir.types.annotations import Array


class LinearTracer(Tracer):
    """A value that depends linearly on the tape's inputs; `index` numbers it on the tape."""

    __slots__ = ("index",)
    _trace: TangentTrace

    def __init__(self, trace: TangentTrace, aval: ShapedArray, index: int) -> None:
        self._trace = trace
        self.aval = aval
        self.index = index

    def origin(self) -> tuple[str, str]:
        return self._trace.origin(self.index)


class LinearEqn(NamedTuple):
    """One recorded operation.

    Args:
      operands: residual values, and the avals of the linear operands in their places.
      inputs: (position, tape index) of each linear operand.
      output: the tape index of the result; of the first one, if the operation has several, whose indices are consecutive.
      out_avals: the avals of the results.
    """
    primitive: Primitive
    operands: list[Any]
    params: dict[str, Any]
    inputs: tuple[tuple[int, int], ...]
    output: int
    out_avals: tuple[ShapedArray, ...]
    source: source.SourceInfo

    @property
    def outputs(self) -> range:
        """The tape indices of the results."""
        return range(self.output, self.output + len(self.out_avals))


_new = object.__new__
_new_tuple = tuple.__new__  # a named tuple's own constructor costs three times as much


class TangentTrace(Trace):
    """Records operations on linear values; hands all others to the parent."""

    __slots__ = ("parent", "tape", "origins")

    records_tangents = True
    is_recorded = True  # operations on values that are not linear belong to the parent trace

    def __init__(self, parent: Trace, name: str = "", argument_names: Callable[[int], str] | None = None) -> None:
        super().__init__(name, argument_names)
        self.parent = parent
        self.tape: list[LinearEqn] = []
        self.origins: list[source.SourceInfo | None] = []  # the origin of each value by its index; None for an input

    def new_input(self, aval: ShapedArray) -> LinearTracer:
        """A linear value that stands for a tangent argument."""
        tracer = LinearTracer(self, aval, len(self.origins))
        self.origins.append(None)
        return tracer

    def origin(self, index: int) -> tuple[str, str]:
        """The origin of the value whose tangent has this index, as in `Tracer.origin`."""
        info = self.origins[index]
        return (self.describe_argument(index), "") if info is None else ("", source.summarize(info))

    def process(self, primitive: Primitive, operands: Sequence[Any], params: dict[str, Any]) -> Any:
        inputs: tuple[tuple[int, int], ...] = ()
        recorded = list(operands)
        avals = []
        for i, x in enumerate(operands):
            if type(x) is LinearTracer and x._trace is self:
                inputs += ((i, x.index),)
                recorded[i] = aval = x.aval
            else:
                aval = x.aval if isinstance(x, Tracer) else get_aval(x)
            avals.append(aval)
        if not inputs:
            return self.parent.process(primitive, operands, params)
        if primitive.multiple_results:
            whole = as_equation(primitive, avals, params)
            parts = split_equation(whole, [type(x) in type_classes for x in recorded])
            return self._record_call(whole, recorded, inputs) if parts is None else \
                self._process_parts(whole, *parts, recorded, inputs)
        result = primitive.shape_rule(*avals, **params) if not in_use else typed_results(primitive, avals, params)[0]
        origin = state.source
        if origin is None:
            origin = source.current()
        index = len(self.origins)
        self.origins.append(origin)
        self.tape.append(_new_tuple(LinearEqn, (primitive, recorded, params, inputs, index, (result,), origin)))
        tracer = _new(LinearTracer)  # a constructor in Python would take twice as long
        tracer._trace = self
        tracer.aval = result
        tracer.index = index
        return tracer

    def _record_call(self, eqn: JaxprEqn, operands: list[Any], inputs: tuple[tuple[int, int], ...]) -> list[LinearTracer]:
        """Puts an operation with several results on the tape; `operands` and `inputs` as in `LinearEqn`."""
        avals = tuple([v.aval for v in eqn.outvars])
        recorded = LinearEqn(eqn.primitive, operands, eqn.params, inputs, len(self.origins), avals, state.source or source.current(3))
        self.origins.extend([recorded.source] * len(avals))
        self.tape.append(recorded)
        return [LinearTracer(self, aval, i) for aval, i in zip(avals, recorded.outputs)]

    def _process_parts(self, whole: JaxprEqn, known: JaxprEqn, linear: JaxprEqn | None, recorded: Sequence[Any],
                       inputs: Sequence[tuple[int, int]]) -> list[Any]:
        """Evaluates the known part of a call and records the linear one; returns the results of the whole call."""
        env: dict[Atom, Any] = dict(zip(whole.invars, recorded))
        outs = self.parent.process(known.primitive, [env[v] for v in known.invars], known.params)
        results = dict(zip(known.outvars, outs))
        if linear is not None:
            position = {v: i for i, v in enumerate(linear.invars)}
            outs = self._record_call(linear, [env[v] for v in linear.invars],
                                     tuple([(position[v], index) for i, index in inputs if (v := whole.invars[i]) in position]))
            for v, x in zip(linear.outvars, outs):
                results.setdefault(v, x)  # a loop may have to carry values that are known already
        return [results[v] for v in whole.outvars]

    def ref_error(self, ref: Any, adds: bool) -> Any:
        return differentiated_write_error(ref, adds)

    def process_custom_jvp(self, call: Any) -> Any:
        return self._process_custom(call, "process_custom_jvp")

    def process_custom_vjp(self, call: Any) -> Any:
        if call.has_ref_of(self):
            return call.bind_without_refs()
        return self._process_custom(call, "process_custom_vjp")

    def _process_custom(self, call: CustomJVPCall | CustomVJPCall, method: str) -> list[Array]:
        # Applied to tangents, the function is linear, and its derivative rule is not needed.
        if any(type(x) is LinearTracer and x._trace is self for x in call.operands):
            return call.call_primal()
        with current_trace(self.parent):
            return getattr(self.parent, method)(call)

    def program(self, inputs: Sequence[LinearTracer], outputs: Sequence[Any]) -> LinearProgram:
        """The recorded program from `inputs` to `outputs` (linear tracers, `ZERO`, or values, which count as zero)."""
        self.ended = True
        results = [x.index if type(x) is LinearTracer and x._trace is self else None for x in outputs]
        avals = [x.aval if index is not None else None for x, index in zip(outputs, results)]
        tape, self.tape = self.tape, []
        return LinearProgram(live_equations(tape, results), [x.aval for x in inputs],
                             [x.index for x in inputs], results, avals, len(self.origins))


def live_equations(tape: Sequence[LinearEqn], results: Iterable[int | None]) -> list[LinearEqn]:
    """The equations that the results depend on, and the equations without results, which are there for their effects; in order."""
    needed = {index for index in results if index is not None}
    live = []
    for eqn in reversed(tape):
        if eqn.output in needed if len(eqn.out_avals) == 1 else not eqn.out_avals or not needed.isdisjoint(eqn.outputs):
            live.append(eqn)
            for _, index in eqn.inputs:
                needed.add(index)
    live.reverse()
    return live


class LinearProgram:
    """A linear function: a tape, the tape indices of its inputs and of its results (None: zero)."""

    __slots__ = ("eqns", "in_avals", "inputs", "results", "out_avals", "size")

    def __init__(self, eqns: Any, in_avals: Any, inputs: Any, results: Any, out_avals: Any, size: int) -> None:
        self.eqns: list[LinearEqn] = eqns
        self.in_avals: list[ShapedArray] = in_avals
        self.inputs: list[int] = inputs
        self.results: list[int | None] = results
        self.out_avals: list[ShapedArray | None] = out_avals
        self.size: int = size

    def apply(self, tangents: Sequence[Any]) -> list[Any]:
        """Runs the program on tangents (values or `ZERO`) under the current trace; results may be `ZERO`."""
        env: list[Any] = [ZERO] * self.size
        for index, tangent in zip(self.inputs, tangents):
            env[index] = tangent
        previous = state.source
        try:
            for eqn in self.eqns:
                if all(env[index] is ZERO for _, index in eqn.inputs):
                    continue
                operands = list(eqn.operands)
                for position, index in eqn.inputs:
                    x = env[index]
                    operands[position] = zeros_of(operands[position]) if x is ZERO else x
                state.source = eqn.source
                out = state.trace.process(eqn.primitive, operands, eqn.params)
                if eqn.primitive.multiple_results:
                    for index, value in zip(eqn.outputs, out):
                        env[index] = value
                else:
                    env[eqn.output] = out
        finally:
            state.source = previous
        return [ZERO if index is None else env[index] for index in self.results]

    def transpose(self, cts: Sequence[Any], sums_shared: bool = True, used_up: bool = False) -> list[Any]:
        """Runs the adjoint on cotangents (values or `ZERO`) under the current trace; results may be `ZERO`.

        Args:
          cts: one per result.
          sums_shared: inside of a program per device, whether cotangents of inputs that all devices share are summed over
            them here, or by the caller; see `varying`.
          used_up: whether the program is not needed again. Each equation and its residuals are then released once it is
            transposed: a gradient needs less memory at once.
        """
        how = accumulation((*self.in_avals, *self.out_avals, *(aval for eqn in self.eqns for aval in eqn.out_avals)) if in_use else (),
                           sums_shared)
        if how is None or is_resolving.value or not how.is_split:
            return self._transposed(cts, how, used_up)
        with is_resolving(True):
            return self._transposed(cts, how, used_up)

    def _transposed(self, cts: Sequence[Any], how: Accumulation | None, used_up: bool) -> list[Any]:
        env: list[Any] = [ZERO] * self.size
        add = adder() if how is None else how.added
        for index, ct, aval in zip(self.results, cts, self.out_avals):
            if index is not None and ct is not ZERO:
                ct = ct if how is None or aval is None else how.conformed(ct, aval)
                env[index] = ct if env[index] is ZERO else add(env[index], ct)
        previous = state.source
        try:
            transpose_equations(self.eqns if used_up else list(self.eqns), env, how)
        finally:
            state.source = previous
        in_cts = [env[index] for index in self.inputs]
        return in_cts if how is None else how.finished(in_cts, self.in_avals)

    def residuals(self) -> list[Any]:
        """The parent's values that the program uses, each once, in order."""
        found: dict[int, Any] = {}
        for eqn in self.eqns:
            for x in eqn.operands:
                if type(x) not in type_classes and not _is_literal(x):
                    found.setdefault(id(x), x)
        return list(found.values())

    def with_residuals(self, residuals: Sequence[Any]) -> LinearProgram:
        """The same program on other residual values, given in the order of `residuals()`."""
        replacement = {id(old): new for old, new in zip(self.residuals(), residuals)}
        eqns = [LinearEqn(e.primitive, [replacement.get(id(x), x) if type(x) not in type_classes else x
                                        for x in e.operands],
                          e.params, e.inputs, e.output, e.out_avals, e.source) for e in self.eqns]
        return LinearProgram(eqns, self.in_avals, self.inputs, self.results, self.out_avals, self.size)

    def to_jaxpr(self) -> tuple[Jaxpr, list[Any]]:
        """The program as a jaxpr of (residuals, tangents), and the residuals; zero results are left out."""
        residuals = self.residuals()
        residual_vars = {id(x): Var(get_aval(x)) for x in residuals}
        env: dict[int, Var] = {index: Var(aval) for index, aval in zip(self.inputs, self.in_avals)}
        eqns = []
        for eqn in self.eqns:
            operands: list[Any] = [residual_vars[id(x)] if id(x) in residual_vars else None if type(x) in type_classes
                      else Literal(x) for x in eqn.operands]
            for position, index in eqn.inputs:
                operands[position] = env[index]
            outvars = [env.setdefault(index, Var(aval)) for index, aval in zip(eqn.outputs, eqn.out_avals)]
            rule = eqn.primitive.effects_rule
            effects = frozenset(rule(*[v.aval for v in operands], **eqn.params)) if rule else no_effects
            eqns.append(JaxprEqn(operands, outvars, eqn.primitive, eqn.params, effects, eqn.source))
        outvars = [env[index] for index in self.results if index is not None]
        invars = [residual_vars[id(x)] for x in residuals] + [env[index] for index in self.inputs]
        return Jaxpr([], invars, outvars, eqns), residuals


def _is_literal(x: Any) -> bool:
    return type(x) in literal_types and not getattr(x, "shape", ())


def close(jaxpr: Jaxpr) -> ClosedJaxpr:
    """A jaxpr without constvars as a closed one."""
    return ClosedJaxpr(jaxpr, ())
