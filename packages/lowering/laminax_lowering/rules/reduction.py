"""StableHLO of the reductions: `stablehlo.reduce` with the computation as a region.

Source: StableHLO specification, `reduce`.
"""

from __future__ import annotations

from typing import Any, Callable, Sequence

import numpy as np

import laminax_lowering.rules.reduction_cpu  # noqa: F401
from laminax_ir.ops import reduction as op
from laminax_ir.programs.jaxpr import ClosedJaxpr
from laminax_ir.programs.primitive import Primitive
from laminax_ir.types import dtypes
from laminax_ir.types.avals import ShapedArray
from laminax_lowering.writing.comparisons import compare, complex_order, select
from laminax_lowering.writing.context import FunctionWriter
from laminax_lowering.writing.explicit_axes import with_sums_made
from laminax_lowering.writing.registry import lowering_rule
from laminax_lowering.writing.ssa_values import Value
from laminax_lowering.writing.types import i64_array, type_text

_FLAG = np.dtype(bool)

# The operation of each named monoid on two scalars; maximum and minimum of complex numbers are treated below.
_operations = {"sum": "stablehlo.add", "prod": "stablehlo.multiply", "max": "stablehlo.maximum", "min": "stablehlo.minimum",
               "and": "stablehlo.and", "or": "stablehlo.or", "xor": "stablehlo.xor"}


def monoid_region(ctx: FunctionWriter, monoid: str, dtype: np.dtype) -> str:
    """The region of a named monoid ("sum", "max", ...) on scalars of a dtype."""
    scalar = ShapedArray((), dtype)
    if monoid in ("max", "min") and dtypes.issubdtype(dtype, dtypes.complexfloating):
        return ctx.region([scalar, scalar], lambda a, b: select(
            ctx, complex_order(ctx, a, b, "GT" if monoid == "max" else "LT"), a, b, scalar))
    kind = type_text(scalar)  # programs have many of these: written at once, it takes a fifth of the time
    return (f'{{\n^bb0(%lhs: {kind}, %rhs: {kind}):\n%out = "{_operations[monoid]}"(%lhs, %rhs) : ({kind}, {kind}) -> {kind}{ctx.loc}\n'
            f'"stablehlo.return"(%out) : ({kind}) -> ()\n}}')


def emit_reduce(ctx: FunctionWriter, operands: Sequence[Value], inits: Sequence[Value], axes: Sequence[int], region: str,
                results: Sequence[ShapedArray]) -> list[Value]:
    """Writes a `stablehlo.reduce`; the results are a list."""
    ctx.module.reductions.count(operands[0].aval, axes, ctx.module.loop_depth > 0)
    out = ctx.emit("stablehlo.reduce", [*operands, *inits], attributes={"dimensions": i64_array(axes)}, regions=[region],
                   results=results)
    return out if isinstance(out, list) else [out]


def _define(primitive: Primitive, monoid: str) -> None:
    @lowering_rule(primitive)
    def rule(ctx: FunctionWriter, x: Value, *, axes: tuple[int, ...], out_sharding: Any = None) -> Any:
        x, dtype = with_sums_made(ctx, x, ctx.avals_out[0]), x.aval.dtype
        init = ctx.constant(op.identity(monoid, dtype), dtype)
        (result,) = emit_reduce(ctx, [x], [init], axes, monoid_region(ctx, monoid, dtype), ctx.avals_out)
        return result


for _primitive, _monoid in [(op.reduce_sum_p, "sum"), (op.reduce_prod_p, "prod"), (op.reduce_max_p, "max"),
                            (op.reduce_min_p, "min"), (op.reduce_and_p, "and"), (op.reduce_or_p, "or"),
                            (op.reduce_xor_p, "xor")]:
    _define(_primitive, _monoid)


@lowering_rule(op.reduce_p)
def _reduce(ctx: FunctionWriter, *values: Value, dimensions: tuple[int, ...], jaxpr: ClosedJaxpr) -> list[Value]:
    operands, inits = op.split_operands("reduce", values)
    return emit_reduce(ctx, operands, inits, dimensions, computation_region(ctx, jaxpr), ctx.avals_out)


def computation_region(ctx: FunctionWriter, jaxpr: ClosedJaxpr) -> str:
    """The region of a computation on scalars; the compilers want its constants inside."""
    return ctx.region(jaxpr.in_avals, lambda *args: ctx.run(jaxpr, args), isolated=True)


# Positions of extrema: a reduction of (value, index) pairs.


def _define_position(primitive: Primitive, direction: str, extreme: Callable) -> None:
    @lowering_rule(primitive)
    def rule(ctx: FunctionWriter, x: Value, *, axes: tuple[int, ...], index_dtype: np.dtype) -> Any:
        (out,) = ctx.avals_out
        dtype = x.aval.dtype
        value, position = ShapedArray((), dtype), ShapedArray((), out.dtype)
        indices = ctx.emit("stablehlo.iota", [], attributes={"iota_dimension": f"{axes[0]} : i64"},
                           results=[ShapedArray(x.aval.shape, out.dtype)])
        inits = [ctx.constant(extreme(dtype), dtype), ctx.constant(0, out.dtype)]
        region = ctx.region([value, position, value, position],
                            lambda *pairs: _first_extreme(ctx, direction, *pairs))
        results = [out.update(dtype=dtype), out]
        return emit_reduce(ctx, [x, indices], inits, axes, region, results)[1]


def _first_extreme(ctx: FunctionWriter, direction: str, x: Value, x_index: Value, y: Value, y_index: Value) -> list[Value]:
    """The pair that wins: a NaN over numbers, then the extreme value, then the smaller index."""
    flag = ShapedArray((), _FLAG)
    better = compare(ctx, x, y, direction)
    if dtypes.issubdtype(x.aval.dtype, dtypes.floating):
        better = ctx.emit("stablehlo.or", [better, compare(ctx, x, x, "NE")], results=[flag])
    chosen = select(ctx, better, x, y, x.aval)
    tie = compare(ctx, x, y, "EQ")
    earlier = ctx.emit("stablehlo.and", [tie, compare(ctx, x_index, y_index, "LT")], results=[flag])
    keep = ctx.emit("stablehlo.or", [better, earlier], results=[flag])
    return [chosen, select(ctx, keep, x_index, y_index, x_index.aval)]


_define_position(op.argmax_p, "GT", op.least)
_define_position(op.argmin_p, "LT", op.greatest)
