"""Draws arguments: arrays of all dtypes with special values, axes counted from both ends, options, out-of-range indices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import ml_dtypes
import numpy as np

T = TypeVar("T")

BOOL = ("bool",)
SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
INTEGERS = SIGNED + UNSIGNED
FLOATS = ("float16", "bfloat16", "float32", "float64")
FULL_FLOATS = ("float32", "float64")  # those that linear algebra and transforms have
COMPLEX = ("complex64", "complex128")
REAL = BOOL + INTEGERS + FLOATS
NUMBERS = REAL + COMPLEX
WIDE = {"int64", "uint64", "float64", "complex128"}

SHAPES = ((), (3,), (5,), (2, 3), (3, 1), (2, 1, 4), (0,), (2, 0), (1,))
FILLED = ((), (3,), (5,), (2, 3), (3, 1), (2, 2, 4), (1,))
SPECIAL = (0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 0.5)


@dataclass
class Call:
    """Arguments of a call: NumPy arrays are traced, everything else is static."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        parts = [_text(x) for x in self.args] + [f"{name}={_text(x)}" for name, x in self.kwargs.items()]
        return f"({', '.join(parts)})"


def _text(x: Any) -> str:
    if isinstance(x, np.ndarray):
        return f"{x.dtype}{list(x.shape)}{x.tolist()}" if x.size < 40 else f"{x.dtype}{list(x.shape)}"
    return f"[{', '.join(map(_text, x))}]" if isinstance(x, (list, tuple)) else repr(x)


class Draw:
    """A source of drawn values. `wide` says whether 64-bit dtypes are among them; `special`, whether NaN and infinities are."""

    def __init__(self, seed: int, wide: bool, special: bool) -> None:
        self.rng = np.random.default_rng(seed)
        self.wide = wide
        self.special = special

    def one(self, *values: T) -> T:
        """One of the values."""
        return values[int(self.rng.integers(len(values)))]

    def flag(self) -> bool:
        return bool(self.rng.integers(2))

    def below(self, n: int, start: int = 0) -> int:
        """An integer from `start` on, less than n."""
        return int(self.rng.integers(start, n))

    def dtype(self, names: Sequence[str]) -> str:
        """A dtype of the names."""
        return self.one(*(name for name in names if self.wide or name not in WIDE))

    def shape(self, filled: bool = False, least: int = 0) -> tuple[int, ...]:
        """A shape; `filled` has elements, `least` is the smallest number of axes."""
        return self.one(*(shape for shape in (FILLED if filled else SHAPES) if len(shape) >= least))

    def axis(self, ndim: int) -> int:
        """An axis, from the front or from the end."""
        return self.below(ndim, -ndim)

    def axes(self, ndim: int, none: bool = True) -> Any:
        """None, one axis, or a tuple of different ones."""
        which = self.below(3) if none else self.below(2, 1)
        if which == 0 or ndim == 0:
            return None if none else ()
        if which == 1:
            return self.axis(ndim)
        chosen = self.rng.permutation(ndim)[: self.below(ndim + 1, 1)]
        return tuple(int(axis) - ndim * self.flag() for axis in chosen)

    def array(
        self,
        dtypes: Sequence[str] | str,
        shape: tuple[int, ...] | None = None,
        low: float | None = None,
        high: float | None = None,
        nonzero: bool = False,
        special: bool | None = None,
        extremes: bool = False,
        filled: bool = False,
        least: int = 0,
    ) -> np.ndarray:
        """An array.

        Args:
          dtypes: one of these.
          shape: its shape; by default one is drawn.
          low, high: bounds of its elements; with one of them, NaN and infinities are left out.
          nonzero: whether zeros are replaced by ones.
          special: whether NaN, infinities and signed zeros are among real elements; by default the draw's.
          extremes: whether the smallest and largest integers of the dtype are among integers.
          filled, least: as for `shape`.
        """
        dtype = np.dtype(getattr(ml_dtypes, name, name) if (name := dtypes if isinstance(dtypes, str) else self.dtype(dtypes)) else "bool")
        shape = self.shape(filled, least) if shape is None else shape
        bounded = low is not None or high is not None
        special = (self.special if special is None else special) and not bounded
        if dtype.kind == "c":
            part = "float32" if dtype.itemsize == 8 else "float64"
            value = np.empty(shape, dtype)
            value.real, value.imag = (self.array(part, shape, low, high, special=False) for _ in range(2))
        elif dtype.kind == "b":
            value = self.rng.integers(0, 2, shape).astype(bool)
        elif dtype.kind in "iu":
            info = np.iinfo(dtype)
            least_value = max(info.min, -9 if low is None else int(np.ceil(low)))
            value = self.rng.integers(least_value, min(info.max, 9 if high is None else int(high)), shape, endpoint=True).astype(dtype)
            if extremes and value.size and not bounded and self.below(3) == 0:
                value.flat[:1] = self.one(info.min, info.max)
        else:
            value = self._floats(shape, low, high, special).astype(dtype)
        return np.where(value == 0, np.ones((), dtype), value) if nonzero else value

    def _floats(self, shape: tuple[int, ...], low: float | None, high: float | None, special: bool) -> np.ndarray:
        if low is not None and high is not None:
            return self.rng.uniform(low, high, shape)
        values = self.rng.normal(size=shape) * 10.0 ** self.rng.integers(-1, 2, shape)
        if low is not None or high is not None:
            return low + np.abs(values) if low is not None else high - np.abs(values)
        if special:
            values = np.where(self.rng.integers(0, 4, shape) == 0, self.rng.choice(SPECIAL, shape), values)
        return np.where(self.rng.integers(0, 4, shape) == 0, np.round(values), values)

    def like(self, x: np.ndarray, **options: Any) -> np.ndarray:
        """An array of the dtype of x whose shape broadcasts against that of x."""
        shape = tuple(1 if self.below(4) == 0 else n for n in x.shape)
        return self.array(x.dtype.name, shape[self.below(len(shape) + 1) :] if self.below(3) == 0 else shape, **options)

    def scalar(self, dtype: np.dtype) -> Any:
        """A Python number that does not change the dtype of an array in an operation."""
        return {"b": True, "i": self.below(4, -3), "u": self.below(4), "c": 1.5 - 2j}.get(np.dtype(dtype).kind, 2.5)
