"""Cumulative reductions on one CPU device, as loops in one kernel.

The rule's window becomes a scan in logarithmic depth, which reads and writes the array many times over in strides, and is compiled as
dozens of kernels. Here an axis is gone through once, several lanes side by side. The error of one running sum of n terms would grow
with n: terms are summed in blocks, of about as many as there are blocks, and what is before a block is added. Narrow floats are summed
in float32. Results that have no roundings (integers, maxima) have the rule's bits.

Processor time in milliseconds, float32, jaxlib 0.12, the rule -> this, step and compilation:

  axis of                      cumsum      cummax      cumlogsumexp    compile cumsum
  a thousand                   0.012       0.016       0.31            119
                            -> 0.008    -> 0.008    -> 0.053        -> 28
  a million                    7.1         9.6         334             190
                            -> 2.1      -> 2.2      -> 10           -> 60
  the rows of 3000 by 300      6.7         9.6         294             146
                            -> 0.44     -> 0.43     -> 6.5          -> 46
  the columns                  5.1         8.8         324             132
                            -> 1.4      -> 1.5      -> 8.3          -> 45
"""

from __future__ import annotations

import functools
import math
from typing import Any, Callable

import ml_dtypes
import numpy as np

from laminax_ir.ops import cumulative as op
from laminax_ir.ops import elementwise as e
from laminax_ir.ops.loops import while_loop
from laminax_ir.ops.reduction import identity
from laminax_ir.ops.shape import broadcast_in_dim, full, reshape
from laminax_ir.ops.slicing import dynamic_slice, dynamic_update_slice
from laminax_ir.options.config import enable_x64
from laminax_ir.programs.jaxpr import ClosedJaxpr
from laminax_ir.programs.primitive import Primitive
from laminax_ir.recording.staging import stage
from laminax_ir.types import dtypes
from laminax_ir.types.avals import ShapedArray
from laminax_lowering.writing.context import FunctionWriter
from laminax_lowering.writing.registry import cpu_kernel
from laminax_lowering.writing.ssa_values import Value

MOST_FOR_THREADS = 2_000  # elements, with jaxlib 0.10.2, which refuses small kernels of what several threads would work on
SHORTEST = 10  # axis; below, the rule's windows compile as fast
SHORTEST_BLOCK = 64  # terms that are combined before what precedes them
ROWS, COLUMNS = 16, 1024  # lanes that are gone through at a time
LANES, BLOCK_OF_LANE = 8, 128  # that a piece of a long row is cut into, and their length

_I32, _F32 = np.dtype(np.int32), np.dtype(np.float32)
_DTYPES = frozenset(map(np.dtype, ("float16", ml_dtypes.bfloat16, "float32", "float64", "int8", "int16", "int32", "int64", "uint8",
                                   "uint16", "uint32", "uint64")))


def _log_add_exp(a: Any, b: Any) -> Any:
    """log(exp(a) + exp(b)) without overflow, as the rule has it."""
    distance = e.sub(a, b)
    result = e.add(e.max(a, b), e.log1p(e.exp(e.neg(e.abs(distance)))))
    return e.select(e.ne(distance, distance), e.add(a, b), result)


def _define(primitive: Primitive, monoid: str, combine: Callable, is_exact: bool) -> None:
    @cpu_kernel(primitive)
    def kernel(ctx: FunctionWriter, x: Value, *, axis: int, reverse: bool) -> Value | None:
        """See above."""
        aval = x.aval
        if aval.dtype not in _DTYPES or not all(type(n) is int for n in aval.shape) or not 0 < aval.size < 2**31:
            return None
        if aval.shape[axis] < SHORTEST or aval.size > MOST_FOR_THREADS and not ctx.module.has_new_cpu_compiler:
            return None
        program = _program(primitive, monoid, combine, is_exact, aval.strip_weak_type(), axis, reverse)
        if ctx.module.loop_depth:  # the loop around may be one kernel as a whole
            return ctx.run(program, [x])[0]
        return ctx.small_call(primitive.name, [x], lambda to, x: to.run(program, [x]))[0]


@functools.lru_cache(maxsize=256)
def _program(primitive: Primitive, monoid: str, combine: Callable, is_exact: bool, aval: ShapedArray, axis: int,
             reverse: bool) -> ClosedJaxpr:
    is_narrow = dtypes.issubdtype(aval.dtype, dtypes.floating) and aval.dtype.itemsize < 4 and not is_exact
    start = -np.inf if monoid == "log_sum_exp" else identity(monoid, aval.dtype)
    sweep = _Sweep(combine, start, _F32 if is_narrow else aval.dtype, is_exact, reverse)
    shape = (math.prod(aval.shape[:axis]), aval.shape[axis], math.prod(aval.shape[axis + 1:]))
    with enable_x64(True):  # the program may have been traced in that mode, and have float64 or int64
        return stage(lambda x: [reshape(sweep(reshape(x, shape)), aval.shape)], [aval], primitive.name)


class _Sweep:
    """The cumulative reduction of arrays [outer, n, inner] along n."""

    def __init__(self, combine: Callable, start: Any, dtype: np.dtype, is_exact: bool, reverse: bool) -> None:
        """Args: `start`, what changes nothing; `dtype`, of the sums in between; `is_exact`, whether the order makes no difference."""
        self.combine, self.start, self.dtype, self.is_exact, self.reverse = combine, start, dtype, is_exact, reverse

    def __call__(self, x: Any) -> Any:
        outer, n, inner = x.shape
        by_pieces = inner == 1 and outer < ROWS and n >= LANES * BLOCK_OF_LANE
        return self._long_rows(x) if by_pieces else self._tiles(x)

    def _tiles(self, x: Any) -> Any:
        """A tile of rows or columns after the other; the last overlaps the one before."""
        outer, n, inner = x.shape
        rows, columns = (min(ROWS, outer), 1) if inner == 1 else (1, min(COLUMNS, inner))

        def tile(row: Any, out: Any) -> Any:
            def of_columns(column: Any, out: Any) -> Any:
                at = (_position(row, rows, outer), _position(column, columns, inner))
                return self._tile(x, out, at, (rows, 1, columns))
            return _for_each(-(-inner // columns), of_columns, out)
        return _for_each(-(-outer // rows), tile, full(x.shape, 0, x.dtype))

    def _tile(self, x: Any, out: Any, at: tuple[Any, Any], shape: tuple[int, int, int]) -> Any:
        n, start = x.shape[1], full(shape, self.start, self.dtype)
        row, column = at

        def read(i: Any) -> tuple[Any, tuple[Any, ...]]:
            place = (row, self._place(i, n), column)
            return self._read(x, place, shape), place

        def step(i: Any, state: Any) -> Any:
            total, out = state
            term, place = read(i)
            total = self.combine(total, term)
            return total, self._write(out, total, place)

        length = _root(n, SHORTEST_BLOCK)
        if self.is_exact or n <= length:
            return _for_each(n, step, (start, out))[1]

        def block(number: Any, state: Any) -> Any:
            before, out = state

            def step(i: Any, state: Any) -> Any:
                total, out = state
                term, place = read(i)
                total = self.combine(total, term)
                return total, self._write(out, self.combine(before, total), place)

            first = e.mul(number, np.int32(length))
            total, out = _for_each(e.min(e.add(first, np.int32(length)), np.int32(n)), step, (start, out), first)
            return self.combine(before, total), out
        return _for_each(-(-n // length), block, (start, out))[1]

    def _long_rows(self, x: Any) -> Any:
        """Pieces of a row one after the other, to which what precedes them is added; what is left at the end term by term.

        What precedes is the sum of whole blocks of pieces, and that of the pieces of the block before this one.
        """
        outer, n, _ = x.shape
        length = LANES * BLOCK_OF_LANE
        pieces = n // length
        pieces_of_block = _root(pieces, 1)
        nothing = full((1, 1), self.start, self.dtype)

        def row(number: Any, out: Any) -> Any:
            def block(i: Any, state: Any) -> Any:
                before, out = state

                def piece(i: Any, state: Any) -> Any:
                    total, out = state
                    first = e.mul(i, np.int32(length))
                    at = (number, e.sub(np.int32(n - length), first) if self.reverse else first, np.int32(0))
                    of_piece, sums = self._piece(self._read(x, at, (1, length, 1)), self.combine(before, total))
                    return self.combine(total, of_piece), self._write(out, reshape(sums, (1, length, 1)), at)

                first = e.mul(i, np.int32(pieces_of_block))
                total, out = _for_each(e.min(e.add(first, np.int32(pieces_of_block)), np.int32(pieces)), piece, (nothing, out), first)
                return self.combine(before, total), out

            def term(i: Any, state: Any) -> Any:
                before, out = state
                at = (number, self._place(i, n), np.int32(0))
                before = self.combine(before, reshape(self._read(x, at, (1, 1, 1)), (1, 1)))
                return before, self._write(out, reshape(before, (1, 1, 1)), at)

            state = _for_each(-(-pieces // pieces_of_block), block, (nothing, out))
            return _for_each(n, term, state, np.int32(pieces * length))[1]
        return _for_each(outer, row, full(x.shape, 0, x.dtype))

    def _piece(self, terms: Any, before: Any) -> tuple[Any, Any]:
        """The total of a piece, which is cut into lanes that are summed side by side, and its sums with what is before it."""
        shape = (LANES, BLOCK_OF_LANE)
        terms = reshape(terms, shape)

        def along(i: Any, state: Any) -> Any:
            total, sums = state
            at = (np.int32(0), self._place(i, BLOCK_OF_LANE))
            total = self.combine(total, _slice(terms, at, (LANES, 1)))
            return total, _update(sums, total, at)

        def over(i: Any, state: Any) -> Any:
            total, preceding = state
            at = (self._place(i, LANES), np.int32(0))
            return self.combine(total, _slice(totals, at, (1, 1))), _update(preceding, total, at)

        lane = full((LANES, 1), self.start, self.dtype)
        totals, sums = _for_each(BLOCK_OF_LANE, along, (lane, full(shape, self.start, self.dtype)))
        total, preceding = _for_each(LANES, over, (full((1, 1), self.start, self.dtype), lane))
        preceding = self.combine(broadcast_in_dim(before, (LANES, 1), (0, 1)), preceding)
        return total, self.combine(broadcast_in_dim(preceding, shape, (0, 1)), sums)

    def _place(self, i: Any, count: int) -> Any:
        return e.sub(np.int32(count - 1), i) if self.reverse else i

    def _read(self, x: Any, at: tuple[Any, ...], shape: tuple[int, ...]) -> Any:
        found = _slice(x, at, shape)
        return found if x.dtype == self.dtype else e.convert_element_type(found, self.dtype)

    def _write(self, out: Any, x: Any, at: tuple[Any, ...]) -> Any:
        return _update(out, x if out.dtype == self.dtype else e.convert_element_type(x, out.dtype), at)


def _root(n: int, least: int) -> int:
    """A power of two that is about the root of n."""
    return max(1 << (n.bit_length() // 2), least)


def _position(number: Any, step: int, size: int) -> Any:
    """Where a tile begins: the last may be less than a step after the one before."""
    return np.int32(0) if step == size else e.min(e.mul(number, np.int32(step)), np.int32(size - step))


def _for_each(count: Any, body: Callable, state: Any, first: Any = np.int32(0)) -> Any:
    """`state = body(i, state)` for each integer from the first up to the count."""
    if type(count) is int:
        if count == 1 and first == 0:
            return body(np.int32(0), state)
        count = np.int32(count)
    return while_loop(lambda state: e.lt(state[0], count), lambda state: (e.add(state[0], np.int32(1)), body(state[0], state[1])),
                      (first, state))[1]


def _slice(x: Any, at: tuple[Any, ...], shape: tuple[int, ...]) -> Any:
    return dynamic_slice(x, at, shape, allow_negative_indices=False)


def _update(x: Any, part: Any, at: tuple[Any, ...]) -> Any:
    return dynamic_update_slice(x, part, at, allow_negative_indices=False)


_define(op.cumsum_p, "sum", e.add, False)
_define(op.cumprod_p, "prod", e.mul, False)
_define(op.cummax_p, "max", e.max, True)
_define(op.cummin_p, "min", e.min, True)
_define(op.cumlogsumexp_p, "log_sum_exp", _log_add_exp, False)
