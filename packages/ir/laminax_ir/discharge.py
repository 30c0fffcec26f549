"""Discharge: programs with references as programs of arrays.

In the pure program each reference of the caller is a parameter, the array in it, and if it is written to also a further
result. The program is recorded once more for that, with references that hold values of the program: reading gives the
value, writing replaces it. Calls, loops and branches get pure programs too: what a loop writes it carries.

`bind_with_refs` binds an operation that has references among its operands. Where programs are recorded it is recorded
as it is; under every other trace the arrays are read, the pure operation is bound and what it wrote is written back, so
that transformations, lowering and evaluation meet pure operations only.
"""

from __future__ import annotations

from typing import Any, Callable, NamedTuple, Sequence
from weakref import WeakKeyDictionary

from laminax_ir import ref_indexing
from laminax_ir.avals import ShapedArray
from laminax_ir.effects import has_refs
from laminax_ir.jaxpr import ClosedJaxpr, Jaxpr, Literal, Var
from laminax_ir.manual_axes import running_along
from laminax_ir.name_stacks import NameStack, Transform, no_names
from laminax_ir.ops import state as ops
from laminax_ir.ops.calls import CustomVJPCall, checkpoint_p, custom_vjp_call_p, jit_p, run_forward
from laminax_ir.ops.control_primitives import cond_p, scan_p, while_p
from laminax_ir.ops.shard_map import shard_map_p
from laminax_ir.primitive import Primitive
from laminax_ir.ref_types import AbstractRef
from laminax_ir.refs import Ref, ValueRef, check_aliases, freeze, new_ref, read, write
from laminax_ir.staged_refs import call_with_refs
from laminax_ir.staging import StagingTrace, stage
from laminax_ir.trace import state


class DischargingTrace(StagingTrace):
    """Records a program without references: those that live in it hold values of the program."""

    __slots__ = ()

    records_refs = False

    def process_custom_vjp(self, call):
        if any(isinstance(x, Ref) for x in call.operands):
            return _pure_custom_vjp(call)
        return self.process(*call.stage(DischargingTrace))


class PureProgram(NamedTuple):
    """What a program is without references.

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

    def last_values(self) -> list[Any]:
        """For each parameter the variable of its value at the end: its own, if it is not written to."""
        finals = iter(self.closed.jaxpr.outvars[len(self.results):])
        return [next(finals) if is_written else v for v, is_written in zip(self.closed.jaxpr.invars, self.written)]


_discharged: WeakKeyDictionary[ClosedJaxpr, PureProgram] = WeakKeyDictionary()


def discharged(closed: ClosedJaxpr) -> PureProgram:
    """The pure program of one whose constants are no references; remembered for as long as `closed` lives."""
    found = _discharged.get(closed)
    if found is None:
        found = _discharged[closed] = _discharge(closed)
    return found


def _discharge(closed: ClosedJaxpr) -> PureProgram:
    written: list[bool] = []

    def fun(*values):
        args = [ValueRef(state.trace, v.aval, x) if isinstance(v.aval, AbstractRef) else x for v, x in zip(closed.jaxpr.invars, values)]
        results = eval_with_refs(closed.jaxpr, closed.consts, *args)
        written.extend(isinstance(arg, Ref) and arg.value is not x for arg, x in zip(args, values))
        return [*results, *[arg.value for arg, is_written in zip(args, written) if is_written]]

    avals = [_inner(aval) for aval in closed.in_avals]
    return PureProgram(stage(fun, avals, closed.jaxpr.debug_info, trace_type=DischargingTrace), tuple(written))


def _inner(aval: ShapedArray | AbstractRef) -> ShapedArray:
    return aval.inner_aval if isinstance(aval, AbstractRef) else aval


def without_refs(closed: ClosedJaxpr) -> ClosedJaxpr:
    """The pure program of one that has no references but its own.

    Raises:
      NotImplementedError: if it takes or closes over one.
    """
    outer = [v.aval for v in (*closed.jaxpr.constvars, *closed.jaxpr.invars) if isinstance(v.aval, AbstractRef)]
    if outer:
        raise NotImplementedError(f"{closed.jaxpr.debug_info or 'a traced function'} has a reference of its caller, {outer[0]}, which is not "
                                  "supported for functions of this kind. Read it before, hand over the array, return the new value, and write "
                                  "it afterwards; or make the reference in the function.")
    return discharged(closed).closed


def with_refs_as_parameters(closed: ClosedJaxpr) -> tuple[ClosedJaxpr, list[Ref]]:
    """A program with the references that it closes over as further parameters, and these references."""
    refs = [c for c in closed.consts if isinstance(c, Ref)]
    if not refs:
        return closed, refs
    found = _with_parameters.get(closed)
    if found is None:
        jaxpr = closed.jaxpr
        is_ref = [isinstance(c, Ref) for c in closed.consts]
        found = _with_parameters[closed] = ClosedJaxpr(
            Jaxpr([v for v, has in zip(jaxpr.constvars, is_ref) if not has],
                  [*jaxpr.invars, *[v for v, has in zip(jaxpr.constvars, is_ref) if has]], jaxpr.outvars, jaxpr.eqns, jaxpr.effects, jaxpr.debug_info),
            [c for c, has in zip(closed.consts, is_ref) if not has])
    return found, refs


_with_parameters: WeakKeyDictionary[ClosedJaxpr, ClosedJaxpr] = WeakKeyDictionary()


def pure_program(closed: ClosedJaxpr, args: Sequence[Any]) -> tuple[ClosedJaxpr, list[Any], Callable[[Sequence[Any]], list[Any]]]:
    """A program with references as a pure one, for one run of it.

    Args:
      closed: the program; its constants may be references.
      args: its arguments, some of them references.

    Returns:
      The pure program, its arguments, and a function that writes what it returned for references, and gives the other results.
    """
    program, closed_over = with_refs_as_parameters(closed)
    pure = discharged(program)
    operands = [*args, *closed_over]

    def write_back(outs: Sequence[Any]) -> list[Any]:
        count = len(pure.results)
        _write_back(operands, pure.written, outs[count:])
        return list(outs[:count])

    return pure.closed, _values(operands), write_back


def eval_with_refs(jaxpr: Jaxpr, consts: Sequence[Any], *args: Any) -> list[Any]:
    """`eval_jaxpr` for a program with references: arguments, constants, or made in it."""
    env: dict[Var, Any] = dict(zip(jaxpr.constvars, consts))
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


def bind_with_refs(primitive: Primitive, operands: Sequence[Any], params: dict[str, Any]) -> Any:
    """Binds an operation on references, or one that runs programs which have some.

    Raises:
      NotImplementedError: for an operation that runs programs, but not those with references of others.
    """
    trace = state.trace
    rule = _rules.get(primitive)
    if rule is None:
        return trace.process(primitive, operands, {key: without_refs(x) if isinstance(x, ClosedJaxpr) else x for key, x in params.items()})
    if not trace.records_refs:
        return rule(operands, params)
    if primitive is ops.new_ref_p:
        return new_ref(*operands)
    return call_with_refs(trace, primitive, operands, params)


_rules: dict[Primitive, Callable[[Sequence[Any], dict[str, Any]], Any]] = {}


def _rule(*primitives: Primitive):
    """Decorator: `rule(operands, params)` does the operation under a trace that does not record references."""
    def register(rule):
        _rules.update((primitive, rule) for primitive in primitives)
        return rule
    return register


@_rule(ops.new_ref_p)
def _new_ref(operands, params):
    return new_ref(*operands)


@_rule(ops.freeze_p)
def _freeze(operands, params):
    return freeze(*operands)


@_rule(ops.get_p)
def _get(operands, params):
    ref, *indices = operands
    return read(ref, ref_indexing.with_arrays(params["places"], indices))


@_rule(ops.swap_p)
def _swap(operands, params):
    ref, value, *indices = operands
    return write("ref_swap", ref, ref_indexing.with_arrays(params["places"], indices), value, returns_old=True)


@_rule(ops.addupdate_p)
def _addupdate(operands, params):
    ref, value, *indices = operands
    write("ref_addupdate", ref, ref_indexing.with_arrays(params["places"], indices), value)
    return []


def _values(operands: Sequence[Any]) -> list[Any]:
    return [read(x) if isinstance(x, Ref) else x for x in operands]


def _write_back(operands: Sequence[Any], written: Sequence[bool], values: Sequence[Any]) -> None:
    for ref, value in zip([x for x, is_written in zip(operands, written) if is_written], values):
        write("ref_set", ref, (), value)


@_rule(jit_p)
def _jit(operands, params):
    """In a program being discharged a call stays a call; elsewhere the operations are done one by one, with the references."""
    if isinstance(state.trace, DischargingTrace):
        return _pure_call(jit_p, operands, params)
    closed = params["jaxpr"]
    return eval_with_refs(closed.jaxpr, closed.consts, *operands)


@_rule(checkpoint_p)
def _checkpoint(operands, params):
    return _pure_call(checkpoint_p, operands, params)


def _pure_call(primitive: Primitive, operands, params):
    pure = discharged(params["jaxpr"])
    outs = primitive.bind(*_values(operands), **{**params, "jaxpr": pure.closed})
    count = len(pure.results)
    _write_back(operands, pure.written, outs[count:])
    return outs[:count]


_variants: WeakKeyDictionary[ClosedJaxpr, dict[Any, ClosedJaxpr]] = WeakKeyDictionary()


def _variant(closed: ClosedJaxpr, key: Any, invars: Callable[[], list[Var]], outvars: Callable[[], list[Any]]) -> ClosedJaxpr:
    """A pure program with other parameters and results; the same one for the same key, since transformations remember it."""
    known = _variants.setdefault(closed, {})
    if key not in known:
        known[key] = closed.replace(jaxpr=closed.jaxpr.replace(invars=invars(), outvars=outvars()))
    return known[key]


@_rule(shard_map_p)
def _shard_map(operands, params):
    """A reference is split as its array is; what each device has in its own is put together again."""
    mesh, closed, axes = params["mesh"], params["jaxpr"], params["manual_axes"]
    check_aliases(closed.jaxpr.debug_info or "a function", "shard_map", operands, (), "operand {}".format)
    with running_along([(name, mesh.shape[name]) for name in axes], params["check_vma"], None, params.get("unchecked_axes", ())):
        pure = discharged(closed)
    specs = [spec for spec, is_written in zip(params["in_specs"], pure.written) if is_written]
    count = len(pure.results)
    for spec, aval in zip(specs, pure.closed.out_avals[count:]):
        if varying := [name for name in aval.named_shape if name in axes and name not in spec.names()]:
            raise ValueError(f"shard_map: what is written to a reference that is split as {spec}, {aval.str_short()}, varies over the mesh axes {varying}, "
                             "along which all devices have the same part. Name the axes in in_specs, or sum over them with lax.psum.")
    outs = shard_map_p.bind(*_values(operands), **{**params, "jaxpr": pure.closed, "out_specs": (*params["out_specs"], *specs)})
    _write_back(operands, pure.written, outs[count:])
    return outs[:count]


@_rule(cond_p)
def _cond(operands, params):
    index, *operands = operands
    programs = [discharged(branch) for branch in params["branches"]]
    written = tuple(any(column) for column in zip(*[program.written for program in programs]))

    def results(program: PureProgram) -> list[Any]:
        return [*program.results, *[v for v, is_written in zip(program.last_values(), written) if is_written]]

    branches = tuple([_variant(p.closed, written, lambda p=p: p.closed.jaxpr.invars, lambda p=p: results(p)) for p in programs])
    outs = cond_p.bind(index, *_values(operands), **{**params, "branches": branches})
    count = len(programs[0].results)
    _write_back(operands, written, outs[count:])
    return outs[:count]


def _parted(values: Sequence[Any], flags: Sequence[bool]) -> tuple[list[Any], list[Any]]:
    """The values whose flag is not set, and those whose is."""
    return [x for x, flag in zip(values, flags) if not flag], [x for x, flag in zip(values, flags) if flag]


@_rule(scan_p)
def _scan(operands, params):
    """References that are written to become carried values; scanned ones are sliced, and what is written in them is stacked."""
    program = discharged(params["jaxpr"])
    consts, carry = params["num_consts"], params["num_carry"]
    written = program.written[:consts]

    def invars() -> list[Var]:
        fixed, changed = _parted(program.closed.jaxpr.invars[:consts], written)
        return [*fixed, *changed, *program.closed.jaxpr.invars[consts:]]

    def outvars() -> list[Any]:
        last = program.last_values()
        return [*_parted(last[:consts], written)[1], *program.results, *_parted(last[consts:], program.written[consts:])[1]]

    values = _values(operands)
    fixed, changed = _parted(values[:consts], written)
    arguments = [*fixed, *changed, *values[consts:]]
    outs = scan_p.bind(*arguments, **{
        **params, "jaxpr": _variant(program.closed, consts, invars, outvars), "num_consts": len(fixed), "num_carry": len(changed) + carry,
        "linear": (False,) * len(arguments)})
    _write_back(operands[:consts], written, outs)
    count = len(changed) + len(program.results)
    _write_back(operands[consts:], program.written[consts:], outs[count:])
    return outs[len(changed):count]


@_rule(while_p)
def _while(operands, params):
    """References that the body writes to become carried values, which the condition may read.

    What a condition writes is written at the beginning of the step that it admits; a step that it does not admit writes nothing.
    """
    condition = discharged(params["cond_jaxpr"])
    if any(condition.written):
        operands, params = _with_condition_in_body(operands, params)
    body = discharged(params["body_jaxpr"])
    cond_count, body_count = params["cond_nconsts"], params["body_nconsts"]
    cond_consts, body_consts = operands[:cond_count], operands[cond_count:cond_count + body_count]
    carry = operands[cond_count + body_count:]
    written = body.written[:body_count]
    changed = _parted(body_consts, written)[1]
    is_changed = tuple(any(x is ref for ref in changed) for x in cond_consts)
    places = tuple(next((i for i, x in enumerate(cond_consts) if x is ref), None) for ref in changed)

    def cond_invars() -> list[Var]:
        own = condition.closed.jaxpr.invars
        read_refs = [Var(_inner(ref.aval)) if i is None else own[i] for i, ref in zip(places, changed)]
        return [*_parted(own[:cond_count], is_changed)[0], *read_refs, *own[cond_count:]]

    def body_invars() -> list[Var]:
        own = body.closed.jaxpr.invars
        return [*[v for part in _parted(own[:body_count], written) for v in part], *own[body_count:]]

    def body_outvars() -> list[Any]:
        return [*_parted(body.last_values()[:body_count], written)[1], *body.results]

    cond_values, body_values = _parted(_values(cond_consts), is_changed)[0], _parted(_values(body_consts), written)
    key = is_changed, places, tuple(ref.aval for ref in changed)
    outs = while_p.bind(
        *cond_values, *[x for part in body_values for x in part], *carry, cond_nconsts=len(cond_values), body_nconsts=len(body_values[0]),
        cond_jaxpr=_variant(condition.closed, key, cond_invars, lambda: condition.results),
        body_jaxpr=_variant(body.closed, body_count, body_invars, body_outvars))
    _write_back(body_consts, written, outs)
    return outs[len(changed):]


def _with_condition_in_body(operands, params):
    """The same loop with what the condition does done by the body too, before anything else."""
    cond_count, body_count = params["cond_nconsts"], params["body_nconsts"]
    consts, carry = operands[:cond_count + body_count], operands[cond_count + body_count:]
    unique = list({id(x): x for x in consts}.values())
    places = tuple(next(i for i, x in enumerate(unique) if x is const) for const in consts)
    condition, body = params["cond_jaxpr"], params["body_jaxpr"]
    known = _bodies.setdefault(body, {})
    key = id(condition), places
    if key not in known:
        def fun(*args):
            given, state = [args[i] for i in places], args[len(unique):]
            eval_with_refs(condition.jaxpr, condition.consts, *given[:cond_count], *state)
            return eval_with_refs(body.jaxpr, body.consts, *given[cond_count:], *state)

        avals = [(condition.in_avals[:cond_count] + body.in_avals[:body_count])[places.index(i)] for i in range(len(unique))]
        known[key] = stage(fun, [*avals, *body.in_avals[body_count:]], body.jaxpr.debug_info, keeps_refs=True), condition
    both = known[key][0]
    return [*operands[:cond_count], *unique, *carry], {**params, "body_jaxpr": both, "body_nconsts": len(unique)}


# By the body, then by the condition, which is kept so that no other gets its number.
_bodies: WeakKeyDictionary[ClosedJaxpr, dict[Any, tuple[ClosedJaxpr, ClosedJaxpr]]] = WeakKeyDictionary()


@_rule(custom_vjp_call_p)
def _custom_vjp_call(operands, params):
    """The call again, of the function that the program is, with the rules of the equation."""
    closed, skipped = params["call_jaxpr"], params["num_consts"]
    staged_fwd, staged_bwd = params["fwd"], params["bwd"]

    def fun(*args):
        return eval_with_refs(closed.jaxpr, closed.consts, *args)

    def fwd(args, perturbed):  # the constants that the function closed over come first and have no cotangents
        results, residuals, bwd = run_forward(staged_fwd, staged_bwd, args[skipped:], perturbed[skipped:])
        return results, residuals, lambda residuals, cts: [*[None] * skipped, *bwd(residuals, cts)]

    return CustomVJPCall(fun, fwd, staged_bwd, operands, params["name"]).bind()


def _pure_custom_vjp(call: CustomVJPCall) -> list[Any]:
    """A call with references as a call of arrays, whose last values are further results. They have no cotangents, and the
    backward pass cannot reach the references: it runs when they are values of a program that has ended."""
    operands = call.operands
    avals = [x.aval if isinstance(x, Ref) else None for x in operands]
    written: list[bool] = []

    def boxed(values: Sequence[Any]) -> list[Any]:
        return [x if aval is None else ValueRef(state.trace, aval, x) for aval, x in zip(avals, values)]

    def last_values(args: Sequence[Any], values: Sequence[Any]) -> list[Any]:
        if not written:
            written.extend(isinstance(arg, Ref) and arg.value is not x for arg, x in zip(args, values))
        return [arg.value for arg, is_written in zip(args, written) if is_written]

    def fun(*values):
        args = boxed(values)
        results = call.fun(*args)
        return [*results, *last_values(args, values)]

    def fwd(values, perturbed):
        args = boxed(values)
        results, residuals, bwd = run_forward(call.fwd, call.bwd, args, perturbed)
        if any(isinstance(x, Ref) for x in residuals):
            raise NotImplementedError(f"custom_vjp function {call.name}: its forward rule hands a reference to the backward rule, and the call is "
                                      "inside of a loop, a branch or a checkpointed function, which is not supported. Call it outside of them, or "
                                      "hand over the array in the reference.")
        count = len(results)
        return [*results, *last_values(args, values)], residuals, lambda residuals, cts: bwd(residuals, cts[:count])

    fwd.__name__ = getattr(call.fwd, "__name__", "fwd")
    outs = CustomVJPCall(fun, fwd, call.bwd, _values(operands), call.name).bind()
    count = len(outs) - sum(written)
    _write_back(operands, written, outs[count:])
    return outs[:count]
