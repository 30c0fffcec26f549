"""Transformations of whole jaxprs, cached by identity.

Calls and control flow hold jaxprs; each of these is transformed once per question (which inputs have
tangents, which are mapped), so a function called many times in a program is differentiated and batched once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Container, Iterator, Mapping, Sequence

from laminax_ir.ops.elementwise import convert_element_type_p
from laminax_ir.ops.shape_primitives import broadcast_in_dim_p
from laminax_ir.options import config
from laminax_ir.options.records import Record
from laminax_ir.programs.check import check_jaxpr
from laminax_ir.programs.jaxpr import Atom, ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var
from laminax_ir.recording.evaluation import eval_jaxpr
from laminax_ir.recording.staging import stage
from laminax_ir.recording.staging_trace import StagedTracer, StagingTrace
from laminax_ir.tracing.trace import current_trace, state
from laminax_ir.types.avals import ShapedArray
from laminax_transforms.base.derived_programs import cached_by_jaxpr
from laminax_transforms.base.zeros import ZERO, instantiate, instantiate_cotangent, spread, zeros_of
from laminax_transforms.batching.batch_axes import Axis, add_batch_axis
from laminax_transforms.batching.batching import batch_flat
from laminax_transforms.differentiation.differentiation import jvp_flat, linearize_flat
from laminax_transforms.differentiation.linear import LinearEqn, LinearProgram, live_equations
from laminax_transforms.differentiation.partly_linear import split_equation

if TYPE_CHECKING:
    from laminax_ir.types.annotations import ArrayLike

_OF_FILLS = frozenset((broadcast_in_dim_p, convert_element_type_p))


class JVPJaxpr(Record):
    """`jaxpr(*primals, *nonzero tangents) -> (*results, *nonzero tangents of results)`."""
    jaxpr: ClosedJaxpr
    out_nonzero: tuple[bool, ...]


@cached_by_jaxpr
def jvp_jaxpr(closed: ClosedJaxpr, nonzero: tuple[bool, ...], instantiate_out: tuple[bool, ...] | bool = False) \
        -> JVPJaxpr:
    """The forward-mode derivative of a jaxpr.

    Args:
      closed: the program.
      nonzero: which inputs have tangents.
      instantiate_out: which results' tangents to return even when they are zero.
    """
    in_avals = closed.in_avals
    n = len(in_avals)
    wanted = (instantiate_out,) * len(closed.out_avals) if isinstance(instantiate_out, bool) else instantiate_out
    out_nonzero: list[bool] = []

    def fun(*args: Any) -> list[Any]:
        tangents = spread(args[n:], nonzero)
        results, out = jvp_flat(lambda *xs: eval_jaxpr(closed.jaxpr, closed.consts, *xs), args[:n], tangents)
        out = [instantiate(t, aval) if want else t for t, want, aval in zip(out, wanted, closed.out_avals)]
        out_nonzero.extend(t is not ZERO for t in out)
        return [*results, *(t for t in out if t is not ZERO)]

    tangent_avals = [aval.to_tangent_aval() for aval, has in zip(in_avals, nonzero) if has]
    return JVPJaxpr(stage(fun, [*in_avals, *tangent_avals], closed.jaxpr.debug_info), tuple(out_nonzero))


class LinearizedJaxpr(Record):
    """A jaxpr split into its primal part and its linear part.

    primal: `(*inputs) -> (*results, *saved residuals)`.
    linear: `(*residuals, *nonzero tangents) -> (*nonzero tangents of results)`.
    residual_sources: where each residual comes from, ("in", i) an input or ("out", i) an output of `primal`.
    """
    primal: ClosedJaxpr
    linear: ClosedJaxpr
    residual_sources: tuple[tuple[str, int], ...]
    out_nonzero: tuple[bool, ...]

    def residuals(self, inputs: Sequence[Any], primal_outputs: Sequence[Any]) -> list[Any]:
        """The residual values, given the call's inputs and the outputs of `primal`."""
        return [inputs[i] if where == "in" else primal_outputs[i] for where, i in self.residual_sources]


@cached_by_jaxpr
def linearize_jaxpr(closed: ClosedJaxpr, nonzero: tuple[bool, ...], instantiate_out: tuple[bool, ...] | None = None) \
        -> LinearizedJaxpr:
    """Splits a jaxpr into primal and linear parts.

    Residuals that are inputs or results of the program are forwarded, not stored a second time; those that are made of numbers alone,
    such as the zeros of a selection, are made in the linear part.

    Args:
      closed: the program.
      nonzero: which inputs have tangents.
      instantiate_out: which results' tangents the linear part returns even when they are zero; none by default.
    """
    trace = StagingTrace(closed.jaxpr.debug_info or "call")
    with current_trace(trace):
        inputs = [trace.new_input(aval) for aval in closed.in_avals]
        results, program = linearize_flat(
            lambda *xs: eval_jaxpr(closed.jaxpr, closed.consts, *xs), inputs, nonzero)
        linear, residuals = program.to_jaxpr()
        input_index = {id(x.variable): i for i, x in enumerate(inputs)}
        output_index: dict[int, int] = {}
        for i, r in enumerate(results):
            if _own(r, trace):
                output_index.setdefault(id(r.variable), i)
        fills = _fills(trace.eqns)
        remade: dict[int, Var] = {}
        saved: list[Any] = []
        sources: list[tuple[str, int]] = []
        constants: dict[int, Any] = {}
        for position, r in enumerate(residuals):
            if not _own(r, trace):
                constants[position] = r
            elif id(r.variable) in input_index:
                sources.append(("in", input_index[id(r.variable)]))
            elif id(r.variable) in output_index:
                sources.append(("out", output_index[id(r.variable)]))
            elif r.variable in fills:
                remade[position] = r.variable
            else:
                sources.append(("out", len(results) + len(saved)))
                saved.append(r)
        primal = trace.finish([*results, *saved])
    constvars = [linear.invars[i] for i in constants]
    invars = [v for i, v in enumerate(linear.invars) if i not in constants and i not in remade]
    linear = linear.replace(eqns=[*_made_again(fills, {v: linear.invars[i] for i, v in remade.items()}), *linear.eqns])
    out_nonzero = tuple(i is not None for i in program.results)
    if instantiate_out is not None and any(want and not has for want, has in zip(instantiate_out, out_nonzero)):
        linear = _with_zero_results(linear, out_nonzero, instantiate_out, closed.out_avals)
        out_nonzero = tuple(has or want for has, want in zip(out_nonzero, instantiate_out))
    tangents = ClosedJaxpr(Jaxpr(constvars, invars, linear.outvars, linear.eqns, linear.effects, closed.jaxpr.debug_info),
                           list(constants.values()))
    if config.check.value:
        check_jaxpr(primal)
        check_jaxpr(tangents)
    return LinearizedJaxpr(primal, tangents, tuple(sources), out_nonzero)


def _fills(eqns: Sequence[JaxprEqn]) -> dict[Var, JaxprEqn]:
    """The values that are made of numbers alone, by broadcasts and conversions, with the equations that make them."""
    found: dict[Var, JaxprEqn] = {}
    for eqn in eqns:
        if eqn.primitive in _OF_FILLS and all(type(v) is Literal or v in found for v in eqn.invars):
            found[eqn.outvars[0]] = eqn
    return found


def _made_again(fills: Mapping[Var, JaxprEqn], names: dict[Var, Var]) -> list[JaxprEqn]:
    """Equations that make the fills which `names` has, under these names."""
    made: list[JaxprEqn] = []
    todo = list(names)
    for v in todo:
        todo += [x for x in fills[v].invars if type(x) is Var and x not in todo]
    for v, eqn in fills.items():  # in the order of the program
        if v in todo:
            operands = [names[x] if type(x) is Var else x for x in eqn.invars]
            made.append(eqn.replace(invars=operands, outvars=[names.setdefault(v, Var(v.aval))]))
    return made


def _with_zero_results(jaxpr: Jaxpr, present: Sequence[bool], wanted: Sequence[bool], avals: Sequence[ShapedArray]) -> Jaxpr:
    """The jaxpr, which returns the `present` tangents, changed to return zeros for the other `wanted` tangents."""
    found = iter(jaxpr.outvars)
    trace = StagingTrace("zeros")
    trace.is_explicit = trace.is_explicit or any(aval._plain is not None for aval in avals)
    outvars = []
    with current_trace(trace):
        for has, want, aval in zip(present, wanted, avals):
            if has:
                outvars.append(next(found))
            elif want:
                outvars.append(_atom(trace, zeros_of(aval.to_tangent_aval())))
    trace.ended = True
    return jaxpr.replace(eqns=[*jaxpr.eqns, *trace.eqns], outvars=outvars)


def _atom(trace: StagingTrace, x: ArrayLike) -> Any:
    return x.variable if _own(x, trace) else trace.lift(x)


def _own(x: ArrayLike, trace: StagingTrace) -> bool:
    return type(x) is StagedTracer and x._trace is trace


class TransposedJaxpr(Record):
    """`jaxpr(*nonlinear inputs, *nonzero cotangents) -> (*nonzero cotangents of the linear inputs)`."""
    jaxpr: ClosedJaxpr
    out_nonzero: tuple[bool, ...]


@cached_by_jaxpr
def transpose_jaxpr(closed: ClosedJaxpr, linear: tuple[bool, ...], ct_nonzero: tuple[bool, ...],
                    instantiate_out: tuple[bool, ...] | bool = False, sums_shared: bool = False) -> TransposedJaxpr:
    """The adjoint of a jaxpr with respect to some of its inputs.

    Args:
      closed: a program that is linear in the marked inputs (the others may be used in any way).
      linear: which inputs are linear.
      ct_nonzero: which results have cotangents.
      instantiate_out: which linear inputs' cotangents to return even when they are zero.
      sums_shared: as for `LinearProgram.transpose`. Not in a branch, which other devices may not take.
    """
    linear_avals = [aval for aval, is_lin in zip(closed.in_avals, linear) if is_lin]
    fixed_avals = [aval for aval, is_lin in zip(closed.in_avals, linear) if not is_lin]
    wanted = (instantiate_out,) * len(linear_avals) if isinstance(instantiate_out, bool) else instantiate_out
    out_nonzero: list[bool] = []

    def fun(*args: Any) -> list[Any]:
        fixed, cts = args[:len(fixed_avals)], args[len(fixed_avals):]

        in_cts = linear_program_of_jaxpr(closed, linear, fixed).transpose(spread(cts, ct_nonzero), sums_shared, used_up=True)
        in_cts = [instantiate_cotangent(ct, aval) if want else ct for ct, want, aval in zip(in_cts, wanted, linear_avals)]
        out_nonzero.extend(ct is not ZERO for ct in in_cts)
        return [ct for ct in in_cts if ct is not ZERO]

    ct_avals = [aval.to_ct_aval() for aval, has in zip(closed.out_avals, ct_nonzero) if has]
    return TransposedJaxpr(stage(fun, [*fixed_avals, *ct_avals], closed.jaxpr.debug_info), tuple(out_nonzero))


def linear_program_of_jaxpr(closed: ClosedJaxpr, linear: Sequence[bool], fixed: Sequence[Any]) -> LinearProgram:
    """The linear program of a jaxpr: equations with linear operands are recorded as they are; the other equations run now.

    Args:
      closed: a program that is linear in the marked inputs.
      linear: which inputs are linear.
      fixed: the values of the others.
    """
    jaxpr = closed.jaxpr
    values = iter(fixed)
    env: dict[Atom, Any] = dict(zip(jaxpr.constvars, closed.consts))
    index: dict[Atom, int] = {}
    for v, is_lin in zip(jaxpr.invars, linear):
        if is_lin:
            index[v] = len(index)
        else:
            env[v] = next(values)
    in_avals = [v.aval for v in index]
    tape = []
    previous = state.source
    try:
        for eqn in _with_calls_split(jaxpr.eqns, index):
            if index.keys().isdisjoint(eqn.invars):
                state.source = eqn.source_info if previous is None and eqn.source_info.code is not None else previous
                result = state.trace.process(eqn.primitive, [v.val if type(v) is Literal else env[v] for v in eqn.invars],
                                             eqn.params)
                env.update(zip(eqn.outvars, result if eqn.primitive.multiple_results else [result]))
                continue
            inputs: tuple[tuple[int, int], ...] = ()
            operands: list[Any] = []
            for position, x in enumerate(eqn.invars):
                if x in index:
                    inputs += ((position, index[x]),)
                    operands.append(x.aval)
                else:
                    operands.append(x.val if type(x) is Literal else env[x])
            recorded = LinearEqn(eqn.primitive, operands, eqn.params, inputs, len(index), tuple([v.aval for v in eqn.outvars]),
                                 eqn.source_info)
            index.update(zip(eqn.outvars, recorded.outputs))
            tape.append(recorded)
    finally:
        state.source = previous
    results = [index.get(v) for v in jaxpr.outvars]
    out_avals = [None if i is None else v.aval for i, v in zip(results, jaxpr.outvars)]
    return LinearProgram(live_equations(tape, results), in_avals, list(range(len(in_avals))), results, out_avals, len(index))


def _with_calls_split(eqns: Sequence[JaxprEqn], linear: Container[Any]) -> Iterator[JaxprEqn]:
    """The equations, in which calls with only some linear results are split in two; `linear` grows during the iteration."""
    for eqn in eqns:
        parts = None
        if eqn.primitive.multiple_results:
            flags = [v in linear for v in eqn.invars]
            parts = split_equation(eqn, flags) if any(flags) else None
        if parts is None:
            yield eqn
        else:
            yield from (part for part in parts if part is not None)


class BatchedJaxpr(Record):
    """A jaxpr over batches, with the batch axis of each result (None: not mapped)."""
    jaxpr: ClosedJaxpr
    out_axes: tuple[int | None, ...]


@cached_by_jaxpr
def batch_jaxpr(closed: ClosedJaxpr, axis: Axis, in_axes: tuple[int | None, ...],
                out_axes: tuple[int | None, ...] | None = None) -> BatchedJaxpr:
    """The program that applies `closed` to a batch.

    Args:
      closed: the program for one example.
      axis: the mapped axis.
      in_axes: the batch axis of each input.
      out_axes: the batch axis that each result must have; by default the one that the rules give it.
    """
    found: list[int | None] = []

    def fun(*args: Any) -> Any:
        results, axes = batch_flat(lambda *xs: eval_jaxpr(closed.jaxpr, closed.consts, *xs), axis, args, in_axes, out_axes)
        found.extend(axes)
        return results

    in_avals = [add_batch_axis(aval, axis.size, b, axis.mesh_axes) for aval, b in zip(closed.in_avals, in_axes)]
    return BatchedJaxpr(stage(fun, in_avals, closed.jaxpr.debug_info), tuple(found))
