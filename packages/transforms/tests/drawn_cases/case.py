"""What a case is, and the numbers it is evaluated at."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from laminax_ir.ops import shape
from laminax_ir.ops.elementwise import add
from laminax_ir.types.avals import get_aval

NARROW = tuple(np.dtype(d) for d in (ml_dtypes.bfloat16, np.float16))
WIDE = tuple(np.dtype(d) for d in (np.float32, np.float64))
REAL = (*NARROW, *WIDE)
COMPLEX = tuple(np.dtype(d) for d in (np.complex64, np.complex128))
ALL = (*REAL, *COMPLEX)

Size = tuple[int, ...]


class Numbers:
    """Makes arrays of numbers from 0.6 to 1.9, all different: far enough from each other, and from 1, 1.5 and 0.9, for differences.

    They are exact in every floating dtype, so that an order or a tie is the same in all of them.
    """

    def __init__(self, seed: int, is_complex: bool = False):
        values = np.arange(77, 244) / 128
        rng = np.random.default_rng(seed)
        self.left = list(rng.permutation(values[(np.abs(values - 1) > 0.02) & (values != 1.5)]))
        self.is_complex = is_complex

    def __call__(self, *size: int) -> np.ndarray:
        real = self._draw(size)
        return real + 1j * self._draw(size) if self.is_complex else real

    def _draw(self, size: Size) -> np.ndarray:
        count = int(np.prod(size))
        taken, self.left = self.left[:count], self.left[count:]
        return np.array(taken).reshape(size)


def two(numbers: Numbers, size: Size) -> Sequence[np.ndarray]:
    """The usual points: two arrays of the drawn shape."""
    return numbers(*size), numbers(*size)


def one(numbers: Numbers, size: Size) -> Sequence[np.ndarray]:
    """One array of the drawn shape."""
    return [numbers(*size)]


@dataclass(frozen=True)
class Case:
    """A function that is smooth at the points.

    Args:
      fun: of arrays of one dtype, with one array as its result.
      points: its arguments in float64 or complex128, `points(numbers, drawn shape)`.
      dtypes: those the operation takes.
      reverse: whether reverse mode is defined.
      rtol: how exact a narrow dtype is, in units of its last place: sums and badly conditioned functions lose more.
    """
    fun: Callable[..., Any]
    points: Callable[[Numbers, Size], Sequence[np.ndarray]] = two
    dtypes: tuple[np.dtype, ...] = ALL
    reverse: bool = True
    rtol: float = 10

    def arguments(self, size: Size, dtype, seed: int = 0) -> list[np.ndarray]:
        """The points in a dtype."""
        return [np.asarray(x).astype(dtype) for x in self.points(Numbers(seed, np.dtype(dtype).kind == "c"), size)]


def of_one(fun: Callable, **options: Any) -> Case:
    """A case of one argument."""
    return Case(fun, one, **options)


def axes(x: Any) -> tuple[int, ...]:
    return tuple(range(len(x.shape)))


def flat(x: Any) -> Any:
    return shape.reshape(x, (int(np.prod(x.shape)),))


def typed(value: Any, x: Any) -> np.ndarray:
    """The number as an array of the dtype of x."""
    return np.asarray(value).astype(get_aval(x).dtype)


def joined(*results: Any) -> Any:
    """Several results of one dtype as one."""
    return shape.concatenate([flat(x) for x in results], 0)


def both(results: Sequence[Any]) -> Any:
    """The sum of two results of one shape."""
    return add(*results)
