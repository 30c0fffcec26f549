"""Powers with a known exponent, and cube roots, on one CPU device: by roots, products and quotients of float64."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from laminax_ir.ops import elementwise as e
from laminax_ir.ops.shape import full_like
from laminax_ir.options.config import enable_x64
from laminax_ir.programs.jaxpr import ClosedJaxpr
from laminax_ir.recording.staging import stage
from laminax_ir.types.avals import ShapedArray
from laminax_lowering.rules import wide_cpu
from laminax_lowering.rules.wide_cpu import narrow, wide
from laminax_lowering.writing.context import FunctionWriter
from laminax_lowering.writing.registry import cpu_kernel
from laminax_lowering.writing.ssa_values import Value

LARGEST = 4  # the exponent's absolute value: two products more for each further
FEWEST = 2_000  # elements outside of loops: below, what is saved is less than handing more work to a thread takes

_TWO_THIRDS_OF_ONE = 709921077  # of the bits of 1.0, less what makes the error least on both sides

_F32, _F64, _I32 = np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.int32)


@cpu_kernel(e.pow_p)
def _power(ctx: FunctionWriter, x: Value, y: Value) -> Value | None:
    """x ** (k / 4) of float32, computed in float64 and rounded once: within 0.51 units in the last place.

    The compiler calls the C library for each number, which no loop has vectors around. Of 100,000 float32, one core, jaxlib 0.12:
    x**1.5 and x**2.5 in 0.09 ms, x**-1.5 in 0.15, where the call takes 0.45; compiled in the same time. The forces between 16 bodies,
    200 steps: 0.13 ms, not 0.48. Whole exponents, and 0.5, the compiler knows.
    """
    known, aval = ctx.known_scalar(y), x.aval
    if known is None or aval.dtype != _F32 or not all(type(n) is int for n in aval.shape) or \
            aval.size < FEWEST and not ctx.module.loop_depth:
        return None
    quarters = 4 * float(known)
    if not quarters.is_integer() or quarters % 4 == 0 or quarters == 2 or abs(quarters) > 4 * LARGEST:
        return None
    return ctx.run(_program(int(quarters), aval.strip_weak_type()), [x])[0]


@cpu_kernel(e.cbrt_p)
def _cbrt_kernel(ctx: FunctionWriter, x: Value, accuracy: Any = None) -> Value | None:
    """Within 0.501 units in the last place. A million float32, one core, jaxlib 0.12: 2.7 ms, where calls take 12.3."""
    return wide_cpu.write(ctx, _cbrt, x) if accuracy is None and wide_cpu.are_many(ctx, x) else None


def _cbrt(x: Any) -> Any:
    """Halley's iteration, twice, from a third of the exponent: of 5 digits in base two it makes 15, and then 45.

    A third of a float's bits, read as an integer, and two thirds of those of 1, are about those of its cube root (W. Kahan, 1991).
    """
    single = e.abs(e.convert_element_type(x, _F32))
    thirds = e.convert_element_type(e.bitcast_convert_type(single, _I32), _F32) * np.float32(1 / 3) + np.float32(_TWO_THIRDS_OF_ONE)
    number, root = wide(single), wide(e.bitcast_convert_type(e.convert_element_type(thirds, _I32), _F32))
    for _ in range(2):
        cube = root * root * root
        root = root * (cube + 2.0 * number) / (2.0 * cube + number)
    is_itself = e.bitwise_or(single < np.finfo(np.float32).tiny, single == np.inf)  # zeros keep their signs
    return e.select(is_itself, x, narrow(root, x < np.zeros((), x.dtype), x))


@functools.lru_cache(maxsize=256)
def _program(quarters: int, aval: ShapedArray) -> ClosedJaxpr:
    with enable_x64(True):
        return stage(lambda x: [_rounded_power(x, quarters)], [aval], "power")


def _rounded_power(x: Any, quarters: int) -> Any:
    """x to the power `quarters` / 4. Negative numbers give NaN, as their roots do, but -inf and -0 give what inf and 0 do.

    The selection comes last: the compiler hands roots and conversions before a sum to a library, which takes ten times as long for them,
    but not selections and what is before these.
    """
    whole, rest = divmod(abs(quarters), 4)
    wide = e.convert_element_type(x, _F64)
    root = e.abs(e.sqrt(wide))
    factors = [e.abs(wide)] * whole + [root] * (rest >= 2) + [e.sqrt(root)] * (rest % 2)
    power = functools.reduce(e.mul, factors)
    rounded = e.convert_element_type(e.div(full_like(power, 1), power) if quarters < 0 else power, x.dtype)
    return e.select(e.eq(x, -np.inf), full_like(x, 0 if quarters < 0 else np.inf), rounded)
