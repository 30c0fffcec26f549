"""Sines, cosines and tangents of single precision on one CPU device, computed in float64 without a call for each number.

A number times 1 / (2 pi) in four parts gives its turns: products with the first three parts, of 29 bits each, are exact, and so are their
distances to integers, whose sum has all bits that matter also next to a zero. From 2**76 on, the parts leave out what makes whole turns of
every such number (Payne and Hanek's reduction, with two tables instead of one for each exponent). What is left of at most a quarter of a
turn goes into polynomials.

Sources: M. Payne and R. Hanek, "Radian reduction for trigonometric functions", SIGNUM 18, 1983. The polynomials are minimax for the
relative error, by the second algorithm of Remez.
"""

from __future__ import annotations

from typing import Any

from laminax_ir.ops import elementwise as e
from laminax_ir.ops.shape import full_like
from laminax_lowering.rules import wide_cpu
from laminax_lowering.rules.wide_cpu import nearest_integer, polynomial, wide
from laminax_lowering.writing.context import FunctionWriter
from laminax_lowering.writing.registry import cpu_kernel
from laminax_lowering.writing.ssa_values import Value

LARGE = 2.0**76
# 1 / (2 pi), and what is left of it without the bits of 2**-53 and above: three parts of 29 bits, and the rest
_TURNS = (0.15915494272485375, 3.6704158115630214e-10, 5.690025167992954e-19, 1.470303687279978e-27)
_TURNS_OF_LARGE = (7.342738843835495e-17, 7.094055040295599e-26, 4.170716914254881e-35, 2.897178338357036e-44)

# sin(2 pi s) / s of s**2 from 0 to 1/16, with the relative error 2**-35.4; sin(pi s) / s and cos(pi s) of the same, 2**-37.6 and 2**-34.0
_SINE = (6.283185307046691, -41.341702096926035, 81.60522369013059, -76.70417025222345, 42.007797136108785, -14.381390743307218)
_SINE_OF_HALF_TURNS = (3.1415926535755, -5.167712768819345, 2.5501626189724673, -0.5992013603291164, 0.0809958780328209)
_COSINE_OF_HALF_TURNS = (0.9999999999439373, -4.9348021582590365, 4.058706921538004, -1.3350359058334342, 0.23126092231782217)


@cpu_kernel(e.sin_p)
def _sin_kernel(ctx: FunctionWriter, x: Value, accuracy: Any = None) -> Value | None:
    """Within 0.501 units in the last place, of all float32.

    A million numbers below 10, one core, jaxlib 0.12: 1.6 ms, where calls take 8.4; of numbers below 1, 4.8. Compiled in 37 ms, not 25.
    A step of 1024 pendula in a loop: 1.2 ns each, where calls take 2.9.
    """
    return wide_cpu.write(ctx, _sin, x) if _is_taken(ctx, x, accuracy) else None


@cpu_kernel(e.cos_p)
def _cos_kernel(ctx: FunctionWriter, x: Value, accuracy: Any = None) -> Value | None:
    """As the sine."""
    return wide_cpu.write(ctx, _cos, x) if _is_taken(ctx, x, accuracy) else None


@cpu_kernel(e.tan_p)
def _tan_kernel(ctx: FunctionWriter, x: Value, accuracy: Any = None) -> Value | None:
    """Within 0.501 units in the last place, as the sine. A million numbers below 10: 1.9 ms, where calls take 14.2."""
    return wide_cpu.write(ctx, _tan, x) if _is_taken(ctx, x, accuracy) else None


def _is_taken(ctx: FunctionWriter, x: Value, accuracy: Any) -> bool:
    return accuracy is None and wide_cpu.are_many(ctx, x) and not wide_cpu.is_reduced_by_library(ctx)


def _sin(x: Any) -> Any:
    half_turns, rest = _nearest_half_turn(wide(x), 1.0, 0.0)
    return wide_cpu.unless_tiny(x, x, rest * polynomial(_SINE, rest * rest), _is_odd(half_turns))


def _cos(x: Any) -> Any:
    half_turns, rest = _nearest_half_turn(wide(x), 1.0, 0.25)  # cos(2 pi (s + 1/4)) is -sin(2 pi s)
    one = full_like(x, 1)
    return wide_cpu.unless_tiny(x, one, rest * polynomial(_SINE, rest * rest), e.bitwise_not(_is_odd(half_turns)))


def _tan(x: Any) -> Any:
    quarter_turns, rest = _nearest_half_turn(wide(x), 2.0, 0.0)
    square = rest * rest
    sine, cosine = rest * polynomial(_SINE_OF_HALF_TURNS, square), polynomial(_COSINE_OF_HALF_TURNS, square)
    is_odd = _is_odd(quarter_turns)
    return wide_cpu.unless_tiny(x, x, e.select(is_odd, cosine, sine) / e.select(is_odd, sine, cosine), is_odd)


def _nearest_half_turn(x: Any, scale: float, phase: float) -> tuple[Any, Any]:
    """For `scale` times the turns of x, a number h whose half is nearest to them less `phase`, but for an integer, and the distance from
    there, at most 1/4.

    Fractions are exact, and so is their sum with h / 2 where the result is small: float64 has all bits between it and the last of x.
    """
    is_large = e.abs(x) >= LARGE
    *products, rest = [x * e.select(is_large, *[full_like(x, scale * part) for part in parts]) for parts in zip(_TURNS_OF_LARGE, _TURNS)]
    first, second, third = [p - nearest_integer(p) for p in products]
    turns = (first + second) + third
    h = nearest_integer(2.0 * turns - 2 * phase if phase else 2.0 * turns)
    whole = 0.5 * h + phase if phase else 0.5 * h
    return h, (((first - whole) + second) + third) + rest


def _is_odd(h: Any) -> Any:
    """Of integers from -4 to 4: three fractions are 3/2 at most."""
    return e.abs(e.abs(h) - 2.0) == 1.0
