"""Sorting on the CPU: keys as integers, each with its position in the bits below.

XLA's CPU backend sorts one array of integers in place with the machine's comparison, and calls a compiled comparator for everything else:
floating-point numbers, several keys, arrays that follow. Here a key becomes 64 bits, the number in its order above and its position below.
No two are equal, so a sort that need not be stable gives the stable order, and the positions that it leaves bring the operands themselves:
-0 among zeros, and the bits of each NaN, are where the rule puts them.
"""

from __future__ import annotations

import math
from typing import Callable, Sequence

import numpy as np

from laminax_ir.ops import sorting as op
from laminax_ir.types import dtypes
from laminax_ir.types.avals import ShapedArray
from laminax_lowering.rules.indexing import taken_along
from laminax_lowering.rules.shape import key_shape
from laminax_lowering.rules.sorting_small import sorted_by_ranks
from laminax_lowering.writing.comparisons import compare, select
from laminax_lowering.writing.context import FunctionWriter
from laminax_lowering.writing.registry import cpu_kernel
from laminax_lowering.writing.ssa_values import Value
from laminax_lowering.writing.types import bool_text

FEWEST = 500  # elements; the time of a sort of fewer is that of calling it
MOST_IN_SMALL_CALLS = 2_000  # elements, with jaxlib 0.10
MOST_PASSES = 3  # a pass takes a quarter of the time of a sort with a comparator, and so do its gathers of two operands
_BITS = {2: np.dtype(np.int16), 4: np.dtype(np.int32), 8: np.dtype(np.int64)}
_SORTED_IN_PLACE = frozenset(map(np.dtype, (np.float32, np.float64)))
_I32, _I64, _U64 = np.dtype(np.int32), np.dtype(np.int64), np.dtype(np.uint64)


@cpu_kernel(op.sort_p)
def _sort(ctx: FunctionWriter, *operands: Value, dimension: int, is_stable: bool, num_keys: int) -> list[Value] | None:
    """Sorts by a pass for each 32 bits of the keys, the least significant first.

    The compiler's own way is as good for integers alone, or with one array that follows.

    A million float32 in 66 ms, where the rule takes 242, their argsort in 64 and not 198, 10,000 rows of 100 in 25 and not 82,
    1,000 numbers in 0.055 and not 0.137. The kernels around the sort take 10 ms each to compile.

    Where the compiler sorts floating-point numbers in place as well, NaN last (jaxlib 0.12), those alone are left to that: a million in
    92 ms, 10,000 rows in 28, 1,000 numbers in 0.026, with nothing around the sort: 12 ms to compile, where the rule takes 15.
    """
    if ctx.module.loop_depth and (found := sorted_by_ranks(ctx, operands, dimension, num_keys)) is not None:
        return found
    aval, keys = ctx.avals_out[0], operands[:num_keys]
    if len(operands) == 1 and ctx.module.has_new_cpu_compiler and aval.dtype in _SORTED_IN_PLACE:
        return [_sorted(ctx, operands[0], dimension, is_stable=True)]
    if not FEWEST <= aval.size or not 2 <= aval.shape[dimension] < 2**31 or not _has_digits(keys):
        return None
    is_followed = len(operands) == 2 and operands[1].name not in ctx.iotas
    if num_keys == 1 and (len(operands) == 1 or is_followed) and dtypes.issubdtype(aval.dtype, dtypes.integer):
        return None
    order: Value | None = None
    for key, number in [(key, number) for key in reversed(keys) for number in reversed(range(_digit_count(key.aval.dtype)))]:
        order = _sorted_further(ctx, key, number, order, dimension)
    assert order is not None  # there is a key
    results = []
    for x in operands:
        if ctx.iotas.get(x.name) == dimension:
            results.append(_kernel(ctx, "positions", [order], lambda to, order, x=x: to.convert(to.convert(order, _I32), x.aval.dtype)))
        else:
            results.append(_kernel(ctx, "taken", [x, order], lambda to, x, order: taken_along(to, x, to.convert(order, _I32), dimension)))
    return results


def _kernel(ctx: FunctionWriter, name: str, operands: Sequence[Value], write: Callable[..., Value]) -> Value:
    """Writes something as a small call, which compiles in half the time: `write` gets a writer and values for the operands.

    Such a kernel has one thread, which is a fiftieth of the time of the sort, also of a million numbers. jaxlib 0.10.2 refuses those that
    several threads would work on.
    """
    most = MOST_IN_SMALL_CALLS if not ctx.module.has_new_cpu_compiler else math.inf
    if any(key_shape(x.aval) or x.aval.size > most for x in operands):
        return write(ctx, *operands)
    return ctx.small_call(name, operands, lambda to, *values: [write(to, *values)])[0]


def _sorted_further(ctx: FunctionWriter, key: Value, number: int, order: Value | None, dimension: int) -> Value:
    """The positions in the stable order of 32 bits of a key and, where these are equal, in a given order: in the lower half of 64 bits."""
    def packed(to: FunctionWriter, key: Value, *orders: Value) -> Value:
        digit = _digit(to, key, number)
        if orders:
            digit = taken_along(to, digit, to.convert(orders[0], _I32), dimension)
        half = to.constant(32, digit.aval.dtype, digit.aval.shape)
        above = to.emit("stablehlo.shift_left", [digit, half], results=[digit.aval])
        places = to.emit("stablehlo.iota", [], results=[digit.aval], attributes={"iota_dimension": f"{dimension} : i64"})
        return to.emit("stablehlo.or", [above, places], results=[digit.aval])

    numbers = _kernel(ctx, "packed", [key] if order is None else [key, order], packed)
    found = _sorted(ctx, numbers, dimension, is_stable=False)
    if order is None:
        return found
    return _kernel(ctx, "taken", [order, found], lambda to, order, found: taken_along(to, order, to.convert(found, _I32), dimension))


def _sorted(ctx: FunctionWriter, x: Value, dimension: int, is_stable: bool) -> Value:
    """Sorts by plain "less than", for which the compiler has a fast way that calls no comparator."""
    scalar = ShapedArray((), x.aval.dtype)
    body = ctx.region([scalar, scalar], lambda x, y: compare(ctx, x, y, "LT"))
    return ctx.emit("stablehlo.sort", [x], regions=[body], results=[x.aval],
                    attributes={"dimension": f"{dimension} : i64", "is_stable": bool_text(is_stable)})


def _digit_count(dtype: np.dtype) -> int:
    return -(-dtype.itemsize // 4)


def _has_digits(keys: Sequence[Value]) -> bool:
    """Whether the keys' orders are those of a few integers of 32 bits."""
    for key in keys:
        is_inexact = dtypes.issubdtype(key.aval.dtype, dtypes.inexact)
        if is_inexact and key.aval.dtype.itemsize < 2 or dtypes.is_extended(key.aval.dtype):
            return False
    return sum(_digit_count(key.aval.dtype) for key in keys) <= MOST_PASSES


def _digit(ctx: FunctionWriter, x: Value, number: int) -> Value:
    """Integers of 64 bits whose lower 32 bits have the order of a part of x; part 0 is the most significant."""
    dtype = x.aval.dtype
    if dtypes.issubdtype(dtype, dtypes.complexfloating):
        part = x.aval.update(dtype=np.dtype(np.float32 if dtype == np.complex64 else np.float64), weak_type=False)
        each = _digit_count(part.dtype)
        x = ctx.emit("stablehlo.real" if number < each else "stablehlo.imag", [x], results=[part])
        return _digit(ctx, x, number % each)
    if dtypes.issubdtype(dtype, dtypes.floating):
        x = _integers_in_order(ctx, x)
    is_signed = dtypes.issubdtype(x.aval.dtype, dtypes.signedinteger)
    wide = ctx.convert(x, _I64 if is_signed else _U64)
    if x.aval.dtype.itemsize <= 4:
        return wide
    if number == 1:  # the lower half, which has no sign
        lower = ctx.emit("stablehlo.and", [wide, ctx.constant(2**32 - 1, wide.aval.dtype, wide.aval.shape)], results=[wide.aval])
        return ctx.convert(lower, _U64)
    return ctx.emit(f"stablehlo.shift_right_{'arithmetic' if is_signed else 'logical'}",
                    [wide, ctx.constant(32, wide.aval.dtype, wide.aval.shape)], results=[wide.aval])


def _integers_in_order(ctx: FunctionWriter, x: Value) -> Value:
    """Signed integers in the order of floating-point numbers: one for all zeros, and the largest for all NaN."""
    aval = x.aval
    integers = ShapedArray(aval.shape, _BITS[aval.dtype.itemsize])
    zero, nan = ctx.constant(0, aval.dtype, aval.shape), ctx.constant(np.nan, aval.dtype, aval.shape)
    one_zero = select(ctx, compare(ctx, x, zero, "EQ"), zero, x, aval)
    one_nan = select(ctx, compare(ctx, x, x, "NE"), nan, one_zero, aval)
    bits = ctx.emit("stablehlo.bitcast_convert", [one_nan], results=[integers])
    largest = ctx.constant(np.iinfo(integers.dtype).max, integers.dtype, integers.shape)
    is_negative = compare(ctx, bits, ctx.constant(0, integers.dtype, integers.shape), "LT")
    return select(ctx, is_negative, ctx.emit("stablehlo.xor", [bits, largest], results=[integers]), bits, integers)
