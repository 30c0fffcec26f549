"""StableHLO of windowed reductions.

Source: StableHLO specification, `reduce_window` and `select_and_scatter`.
"""

from __future__ import annotations

from typing import Any, Sequence

import numpy as np

from laminax_ir.ops import windows as op
from laminax_ir.ops.elementwise import ge_p
from laminax_ir.ops.reduction import greatest, identity, least, split_operands
from laminax_ir.programs.jaxpr import ClosedJaxpr
from laminax_ir.programs.primitive import Primitive
from laminax_ir.symbolic.symbolic_dims import is_constant_shape
from laminax_ir.types.avals import ShapedArray
from laminax_lowering.rules import windows_cpu  # noqa: F401  (it registers its kernel)
from laminax_lowering.rules.reduction import computation_region, monoid_region
from laminax_lowering.writing.comparisons import compare, select
from laminax_lowering.writing.context import FunctionWriter
from laminax_lowering.writing.registry import lowering_rule
from laminax_lowering.writing.ssa_values import Value
from laminax_lowering.writing.types import i64_array, i64_tensor


def emit_reduce_window(ctx: FunctionWriter, operands: Sequence[Value], inits: Sequence[Value], region: str, results: Sequence[ShapedArray],
                       *, window_dimensions: Any, window_strides: tuple[int, ...], padding: Sequence[tuple[int, int]],
                       base_dilation: tuple[int, ...], window_dilation: tuple[int, ...]) -> list[Value]:
    """Writes a `stablehlo.reduce_window`; the results are a list."""
    out = ctx.emit("stablehlo.reduce_window", [*operands, *inits], regions=[region], results=results, attributes={
        "window_dimensions": i64_array(window_dimensions), "window_strides": i64_array(window_strides),
        "base_dilations": i64_array(base_dilation), "window_dilations": i64_array(window_dilation),
        "padding": _pads(padding)})
    return out if isinstance(out, list) else [out]


def _pads(padding: Any) -> str:
    if not all(is_constant_shape(pair) for pair in padding):
        return i64_array([amount for pair in padding for amount in pair])
    return i64_tensor(np.reshape(np.array(padding, np.int64), (-1, 2)))


def _define(primitive: Primitive, monoid: str) -> None:
    @lowering_rule(primitive)
    def rule(ctx: FunctionWriter, x: Value, **window: Any) -> Any:
        dtype = x.aval.dtype
        init = ctx.constant(identity(monoid, dtype), dtype)
        (result,) = emit_reduce_window(ctx, [x], [init], monoid_region(ctx, monoid, dtype), ctx.avals_out, **window)
        return result


_define(op.reduce_window_sum_p, "sum")
_define(op.reduce_window_max_p, "max")
_define(op.reduce_window_min_p, "min")


@lowering_rule(op.reduce_window_p)
def _reduce_window(ctx: FunctionWriter, *values: Value, jaxpr: ClosedJaxpr, **window: Any) -> list[Value]:
    operands, inits = split_operands("reduce_window", values)
    return emit_reduce_window(ctx, operands, inits, computation_region(ctx, jaxpr), ctx.avals_out, **window)


@lowering_rule(op.select_and_scatter_p)
def _select_and_scatter(ctx: FunctionWriter, operand: Value, source: Value, init: Value, *, select_jaxpr: ClosedJaxpr,
                        scatter_jaxpr: ClosedJaxpr, window_dimensions: tuple[int, ...], window_strides: tuple[int, ...],
                        padding: Sequence[tuple[int, int]]) -> Value:
    regions = [computation_region(ctx, select_jaxpr), computation_region(ctx, scatter_jaxpr)]
    return ctx.emit("stablehlo.select_and_scatter", [operand, source, init], regions=regions, attributes={
        "window_dimensions": i64_array(window_dimensions), "window_strides": i64_array(window_strides), "padding": _pads(padding)})


@lowering_rule(op.select_and_scatter_add_p)
def _select_and_scatter_add(ctx: FunctionWriter, source: Value, operand: Value, *, select_prim: Primitive,
                            window_dimensions: tuple[int, ...], window_strides: tuple[int, ...],
                            padding: Sequence[tuple[int, int]]) -> Value:
    scalar = ShapedArray((), operand.aval.dtype)
    direction = "GE" if select_prim is ge_p else "LE"
    select = ctx.region([scalar, scalar], lambda a, b: compare(ctx, a, b, direction))
    scatter = monoid_region(ctx, "sum", scalar.dtype)
    return ctx.emit("stablehlo.select_and_scatter", [operand, source, ctx.constant(0, scalar.dtype)], regions=[select, scatter],
                    attributes={"window_dimensions": i64_array(window_dimensions), "window_strides": i64_array(window_strides),
                                "padding": _pads(padding)})


@lowering_rule(op.select_and_gather_add_p)
def _select_and_gather_add(ctx: FunctionWriter, tangents: Value, operand: Value, *, select_prim: Primitive, **window: Any) -> Value:
    """A windowed reduction of (value, tangent) pairs that keeps the first of equal values."""
    (out,) = ctx.avals_out
    dtype = operand.aval.dtype
    scalar = ShapedArray((), dtype)
    is_greatest = select_prim is ge_p
    inits = [ctx.constant(least(dtype) if is_greatest else greatest(dtype), dtype), ctx.constant(0, dtype)]

    def keep_first(value: Value, tangent: Value, other_value: Value, other_tangent: Value) -> list[Any]:
        keep = compare(ctx, value, other_value, "GE" if is_greatest else "LE")
        return [select(ctx, keep, value, other_value, scalar), select(ctx, keep, tangent, other_tangent, scalar)]

    region = ctx.region([scalar] * 4, keep_first)
    return emit_reduce_window(ctx, [operand, tangents], inits, region, [out, out], **window)[1]
