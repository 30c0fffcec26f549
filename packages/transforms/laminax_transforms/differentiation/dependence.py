"""Which results of a jaxpr depend on which parameters, found on its equations without tracing it again.

Loops need to know, before their body is transformed, which carried values get a tangent, a batch axis or a cotangent
in some iteration. The answers are conservative: a value may be marked without need (a nested call of an unknown kind marks all
its results), and is never left unmarked where it should be marked.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Callable, Sequence

from laminax_ir.ops.calls import checkpoint_p, custom_vmap_call_p, jit_p
from laminax_ir.ops.control_primitives import cond_p, scan_p, while_p
from laminax_ir.programs.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Var
from laminax_ir.programs.primitive import Primitive
from laminax_ir.recording.staging import stage
from laminax_ir.types import dtypes
from laminax_ir.types.hi_types import HiType
from laminax_transforms.base.derived_programs import cached_by_jaxpr
from laminax_transforms.base.registry import batching_rules, is_asked_unmapped, jvp_rules, zero_derivatives
from laminax_transforms.batching.batch_axes import add_batch_axis

if TYPE_CHECKING:
    pass

Flags = tuple[bool, ...]


@cached_by_jaxpr
def tangent_results(closed: ClosedJaxpr, nonzero: Flags) -> Flags:
    """Which results can have a tangent, if the marked parameters have one."""
    return _flow(closed.jaxpr, nonzero, tangent_results, _passes_tangents, None)


def call_results(primitive: Primitive, params: dict[str, Any], nonzero: Sequence[bool]) -> Flags | None:
    """Which results of a call can have a tangent, if the marked operands have one; None if the operation is no call."""
    rule = _nested_rules.get(primitive)
    return None if rule is None else tuple(rule(params, list(nonzero), tangent_results, False))


def _passes_tangents(eqn: JaxprEqn, _marked: set[Var], _axis: Any) -> list[bool]:
    primitive = eqn.primitive
    if primitive not in jvp_rules:
        jvp_rules.find(primitive)  # imports the family's rules, which declare zero derivatives
    if primitive in zero_derivatives:
        return [False] * len(eqn.outvars)
    return [isinstance(v.aval, HiType) or _may_have_tangents(v.aval.dtype) for v in eqn.outvars]


@functools.cache
def _may_have_tangents(dtype: Any) -> bool:
    return dtypes.tangent_dtype_of(dtype) != dtypes.float0 if dtypes.is_extended(dtype) else dtypes.issubdtype(dtype, dtypes.inexact)


@cached_by_jaxpr
def batched_results(closed: ClosedJaxpr, mapped: Flags, axis: Any) -> Flags:
    """Which results are mapped along the axis (`batching.Axis`), if the marked parameters are."""
    return _flow(closed.jaxpr, mapped, lambda inner, flags: batched_results(inner, flags, axis), _passes_batches, axis)


def _passes_batches(eqn: JaxprEqn, marked: set[Var], axis: Any) -> list[bool]:
    if not eqn.primitive.is_users:
        return [True] * len(eqn.outvars)
    return _mapped_by_rule(eqn, [0 if v in marked else None for v in eqn.invars], axis)


def _mapped_by_rule(eqn: JaxprEqn, batch_axes: list[int | None], axis: Any) -> list[bool]:
    """Which results a user's batching rule maps: it may reduce a result over the batch. The rule is staged, and the program discarded."""
    found: list[int | None] = []

    def run(*operands: Any) -> Any:
        results, axes = batching_rules[eqn.primitive](axis, operands, batch_axes, eqn.params)
        found.extend(axes if eqn.primitive.multiple_results else [axes])
        return results if eqn.primitive.multiple_results else [results]

    stage(run, [add_batch_axis(v.aval, axis.size, b, axis.mesh_axes) for v, b in zip(eqn.invars, batch_axes)], str(eqn.primitive))
    return [b is not None for b in found]


def _flow(jaxpr: Jaxpr, marked: Flags, nested: Callable, passes: Callable, axis: Any | None) -> Flags:
    env = _marked_variables(jaxpr, marked, nested, passes, axis)
    return tuple([v in env for v in jaxpr.outvars])


def _marked_variables(jaxpr: Jaxpr, marked: Flags, nested: Callable, passes: Callable,
                      axis: Any | None) -> set[Var]:
    """Follows the marks through the equations.

    Args:
      nested: the same question about a called jaxpr: `nested(closed, marks)`.
      passes: which results of an equation with a marked operand are marked.
      axis: for batching, the mapped axis; if it has a name, collectives are marked without a marked operand.
    """
    env = {v for v, m in zip(jaxpr.invars, marked) if m}
    has_name = axis is not None and axis.name is not None
    for eqn in jaxpr.eqns:
        reads_marked = not env.isdisjoint(eqn.invars)
        if reads_marked or has_name:
            inner = _nested_rules.get(eqn.primitive)
            if inner is not None:
                flags = [v in env for v in eqn.invars]
                outs: Sequence[bool] = inner(eqn.params, flags, nested, axis is not None)
            elif reads_marked or is_asked_unmapped(eqn.primitive):
                outs = passes(eqn, env, axis)
            else:
                continue
            env.update([v for v, m in zip(eqn.outvars, outs) if m])
    return env


def _jit_flow(params: dict[str, Any], flags: Sequence[bool], nested: Callable, _is_batching: bool) -> Flags:
    return nested(params["jaxpr"], tuple(flags))


def _custom_vmap_flow(params: dict[str, Any], flags: Sequence[bool], nested: Callable, is_batching: bool) -> Sequence[bool]:
    return [True] * len(params["call"].out_avals) if is_batching else nested(params["call"], tuple(flags))


def _cond_flow(params: dict[str, Any], flags: Sequence[bool], nested: Callable, is_batching: bool) -> Sequence[bool]:
    if is_batching and flags[0]:
        return [True] * len(params["branches"][0].out_avals)
    return union(*[nested(branch, tuple(flags[1:])) for branch in params["branches"]])


def _scan_flow(params: dict[str, Any], flags: Sequence[bool], nested: Callable, _is_batching: bool) -> Flags:
    _, outs = scan_fixpoint(params["jaxpr"], tuple(flags), params["num_consts"], params["num_carry"], nested)
    return outs


def _while_flow(params: dict[str, Any], flags: Sequence[bool], nested: Callable, is_batching: bool) -> Sequence[bool]:
    skipped = params["cond_nconsts"]
    count = len(params["body_jaxpr"].out_avals)
    marks, outs = scan_fixpoint(params["body_jaxpr"], tuple(flags[skipped:]), params["body_nconsts"], count, nested)
    if is_batching and nested(params["cond_jaxpr"], (*flags[:skipped], *marks[params["body_nconsts"]:]))[0]:
        return [True] * count
    return outs


_nested_rules: dict[Any, Callable] = {jit_p: _jit_flow, checkpoint_p: _jit_flow, custom_vmap_call_p: _custom_vmap_flow, cond_p: _cond_flow,
                                      scan_p: _scan_flow, while_p: _while_flow}


def union(*flags: Sequence[bool]) -> Flags:
    """Marks what is marked in any of the given flags."""
    return tuple(any(column) for column in zip(*flags))


def scan_fixpoint(body: ClosedJaxpr, flags: Flags, num_consts: int, num_carry: int,
                  step: Callable[[ClosedJaxpr, Flags], Flags]) -> tuple[Flags, Flags]:
    """The marks of a loop body's parameters and results: a carried value is marked if it is marked in any iteration.

    Args:
      body: `(*consts, *carry, *xs) -> (*carry, *ys)`.
      flags: the marks of its parameters before the first iteration.
      step: which results are marked for given marks of the parameters.
    """
    end = num_consts + num_carry
    while True:
        outs = step(body, flags)
        carry = union(flags[num_consts:end], outs[:num_carry])
        if carry == flags[num_consts:end]:
            return flags, (*carry, *outs[num_carry:])
        flags = (*flags[:num_consts], *carry, *flags[end:])


def linear_parts(jaxpr: Jaxpr, linear: Flags) -> set[Var]:
    """The variables that depend on the marked parameters and can carry tangents; the others are known without tangents."""
    return _marked_variables(jaxpr, linear, tangent_results, _passes_tangents, None)


def cotangent_parameters(jaxpr: Jaxpr, linear: Flags, ct_nonzero: Flags) -> Flags:
    """Which of the marked parameters can get a cotangent, if the given results have one."""
    parts = linear_parts(jaxpr, linear)
    reached = {v for v, m in zip(jaxpr.outvars, ct_nonzero) if m and v in parts}
    for eqn in reversed(jaxpr.eqns):
        if not reached.isdisjoint(eqn.outvars):
            reached.update(parts.intersection(eqn.invars))
    return tuple(m and v in reached for v, m in zip(jaxpr.invars, linear))
