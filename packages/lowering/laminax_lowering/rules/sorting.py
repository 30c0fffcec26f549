"""StableHLO of the sorting operations.

The comparator follows the order that `sort` documents: zeros are equal and all NaN are one value at the end, which
StableHLO's total order gives once both are brought to one representation. XLA knows this form and has fast paths for it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from laminax_ir.ops import elementwise, shape, slicing
from laminax_ir.ops import sorting as op
from laminax_ir.recording.staging import stage
from laminax_ir.symbolic.symbolic_dims import DimSize, SymbolicDim
from laminax_ir.types import dtypes
from laminax_ir.types.avals import ShapedArray
from laminax_lowering.rules import sorting_cpu  # noqa: F401  (it registers its kernel)
from laminax_lowering.rules.indexing import taken_along
from laminax_lowering.rules.shape import key_shape, transposed
from laminax_lowering.writing.comparisons import compare, compare_type, select
from laminax_lowering.writing.context import FunctionWriter
from laminax_lowering.writing.registry import lowering_rule
from laminax_lowering.writing.ssa_values import Value
from laminax_lowering.writing.types import bool_text, splat, type_text

_FLAG = ShapedArray((), np.dtype(bool))


@lowering_rule(op.sort_p)
def _sort(ctx: FunctionWriter, *operands: Value, dimension: int, is_stable: bool, num_keys: int) -> list[Value]:
    avals = ctx.avals_out
    carried = [i for i, x in enumerate(operands) if key_shape(x.aval)]
    if carried and 0 in avals[0].shape:
        return list(operands)
    sorted_together = [x for i, x in enumerate(operands) if i not in carried]
    if carried:  # StableHLO sorts arrays of one shape: random keys have axes of their own, and follow by position
        sorted_together.append(ctx.emit("stablehlo.iota", [], results=[ShapedArray(avals[0].shape, np.dtype(np.int32))],
                                        attributes={"iota_dimension": f"{dimension} : i64"}))
    scalars = [ShapedArray((), x.aval.dtype) for x in sorted_together for _ in range(2)]
    body = ctx.region(scalars, lambda *pairs: _comes_first(ctx, pairs[:2 * num_keys]))
    results = ctx.emit("stablehlo.sort", sorted_together, regions=[body], results=[x.aval for x in sorted_together], attributes={
        "dimension": f"{dimension} : i64", "is_stable": bool_text(is_stable)})
    results = results if isinstance(results, list) else [results]
    if carried:
        positions = results.pop()
        for i in carried:
            results.insert(i, taken_along(ctx, operands[i], positions, dimension))
    return results


def _comes_first(ctx: FunctionWriter, pairs: tuple[Value, ...]) -> Value:
    """Whether the first of two elements comes before the second; `pairs` has their keys in turn."""
    keys: list[tuple[Value, Value]] = []
    for left, right in zip(pairs[::2], pairs[1::2]):
        keys.extend(zip(_sortable_parts(ctx, left), _sortable_parts(ctx, right)))
    first: Value | None = None
    for left, right in reversed(keys):  # the last key decides where all before it are equal
        less = _in_total_order(ctx, "LT", left, right)
        if first is None:
            first = less
        else:
            tie = ctx.emit("stablehlo.and", [_in_total_order(ctx, "EQ", left, right), first], results=[_FLAG])
            first = ctx.emit("stablehlo.or", [less, tie], results=[_FLAG])
    assert first is not None  # there is at least one key
    return first


def _sortable_parts(ctx: FunctionWriter, x: Value) -> list[Value]:
    """Real scalars whose total orders, in turn, are the key's order."""
    dtype = x.aval.dtype
    if dtypes.issubdtype(dtype, dtypes.complexfloating):
        part = ShapedArray((), np.dtype(np.float32 if dtype == np.complex64 else np.float64))
        return [_one_zero_one_nan(ctx, ctx.emit(f"stablehlo.{name}", [x], results=[part])) for name in ("real", "imag")]
    return [_one_zero_one_nan(ctx, x) if dtypes.issubdtype(dtype, dtypes.floating) else x]


def _one_zero_one_nan(ctx: FunctionWriter, x: Value) -> Value:
    zero, nan = _inner_constant(ctx, 0, x.aval), _inner_constant(ctx, np.nan, x.aval)
    is_zero = compare(ctx, x, zero, "EQ")
    is_nan = compare(ctx, x, x, "NE")
    return select(ctx, is_nan, nan, select(ctx, is_zero, zero, x, x.aval), x.aval)


def _inner_constant(ctx: FunctionWriter, value: float, aval: ShapedArray) -> Value:
    """A constant inside the region: comparators of the compiler take nothing from outside."""
    name = ctx.new_name()
    ctx.lines.append(f'{name} = "stablehlo.constant"() {{value = {splat(value, (), aval.dtype)}}} : () -> {type_text(aval)}')
    return Value(name, aval)


def _in_total_order(ctx: FunctionWriter, direction: str, left: Value, right: Value) -> Value:
    return compare(ctx, left, right, direction, "TOTALORDER" if compare_type(left.aval.dtype) == "FLOAT" else None)


@lowering_rule(op.approx_top_k_p)
def _approx_top_k(ctx: FunctionWriter, x: Value, *, is_max_k: bool, reduction_dimension: int, **_params: Any) -> list[Value]:
    """Exactly. The least elements are the greatest of the negated array, ties and NaN included."""
    count = ctx.avals_out[0].shape[reduction_dimension]
    if is_max_k:
        return _top_k(ctx, x, k=count, axis=reduction_dimension)
    negated = ctx.emit("stablehlo.negate", [x], results=[x.aval])
    values, indices = _top_k(ctx, negated, k=count, axis=reduction_dimension)
    return [ctx.emit("stablehlo.negate", [values], results=[values.aval]), indices]


@lowering_rule(op.top_k_p)
def _top_k(ctx: FunctionWriter, x: Value, *, k: DimSize, axis: int) -> list[Value]:
    if type(k) is SymbolicDim:  # CHLO's attribute is a number
        return ctx.run(stage(lambda x: _first_of_sorted(x, k, axis), [x.aval]), [x])
    dtype = x.aval.dtype
    if dtypes.bit_width(dtype) < 8 and dtypes.issubdtype(dtype, dtypes.integer):
        # XLA's decomposition of top_k mixes up element sizes below a byte (seen with jaxlib 0.10.2).
        is_signed = dtypes.issubdtype(dtype, dtypes.signedinteger)
        x = ctx.convert(x, np.dtype(np.int8 if is_signed else np.uint8))
    # CHLO takes the last axis only: swap it with the one that is asked for, and back.
    last = x.aval.ndim - 1
    swap = list(range(last + 1))
    swap[axis], swap[last] = last, axis
    avals = [ctx.avals_out[0].update(dtype=x.aval.dtype), ctx.avals_out[1]]
    if axis != last:
        x = transposed(ctx, x, swap)
        avals = [aval.update(shape=tuple([aval.shape[i] for i in swap])) for aval in avals]
    results = ctx.emit("chlo.top_k", [x], attributes={"k": f"{k} : i64"}, results=avals)
    if axis != last:
        results = [transposed(ctx, result, swap) for result in results]
    return [ctx.convert(results[0], dtype), results[1]]


def _first_of_sorted(x: Any, k: DimSize, axis: int) -> list[Any]:
    """The k greatest along an axis and their places: those in front once all are sorted, by integers in the opposite order."""
    places = shape.broadcasted_iota(np.int32, x.shape, axis)
    _, values, places = op.sort((elementwise.bitwise_not(_as_ordered_integers(x)), x, places), axis)
    limits = (*x.shape[:axis], k, *x.shape[axis + 1:])
    return [slicing.slice(y, (0,) * x.ndim, limits) for y in (values, places)]


def _as_ordered_integers(x: Any) -> Any:
    """Integers in the total order of IEEE 754 for floats: of negative ones all bits but the sign are turned over."""
    if not dtypes.issubdtype(x.dtype, dtypes.floating):
        return x
    width = dtypes.bit_width(x.dtype)
    bits = elementwise.bitcast_convert_type(x, np.dtype(f"int{width}"))
    signs = elementwise.shift_right_arithmetic(bits, np.asarray(width - 1, bits.dtype))
    return elementwise.bitwise_xor(bits, elementwise.bitwise_and(signs, np.asarray(2 ** (width - 1) - 1, bits.dtype)))
