"""Factorizations and triangular systems of many small matrices on the CPU, as elementwise operations on their entries.

A LAPACK kernel is called for each matrix, and its calls are most of what 2 by 2 matrices cost. Written out, one entry of all matrices is
one array, and the compiler makes one vectorized kernel. The steps are LAPACK's, with the same choice of pivots; roundings differ.
"""

from __future__ import annotations

from typing import Any, Callable, Sequence

import numpy as np

from laminax_ir.ops import elementwise as e
from laminax_ir.ops import linalg as op
from laminax_ir.ops.loops import while_loop
from laminax_ir.ops.shape import concatenate, full_like, reshape
from laminax_ir.ops.slicing import dynamic_slice, dynamic_update_slice
from laminax_ir.ops.slicing import slice as slice_
from laminax_ir.options.config import enable_x64
from laminax_ir.types import dtypes
from laminax_lowering.rules.linalg_kernels import run_program
from laminax_lowering.writing.context import FunctionWriter
from laminax_lowering.writing.registry import cpu_kernel
from laminax_lowering.writing.ssa_values import Value

MOST_ROWS = 3  # of factorizations: with 4 the kernels run in a third of LAPACK's time, and compile three to four times as long
MOST_ROWS_OF_SYSTEMS = 4
MOST_ROWS_IN_LOOPS = 4  # a Kalman filter of so many states, 200 steps: 0.70 ms -> 0.07, and its gradient 2.2 -> 0.12
MOST_COLUMNS = 4  # of right-hand sides
FEWEST_MATRICES = 32
TURN = 512  # matrices; their entries stay in the cache
_INT32 = np.dtype(np.int32)

Rows = list[list[Any]]


def _is_small(ctx: FunctionWriter, x: Value, most_rows: int = MOST_ROWS) -> bool:
    """Whether there are many small matrices, or few in a loop, which is compiled as one kernel if it calls no library."""
    aval = x.aval
    if ctx.module.loop_depth:
        is_worth_it = 1 < aval.shape[-1] <= MOST_ROWS_IN_LOOPS and aval.size > 0
    else:
        is_worth_it = 1 < aval.shape[-1] <= most_rows and aval.size >= FEWEST_MATRICES * aval.shape[-1] ** 2
    return is_worth_it and dtypes.issubdtype(aval.dtype, dtypes.floating)


def _entries(x: Any) -> Rows:
    """The entries of matrices [count, m, n], each an array over all of them."""
    count, m, n = x.shape
    return [[reshape(slice_(x, (0, i, j), (count, i + 1, j + 1)), (count,)) for j in range(n)] for i in range(m)]


def _matrices(rows: Rows) -> Any:
    """The inverse of `_entries`."""
    entries = [reshape(entry, (entry.shape[0], 1)) for row in rows for entry in row]
    return reshape(concatenate(entries, 1), (entries[0].shape[0], len(rows), len(rows[0])))


def _in_one_kernel(ctx: FunctionWriter, name: str, function: Callable[..., Sequence[Any]], operands: Sequence[Value]) -> list[Value]:
    """Runs a function of matrices [count, m, n] on the operands, in one kernel that goes through them in turns of `TURN` matrices.

    Fusions would be one kernel for each entry, for this compiler makes none with several results. The last turn overlaps the one before.
    """
    count = int(np.prod(operands[0].aval.shape[:-2]))
    turn = min(TURN, count)
    avals = ctx.avals_out
    inner = [aval.shape[len(operands[0].aval.shape) - 2:] for aval in avals]  # what a matrix has of each result

    def program(*xs: Any) -> list[Any]:
        whole = [reshape(x, (count, *x.shape[-2:])) for x in xs]

        def body(state: Any) -> Any:
            start, results = state
            part = [dynamic_slice(x, (start, np.int32(0), np.int32(0)), (turn, *x.shape[1:])) for x in whole]
            found = [reshape(y, (turn, *sizes)) for y, sizes in zip(function(*part), inner)]
            zeros = [tuple(np.int32(0) for _ in sizes) for sizes in inner]
            return e.add(start, np.int32(turn)), tuple(
                dynamic_update_slice(result, y, (start, *zero)) for result, y, zero in zip(results, found, zeros))

        empty = tuple(full_like(xs[0], 0, aval.dtype, (count, *sizes)) for aval, sizes in zip(avals, inner))
        results = while_loop(lambda state: e.lt(state[0], np.int32(count)), body, (np.int32(0), empty))[1]
        return [reshape(y, aval.shape) for y, aval in zip(results, avals)]

    with enable_x64(True):  # the program may have been traced in that mode, and have float64
        return ctx.small_call(name, operands, lambda to, *xs: run_program(to, program, xs))


@cpu_kernel(op.cholesky_p)
def _cholesky(ctx: FunctionWriter, x: Value) -> Value | None:
    """30,000 matrices of 2 by 2 in 0.27 ms and of 3 by 3 in 0.9, where LAPACK takes 1.4 and 2.8."""
    return _in_one_kernel(ctx, "cholesky", lambda x: [_cholesky_factor(x)], [x])[0] if _is_small(ctx, x) else None


def _cholesky_factor(x: Any) -> Any:
    a = _entries(x)
    n = len(a)
    factor: Rows = [[full_like(a[0][0], 0) for _ in range(n)] for _ in range(n)]
    is_positive: Any = None
    for j in range(n):
        pivot = a[j][j]
        for k in range(j):
            pivot = e.sub(pivot, e.square(factor[j][k]))
        is_positive = e.gt(pivot, 0.0) if is_positive is None else e.bitwise_and(is_positive, e.gt(pivot, 0.0))
        factor[j][j] = e.sqrt(pivot)
        for i in range(j + 1, n):
            entry = a[i][j]
            for k in range(j):
                entry = e.sub(entry, e.mul(factor[i][k], factor[j][k]))
            factor[i][j] = e.div(entry, factor[j][j])
    nan = full_like(a[0][0], np.nan)  # as LAPACK's failure is shown
    return _matrices([[e.select(is_positive, entry, nan) for entry in row] for row in factor])


@cpu_kernel(op.lu_p)
def _lu(ctx: FunctionWriter, x: Value) -> list[Value] | None:
    """With the triangular systems, 30,000 systems of 2 by 2 in 0.45 ms and of 3 by 3 in 1.4, where LAPACK takes 6.2 and 8.3."""
    if not _is_small(ctx, x) or x.aval.shape[-2] != x.aval.shape[-1]:
        return None
    return _in_one_kernel(ctx, "lu", _lu_factors, [x])


def _lu_factors(x: Any) -> list[Any]:
    rows = _entries(x)
    n = len(rows)
    places = [full_like(rows[0][0], i, _INT32) for i in range(n)]
    pivots = []
    for k in range(n):
        largest, pivot = e.abs(rows[k][k]), full_like(rows[0][0], k, _INT32)
        for i in range(k + 1, n):  # the first of the largest
            size = e.abs(rows[i][k])
            is_larger = e.gt(size, largest)
            largest, pivot = e.select(is_larger, size, largest), e.select(is_larger, full_like(pivot, i), pivot)
        pivots.append(pivot)
        for i in range(k + 1, n):
            is_pivot = e.eq(pivot, np.int32(i))
            rows[k], rows[i] = ([e.select(is_pivot, b, a) for a, b in zip(rows[k], rows[i])],
                                [e.select(is_pivot, a, b) for a, b in zip(rows[k], rows[i])])
            places[k], places[i] = e.select(is_pivot, places[i], places[k]), e.select(is_pivot, places[k], places[i])
        divisor = e.select(e.eq(rows[k][k], 0.0), full_like(rows[0][0], 1), rows[k][k])  # all below it are zeros then, too
        for i in range(k + 1, n):
            factor = e.div(rows[i][k], divisor)
            rows[i] = [*rows[i][:k], factor, *[e.sub(a, e.mul(factor, b)) for a, b in zip(rows[i][k + 1:], rows[k][k + 1:])]]
    return [_matrices(rows), _matrices([pivots]), _matrices([places])]


@cpu_kernel(op.triangular_solve_p)
def _triangular_solve(ctx: FunctionWriter, a: Value, b: Value, *, left_side: bool, lower: bool, transpose_a: bool, conjugate_a: bool,
                      unit_diagonal: bool) -> Value | None:
    """30,000 systems of 4 by 4 in 0.34 ms, where LAPACK takes 2.5."""
    columns = b.aval.shape[-1 if left_side else -2]
    if not _is_small(ctx, a, MOST_ROWS_OF_SYSTEMS) or columns > MOST_COLUMNS:
        return None
    return _in_one_kernel(
        ctx, "triangular_solve", lambda a, b: [_substituted(a, b, left_side, lower, transpose_a, unit_diagonal)], [a, b])[0]


def _substituted(a: Any, b: Any, left_side: bool, lower: bool, transpose_a: bool, unit_diagonal: bool) -> Any:
    """Forward or backward substitution; a system on the right is one on the left of the transposed matrices."""
    matrix, x = _entries(a), _entries(b)
    if transpose_a == left_side:
        matrix = _transposed(matrix)
    if not left_side:
        x = _transposed(x)
    n = len(matrix)
    goes_down = lower == (transpose_a != left_side)
    order = range(n) if goes_down else range(n - 1, -1, -1)
    for i in order:
        for k in (range(i) if goes_down else range(i + 1, n)):
            x[i] = [e.sub(value, e.mul(matrix[i][k], known)) for value, known in zip(x[i], x[k])]
        if not unit_diagonal:
            x[i] = [e.div(value, matrix[i][i]) for value in x[i]]
    return _matrices(x if left_side else _transposed(x))


def _transposed(rows: Rows) -> Rows:
    return [list(column) for column in zip(*rows)]
