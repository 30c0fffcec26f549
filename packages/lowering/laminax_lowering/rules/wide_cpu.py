"""What kernels for one CPU device have in common that compute numbers of single precision in float64 and round once.

The compiler calls the C library for each number of some functions, around which no loop has vectors. In float64 a polynomial with an error
below 2**-33 and a few roundings leave half a unit in the last place of float32, and 0.002 more. Every number takes all ways, so that there
are vectors. That is some fifty operations, so it takes the compiler longer than a call does: few numbers are left to the C library.
"""

from __future__ import annotations

import functools
from typing import Any, Callable, Sequence

import ml_dtypes
import numpy as np

from laminax_ir.ops import elementwise as e
from laminax_ir.ops import reduction
from laminax_ir.ops.shape import full_like
from laminax_ir.options.config import enable_x64
from laminax_ir.programs.jaxpr import ClosedJaxpr
from laminax_ir.recording.staging import stage
from laminax_ir.types.avals import ShapedArray
from laminax_lowering.writing.context import FunctionWriter
from laminax_lowering.writing.ssa_values import Value

F32, F64, I64 = np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.int64)
SINGLE = frozenset({F32, np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)})  # whose numbers float32 has

_REDUCTIONS = frozenset({reduction.reduce_sum_p, reduction.reduce_max_p, reduction.reduce_min_p})
_OF_LIBRARY = frozenset({e.add_p, e.sub_p, e.mul_p, e.div_p, e.neg_p, e.abs_p, e.square_p, e.integer_pow_p, e.max_p, e.min_p, e.exp_p,
                         e.log_p, e.sqrt_p, e.rsqrt_p, e.tanh_p, e.sin_p, e.cos_p, e.tan_p})

FEWEST = 10_000  # numbers outside of loops: they save 0.07 ms a call, and take some 10 ms longer to compile
FEWEST_IN_LOOPS = 32  # below, a step waits for the last operation of the chain, which takes longer than calls


def are_many(ctx: FunctionWriter, *operands: Value) -> bool:
    """Whether operands are of single precision, and a result has as many numbers as pay."""
    out = ctx.avals_out[0]
    return all(x.dtype in SINGLE for x in operands) and all(type(n) is int for n in out.shape) and \
        out.size >= (FEWEST_IN_LOOPS if ctx.module.loop_depth else FEWEST)


def is_reduced_by_library(ctx: FunctionWriter) -> bool:
    """Whether the equation's result goes only into a reduction, through sums, products and the like: jaxlib 0.12 hands what leads there
    to a library, which has vectors for sines, cosines and tangents of its own. The sum of a million sines takes 0.5 ms."""
    if not ctx.module.has_new_cpu_compiler or ctx.module.loop_depth or ctx.uses is None:
        return False
    reader = ctx.uses.only_reader(ctx.eqn.outvars[0])
    while reader is not None and reader.primitive in _OF_LIBRARY:
        reader = ctx.uses.only_reader(reader.outvars[0])
    return reader is not None and reader.primitive in _REDUCTIONS


def write(ctx: FunctionWriter, function: Callable[..., Any], *operands: Value) -> Value:
    """`function`, of operations of the IR, which may be of float64 and is called once for each type of operands; known scalars stay so."""
    shape = ctx.avals_out[0].shape
    operands = tuple([x if x.shape == shape or ctx.known_scalar(x) is not None else ctx.broadcast_to(x, shape) for x in operands])
    return ctx.run(_program(function, tuple(x.aval.strip_weak_type() for x in operands)), operands)[0]


@functools.lru_cache(maxsize=1024)
def _program(function: Callable[..., Any], avals: tuple[ShapedArray, ...]) -> ClosedJaxpr:
    with enable_x64(True):
        return stage(lambda *xs: [function(*xs)], avals, function.__name__.strip("_"))


def wide(x: Any) -> Any:
    """As float64, subnormal float32 as zeros."""
    return e.convert_element_type(x, F64)


def narrow(x: Any, is_negative: Any, like: Any) -> Any:
    """Float64, or what has the other sign where `is_negative` is true, rounded to the dtype of `like` by way of float32.

    The sign is a division by 1 or -1. What ends in a division the compiler computes once, whatever is done with it; what ends in cheap
    operations, and so all that leads there, it does again in each of its kernels that needs the result.
    """
    one = full_like(x, 1.0, dtype=F32)
    rounded = e.convert_element_type(x, F32) / e.select(is_negative, -one, one)
    return rounded if like.dtype == F32 else e.convert_element_type(rounded, like.dtype)


def nearest_integer(x: Any) -> Any:
    """The nearest integer, of two the even one."""
    return e.round(x, e.RoundingMethod.TO_NEAREST_EVEN)


def unless_tiny(x: Any, limit: Any, result: Any, is_negative: Any) -> Any:
    """`narrow` with the sign, or where x is below 2**-14 and the function its `limit`, to about a hundredth of a unit, that.

    Zeros keep their signs so, and subnormal numbers their digits. A selection at the end also keeps the compiler from handing what is
    before it to a library that sums it: conversions take ten times as long there.
    """
    return e.select(e.abs(x) < np.asarray(2.0**-14, x.dtype), limit, narrow(result, is_negative, x))


def is_negative(x: Any) -> Any:
    """Of float64, -0 among them."""
    return e.bitcast_convert_type(x, I64) < np.int64(0)


def polynomial(coefficients: Sequence[float], x: Any) -> Any:
    """By Horner's rule, the coefficient of 1 first."""
    return functools.reduce(lambda total, c: total * x + c, coefficients[-2::-1], coefficients[-1])
