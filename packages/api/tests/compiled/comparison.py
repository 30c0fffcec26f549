"""Programs compiled and run by XLA beside the same programs on the NumPy reference.

Many comparisons are compiled as one program, because compiling is what takes the time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Iterable

import ml_dtypes
import numpy as np
from compiled.tolerances import tolerance

from laminax_ir.recording.staging import stage
from laminax_ir.reference.evaluate import evaluate
from laminax_ir.types import dtypes
from laminax_ir.types.avals import get_aval

import laminax

# The modules of this folder that make comparisons, each with a function `comparisons(draw, dtype)`.
FAMILIES = ("elementwise", "special", "shape", "reduction", "contraction", "windows", "indexing", "sorting", "linalg", "programs")
_WIDER = {np.dtype(np.float16): np.float64, np.dtype(ml_dtypes.bfloat16): np.float64, np.dtype(np.float32): np.float64,
          np.dtype(np.complex64): np.complex128}


@dataclass
class Comparison:
    """One program on one set of operands.

    Args:
      name: the operation that is compared, a name of the rule table; its tolerance is the one that applies.
      fun: takes arrays, returns an array or a sequence of them.
      operands: NumPy arrays.
      magnitude: what errors are relative to, an array that broadcasts against each result; by default the result itself.
      terms: how many numbers are added or multiplied to each result, or what else the tolerance is per; as magnitude.
      is_widened: whether the reference runs in the next wider dtype and is rounded once, which makes it exact enough to count
        units in the last place. For programs without a dtype among their parameters.
      is_zero_signed: whether the sign of a zero is compared; which of two equal zeros is the larger one is not defined.
    """

    name: str
    fun: Callable
    operands: list[np.ndarray]
    magnitude: Any = None
    is_widened: bool = False
    is_zero_signed: bool = True
    terms: Any = 1.0

    def results(self, *operands):
        out = self.fun(*operands)
        return list(out) if isinstance(out, (list, tuple)) else [out]

    def program(self):
        """The staged program."""
        return stage(self.results, [get_aval(x) for x in self.operands])

    def expected(self) -> list[np.ndarray]:
        """What the reference gives, not yet rounded where it ran in a wider dtype."""
        operands = [x.astype(_WIDER.get(x.dtype, x.dtype)) if self.is_widened else x for x in self.operands]
        return evaluate(stage(self.results, [get_aval(x) for x in operands]), *operands)

    def errors(self, got: np.ndarray, expected: np.ndarray) -> np.ndarray:
        """The errors of a result in units in the last place."""
        return units_off(got, expected, self.magnitude, self.is_zero_signed)

    def allowed(self, got: np.ndarray, expected: np.ndarray) -> np.ndarray:
        """The largest errors that a result may have, in the same units."""
        return np.broadcast_to(tolerance(self.name, expected, got.dtype, self.operands, self.terms), got.shape)


def compiled(comparisons: Iterable[Comparison]) -> list[list[np.ndarray]]:
    """The results of all programs, from one executable."""
    comparisons = list(comparisons)
    run = laminax.jit(lambda operands: [c.results(*xs) for c, xs in zip(comparisons, operands)])
    return [[np.asarray(x) for x in results] for results in run([c.operands for c in comparisons])]


def check(comparisons: Iterable[Comparison]) -> None:
    """Compares every program's results: dtypes, shapes, and values within the operation's tolerance."""
    comparisons = list(comparisons)
    if not comparisons:
        return
    for comparison, results in zip(comparisons, compiled(comparisons), strict=True):
        avals = comparison.program().out_avals
        for got, expected, aval in zip(results, comparison.expected(), avals, strict=True):
            assert (got.dtype, got.shape) == (aval.dtype, aval.shape) and expected.shape == aval.shape, comparison
            errors = comparison.errors(got, expected)
            allowed = comparison.allowed(got, expected)
            if (errors > allowed).any():
                where = np.unravel_index((errors - allowed).argmax(), errors.shape)
                operands = [x[where] if x.shape == got.shape else x for x in comparison.operands]
                raise AssertionError(
                    f"{comparison.name}: {errors[where]:.4g} units in the last place of {got.dtype}, {allowed[where]:.4g} are allowed\n"
                    f"{comparison.program()}\nat {[*map(int, where)]}: XLA {got[where]}, reference {expected[where]}\noperands {operands}")


def units_off(got: np.ndarray, expected: np.ndarray, magnitude: Any = None, is_zero_signed: bool = True) -> np.ndarray:
    """The errors in units in the last place of got's dtype; infinite where NaN, infinities or signs of zero differ.

    Args:
      got: of the dtype in question.
      expected: of the same or a wider dtype.
      magnitude: the size that a unit in the last place is that of; by default each expected value itself.
      is_zero_signed: whether zeros of different signs differ.
    """
    if not dtypes.issubdtype(got.dtype, dtypes.inexact):
        return np.where(got == expected, 0.0, np.inf)
    is_complex = got.dtype.kind == "c"
    wide = np.complex128 if is_complex else np.float64
    with np.errstate(all="ignore"):
        a, b, exact = got.astype(wide), expected.astype(got.dtype).astype(wide), expected.astype(wide)
        size = np.abs(exact) if magnitude is None else np.broadcast_to(np.asarray(magnitude, np.float64), exact.shape)
        error = np.abs(a - exact) / unit(size, got.dtype)
        error = np.where(np.isfinite(a) & np.isfinite(exact), error, np.inf)
        error = np.where((a == b) & (error > 1) | np.isnan(a) & np.isnan(b), 0.0, error)  # equal infinities
        if not is_complex:
            is_flushed = (a == 0) & (np.abs(exact) < float(ml_dtypes.finfo(got.dtype).tiny)) & (exact != 0)
            error = np.where(is_flushed, 0.0, error)
            if is_zero_signed and magnitude is None:
                error = np.where((a == 0) & (exact == 0) & (np.signbit(a) != np.signbit(exact)), np.inf, error)
    return error


def unit(size: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """The distance between neighbours of a number in the dtype; that of the smallest normal number below it."""
    info = ml_dtypes.finfo(dtype)
    exponent = np.frexp(np.maximum(np.where(np.isfinite(size), size, 1.0), float(info.tiny)))[1] - 1
    return np.ldexp(float(info.eps), exponent)
