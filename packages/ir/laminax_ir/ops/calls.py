"""Calls: `jit`, `checkpoint`, and functions with derivative rules of their own.

A jit call carries a closed jaxpr without constants; what the function closed over is passed as leading
operands, so that one jaxpr serves every call. Custom calls meet each trace as an object, because an
evaluating or differentiating trace runs the Python function itself and only a staging trace needs its jaxpr.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Callable, Sequence

from laminax_ir.ops.functions_with_rules import (
    CustomJVPCallPrimitive,
    CustomVJPCallPrimitive,
    VJPFunctions,
    has_symbolic_zeros,
    jvp_functions,
)
from laminax_ir.ops.shape import full
from laminax_ir.programs.check_rules import call_faults, check_rule
from laminax_ir.programs.dce import dce_closed_jaxpr, dce_rule
from laminax_ir.programs.effects import check_allowed, custom_derivatives_allowed_effects, has_refs
from laminax_ir.programs.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn
from laminax_ir.programs.primitive import CALL_TRAITS, Primitive, Trait, effects_rule, shape_rule
from laminax_ir.programs.printer_params import equation_rule
from laminax_ir.recording.evaluation import eval_jaxpr
from laminax_ir.recording.staging import stage
from laminax_ir.recording.staging_trace import StagingTrace
from laminax_ir.recording.stashes import can_be_stashed
from laminax_ir.refs.refs import Ref, ValueRef, new_ref, read, values_in, write_back
from laminax_ir.symbolic.sized_programs import at_sizes
from laminax_ir.tracing.trace import state
from laminax_ir.types.avals import ShapedArray, get_aval, is_array_like
from laminax_ir.types.ref_types import AbstractRef

if TYPE_CHECKING:
    from laminax_ir.programs.effects import DebugEffect
    from laminax_ir.tracing.trace import Trace

jit_p = Primitive("jit", multiple_results=True, family="calls", traits=(*CALL_TRAITS, Trait.PASSES_STASHES))
checkpoint_p = Primitive("checkpoint", multiple_results=True, family="calls", traits=(*CALL_TRAITS, Trait.PASSES_STASHES))
name_p = Primitive("name", family="calls", traits=(*CALL_TRAITS, Trait.ADDITIVE))
custom_jvp_call_p = CustomJVPCallPrimitive("custom_jvp_call", multiple_results=True, family="calls", traits=CALL_TRAITS)
custom_vmap_call_p = Primitive("custom_vmap_call", multiple_results=True, family="calls", traits=CALL_TRAITS)
custom_vjp_call_p = CustomVJPCallPrimitive("custom_vjp_call", multiple_results=True, family="calls", traits=(*CALL_TRAITS, Trait.STASHES))
# The tangent map of a custom_vjp call: linear in the tangents, known only by its transpose, so it cannot be run.
custom_vjp_tangent_p = Primitive("custom_vjp_tangent", multiple_results=True, family="calls", traits=CALL_TRAITS)

equation_rule(jit_p)(lambda eqn, printer: printer.call(eqn))
equation_rule(custom_jvp_call_p, custom_vjp_call_p)(lambda eqn, printer: printer.call_with_rules(eqn))


@shape_rule(jit_p)
@shape_rule(checkpoint_p)
def _jit_shape(*avals: ShapedArray, jaxpr: ClosedJaxpr, **_params: Any) -> list[ShapedArray]:
    return jaxpr.out_avals


@shape_rule(name_p)
def _name_shape(x: ShapedArray, *, name: str) -> ShapedArray:
    return x


@effects_rule(jit_p)
@effects_rule(checkpoint_p)
def _jit_effects(*avals: ShapedArray, jaxpr: ClosedJaxpr, **_params: Any) -> frozenset[DebugEffect]:
    return jaxpr.effects


@shape_rule(custom_jvp_call_p)
@shape_rule(custom_vjp_call_p)
def _custom_call_shape(*avals: ShapedArray, call_jaxpr: ClosedJaxpr, **_params: Any) -> list[ShapedArray]:
    return call_jaxpr.out_avals


@effects_rule(custom_jvp_call_p)
@effects_rule(custom_vjp_call_p)
def _custom_call_effects(*avals: ShapedArray, call_jaxpr: ClosedJaxpr, name: str, **_params: Any) -> frozenset[Any]:
    if call_jaxpr.effects:
        check_allowed(call_jaxpr.effects, custom_derivatives_allowed_effects, f"{name}, a function with a derivative rule of its own",
                      "custom_derivatives_allowed_effects")
    return call_jaxpr.effects


@shape_rule(custom_vjp_tangent_p)
def _custom_vjp_tangent_shape(*avals: ShapedArray, out_avals: Sequence[ShapedArray], **_params: Any) -> list[ShapedArray]:
    return [aval.to_tangent_aval() for aval in out_avals]


def forward_mode_error(name: str) -> TypeError:
    """The error for a transformation that would have to run the tangent map of a custom_vjp function."""
    return TypeError(f"can't apply forward-mode autodiff (jvp) to a custom_vjp function: {name}. Use reverse mode (vjp, grad, "
                     "jacrev), or give it a rule with custom_jvp.")


@shape_rule(custom_vmap_call_p)
def _custom_vmap_shape(*avals: ShapedArray, call: ClosedJaxpr, **_params: Any) -> list[ShapedArray]:
    return call.out_avals


@effects_rule(custom_vmap_call_p)
def _custom_vmap_effects(*avals: ShapedArray, call: ClosedJaxpr, **_params: Any) -> frozenset[Any]:
    return call.effects


@check_rule(custom_vmap_call_p)
def _custom_vmap_faults(in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], *, call: ClosedJaxpr, name: str,
                        **_params: Any) -> Iterable[Any]:
    return call_faults(f"the function {name}", call, in_avals)


@check_rule(jit_p, checkpoint_p)
def _jit_faults(in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], *, jaxpr: ClosedJaxpr, name: str,
                **_params: Any) -> Iterable[Any]:
    return call_faults(f"the function {name}", jaxpr, in_avals)


@check_rule(custom_jvp_call_p, custom_vjp_call_p)
def _custom_call_faults(in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], *, call_jaxpr: ClosedJaxpr, name: str,
                        **_params: Any) -> Iterable[Any]:
    return call_faults(f"the function {name}", call_jaxpr, in_avals)


@dce_rule(jit_p, checkpoint_p)
def dce_of_call(used_outputs: Sequence[bool], eqn: JaxprEqn) -> tuple[list[bool], JaxprEqn | None]:
    """The call of the part that is needed. Parameters that speak of each operand or result are thinned out alike."""
    program, used_inputs = dce_closed_jaxpr(eqn.params["jaxpr"], used_outputs)
    if program is eqn.params["jaxpr"]:
        return used_inputs, eqn
    if not program.eqns and not any(used_outputs):
        return used_inputs, None
    params = {key: _thinned(value, _flags_of(key, used_inputs, used_outputs)) for key, value in eqn.params.items()}
    params["jaxpr"] = program
    return used_inputs, eqn.replace(invars=_thinned(eqn.invars, used_inputs), outvars=_thinned(eqn.outvars, used_outputs),
                                    params=params, effects=program.effects)


@dce_rule(custom_jvp_call_p)
def _custom_jvp_dce(used_outputs: Sequence[bool], eqn: JaxprEqn) -> tuple[list[bool], JaxprEqn]:
    """The call without its unused results. All operands stay, since the user's rule takes all of them."""
    all_inputs = [True] * len(eqn.invars)
    if all(used_outputs):
        return all_inputs, eqn
    program, _ = dce_closed_jaxpr(eqn.params["call_jaxpr"], used_outputs, True)
    rule = eqn.params["jvp"]

    def jvp(primals: Any, tangents: Any) -> Any:
        return tuple([_thinned(list(values), used_outputs) for values in rule(primals, tangents)])

    jvp.__name__ = getattr(rule, "__name__", "jvp")
    return all_inputs, eqn.replace(outvars=_thinned(eqn.outvars, used_outputs), effects=program.effects,
                                   params={**eqn.params, "call_jaxpr": program, "jvp": jvp})


@dce_rule(custom_vjp_call_p)
def _custom_vjp_dce(used_outputs: Sequence[bool], eqn: JaxprEqn) -> tuple[list[bool], JaxprEqn]:
    """The call without its unused results, whose cotangents the user's rule gets as zeros."""
    all_inputs = [True] * len(eqn.invars)
    if all(used_outputs):
        return all_inputs, eqn
    program, _ = dce_closed_jaxpr(eqn.params["call_jaxpr"], used_outputs, True)
    whole_fwd, whole_bwd = eqn.params["fwd"], eqn.params["bwd"]

    def fwd(operands: Sequence[Any], perturbed: Any) -> Any:
        results, residuals, bwd = run_forward(whole_fwd, whole_bwd, operands, perturbed)

        def bwd_of_used(residuals: Any, cts: Any) -> Any:
            found = iter(cts)
            return bwd(residuals, [next(found) if used else None for used in used_outputs])

        return _thinned(results, used_outputs), residuals, bwd_of_used

    fwd.__name__ = getattr(whole_fwd, "__name__", "fwd")
    return all_inputs, eqn.replace(outvars=_thinned(eqn.outvars, used_outputs), effects=program.effects,
                                   params={**eqn.params, "call_jaxpr": program, "fwd": fwd})


def _flags_of(key: str, used_inputs: Sequence[bool], used_outputs: Sequence[bool]) -> Sequence[bool]:
    return used_inputs if key.startswith(("in_", "donated_", "prevent_cse")) else used_outputs if key.startswith("out_") else ()


def _thinned(values: Any, used: Sequence[bool]) -> Any:
    """The values whose flag is set; anything that is not one value per flag as it is."""
    if not isinstance(values, (tuple, list)) or len(values) != len(used):
        return values
    return type(values)(value for value, is_used in zip(values, used) if is_used)


def close_over_constants(closed: ClosedJaxpr) -> tuple[ClosedJaxpr, list[Any]]:
    """The same program with its constants as leading parameters, and their values: the form in which it is called.

    For one program it is the same object every time, so that callers find the programs that they have derived or compiled from it.
    """
    if not closed.consts:
        return closed, []
    program = closed.without_consts
    if program is None:
        if closed.template is not None:
            template, sizes = closed.template
            program = at_sizes(close_over_constants(template)[0], dict(sizes))
        else:
            jaxpr = closed.jaxpr
            program = ClosedJaxpr(
                Jaxpr([], [*jaxpr.constvars, *jaxpr.invars], jaxpr.outvars, jaxpr.eqns, jaxpr.effects, jaxpr.debug_info))
        closed.without_consts = program
    return program, closed.consts


class Inline(enum.Enum):
    """Where a jitted function becomes part of the program that calls it.

    JAX_EARLY: where the caller is traced; its program has no call. JAX_LATE: where the program is lowered. XLA_EARLY and XLA_LATE: in the
    compiler, which the call is marked for. AUTO: as the policy of outlining decides.

    Example:
      >>> double = laminax.jit(lambda x: x * 2, inline=Inline.JAX_EARLY)
      >>> laminax.make_jaxpr(double)(1.0)
      { lambda ; a:f32[]. let b:f32[] = mul a 2.0:f32[] in (b,) }
    """

    JAX_EARLY = "jax_early"
    JAX_LATE = "jax_late"
    XLA_EARLY = "xla_early"
    XLA_LATE = "xla_late"
    AUTO = "auto"


class KeptCall(enum.Enum):
    """In the place of an `Inline`: the call stays one where the program is lowered, since its attributes for the compiler are of it."""

    KEPT = "kept"


def call_jaxpr(closed: ClosedJaxpr, *operands: Any, name: str, inline: bool | Inline | KeptCall = False, **params: Any) -> list[Any]:
    """Binds a jit call of a closed jaxpr; its constants become operands.

    Args:
      closed: the program.
      *operands: one per parameter of the program.
      name: the called function's name.
      inline: whether lowering writes it in place of the call, or what the compiler is told of the call.
      **params: further parameters of the call (donation, shardings).
    """
    program, consts = close_over_constants(closed)
    params = {"jaxpr": program, "name": name, "inline": inline, **params}
    if program.effects:
        return bind_program(jit_p, program.effects, (*consts, *operands), params)
    return state.trace.process(jit_p, (*consts, *operands), params)


def bind_program(primitive: Primitive, effects: frozenset[Any], operands: Sequence[Any], params: dict[str, Any]) -> list[Any]:
    """Binds an operation that runs programs with these effects, which may have references among their operands."""
    if effects and has_refs(effects):
        from laminax_ir.recording.discharge import bind_with_refs
        return bind_with_refs(primitive, operands, params)
    return state.trace.process(primitive, operands, params)


def bind_checkpoint(closed: ClosedJaxpr, *operands: Any, name: str, prevent_cse: bool | tuple[bool, ...], policy: Callable[..., Any] | None,
                    differentiated: bool = False) -> list[Any]:
    """Binds a call whose intermediate values are recomputed, not kept, for differentiation.

    Args:
      closed: the program; its constants become operands.
      *operands: one per parameter of the program.
      name: the called function's name.
      prevent_cse: whether the compiler is kept from merging the recomputation with the first computation; or, for each operand,
        whether the recomputation is kept from using what is known of it.
      policy: which values may be kept after all, as for `laminax_transforms.rematerializing.checkpoint`.
      differentiated: whether the program is the derivative part of such a call: the one that recomputes.
    """
    program, consts = close_over_constants(closed)
    if isinstance(prevent_cse, tuple):
        prevent_cse = (False,) * len(consts) + prevent_cse
    return bind_program(checkpoint_p, program.effects, (*consts, *operands), {
        "jaxpr": program, "name": name, "prevent_cse": prevent_cse, "policy": policy, "differentiated": differentiated})


class CustomJVPCall:
    """One call of a function with its own JVP rule, on flat operands.

    Args:
      fun: the flat function.
      jvp: flat rule, `jvp(primals, tangents) -> (results, tangents)`; tangents may be symbolic zeros on both sides.
      operands: the values.
      name: the function's name.
    """

    __slots__ = ("fun", "jvp", "operands", "name")

    def __init__(self, fun: Callable[..., Any], jvp: Callable[..., Any], operands: Sequence[Any], name: str) -> None:
        self.fun: Callable[..., Any] = fun
        self.jvp: Callable[..., Any] = jvp
        self.operands: list[Any] = list(operands)
        self.name: str = name

    def bind(self) -> list[Any]:
        """Makes the call under the current trace."""
        return state.trace.process_custom_jvp(self)

    def call_primal(self) -> list[Any]:
        """Runs the function itself under the current trace."""
        return list(self.fun(*self.operands))

    def stage(self) -> tuple[Primitive, list[Any], dict[str, Any]]:
        """Primitive, operands and parameters of the equation that stands for this call."""
        program, consts = close_over_constants(stage(self.fun, [get_aval(x) for x in self.operands], self.name))
        params = {"call_jaxpr": program, "jvp": self.jvp, "name": self.name, "num_consts": len(consts)}
        return custom_jvp_call_p, [*consts, *self.operands], params

    @classmethod
    def of_program(cls, operands: Sequence[Any], params: dict[str, Any]) -> CustomJVPCall:
        """The call that an equation stands for; what the function closed over comes first, and has no tangents."""
        closed, rule, skipped = params["call_jaxpr"], params["jvp"], params["num_consts"]

        def jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
            return rule(primals[skipped:], tangents[skipped:])

        jvp.symbolic_zeros = has_symbolic_zeros(rule)  # type: ignore[attr-defined]
        return cls(lambda *args: eval_jaxpr(closed.jaxpr, closed.consts, *args), jvp, operands, params["name"])

    def process_by(self, trace: Trace) -> Any:
        """Has the interpreter that a user wrote make the call."""
        return trace.process_custom_jvp_call(custom_jvp_call_p, *jvp_functions(self), self.operands,
                                             symbolic_zeros=has_symbolic_zeros(self.jvp))


class CustomVJPCall:
    """One call of a function with its own reverse rule, on flat operands.

    Args:
      fun: the flat function.
      fwd: flat forward rule, `fwd(operands, perturbed) -> (results, residuals)`; `perturbed` tells which operands
        have tangents. It may return a third item, the backward rule for this run of it: residuals of different runs may
        differ in structure.
      bwd: flat backward rule, `bwd(residuals, cotangents) -> cotangents of the operands`, for a `fwd` that returns none;
        cotangents may be symbolic zeros on both sides, and None for a result that nobody needs.
      operands: the values.
      name: the function's name.
    """

    __slots__ = ("fun", "fwd", "bwd", "operands", "name")

    def __init__(self, fun: Callable[..., Any], fwd: Callable[..., Any], bwd: Callable[..., Any], operands: Sequence[Any],
                 name: str) -> None:
        self.fun: Callable[..., Any] = fun
        self.fwd: Callable[..., Any] = fwd
        self.bwd: Callable[..., Any] = bwd
        self.operands: list[Any] = list(operands)
        self.name: str = name

    def bind(self) -> list[Any]:
        """Makes the call under the current trace."""
        return state.trace.process_custom_vjp(self)

    def call_primal(self) -> list[Any]:
        """Runs the function itself under the current trace."""
        return list(self.fun(*self.operands))

    def stage(self, trace_type: type[StagingTrace] = StagingTrace) -> tuple[Primitive, list[Any], dict[str, Any]]:
        """Primitive, operands and parameters of the equation that stands for this call, whose program such a trace records."""
        avals = [get_aval(x) for x in self.operands]
        program, consts = close_over_constants(stage(self.fun, avals, self.name, keeps_refs=True, trace_type=trace_type))
        params = {"call_jaxpr": program, "fwd": self.fwd, "bwd": self.bwd, "name": self.name, "num_consts": len(consts)}
        return custom_vjp_call_p, [*consts, *self.operands], params

    @classmethod
    def of_program(cls, operands: Sequence[Any], params: dict[str, Any]) -> CustomVJPCall:
        """The call that an equation stands for; what the function closed over comes first, and gets no cotangents."""
        closed, whole_fwd, whole_bwd, skipped = params["call_jaxpr"], params["fwd"], params["bwd"], params["num_consts"]

        def fwd(args: Sequence[Any], perturbed: Sequence[bool]) -> tuple[Any, Any, Any]:
            results, residuals, bwd = run_forward(whole_fwd, whole_bwd, args[skipped:], perturbed[skipped:])
            return results, residuals, lambda residuals, cts: [*[None] * skipped, *bwd(residuals, cts)]

        fwd.symbolic_zeros = has_symbolic_zeros(whole_fwd)  # type: ignore[attr-defined]
        return cls(lambda *args: eval_jaxpr(closed.jaxpr, closed.consts, *args), fwd, whole_bwd, operands, params["name"])

    def process_by(self, trace: Trace) -> Any:
        """Has the interpreter that a user wrote make the call."""
        functions = VJPFunctions(self, run_forward)
        return trace.process_custom_vjp_call(custom_vjp_call_p, *functions.wrapped(), self.operands, out_trees=functions.out_trees,
                                             symbolic_zeros=has_symbolic_zeros(self.fwd))

    def has_ref_of(self, trace: Trace) -> bool:
        """Whether an operand is a reference that lives in a trace, which no outer trace can read."""
        return any(isinstance(x, ValueRef) and x._trace is trace for x in self.operands)

    def bind_without_refs(self) -> list[Any]:
        """Makes the call, which has references among its operands, as one of arrays, whose last values are further results.

        A reference that the forward rule hands to the backward rule is stashed. What is in it while the backward pass runs goes through the
        transposed program as the cotangent of the array: the cotangent of the further result is what is there before the backward rule,
        the one of the operand what is there after it. A transformation that opens such a way for a reference says so by a tangent of the
        array; see `recording.stashes`.
        """
        operands = self.operands
        stashes = self._stashes()
        written: list[bool] = []

        def fun(*values: Any) -> list[Any]:
            args = _boxed(operand_avals, values)
            return [*self.fun(*args), *_last_values(args, values, stashes, written)]

        operand_avals = [x.aval if isinstance(x, Ref) else None for x in operands]

        def fwd(values: Sequence[Any], perturbed: Sequence[bool]) -> tuple[list[Any], Any, Callable[..., Any]]:
            args = _boxed(operand_avals, values)
            results, residuals, bwd = run_forward(self.fwd, self.bwd, args, perturbed)
            places = {i: next(k for k, arg in enumerate(args) if arg is x) for i, x in enumerate(residuals) if isinstance(x, Ref)}
            if not all(k in stashes and perturbed[k] for k in places.values()):
                raise NotImplementedError(f"custom_vjp function {self.name}: its forward rule hands a reference to the backward rule, "
                                          "and the call is inside of a loop, a branch or a checkpointed function. That is supported for "
                                          "references to floating-point arrays, under grad, vjp and linearize, where nothing else there "
                                          "uses the reference. Call it outside of them, or hand over the array in the reference.")
            last = _last_values(args, values, stashes, written)
            returned = [i for i, is_written in enumerate(written) if is_written]
            backward = _backward_with_stashes(bwd, len(results), {k: returned.index(k) for k in stashes}, places, operand_avals)
            return [*results, *last], [x for i, x in enumerate(residuals) if i not in places], backward

        fwd.__name__ = getattr(self.fwd, "__name__", "fwd")
        outs = CustomVJPCall(fun, fwd, self.bwd, values_in(operands), self.name).bind()
        count = len(outs) - sum(written)
        write_back(operands, written, outs[count:])
        return outs[:count]

    def _stashes(self) -> frozenset[int]:
        """The places of the operands, references to floating-point arrays, that the forward rule hands to the backward rule."""
        avals = [get_aval(x) for x in self.operands]
        found: set[int] = set()

        def forward(*args: Any) -> list[Any]:
            _, residuals, _ = run_forward(self.fwd, self.bwd, args, [True] * len(args))
            found.update(i for i, arg in enumerate(args) if isinstance(arg, Ref) and any(x is arg for x in residuals))
            return []

        if any(can_be_stashed(aval) for aval in avals):
            stage(forward, avals, self.name, keeps_refs=True)
        return frozenset(i for i in found if can_be_stashed(avals[i]))


def _boxed(avals: Sequence[AbstractRef | None], values: Sequence[Any]) -> list[Any]:
    """The operands of a call, with a reference to the value where there was one."""
    return [x if aval is None else ValueRef(state.trace, aval, x) for aval, x in zip(avals, values)]


def _last_values(args: Sequence[Any], values: Sequence[Any], stashes: frozenset[int], written: list[bool]) -> list[Any]:
    """The last values of the references that are written to or stashed; `written` gets which these are, when it is first known."""
    if not written:
        written.extend(i in stashes or isinstance(arg, ValueRef) and arg.value is not x for i, (arg, x) in enumerate(zip(args, values)))
    return [arg.value for arg, is_written in zip(args, written) if is_written]


def _backward_with_stashes(bwd: Callable[..., Any], count: int, channels: dict[int, int], places: dict[int, int],
                           avals: Sequence[AbstractRef | None]) -> Callable[..., Any]:
    """The backward rule of a call without references, for one whose cotangents bring what is in stashed references.

    Args:
      bwd: the rule.
      count: the number of results of the function itself.
      channels: the places of the stashed operands; for each the number of its last value among those that are returned.
      places: for the places of references in the residuals those of the operands.
      avals: the types of the operands that are references.
    """
    def backward(residuals: Sequence[Any], cts: Sequence[Any]) -> list[Any]:
        own, contents = cts[:count], {k: cts[count + n] for k, n in channels.items()}
        if channels and not any(map(is_array_like, own)):  # no result has a cotangent: the rule does not run
            return [contents.get(k) for k in range(len(avals))]
        boxes = {k: new_ref(x if is_array_like(x) else full(aval.shape, 0, aval.dtype))
                 for k, x in contents.items() if (aval := avals[k]) is not None}
        given, kept = iter(residuals), []
        for i in range(len(residuals) + len(places)):
            kept.append(boxes[places[i]] if i in places else next(given))
        in_cts = list(bwd(kept, own))
        for k, box in boxes.items():
            in_cts[k] = read(box)
        return in_cts
    return backward


def run_forward(fwd: Callable[..., Any], bwd: Callable[..., Any], operands: Sequence[Any], perturbed: Sequence[bool]) -> tuple[list[Any],
                list[Any], Callable[..., Any]]:
    """Runs the forward rule of a `CustomVJPCall`: results, residuals, and the backward rule for them."""
    results, residuals, *own = fwd(operands, perturbed)
    return results, residuals, own[0] if own else bwd


custom_jvp_call_p.call_type, custom_vjp_call_p.call_type = CustomJVPCall, CustomVJPCall
