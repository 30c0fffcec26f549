"""Operands for comparisons: shapes of rank 0 to 5 with empty axes, and values with the special ones of each dtype among them."""

from __future__ import annotations

import ml_dtypes
import numpy as np

from laminax_ir.types import dtypes

NARROW = (np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16))
FLOATS = (*NARROW, np.dtype(np.float32), np.dtype(np.float64))
COMPLEX = (np.dtype(np.complex64), np.dtype(np.complex128))
INTEGERS = tuple(map(np.dtype, (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64)))
BOOL = (np.dtype(bool),)
DTYPES = (*BOOL, *INTEGERS, *FLOATS, *COMPLEX)


def is_float(dtype: np.dtype) -> bool:
    return dtypes.issubdtype(dtype, dtypes.floating)


class Draw:
    """A source of operands, the same for the same seed.

    Args:
      seed: of the generator.
      shape: the shape of elementwise operands.
    """

    def __init__(self, seed: int, shape: tuple[int, ...] = ()):
        self.rng = np.random.default_rng(seed)
        self.shape = shape

    def integer(self, low: int, high: int) -> int:
        """An integer from low to high, both included."""
        return int(self.rng.integers(low, high, endpoint=True))

    def integers(self, low: int, high: int, count: int) -> tuple[int, ...]:
        return tuple([self.integer(low, high) for _ in range(count)])

    def one_of(self, values):
        return values[self.integer(0, len(values) - 1)]

    def permutation(self, count: int) -> tuple[int, ...]:
        return tuple(self.rng.permutation(count).tolist())

    def values(self, dtype, shape: tuple[int, ...] | None = None) -> np.ndarray:
        """Numbers of very different sizes, a sixth of them special: zeros of both signs, infinities, NaN, the dtype's extremes.

        None is subnormal: XLA's CPU backend takes those for zeros.
        """
        dtype, shape = np.dtype(dtype), self.shape if shape is None else shape
        if dtype.kind == "c":
            return (self.normal(dtype, shape) * 10.0 ** self.rng.uniform(-2, 2, shape)).astype(dtype)
        if dtype.kind == "b":
            return self.rng.integers(0, 2, shape).astype(bool)
        if is_float(dtype):
            info = ml_dtypes.finfo(dtype)
            ordinary = (self.rng.normal(size=shape) * 10.0 ** self.rng.uniform(-2, 2, shape)).astype(dtype)
            special = [0.0, -0.0, 1, -1, np.inf, -np.inf, np.nan, info.max, info.min, 0.5, -2.5]
        else:
            info = ml_dtypes.iinfo(dtype)
            ordinary = self.rng.integers(int(info.min), int(info.max), shape, endpoint=True, dtype=dtype)
            special = [info.min, info.max, 0, 1, info.max - 1, info.min + 1, 2, 3]
        chosen = np.array(special, dtype)[self.rng.integers(0, len(special), shape)]
        return np.where(self.rng.random(shape) < 1 / 6, chosen, ordinary)

    def normal(self, dtype, shape: tuple[int, ...] | None = None) -> np.ndarray:
        """Ordinary numbers: normally distributed; of integers the small ones."""
        dtype, shape = np.dtype(dtype), self.shape if shape is None else shape
        if dtype.kind == "c":
            return (self.rng.normal(size=shape) + 1j * self.rng.normal(size=shape)).astype(dtype)
        if is_float(dtype):
            return self.rng.normal(size=shape).astype(dtype)
        if dtype.kind == "b":
            return self.values(dtype, shape)
        return self.rng.integers(-4 if dtype.kind == "i" else 0, 5, shape).astype(dtype)

    def between(self, low: float, high: float, dtype, shape: tuple[int, ...] | None = None) -> np.ndarray:
        return self.rng.uniform(low, high, self.shape if shape is None else shape).astype(dtype)
