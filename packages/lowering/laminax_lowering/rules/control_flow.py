"""StableHLO of control flow: branches are a case, loops a while.

Regions read values of the function around them, so constants and scanned arrays are not carried along. A scan carries
an i32 counter, the carry, and the stacked results, into which each step writes its slice; with `unroll`, one iteration runs several steps,
and the steps that do not fill an iteration run after the loop.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Sequence

import numpy as np

from laminax_ir.key_arrays.extended_arrays import physical_aval
from laminax_ir.ops.control_flow import cond_p, platform_index_p, scan_p, while_p
from laminax_ir.programs.effects import has_ordered
from laminax_ir.programs.jaxpr import ClosedJaxpr
from laminax_ir.symbolic.symbolic_dims import DimSize, SymbolicDim, max_dim
from laminax_ir.types.avals import ShapedArray
from laminax_lowering.rules.control_flow_cpu import late_stacks
from laminax_lowering.writing.comparisons import compare
from laminax_lowering.writing.context import FunctionWriter
from laminax_lowering.writing.explicit_axes import terms_kept
from laminax_lowering.writing.registry import lowering_rule
from laminax_lowering.writing.ssa_values import Value
from laminax_lowering.writing.tokens import current_tokens, set_tokens, token_keys
from laminax_lowering.writing.types import i64_array

_INT32 = ShapedArray((), np.int32)


@lowering_rule(cond_p)
def _lower_cond(ctx: FunctionWriter, index: Value, *operands: Value, branches: tuple[ClosedJaxpr, ...],
                branches_platforms: tuple[tuple[str, ...] | None, ...] | None = None) -> list[Value]:
    if branches_platforms is not None:  # the other branches need not exist on the platform

        def run_chosen() -> Any:
            i = _branch_for(ctx.platform, branches_platforms)
            return ctx.run(branches[i], operands, ["", "cond", f"branch_{i}_fun"])

        return ctx.by_platform(run_chosen)
    known = ctx.known_scalar(index)
    if known is not None:
        return ctx.run(branches[min(max(int(known), 0), len(branches) - 1)], operands, ["", "cond"])
    if keys := token_keys(frozenset().union(*[branch.effects for branch in branches])):
        return _ordered_case(ctx, index, branches, operands, keys)
    regions = [ctx.jaxpr_region(branch, operands, ["", "cond", f"branch_{i}_fun"]) for i, branch in enumerate(branches)]
    return _listed(ctx.emit("stablehlo.case", [index], regions=regions))


def _ordered_case(ctx: FunctionWriter, index: Value, branches: Sequence[ClosedJaxpr], operands: Sequence[Value],
                  keys: Sequence[Any]) -> list[Value]:
    """Each branch returns the tokens after it, too."""
    before = current_tokens(ctx, keys)

    def run(i: int) -> list[Value]:
        set_tokens(ctx, keys, before)
        return [*ctx.run(branches[i], operands, ["", "cond", f"branch_{i}_fun"]), *current_tokens(ctx, keys)]

    regions = [ctx.region([], lambda i=i: run(i)) for i in range(len(branches))]
    avals = ctx.avals_out
    results = _listed(ctx.emit("stablehlo.case", [index], regions=regions, results=[*avals, *[x.aval for x in before]]))
    set_tokens(ctx, keys, results[len(avals):])
    return results[:len(avals)]


def _listed(results: Value | list[Value]) -> list[Value]:
    return [results] if isinstance(results, Value) else results


@lowering_rule(platform_index_p)
def _lower_platform_index(ctx: FunctionWriter, *, platforms: Any) -> Value:
    return ctx.by_platform(lambda: ctx.constant(_branch_for(ctx.platform, platforms), np.int32))


def _branch_for(platform: str, branches: Sequence[Sequence[str] | None]) -> int:
    for i, names in enumerate(branches):
        if names is None or platform in names:
            return i
    named = ", ".join(name for names in branches if names is not None for name in names)
    raise NotImplementedError(f"platform_dependent: translation rule for a call not found for platform {platform}: it has no function for "
                              f"this platform, nor a default; there are functions for {named}")


@lowering_rule(while_p)
def _lower_while(ctx: FunctionWriter, *operands: Value, cond_jaxpr: ClosedJaxpr, body_jaxpr: ClosedJaxpr, cond_nconsts: int,
                 body_nconsts: int) -> list[Value]:
    cond_consts = operands[:cond_nconsts]
    body_consts = operands[cond_nconsts:cond_nconsts + body_nconsts]
    carry = operands[cond_nconsts + body_nconsts:]
    if has_ordered(cond_jaxpr.effects):  # whose token has to come out: it is evaluated before the loop, and at the end of each round
        def go_on(state: Sequence[Value]) -> list[Value]:
            return ctx.run(cond_jaxpr, [*cond_consts, *state], ["", "while", "cond"])

        def advance(_: Value, *state: Value) -> list[Value]:
            results = ctx.run(body_jaxpr, [*body_consts, *state], ["", "while", "body"])
            return [*go_on(results), *results]

        keys = token_keys(cond_jaxpr.effects | body_jaxpr.effects)
        return _emit_while(ctx, [*go_on(carry), *carry], lambda pred, *_: [pred], advance, keys)[1:]
    return _emit_while(ctx, carry, lambda *state: ctx.run(cond_jaxpr, [*cond_consts, *state], ["", "while", "cond"]),
                       lambda *state: ctx.run(body_jaxpr, [*body_consts, *state], ["", "while", "body"]), token_keys(body_jaxpr.effects))


def _emit_while(ctx: FunctionWriter, carry: Sequence[Value], condition: Callable, body: Callable, keys: Sequence[Any] = ()) -> list[Value]:
    """Args: `keys`, of the tokens of the body's ordered effects, which are carried along."""
    if keys:
        count = len(carry)

        def threaded(*state: Value) -> list[Any]:
            set_tokens(ctx, keys, state[count:])
            return [*body(*state[:count]), *current_tokens(ctx, keys)]

        results = _emit_while(ctx, [*carry, *current_tokens(ctx, keys)], lambda *state: condition(*state[:count]), threaded)
        set_tokens(ctx, keys, results[count:])
        return results[:count]
    avals = [v.aval for v in carry]
    kept = [terms_kept(ctx, v) for v in carry]
    ctx.module.loop_depth += 1
    try:
        regions = [ctx.region(avals, condition),
                   ctx.region(avals, lambda *state: [terms_kept(ctx, v) for v in body(*[terms_kept(ctx, v) for v in state])])]
    finally:
        ctx.module.loop_depth -= 1
    return [terms_kept(ctx, v) for v in _listed(ctx.emit("stablehlo.while", kept, regions=regions, results=avals))]


@lowering_rule(scan_p)
def _lower_scan(ctx: FunctionWriter, *operands: Value, jaxpr: ClosedJaxpr, length: int, reverse: bool, unroll: int, num_consts: int,
                num_carry: int, **_params: Any) -> list[Value]:
    consts, carry = list(operands[:num_consts]), list(operands[num_consts:num_consts + num_carry])
    xs = operands[num_consts + num_carry:]
    y_avals = ctx.avals_out[num_carry:]
    may_be_empty = type(length) is SymbolicDim and length.scope.bounds(length)[0] < 1
    if may_be_empty:  # the body, though it is not run then, must find an element
        missing = max_dim(1 - length, 0)
        xs = tuple([_with_more(ctx, x, missing) for x in xs])
        y_avals = [aval.update(shape=(length + missing, *aval.shape[1:])) for aval in y_avals]

    def step(index: Value, carry: Sequence[Value]) -> tuple[list[Value], list[Value]]:
        out = ctx.run(jaxpr, [*consts, *carry, *[_slice_at(ctx, x, index) for x in xs]], ["", "while", "body"])
        return out[:num_carry], out[num_carry:]

    def position(i: int) -> Value:
        return ctx.constant(length - 1 - i if reverse else i, np.int32)

    is_symbolic = type(length) is SymbolicDim
    if not is_symbolic and unroll >= length > 0:
        return _unrolled(ctx, step, position, carry, length, reverse, y_avals)

    def number(n: DimSize) -> Value:
        return ctx.size_number(n, np.int32)

    def several_steps(first: Value, state: Sequence[Value], count: int) -> list[Value]:
        """`count` steps from the counter `first` on."""
        carry, ys = list(state[:num_carry]), list(state[num_carry:])
        for k in range(count):
            i = first if k == 0 else ctx.emit("stablehlo.add", [first, ctx.constant(k, np.int32)], results=[_INT32])
            index = ctx.emit("stablehlo.subtract", [number(length - 1), i], results=[_INT32]) if reverse else i
            carry, outs = step(index, carry)
            ys = [_write_at(ctx, stack, y, index) for stack, y in zip(ys, outs)]
        return [*carry, *ys]

    def loop(state: Sequence[Value], limit: DimSize, count: int) -> list[Value]:
        """Steps from the counter `state[0]` up to the limit, `count` at a time."""
        def condition(i: Value, *_state: Value) -> Any:
            return compare(ctx, i, number(limit), "LT")

        def body(i: Value, *state: Value) -> list[Any]:
            advanced = several_steps(i, state, count)
            return [ctx.emit("stablehlo.add", [i, ctx.constant(count, np.int32)], results=[_INT32]), *advanced]

        return _emit_while(ctx, state, condition, body, token_keys(jaxpr.effects))

    state = [*carry, *(late_stacks(ctx, y_avals, operands) or [_empty_stack(ctx, aval) for aval in y_avals])]
    if is_symbolic or length >= unroll:
        state = loop([ctx.constant(0, np.int32), *state], length - length % unroll, unroll)
        _, *state = state if not is_symbolic or length % unroll == 0 else loop(state, length, 1)
    carry, ys = state[:num_carry], state[num_carry:]
    for i in range(length - length % unroll, length) if not is_symbolic else ():
        carry, outs = step(position(i), carry)
        ys = [_write_at(ctx, stack, y, position(i)) for stack, y in zip(ys, outs)]
    return [*carry, *([_first_of(ctx, y, aval) for y, aval in zip(ys, ctx.avals_out[num_carry:])] if may_be_empty else ys)]


def _with_more(ctx: FunctionWriter, x: Value, count: DimSize) -> Value:
    """An array with `count` further elements of zeros along the first axis."""
    rank = x.aval.ndim
    high: list[Any] = [count] + [0] * (rank - 1)
    nothing, more = i64_array((0,) * rank), i64_array(high)
    aval = x.aval.update(shape=(x.aval.shape[0] + count, *x.aval.shape[1:]))
    return ctx.emit("stablehlo.pad", [x, ctx.constant(0, x.aval.dtype)], results=[aval],
                    attributes={"edge_padding_low": nothing, "edge_padding_high": more, "interior_padding": nothing})


def _first_of(ctx: FunctionWriter, x: Value, aval: ShapedArray) -> Value:
    """The first elements of an array, as many as the type has."""
    rank = aval.ndim
    return ctx.emit("stablehlo.slice", [x], results=[aval], attributes={
        "start_indices": i64_array((0,) * rank), "limit_indices": i64_array(aval.shape), "strides": i64_array((1,) * rank)})


def _unrolled(ctx: FunctionWriter, step: Callable, position: Callable, carry: Sequence[Value], length: int, reverse: bool,
              y_avals: Sequence[ShapedArray]) -> list[Value]:
    """All steps one after the other, without a loop."""
    steps = []
    for i in range(length):
        carry, ys = step(position(i), carry)
        steps.append([_with_leading_axis(ctx, y) for y in ys])
    if reverse:
        steps.reverse()
    stacked = [ctx.emit("stablehlo.concatenate", column, attributes={"dimension": "0 : i64"}, results=[aval])
               for column, aval in zip(zip(*steps), y_avals)]
    return [*carry, *stacked]


def _empty_stack(ctx: FunctionWriter, aval: ShapedArray) -> Value:
    physical = physical_aval(aval)
    return Value(ctx.constant(0, physical.dtype, physical.shape).name, aval)


def _slice_at(ctx: FunctionWriter, x: Value, index: Value) -> Value:
    """The slice of the leading axis at a position."""
    aval, physical = x.aval, physical_aval(x.aval)
    one = aval.update(shape=(1, *aval.shape[1:]))
    starts = [index, *[ctx.constant(0, np.int32)] * (physical.ndim - 1)]
    window = ctx.emit("stablehlo.dynamic_slice", [x, *starts],
                      attributes={"slice_sizes": i64_array((1, *physical.shape[1:]))}, results=[one])
    return terms_kept(ctx, ctx.emit("stablehlo.reshape", [terms_kept(ctx, window)], results=[aval.update(shape=aval.shape[1:])]))


def _write_at(ctx: FunctionWriter, stack: Value, y: Value, index: Value) -> Value:
    """The stacked results with one slice written."""
    starts = [index, *[ctx.constant(0, np.int32)] * (physical_aval(stack.aval).ndim - 1)]
    return terms_kept(ctx, ctx.emit("stablehlo.dynamic_update_slice", [stack, _with_leading_axis(ctx, y), *starts], results=[stack.aval]))


def _with_leading_axis(ctx: FunctionWriter, y: Value) -> Value:
    return terms_kept(ctx, ctx.emit("stablehlo.reshape", [y], results=[y.aval.update(shape=(1, *y.aval.shape))]))
