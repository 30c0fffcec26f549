"""Small matrix products on one CPU device: sums of outer products, elementwise.

The compiler hands products of matrices to a library, even of four by four, and one by one where there is a batch of them. A loop with
such a call in its body is not compiled as one kernel either, as other small loops are. Times are of one core, f32, jaxlib 0.12,
without this kernel -> with it:

  batches of products, microseconds                     in a loop of 200 steps, microseconds a step
  10,000 of 4 by 4      4330 -> 69                      4 by 4      0.69 -> 0.06
  10,000 of 8 by 8       450 -> 320                     8 by 8      0.33 -> 0.08
  3,000 of 12 by 12      370 -> 200                     16 by 16    0.48 -> 0.31
  2,000 of 16 by 16      380 -> 425, left alone         32 by 32    1.13, left alone

A Kalman filter of four states, 200 steps: 0.35 ms -> 0.016, its gradient 0.91 -> 0.12, and the loops compile faster too.
One product by itself gains half a microsecond, and is left to the library too: a kernel of its own takes 30 ms to compile.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from laminax_ir.ops.contraction import dot_general_p, free_axes
from laminax_ir.ops.elementwise import mul, optimization_barrier_flat
from laminax_ir.ops.shape import broadcast_in_dim, reshape, transpose
from laminax_ir.ops.slicing import slice_in_dim
from laminax_ir.options.config import enable_x64
from laminax_ir.programs.jaxpr import ClosedJaxpr
from laminax_ir.recording.staging import stage
from laminax_ir.types.avals import ShapedArray
from laminax_ir.types.dot_algorithms import DotAlgorithm, DotAlgorithmPreset
from laminax_lowering.rules.sums_of_terms import sum_from_zero
from laminax_lowering.writing.context import FunctionWriter
from laminax_lowering.writing.registry import cpu_kernel
from laminax_lowering.writing.ssa_values import Value

# The terms of a sum, and the products of numbers in a product of two matrices.
MAX_TERMS, MAX_PRODUCTS = 32, 4096
MAX_TERMS_OF_BATCH = 12  # outside of loops: with 16 the library's vectors are full, and the kernel takes 56 ms to compile, not 11
# Below, the compiler writes products of matrices in place itself, and a batch takes a tenth of a millisecond at most.
MIN_PRODUCTS, MIN_PRODUCTS_OF_BATCH = 4 * 4 * 2, 20_000
MIN_SIZE_OF_OUTER_PRODUCTS = 4096

_FLOATS = frozenset(map(np.dtype, (np.float32, np.float64)))


@cpu_kernel(dot_general_p)
def _small_product(ctx: FunctionWriter, lhs: Value, rhs: Value, *, dimension_numbers: tuple[tuple[Any, ...], ...], precision: Any,
                   **_params: Any) -> Value | None:
    a, b, (out,) = lhs.aval, rhs.aval, ctx.avals_out
    if not a.dtype == b.dtype == out.dtype or out.dtype not in _FLOATS or isinstance(precision, (DotAlgorithm, DotAlgorithmPreset)):
        return None
    (contracting, _), (batch, _) = dimension_numbers
    terms = math.prod([a.shape[i] for i in contracting])
    count = math.prod([a.shape[i] for i in batch])
    if terms == count == 1 and ctx.module.loop_depth and type(out.size) is int and out.size >= MIN_SIZE_OF_OUTER_PRODUCTS:
        return ctx.run(_outer_product(a.strip_weak_type(), b.strip_weak_type(), out.shape), [lhs, rhs])[0]
    if not 1 < terms <= MAX_TERMS or count == 0:
        return None
    rows, columns = a.size // (terms * count), b.size // (terms * count)
    if min(rows, columns) < 2 or not MIN_PRODUCTS <= rows * columns * terms <= MAX_PRODUCTS:
        return None
    if not ctx.module.loop_depth and (count == 1 or terms > MAX_TERMS_OF_BATCH or out.size * terms < MIN_PRODUCTS_OF_BATCH):
        return None
    numbers = tuple([tuple([tuple(axes) for axes in pair]) for pair in dimension_numbers])
    return ctx.run(_program(a.strip_weak_type(), b.strip_weak_type(), numbers, out.shape), [lhs, rhs])[0]


@functools.lru_cache(maxsize=256)
def _program(a: ShapedArray, b: ShapedArray, dimension_numbers: Any, shape: tuple[int, ...]) -> ClosedJaxpr:
    with enable_x64(True):  # the program may have been traced in that mode, and have float64
        return stage(lambda a, b: [_sum_of_outer_products(a, b, dimension_numbers, shape)], [a, b], "small_product")


@functools.lru_cache(maxsize=256)
def _outer_product(a: ShapedArray, b: ShapedArray, shape: tuple[int, ...]) -> ClosedJaxpr:
    """The outer product of two vectors that are written to memory first: fused with what computes them, each would be computed again for
    every row or column.

    The gradient of a neural ODE, 500 steps of Runge and Kutta's method, 128 numbers: 4.3 ms -> 3.7, 256 numbers: 15.7 ->
    14.0; compiled in 209 ms instead of 187.
    """
    def fun(a: Any, b: Any) -> list[Any]:
        column, row = optimization_barrier_flat(reshape(a, (a.size,)), reshape(b, (b.size,)))
        every = (a.size, b.size)
        return [reshape(mul(broadcast_in_dim(column, every, (0,)), broadcast_in_dim(row, every, (1,))), shape)]

    with enable_x64(True):  # the program may have been traced in that mode, and have float64
        return stage(fun, [a, b], "outer_product")


def _sum_of_outer_products(a: Any, b: Any, dimension_numbers: Any, shape: tuple[int, ...]) -> Any:
    (a_contracting, b_contracting), (a_batch, b_batch) = dimension_numbers
    terms = math.prod([a.shape[i] for i in a_contracting])
    count = math.prod([a.shape[i] for i in a_batch])

    def in_terms(x: Any, batch: tuple[int, ...], contracting: tuple[int, ...]) -> Any:
        order = (*batch, *contracting, *free_axes(x.ndim, contracting, batch))
        return reshape(transpose(x, order), (count, terms, x.size // (count * terms)))

    a, b = in_terms(a, a_batch, a_contracting), in_terms(b, b_batch, b_contracting)
    every = (count, a.shape[2], b.shape[2])

    def outer_product(i: int) -> Any:
        column = reshape(slice_in_dim(a, i, i + 1, axis=1), (count, a.shape[2]))
        row = reshape(slice_in_dim(b, i, i + 1, axis=1), (count, b.shape[2]))
        return mul(broadcast_in_dim(column, every, (0, 1)), broadcast_in_dim(row, every, (0, 2)))

    return reshape(sum_from_zero(map(outer_product, range(terms))), shape)
