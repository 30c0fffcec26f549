"""Reductions on one CPU device: positions of extrema by two reductions, sums of a few by additions.

The compiler does reductions of one array with vectors, and those of pairs, a value and its position, one element at a time. It hands sums
to a library (jaxlib 0.12), which takes several times as long for those of two to eight neighbours as additions do.
"""

from __future__ import annotations

import functools
from typing import Any, Callable

import numpy as np

from laminax_ir.ops import reduction as op
from laminax_ir.ops.elementwise import add, convert_element_type, eq, lt, ne, select, sub
from laminax_ir.ops.shape import broadcast_in_dim, broadcasted_iota, full, reshape
from laminax_ir.ops.slicing import slice_in_dim
from laminax_ir.options.config import enable_x64
from laminax_ir.programs.jaxpr import ClosedJaxpr
from laminax_ir.programs.primitive import Primitive
from laminax_ir.recording.staging import stage
from laminax_ir.types import dtypes
from laminax_ir.types.avals import ShapedArray
from laminax_lowering.rules.sums_of_terms import sum_from_zero
from laminax_lowering.writing.context import FunctionWriter
from laminax_lowering.writing.registry import cpu_kernel
from laminax_lowering.writing.ssa_values import Value

# Elements, and those in loops: below, what is saved is less than a third of a millisecond, and two reductions take 40 ms more to compile.
FEWEST, FEWEST_IN_LOOPS = 100_000, 5_000
MOST_TERMS, MOST_TERMS_IN_LOOPS = 4, 8  # of a sum
FEWEST_TERMS_IN_LOOPS = 5_000  # in all sums; loops over fewer are one kernel as they are


_SUMMED = frozenset(map(np.dtype, (np.float32, np.float64)))


def _define(primitive: Primitive, reduce: Callable) -> None:
    @cpu_kernel(primitive)
    def position(ctx: FunctionWriter, x: Value, *, axes: tuple[int, ...], index_dtype: np.dtype) -> Value | None:
        """The extreme value, then the first position that has it, or has a NaN: the bits of the rule.

        Of 4096 by 512 f32 along the first axis 19.9 ms -> 2.6, along the last 7.5 -> 3.0. Viterbi's algorithm, 200 steps
        of 128 states, 10.5 -> 1.1.
        """
        dtype = x.aval.dtype
        is_number = dtypes.issubdtype(dtype, dtypes.floating) or dtypes.issubdtype(dtype, dtypes.integer)
        fewest = FEWEST_IN_LOOPS if ctx.module.loop_depth else FEWEST
        if x.aval.size < fewest or x.aval.shape[axes[0]] >= 2**31 or not is_number or dtype.itemsize < 2:
            return None
        return ctx.run(_program(reduce, x.aval.strip_weak_type(), axes[0], ctx.avals_out[0].dtype), [x])[0]


@functools.lru_cache(maxsize=256)
def _program(reduce: Callable, aval: ShapedArray, axis: int, index_dtype: np.dtype) -> ClosedJaxpr:
    with enable_x64(True):  # the program may have been traced in that mode, and have float64 or int64
        return stage(lambda x: [_first_position(reduce, x, axis, index_dtype)], [aval], "position")


def _first_position(reduce: Callable, x: Any, axis: int, index_dtype: np.dtype) -> Any:
    """NaNs count before numbers, also where the compiler's maximum of several numbers leaves them out."""
    count = x.shape[axis]
    extreme = broadcast_in_dim(reduce(x, (axis,)), x.shape, [i for i in range(x.ndim) if i != axis])
    positions = broadcasted_iota(np.int32, x.shape, axis)
    found = select(eq(x, extreme), positions, full(x.shape, count, np.int32))
    if not dtypes.issubdtype(x.dtype, dtypes.floating):
        return convert_element_type(op.reduce_min(found, (axis,)), index_dtype)
    found = op.reduce_min(select(ne(x, x), sub(positions, np.int32(count)), found), (axis,))
    return convert_element_type(select(lt(found, np.int32(0)), add(found, np.int32(count)), found), index_dtype)


_define(op.argmax_p, op.reduce_max)
_define(op.argmin_p, op.reduce_min)


@cpu_kernel(op.reduce_sum_p)
def _short_sums(ctx: FunctionWriter, x: Value, *, axes: tuple[int, ...], out_sharding: Any = None) -> Value | None:
    """Sums along a short last axis, such as the squares of coordinates, term by term: the order in which the compiler's own loop adds.

    Microseconds of the squares' sum, float32, one core, jaxlib 0.12, without this kernel -> with it:

                         in a loop         alone             its gradient
      300 by 300 by 3    447 -> 127        454 -> 39         769 -> 102
      100,000 by 2       484 -> 73         402 -> 54         926 -> 75
      100,000 by 4       662 -> 292        534 -> 120        1107 -> 460
      100,000 by 8       1099 -> 653       661 -> 279        1621 -> 855

    A loop compiles in 50 ms, not 70, and may be one kernel then; what is nothing but such sums in 31, not 11.
    """
    aval, in_loop = x.aval, ctx.module.loop_depth > 0
    if not ctx.module.has_new_cpu_compiler or aval.dtype not in _SUMMED or out_sharding is not None or axes != (aval.ndim - 1,):
        return None
    if not all(type(n) is int for n in aval.shape) or not 1 < aval.shape[-1] <= (MOST_TERMS_IN_LOOPS if in_loop else MOST_TERMS):
        return None
    if aval.size < (FEWEST_TERMS_IN_LOOPS if in_loop else FEWEST):
        return None
    return ctx.run(_terms(aval.strip_weak_type()), [x])[0]


@functools.lru_cache(maxsize=256)
def _terms(aval: ShapedArray) -> ClosedJaxpr:
    def fun(x: Any) -> list[Any]:
        terms = [reshape(slice_in_dim(x, i, i + 1, axis=x.ndim - 1), x.shape[:-1]) for i in range(x.shape[-1])]
        return [sum_from_zero(terms)]

    with enable_x64(True):  # the program may have been traced in that mode, and have float64
        return stage(fun, [aval], "terms")
